"""Which metric a view has."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray
from sklearn.neighbors import VALID_METRICS

from .scaling import Seen, seems_counted

if TYPE_CHECKING:
    from ..engines import Engine

logger = logging.getLogger(__name__)

PRECOMPUTED = (
    "precomputed_distance",
    "precomputed_squared_distance",
    "precomputed_similarity",
    "graph_distance",
)
# The model works on squared distances, so squared Euclidean needs no second squaring.
_ALIASES = {"l2": "euclidean", "sqeuclidean": "euclidean", "l1": "manhattan", "cityblock": "manhattan"}
_UNFIT = {"precomputed"}


class Metric(ABC):
    """A metric of your own that measures many pairs at a time.

    A function of two rows is a metric, too, but it is called for every pair. A subclass implements
    `distances`; make it a frozen dataclass of its settings, and decorate it with
    `consilience.io.stored.stored` if models that use it are to be saved.

    Examples
    --------
    >>> import numpy as np
    >>> class Largest(Metric):
    ...     def distances(self, rows, others):
    ...         return np.abs(rows[:, None] - others[None]).max(axis=2)
    >>> from consilience.stages import nearest_neighbors
    >>> nearest_neighbors([[[0.0, 0.0], [3.0, 3.0], [4.0, 0.0]]], 1, metric=Largest())[0].ravel()
    array([1, 0, 1], dtype=int32)
    """

    @abstractmethod
    def distances(self, rows: NDArray[Any], others: NDArray[Any]) -> NDArray[Any]:
        """Return the distance of each of some rows (m, d) to each of the others (n, d): (m, n), not negative.

        The distance of two rows must not depend on the other rows.
        """

    def __call__(self, row: NDArray[Any], other: NDArray[Any]) -> float:
        """Return the distance of two rows."""
        return float(self.distances(row[None], other[None])[0, 0])


def is_precomputed(metric: Any) -> bool:
    """Say whether a view with this metric is a matrix between samples.

    Examples
    --------
    >>> is_precomputed("precomputed_distance"), is_precomputed("euclidean"), is_precomputed(max)
    (True, False, False)
    """
    return isinstance(metric, str) and metric in PRECOMPUTED


def takes_missing_cells(metric: Any) -> bool:
    """Say whether the metric takes empty cells; a function is assumed to.

    Examples
    --------
    >>> takes_missing_cells("gower"), takes_missing_cells("euclidean")
    (True, False)
    """
    return callable(metric) or metric in ("gower", "nan_euclidean")


def takes_categories(metric: Any) -> bool:
    """Say whether the metric takes columns of categories; a function is assumed to.

    Examples
    --------
    >>> takes_categories("gower"), takes_categories("nan_euclidean")
    (True, False)
    """
    return callable(metric) or metric == "gower"


def metric_label(metric: Any) -> str:
    """Return a metric's name, to show it.

    Examples
    --------
    >>> metric_label("cosine"), metric_label(max)
    ('cosine', 'max')
    """
    return metric if isinstance(metric, str) else str(getattr(metric, "__name__", type(metric).__name__))


def metric_names() -> tuple[str, ...]:
    """Return every known metric name, ``"auto"`` first.

    Examples
    --------
    >>> metric_names()[:4]
    ('auto', 'euclidean', 'cosine', 'gower')
    """
    others = sorted(set(VALID_METRICS["brute"]) - _UNFIT - {"euclidean", "cosine"})
    return ("auto", "euclidean", "cosine", "gower", *PRECOMPUTED, *others)


def auto_metrics(metric: Any, names: Sequence[str]) -> tuple[bool, ...]:
    """Say which views are left to the rule: their metric is "auto".

    Examples
    --------
    >>> auto_metrics("auto", ["a", "b"]), auto_metrics({"a": "cosine", "b": "auto"}, ["a", "b"])
    ((True, True), (False, True))
    """
    if isinstance(metric, Mapping):
        return tuple(metric.get(name, "auto") == "auto" for name in names)
    if isinstance(metric, Iterable) and not isinstance(metric, str):
        return tuple(isinstance(one, str) and one == "auto" for one in metric)
    return (isinstance(metric, str) and metric == "auto",) * len(names)


def resolve_metrics(
    metric: Any,
    arrays: Sequence[Any],
    names: Sequence[str],
    kinds: Sequence[tuple[str, ...] | None] | None = None,
    graphs: Sequence[str | None] | None = None,
    *,
    engine: Engine,
    seen: Sequence[Seen] | None = None,
    rescaled: Sequence[bool] | None = None,
) -> tuple[Any, ...]:
    """Return one metric per view, with ``"auto"`` decided and aliases replaced.

    Parameters
    ----------
    metric : str, callable, or a sequence or mapping of such
        One for all views, or one per view (a mapping from view names works too). A callable takes two rows
        and returns their distance; a `Metric` measures many at a time.
    arrays : sequence of array or sparse matrix
        The views.
    names : sequence of str
        Their names.
    kinds : sequence of (tuple of str or None), default=None
        What the columns of each view are: "numeric", "categorical" or "ordinal"; None: all are numbers. With
        a column of another kind, "auto" is Gower's distance. Every metric takes ranks as numbers, but not
        categories.
    graphs : sequence of ("similarity", "distance" or None), default=None
        What the weights are of a view that is a graph.
    engine : Engine
        The engine that computes.
    seen : sequence of (ndarray of bool or None), default=None
        Which rows each view has seen; None: all.
    rescaled : sequence of bool, default=None
        In which views columns that stand apart will be rescaled, so that they are ignored here; None: in
        none.

    Examples
    --------
    >>> import numpy as np
    >>> from consilience.engines import get_engine
    >>> arrays, names = [np.ones((3, 2)), np.zeros((3, 2))], ["sizes", "kinds"]
    >>> kinds = [None, ("numeric", "categorical")]
    >>> resolve_metrics("auto", arrays, names, kinds, engine=get_engine("numpy"))
    ('euclidean', 'gower')
    """
    chosen = _one_for_each(metric, names)
    kinds = [None] * len(names) if kinds is None else kinds
    graphs = [None] * len(names) if graphs is None else graphs
    seen = [None] * len(names) if seen is None else seen
    rescaled = [False] * len(names) if rescaled is None else rescaled
    evidence = [
        partial(seems_counted, array, rows, engine, rescaled=flag)
        for array, rows, flag in zip(arrays, seen, rescaled, strict=True)
    ]
    return tuple(
        _resolve(one, counted, name, columns) if graph is None else _resolve_graph(one, graph, name)
        for one, counted, name, columns, graph in zip(chosen, evidence, names, kinds, graphs, strict=True)
    )


def _one_for_each(metric: Any, names: Sequence[str]) -> list[Any]:
    """Return one metric per view, as the user gave them."""
    if isinstance(metric, str) or callable(metric):
        return [metric] * len(names)
    if isinstance(metric, Mapping):
        unknown = [name for name in metric if name not in names]
        if unknown or len(metric) != len(names):
            raise ValueError(
                f"metric names the views {', '.join(map(repr, metric))}, the data has "
                f"{', '.join(map(repr, names))}; give one metric for each."
            )
        return [metric[name] for name in names]
    if not isinstance(metric, Iterable):
        raise ValueError(f"metric must be one name, or one for each view, got {metric!r}.")
    chosen = list(metric)
    if len(chosen) != len(names):
        raise ValueError(
            f"metric must be one name or one for each of the {len(names)} views, got {len(chosen)} names."
        )
    return chosen


def _resolve(metric: Any, counted: Callable[[], bool], name: str, kinds: tuple[str, ...] | None) -> Any:
    if callable(metric):
        return metric
    if not isinstance(metric, str) or metric not in metric_names():
        advice = " Say which: 'precomputed_distance', ..." if metric == "precomputed" else ""
        known = ", ".join(metric_names())
        raise ValueError(f"Unknown metric {metric!r} for view {name!r}.{advice} Known metrics: {known}.")
    if metric == "auto":
        if any(kind != "numeric" for kind in kinds or ()):
            metric = "gower"
        else:
            metric = "cosine" if counted() else "euclidean"
        logger.info("view %r: metric 'auto' is %s", name, metric)
    if kinds is not None and "categorical" in kinds and not takes_categories(metric):
        raise ValueError(
            f"Column {kinds.index('categorical')} of view {name!r} is categorical, and the metric {metric!r} "
            "takes only numbers; use metric='gower', or encode or drop the column."
        )
    return _ALIASES.get(metric, metric)


def _resolve_graph(metric: Any, graph: str, name: str) -> str:
    """Return the metric of a graph, which follows from what its weights are."""
    own = "precomputed_similarity" if graph == "similarity" else "graph_distance"
    if metric not in ("auto", own):
        raise ValueError(
            f"View {name!r} is a graph of {graph}, so its metric is 'auto', not {metric_label(metric)!r}."
        )
    return own
