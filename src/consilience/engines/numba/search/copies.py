"""Rows with many copies: the approximate search uses one of each, and lists get all.

A region of copies cannot be divided, and all samples in it would be compared with each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ... import threads
from ...points.protocol import Index
from . import copy_kernels
from .exact import Lists

_MANY = 64  # copies of a row, in the mean over samples, from which on the search for them saves time


@dataclass(frozen=True, eq=False)
class Copies:
    """Samples in groups of copies, of some samples.

    Attributes
    ----------
    members : ndarray of int32
        The samples, group by group, in ascending order within each.
    starts : ndarray of shape (number of groups + 1,)
        Where each group begins among them.
    """

    members: Index
    starts: NDArray[np.int64]

    @property
    def first(self) -> Index:
        """The first sample of each group."""
        return self.members[self.starts[:-1]]

    @classmethod
    def among(cls, x: Any, samples: Index) -> Copies | None:
        """Group the samples by their rows, dense or in CSR form; None if hardly any are the same.

        Examples
        --------
        >>> import numpy as np
        >>> x = np.repeat([[0.5], [1.5]], 100, axis=0)
        >>> Copies.among(x, np.arange(200, dtype=np.int32)).first
        array([  0, 100], dtype=int32)
        >>> Copies.among(np.arange(200.0)[:, None], np.arange(200, dtype=np.int32)) is None
        True
        """
        rows = _bits(x)
        marks = np.empty(len(samples), dtype=np.uint64)
        threads.for_ranges(
            lambda a, b: copy_kernels.mark_rows(*rows, samples, a, b, marks), len(samples), grain=1024
        )
        order = np.argsort(marks, kind="stable")
        members, marks = samples[order], marks[order]
        begins = np.ones(len(samples), dtype=bool)
        copy_kernels.find_begins(*rows, members, marks, begins)
        starts = np.concatenate([np.flatnonzero(begins), [len(samples)]])
        if float((np.diff(starts) ** 2).sum()) < _MANY * len(samples):
            return None
        # Groups in the order of their first members, as if there were no others.
        sizes, in_order = np.diff(starts), np.argsort(members[starts[:-1]], kind="stable")
        group = np.empty(len(sizes), dtype=np.int64)
        group[in_order] = np.arange(len(sizes))
        by_group = np.argsort(np.repeat(group, sizes), kind="stable")
        return cls(members[by_group], np.concatenate([[0], np.cumsum(sizes[in_order])]))

    def spread(self, found: Lists) -> Lists:
        """Return the lists of all samples, from lists of the first sample of each group, of such samples."""
        n, k = found.nearest.shape
        group = np.full(n, -1, dtype=np.int32)
        group[self.members] = np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))
        spread = Lists(found.nearest.copy(), found.squares.copy())
        threads.for_ranges(
            lambda a, b: copy_kernels.spread_lists(
                *(self.members, self.starts, group, found.nearest, found.squares, k, a, b),
                *(spread.nearest, spread.squares),
            ),
            len(self.members),
            grain=256,
        )
        return spread


def _bits(x: Any) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return rows as compressed rows of numbers that are equal only if all their bits are."""
    if sparse.issparse(x):
        return x.data.view(f"u{x.data.itemsize}"), x.indices, x.indptr
    # Every row has all columns: nothing is stored for them.
    columns = np.lib.stride_tricks.as_strided(np.zeros(1, dtype=np.int32), (x.size,), (0,))
    return x.reshape(-1).view(f"u{x.itemsize}"), columns, np.arange(0, x.size + 1, max(x.shape[1], 1))
