"""Connected components of a graph on a device.

Every sample points to another of its component with a lower number, in the end to the lowest. In each round a
sample looks at where its neighbours' pointers lead in two steps; the lowest of these becomes its own pointer,
and the pointer of the sample that it pointed to, so that whole trees move at once. Some ten rounds are enough
for millions of samples. Lowest numbers do not depend on the order in which they are found.
"""

from __future__ import annotations

from typing import TypeAlias

import torch

from ..handles import DeviceGraph

Tensor: TypeAlias = torch.Tensor


def find_components(graph: DeviceGraph) -> Tensor:
    """Return the component of each sample of a symmetric graph, int64, numbered by first appearance.

    -1 for samples without edges.

    Examples
    --------
    >>> graph = DeviceGraph(torch.tensor([0, 1, 1, 2]), torch.tensor([2, 0]), torch.ones(2), (3, 3))
    >>> find_components(graph)
    tensor([ 0, -1,  0])
    """
    own = torch.arange(graph.shape[0], dtype=torch.int32, device=graph.indptr.device)
    parents = own.clone()
    while True:
        pointers = parents.long()
        leads = parents[pointers]  # in two steps
        lowest = leads.scatter_reduce(0, graph.rows, leads[graph.columns], "amin")
        lower = lowest < leads
        after = parents.scatter_reduce(0, pointers[lower], lowest[lower], "amin")
        after = torch.minimum(after, lowest)
        if torch.equal(after, parents):
            break
        parents = after
    return _numbered(parents, own, torch.diff(graph.indptr) == 0)


def _numbered(lowest: Tensor, own: Tensor, isolated: Tensor) -> Tensor:
    """Return the number of each sample's component, given its sample with the lowest number."""
    numbers = torch.cumsum((lowest == own) & ~isolated, 0) - 1
    return torch.where(isolated, -1, numbers[lowest.long()])
