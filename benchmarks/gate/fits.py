"""The fits of the baseline, and what is kept of each: digests of all its arrays, and scores.

This is the only file of the gate that calls the library. Who changes the library's names changes them here,
and nothing else: the fits stay what they are.
"""

from __future__ import annotations

import hashlib
import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from consilience import PAPER, DistanceGraphFusion, KMeansLabels, SimilarityGraphFusion, Views, ampute
from consilience.metrics import nmi
from consilience.models import systems

from .sets import DataSet

FUSIONS = {"SGF": SimilarityGraphFusion, "DGF": DistanceGraphFusion}
DENSE = {"MCGC": 1100, "MVGL": 1100, "RMSC": 700, "SNF": 1100}  # samples at most
SCORED = ("SGF", "DGF", "Average", "SGF exact", "DGF exact", "SGF paper", "DGF paper")
TEN_RESTARTS = (
    "AASC",
    "CoReg",
    "RMSC",
    "WMSC",
)  # of k-means, when the baseline was made: now 30 as elsewhere
ABSENT = 0.2  # share of the samples that each view lacks, in fits with missing samples
Arrays = dict[str, NDArray[Any]]


def fits_of(data: DataSet) -> Iterator[str]:
    """Yield the names of the fits on a data set: those that are scored, and on the first sets all others."""
    yield from SCORED
    if data.part != "first":
        return
    for name in FUSIONS:
        yield from (f"{name} {what}" for what in ("missing", "ids", "auto", "approximate", "predict"))
    for name in systems():
        if name not in SCORED and data.n_samples <= DENSE.get(name, np.inf):
            yield name


def scored_on(data: DataSet) -> Iterator[str]:
    """Yield the names of the fits whose scores of ten seeds are kept: fusions, averages and all systems."""
    yield from SCORED
    for name in systems():
        if name not in SCORED and data.n_samples <= DENSE.get(name, np.inf):
            yield name


def arrays_of(name: str, data: DataSet, seed: int = 0) -> Arrays:
    """Fit, and return all arrays that the fit leaves."""
    system, _, what = name.partition(" ")
    model = _model(system, what, data, seed)
    views: Any = Views(list(data.views))
    if what == "missing":
        views = ampute(views, ABSENT, random_state=0)
    if what == "ids":
        order = np.random.default_rng(1).permutation(data.n_samples)
        views = Views(list(data.views), sample_ids=[f"s{i:06d}" for i in order])
    if what == "predict":
        n_old = int(0.8 * data.n_samples)
        model.fit(views[:n_old])
        return {"probabilities": model.predict_proba(views[n_old:]), **_of_model(model)}
    return _of_model(model.fit(views))


def _model(system: str, what: str, data: DataSet, seed: int) -> Any:
    parameters: dict[str, Any] = {"n_clusters": data.n_clusters, "random_state": seed, "n_jobs": 1}
    if what == "exact":
        parameters["solver"] = "exact"
    if what == "paper":
        parameters |= {"n_neighbors": 6, "beta": 1.0, "gamma": 1e4, "metric": data.paper_metric, **PAPER}
    if system in TEN_RESTARTS:
        parameters["assign_labels"] = KMeansLabels(n_init=10)
    if what == "auto":
        parameters["n_clusters"] = "auto"
    if what == "approximate":
        parameters["neighbor_search"] = "approximate"
    kind = systems()[system]
    if hasattr(kind, "row_order"):
        parameters["row_order"] = "given"  # what is frozen was fitted in the order of the files
    if hasattr(kind, "effort"):
        parameters["effort"] = "low"  # and knew neither learned trust nor descriptions
    return kind(**parameters)


def _of_model(model: Any) -> Arrays:
    found: Arrays = {"labels": model.labels_}
    graph = getattr(model, "graph_", None)
    if sparse.issparse(graph):
        found |= {"graph": graph.data, "graph ends": graph.indices, "graph rows": graph.indptr}
    elif graph is not None:
        found["graph"] = graph
    for name in ("embedding_", "eigenvalues_", "view_weights_", "row_reliability_"):
        if hasattr(model, name):
            found[name.removesuffix("_")] = np.asarray(getattr(model, name))
    fusion = getattr(model, "fusion_", None)
    if fusion is not None:
        found |= {
            "fused": fusion.fused,
            "weights": fusion.weights_by_view,
            "inconsistent": fusion.inconsistent_by_view,
            "scales": fusion.view_scales,
            "history": fusion.history,
            "edges": fusion.edges.indices,
        }
    return found


def digest(array: NDArray[Any]) -> list[Any]:
    """Return what tells whether an array is the same, and about how far it is from it if not.

    A hash of shape and values, whatever the kind of integer; and two sums, of the values and of the values
    times a wave.
    """
    flat = np.ascontiguousarray(array)
    flat = flat.astype(np.int64) if flat.dtype.kind in "iub" else flat
    code = hashlib.sha256(str(flat.shape).encode() + str(flat.dtype).encode() + flat.tobytes()).hexdigest()
    values = np.nan_to_num(flat.astype(np.float64).ravel())
    wave = np.cos(0.7 * np.arange(len(values)))
    return [code[:16], float(np.abs(values).sum()), float(values @ wave)]


def measure(name: str, data: DataSet) -> dict[str, Any]:
    """Return the digests, the score and the seconds of a fit; or the reason why there is none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        began = time.perf_counter()
        try:
            found = arrays_of(name, data)
        except Exception as error:  # a cell of the table, not the end of it
            return {"reason": f"{type(error).__name__}: {' '.join(str(error).split())}"}
        seconds = time.perf_counter() - began
    truth = data.truth[: len(found["labels"])]
    return {
        "nmi": 100 * float(nmi(truth, found["labels"])),
        "seconds": seconds,
        "digests": {key: digest(array) for key, array in found.items()},
    }


def scores(name: str, data: DataSet, n_seeds: int = 10) -> list[float]:
    """Return the NMI, by the larger entropy, of the first seeds, in percent."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        labels = (arrays_of(name, data, seed)["labels"] for seed in range(n_seeds))
        return [100 * float(nmi(data.truth, one)) for one in labels]
