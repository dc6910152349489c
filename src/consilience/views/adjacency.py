"""Adjacency: one matrix of the weights of a graph's edges, checked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..graphs import check_sparse
from ..run.messages import Advice, Setting

Ids: TypeAlias = NDArray[Any]
Floats: TypeAlias = NDArray[np.float64]
Kind: TypeAlias = Literal["similarity", "distance"]

_CLOSE = 1e-9  # relative difference between the weights of an edge that is given in both directions


def check_kind(kind: Any) -> None:
    """Raise a ValueError unless this is a known kind of weights."""
    if kind not in ("similarity", "distance"):
        raise ValueError(
            "kind must be 'similarity' (the larger the nearer) or 'distance' (the larger the farther), got "
            f"{kind!r}"
        )


def plural(kind: str) -> str:
    """Return what several weights of this kind are called."""
    return "similarities" if kind == "similarity" else "distances"


def check_unique(labels: Sequence[Any], where: str) -> None:
    """Raise a ValueError that names the first node that occurs twice."""
    met = set()
    for label in labels:
        if label in met:
            raise ValueError(f"{where} holds the node {label!r} more than once: every node needs its own id")
        met.add(label)


def check_length(nodes: Sequence[Any], n: int) -> None:
    """Raise a ValueError unless there is one id per node."""
    if len(nodes) != n:
        raise ValueError(f"nodes holds {len(nodes)} ids, the graph has {n} nodes; give one for each")


def id_array(labels: Sequence[Any]) -> Ids:
    """Return labels as an array that keeps them as they are: numbers stay numbers, tuples tuples."""
    kinds = {type(label) for label in labels}
    if kinds in ({int}, {str}):
        return np.asarray(labels)
    return np.fromiter(labels, dtype=object, count=len(labels))


def names_of(nodes: Ids | None) -> Callable[[Any], str]:
    """Return a function: number of a node -> its name in messages."""
    labels = None if nodes is None else nodes.tolist()
    return lambda i: f"node {i}" if labels is None else repr(labels[i])


def is_symmetric(matrix: sparse.csr_array) -> bool:
    """Say whether every edge goes both ways, with the same weight."""
    other = sparse.csr_array(matrix.T)
    other.sort_indices()
    same_edges = np.array_equal(matrix.indptr, other.indptr) and np.array_equal(matrix.indices, other.indices)
    return same_edges and bool(np.allclose(matrix.data, other.data, rtol=_CLOSE, atol=0))


def read_matrix(given: Any) -> sparse.csr_array:
    """Return a square matrix as CSR, with its stored zeros and without its diagonal."""
    if not hasattr(given, "shape") or len(given.shape) != 2 or given.shape[0] != given.shape[1]:
        shape = getattr(given, "shape", None)
        advice = ""
        if shape is not None and len(shape) == 2 and shape[1] in (2, 3):
            advice = "; an edge list is a sequence of tuples: pass array.tolist()"
        raise ValueError(f"an adjacency matrix is square, nodes x nodes, but this has shape {shape}{advice}")
    if given.shape[0] == 0:
        raise ValueError("the graph is empty: it has no node")
    if given.dtype.kind not in "biuf":
        raise ValueError(f"the adjacency matrix holds {given.dtype}, but weights are real numbers")
    if sparse.issparse(given):
        check_sparse(given, "the adjacency matrix")
    matrix = sparse.csr_array(given, dtype=np.float64, copy=True)
    matrix.sum_duplicates()
    entries = matrix.tocoo()
    off = entries.row != entries.col
    return merged(entries.row[off], entries.col[off], entries.data[off], matrix.shape[0], "distance")


def checked_matrix(matrix: sparse.csr_array, kind: Kind, nodes: Ids | None) -> sparse.csr_array:
    """Return the matrix without entries that are no edges, after checking the weights."""
    entries, names = matrix.tocoo(), names_of(nodes)
    check_weights(entries.data, kind, lambda e: (names(entries.row[e]), names(entries.col[e])))
    if kind == "similarity":
        matrix.eliminate_zeros()
    if matrix.nnz == 0:
        raise ValueError("the graph has no edge between different nodes, so it says nothing")
    return matrix


def check_weights(weights: Floats, kind: Kind, ends: Callable[[Any], tuple[str, str]]) -> None:
    """Raise a ValueError that names the ends of the first edge whose weight is not valid."""
    wrong = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if not len(wrong):
        return
    (u, v), value = ends(wrong[0]), float(weights[wrong[0]])
    if np.isnan(value):
        what, advice = "weight NaN", "fill it in or drop the edge"
    elif np.isinf(value):
        what, advice = f"weight {value:g}", "drop the edge, an absent one is none"
    else:
        what, advice = f"negative {kind} {value:.6g}", f"{plural(kind)} must not be negative"
    raise ValueError(f"the edge from {u} to {v} has the {what} ({len(wrong)} such in all): {advice}")


def merged(rows: Any, columns: Any, weights: Floats, n: int, kind: str) -> sparse.csr_array:
    """Return one matrix; of parallel edges similarities are added and of distances the smallest is taken."""
    key = rows.astype(np.int64) * n + columns
    order = np.argsort(key, kind="stable")
    key, weights = key[order], weights[order]
    first = np.flatnonzero(np.diff(key, prepend=-1))
    if len(first):
        weights = (np.add if kind == "similarity" else np.minimum).reduceat(weights, first)
    rows, columns = np.divmod(key[first], n)
    matrix = sparse.csr_array((weights, (rows, columns)), shape=(n, n))  # keeps stored zeros
    matrix.sum_duplicates()
    return matrix


def mirrored(matrix: sparse.csr_array, label: Callable[[Any], str]) -> sparse.csr_array:
    """Return the undirected graph: an edge given in one direction goes in both.

    One that is given in both must have the same weight in both.
    """
    n = matrix.shape[0]
    there = matrix.tocoo()
    key, back = there.row.astype(np.int64) * n + there.col, there.col.astype(np.int64) * n + there.row
    place = np.minimum(np.searchsorted(key, back), max(len(key) - 1, 0))
    both = key[place] == back if len(key) else np.zeros(0, dtype=bool)
    other = np.where(both, there.data[place], there.data)
    apart = np.flatnonzero(np.abs(there.data - other) > _CLOSE * np.maximum(there.data, other))
    if len(apart):
        e = apart[0]
        u, v = label(there.row[e]), label(there.col[e])
        raise ValueError(
            Advice(
                f"the weight is {there.data[e]:.6g} from {u} to {v} but {other[e]:.6g} from {v} to {u}, in a "
                "graph that is not directed; correct it, or pass ",
                Setting("directed", True),
            )
        )
    alone = ~both
    return merged(
        np.concatenate([there.row, there.col[alone]]),
        np.concatenate([there.col, there.row[alone]]),
        np.concatenate([(there.data + other) / 2, there.data[alone]]),
        n,
        "distance",
    )
