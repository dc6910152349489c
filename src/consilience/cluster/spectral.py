"""Spectral clustering of a graph: eigenvectors of the normalised Laplacian, then k-means on their unit rows.

Everything runs on one BLAS and OpenMP thread: more threads of these do not help with small graphs, on a busy
machine they wait for each other (20 times slower was measured), and so the result does not depend on their
number. From `LARGE` samples on the work is spread over threads in fixed blocks, to the same effect.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy import linalg, sparse
from scipy.sparse.csgraph import connected_components
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from .. import threads
from ..graph.block_product import LARGE
from ..graph.eigenvectors import smallest_eigenvectors
from ..graph.laplacian import NormalizedLaplacian
from ..warned import warn
from .large_kmeans import MANY, kmeans_of_many

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]

_COLUMNS = 32  # of an embedding of many samples that are worked on together
_ROWS = 8192  # the same, rows
_NOTHING = 1e-6  # of a component's part in an embedding, 0 or 1 but for rounding: what counts as 0
# Below so many samples, so many restarts: the schedule of the paper.
_RESTARTS = ((5000, 30), (10_000, 20), (30_000, 5), (float("inf"), 3))


@dataclass(frozen=True, eq=False)
class SpectralEmbedding:
    """Eigenvectors of the normalised Laplacian for its smallest eigenvalues.

    Attributes
    ----------
    vectors : ndarray of shape (n, n_components)
        Orthonormal columns. Rows of samples that are isolated, or in a component too small to be
        represented, are 0. If fewer samples than components have an edge, the last columns are 0.
    eigenvalues, residuals : ndarray of shape (n_components,)
        Ascending eigenvalues, and ``||L v - lambda v||`` of each; NaN for a column of zeros.
    n_connected, n_isolated : int
        Number of connected components (isolated samples not counted) and of isolated samples.
    """

    vectors: FloatArray
    eigenvalues: FloatArray
    residuals: FloatArray
    n_connected: int
    n_isolated: int


@dataclass(frozen=True, eq=False)
class SpectralClustering:
    """Labels (n,) in canonical order, and the embedding they come from."""

    labels: IntArray
    embedding: SpectralEmbedding


def spectral_embedding(
    graph: Any, n_components: int, *, tol: float | None = None, warn: bool = True, random_state: Any = None
) -> SpectralEmbedding:
    r"""Return eigenvectors of :math:`L_{sym}` for its `n_components` smallest eigenvalues.

    Parameters
    ----------
    graph : sparse array or matrix of shape (n, n)
        Symmetric, non-negative weights.
    n_components : int
        Number of eigenvectors, from 1 to n. With more connected components than this, the largest
        components are represented and the other samples have rows of zeros.
    tol : float, optional
        Largest residual norm accepted, so also the largest error of an eigenvalue; not below 1e-12. By
        default 1e-9 up to 20,000 samples, and 1e-5 for more: there a block method in single precision solves
        (in double precision for a `tol` below 1e-6, at twice the cost), and asks for smaller residuals by
        itself where eigenvalues are close.
    warn : bool, default=True
        Whether to warn of a graph that is not connected.
    random_state : int, RandomState or None
        Draws the start vectors. It matters only where the eigenvectors are not unique.

    Returns
    -------
    SpectralEmbedding
        Signs are fixed: the first of a vector's largest entries (to 1e-6) is positive.

    Raises
    ------
    ValueError
        For a bad graph or number of components.
    EigensolverError
        If no method reaches `tol`.

    Warns
    -----
    UserWarning
        If samples are isolated or the graph has several components.

    Examples
    --------
    >>> import numpy as np
    >>> path = np.diag([1.0, 1.0], 1) + np.diag([1.0, 1.0], -1)
    >>> spectral_embedding(path, 2).eigenvalues.round(6)
    array([0., 1.])
    """
    laplacian = NormalizedLaplacian(graph)
    n = laplacian.shape[0]
    _check_count("n_components", n_components, n)
    sizes = np.bincount(laplacian.components[~laplacian.isolated], minlength=laplacian.n_connected)
    largest = np.sort(np.argsort(-sizes, kind="stable")[:n_components])
    if warn:
        _warn_if_disconnected(laplacian, n_components, int(sizes.sum() - sizes[largest].sum()))
    seed = check_random_state(random_state).randint(np.iinfo(np.int32).max)
    with threads.libraries_on_one_thread():
        found = smallest_eigenvectors(
            laplacian, n_components, components=largest, tol=tol, rng=np.random.default_rng(seed)
        )
        eigenvalues, residuals = _check(laplacian, found)
    found *= _signs(found)
    missing = int(n_components) - found.shape[1]
    if missing:
        found = np.hstack([found, np.zeros((n, missing))])
        eigenvalues, residuals = (np.append(of, np.full(missing, np.nan)) for of in (eigenvalues, residuals))
    return SpectralEmbedding(found, eigenvalues, residuals, laplacian.n_connected, laplacian.n_isolated)


def _check(laplacian: NormalizedLaplacian, vectors: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the eigenvalues, ascending, and the residual norms of eigenvectors."""
    n, m = vectors.shape
    values, residuals = np.zeros((2, m))
    width = _COLUMNS if n > LARGE else max(m, 1)
    for j in range(0, m, width):
        part = vectors[:, j : j + width]
        image = laplacian.matmat(part)
        # Rounding must not disturb the order of zeros.
        values[j : j + width] = np.maximum(np.einsum("ij,ij->j", part, image), 0.0)
        np.maximum.accumulate(values[: j + width], out=values[: j + width])
        image -= part * values[j : j + width]
        residuals[j : j + width] = np.linalg.norm(image, axis=0)
    return values, residuals


