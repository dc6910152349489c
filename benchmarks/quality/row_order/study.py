"""What is measured: scores of the same data in different orders of its rows.

- *order*: a data set sorted by class and in random orders, for the solver in all three ways and for averages.
- *strength*: the same for the solver alone, over the one setting that it has.
- *misplaced*: a data set sorted by class, but a fifth of the samples stand in the rows of another class. Is a
  sample given to the class that it is of, or to the one in whose rows it stands?
- *partitions*: noise with a trace of two independent partitions, sorted by the one, then by the other.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from consilience import Views
from consilience.metrics import ari, nmi
from consilience.models import AverageGraph

from ..results import Cells, Results, key
from .orders import LabelledSet, Order, find, misplaced, read_set, shuffled, sorted_by, two_partitions
from .solver import cluster, spectral_labels, transition_matrices

# All sets of the data folder that have at most 1100 samples, without those that were added in random order.
SETS = (
    "breastTCGA_3omics_train",
    "3Sources",
    "MSRC_v1",
    "ORL32",
    "NGs",
    "BBCSport",
    "CUB",
    "Movies",
    "BBC4view",
    "WebKB",
    "ALOI10",
)
SAMPLES, NONE, VIEWS = "FFT along samples", "no FFT", "FFT along views"
SAME, AVERAGE = "mean of the same graphs", "AverageGraph"
WAYS = {SAMPLES: "samples", NONE: "none", VIEWS: "views"}
METHODS = (*WAYS, SAME, AVERAGE)
N_SHUFFLED = 5
N_DRAWS = 5  # of misplaced samples, and of noise
# Without the rotation a round takes decompositions of n x n matrices, and a fit minutes.
LARGEST_FOR_VIEWS = LARGEST_FOR_DETAILS = 700
STRENGTHS = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0)
MISPLACED_SHARE, MISPLACED_STRENGTHS = 0.2, (0.75, 1.0)
TRACES = (0.0, 0.1, 0.15, 0.2, 0.3)


@dataclass(frozen=True)
class Piece:
    """A piece of work: one kind of measurement on one data set, or on noise with traces of this strength."""

    kind: str
    name: str
    path: Path | None = None

    @property
    def key(self) -> str:
        """Return the name of its result."""
        return key("row order", self.kind, self.name)

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


def plan(folder: Path, names: Sequence[str], results: Results) -> list[Piece]:
    """Return what is not yet measured."""
    pieces = [Piece("partitions", f"{trace:g}") for trace in TRACES]
    for kind in ("order", "strength", "misplaced"):
        pieces += [Piece(kind, name, find(folder, name)) for name in names]
    return [piece for piece in pieces if not results.has(piece.key)]


def do(piece: Piece) -> Cells:
    """Measure, and return the result by name."""
    if piece.path is None:
        return {piece.key: {"kind": piece.kind, "trace": float(piece.name), **partitions(float(piece.name))}}
    data = read_set(piece.path)
    facts = {"n_samples": len(data.truth), "n_views": len(data.features), "n_clusters": data.n_clusters}
    measure = {"order": order_scores, "strength": strength_scores, "misplaced": misplaced_shares}[piece.kind]
    found = {} if piece.kind != "order" and len(data.truth) > LARGEST_FOR_DETAILS else measure(data)
    return {piece.key: {"kind": piece.kind, "set": piece.name, **facts, **found}}


def order_scores(data: LabelledSet) -> dict[str, Any]:
    """Return the NMI of all methods with the rows sorted by class, and shuffled.

    To sort by labels drawn at random is to shuffle, so the shuffled fits also tell whether the solver finds
    labels of which nothing is in the data: `random_labels`, its adjusted Rand index with blocks of rows.
    """
    n, c = len(data.truth), data.n_clusters
    transitions = transition_matrices(data.features)
    orders = [sorted_by(data.truth), *(shuffled(n, seed) for seed in range(N_SHUFFLED))]
    blocks = np.arange(n) * c // n
    scores, random_labels = {}, []
    for method in METHODS:
        if method == VIEWS and n > LARGEST_FOR_VIEWS:
            continue
        found = []
        # Two orders are enough to see that the other ways do not depend on them.
        for order in orders if method in (SAMPLES, AVERAGE) else orders[:2]:
            labels = _labels(method, data, transitions, order)
            found.append(nmi(data.truth, labels))
            if method == SAMPLES and len(found) > 1:
                random_labels.append(ari(blocks, labels[order]))
        scores[method] = {"sorted": found[0], "shuffled": found[1:]}
    return {"scores": scores, "random_labels": random_labels}


def strength_scores(data: LabelledSet) -> dict[str, Any]:
    """Return the NMI of the solver, sorted and shuffled, for weights of the error around the rule."""
    transitions = transition_matrices(data.features)
    orders = {"sorted": sorted_by(data.truth), "shuffled": shuffled(len(data.truth), 0)}
    scores = {
        name: [nmi(data.truth, cluster(transitions, data.n_clusters, order, strength=s)) for s in STRENGTHS]
        for name, order in orders.items()
    }
    return {"strengths": list(STRENGTHS), **scores}


def misplaced_shares(data: LabelledSet) -> dict[str, Any]:
    """Return the shares of misplaced samples that go to the class of their rows, and to their own."""
    transitions = transition_matrices(data.features)
    names = [f"{strength:g}" for strength in MISPLACED_STRENGTHS]
    shares: dict[str, list[tuple[float, float]]] = {name: [] for name in [*names, SAME]}
    for seed in range(N_DRAWS):
        given = misplaced(data.truth, MISPLACED_SHARE, seed)
        order = sorted_by(given, seed)
        for name, strength in zip(names, MISPLACED_STRENGTHS, strict=True):
            labels = cluster(transitions, data.n_clusters, order, strength=strength)
            shares[name].append(where_they_go(labels, given, data.truth))
        labels = _labels(SAME, data, transitions, order)
        shares[SAME].append(where_they_go(labels, given, data.truth))
    return {"shares": {name: np.mean(pairs, axis=0).tolist() for name, pairs in shares.items()}}


def where_they_go(labels: NDArray[Any], given: NDArray[Any], truth: NDArray[Any]) -> tuple[float, float]:
    """Return the shares of the samples that stand elsewhere that get the given label, and their own.

    Clusters are matched with classes by the other samples, which stand in the right rows.

    Examples
    --------
    >>> truth = np.array([0, 0, 0, 1, 1, 1])
    >>> where_they_go(np.array([1, 1, 0, 0, 0, 0]), np.array([0, 0, 1, 0, 1, 1]), truth)
    (0.5, 0.5)
    """
    in_place = given == truth
    size = int(max(labels.max(), truth.max())) + 1
    counts = np.zeros((size, size))
    np.add.at(counts, (labels[in_place], truth[in_place]), 1)
    classes = linear_sum_assignment(counts, maximize=True)[1][labels]
    elsewhere = ~in_place
    return (
        float((classes[elsewhere] == given[elsewhere]).mean()),
        float((classes[elsewhere] == truth[elsewhere]).mean()),
    )


def partitions(trace: float) -> dict[str, Any]:
    """Return the NMI of all methods with both planted partitions, sorted by either, and shuffled."""
    found: dict[str, list[tuple[float, float]]] = {}
    for seed in range(N_DRAWS):
        data = two_partitions(trace, seed=seed)
        transitions = transition_matrices(data.features)
        n, c = len(data.first), int(data.first.max()) + 1
        orders = {"first": sorted_by(data.first), "second": sorted_by(data.second), "random": shuffled(n, 0)}
        fits = {
            f"{way}, {by}": cluster(transitions, c, order, along=WAYS[way])
            for way in (SAMPLES, NONE)
            for by, order in orders.items()
        }
        fits[AVERAGE] = _average(Views(list(data.features)), c, orders["random"])
        for name, labels in fits.items():
            found.setdefault(name, []).append((nmi(data.first, labels), nmi(data.second, labels)))
    return {"scores": {name: np.mean(pairs, axis=0).tolist() for name, pairs in found.items()}}


def _labels(
    method: str, data: LabelledSet, transitions: NDArray[np.float64], order: Order
) -> NDArray[np.int32]:
    """Return the labels that a method gives to samples that stand in this order."""
    if method in WAYS:
        return cluster(transitions, data.n_clusters, order, along=WAYS[method])
    if method == AVERAGE:
        return _average(data.views, data.n_clusters, order)
    return spectral_labels(transitions, data.n_clusters)  # a mean that sees no order


def _average(views: Views, n_clusters: int, order: Order) -> NDArray[np.int32]:
    """Return the labels of our average of graphs."""
    model = AverageGraph(n_clusters=n_clusters, scale="auto", n_jobs=1, random_state=0)
    labels = np.empty(len(order), dtype=np.int32)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that features are rescaled, or that a graph falls into parts
        labels[order] = model.fit(views[order]).labels_
    return labels
