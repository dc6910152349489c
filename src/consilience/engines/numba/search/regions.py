"""The approximate search: neighbours of a sample, searched only in the regions around it.

The samples are divided into regions, each around a centre. A pair is compared if one of the two is in a
region that is near the other: so if a neighbour is missed from one side, it may still be found from the
other. All pairs of a region with the samples that search it are measured at once, by one product of matrices;
those near enough go into the lists of both ends; at the end the lists are measured exactly.

The number of regions to search is not a setting but follows from the recall that is wanted: the neighbours of
a few samples are found exactly first, and then the least effort that would find that share of them. So the
cost of a search is known before it begins, and whether it is cheaper than the exact one.

Threads work on tiles, the pairs of a region with some of the samples that search it, and never wait for each
other: a list is locked for as long as a pair is put into it, and the tiles of the next samples are made while
those of the last ones are measured. Nothing depends on the number of threads: lists keep the k smallest of
all candidates, in any order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ... import threads
from ...points.protocol import Index
from . import region_kernels
from .locks import unlocked
from .region_rows import Arranged, ByteRows, Centers, DenseRows32, Float32s, Rows, room_for

FEWEST = 4  # regions that every sample searches
WEIGHTS = (0.0, 0.25, 0.5, 0.75, 1.0)  # how much the distance of the nearest centre may count in the reach
_ITERATIONS = 6  # of k-means, on a sample, for the centres
_PER_REGION = 30  # samples per region in that sample
_TILE = 1 << 17  # pairs measured at once
_QUERIES, _COLUMNS = 64, 1 << 11  # numbers of samples that are compared with each other at once
_GROUP = 1 << 16  # samples whose regions are sorted at once
SPARE = 2  # members of a list beyond those asked for: single precision may err about the last ones


@dataclass(frozen=True, eq=False)
class Effort:
    """Which regions to search, and the result of that on a sample.

    Attributes
    ----------
    weight, reach : float
        A sample searches the regions whose centre has a squared distance of at most
        ``reach + weight * (that of the nearest)``.
    recall : float
        The share of the neighbours of the sample that would be found.
    pairs : float
        How many others each sample would be compared with on average.
    """

    weight: float
    reach: float
    recall: float
    pairs: float


@dataclass(frozen=True, eq=False)
class Regions:
    """Centres, and what is known about them before any sample is in its region.

    Attributes
    ----------
    centers : Centers
        The centres.
    squares : ndarray of float32 of shape (m,)
        Their squared norms.
    sizes : ndarray of shape (m,)
        How many samples each is expected to have.
    """

    centers: Centers
    squares: Float32s
    sizes: NDArray[np.float64]

    @classmethod
    def among(cls, rows: Rows, n_regions: int, rng: np.random.Generator) -> Regions:
        """Find centres by a few rounds of k-means on a sample of the rows."""
        n = len(rows)
        drawn = np.sort(rng.choice(n, min(n, _PER_REGION * n_regions), replace=False))
        sample = DenseRows32(rows.dense(drawn))
        centers = sample.x[rng.choice(len(sample), n_regions, replace=False)]
        for _ in range(_ITERATIONS):
            labels = _labels(sample, centers)
            sizes = np.bincount(labels, minlength=n_regions)
            order = np.argsort(labels, kind="stable")
            full = sizes > 0
            starts = np.cumsum(sizes) - sizes
            sums = np.add.reduceat(sample.x[order], starts[full], axis=0)
            centers[full] = sums / sizes[full, None].astype(np.float32)
            # A centre that is not the nearest of any sample starts again elsewhere.
            centers[~full] = sample.x[rng.choice(len(sample), int((~full).sum()), replace=False)]
        expected = np.bincount(_labels(sample, centers), minlength=n_regions).astype(float)
        expected *= n / len(sample)
        squares = np.einsum("ij,ij->i", centers, centers)
        return cls(Centers(np.ascontiguousarray(centers.T)), squares, expected)

    def __len__(self) -> int:
        return len(self.squares)

    def distances(self, rows: Rows) -> Float32s:
        """Return the squared distances of all of a few rows to all centres."""
        found = np.empty((len(rows), len(self)), dtype=np.float32)

        def measure(start: int, stop: int) -> None:
            out = rows.center_products(start, stop, self.centers, found[start:stop])
            found[start:stop] = rows.squares[start:stop, None] + self.squares - 2 * out

        _for_blocks(measure, len(rows), _rows_at_once(len(self)))
        return found

    def least_effort(self, rows: Rows, queries: Index, nearest: Index, recall: float) -> Effort:
        """Return the least effort by which the true neighbours (m, k) of some samples would be found."""
        ends, inverse = np.unique(nearest, return_inverse=True)
        of_query, of_end = self.distances(rows.take(queries)), self.distances(rows.take(ends))
        home, end_home = of_query.argmin(axis=1), of_end.argmin(axis=1)
        place = inverse.reshape(nearest.shape)
        row = np.arange(len(queries))[:, None]
        least, end_least, from_end = of_query.min(axis=1), of_end.min(axis=1), of_end[place, home[:, None]]
        efforts = []
        for weight in map(np.float32, WEIGHTS):
            ahead = of_query - weight * least[:, None]
            needed = np.minimum(ahead[row, end_home[place]], from_end - weight * end_least[place])
            reach = float(np.quantile(needed, recall, method="higher"))
            pairs = float(((ahead <= reach) @ self.sizes).mean())
            efforts.append(Effort(float(weight), reach, float((needed <= reach).mean()), pairs))
        return min(efforts, key=lambda effort: effort.pairs)


def exact_sample(rows: Rows, queries: Index, k: int) -> Index:
    """Return the k nearest others of a few samples, by comparing all, to single precision."""
    n = len(rows)
    nearest = np.full((len(queries), k), -1, dtype=np.int32)
    distance = np.full((len(queries), k), np.inf, dtype=np.float32)

    def search(start: int, stop: int) -> None:
        scratch = np.empty((stop - start) * _COLUMNS, dtype=np.float32)
        for first in range(0, n, _COLUMNS):
            last = min(first + _COLUMNS, n)
            out = scratch[: (stop - start) * (last - first)].reshape(stop - start, last - first)
            region_kernels.improve_lists(
                rows.products(queries[start:stop], first, last, out),
                queries[start:stop],
                first,
                rows.squares,
                distance[start:stop],
                nearest[start:stop],
            )

    _for_blocks(search, len(queries), _QUERIES)
    return nearest


def _labels(rows: Rows, centers: Float32s) -> NDArray[np.int32]:
    """Return the nearest centre of each row."""
    squares, columns = np.einsum("ij,ij->i", centers, centers), Centers(np.ascontiguousarray(centers.T))
    labels = np.empty(len(rows), dtype=np.int32)

    def assign(start: int, stop: int) -> None:
        out = np.empty((stop - start, len(centers)), dtype=np.float32)
        rows.center_products(start, stop, columns, out)
        region_kernels.nearest_centers(out, squares, labels[start:stop])

    _for_blocks(assign, len(rows), _rows_at_once(len(centers)))
    return labels


def _rows_at_once(n_columns: int) -> int:
    return max(16, _TILE // n_columns)


def _for_blocks(work: Callable[[int, int], None], n: int, size: int) -> None:
    """Call ``work(start, stop)`` on blocks of rows that are the same for any number of threads.

    A product of matrices may differ in the last digit if it is taken over other blocks.
    """

    def run(first: int, last: int) -> None:
        for block in range(first, last):
            work(size * block, min(n, size * (block + 1)))

    with threads.libraries_on_one_thread():
        threads.for_ranges(run, -(-n // size))


@dataclass(frozen=True, eq=False)
class _Chosen:
    """The regions that each row searches, its own first, in compressed rows."""

    starts: NDArray[np.int64]
    regions: NDArray[np.int32]

    @classmethod
    def by(cls, rows: Rows, regions: Regions, effort: Effort) -> _Chosen:
        n, m = len(rows), len(regions)
        counts = np.empty(n, dtype=np.int64)
        parts: dict[int, NDArray[np.int32]] = {}

        weight, reach = np.float32(effort.weight), np.float32(effort.reach)
        fewest, at_once = min(FEWEST, m), _rows_at_once(m)
        if isinstance(rows, DenseRows32) and rows.step is not None:
            step, panels = np.float32(rows.step), regions.centers.as_bytes(rows.step).panels

            def choose(start: int, stop: int) -> None:
                parts[start] = region_kernels.choose_byte_regions(
                    *(rows.x, step, start, stop, at_once, panels, regions.squares, rows.squares),
                    *(weight, reach, fewest, counts),
                )

            threads.for_ranges(choose, n, grain=at_once)
        else:

            def choose(start: int, stop: int) -> None:
                out = np.empty((stop - start, m), dtype=np.float32)
                chosen = np.empty((stop - start) * m, dtype=np.int32)
                written = region_kernels.choose_regions(
                    rows.center_products(start, stop, regions.centers, out),
                    *(regions.squares, rows.squares[start:stop], weight, reach, fewest),
                    *(counts[start:stop], chosen),
                )
                parts[start] = chosen[:written].copy()

            _for_blocks(choose, n, at_once)
        starts = np.concatenate([[0], np.cumsum(counts)])
        return cls(starts, np.concatenate([parts[start] for start in sorted(parts)]))


def search_regions(rows: Rows, k: int, regions: Regions, effort: Effort) -> tuple[Index, Index]:
    """Return the order in which samples were searched, region by region, and lists of places in that order.

    The lists have some more than k members, in the order of distances in single precision.
    """
    n = len(rows)
    chosen = _Chosen.by(rows, regions, effort)
    home = chosen.regions[chosen.starts[:-1]]
    order = np.argsort(home, kind="stable").astype(np.int32)
    bounds = np.concatenate([[0], np.cumsum(np.bincount(home, minlength=len(regions)))])
    arranged = rows.arranged(order)
    width, n_places = min(k + SPARE, n - 1), len(arranged.squares)
    lists = np.full((n_places, width), -1, dtype=np.int32)
    distance = np.full((n_places, width), np.inf, dtype=np.float32)
    search = _Search(arranged, bounds, lists, distance)
    with threads.libraries_on_one_thread():
        threads.for_ranges(search.begin, len(regions))
        groups = [(start, order[start : start + _GROUP]) for start in range(0, n, _GROUP)]
        threads.for_parts([partial(search.tiles, start, some, chosen) for start, some in groups])
    search.end()
    _fill_up(lists[:n], k, rows, order)
    return order, lists[:n]


def _fill_up(lists: Index, k: int, rows: Rows, order: Index) -> None:
    """Make lists with fewer than k members again: their samples are near hardly any others."""
    short = np.flatnonzero(lists[:, k - 1] < 0)
    if len(short):
        place = np.empty_like(order)
        place[order] = np.arange(len(order), dtype=np.int32)
        lists[short] = place[exact_sample(rows, order[short], lists.shape[1])]


class _Search:
    """The search in progress: rows by region, and the lists so far."""

    def __init__(self, rows: Arranged, bounds: NDArray[np.int64], lists: Index, distance: Float32s) -> None:
        self.rows, self.bounds, self.lists, self.distance = rows, bounds, lists, distance
        # Products are computed with whole panels: some samples of the next regions come at no cost.
        self._first = bounds[:-1] // rows.panel * rows.panel
        self._last = np.minimum(-(-bounds[1:] // rows.panel) * rows.panel, len(rows.squares))
        self._sizes = np.where(np.diff(bounds) > 0, self._last - self._first, 0)
        self._locks = unlocked()
        self._left: list[tuple[NDArray[np.int32], Float32s]] = []  # pairs of which a list was locked

    def begin(self, first: int, last: int) -> None:
        """Begin the lists of the samples of some regions with each other."""
        for region in range(first, last):
            samples = np.arange(self.bounds[region], self.bounds[region + 1], dtype=np.int32)
            step = self._step(region)
            scratch = np.empty(room_for(min(step, len(samples))) * self._sizes[region], dtype=np.float32)
            for a in range(0, len(samples), step):
                some = samples[a : a + step]
                region_kernels.improve_lists(
                    self._products(some, region, scratch),
                    some,
                    self._first[region],
                    self.rows.squares,
                    self.distance[some[0] : some[-1] + 1],
                    self.lists[some[0] : some[-1] + 1],
                )

    def tiles(self, start: int, samples: Index, chosen: _Chosen) -> tuple[int, Callable[[int, int], None]]:
        """Divide the search, for the samples at the places from `start` on, of the regions they have chosen.

        Return the number of tiles, and what measures the tiles from first to last.
        """
        ends = np.empty(len(self._sizes), dtype=np.int64)
        total = int((chosen.starts[samples + 1] - chosen.starts[samples] - 1).sum())
        queries = np.empty(total, dtype=np.int32)
        region_kernels.group_by_region(samples, chosen.starts, chosen.regions, 1, ends, queries)
        queries += np.int32(start)
        tiles = self._divided(np.concatenate([[0], ends]))
        return len(tiles), partial(self._measure, tiles, queries)

    def end(self) -> None:
        """Put the pairs that are left into their lists, which nobody locks any more."""
        for pairs, values in self._left:
            region_kernels.insert_pairs(pairs, values, len(values), self._locks, self.distance, self.lists)

    def _divided(self, starts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return tiles: a region, and which of the samples that search it: first, and one after the last."""
        counts = np.where(self._sizes > 0, np.diff(starts), 0)
        steps = np.maximum(16, _TILE // np.maximum(self._sizes, 1))
        n_tiles = -(-counts // steps)
        region = np.repeat(np.arange(len(counts)), n_tiles)
        number = np.arange(len(region)) - np.repeat(np.cumsum(n_tiles) - n_tiles, n_tiles)
        first = starts[region] + number * steps[region]
        return np.stack([region, first, np.minimum(first + steps[region], starts[region + 1])], axis=1)

    def _measure(self, tiles: NDArray[np.int64], queries: Index, first: int, last: int) -> None:
        """Measure all pairs of some tiles, and improve the lists of both ends."""
        if isinstance(self.rows, ByteRows):  # without a word of Python between two tiles
            bounds, lists = np.stack([self._first, self._last], axis=1), (self.distance, self.lists)
            parts = self.rows.rows, self.rows.starts, self.rows.panels, self.rows.squares
            found = region_kernels.search_byte_tiles(
                tiles, first, last, queries, bounds, *parts, self._locks, lists
            )
            self._left.append(found)
            return
        of_tiles = tiles[first:last].tolist()
        most = max(room_for(b - a) * int(self._sizes[region]) for region, a, b in of_tiles)
        room = most + region_kernels.ASIDE
        found, values, aside = np.empty((room, 2), dtype=np.int32), np.empty(room, dtype=np.float32), 0
        scratch = np.empty(most, dtype=np.float32)
        own = self._locks, self.distance, self.lists
        for region, a, b in of_tiles:
            products, begin = self._products(queries[a:b], region, scratch), self._first[region]
            aside = region_kernels.offer_pairs(
                products, queries[a:b], begin, self.rows.squares, *own, found, values, aside
            )
        self._left.append((found[:aside].copy(), values[:aside].copy()))

    def _products(self, queries: Index, region: int, scratch: Float32s) -> Float32s:
        """Return the products of some samples with those of a region."""
        shape = room_for(len(queries)), int(self._sizes[region])
        out = scratch[: shape[0] * shape[1]].reshape(shape)
        return self.rows.products(queries, int(self._first[region]), int(self._last[region]), out)

    def _step(self, region: int) -> int:
        """Return how many samples are compared with a region at once."""
        return max(16, _TILE // max(int(self._sizes[region]), 1))
