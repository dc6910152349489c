"""Eigenvectors of a graph, and k-means on rows of embeddings, for engines that work in this memory."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from ..spectra.eigenvectors import LARGE, StartBlock, smallest_eigenvectors
from ..spectra.laplacian import GraphKernels, NormalizedLaplacian
from . import threads
from .results import Clusters, Spectrum

FloatArray = npt.NDArray[np.float64]

_COLUMNS = 32  # of an embedding of many samples that are worked on together
_ROWS = 8192  # the same, rows


def leading_vectors(
    graph: Any,
    n_vectors: int,
    tol: float | None,
    seed: int,
    *,
    kernels: GraphKernels | None = None,
    start_block: StartBlock | None = None,
) -> Spectrum:
    """Return eigenvectors of the normalised Laplacian for its smallest eigenvalues; see `Engine`.

    `kernels` and `start_block` are the engine's own functions for many samples.
    """
    n = graph.shape[0]
    laplacian = NormalizedLaplacian(graph, kernels if n > LARGE else None)
    sizes = np.bincount(laplacian.components[~laplacian.isolated], minlength=laplacian.n_connected)
    largest = np.sort(np.argsort(-sizes, kind="stable")[:n_vectors])
    # On one BLAS and OpenMP thread: more do not help with small graphs, on a busy machine they wait for each
    # other (20 times slower was measured), and so the result does not depend on their number.
    with threads.libraries_on_one_thread():
        found = smallest_eigenvectors(
            laplacian,
            n_vectors,
            components=largest,
            tol=tol,
            rng=np.random.default_rng(seed),
            start_block=start_block,
        )
        eigenvalues, residuals = _check(laplacian, found)
    found *= signs(found)
    missing = int(n_vectors) - found.shape[1]
    if missing:
        found = np.hstack([found, np.zeros((n, missing))])
        eigenvalues, residuals = (np.append(of, np.full(missing, np.nan)) for of in (eigenvalues, residuals))
    n_dropped = int(sizes.sum() - sizes[largest].sum())
    return Spectrum(found, eigenvalues, residuals, laplacian.n_connected, laplacian.n_isolated, n_dropped)


def _check(laplacian: NormalizedLaplacian, vectors: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the eigenvalues, ascending, and the residual norms of eigenvectors."""
    n, m = vectors.shape
    values, residuals = np.zeros((2, m))
    width = _COLUMNS if n > LARGE else max(m, 1)
    for j in range(0, m, width):
        part = vectors[:, j : j + width]
        image = laplacian.matmat(part)
        # Rounding must not change the order of zeros.
        values[j : j + width] = np.maximum(np.einsum("ij,ij->j", part, image), 0.0)
        np.maximum.accumulate(values[: j + width], out=values[: j + width])
        image -= part * values[j : j + width]
        residuals[j : j + width] = np.linalg.norm(image, axis=0)
    return values, residuals


def signs(vectors: FloatArray) -> FloatArray:
    """Return the sign of the first of each column's largest entries.

    Examples
    --------
    >>> signs(np.array([[0.1, -2.0], [-3.0, 1.0]]))
    array([-1., -1.])
    """
    n, m = vectors.shape
    peak, found = np.zeros(m), np.zeros(m)
    for begin in range(0, n, _ROWS):
        np.maximum(peak, np.abs(vectors[begin : begin + _ROWS]).max(axis=0), out=peak)
    for begin in range(0, n, _ROWS):
        rows = vectors[begin : begin + _ROWS]
        # Entries may be equal up to rounding, as in symmetric graphs: rounding must not decide.
        first = np.argmax(np.abs(rows) >= (1 - 1e-6) * peak, axis=0)
        there = rows[first, np.arange(m)]
        here = (found == 0) & (np.abs(there) >= (1 - 1e-6) * peak)
        found[here] = np.where(there[here] < 0, -1.0, 1.0)
        if found.all():
            break
    return found


def unit_rows(vectors: npt.ArrayLike) -> FloatArray:
    """Return the rows scaled to unit length; rows of zeros stay as they are.

    Examples
    --------
    >>> unit_rows([[3.0, 4.0], [0.0, 0.0]])
    array([[0.6, 0.8],
           [0. , 0. ]])
    """
    result = np.array(vectors, dtype=np.float64, order="C")
    for begin in range(0, len(result), _ROWS):  # not all at once: that would need the same memory again
        rows = result[begin : begin + _ROWS]
        peak = np.abs(rows).max(axis=1, keepdims=True, initial=0.0)
        np.divide(rows, peak, out=rows, where=peak > 0)  # first: squares of tiny entries would be lost
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        np.divide(rows, norms, out=rows, where=norms > 0)
    return result


Many = Callable[[FloatArray, int, int, int, bool, Any], Clusters]


def kmeans(
    vectors: FloatArray,
    n_clusters: int,
    *,
    n_init: int,
    max_iter: int,
    unit: bool,
    random_state: Any,
    many: Many | None = None,
    n_many: float = np.inf,
) -> Clusters:
    """Cluster the rows; see `Engine.kmeans`.

    `many` is the engine's own function for more than `n_many` rows, none of them 0.
    """
    represented = vectors.any(axis=1)
    k = min(n_clusters, int(represented.sum()))
    labels = np.zeros(len(vectors), dtype=np.intp)
    if not k:
        return Clusters(labels, np.zeros((1, vectors.shape[1])))
    with threads.libraries_on_one_thread(), warnings.catch_warnings():
        # Too few distinct rows: the caller warns once.
        warnings.simplefilter("ignore", ConvergenceWarning)
        if many is not None and len(vectors) > n_many:
            shown = vectors if represented.all() else vectors[represented]
            found = many(shown, k, n_init, max_iter, unit, random_state)
            labels[represented], centers = found.labels, found.centers
            # Rows of zeros are as near to a centre as the centre is to 0.
            labels[~represented] = np.linalg.norm(centers, axis=1).argmin()
        else:
            rows = unit_rows(vectors) if unit else np.array(vectors, dtype=np.float64, order="C")
            # Until nothing changes: it costs nothing here.
            model = KMeans(k, n_init=n_init, max_iter=max_iter, tol=0.0, random_state=random_state)
            labels[represented] = model.fit_predict(rows[represented])
            centers = model.cluster_centers_
            if not represented.all():
                labels[~represented] = model.predict(rows[~represented])
    return Clusters(labels, centers)
