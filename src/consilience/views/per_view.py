"""scikit-learn's transformers on views."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from ..words import listed
from .container import Views, as_views
from .tables import check_columns

WORDS = ("passthrough", "drop")


class PerView(TransformerMixin, BaseEstimator):
    """Apply a transformer of scikit-learn to each view.

    Each view gets a transformer of its own, which gets only the samples that the view has seen. Ids, names
    and the order of the samples stay, so that the result is ready for a clusterer.

    Parameters
    ----------
    transformer : estimator, "passthrough", or mapping from names of views
        One for all views, a new one for each; or one per view, where ``"passthrough"`` leaves a view as it
        is, as for views that are not named, and ``"drop"`` leaves it out. With one for all views, matrices
        between samples and graphs are left as they are.

    Attributes
    ----------
    transformers_ : dict of str to estimator
        The fitted transformer of each view; a view that is passed through or dropped has none.
    view_names_ : ndarray of str
        The views of the fit.
    columns_ : dict of str to (ndarray or None)
        Labels of the columns of each view that came as a DataFrame.

    Notes
    -----
    Parameters of the transformer are reached as usual: ``transformer__n_components`` of one for all views,
    ``rna__n_components`` of the one for view ``"rna"``. Columns of categories reach a transformer as what
    they were, in a pandas DataFrame, so that encoders work; cells that are empty are NaN, for imputers.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import QuantileTransformer
    >>> from consilience import DistanceGraphFusion, PerView, load_digits_views
    >>> views, y = load_digits_views(return_X_y=True)
    >>> uniform = PerView(QuantileTransformer(random_state=0))
    >>> pipeline = make_pipeline(uniform, DistanceGraphFusion(n_clusters=10, random_state=0))
    >>> pipeline.fit_predict(views).shape
    (1797,)
    """

    def __init__(self, transformer: Any = "passthrough") -> None:
        self.transformer = transformer

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit a transformer to each view.

        Parameters
        ----------
        X : Views, dict, list, DataFrame or array
            The views.
        y : array-like of shape (n_samples,), default=None
            Passed on, without the samples that a view has not seen.
        """
        views = self._begun(X)
        for name, transformer in self.transformers_.items():
            seen = views.seen(name)
            transformer.fit(_rows(views, name, seen), *_targets(y, seen))
        return self

    def transform(self, X: Any) -> Views:
        """Return the views with the features that the transformers make of theirs.

        Parameters
        ----------
        X : Views, dict, list, DataFrame or array
            Any of the views of the fit, by name.
        """
        check_is_fitted(self)
        views = as_views(X)
        for name in views.names:
            if name not in self.view_names_:
                raise ValueError(
                    f"PerView was fitted to the views {listed(map(repr, self.view_names_))}; there was no "
                    f"{name!r}."
                )
        for name, columns in zip(views.names, views.columns, strict=True):
            if name in self.transformers_:
                check_columns(columns, self.columns_[name], name)
        return self._replaced(views, lambda name, rows, _: self.transformers_[name].transform(rows))

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Views:
        """Fit a transformer to each view and return the views that they make."""
        if fit_params:
            raise TypeError(f"fit_transform takes no {listed(map(repr, fit_params))}.")
        views = self._begun(X)

        def make(name: str, rows: Any, seen: Any) -> Any:
            transformer = self.transformers_[name]
            if hasattr(transformer, "fit_transform"):
                return transformer.fit_transform(rows, *_targets(y, seen))
            return transformer.fit(rows, *_targets(y, seen)).transform(rows)

        return self._replaced(views, make)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters, with those of the transformers if `deep`."""
        params: dict[str, Any] = super().get_params(deep=deep)
        if deep:
            for name, one in self._by_view().items():
                params[name] = one
                if hasattr(one, "get_params"):
                    params |= {f"{name}__{key}": value for key, value in one.get_params(deep=True).items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters, of the transformer for view ``a`` as ``a`` or ``a__parameter``."""
        rest = {}
        for key, value in params.items():
            name, _, inner = key.partition("__")
            if name not in self._by_view():
                rest[key] = value
            elif inner:
                self.transformer[name].set_params(**{inner: value})
            else:
                self.transformer = dict(self.transformer) | {name: value}
        super().set_params(**rest)
        return self

    def _by_view(self) -> Mapping[str, Any]:
        return self.transformer if isinstance(self.transformer, Mapping) else {}

    def _begun(self, X: Any) -> Views:
        """Read the views of a fit, and keep what later views are compared with."""
        views = as_views(X)
        self.transformers_ = self._chosen(views)
        self.view_names_ = np.array(views.names, dtype=object)
        self.columns_ = dict(zip(views.names, views.columns, strict=True))
        return views

    def _chosen(self, views: Views) -> dict[str, Any]:
        """Return a fresh transformer for each view that gets one."""
        chosen: Mapping[str, Any] = self._by_view()
        if not isinstance(self.transformer, Mapping):
            free = zip(views.names, views.pairwise, strict=True)
            chosen = {name: self.transformer for name, square in free if not square}
        for name, one in chosen.items():
            if name not in views.names:
                raise ValueError(
                    f"transformer names the view {name!r}; the views are {listed(map(repr, views.names))}."
                )
            if isinstance(one, str) and one in WORDS:
                continue
            if not hasattr(one, "fit") or not hasattr(one, "transform"):
                raise TypeError(
                    f"The transformer of view {name!r} must have fit and transform, or be 'passthrough' or "
                    f"'drop'; got {one!r}."
                )
        return {name: clone(one) for name, one in chosen.items() if not isinstance(one, str)}

    def _replaced(self, views: Views, make: Any) -> Views:
        """Return the views with the features that `make` gives for the rows that each has seen."""
        dropped = [name for name, one in self._by_view().items() if isinstance(one, str) and one == "drop"]
        kept = [name for name in views.names if name not in dropped]
        if not kept:
            raise ValueError("All views are dropped; keep one at least.")
        for name in kept:
            if name in self.transformers_:
                seen = views.seen(name)
                rows = _rows(views, name, seen)
                views = views.with_features(name, make(name, rows, seen))
        return views if len(kept) == views.n_views else views.select(kept)


def _rows(views: Views, name: str, seen: NDArray[np.bool_] | None) -> Any:
    """Return the samples that a view has seen, as a transformer should see them."""
    i = views.names.index(name)
    array = views.arrays[i] if seen is None else views.arrays[i][seen]
    encoding, columns = views.encodings[i], views.feature_names[i]
    if encoding is None or sparse.issparse(array):
        return array
    decoded = encoding.decode(array)
    try:
        import pandas as pd
    except ImportError:
        return decoded
    frame = pd.DataFrame(decoded)  # by number: two columns may have one name
    for j, kind in enumerate(encoding.kinds):
        if kind == "numeric":
            frame[j] = frame[j].astype(float)
        else:
            frame[j] = pd.Categorical(
                frame[j], categories=list(encoding.categories[j] or ()), ordered=kind == "ordinal"
            )
    return frame if columns is None else frame.set_axis(columns, axis=1)


def _targets(y: Any, seen: NDArray[np.bool_] | None) -> tuple[Any, ...]:
    if y is None:
        return ()
    return (np.asarray(y) if seen is None else np.asarray(y)[seen],)
