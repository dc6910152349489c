"""The normalised Laplacian of a graph on a device; `spectra.laplacian` is the readable twin."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray

from ....spectra.laplacian import check_graph
from ...results import Vector
from ..device import Device
from ..graphs import inverse_roots, is_symmetric, without_zeros
from ..handles import DeviceGraph
from ..segments import segment_sums
from .block_product import BlockProduct, columns_inner, squared_residuals
from .components import find_components

Tensor: TypeAlias = torch.Tensor

_COLUMNS = 32  # of vectors that are worked on together


@dataclass(frozen=True, eq=False)
class DeviceLaplacian:
    """What is asked of the operator ``I - D^-1/2 S D^-1/2``, which is 0 on isolated samples.

    Attributes
    ----------
    adjacency : DeviceGraph
        ``D^-1/2 S D^-1/2``, in double precision.
    roots : tensor of shape (n,)
        Roots of the degrees.
    components : tensor of shape (n,), int64
        Connected component of each sample, numbered by first appearance; -1 for isolated samples.
    sizes : ndarray of int
        How many samples each component has.
    """

    adjacency: DeviceGraph
    roots: Tensor
    components: Tensor
    sizes: NDArray[np.int64]

    @classmethod
    def of(cls, graph: DeviceGraph) -> DeviceLaplacian:
        """Return that of a graph, which is checked as by `check_graph`.

        Examples
        --------
        >>> indptr, indices = torch.tensor([0, 1, 1, 2]), torch.tensor([2, 0], dtype=torch.int32)
        >>> laplacian = DeviceLaplacian.of(DeviceGraph(indptr, indices, torch.full((2,), 4.0), (3, 3)))
        >>> laplacian.components, laplacian.sizes
        (tensor([ 0, -1,  0]), array([2]))
        """
        graph = _checked(graph)
        degrees = segment_sums(graph.data, graph.indptr)
        inverse = inverse_roots(degrees)
        # One factor, then the other: their product alone may overflow for tiny weights.
        values = graph.data * inverse[graph.rows] * inverse[graph.columns]
        adjacency = DeviceGraph(graph.indptr, graph.indices, values, graph.shape)
        components = find_components(graph)
        sizes = Device.get(torch.bincount(components[components >= 0]))
        return cls(adjacency, degrees.sqrt(), components, sizes)

    @property
    def n_kept(self) -> int:
        """Number of samples that are not isolated."""
        return int(self.sizes.sum())

    def kept(self) -> Tensor:
        """Return the samples that are not isolated."""
        return torch.nonzero(self.components >= 0).ravel()

    def adjacency_of(self, kept: Tensor) -> DeviceGraph:
        """Return the adjacency among the samples that are not isolated."""
        whole, n = self.adjacency, len(kept)
        if n == whole.shape[0]:
            return whole
        place = torch.zeros(whole.shape[0], dtype=torch.int32, device=kept.device)
        place[kept] = torch.arange(n, dtype=torch.int32, device=kept.device)
        indptr = torch.cat([whole.indptr[kept], whole.indptr[-1:]])  # rows left out have no entries
        return DeviceGraph(indptr, place[whole.columns], whole.data, (n, n))

    def fill_null_space(self, vectors: Tensor, which: NDArray[np.intp]) -> None:
        """Set the first columns, which are 0, to the eigenvectors of eigenvalue 0 of some components.

        ``D^1/2 1`` of each component, of unit length.
        """
        column = np.full(len(self.sizes) + 1, -1)  # the last entry is for component -1, the isolated samples
        column[which] = np.arange(len(which))
        place = Device(vectors.device).put(column)[self.components]
        rows = torch.nonzero(place >= 0).ravel()
        vectors[rows, place[rows]] = self.roots[rows]
        for start in range(0, len(which), _COLUMNS):
            part = vectors[:, start : min(start + _COLUMNS, len(which))]
            part /= columns_inner(part, part).sqrt_()

    def measure(self, vectors: Tensor) -> tuple[Vector, Vector]:
        """Return the eigenvalues, ascending, and the residual norms of eigenvectors."""
        product, device, m = BlockProduct(self.adjacency), Device(vectors.device), vectors.shape[1]
        values, residuals = np.zeros((2, m))
        for start in range(0, m, _COLUMNS):
            stop = min(start + _COLUMNS, m)
            part = vectors[:, start:stop].contiguous()
            image = product(part).neg_().add_(part)
            # Rounding must not change the order of zeros.
            values[start:stop] = np.maximum(Device.get(columns_inner(part, image)), 0.0)
            np.maximum.accumulate(values[:stop], out=values[:stop])
            squares = squared_residuals(part, image, device.put(values[start:stop]))
            residuals[start:stop] = np.sqrt(Device.get(squares))
        return values, residuals


def _checked(graph: DeviceGraph) -> DeviceGraph:
    """Return a graph in double precision, exactly symmetric, without stored zeros; an error if it is none.

    Its weights are divided by a power of two, on which the Laplacian does not depend: so sums are finite.
    """
    if _is_sound(graph):
        scaled = _scaled(graph)
        if is_symmetric(scaled):
            return scaled
    # Symmetric up to rounding, or an error that says what is wrong.
    return _scaled(DeviceGraph.put(check_graph(graph.get()), Device(graph.indptr.device)))


def _is_sound(graph: DeviceGraph) -> bool:
    n, m = graph.shape
    if n != m or n == 0 or graph.data.is_complex() or not len(graph.indices) == len(graph.data):
        return False
    begins, ends = graph.indptr[:-1], graph.indptr[1:]
    return bool(
        (graph.indptr[0] == 0)
        & (graph.indptr[-1] == len(graph.indices))
        & (begins <= ends).all()
        & ((graph.indices >= 0) & (graph.indices < n)).all()
        & ((graph.data >= 0) & torch.isfinite(graph.data)).all()
    )


def _scaled(graph: DeviceGraph) -> DeviceGraph:
    """Divide the weights by a power of two near the largest, and remove zeros."""
    largest = float(graph.data.max()) if len(graph.data) else 0.0
    exponent = -math.frexp(largest)[1]
    # In two steps: the power itself may not be finite.
    data = graph.data.double() * 2.0 ** (exponent // 2) * 2.0 ** (exponent - exponent // 2)
    return without_zeros(DeviceGraph(graph.indptr, graph.indices, data, graph.shape))
