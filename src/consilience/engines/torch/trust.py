"""The trust in rows: bounds, and which rows belong to their sample by the model of `engines.matching`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, product
from math import comb
from typing import TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray

from .. import matching
from ..results import Vector
from .device import Device
from .isotonic import growing_shares

Tensor: TypeAlias = torch.Tensor
Mask = NDArray[np.bool_]

_UNITS = 1e12  # in 1, for comparing products of rows


def lower_trust(
    trust: Tensor | None, n_views: int, columns: Mask, rows: Mask, level: float, device: Device
) -> Tensor:
    """Return trust that is `level` in some columns and rows; see `Engine.lower_trust`."""
    if trust is None:
        trust = torch.ones((len(rows), n_views), dtype=torch.float64, device=device.where)
    return trust.masked_fill(device.put(columns) & device.put(rows)[:, None], level)


def bounded(trust: Tensor, least: float) -> Tensor | None:
    """Return trust within [least, 1]; None if it is 1 everywhere."""
    clipped = trust.clamp(least, 1.0)
    return clipped if bool((clipped != 1).any()) else None


def matched_rows(
    lists: Sequence[Tensor],
    vectors: Tensor,
    trust: Tensor | None,
    mask: Mask | None,
    seed: int,
    copy_of: Sequence[int] | None,
    device: Device,
) -> tuple[Tensor, Vector]:
    """Return the trust in rows, and the share of matched rows in each view; see `Engine.matched_rows`.

    NumPy draws the pairs of samples, the same as in other engines; they come to the device one permutation
    at a time. The shares are found on the host from at most 16,384 samples, and it finishes the isotonic
    regressions. The rest stays on the device.
    """
    if copy_of is not None and len(originals := np.unique(copy_of)) < len(lists):
        return _of_originals(lists, vectors, trust, mask, seed, originals, np.asarray(copy_of), device)
    n, v = len(vectors), len(lists)
    seen = None if mask is None or mask.all() else device.put(mask)
    ratios = _all_log_ratios(lists, vectors, trust, seen, np.random.default_rng(seed), device)
    some = device.put(matching.chosen_samples(n))
    shares = matching.settled_shares(device.get(ratios[some]), v)
    matched = _probabilities(ratios, shares, device)
    matched /= matched.amax(dim=0).clamp(min=1e-9)
    seen_shares = np.ones(v) if mask is None else mask.mean(axis=0)
    n_unmatched = float((1.0 - shares) @ seen_shares)
    found = matched.pow_(1.0 + n_unmatched).clamp_(min=matching.LEAST_TRUST)
    return found if seen is None else found.masked_fill_(~seen, 1.0), shares


def _of_originals(
    lists: Sequence[Tensor],
    vectors: Tensor,
    trust: Tensor | None,
    mask: Mask | None,
    seed: int,
    originals: NDArray[np.intp],
    copy_of: NDArray[np.intp],
    device: Device,
) -> tuple[Tensor, Vector]:
    """Return what is found without copies; the rows of a copy are trusted as those of its original."""
    found, shares = matched_rows(
        [lists[m] for m in originals],
        vectors,
        None if trust is None else trust[:, originals.tolist()],
        None if mask is None else mask[:, originals],
        seed,
        None,
        device,
    )
    place = np.searchsorted(originals, copy_of)
    found = found[:, place.tolist()]
    return found if mask is None else found.masked_fill_(~device.put(mask), 1.0), shares[place]


def _all_log_ratios(
    lists: Sequence[Tensor],
    vectors: Tensor,
    trust: Tensor | None,
    seen: Tensor | None,
    rng: np.random.Generator,
    device: Device,
) -> Tensor:
    """Return the logarithm of f1 / f0 for each pair of views, (n, pairs); 0 where one lacks a sample."""
    n, v = len(vectors), len(lists)
    places = [
        _places(
            one,
            vectors,
            None if trust is None else trust[:, m],
            None if seen is None else seen[:, m],
            device,
        )
        for m, one in enumerate(lists)
    ]
    ratios = device.zeros(n, comb(v, 2))
    for column, (m, o) in enumerate(combinations(range(v), 2)):
        both = device.arange(n) if seen is None else (seen[:, m] & seen[:, o]).nonzero().ravel()
        if len(both) > 1:
            ratios[both, column] = _log_ratios(places[m], places[o], both, rng, device)
    return ratios


def _places(
    lists: Tensor, vectors: Tensor, trust: Tensor | None, seen: Tensor | None, device: Device
) -> Tensor:
    """Return where each sample is according to its neighbours: centred, of unit length; else 0."""
    (n, k), c = lists.shape, vectors.shape[1]
    counts = torch.ones(n, dtype=torch.float64, device=device.where) if trust is None else trust.double()
    if seen is not None:
        counts = counts * seen
    means, placed = device.zeros(n, c), torch.empty((n, 1), dtype=torch.bool, device=device.where)
    for a, b in device.blocks(n, 24 * k + 24 * c):
        ends = lists[a:b].T.contiguous().long()  # (k, b - a)
        weights = counts[ends].masked_fill_(ends == device.arange(n)[a:b], 0.0)
        if seen is not None:
            weights *= seen[a:b]
        for one, weight in zip(ends, weights, strict=True):  # one neighbour of all samples after the other
            means[a:b].addcmul_(vectors.index_select(0, one).double(), weight[:, None])
        total = weights.sum(dim=0)[:, None]
        placed[a:b] = total > 0
        means[a:b] /= torch.where(total > 0, total, 1.0)
    center = means.sum(dim=0) / placed.sum().clamp(min=1)
    means.addcmul_(placed.double(), center[None, :], value=-1.0)
    for a, b in device.blocks(n, 24 * c):
        lengths = torch.linalg.vector_norm(means[a:b], dim=1, keepdim=True)
        means[a:b] *= torch.where(lengths > 1e-12, 1 / lengths, 0.0)
    return means


def _log_ratios(one: Tensor, other: Tensor, both: Tensor, rng: np.random.Generator, device: Device) -> Tensor:
    """Return the logarithm of f1 / f0 for the rows of some samples in two views."""
    n = len(both)
    found = _dots(one, other, both, both, device)
    repeats = int(np.clip(matching._NULL_PAIRS // n, 1, matching._MOST_REPEATS))
    null = torch.cat(
        [_dots(one, other, both, both[device.put(rng.permutation(n))], device) for _ in range(repeats)]
    )
    share = growing_shares(found, null, 1.0 / repeats).clamp_(1e-3, 1 - 1e-3)
    ordered = torch.sort(null).values
    levels = _quantiles(ordered, np.linspace(0.05, 0.5, 19), device)
    below = (torch.searchsorted(torch.sort(found).values, levels, right=True).double() + 0.5) / n
    by_chance = torch.searchsorted(ordered, levels, right=True).double() / len(null)
    matched = (1.0 - (below / by_chance).min()).clamp(min=matching.LEAST_MATCHED)
    ratio = (share / (1 - share) - (1 - matched)) / matched
    return ratio.clamp_(1 / matching.STRONGEST, matching.STRONGEST).log_()


def _dots(one: Tensor, other: Tensor, rows: Tensor, other_rows: Tensor, device: Device) -> Tensor:
    """Return the products of some rows of a tensor with rows of another, in whole units of 1e-12.

    They are only compared. Where the embedding has the same row for many samples, as in graphs that fall into
    parts, many products are equal up to rounding: so they become equal, whatever order sums are taken in.
    """
    result = device.zeros(len(rows))
    for a, b in device.blocks(len(rows), 32 * one.shape[1]):
        products = one.index_select(0, rows[a:b]).mul_(other.index_select(0, other_rows[a:b]))
        result[a:b] = products.sum(dim=1)
    return result.mul_(_UNITS).round_()


def _quantiles(ordered: Tensor, levels: Vector, device: Device) -> Tensor:
    """Return quantiles of sorted values as NumPy does; PyTorch's own function takes only few values."""
    places = (len(ordered) - 1) * levels
    low = np.floor(places).astype(np.int64)
    below, above = ordered[device.put(low)], ordered[device.put(np.minimum(low + 1, len(ordered) - 1))]
    return torch.lerp(below, above, device.put(places - low))


