"""The data of a fit: views as `fit` was given them, or views that many fits share."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..engines import Engine, threads
from ..io.stored import stored
from ..spaces import is_precomputed
from ..stages.prepare import PreparedViews, prepare
from ..views import Encoding, Views
from ..views.content_order import MOST_NUMBERS, content_order, n_numbers
from ..views.reading import is_annotated, split_views
from ..views.tables import bare_labels

logger = logging.getLogger(__name__)

Order = NDArray[np.intp]
ROW_ORDERS = ("content", "given")


@dataclass(frozen=True, eq=False)
class RowOrder:
    """The order of the samples in which a fit is made.

    Attributes
    ----------
    kind : {"ids", "content", "given"}
        What it follows from: the ids of the samples, what the views hold of them, or where they came.
    places : ndarray of shape (n,), or None
        Which sample, as they came, is at each place of the fit; None: they are in this order.
    """

    kind: Literal["ids", "content", "given"]
    places: Order | None = None


@dataclass(frozen=True, eq=False)
class GivenViews:
    """The views of one fit, and the shared views that have them prepared already, if there are any.

    Attributes
    ----------
    views : Views
        The views.
    shared : SharedViews or None
        The same, for many fits.
    """

    views: Views
    shared: SharedViews | None = None

    @classmethod
    def of(cls, X: Any, metric: Any) -> GivenViews:
        """Take what `fit` was given: matrices between samples become known as such by the metric."""
        if isinstance(X, SharedViews):
            shared = X.with_pairwise(metric)
            return cls(shared.views, shared)
        return cls(views_for(metric, X))

    @property
    def fingerprint(self) -> str:
        """A hash of the views."""
        if self.shared is not None:
            return self.shared.fingerprint
        return self.views.fingerprint(n_threads=threads.count())

    def prepare(self, metrics: Sequence[Any], scale: str, *, engine: Engine) -> PreparedViews:
        """Place the views: the first stage of a fit; see `stages.prepare`."""
        return self.prepare_by(prepare, tuple(metrics), scale, engine=engine)

    def prepare_by(self, how: Callable[..., PreparedViews], *given: Any, engine: Engine) -> PreparedViews:
        """Place the views in another way: ``how(views, *given, engine=engine)``."""
        if self.shared is not None:
            return self.shared.prepare_by(how, *given, engine=engine)
        return how(self.views, *given, engine=engine)

    def row_order(self, wanted: str, used: NDArray[np.bool_] | None = None) -> RowOrder:
        """Return the order in which a fit with a parameter `row_order` is made; see `row_order`."""
        if self.shared is None:
            return row_order(self.views, wanted, used)
        return self.shared.row_order(wanted, used)

    def in_order(self, order: RowOrder) -> GivenViews:
        """Return the same with the samples in another order."""
        if order.places is None:
            return self
        if self.shared is None:
            return GivenViews(_moved(self.views, order))
        shared = self.shared.in_order(order)
        return GivenViews(shared.views, shared)


class SharedViews:
    """Views for many fits: the neighbours and distances that a fit asks for are computed once.

    For grids of parameters and for comparisons. Any of our clusterers takes it in place of the views; the
    result is the same.

    Parameters
    ----------
    X : list, tuple, dict, Views, DataFrame, array or sparse matrix
        The views, as `fit` takes them; matrices between samples as `Views` with `pairwise`.

    Examples
    --------
    >>> from consilience import SimilarityGraphFusion, make_multiview
    >>> from consilience.models import SharedViews
    >>> shared = SharedViews(make_multiview(100, n_clusters=3, separation=4.0, random_state=0).views)
    >>> for beta in (0.1, 1, 10):
    ...     labels = SimilarityGraphFusion(n_clusters=3, beta=beta, random_state=0).fit(shared).labels_
    """

    def __init__(self, X: Any) -> None:
        self.views = X if isinstance(X, Views) else Views(X)
        self._prepared: dict[Any, PreparedViews] = {}
        self._others: dict[tuple[bool, ...], SharedViews] = {}
        self._orders: dict[tuple[str, bytes], RowOrder] = {}
        self._ordered: dict[RowOrder, SharedViews] = {}

    def row_order(self, wanted: str, used: NDArray[np.bool_] | None = None) -> RowOrder:
        """Return the order in which a fit with a parameter `row_order` is made, found once."""
        key = wanted, b"" if used is None else used.tobytes()
        if key not in self._orders:
            self._orders[key] = row_order(self.views, wanted, used)
        return self._orders[key]

    def in_order(self, order: RowOrder) -> SharedViews:
        """Return the same with the samples in another order, made once."""
        if order.places is None:
            return self
        if order not in self._ordered:  # an order is found once: two are the same if they are one object
            self._ordered[order] = SharedViews(_moved(self.views, order))
        return self._ordered[order]

    def with_pairwise(self, metric: Any) -> SharedViews:
        """Return the same with matrices between samples known as such by the metric, made once."""
        views = views_for(metric, self.views)
        return self if views is self.views else self._others.setdefault(views.pairwise, SharedViews(views))

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the views."""
        return self.views.fingerprint(n_threads=threads.count())

    def prepare_by(self, how: Callable[..., PreparedViews], *given: Any, engine: Engine) -> PreparedViews:
        """Return the views as a fit wants them, placed once."""
        key = how, given, engine  # not its name: two engines of PyTorch may have two devices
        if key not in self._prepared:
            prepared = how(self.views, *given, engine=engine)
            points = tuple(engine.cached(one) for one in prepared.points)
            self._prepared[key] = replace(prepared, points=points)
        return self._prepared[key]


