"""Queries: new samples with any of the views of a fit, each checked against what it was then."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import validate_data

from ..spaces import is_precomputed, takes_missing_cells
from ..views import Views
from ..views.encoding import recoded
from ..views.reading import is_annotated
from ..views.tables import bare_labels, check_columns
from .given import SharedViews, ViewForm

if TYPE_CHECKING:
    from .base import MultiviewClusterer


@dataclass(frozen=True, eq=False)
class NewSamples:
    """New samples: an array or None for each view of the fit; `mask` says which sample has which view."""

    arrays: tuple[Any, ...]
    mask: NDArray[np.bool_]
    sample_ids: NDArray[Any] | None

    def label(self, i: int) -> str:
        """Say which sample this is."""
        return f"row {i}" if self.sample_ids is None else f"sample {self.sample_ids.tolist()[i]!r}"


def read_new_samples(model: MultiviewClusterer, X: Any, forms: tuple[ViewForm, ...]) -> NewSamples:
    """Read new samples, with any of the views that a model was fitted to.

    Parameters
    ----------
    model : MultiviewClusterer
        The fitted model.
    X : Views, mapping, list, AnnData, MuData or array
        By name, any of the views; or a list of all of them in order, None for those that are not there.
    forms : tuple of ViewForm
        The views of the fit.
    """
    views = _as_views(X, forms)
    own = isinstance(X, Views | SharedViews | Mapping | list | tuple) or is_annotated(X)
    if len(forms) == 1 and not own:
        # scikit-learn's own words about columns that are not those of the fit.
        validate_data(model, X, reset=False, skip_check_array=True)
    known = {form.name: v for v, form in enumerate(forms)}
    for name in views.names:
        if name not in known:
            raise ValueError(
                f"The model was fitted to the views {', '.join(map(repr, known))}; there was no {name!r}."
            )
    arrays: list[Any] = [None] * len(forms)
    mask = np.zeros((views.n_samples, len(forms)), dtype=bool)
    for i, name in enumerate(views.names):
        v = known[name]
        arrays[v] = _checked(views, i, forms[v], alone=len(forms) == 1, model=model)
        seen = views.seen(i)
        mask[:, v] = True if seen is None else seen
    return NewSamples(tuple(arrays), mask, views.sample_ids)


def _as_views(X: Any, forms: tuple[ViewForm, ...]) -> Views:
    if isinstance(X, SharedViews):
        return X.views
    if isinstance(X, Views):
        return X
    names = [form.name for form in forms]
    if isinstance(X, Mapping) and not sparse.issparse(X):
        return Views({name: view for name, view in X.items() if view is not None})
    if isinstance(X, list | tuple) and any(view is None for view in X):
        if len(X) != len(forms):
            raise ValueError(
                f"A list of views must have one for each of {', '.join(map(repr, names))}, or None; got "
                f"{len(X)}."
            )
        return Views({name: view for name, view in zip(names, X, strict=True) if view is not None})
    views = Views(X)
    default = tuple(f"view_{i}" for i in range(views.n_views))
    if views.names != default:  # an AnnData or MuData
        return views
    if views.n_views != len(forms):
        raise ValueError(
            f"The model was fitted to {len(forms)} views ({', '.join(map(repr, names))}), got "
            f"{views.n_views}; pass a dict to name those that there are."
        )
    return Views(views, names=names)


def _checked(views: Views, i: int, form: ViewForm, *, alone: bool, model: Any) -> Any:
    """Return one view of the new samples after checking that it is like that of the fit."""
    array, labels = views.resident_arrays[i], views.columns[i]
    if is_precomputed(form.metric) and views.pairwise[i]:
        labels = _known_samples(views, i, form, model)
    if array.shape[1] != form.n_features:
        if alone:
            raise ValueError(
                f"X has {array.shape[1]} features, but {type(model).__name__} is expecting {form.n_features} "
                "features as input"
            )
        what = "samples of the fit" if is_precomputed(form.metric) else "features"
        raise ValueError(
            f"View {form.name!r} has {array.shape[1]} {what}, at fit there were {form.n_features}."
        )
    if is_precomputed(form.metric):
        array = _by_fitted_samples(array, labels, model.sample_ids_, form)
    else:
        check_columns(labels, form.columns, form.name)
    if form.encoding is not None or views.encodings[i] is not None:
        place, columns = f"View {form.name!r}", views.feature_names[i]
        array = recoded(array, views.encodings[i], form.encoding, place, columns, views.seen(i))
    if not takes_missing_cells(form.metric):
        views.check_cells(i)
    return array


def _known_samples(views: Views, i: int, form: ViewForm, model: Any) -> Any:
    """Return the ids of a matrix between samples, which must be those of the fit, known by ids or the matrix.

    A matrix between other samples does not say how near these are to the samples of the fit.
    """
    ids, own = views.sample_ids, model.sample_ids_
    if ids is not None and own is not None:
        if set(ids.tolist()) == set(own.tolist()):
            return ids
    elif form.fingerprint is not None and views.fingerprint(views.names[i]) == form.fingerprint:
        return None
    raise ValueError(
        f"View {form.name!r} is a matrix between the new samples; pass an array or DataFrame with a row for "
        "each new sample, of its distances or similarities to the samples of the fit."
    )


def _by_fitted_samples(array: Any, columns: Any, ids: Any, form: ViewForm) -> Any:
    """Bring the columns of a matrix from new to old samples into the order of the fit, by their labels."""
    if columns is None:
        return array
    counted = list(range(form.n_features))
    at, wanted = {label: j for j, label in enumerate(columns)}, counted if ids is None else ids.tolist()
    if not at.keys() >= set(wanted):  # names of columns are text in most files
        at, wanted = {str(label): j for label, j in at.items()}, [str(label) for label in wanted]
    missing = [label for label in wanted if label not in at]
    if missing and (ids is None or bare_labels(columns) == bare_labels(counted)):
        return array  # there are no ids to match by, of the one or of the other
    if missing:
        raise ValueError(
            f"View {form.name!r} has no column for sample {missing[0]!r} of the fit "
            f"({len(missing)} such in all)."
        )
    if wanted == list(at):
        return array
    return array[:, np.array([at[label] for label in wanted])]
