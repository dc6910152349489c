"""Anchors: a few places that stand for all samples of a view, and the graph that links samples to them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ...engines import threads
from ...engines.embedding import unit_rows

Floats = NDArray[np.float64]
Index = NDArray[np.intp]

_DRAWN, _ROUNDS = 10, 5  # samples drawn for each anchor, and rounds of k-means on them
_BLOCK = 512  # rows compared with all anchors at once
_DENSE = 1 << 24  # entries up to which sparse anchors are made dense: 128 MiB


def picked_features(array: Any, columns: Index, metric: str) -> Any:
    """Return some features in double precision, ready to be compared: for "cosine" rows of unit length.

    Otherwise centred, if they are dense, and in a unit in which squares are safe: so distances are in that
    unit, too.

    Examples
    --------
    >>> picked_features(np.array([[1.0, 7.0, 3.0], [1.0, 7.0, 5.0]]), np.array([0, 2]), "euclidean")
    array([[ 0., -1.],
           [ 0.,  1.]])
    """
    rows = array[:, columns].astype(np.float64)
    if metric == "cosine":
        return _of_unit_length(rows)
    if sparse.issparse(rows):
        rows = sparse.csr_array(rows)
        rows.data /= np.abs(rows.data).max(initial=0.0) or 1.0
        return rows
    rows -= rows.mean(axis=0)  # distances stay; what their squares lose by rounding is less
    rows /= np.abs(rows).max(initial=0.0) or 1.0
    return rows


def nearest_anchors(rows: Any, anchors: Any, k: int) -> tuple[Index, Floats]:
    """Return the k nearest anchors of each row, nearest first, and the squared distances to them.

    Parameters
    ----------
    rows : ndarray or csr_array of shape (n, d)
        The samples.
    anchors : ndarray or csr_array of shape (p, d)
        The anchors; sparse if the samples are.
    k : int
        At most p.

    Examples
    --------
    >>> nearest_anchors(np.array([[0.0], [4.0]]), np.array([[0.0], [1.0], [3.0]]), 2)
    (array([[0, 1],
           [2, 1]]), array([[0., 1.],
           [1., 9.]]))
    """
    n, half = rows.shape[0], 0.5 * _squares(anchors)
    index, squared = np.empty((n, k), dtype=np.intp), np.empty((n, k))
    turned = _turned(anchors)

    def compare(start: int, stop: int) -> None:
        for begin in range(start, stop, _BLOCK):  # fixed blocks: the same bits for any number of threads
            part = slice(begin, min(begin + _BLOCK, stop))
            product = rows[part] @ turned
            nearness = (product.toarray() if sparse.issparse(product) else product) - half
            if k == 1:
                chosen = nearness.argmax(axis=1)[:, None]
            else:
                chosen = np.sort(np.argpartition(nearness, -k, axis=1)[:, -k:], axis=1)
                order = np.argsort(-np.take_along_axis(nearness, chosen, axis=1), axis=1, kind="stable")
                chosen = np.take_along_axis(chosen, order, axis=1)
            index[part] = chosen
            found = _squares(rows[part])[:, None] - 2.0 * np.take_along_axis(nearness, chosen, axis=1)
            squared[part] = np.maximum(found, 0.0)

    threads.for_ranges(compare, n, _BLOCK)
    return index, squared


def choose_anchors(rows: Any, n_anchors: int, metric: str, rng: np.random.Generator) -> Any:
    """Return anchors: centres that a few rounds of k-means find among ten times as many rows, drawn evenly.

    Parameters
    ----------
    rows : ndarray or csr_array of shape (n, d)
        The samples; for "cosine" rows of unit length, or of zeros, which are not drawn.
    n_anchors : int
        How many are wanted. There are fewer if there are fewer distinct rows.
    metric : {"euclidean", "cosine"}
        For "cosine" anchors have unit length, too.
    rng : Generator
        Draws the rows, and those that k-means begins with.

    Examples
    --------
    >>> rows = np.array([[0.0], [0.2], [7.0], [7.2], [7.2]])
    >>> np.sort(choose_anchors(rows, 2, "euclidean", np.random.default_rng(0)), axis=0).round(2).ravel()
    array([0.1 , 7.13])
    """
    usable = np.flatnonzero(_squares(rows) > 0) if metric == "cosine" else np.arange(rows.shape[0])
    drawn = rows[np.sort(rng.permutation(usable)[: _DRAWN * n_anchors])]
    n_drawn = drawn.shape[0]
    centers = drawn[rng.permutation(n_drawn)[:n_anchors]]
    labels = None
    for _ in range(_ROUNDS if n_drawn else 0):
        nearest = nearest_anchors(drawn, centers, 1)[0].ravel()
        if labels is not None and np.array_equal(nearest, labels):
            break
        # Of equal anchors only the first has rows; those without rows are left out.
        labels = np.unique(nearest, return_inverse=True)[1]
        share = 1.0 / np.bincount(labels)
        centers = sparse.csr_array((share[labels], (labels, np.arange(n_drawn)))) @ drawn
        centers = _of_unit_length(centers) if metric == "cosine" else centers
    return centers


def anchor_graph(rows: Any, anchors: Any, k: int, metric: str) -> sparse.csr_array:
    r"""Return the bipartite graph of samples and anchors in a view: rows of unit length, k entries at most.

    A sample is linked to its k nearest anchors by :math:`\exp(-d^2 / 2 \sigma^2)` of the distance d, with
    sigma the mean distance of all such links; for "cosine" by the cosine, and not at all if that is negative.

    Examples
    --------
    >>> graph = anchor_graph(np.array([[0.0], [2.0]]), np.array([[0.0], [1.0]]), 2, "euclidean")
    >>> graph.toarray().round(3)
    array([[0.855, 0.519],
           [0.218, 0.976]])
    """
    n, p = rows.shape[0], anchors.shape[0]
    if not p:
        return sparse.csr_array((n, 0))
    index, squared = nearest_anchors(rows, anchors, min(k, p))
    if metric == "cosine":
        weights = np.maximum(1.0 - 0.5 * squared, 0.0)
        weights[_squares(rows) == 0] = 0.0
    else:
        width = np.sqrt(squared).mean() or 1.0
        # The nearest anchor has weight 1, which the unit length undoes: so that no row vanishes.
        weights = np.exp(-0.5 * (squared - squared[:, :1]) / width**2)
    weights = unit_rows(weights)
    starts = np.arange(0, n * index.shape[1] + 1, index.shape[1])
    graph = sparse.csr_array((weights.ravel(), index.ravel(), starts), shape=(n, p))
    graph.eliminate_zeros()
    return graph


def _turned(anchors: Any) -> Any:
    """Return the transpose of anchors, as it is multiplied fastest: dense, unless that is large."""
    if sparse.issparse(anchors) and anchors.shape[0] * anchors.shape[1] > _DENSE:
        return anchors.T.tocsr()
    return np.ascontiguousarray(anchors.toarray().T if sparse.issparse(anchors) else anchors.T)


def _of_unit_length(rows: Any) -> Any:
    """Return rows of unit length; rows of zeros stay."""
    if not sparse.issparse(rows):
        return unit_rows(rows)
    rows = sparse.csr_array(rows)
    rows.eliminate_zeros()
    counts = np.diff(rows.indptr)
    largest = np.asarray(abs(rows).max(axis=1).todense()).ravel()
    rows.data /= np.repeat(largest, counts)  # first: squares of very large or small numbers are not finite
    rows.data /= np.repeat(np.sqrt(_squares(rows)), counts)
    return rows


def _squares(rows: Any) -> Floats:
    """Return the squared length of each row."""
    if sparse.issparse(rows):
        return np.asarray(rows.multiply(rows).sum(axis=1)).ravel()
    return np.asarray(np.einsum("ij,ij->i", rows, rows))