def unit_rows(vectors: npt.ArrayLike) -> FloatArray:
    """Return the rows scaled to unit length; rows of zeros stay as they are.

    Examples
    --------
    >>> unit_rows([[3.0, 4.0], [0.0, 0.0]])
    array([[0.6, 0.8],
           [0. , 0. ]])
    """
    result = np.array(vectors, dtype=np.float64, order="C")
    for begin in range(0, len(result), _ROWS):  # not all at once: that would take the memory again
        rows = result[begin : begin + _ROWS]
        peak = np.abs(rows).max(axis=1, keepdims=True, initial=0.0)
        np.divide(rows, peak, out=rows, where=peak > 0)  # first: squares of tiny entries would be lost
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        np.divide(rows, norms, out=rows, where=norms > 0)
    return result


def without_rounding(vectors: npt.ArrayLike, graph: sparse.csr_array) -> FloatArray:
    """Return an embedding with zeros where only rounding is, lest it be scaled to unit length.

    That is in connected components of the graph that no vector represents, among these all samples without
    edges.

    Warns
    -----
    UserWarning
        If there are such samples.

    Examples
    --------
    >>> pair_and_single = sparse.csr_array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     without_rounding([[0.7], [0.7], [1e-17]], pair_and_single)
    array([[0.7],
           [0.7],
           [0. ]])
    """
    rows = np.asarray(vectors, dtype=np.float64)
    n_components, component = connected_components(graph, directed=False)
    part = np.bincount(component, weights=(rows**2).sum(axis=1))
    lost = (part < _NOTHING)[component] | (np.diff(graph.indptr) == 0)
    if lost.any():
        warn(
            f"The graph has {n_components} connected components, and {lost.sum()} samples in those that no "
            "eigenvector represents only go to the nearest cluster. Raise n_neighbors to connect it.",
        )
    return np.where(lost[:, None], 0.0, rows)


def canonical_labels(labels: npt.ArrayLike) -> IntArray:
    """Return the same partition with labels numbered by first appearance.

    Examples
    --------
    >>> canonical_labels([7, 7, 2, 9, 2])
    array([0, 0, 1, 2, 1])
    """
    _, first, inverse = np.unique(np.asarray(labels), return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(first))[inverse], dtype=np.intp)