def row_order(views: Views, wanted: str, used: NDArray[np.bool_] | None = None) -> RowOrder:
    """Return the order of the samples in which a fit is made.

    Of equally near samples the first are taken, and k-means begins with rows drawn by their place. So the
    order of the samples matters, and it must not be that of the rows in a file: they may be sorted by class.
    The fit is made in the order of the ids; without ids, in an order that follows from the content.

    Parameters
    ----------
    views : Views
        The views.
    wanted : {"content", "given"}
        What to do for samples without ids.
    used : ndarray of bool, default=None
        The views whose content counts; None: all.

    Examples
    --------
    >>> row_order(Views([[1.0], [2.0], [3.0]]), "content")
    RowOrder(kind='content', places=array([0, 2, 1]))
    >>> row_order(Views([[3.0], [1.0], [2.0]]), "content")
    RowOrder(kind='content', places=array([1, 0, 2]))
    >>> row_order(Views([[3.0], [1.0], [2.0]]), "given")
    RowOrder(kind='given', places=None)
    """
    kind = kind_of_order(views, wanted)
    if kind == "ids":
        return RowOrder(kind, id_order(views))
    if kind == "content":
        return RowOrder(kind, _places(content_order(views, used)))
    if wanted == "content":
        logger.info("more than %s numbers: samples are fitted in the order of the rows", f"{MOST_NUMBERS:,}")
    return RowOrder(kind)


def kind_of_order(views: Views, wanted: str) -> Literal["ids", "content", "given"]:
    """Say what the order of a fit follows from, without finding it."""
    if views.sample_ids is not None:
        return "ids"
    return "content" if wanted == "content" and n_numbers(views) <= MOST_NUMBERS else "given"


def _places(order: Order) -> Order | None:
    """Return an order, or None for the one that is there."""
    return None if np.array_equal(order, np.arange(len(order))) else order


def _moved(views: Views, order: RowOrder) -> Views:
    """Return the views with the samples in another order."""
    moved: Views = views[order.places]
    if moved.sample_ids is None:
        moved.sample_ids = order.places  # so that messages number the samples as they came
    return moved


