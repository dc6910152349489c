"""Edges that views have not seen, completed by walks of two steps; see `engines.walks.complete_graph`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import torch

from ..protocol import Mask
from ..results import Vector
from .device import Device
from .graphs import keep_largest, sparsify, without_zeros
from .handles import DeviceEdges, DeviceGraph, from_pairs, indptr_of
from .segments import segment_sums

Tensor: TypeAlias = torch.Tensor

_WALK_BYTES = 96  # of temporary values for each walk
_WORD = 62  # views whose marks fit into a number


def impute(
    edges: DeviceEdges, values: Tensor, mask: Mask, view_weights: Vector, k: int
) -> tuple[DeviceEdges, Tensor]:
    """Complete the edges that views have not seen by common neighbours; see `Engine.impute`."""
    assert edges.seen is not None
    device = Device(values.device)
    share = torch.zeros(edges.n_edges, dtype=torch.float64, device=device.where)
    for weight, seen in zip((view_weights / view_weights.sum()).tolist(), edges.seen, strict=True):
        share.add_(seen, alpha=weight)
    walked, unseen = _walks(edges, sparsify(edges, values, k), device.put(_words(mask)), k)
    squares = float((share * walked.square()).sum())
    if squares == 0:  # no two samples have a neighbour in common
        return edges, values
    scale = float((share * walked * values).sum()) / squares
    known = share * values + (1 - share) * scale * walked
    n = edges.n_samples
    places = torch.cat([edges.rows, unseen.rows]), torch.cat([edges.indices, unseen.indices])
    joined = without_zeros(from_pairs(*places, torch.cat([known, scale * unseen.data]), (n, n)))
    return DeviceEdges(joined.indptr, joined.indices), joined.data


def _words(mask: Mask) -> Mask:
    """Return the marks of each sample (n, v) as the bits of numbers, (n_words, n)."""
    words = []
    for first in range(0, mask.shape[1], _WORD):
        some = mask[:, first : first + _WORD]
        words.append(some @ (np.int64(1) << np.arange(some.shape[1], dtype=np.int64)))
    return np.stack(words)


def _walks(edges: DeviceEdges, graph: DeviceGraph, words: Tensor, k: int) -> tuple[Tensor, DeviceGraph]:
    """Return the weights of walks of two steps: on the edges, and the k largest without a common view."""
    n = edges.n_samples
    on_edges = torch.zeros(edges.n_edges, dtype=torch.float64, device=words.device)
    parts = []
    for walks in _blocks_of_walks(graph):
        own = slice(*edges.indptr[[walks.first, walks.last]].tolist())
        keys = edges.rows[own] * n + edges.indices[own]
        if len(walks.keys):
            place = torch.searchsorted(walks.keys, keys).clamp_(max=len(walks.keys) - 1)
            on_edges[own] = torch.where(walks.keys[place] == keys, walks.weights[place], 0.0)
        rows, columns = walks.keys // n, walks.keys % n
        apart = torch.ones_like(rows, dtype=torch.bool)
        for word in words:
            apart &= word[rows] & word[columns] == 0
        indptr = indptr_of(rows[apart] - walks.first, walks.last - walks.first)
        far = DeviceEdges(indptr, columns[apart].int())
        kept = keep_largest(far, walks.weights[apart], k, (far.n_samples, n))
        parts.append((torch.diff(kept.indptr), kept.indices, kept.data))
    counts, indices, data = (torch.cat(part) for part in zip(*parts, strict=True))
    indptr = torch.cat([counts.new_zeros(1), torch.cumsum(counts, 0)])
    return on_edges, DeviceGraph(indptr, indices, data, (n, n))


@dataclass(frozen=True)
class _Walks:
    """The walks from the samples [first, last): their ends as `start * n + end`, ascending, and weights."""

    first: int
    last: int
    keys: Tensor
    weights: Tensor


def _blocks_of_walks(graph: DeviceGraph) -> Iterator[_Walks]:
    """Yield S D^-1 S by blocks of rows."""
    n, device = graph.shape[0], Device(graph.data.device)
    weights, columns = graph.data.double(), graph.columns
    degrees = segment_sums(weights, graph.indptr)
    steps = weights / torch.where(degrees > 0, degrees, 1.0)[graph.rows]
    lengths = torch.diff(graph.indptr)[columns]  # walks that begin with each entry
    before = torch.cat([lengths.new_zeros(1), torch.cumsum(lengths, 0)])
    for first, last in _ranges(before[graph.indptr], device):
        here = slice(*graph.indptr[[first, last]].tolist())
        counts = lengths[here]
        n_walks = int(before[here.stop] - before[here.start])
        entry = torch.repeat_interleave(device.arange(len(counts)), counts, output_size=n_walks)
        second = device.arange(n_walks) - (before[here] - before[here.start])[entry]
        entry += here.start
        second += graph.indptr[columns[entry]]
        keys, order = torch.sort(graph.rows[entry] * n + columns[second], stable=True)
        products = (weights[entry] * steps[second])[order]
        ends, runs = torch.unique_consecutive(keys, return_counts=True)
        bounds = torch.cat([runs.new_zeros(1), torch.cumsum(runs, 0)])
        yield _Walks(first, last, ends, segment_sums(products, bounds))


def _ranges(walks: Tensor, device: Device) -> Iterator[tuple[int, int]]:
    """Yield ranges of samples, each with walks that fit into a part of the memory; one sample at least.

    `walks` (n + 1,) counts those of all samples before each.
    """
    n = len(walks) - 1
    wanted = [last for _, last in device.blocks(int(walks[-1]), _WALK_BYTES)]
    stops = torch.searchsorted(walks, walks.new_tensor(wanted)).tolist()
    first = 0
    for last in (*stops, n):
        if last > first:
            yield first, last
            first = last
