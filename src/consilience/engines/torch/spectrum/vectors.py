"""Eigenvectors of the normalised Laplacian of a graph on a device; those of few samples on the host.

Up to `SMALL` samples the graph is fetched and solved as by the other engines, by ARPACK: on a GPU that would
take longer. For more, everything is done on the device: the checks of the graph, its components, which are
the eigenvectors of eigenvalue 0, and a block method for the others. Where that makes no progress, as in long
thin graphs, the host looks whether it can factorise the graph; if not, the device goes on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray

from ....spectra.eigenvectors import LARGE
from ... import embedding
from ...results import Matrix, Spectrum
from ..device import Device
from ..handles import DeviceGraph
from .filtered_iteration import FilteredIteration, Found, block_width
from .laplacian import DeviceLaplacian

Tensor: TypeAlias = torch.Tensor

SMALL = LARGE  # samples up to which the host solves
_TOLERANCE = 1e-5  # of the block method, where none is asked for
_LEAST_TOLERANCE = 1e-12
_PATIENCE = 400  # products with a block before a thin graph is suspected; as on the host
_COLUMNS = 32  # of vectors that are worked on together
_BLOCKS = 5  # that an iteration has at once, about


def leading_vectors(
    graph: DeviceGraph, n_vectors: int, tol: float | None, seed: int, device: Device
) -> Spectrum:
    """See `Engine.leading_vectors`."""
    if tol is not None and not tol > 0:
        raise ValueError(f"tol must be positive, got {tol!r}.")
    n, m = graph.shape[0], int(n_vectors)
    if n <= SMALL:
        return _by_host(graph, m, tol, seed, device)
    laplacian = DeviceLaplacian.of(graph)
    sizes, n_kept = laplacian.sizes, laplacian.n_kept
    largest = np.sort(np.argsort(-sizes, kind="stable")[:m])
    q, n_found = len(largest), min(m, n_kept)
    if n_found > q and (n_kept <= SMALL or 10 * (n_found - q) >= n_kept):
        return _by_host(graph, m, tol, seed, device)
    _require(device, n, m, n_found - q)
    vectors = device.zeros(n, m)
    laplacian.fill_null_space(vectors, largest)
    if n_found > q:
        aim = max(_TOLERANCE if tol is None else float(tol), _LEAST_TOLERANCE)
        kept = laplacian.kept()
        matrix, known = laplacian.adjacency_of(kept), vectors[kept, :q]
        iteration = FilteredIteration(matrix, known, n_found - q, aim, seed)
        found = iteration.found() if iteration.run(_PATIENCE) else None
        if found is None or not found.residuals.max() <= aim:
            return _by_host(graph, m, tol, seed, device, lambda *_: _Continued(iteration))
        vectors[kept, q:n_found] = found.vectors
    values, residuals = np.full((2, m), np.nan)
    values[:n_found], residuals[:n_found] = laplacian.measure(vectors[:, :n_found])
    fix_signs(vectors)
    n_dropped = int(n_kept - sizes[largest].sum()) if q == m else 0
    return Spectrum(vectors, values, residuals, len(sizes), n - n_kept, n_dropped)


def fix_signs(vectors: Tensor) -> None:
    """Make the first of each column's largest entries positive, in place; see `embedding.signs`.

    Examples
    --------
    >>> vectors = torch.tensor([[0.1, -2.0], [-3.0, 1.0]])
    >>> fix_signs(vectors)
    >>> vectors
    tensor([[-0.1000,  2.0000],
            [ 3.0000, -1.0000]])
    """
    n, m = vectors.shape
    numbers = torch.arange(n, device=vectors.device)[:, None]
    for start in range(0, m, _COLUMNS):
        part = vectors[:, start : start + _COLUMNS]
        sizes = part.abs()
        # Entries may be equal up to rounding, as in symmetric graphs: rounding must not decide.
        large = sizes >= (1 - 1e-6) * sizes.amax(dim=0)
        first = torch.where(large, numbers, n).amin(dim=0)
        negative = part.gather(0, first[None, :])[0] < 0
        part *= 1.0 - 2.0 * negative


def n_rows(vectors: Tensor) -> int:
    """See `Engine.n_rows`."""
    return int(vectors.shape[0])


def take(vectors: Tensor, rows: NDArray[np.intp]) -> Matrix:
    """See `Engine.take`."""
    return Device.get(vectors[Device(vectors.device).put(rows, torch.int64)])


def first_columns(vectors: Tensor, n_columns: int) -> Tensor:
    """See `Engine.first_columns`."""
    return vectors[:, :n_columns].contiguous()


def _by_host(
    graph: DeviceGraph,
    n_vectors: int,
    tol: float | None,
    seed: int,
    device: Device,
    start_block: Callable[..., Any] | None = None,
) -> Spectrum:
    """Return what the host finds."""
    found = embedding.leading_vectors(graph.get(), n_vectors, tol, seed, start_block=start_block)
    return replace(found, vectors=device.put(found.vectors))


class _Continued:
    """An iteration on the device, for the host, which decides whether it goes on."""

    def __init__(self, iteration: FilteredIteration) -> None:
        self._iteration = iteration

    def run(self, max_products: int) -> bool:
        """Go on."""
        return self._iteration.run(max_products)

    def found(self) -> Found:
        """Return what it found, in the memory of this process."""
        found = self._iteration.found()
        return replace(found, vectors=Device.get(found.vectors))


def _require(device: Device, n: int, n_vectors: int, n_wanted: int) -> None:
    """Raise a MemoryError if the vectors do not fit into the memory of a GPU."""
    block = 4.0 * _BLOCKS * block_width(n_wanted) if n_wanted else 0.0
    device.require(
        n * (block + 8.0 * (n_vectors + 3 * n_wanted)),
        f"Finding {n_vectors} eigenvectors of a graph of {n:,} samples",
        "Ask for fewer clusters, or use engine='numba'.",
    )
