"""Fusion of given graphs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from ..engines import get_engine
from ..graphs import EdgeSet, check_sparse
from ..run.messages import Advice, text_of
from ..views import GraphView, graph_view
from ..views.graphs import looks_like_graph
from .alternation import Callback, Schedule, learn_consistent_graph
from .problem import pose
from .result import FusionResult

Graph = Any  # a square SciPy sparse graph or a dense array, a GraphView, a graph of networkx or igraph


def consistent_graph(
    W: ArrayLike,
    *,
    beta: float = 1.0,
    gamma: float = 100.0,
    view_weights: ArrayLike | None = None,
    seen: ArrayLike | None = None,
    trust: ArrayLike | None = None,
    solver: Literal["dca", "exact"] = "dca",
    dca_steps: int = 3,
    tol: float = 0.05,
    max_iter: int = 100,
    callback: Callback | None = None,
    engine: Any = "numba",
    n_jobs: int | None = None,
) -> FusionResult:
    r"""Learn a consistent graph from the edge weights of several views (the paper's Algorithm 3).

    Minimises over scales :math:`\alpha` on the simplex, consistent parts :math:`0 \le A \le W` and s

    .. math::

        \sum_i \lambda_i \|\alpha_i A_i - s\|^2
        + \sum_{i,j} B_{ij} \lambda_i \lambda_j \alpha_i \alpha_j (W_i - A_i)'(W_j - A_j),

    where B is beta on the diagonal and gamma elsewhere, after scaling each view's weights to sum 1 (with
    unseen pairs: to the mean 1 / n_edges over the edges that it has seen).

    Parameters
    ----------
    W : array-like of shape (n_edges, v)
        Weights of the shared edges in each view, similarities or distances, not negative. Single
        precision is kept.
    beta : float, default=1.0
        What inconsistency costs.
    gamma : float, default=100.0
        What it costs if two views are inconsistent on the same edge.
    view_weights : array-like of shape (v,), default=None
        The paper's lambda; None counts all views alike.
    seen : array-like of bool of shape (n_edges, v), default=None
        Which view judges which edge; None: every view judges every edge.
    trust : array-like of shape (n_edges, v), default=None
        How much each view counts on each edge, as a part of its weight: on edge e, lambda of view i becomes
        lambda times ``trust[e, i]`` in all the terms above. Numbers from 0 to 1; 0 (or less than 1e-9) is the
        same as not seen, and values where `seen` is False do not matter. None: 1.
    solver : {"dca", "exact"}, default="dca"
        "dca" is the paper's method; "exact" continues from its result, with the exact minimiser on every
        edge.
    dca_steps : int, default=3
        DCA steps per round.
    tol : float, default=0.05
        The rounds end once one of them makes less than this share of the whole gain, after five at least.
    max_iter : int, default=100
        Cap on the number of rounds; with ``solver="exact"``, of the paper's and of the exact rounds each.
    callback : callable, default=None
        ``callback(iteration, info)`` after each round; returning True stops.
    engine : {"numba", "numpy"} or Engine, default="numba"
        The engine that computes.
    n_jobs : int, default=None
        Number of threads; None: all cores.

    Returns
    -------
    FusionResult

    Examples
    --------
    Five views of one edge as in section 3 of the paper, and a second edge that all agree on; the fifth view
    is out of line on the first edge.

    >>> import numpy as np
    >>> W = np.array([[3.16, 3.19, 3.22, 3.17, 3.95], [3.2, 3.2, 3.2, 3.2, 3.2]])
    >>> result = consistent_graph(W, beta=0.1, gamma=10, solver="exact")
    >>> int(result.inconsistent[0].argmax())
    4

    If the fifth view is known to be doubtful on the first edge, it need not move the fused value there:

    >>> trust = np.array([[1, 1, 1, 1, 0.1], [1, 1, 1, 1, 1]])
    >>> doubted = consistent_graph(W, beta=0.1, gamma=10, trust=trust, solver="exact")
    >>> bool(doubted.fused[0] / doubted.fused[1] < result.fused[0] / result.fused[1])
    True
    """
    weights = np.asarray(W)
    if weights.ndim != 2:
        raise ValueError(f"W must have shape (n_edges, v), got {weights.ndim} dimensions.")
    judged = None if seen is None else np.asarray(seen, dtype=bool)
    if judged is not None and judged.shape != weights.shape:
        raise ValueError(f"seen has shape {judged.shape} and W {weights.shape}; they must agree.")
    judged = None if judged is None else judged.T
    trusted = None if trust is None else np.asarray(trust)
    if trusted is not None and trusted.shape != weights.shape:
        raise ValueError(f"trust has shape {trusted.shape} and W {weights.shape}; they must agree.")
    trusted = None if trusted is None else trusted.T
    schedule = Schedule(solver, dca_steps, tol, max_iter, callback)
    engine = get_engine(engine)
    with engine.limit(n_jobs):
        problem = pose(
            weights.T,
            beta=beta,
            gamma=gamma,
            engine=engine,
            view_weights=view_weights,
            seen=judged,
            trust=trusted,
        )
        return learn_consistent_graph(problem, schedule, engine).fetched(engine)


def fuse_graphs(
    graphs: Sequence[Graph] | Mapping[str, Graph],
    *,
    kind: Literal["similarity", "distance"],
    fill: Literal["max", "unseen"] | None = None,
    beta: float = 1.0,
    gamma: float = 100.0,
    view_weights: ArrayLike | None = None,
    solver: Literal["dca", "exact"] = "dca",
    dca_steps: int = 3,
    tol: float = 0.05,
    max_iter: int = 100,
    callback: Callback | None = None,
    engine: Any = "numba",
    n_jobs: int | None = None,
) -> FusionResult:
    """Fuse several graphs over the same samples into one.

    The graphs are taken as they are: no neighbours are chosen, nothing is standardised and no kernel is
    applied. The shared edges are the union of the stored entries, without the diagonal.

    Parameters
    ----------
    graphs : sequence of graphs or mapping from names to graphs
        SciPy sparse matrices (or dense arrays, whose non-zero entries are the edges) of one shape
        (n, n); they may be directed. Or `GraphView`, or graphs of networkx or igraph, over the same nodes,
        which are matched by name and are in the order of the first graph.
    kind : {"similarity", "distance"}
        What the entries are. It must be given, because an edge that a graph lacks has similarity 0, but
        certainly not distance 0. A `GraphView` of the other kind is an error.
    fill : {"max", "unseen"}, default=None
        What to do when distance graphs have different edges. None refuses; ``"max"`` gives an absent
        edge the largest distance in that graph; ``"unseen"`` says that the graph does not judge it.
    beta, gamma, view_weights, solver, dca_steps, tol, max_iter, callback, engine, n_jobs
        As in `consistent_graph`.

    Returns
    -------
    FusionResult
        With `edges` and `graph`.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> a = sparse.csr_array(np.array([[0, 2.0, 0], [2.0, 0, 1.0], [0, 1.0, 0]]))
    >>> b = sparse.csr_array(np.array([[0, 2.0, 9.0], [2.0, 0, 1.0], [9.0, 1.0, 0]]))
    >>> fuse_graphs([a, b], kind="similarity").graph.nnz
    6
    """
    if kind not in ("similarity", "distance"):
        raise ValueError(f"kind must be 'similarity' or 'distance', got {kind!r}.")
    if fill not in (None, "max", "unseen"):
        raise ValueError(f"fill must be None, 'max' or 'unseen', got {fill!r}.")
    if kind == "similarity" and fill is not None:
        raise ValueError("fill is for distances: an edge that a similarity graph lacks has similarity 0.")
    names, matrices = _as_graphs(graphs, kind)
    edges = EdgeSet.from_support(matrices)
    if edges.n_edges == 0:
        raise ValueError("The graphs have no edges.")
    weights = np.stack([edges.take(matrix) for matrix in matrices])
    seen = None
    if kind == "distance":
        present = np.stack([edges.take(_pattern(matrix)) for matrix in matrices])
        seen = _fill_distances(weights, present, names, fill)
    schedule = Schedule(solver, dca_steps, tol, max_iter, callback)
    engine = get_engine(engine)
    with engine.limit(n_jobs):
        problem = pose(
            weights, beta=beta, gamma=gamma, engine=engine, view_weights=view_weights, seen=seen, names=names
        )
        held = engine.adopt(replace(edges, seen=seen))
        return learn_consistent_graph(problem, schedule, engine, held, kind).fetched(engine)


def _as_graphs(
    graphs: Sequence[Graph] | Mapping[str, Graph], kind: Literal["similarity", "distance"]
) -> tuple[tuple[str, ...], list[sparse.csr_array]]:
    if isinstance(graphs, Mapping) and not sparse.issparse(graphs):
        names, items = tuple(map(str, graphs)), list(graphs.values())
    elif _is_graph(graphs) or sparse.issparse(graphs) or getattr(graphs, "ndim", 0) == 2:
        raise ValueError("graphs must be a list or a mapping of graphs; for one graph pass [graph].")
    else:
        if isinstance(graphs, str) or not isinstance(graphs, Iterable):
            raise ValueError(f"graphs must be a list or a mapping of graphs, got a {type(graphs).__name__}.")
        items = list(graphs)
        names = tuple(f"view_{i}" for i in range(len(items)))
    if not items:
        raise ValueError("There are no graphs to fuse.")
    items = _in_one_order(names, items, kind)
    matrices: list[sparse.csr_array] = []
    for name, item in zip(names, items, strict=True):
        try:
            dense_or_sparse = item if sparse.issparse(item) else np.asarray(item, dtype=np.float64)
        except (TypeError, ValueError):
            raise ValueError(f"Graph {name!r} is no matrix of numbers but a {type(item).__name__}.") from None
        if len(dense_or_sparse.shape) != 2:
            raise ValueError(f"Graph {name!r} must be 2-D, got shape {dense_or_sparse.shape}.")
        if sparse.issparse(dense_or_sparse):
            check_sparse(dense_or_sparse, f"Graph {name!r}")
        matrix = sparse.csr_array(dense_or_sparse, dtype=np.float64, copy=True)
        matrix.sum_duplicates()
        if matrix.shape[0] != matrix.shape[1] or matrix.shape != (matrices or [matrix])[0].shape:
            raise ValueError(
                f"Graph {name!r} has shape {matrix.shape}; all graphs must be square and of the same "
                f"shape as the first, {(matrices or [matrix])[0].shape}."
            )
        matrices.append(matrix)
    return names, matrices


def _is_graph(item: Any) -> bool:
    return isinstance(item, GraphView) or looks_like_graph(item)


def _in_one_order(
    names: tuple[str, ...], items: list[Any], kind: Literal["similarity", "distance"]
) -> list[Any]:
    """Return graphs that name their nodes as matrices, all in the order of the first; others as they are."""
    order: list[Any] | None = None
    first, result = "", []
    for name, item in zip(names, items, strict=True):
        if not _is_graph(item):
            result.append(item)
            continue
        try:
            view = graph_view(item, kind=kind)
        except ValueError as error:
            raise ValueError(Advice(f"Graph {name!r}: ", text_of(error), ".")) from None
        nodes = None if view.nodes is None else view.nodes.tolist()
        if nodes is None or nodes == order:
            result.append(view.matrix)
            continue
        if order is None:
            first, order = name, nodes
        at = {node: i for i, node in enumerate(nodes)}
        if lonely := sorted(set(order) ^ set(nodes), key=str):
            raise ValueError(
                f"Only one of the graphs {first!r} and {name!r} has the node {lonely[0]!r}. Give all "
                "graphs all nodes; or put them into Views, where a layer may lack some, and fit a model."
            )
        rows = [at[node] for node in order]
        result.append(view.matrix[rows][:, rows])
    return result


def _pattern(matrix: sparse.csr_array) -> sparse.csr_array:
    ones = np.ones(matrix.nnz, dtype=bool)
    return sparse.csr_array((ones, matrix.indices, matrix.indptr), shape=matrix.shape)


def _fill_distances(weights: Any, present: Any, names: tuple[str, ...], fill: str | None) -> Any:
    """Treat edges that some distance graphs lack: fill in place, or return which were seen."""
    if present.all():
        return None
    if fill is None:
        counts = ", ".join(
            f"{name!r} lacks {int(lacks)}" for name, lacks in zip(names, (~present).sum(1), strict=True)
        )
        raise ValueError(
            f"The distance graphs have different edges ({counts} of {present.shape[1]}), and an absent "
            "distance is not 0. Pass fill='max' (as far as the farthest) or fill='unseen' (no opinion)."
        )
    if fill == "unseen":
        return present
    for row, has in zip(weights, present, strict=True):
        row[~has] = row[has].max(initial=0.0)
    return None