def id_order(views: Views) -> Order | None:
    """Return the numbers of the samples in the order of their ids; None if they are in it, or have no ids.

    Examples
    --------
    >>> id_order(Views([[1.0], [2.0], [3.0]], sample_ids=["c", "a", "b"]))
    array([1, 2, 0])
    >>> id_order(Views([[1.0], [2.0], [3.0]])) is None
    True
    """
    if views.sample_ids is None:
        return None
    ids = views.sample_ids.tolist()
    try:
        order = np.array(sorted(range(len(ids)), key=ids.__getitem__), dtype=np.intp)
    except TypeError:  # ids of several types
        order = np.array(sorted(range(len(ids)), key=lambda i: (type(ids[i]).__name__, repr(ids[i]))))
    return _places(order)


def views_given(X: Any) -> list[Any]:
    """Return the views as they were given, unread; none if they came in a container of our own or of cells.

    Examples
    --------
    >>> views_given({"a": [[1.0]], "b": None})
    [[[1.0]]]
    """
    if isinstance(X, Views | SharedViews) or is_annotated(X):
        return []
    return [one for one in split_views(X)[1] if one is not None]


def views_for(metric: Any, X: Any) -> Views:
    """Return the views in X for a fit with this metric: matrices between samples known as such.

    Code that takes some of the samples must take their rows and their columns, or the two do not match.
    """
    if is_annotated(X):  # its views are named by what it holds
        return Views(X, pairwise=isinstance(metric, str) and is_precomputed(metric))
    if not isinstance(X, Views):
        return Views(X, pairwise=_precomputed(metric, split_views(X)[0]))
    flags = _precomputed(metric, list(X.names))
    new = [
        i
        for i, (flag, own, array) in enumerate(zip(flags, X.pairwise, X.resident_arrays, strict=True))
        if flag and not own and array.shape[0] == array.shape[1]
    ]
    for i in new:
        _check_columns(X, i)
    return Views(X, pairwise=[own or i in new for i, own in enumerate(X.pairwise)]) if new else X


def _precomputed(metric: Any, names: list[str]) -> list[bool]:
    """Say which views are matrices between samples, as far as the metric shows before it is resolved."""
    if isinstance(metric, Mapping):
        return [name in metric and is_precomputed(metric[name]) for name in names]
    if isinstance(metric, Iterable) and not isinstance(metric, str):
        flags = [is_precomputed(one) for one in metric]
        return flags if len(flags) == len(names) else [False] * len(names)
    return [is_precomputed(metric)] * len(names)


def _check_columns(views: Views, i: int) -> None:
    """Raise a ValueError if a matrix between samples may have rows and columns in two orders.

    Rows are brought into the order of ids when views are joined, and columns with them only if it was known
    that these are samples too.
    """
    columns, ids = views.columns[i], views.sample_ids
    if columns is None or ids is None:
        return
    if list(map(str, columns)) != list(map(str, ids.tolist())):
        raise ValueError(
            f"The columns of view {views.names[i]!r} are not named as its rows, in the same order; say that "
            f"it is a matrix between samples, Views(..., pairwise=[{views.names[i]!r}]), to match both by id."
        )


@stored()
@dataclass(frozen=True, eq=False)
class ViewForm:
    """What a view of new samples must look like.

    Attributes
    ----------
    name : str
        Its name.
    n_features : int
        Number of features; of a matrix between samples, of samples.
    metric : str or callable
        What it is measured by.
    columns : ndarray or None
        Labels of its columns, if it had any.
    encoding : Encoding or None
        What its columns are, if not all were numbers.
    fingerprint : str or None
        Of a matrix between samples that have no ids: what it is known by.
    """

    name: str
    n_features: int
    metric: Any
    columns: NDArray[Any] | None
    encoding: Encoding | None
    fingerprint: str | None = None


def forms_of(views: Views, metrics: tuple[Any, ...]) -> tuple[ViewForm, ...]:
    """Return what the views of a fit look like."""
    parts = zip(
        views.names,
        views.n_features,
        metrics,
        views.columns,
        views.encodings,
        views.pairwise,
        strict=True,
    )
    return tuple(
        ViewForm(
            name,
            d,
            metric,
            None if square or columns is None else np.array(bare_labels(columns), dtype=object),
            encoding,
            views.fingerprint(name) if square and views.sample_ids is None else None,
        )
        for name, d, metric, columns, encoding, square in parts
    )
