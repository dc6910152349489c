"""Systems whose growth is measured, each as a function from views to labels, and one measured fit of them.

A function imports what it needs itself, so that a package that is not installed only costs its own rows.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.cluster import MiniBatchKMeans, SpectralClustering
from sklearn.metrics import adjusted_rand_score
from sklearn.utils import check_array

from consilience.models import systems

from .data import N_CLASSES, blobs
from .limited import begin
from .measure import forget_peak, memory_status, stage_peaks

N_WARM = {"muon WNN, Leiden": 10_000}  # samples of the fit before, for those who compile other code for many
Views = list[NDArray[np.float32]]
Answer = tuple[Any, dict[str, Any]]  # labels, and what else there is to say


def _own(name: str) -> Callable[..., Answer]:
    """Return one of our systems as such a function."""

    def fit(views: Views, k: int, search: str) -> Answer:
        model = systems()[name](n_clusters=N_CLASSES, n_neighbors=k, neighbor_search=search, random_state=0)
        model.fit(views)
        found = getattr(model, "neighbor_searches_", ()) or ()
        reports = [
            {"search": one.search, "recall": one.recall, "pairs": one.pairs}
            for one in found
            if one is not None
        ]
        edges = getattr(model, "edges_", None)
        return model.labels_, {
            "timings": dict(model.timings_),
            "searches": reports,
            "edges": None if edges is None else len(edges.indices),
        }

    return fit


def spectral_neighbors(views: Views, k: int, search: str) -> Answer:
    """Cluster the k nearest neighbours of the concatenation."""
    model = SpectralClustering(
        N_CLASSES, affinity="nearest_neighbors", n_neighbors=k, random_state=0, n_jobs=-1
    )
    return model.fit_predict(np.hstack(views)), {}


def spectral_dense(views: Views, k: int, search: str) -> Answer:
    """Cluster a full kernel matrix of the concatenation; its width suits the data."""
    x = np.hstack(views)
    model = SpectralClustering(N_CLASSES, affinity="rbf", gamma=1 / (2 * x.shape[1]), random_state=0)
    return model.fit_predict(x), {}


def mini_batches(views: Views, k: int, search: str) -> Answer:
    """Find means of the concatenation."""
    return MiniBatchKMeans(N_CLASSES, random_state=0, n_init=10).fit_predict(np.hstack(views)), {}


def snfpy(views: Views, k: int, search: str) -> Answer:
    """Fuse dense matrices of similarities, as the Python port of the authors' program does."""
    from snf import compute

    # Its last release calls scikit-learn by a name that is no longer there.
    compute.check_array = lambda x, force_all_finite=True, **rest: check_array(
        x, ensure_all_finite=force_all_finite, **rest
    )
    affinities = compute.make_affinity([view.astype(float) for view in views], metric="euclidean", K=k)
    fused = compute.snf(affinities, K=k)
    model = SpectralClustering(N_CLASSES, affinity="precomputed", random_state=0)
    return model.fit_predict(fused), {}


def muon_wnn(views: Views, k: int, search: str) -> Answer:
    """Weigh the neighbours in each view for each sample, as muon does, and find communities by Leiden."""
    import anndata
    import mudata
    import muon
    import scanpy

    # Of more than a few thousand samples scanpy gets an array, asks it for what only a matrix has, and hands
    # it on to muon, which takes its rows for matrices.
    sparse.csr_array.getnnz = lambda x, axis=None: np.diff(x.indptr) if axis == 1 else x.nnz
    content = mudata.MuData({f"view_{i}": anndata.AnnData(view) for i, view in enumerate(views)})
    seconds = {}
    began = time.perf_counter()
    for one in content.mod.values():
        scanpy.pp.neighbors(one, n_neighbors=k, use_rep="X", random_state=0)
        for name, matrix in one.obsp.items():
            one.obsp[name] = sparse.csr_matrix(matrix)
    seconds["neighbors"] = time.perf_counter() - began
    muon.pp.neighbors(content, n_neighbors=k, random_state=0)
    seconds["WNN"] = time.perf_counter() - began - sum(seconds.values())
    scanpy.tl.leiden(content, resolution=1.0, random_state=0, flavor="igraph", n_iterations=2, directed=False)
    seconds["Leiden"] = time.perf_counter() - began - sum(seconds.values())
    return content.obs["leiden"].astype(int).to_numpy(), {"timings": seconds}


SYSTEMS: dict[str, Callable[..., Answer]] = {
    "DGF": _own("DGF"),
    "Average": _own("Average"),
    "MiniBatchKMeans": mini_batches,
    "spectral, k nearest": spectral_neighbors,
    "muon WNN, Leiden": muon_wnn,
    "SNF": _own("SNF"),
    "snfpy": snfpy,
    "spectral, dense": spectral_dense,
}
PACKAGES = {"muon WNN, Leiden": ("muon", "igraph"), "snfpy": ("snfpy",)}


def fit(system: str, n: int, dimensions: list[int], k: int, search: str) -> dict[str, Any]:
    """Fit once, warm, and return what it took: in all, per stage, and how good the labels are."""
    warnings.simplefilter("ignore")
    small = blobs(N_WARM.get(system, 400), dimensions, seed=1).views
    try:
        # Compile first: of few samples, "auto" would look at all pairs.
        SYSTEMS[system](small, min(k, 10), "approximate" if search == "auto" else search)
    except ImportError as error:
        return {"reason": f"not installed: {error}"}
    libraries = memory_status("VmRSS")
    sample = blobs(n, dimensions)
    begin()
    forget_peak()
    began, cpu = time.perf_counter(), time.process_time()
    with stage_peaks() as peaks:
        labels, facts = SYSTEMS[system](sample.views, k, search)
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    most = max(memory_status("VmHWM"), *peaks.values(), 0)
    return {
        "seconds": seconds,
        "cpu": cpu,
        "peak": most / 2**20,
        "megabytes": (most - libraries) / 2**20,
        "ari": float(adjusted_rand_score(sample.y, labels)),
        "clusters": len(np.unique(labels)),
        "peaks": {name: (value - libraries) / 2**20 for name, value in peaks.items()},
        **facts,
    }
