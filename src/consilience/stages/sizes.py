"""How large a fit is: everything that its memory and time depend on."""

from __future__ import annotations

import mmap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import sparse

from ..spaces import is_precomputed
from ..views import Views
from ..views.content_order import MOST_NUMBERS
from ..words import memory_size

MANY_VALUES = 10_000_000  # on edges, of all views: above, engines may keep them in single precision
MANY_SAMPLES = 20_000  # with more, other descriptions are not tried: each is another search
FEWEST_TO_APPROXIMATE = 20_000  # samples from which on search="auto" may approximate
_INDEX_BYTES = 4  # of an entry of a sparse matrix


@dataclass(frozen=True)
class ViewSize:
    """How large a view is.

    Attributes
    ----------
    n_features : int
        Number of features; for a matrix between samples, number of samples.
    itemsize : int
        Bytes of a number.
    n_nonzero : int or None
        Stored entries, of all samples together, of a sparse view; None: it is dense.
    mapped : bool
        Whether it is in a file that is mapped into memory, and so takes no memory that others could need.
    kind : {"plain", "scaled", "matrix"}
        Features that are measured as they are, of which a copy is made first (cosine, correlation), or a
        matrix between samples.
    """

    n_features: int
    itemsize: int = 8
    n_nonzero: int | None = None
    mapped: bool = False
    kind: Literal["plain", "scaled", "matrix"] = "plain"

    def n_values(self, n_samples: int) -> int:
        """Return how many numbers are stored."""
        return n_samples * self.n_features if self.n_nonzero is None else self.n_nonzero

    def n_bytes(self, n_samples: int, itemsize: int | None = None) -> int:
        """Return the size of the view if it is in memory, or of a copy with numbers of another size."""
        each = self.itemsize if itemsize is None else itemsize
        if self.n_nonzero is None:
            return n_samples * self.n_features * each
        return self.n_nonzero * (each + _INDEX_BYTES) + 8 * n_samples


@dataclass(frozen=True)
class FitSize:
    """How large a fit is.

    Attributes
    ----------
    n_samples : int
        Number of samples.
    views : tuple of ViewSize
        The views.
    n_neighbors : int
        Neighbours per sample and view.
    n_vectors : int
        Eigenvectors that are computed: the number of clusters, or the largest that is considered.
    method : {"fusion", "average"}
        How the views' weights on the edges are combined.
    weighs_rows : bool
        Whether rows count by how far they agree.
    search : str
        How neighbours are searched.
    n_threads : int
        Number of threads.
    missing : bool
        Whether views lack samples.
    learns_trust : bool
        Whether the trust in rows is learned together with the clusters.
    describes : bool
        Whether the views are fused in several descriptions, if there are not too many samples.
    by_effort : bool
        Whether both follow from the effort: neither was asked for by its own parameter.
    row_order : {"content", "given"}
        Whether the fit is made in an order of its own, on copies of the views.
    """

    n_samples: int
    views: tuple[ViewSize, ...]
    n_neighbors: int
    n_vectors: int
    method: Literal["fusion", "average"] = "fusion"
    weighs_rows: bool = True
    search: str = "auto"
    n_threads: int = 1
    missing: bool = False
    learns_trust: bool = False
    describes: bool = False
    by_effort: bool = True
    row_order: str = "given"

    @property
    def n_views(self) -> int:
        """Number of views."""
        return len(self.views)

    @property
    def is_fusion(self) -> bool:
        """Whether the views' weights are split into two parts, and views compared."""
        return self.method == "fusion"

    @property
    def n_listed(self) -> int:
        """Neighbours named by all views together, those that several views name counted for each."""
        return self.n_samples * min(self.n_neighbors, self.n_samples - 1) * self.n_views

    @property
    def n_edges(self) -> int:
        """Edges that the views share, at most: as many as if no two views named the same neighbour."""
        return min(self.n_listed, self.n_samples * (self.n_samples - 1))

    @property
    def edge_bytes(self) -> int:
        """Bytes of a value on an edge."""
        return 4 if self.n_views * self.n_edges > MANY_VALUES else 8

    @property
    def may_search_all(self) -> bool:
        """Whether neighbours may be found by comparing all pairs."""
        return self.search != "approximate"

    @property
    def may_search_some(self) -> bool:
        """Whether they may be found approximately."""
        return self.search == "approximate" or (
            self.search == "auto" and self.n_samples >= FEWEST_TO_APPROXIMATE
        )

    @property
    def tries_descriptions(self) -> bool:
        """Whether there will be more than one description."""
        return self.describes and self.n_samples <= MANY_SAMPLES

    @property
    def is_reordered(self) -> bool:
        """Whether the views are copied, with the samples in another order; too many numbers are not."""
        n_numbers = sum(view.n_values(self.n_samples) for view in self.views)
        return self.row_order == "content" and n_numbers <= MOST_NUMBERS

    @property
    def n_kept(self) -> int:
        """Entries of the unified graph, at most: the strongest edges of each sample, in both directions."""
        return min(2 * self.n_samples * self.n_neighbors, self.n_samples * (self.n_samples - 1))

    @property
    def n_input(self) -> int:
        """Bytes that the views hold, without those in files."""
        return sum(view.n_bytes(self.n_samples) for view in self.views if not view.mapped)


