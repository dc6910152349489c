"""k-means on a device: restarts on a sample, all at once, then Lloyd's iteration on all rows.

Restarts on all rows cost far more than on a sample, and find the same. The sample is drawn by the lengths of
the rows as well as evenly: the rows of a cluster in an orthonormal embedding have squares that add up to
about 1, even for a very small cluster, so that all clusters are seen. Each row drawn counts for all rows that
it stands for.

Sums over clusters are products of matrices, and draws come from integers: the same bits in every run.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import torch
from sklearn.utils import check_random_state

from .. import embedding
from ..results import Clusters
from .device import Device
from .sums import long_product

Tensor: TypeAlias = torch.Tensor

FEW = 20_000  # rows: up to here they are fetched, and clustered as by the other engines
_SAMPLE, _PER_CLUSTER = 20_000, 100  # rows that restarts run on
_BITS = 40  # of the chance of a row to become a centre


def unit_rows(vectors: Tensor, device: Device) -> Tensor:
    """Return the rows scaled to unit length; rows of zeros stay as they are.

    Examples
    --------
    >>> unit_rows(torch.tensor([[3.0, 4.0], [0.0, 0.0]], dtype=torch.float64), Device.of("cpu")).tolist()
    [[0.6, 0.8], [0.0, 0.0]]
    """
    found = torch.empty_like(vectors, dtype=torch.float64, memory_format=torch.contiguous_format)
    if not vectors.shape[1]:
        return found
    for a, b in device.blocks(len(vectors), 24 * vectors.shape[1]):
        rows = vectors[a:b].double()
        peak = rows.abs().amax(dim=1, keepdim=True)
        rows = rows / torch.where(peak > 0, peak, 1.0)  # first: squares of tiny entries would be lost
        norms = rows.square().sum(dim=1, keepdim=True).sqrt_()
        found[a:b] = rows / torch.where(norms > 0, norms, 1.0)
    return found


def kmeans(
    vectors: Tensor,
    n_clusters: int,
    *,
    n_init: int,
    max_iter: int,
    unit: bool,
    random_state: Any,
    device: Device,
) -> Clusters:
    """Cluster the rows of an embedding (n, m); see `Engine.kmeans`."""
    n, m = vectors.shape
    if n <= FEW:
        return embedding.kmeans(
            *(Device.get(vectors), n_clusters),
            **{"n_init": n_init, "max_iter": max_iter, "unit": unit, "random_state": random_state},
        )
    represented = (vectors != 0).any(dim=1)
    n_represented = int(represented.sum())
    k = min(n_clusters, n_represented)
    if not k:
        return Clusters(np.zeros(n, dtype=np.intp), np.zeros((1, m)))
    shown = vectors if n_represented == n else vectors[represented]
    leverage = torch.linalg.vector_norm(shown, dim=1).square_()
    rows = unit_rows(shown, device) if unit else shown.double()
    del shown
    state = check_random_state(random_state)
    drawn, weights = _sample(leverage, max(_SAMPLE, _PER_CLUSTER * k), state, device)
    centers = _best_centers(rows[drawn], weights, k, n_init, max_iter, state, device)
    found, centers = lloyd(rows, centers, max_iter, device)
    # Rows of zeros are as near to a centre as the centre is to 0.
    labels = centers.square().sum(dim=1).argmin().repeat(n)
    labels[represented] = found
    return Clusters(Device.get(labels).astype(np.intp, copy=False), Device.get(centers))


def _sample(
    leverage: Tensor, size: int, random_state: np.random.RandomState, device: Device
) -> tuple[Tensor, Tensor]:
    """Return about this many rows, half of them drawn evenly and half by leverage, and their weights."""
    n = len(leverage)
    leverage = leverage / leverage.max()
    chance = (size * (0.5 / n + 0.5 * leverage / leverage.sum())).clamp_(max=1.0)
    drawn = torch.nonzero(device.put(random_state.random_sample(n)) < chance).squeeze(1)
    return drawn, 1.0 / chance[drawn]


def _best_centers(
    rows: Tensor,
    weights: Tensor,
    n_clusters: int,
    n_init: int,
    max_iter: int,
    random_state: np.random.RandomState,
    device: Device,
) -> Tensor:
    """Return the centres (k, m) of the best of some restarts on a sample."""
    best, least = None, torch.inf
    n_trials = 2 + int(np.log(n_clusters))  # as many as in scikit-learn
    draws = device.put(random_state.random_sample((n_init, n_clusters, n_trials)))
    for a, b in device.blocks(n_init, 24 * len(rows) * max(n_clusters, n_trials)):
        centers = _first_centers(rows, weights, draws[a:b], device)
        centers, inertia = _restarts(rows, weights, centers, max_iter)
        lowest = int(inertia.argmin())  # the first of equal ones
        if best is None or float(inertia[lowest]) < least:
            best, least = centers[lowest].clone(), float(inertia[lowest])
    assert best is not None
    return best


def _first_centers(rows: Tensor, weights: Tensor, draws: Tensor, device: Device) -> Tensor:
    """Return the first centres (r, k, m) of some restarts: k-means++, each the best of a few drawn.

    `draws` are even ones from 0 to 1, (r, k, number of trials).
    """
    squares = rows.square().sum(dim=1)
    n_restarts, n_clusters, n_trials = draws.shape
    at = device.arange(n_restarts)
    centers = rows.new_empty((n_restarts, n_clusters, rows.shape[1]))
    centers[:, 0] = rows[_drawn(weights.expand(n_restarts, -1), draws[:, 0, :1])[:, 0]]
    nearest = _apart(rows, squares, centers[:, 0])
    for j in range(1, n_clusters):
        trials = _drawn(weights * nearest, draws[:, j])
        apart = _apart(rows, squares, rows[trials].flatten(0, 1)).view(n_restarts, n_trials, -1)
        apart = torch.minimum(apart, nearest[:, None])
        best = (apart @ weights).argmin(dim=1)
        centers[:, j], nearest = rows[trials[at, best]], apart[at, best]
    return centers


def _drawn(chances: Tensor, draws: Tensor) -> Tensor:
    """Return rows (r, t) drawn with some chances (r, n), given even draws (r, t) from 0 to 1."""
    # Sums of integers, which do not depend on their order. All 0, as of copies of the centres: the last row.
    largest = chances.amax(dim=1, keepdim=True)
    whole = (chances / torch.where(largest > 0, largest, 1.0) * 2.0**_BITS).round_().long()
    ends = torch.cumsum(whole, dim=1)
    found = torch.searchsorted(ends.contiguous(), (draws * ends[:, -1:]).long().contiguous(), right=True)
    return found.clamp_(max=chances.shape[1] - 1)


def _apart(rows: Tensor, squares: Tensor, centers: Tensor) -> Tensor:
    """Return the squared distances (c, n) of centres to rows."""
    apart = torch.addmm(squares, centers, rows.T, alpha=-2)
    return apart.add_(centers.square().sum(dim=1, keepdim=True)).clamp_(min=0)


def _restarts(rows: Tensor, weights: Tensor, centers: Tensor, max_iter: int) -> tuple[Tensor, Tensor]:
    """Return the centres of Lloyd's iteration from each of some first ones, and the inertia of each."""
    n_restarts, k = centers.shape[:2]
    squares = rows.square().sum(dim=1)
    weighted = rows * weights[:, None]
    numbers = torch.arange(k, device=rows.device)[:, None]
    labels = None
    for step in range(max_iter):
        apart = _apart(rows, squares, centers.flatten(0, 1)).view(n_restarts, k, -1)
        before, (least, labels) = labels, torch.min(apart, dim=1)
        del apart
        if step == max_iter - 1 or (before is not None and torch.equal(labels, before)):
            break
        members = (labels[:, None] == numbers).to(rows.dtype)
        counts = members @ weights
        sums = (members.flatten(0, 1) @ weighted).view(centers.shape)
        centers = torch.where(
            counts[..., None] > 0, sums / torch.where(counts > 0, counts, 1.0)[..., None], centers
        )
    return centers, least @ weights


