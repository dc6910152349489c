"""Libraries that find near neighbours, each as a function from rows to the k nearest others of every row.

A function takes the rows, k, the metric ("euclidean" or "cosine"), the number of threads, a seed, and its own
settings; it imports its library itself, so that one that is not installed only costs its own rows. Building
the index and asking it are one call: we want the graph, and need no index afterwards.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import normalize
from threadpoolctl import threadpool_limits

from consilience.engines import get_engine
from consilience.spaces import Space
from consilience.spaces.scaling import thinned

Index = NDArray[Any]


@dataclass(frozen=True)
class Library:
    """One way of searching, and the settings at which it is measured.

    Attributes
    ----------
    search : callable
        The function.
    settings : tuple of dict
        Few to many of its own parameters, from fast to thorough.
    packages : tuple of str
        What must be installed besides NumPy, SciPy, scikit-learn and Numba.
    large : tuple of int
        Which of the settings are measured on a million rows, too.
    """

    search: Callable[..., Index]
    settings: tuple[dict[str, Any], ...] = ({},)
    packages: tuple[str, ...] = ()
    large: tuple[int, ...] = ()


def without_own(index: Index, k: int) -> Index:
    """Return lists of k others from lists of k + 1 that may begin with the row itself; -1 is nobody.

    Examples
    --------
    >>> import numpy as np
    >>> without_own(np.array([[0, 2], [2, 0], [2, 1]]), 1).ravel()
    array([2, 2, 1])
    """
    own = index == np.arange(len(index))[:, None]
    own[~own.any(axis=1), -1] = True  # it did not find itself: then the last is one too many
    return index[~own].reshape(len(index), k)


def _dense(x: Any, metric: str) -> NDArray[np.float32]:
    """Return rows whose Euclidean neighbours are wanted; for cosine a copy of unit length."""
    if sparse.issparse(x):
        raise TypeError("takes no sparse rows")
    return x if metric == "euclidean" else normalize(x)


def scikit_learn(x: Any, k: int, metric: str, n_threads: int, seed: int) -> Index:
    """All distances, block by block."""
    with threadpool_limits(n_threads):
        model = NearestNeighbors(n_neighbors=k, metric=metric, algorithm="brute", n_jobs=n_threads)
        return model.fit(x).kneighbors(return_distance=False)


def ours(x: Any, k: int, metric: str, n_threads: int, seed: int, search: Any = "exact") -> Index:
    """Search as a fit does: exactly, or approximately."""
    engine = get_engine("numba")
    with engine.limit(n_threads):
        points = engine.place(Space("rows", thinned(x), metric))
        return np.asarray(engine.fetch(engine.nearest(points, k, search).lists))


def pynndescent(x: Any, k: int, metric: str, n_threads: int, seed: int, **settings: Any) -> Index:
    """Descend from random projection trees through neighbours of neighbours."""
    import numba
    from pynndescent import NNDescent

    settings = {"n_neighbors": k + 1, **settings}
    before = numba.get_num_threads()
    try:
        found = NNDescent(x, metric=metric, n_jobs=n_threads, random_state=seed, **settings)
    finally:
        numba.set_num_threads(before)
    return without_own(found.neighbor_graph[0][:, : k + 1], k)


def faiss_flat(x: Any, k: int, metric: str, n_threads: int, seed: int) -> Index:
    """All distances."""
    import faiss

    x = _dense(x, metric)
    return _ask_faiss(faiss.IndexFlatL2(x.shape[1]), x, k, n_threads)


def faiss_lists(x: Any, k: int, metric: str, n_threads: int, seed: int, share: float) -> Index:
    """Cut the rows into sqrt(n) lists by k-means and look through the nearest share of the lists."""
    import faiss

    x = _dense(x, metric)
    n, d = x.shape
    n_lists = max(1, round(sqrt(n)))
    index = faiss.IndexIVFFlat(faiss.IndexFlatL2(d), d, n_lists)
    index.cp.seed, index.cp.niter, index.cp.max_points_per_centroid = seed + 1, 10, 64
    index.nprobe = max(1, round(share * n_lists))
    return _ask_faiss(index, x, k, n_threads)


def faiss_fast_scan(
    x: Any, k: int, metric: str, n_threads: int, seed: int, share: float, refine: int
) -> Index:
    """Look through lists by codes of 4 bits for every two features, and measure the best again."""
    import faiss

    x = _dense(x, metric)
    n, d = x.shape
    n_lists = max(1, round(sqrt(n) / 4))
    if d % 2:  # it wants pairs
        x, d = np.hstack([x, np.zeros((n, 1), np.float32)]), d + 1
    lists = faiss.IndexIVFPQFastScan(faiss.IndexFlatL2(d), d, n_lists, d // 2, 4)
    lists.cp.seed, lists.cp.niter, lists.cp.max_points_per_centroid = seed + 1, 10, 64
    lists.nprobe = max(1, round(share * n_lists))
    index = faiss.IndexRefineFlat(lists)
    index.k_factor = refine
    return _ask_faiss(index, x, k, n_threads)


def faiss_hnsw(
    x: Any, k: int, metric: str, n_threads: int, seed: int, links: int, build: int, ask: int
) -> Index:
    """Walk through a hierarchy of graphs."""
    import faiss

    x = _dense(x, metric)
    index = faiss.IndexHNSWFlat(x.shape[1], links)
    index.hnsw.efConstruction, index.hnsw.efSearch = build, ask
    return _ask_faiss(index, x, k, n_threads)


def faiss_nndescent(x: Any, k: int, metric: str, n_threads: int, seed: int, width: int, rounds: int) -> Index:
    """Descend from random lists through neighbours of neighbours."""
    import faiss

    x = _dense(x, metric)
    index = faiss.IndexNNDescentFlat(x.shape[1], width, faiss.METRIC_L2)
    index.nndescent.random_seed, index.nndescent.iter, index.nndescent.L = seed, rounds, width + 10
    faiss.omp_set_num_threads(n_threads)
    index.add(x)
    graph = faiss.vector_to_array(index.nndescent.final_graph).reshape(len(x), width)
    return graph[:, :k]


def _ask_faiss(index: Any, x: NDArray[np.float32], k: int, n_threads: int) -> Index:
    import faiss

    faiss.omp_set_num_threads(n_threads)
    if not index.is_trained:
        index.train(x)
    index.add(x)
    return without_own(index.search(x, k + 1)[1], k)


def hnswlib(
    x: Any, k: int, metric: str, n_threads: int, seed: int, links: int, build: int, ask: int
) -> Index:
    """Walk through a hierarchy of graphs."""
    import hnswlib as library

    if sparse.issparse(x):
        raise TypeError("takes no sparse rows")
    index = library.Index("l2" if metric == "euclidean" else "cosine", x.shape[1])
    index.init_index(len(x), M=links, ef_construction=build, random_seed=seed)
    index.add_items(x, num_threads=n_threads)
    index.set_ef(ask)
    return without_own(index.knn_query(x, k + 1, num_threads=n_threads)[0].astype(np.int64), k)


def usearch(
    x: Any, k: int, metric: str, n_threads: int, seed: int, links: int, build: int, ask: int, dtype: str
) -> Index:
    """Walk through a hierarchy of graphs; the rows may be kept in half precision."""
    from usearch.index import Index as Hierarchy

    if sparse.issparse(x):
        raise TypeError("takes no sparse rows")
    index = Hierarchy(
        ndim=x.shape[1],
        metric="l2sq" if metric == "euclidean" else "cos",
        dtype=dtype,
        connectivity=links,
        expansion_add=build,
        expansion_search=ask,
    )
    index.add(np.arange(len(x)), x, threads=n_threads)
    return without_own(np.asarray(index.search(x, k + 1, threads=n_threads).keys).astype(np.int64), k)


def scann(x: Any, k: int, metric: str, n_threads: int, seed: int, share: float, refine: int) -> Index:
    """Look through lists by codes made for the purpose, and measure the best again."""
    import scann as library

    x = _dense(x, metric)
    n_lists = max(1, round(sqrt(len(x)) / 4))
    builder = library.scann_ops_pybind.builder(x, refine * (k + 1), "squared_l2")
    builder.set_n_training_threads(n_threads)
    builder.tree(
        n_lists, max(1, round(share * n_lists)), training_sample_size=64 * n_lists, training_iterations=10
    )
    searcher = builder.score_ah(2, hash_type="lut16").reorder(refine * (k + 1)).build()
    searcher.set_num_threads(n_threads)
    return without_own(searcher.search_batched_parallel(x, k + 1)[0].astype(np.int64), k)


_WALKS = (
    {"links": 8, "build": 60, "ask": 40},
    {"links": 16, "build": 60, "ask": 80},
    {"links": 32, "build": 100, "ask": 100},
)
_SCANS = tuple(
    {"share": share, "refine": refine} for share, refine in ((0.06, 8), (0.12, 16), (0.2, 16), (0.3, 32))
)

LIBRARIES = {
    "ours, approximate": Library(ours, ({"search": "approximate"},), large=(0,)),
    "ours, exact": Library(ours),
    "scikit-learn, exact": Library(scikit_learn),
    "faiss, exact": Library(faiss_flat, packages=("faiss-cpu",)),
    "faiss, fast scan": Library(faiss_fast_scan, _SCANS, ("faiss-cpu",), (1, 2)),
    "faiss, lists": Library(
        faiss_lists, tuple({"share": share} for share in (0.01, 0.03, 0.06, 0.12)), ("faiss-cpu",), (1, 2)
    ),
    "faiss, HNSW": Library(faiss_hnsw, _WALKS, ("faiss-cpu",)),
    "faiss, NNDescent": Library(
        faiss_nndescent, ({"width": 20, "rounds": 8}, {"width": 40, "rounds": 10}), ("faiss-cpu",)
    ),
    "scann": Library(scann, _SCANS, ("scann",), (1, 2)),
    "pynndescent": Library(
        pynndescent, ({}, {"n_neighbors": 30}, {"n_neighbors": 60}), ("pynndescent",), (0,)
    ),
    "hnswlib": Library(hnswlib, _WALKS, ("hnswlib",), (1,)),
    "usearch": Library(
        usearch,
        tuple({**walk, "dtype": dtype} for dtype in ("f32", "f16") for walk in _WALKS),
        ("usearch",),
    ),
}
