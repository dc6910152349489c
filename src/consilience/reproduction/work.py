"""What the pieces of work are: fits and their scores, times, convergence, growth, and pictures of graphs.

Each function takes the laboratory, which knows the data, and the arguments of a piece of work; it returns
what can be written as JSON. Scores are in percent, times in seconds.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from .. import metrics
from ..engines import get_engine, threads
from ..fusion import Schedule, learn_consistent_graph, pose
from ..models import MCGC, MVGL, RMSC, SharedViews, systems
from ..models.fusion import GraphFusion
from ..models.systems.labelling import relabel
from ..models.systems.view_graphs import view_graph
from ..stages.embed import spectral_embedding
from ..stages.label import KMeansLabels
from ..stages.prepare import prepare
from ..views import Views
from .data_sets import load_set
from .definitions import load_paper
from .store import Work

SCORES = {
    "NMI": metrics.nmi,
    "ACC": metrics.clustering_accuracy,
    "ARI": metrics.ari,
    "purity": metrics.purity,
}
FAILURES = (ValueError, MemoryError, np.linalg.LinAlgError)  # they fill a cell, and the run goes on
LEARN_ONCE = (MCGC, MVGL, RMSC)
_LONG = 3.0  # seconds after which a fit is timed once
_PIXELS = 200  # of a picture of an affinity matrix, each way


@dataclass(frozen=True)
class Loaded:
    """A data set, ready for many fits."""

    views: Views
    shared: SharedViews
    truth: NDArray[Any]
    metric: str
    n_classes: int


@dataclass(frozen=True)
class Laboratory:
    """Does pieces of work.

    Parameters
    ----------
    files : tuple of (str, Path)
        The data sets by name, and their files.
    """

    files: tuple[tuple[str, Path], ...]

    def __call__(self, work: Work) -> Any:
        """Do one piece of work, on one thread."""
        with warnings.catch_warnings(), threads.limit(1):
            warnings.simplefilter("ignore", UserWarning)  # of graphs that are not connected: many are not
            warnings.simplefilter("ignore", ConvergenceWarning)
            return KINDS[work.kind](self, work.data, **work.arguments)

    def load(self, name: str) -> Loaded:
        """Return a data set; the last one is kept."""
        return _load(dict(self.files)[name], name)


@lru_cache(maxsize=1)
def _load(path: Path, name: str) -> Loaded:
    found = load_set(load_paper().sets[name], path)
    definition = found.definition
    shared = SharedViews(found.views)
    return Loaded(found.views, shared, found.labels, definition.metric, definition.n_classes)


def fits(
    lab: Laboratory,
    data: str,
    *,
    system: str,
    arguments: Mapping[str, Any],
    points: Sequence[Mapping[str, Any]],
    seeds: Sequence[int],
) -> list[dict[str, Any]]:
    """Score a system at some points of its parameters, with every seed: one row for each.

    All fits share neighbours and distances. A point where the system fails is one row with the reason.
    """
    loaded = lab.load(data)
    rows: list[dict[str, Any]] = []
    for point in points:
        model = _system(system, loaded, {**arguments, **point})
        try:
            for seed, labels in _labels(model, loaded, seeds):
                scores = {name: 100 * float(score(loaded.truth, labels)) for name, score in SCORES.items()}
                rows.append({**point, "seed": seed, **scores, **_facts_of(model)})
        except FAILURES as error:
            rows.append({**point, "reason": _one_line(error)})
    return rows


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__


def _system(name: str, loaded: Loaded, arguments: Mapping[str, Any]) -> Any:
    """Return a system with some arguments; `n_init` are the restarts of its k-means."""
    given = dict(arguments)
    if "n_init" in given:
        given["assign_labels"] = KMeansLabels(n_init=given.pop("n_init"))
    return systems()[name](n_clusters=loaded.n_classes, metric=loaded.metric, **given)


def _labels(model: Any, loaded: Loaded, seeds: Sequence[int]) -> Iterator[tuple[int, NDArray[np.intp]]]:
    """Yield the labels of every seed.

    What RMSC, MVGL and MCGC learn does not depend on the seed, and takes long: it is learned once.
    """
    for number, seed in enumerate(seeds):
        if number == 0 or not isinstance(model, LEARN_ONCE):
            yield seed, model.set_params(random_state=seed).fit(loaded.shared).labels_
        else:
            yield seed, relabel(model, seed)


def _facts_of(model: Any) -> dict[str, Any]:
    """Return what SGF and DGF say about rounds and views."""
    if not (isinstance(model, GraphFusion) and hasattr(model, "fusion_")):
        return {}
    shares = model.views_.inconsistent_share.tolist()
    return {
        "rounds": model.n_iter_,
        "scales": model.view_scales_.tolist(),
        "contributions": model.view_contributions_.tolist(),
        "inconsistent": [None if np.isnan(share) else share for share in shares],  # JSON has no NaN
    }


def times(
    lab: Laboratory,
    data: str,
    *,
    system: str,
    arguments: Mapping[str, Any],
    point: Mapping[str, Any],
    n_repeats: int,
) -> dict[str, Any]:
    """Time a system from features to labels, on one thread.

    A first fit, in which code may be compiled, does not count; unless it takes so long that this is nothing.
    """
    loaded = lab.load(data)
    model = _system(system, loaded, {**arguments, **point, "random_state": 0, "n_jobs": 1})
    seconds: list[float] = []
    stages: list[dict[str, float]] = []
    while len(seconds) <= n_repeats and not (seconds and seconds[0] > _LONG):
        began = time.perf_counter()
        try:
            model.fit(loaded.views)
        except FAILURES as error:
            return {"reason": _one_line(error)}
        seconds.append(time.perf_counter() - began)
        stages.append(model.timings_)
    counted = slice(len(seconds) > 1, None)
    return {
        "seconds": seconds[counted],
        "stages": {name: float(np.median([one[name] for one in stages[counted]])) for name in stages[0]},
    }


def convergence(
    lab: Laboratory,
    data: str,
    *,
    system: str,
    arguments: Mapping[str, Any],
    point: Mapping[str, Any],
    solver: str,
    n_rounds: int,
) -> dict[str, Any]:
    """Return the objective of every round, and where the stopping rule would have ended."""
    loaded = lab.load(data)
    model = _system(system, loaded, {**arguments, **point, "random_state": 0})
    stopped = model.set_params(solver=solver).fit(loaded.shared).n_iter_
    model.set_params(tol=0.0, max_iter=n_rounds).fit(loaded.shared)
    return {"history": model.history_.tolist(), "stopped": int(stopped)}


def complexity(
    lab: Laboratory,
    data: str,
    *,
    k: int,
    n: int,
    v: int,
    point: Mapping[str, float],
    n_rounds: int,
    n_repeats: int,
) -> dict[str, Any]:
    """Time the fusion alone, of v views on k n edges with random weights, for a fixed number of rounds."""
    weights = np.random.default_rng(0).random((v, k * n))
    schedule, engine = Schedule(tol=0.0, max_iter=n_rounds), get_engine("numba")
    seconds = []
    for _ in range(n_repeats + 1):
        began = time.perf_counter()
        problem = pose(weights, beta=point["beta"], gamma=point["gamma"], engine=engine)
        learn_consistent_graph(problem, schedule, engine)
        seconds.append(time.perf_counter() - began)
    return {"seconds": seconds[1:]}


def affinity(
    lab: Laboratory,
    data: str,
    *,
    system: str,
    arguments: Mapping[str, Any],
    point: Mapping[str, float],
    view_features: Sequence[int],
) -> list[dict[str, Any]]:
    """Return pictures of the graphs of some views and of their fusion, samples by class, and their scores."""
    loaded = lab.load(data)
    names = [name for name, array in loaded.views.items() if array.shape[1] in view_features]
    views = loaded.views.select(names)
    order = np.argsort(loaded.truth, kind="stable")
    pictures = []
    k = int(arguments["n_neighbors"])
    alone = {"n_neighbors": k, "random_state": 0}
    for name in names:
        model = _system("SC", loaded, {**alone, "view": name}).fit(views)
        pictures.append(_picture(f"view {name}", model, loaded, order))
    fused = _system(system, loaded, {**arguments, **point, "random_state": 0}).fit(views)
    return [*pictures, _picture(system, fused, loaded, order)]


def _picture(title: str, model: Any, loaded: Loaded, order: NDArray[np.intp]) -> dict[str, Any]:
    """Return a graph as a small picture, each pixel the mean of a block, and how good its clustering is."""
    graph = model.graph_[order][:, order].tocoo()
    n = len(order)
    pixels = min(_PIXELS, n)
    places = np.arange(n) * pixels // n
    sums = np.zeros((pixels, pixels))
    np.add.at(sums, (places[graph.row], places[graph.col]), graph.data)
    sizes = np.bincount(places)
    means = sums / np.outer(sizes, sizes)
    same = loaded.truth[order][graph.row] == loaded.truth[order][graph.col]
    return {
        "title": title,
        "pixels": (means / means.max()).round(4).tolist(),
        "weight_between_classes": float(graph.data[~same].sum() / graph.data.sum()),
        "labels": model.labels_[order].tolist(),
        "truth": np.unique(loaded.truth[order], return_inverse=True)[1].tolist(),
        **{name: 100 * float(score(loaded.truth, model.labels_)) for name, score in SCORES.items()},
    }


def eigengaps(
    lab: Laboratory, data: str, *, arguments: Mapping[str, Any], point: Mapping[str, float], n_repeats: int
) -> list[dict[str, Any]]:
    """Return eigengap and time of the eigen-solve, for the graph of each view and for the learned ones."""
    loaded = lab.load(data)
    k = int(arguments["n_neighbors"])
    engine = get_engine("numba")
    views = prepare(loaded.views, (loaded.metric,) * loaded.views.n_views, "none", engine=engine)
    graphs = {
        f"view {name}": view_graph(i, views, k, "exact", engine=engine) for i, name in enumerate(views.names)
    }
    for system in ("SGF", "DGF"):
        graphs[system] = (
            _system(system, loaded, {**arguments, **point, "random_state": 0}).fit(loaded.shared).graph_
        )
    rows = []
    for name, graph in graphs.items():
        seconds = []
        for _ in range(n_repeats + 1):
            began = time.perf_counter()
            spectral_embedding(graph, loaded.n_classes, random_state=0)
            seconds.append(time.perf_counter() - began)
        values = spectral_embedding(graph, loaded.n_classes + 1, random_state=0).eigenvalues
        rows.append(
            {
                "graph": name,
                "eigengap": float(values[-1] - values[-2]),
                "seconds": float(np.median(seconds[1:])),
            }
        )
    return rows


KINDS: dict[str, Callable[..., Any]] = {
    "fits": fits,
    "times": times,
    "convergence": convergence,
    "complexity": complexity,
    "affinity": affinity,
    "eigengaps": eigengaps,
}
