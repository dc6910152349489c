"""Problems to try engines on: views of every kind, with samples missing, with trust, sparse and dense."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ...engines import Engine, get_engine
from ...graphs import EdgeKernel, EdgeSet
from ...spaces import Space

Mask = NDArray[np.bool_]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class EngineProblem:
    """Views, and what the oracle makes of them: the input of every later function of the seam.

    So an engine is tried function by function, each on what the oracle found before.

    Attributes
    ----------
    name : str
        What it is, for messages.
    spaces : tuple of Space
        The views.
    n_neighbors : int
        Neighbours per sample and view.
    new_rows : tuple of arrays
        New samples, by the features of each view.
    n_clusters : int
        Number of clusters.
    """

    name: str
    spaces: tuple[Space, ...]
    n_neighbors: int
    new_rows: tuple[Any, ...]
    n_clusters: int = 3

    @cached_property
    def oracle(self) -> Engine:
        """The readable engine."""
        return get_engine("numpy")

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return self.spaces[0].n_samples

    @cached_property
    def mask(self) -> Mask | None:
        """Which view has seen which sample, (n, v); None: all."""
        if all(space.is_complete for space in self.spaces):
            return None
        seen = [np.ones(self.n_samples, bool) if one.seen is None else one.seen for one in self.spaces]
        return np.column_stack(seen)

    @cached_property
    def points(self) -> tuple[Any, ...]:
        """The views, placed by the oracle."""
        return tuple(self.oracle.place(space) for space in self.spaces)

    @cached_property
    def lists(self) -> tuple[NDArray[Any], ...]:
        """The nearest of each sample in each view."""
        return tuple(self.oracle.nearest(points, self.n_neighbors).lists for points in self.points)

    @cached_property
    def edges(self) -> EdgeSet:
        """The shared edges."""
        edges: EdgeSet = self.oracle.unite(self.lists, self.mask)
        return edges

    @cached_property
    def judged(self) -> Mask | None:
        """Which view judges which edge."""
        judged: Mask | None = self.oracle.judged(self.edges)
        return judged

    @cached_property
    def values(self) -> tuple[Floats, ...]:
        """What each view says of the edges."""
        return tuple(self.oracle.measure(points, self.edges) for points in self.points)

    @cached_property
    def kernels(self) -> tuple[EdgeKernel, ...]:
        """How these become similarities."""
        found = []
        for i, (space, values) in enumerate(zip(self.spaces, self.values, strict=True)):
            if space.kind == "similarity":
                found.append(EdgeKernel())
                continue
            standard = EdgeKernel(moments=self.oracle.moments(values, self.judged, i))
            sigma = self.oracle.mean_root(values, self.judged, i, standard)
            found.append(EdgeKernel(moments=standard.moments, width=2 * sigma**2))
        return tuple(found)

    @cached_property
    def weights(self) -> Floats:
        """Similarities on the edges, (v, n_edges)."""
        parts = zip(self.values, self.kernels, strict=True)
        return np.asarray(self.oracle.weigh(self.edges, len(self.spaces), parts, double=True))

    @cached_property
    def normalized(self) -> Floats:
        """The same, of sum 1 for each view."""
        names = [space.name for space in self.spaces]
        return np.asarray(self.oracle.normalize(self.weights.copy(), self.judged, names))

    @cached_property
    def trust(self) -> Floats:
        """How much each row of each view counts, (n, v)."""
        drawn = np.random.default_rng(7).uniform(0.2, 1.0, (self.n_samples, len(self.spaces)))
        drawn[drawn > 0.9] = 1.0
        return drawn

    @cached_property
    def trust_on_edges(self) -> Floats:
        """The same on the edges, (v, n_edges)."""
        return np.asarray(self.oracle.trust_on_edges(self.edges, self.trust, self.weights))

    @cached_property
    def view_weights(self) -> Floats:
        """How much each view counts."""
        return np.asarray(1.0 + 0.3 * np.arange(len(self.spaces)), dtype=np.float64)

    @cached_property
    def fused(self) -> Floats:
        """One similarity for each edge."""
        return np.asarray(self.oracle.average(self.normalized, self.judged, self.view_weights))

    @cached_property
    def graph(self) -> sparse.csr_array:
        """The unified graph."""
        return sparse.csr_array(self.oracle.sparsify(self.edges, self.fused, self.n_neighbors))

    @cached_property
    def vectors(self) -> Floats:
        """An embedding of that graph."""
        found = self.oracle.leading_vectors(self.graph, self.n_clusters, None, 0)
        return np.asarray(found.vectors)

    @cached_property
    def asked(self) -> Mask:
        """Which new sample has which view: each has one at least."""
        m, v = self.new_rows[0].shape[0], len(self.spaces)
        asked = np.random.default_rng(3).random((m, v)) < 0.7
        asked[np.arange(m), np.arange(m) % v] = True
        return asked

    def __repr__(self) -> str:
        return f"EngineProblem({self.name!r})"


def random_problems(n: int = 90, seed: int = 0) -> Iterator[EngineProblem]:
    """Yield small problems of every kind that an engine must be able to solve.

    Parameters
    ----------
    n : int, default=90
        Number of samples.
    seed : int, default=0
        Draws the data.
    """
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, n)

    def features(d: int, spread: float = 2.5) -> Floats:
        return rng.normal(size=(3, d))[labels] * spread + rng.normal(size=(n, d))

    def problem(name: str, rows: Sequence[Any], metrics: Sequence[Any], **more: Any) -> EngineProblem:
        seen = more.get("seen", [None] * len(rows))
        kinds = more.get("kinds", [None] * len(rows))
        spaces = tuple(
            Space(f"{name}_{i}", x, metric, seen=own, kinds=kind)
            for i, (x, metric, own, kind) in enumerate(zip(rows, metrics, seen, kinds, strict=True))
        )
        new = tuple(_new_rows(x, rng) for x in rows)
        return EngineProblem(name, spaces, 7, new)

    dense, other, third = features(5), features(8), features(3)
    yield problem("dense", [dense, other, third], ["euclidean"] * 3)
    yield problem("single precision", [dense.astype(np.float32), other.astype(np.float32)], ["euclidean"] * 2)
    yield problem("directions", [dense, other, third], ["cosine", "correlation", "manhattan"])
    counts = sparse.csr_array(rng.poisson(np.exp(0.4 * features(30, 0.8))).astype(np.float64))
    other_counts = sparse.csr_array(rng.poisson(np.exp(0.3 * features(20, 0.8))).astype(np.float64))
    yield problem("sparse", [counts, other_counts], ["cosine", "euclidean"])
    seen = [rng.random(n) < share for share in (0.7, 0.8, 0.9)]
    seen[2] |= ~(seen[0] | seen[1])
    yield problem("missing samples", [dense, other, third], ["euclidean", "cosine", "euclidean"], seen=seen)
    yield problem("sparse, missing samples", [counts, other], ["cosine", "euclidean"], seen=seen[1:])
    tied = np.round(features(2)).clip(-2, 2)
    yield problem("ties", [tied, np.round(third)], ["euclidean", "manhattan"])
    distances = np.sqrt(((dense[:, None] - dense[None]) ** 2).sum(-1))
    yield problem(
        "matrices",
        [distances, np.exp(-(distances**2) / 8)],
        ["precomputed_distance", "precomputed_similarity"],
    )
    cells = features(4)
    cells[rng.random(cells.shape) < 0.1] = np.nan
    cells[:, 0] = features(1)[:, 0]  # so that any two samples have a column in common
    mixed = np.column_stack([features(2), rng.integers(0, 3, n), rng.integers(0, 2, n)]).astype(np.float64)
    kinds = [None, ("numeric", "numeric", "categorical", "ordinal")]
    yield problem("empty cells and categories", [cells, mixed], ["nan_euclidean", "gower"], kinds=kinds)
    yield problem("a function", [third, dense], [_taxi, "euclidean"])


def _taxi(a: Any, b: Any) -> float:
    return float(np.abs(a - b).sum())


def _new_rows(rows: Any, rng: np.random.Generator) -> Any:
    """Return new samples: some of the old ones again, and some that are new."""
    again = rows[:4]
    if sparse.issparse(rows):
        fresh = sparse.csr_array(rows[4:9] + rows[9:14])
        return sparse.csr_array(sparse.vstack([again, fresh]))
    mixed = (rows[4:9] + rows[9:14]) / 2
    if rows.shape[0] == rows.shape[1]:
        return np.vstack([again, mixed])
    return np.vstack([again, np.where(rng.random(mixed.shape) < 0.5, mixed, rows[4:9])])