def view_sizes(views: Views, metrics: Sequence[Any]) -> tuple[ViewSize, ...]:
    """Return how large views are, given the metric of each."""
    return tuple(
        _view_size(array, metric) for array, metric in zip(views.resident_arrays, metrics, strict=True)
    )


def _view_size(array: Any, metric: Any) -> ViewSize:
    kind: Literal["plain", "scaled", "matrix"] = "plain"
    if isinstance(metric, str) and is_precomputed(metric):
        kind = "matrix"
    elif metric in ("cosine", "correlation"):
        kind = "scaled"
    if sparse.issparse(array):
        return ViewSize(array.shape[1], array.dtype.itemsize, int(array.nnz), False, kind)
    return ViewSize(array.shape[1], array.dtype.itemsize, None, is_mapped(array), kind)


def is_mapped(array: Any) -> bool:
    """Say whether an array is in a file that is mapped into memory.

    Examples
    --------
    >>> is_mapped(np.zeros(3))
    False
    """
    while isinstance(array, np.ndarray):
        array = array.base
    return isinstance(array, mmap.mmap)


@dataclass(frozen=True)
class MemoryEstimate:
    """What a fit will hold at most, in bytes.

    Attributes
    ----------
    stages : mapping of str to int
        The most that the process holds in each stage: libraries and input included, and nothing else that
        happens to be in the process.
    libraries, input : int
        What Python and the libraries take, and the views, before the fit. Views in files that are mapped into
        memory count as nothing: the system can use that memory for other things.
    size : FitSize
        The size of the fit that was estimated.
    """

    stages: Mapping[str, int]
    libraries: int
    input: int
    size: FitSize

    @property
    def peak(self) -> int:
        """The most that the process holds."""
        return max(self.stages.values())

    @property
    def peak_stage(self) -> str:
        """The stage that needs the most."""
        return max(self.stages, key=lambda stage: self.stages[stage])

    @property
    def added(self) -> int:
        """The most that the fit takes in addition to the libraries and the input."""
        return self.peak - self.libraries - self.input

    def __repr__(self) -> str:
        return f"MemoryEstimate(peak={memory_size(self.peak)!r}, peak_stage={self.peak_stage!r})"

    def __str__(self) -> str:
        lines = [("libraries", self.libraries), ("input", self.input), *self.stages.items()]
        return "\n".join(
            f"{name:10} {memory_size(n_bytes):>10}{'  <- peak' if name == self.peak_stage else ''}"
            for name, n_bytes in lines
        )