def assign_kmeans(
    embedding: SpectralEmbedding | npt.ArrayLike,
    n_clusters: int,
    *,
    n_init: int | Literal["auto"] = 30,
    max_iter: int = 1000,
    scale_rows: bool = True,
    random_state: Any = None,
) -> IntArray:
    """Cluster the unit rows of an embedding by k-means.

    Parameters
    ----------
    embedding : SpectralEmbedding or array-like of shape (n, c)
        Rows of zeros are not fitted; they go to the nearest centre afterwards.
    n_clusters : int
        Number of clusters, from 1 to n.
    n_init : int or "auto", default=30
        Restarts. "auto" is the schedule of the paper: 30 for n < 5000, 20 for n < 10,000, 5 for
        n < 30,000 and 3 from there. Of more than 50,000 samples, restarts run on some 20,000, and the best
        centres are then improved with all of them.
    max_iter : int, default=1000
        Largest number of iterations of a restart.
    scale_rows : bool, default=True
        Whether to scale the rows to unit length first.
    random_state : int, RandomState or None
        Draws the starting centres.

    Returns
    -------
    ndarray of shape (n,), int
        Labels numbered by first appearance.

    Examples
    --------
    >>> assign_kmeans([[1.0, 0.0], [0.0, 2.0], [3.0, 0.1]], 2, random_state=0)
    array([0, 1, 0])
    """
    given = np.asarray(embedding.vectors if isinstance(embedding, SpectralEmbedding) else embedding)
    n = len(given)
    _check_count("n_clusters", n_clusters, n)
    represented = given.any(axis=1)
    k = min(n_clusters, int(represented.sum()))
    labels = np.zeros(n, dtype=np.intp)
    if k:
        restarts = next(r for limit, r in _RESTARTS if n < limit) if n_init == "auto" else n_init
        with threads.libraries_on_one_thread(), warnings.catch_warnings():
            # Too few distinct rows: told once, below, in our words.
            warnings.simplefilter("ignore", ConvergenceWarning)
            if n > MANY:
                shown = given if represented.all() else given[represented]
                found = kmeans_of_many(
                    _in_single_precision(shown, scale_rows),
                    k,
                    leverage=np.einsum("ij,ij->i", shown, shown),
                    n_init=restarts,
                    max_iter=max_iter,
                    random_state=check_random_state(random_state),
                )
                labels[represented] = found.labels
                # Rows of zeros are as near to a centre as the centre is to 0.
                labels[~represented] = np.linalg.norm(found.centres, axis=1).argmin()
            else:
                rows = unit_rows(given) if scale_rows else np.array(given, dtype=np.float64, order="C")
                # To the very end: it costs nothing here.
                model = KMeans(k, n_init=restarts, max_iter=max_iter, tol=0.0, random_state=random_state)
                labels[represented] = model.fit_predict(rows[represented])
                if not represented.all():
                    labels[~represented] = model.predict(rows[~represented])
    labels = canonical_labels(labels)
    _warn_if_empty(labels, n_clusters)
    return labels


def _in_single_precision(vectors: npt.NDArray[np.floating], scale_rows: bool) -> npt.NDArray[np.float32]:
    """Return the rows, scaled to unit length or not."""
    rows = np.empty(vectors.shape, dtype=np.float32)
    for begin in range(0, len(rows), _ROWS):
        part = vectors[begin : begin + _ROWS]
        rows[begin : begin + _ROWS] = unit_rows(part) if scale_rows else part
    return rows


def assign_cluster_qr(embedding: SpectralEmbedding | npt.ArrayLike, n_clusters: int) -> IntArray:
    """Read clusters off the eigenvectors themselves, by a QR decomposition with column pivoting.

    The rows of the samples that lie farthest apart are found, and each sample goes to the one of them that
    its own row is most parallel to, after these have been made orthogonal. No iteration, nothing random.

    Parameters
    ----------
    embedding : SpectralEmbedding or array-like of shape (n, c)
        Orthonormal columns. Rows of zeros take no part; they go to the nearest cluster, by the centres of the
        unit rows, afterwards.
    n_clusters : int
        Number of clusters, the number of columns.

    Returns
    -------
    ndarray of shape (n,), int
        Labels numbered by first appearance.

    References
    ----------
    A. Damle, V. Minden, L. Ying, "Simple, direct and efficient multi-way spectral clustering", Information
    and Inference, 2019.

    Examples
    --------
    >>> assign_cluster_qr([[0.8, 0.0], [0.0, 1.0], [0.6, 0.0]], 2)
    array([0, 1, 0])
    """
    given = embedding.vectors if isinstance(embedding, SpectralEmbedding) else embedding
    vectors = np.asarray(given, dtype=np.float64)
    _check_count("n_clusters", n_clusters, len(vectors))
    if vectors.shape[1] != n_clusters:
        raise ValueError(f"There must be {n_clusters} columns, one for each cluster; got {vectors.shape[1]}.")
    represented = vectors.any(axis=1)
    labels = np.zeros(len(vectors), dtype=np.intp)
    if represented.any():
        rows = vectors[represented]
        with threads.libraries_on_one_thread():
            pivots = linalg.qr(rows.T, mode="r", pivoting=True)[1][:n_clusters]
            left, _, right = linalg.svd(rows[pivots].T, full_matrices=False)
            labels[represented] = np.abs(rows @ (left @ right)).argmax(axis=1)
        if not represented.all():
            unit, which = unit_rows(rows), np.unique(labels[represented])
            centres = [unit[labels[represented] == c].mean(axis=0) for c in which]
            # Rows of zeros are as near to a centre as the centre is to 0.
            labels[~represented] = which[np.linalg.norm(centres, axis=1).argmin()]
    labels = canonical_labels(labels)
    _warn_if_empty(labels, n_clusters)
    return labels