def _probabilities(ratios: Tensor, shares: Vector, device: Device) -> Tensor:
    """Return the probability of each row to be matched, given the share of matched rows in each view."""
    v = len(shares)
    result = torch.empty((len(ratios), v), dtype=torch.float64, device=device.where)
    many = v > matching._MOST_ENUMERATED
    bytes_per_row = 16 * (v + 4) if many else 24 * 2**v
    for a, b in device.blocks(-(-len(ratios) // matching._BLOCK), bytes_per_row * matching._BLOCK):
        here = slice(a * matching._BLOCK, b * matching._BLOCK)
        result[here] = (_mean_field if many else _enumerated)(ratios[here], shares, device)
    return result


def _enumerated(ratios: Tensor, shares: Vector, device: Device) -> Tensor:
    """Return P(g_m = 1) by adding up all ways in which the rows of a sample can be matched."""
    v = len(shares)
    ways = np.array(list(product((0.0, 1.0), repeat=v)))
    pairs = np.stack([ways[:, m] * ways[:, o] for m, o in combinations(range(v), 2)])
    logs = ratios @ device.put(pairs)
    logs += device.put(ways @ np.log(shares) + (1 - ways) @ np.log1p(-shares))
    weights = torch.softmax(logs, dim=1)
    return weights @ device.put(ways)


def _mean_field(ratios: Tensor, shares: Vector, device: Device) -> Tensor:
    """Return about the same for many views: each row given the probabilities of the others.

    The samples are those of some whole blocks of `matching._BLOCK`, each of which goes on until it settles.
    """
    n, v = len(ratios), len(shares)
    first, second = np.array(list(combinations(range(v), 2))).T
    matched = device.put(shares).repeat(n, 1)
    goes_on = torch.ones((n, 1), dtype=torch.bool, device=device.where)
    for _ in range(matching._ROUNDS):
        before = matched.clone()
        for m in range(v):
            mine = np.flatnonzero((first == m) | (second == m))
            others = np.where(first[mine] == m, second[mine], first[mine])
            logit = device.zeros(n).add_(float(np.log(shares[m] / (1 - shares[m]))))
            for pair, other in zip(mine.tolist(), others.tolist(), strict=True):
                logit.addcmul_(ratios[:, pair], matched[:, other])
            matched[:, m] = torch.where(goes_on[:, 0], torch.sigmoid(logit.clamp_(-30, 30)), matched[:, m])
        change = (matched - before).abs_().amax(dim=1)
        goes_on &= _largest_of_block(change)[:, None] >= matching._SETTLED
    return matched


def _largest_of_block(values: Tensor) -> Tensor:
    """Return for each value the largest of its block of `matching._BLOCK`."""
    size = min(matching._BLOCK, len(values))
    n_blocks = -(-len(values) // size)
    padded = torch.nn.functional.pad(values, (0, n_blocks * size - len(values))).view(n_blocks, size)
    return padded.amax(dim=1).repeat_interleave(size)[: len(values)]
