"""Views made ready for a fit: each that takes part as a space, once for many fits if need be."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..neighbors import RememberingSpace, Space, is_precomputed
from ..neighbors.scaling import Scaling
from ..views import Views
from ..views.reading import is_annotated, split_views
from .id_order import id_order

if TYPE_CHECKING:
    from .base import MultiviewClusterer


@dataclass(frozen=True, eq=False)
class PreparedViews:
    """The views that take part in a fit, as spaces.

    Attributes
    ----------
    spaces : tuple of Space
        One per view that takes part.
    names : tuple of str
        Their names.
    taking_part : ndarray of bool of shape (v,)
        Which of all views those are.
    mask : ndarray of bool of shape (n, number of spaces), or None
        Which sample each has seen.
    n_samples : int
        Number of samples.
    scalings : tuple of Scaling
        What was done to the features of each.
    """

    spaces: tuple[Space, ...]
    names: tuple[str, ...]
    taking_part: NDArray[np.bool_]
    mask: NDArray[np.bool_] | None
    n_samples: int
    scalings: tuple[Scaling, ...] = ()

    def expand(self, values: NDArray[Any], absent: float = 0.0) -> NDArray[Any]:
        """Give the views that were left out their place back, on the last axis, with this value."""
        return expand(values, self.taking_part, absent)

    def only(self, kept: NDArray[np.bool_]) -> PreparedViews:
        """Leave out some of the views that take part."""
        chosen = np.flatnonzero(kept).tolist()
        return replace(
            self,
            spaces=tuple(self.spaces[i] for i in chosen),
            names=tuple(self.names[i] for i in chosen),
            taking_part=expand(kept, self.taking_part, False),
            mask=None if self.mask is None else self.mask[:, chosen],
            scalings=tuple(self.scalings[i] for i in chosen) if self.scalings else (),
        )


def expand(values: NDArray[Any], taking_part: NDArray[np.bool_], absent: float = 0.0) -> NDArray[Any]:
    """Give the views that took no part their place back, on the last axis, with this value."""
    result = np.full(values.shape[:-1] + taking_part.shape, absent, dtype=values.dtype)
    result[..., taking_part] = values
    return result


class SharedViews:
    """Views for many fits: whatever a fit asks of a view, neighbours and distances, is computed once.

    For grids of parameters and for comparisons. Any of our clusterers takes it in place of the views; the
    result is the same.

    Parameters
    ----------
    X : list, tuple, dict, Views, DataFrame, array or sparse matrix
        The views, as `fit` takes them; matrices between samples as `Views` with `pairwise`.

    Examples
    --------
    >>> from consilience import SimilarityGraphFusion, make_multiview
    >>> from consilience.cluster import SharedViews
    >>> shared = SharedViews(make_multiview(100, n_clusters=3, separation=4.0, random_state=0).views)
    >>> for beta in (0.1, 1, 10):
    ...     labels = SimilarityGraphFusion(n_clusters=3, beta=beta, random_state=0).fit(shared).labels_
    """

    def __init__(self, X: Any) -> None:
        self.views = X if isinstance(X, Views) else Views(X)
        self._prepared: dict[Any, PreparedViews] = {}
        self._others: dict[tuple[bool, ...], SharedViews] = {}

    @cached_property
    def in_id_order(self) -> SharedViews:
        """The same with the samples in the order of their ids."""
        order = id_order(self.views)
        return self if order is None else SharedViews(self.views[order])

    def known_as(self, views: Views) -> SharedViews:
        """Return the same with other views known as matrices between samples, made once."""
        return self._others.setdefault(views.pairwise, SharedViews(views))

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the views."""
        return self.views.fingerprint()

    def prepared_for(self, model: MultiviewClusterer) -> PreparedViews:
        """Return the views as the spaces that a model wants, made once."""
        key = (type(model)._prepare, model._preparation())
        if key not in self._prepared:
            prepared = model._prepare(self.views)
            spaces = tuple(RememberingSpace(space) for space in prepared.spaces)
            self._prepared[key] = replace(prepared, spaces=spaces)
        return self._prepared[key]


def views_for(metric: Any, X: Any) -> Views:
    """Return the views in X for a fit with this metric: matrices between samples known as such.

    Whoever takes samples must take their rows and columns, or the two no longer belong together.
    """
    if is_annotated(X):  # its views are named by what it holds
        return Views(X, pairwise=isinstance(metric, str) and is_precomputed(metric))
    if not isinstance(X, Views):
        return Views(X, pairwise=_precomputed(metric, split_views(X)[0]))
    flags = _precomputed(metric, list(X.names))
    new = [
        i
        for i, (flag, own, array) in enumerate(zip(flags, X.pairwise, X.arrays, strict=True))
        if flag and not own and array.shape[0] == array.shape[1]
    ]
    for i in new:
        _check_columns(X, i)
    return Views(X, pairwise=[own or i in new for i, own in enumerate(X.pairwise)]) if new else X


def _precomputed(metric: Any, names: list[str]) -> list[bool]:
    """Say which views are matrices between samples, as far as the metric tells before it is resolved."""
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