def spectral_clustering(
    graph: Any, n_clusters: int, *, n_init: int | Literal["auto"] = 30, random_state: Any = None
) -> SpectralClustering:
    """Cluster a graph: `spectral_embedding` with as many vectors as clusters, then `assign_kmeans`.

    Examples
    --------
    >>> import numpy as np
    >>> two_pairs = np.array([[0, 1, 0, 0.1], [1, 0, 0.1, 0], [0, 0.1, 0, 1], [0.1, 0, 1, 0]])
    >>> spectral_clustering(two_pairs, 2, random_state=0).labels
    array([0, 0, 1, 1])
    """
    embedding = spectral_embedding(graph, n_clusters, random_state=random_state)
    labels = assign_kmeans(embedding, n_clusters, n_init=n_init, random_state=random_state)
    return SpectralClustering(labels, embedding)


def _check_count(name: str, value: Any, n_samples: int) -> None:
    if isinstance(value, bool) or not isinstance(value, Integral) or not 1 <= int(value) <= n_samples:
        raise ValueError(
            f"{name} must be an integer from 1 to the number of samples, {n_samples}; got {value!r}."
        )


def _warn_if_empty(labels: IntArray, n_clusters: int) -> None:
    if labels.max() + 1 < n_clusters:
        warn(
            f"Only {labels.max() + 1} of {n_clusters} clusters have samples: "
            "the embedding has no more distinct rows. Lower n_clusters.",
        )


def _warn_if_disconnected(laplacian: NormalizedLaplacian, n_components: int, n_dropped: int) -> None:
    """Tell once what the embedding of a disconnected graph leaves out, and what to do about it."""
    facts = []
    if laplacian.n_connected > n_components:
        facts.append(
            f"has {laplacian.n_connected} connected components, of which the {n_components} largest are "
            f"represented: {n_dropped} samples of the others only go to the nearest cluster"
        )
    elif laplacian.n_connected > 1:
        facts.append(f"has {laplacian.n_connected} connected components")
    if laplacian.n_isolated:
        facts.append(f"has {laplacian.n_isolated} isolated samples, which only go to the nearest cluster")
    if facts:
        too_many = laplacian.n_connected > n_components or laplacian.n_isolated
        advice = "Raise n_neighbors to connect it" if too_many else "Raise n_neighbors if that is unexpected"
        warn(f"The graph {' and '.join(facts)}. {advice}.")


def fix_signs(vectors: FloatArray) -> FloatArray:
    """Make the first of each column's largest entries positive."""
    return np.asarray(vectors * _signs(vectors))


def _signs(vectors: FloatArray) -> FloatArray:
    """Return the sign of the first of each column's largest entries."""
    n, m = vectors.shape
    peak, signs = np.zeros(m), np.zeros(m)
    for begin in range(0, n, _ROWS):
        np.maximum(peak, np.abs(vectors[begin : begin + _ROWS]).max(axis=0), out=peak)
    for begin in range(0, n, _ROWS):
        rows = vectors[begin : begin + _ROWS]
        # Entries equal but for rounding, as symmetric graphs have them, must not let rounding decide.
        first = np.argmax(np.abs(rows) >= (1 - 1e-6) * peak, axis=0)
        there = rows[first, np.arange(m)]
        here = (signs == 0) & (np.abs(there) >= (1 - 1e-6) * peak)
        signs[here] = np.where(there[here] < 0, -1.0, 1.0)
        if signs.all():
            break
    return signs
