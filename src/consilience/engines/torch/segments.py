"""Sums over runs of consecutive values, with the same bits in every run.

PyTorch's scatter functions add on a GPU in the order in which threads arrive; these do not.
"""

from __future__ import annotations

from typing import TypeAlias

import torch

Tensor: TypeAlias = torch.Tensor


def segment_sums(values: Tensor, indptr: Tensor) -> Tensor:
    """Return the sum of each run of values, (n_edges, ...) in runs that begin at `indptr` (n + 1,).

    Examples
    --------
    >>> segment_sums(torch.tensor([1.0, 2.0, 4.0]), torch.tensor([0, 2, 2, 3]))
    tensor([3., 0., 4.])
    """
    if not len(values):
        return values.new_zeros((len(indptr) - 1, *values.shape[1:]))
    return torch.segment_reduce(values, "sum", offsets=indptr, axis=0, unsafe=True)