def lloyd(rows: Tensor, centers: Tensor, max_iter: int, device: Device) -> tuple[Tensor, Tensor]:
    """Return labels and centres that Lloyd's iteration finds from given centres; an empty one keeps its own.

    Examples
    --------
    >>> rows = torch.tensor([[0.0], [1.0], [8.0]])
    >>> labels, centers = lloyd(rows, torch.tensor([[0.0], [1.0]]), 10, Device.of("cpu"))
    >>> labels.tolist(), centers.flatten().tolist()
    ([0, 0, 1], [0.5, 8.0])
    """
    k = len(centers)
    labels = torch.full((len(rows),), -1, dtype=torch.int64, device=rows.device)
    numbers = device.arange(k)
    for step in range(max_iter):
        halves = centers.square().sum(dim=1) / 2
        sums, counts = torch.zeros_like(centers), torch.zeros_like(numbers)
        changed = torch.zeros_like(numbers[0])
        for a, b in device.blocks(len(rows), 24 * k):
            nearest = torch.addmm(halves, rows[a:b], centers.T, alpha=-1).argmin(dim=1)
            changed += (nearest != labels[a:b]).sum()
            labels[a:b] = nearest
            members = (nearest[:, None] == numbers).to(rows.dtype)
            sums += long_product(members, rows[a:b])
            counts += members.sum(dim=0).long()
        # The centres returned are those that rows were assigned to.
        if step == max_iter - 1 or not int(changed):
            break
        centers = torch.where((counts > 0)[:, None], sums / counts.clamp(min=1)[:, None], centers)
    return labels, centers
