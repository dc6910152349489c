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

    @cached_property
    def in_id_order(self) -> SharedViews:
        """The same with the samples in the order of their ids."""
        order = id_order(self.views)
        return self if order is None else SharedViews(self.views[order])

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


def precomputed_views(metric: Any, X: Any) -> Any:
    """Say which views are matrices between samples, as far as metric and data tell before they are read."""
    if isinstance(metric, str):
        return is_precomputed(metric)
    if isinstance(metric, Mapping):
        given = [name for name, one in metric.items() if is_precomputed(one)]
        return [name for name in given if isinstance(X, Mapping) and name in X]
    if isinstance(metric, Iterable) and isinstance(X, list | tuple | Mapping):
        flags = [is_precomputed(one) for one in metric]
        return flags if len(flags) == len(X) else False
    return False
