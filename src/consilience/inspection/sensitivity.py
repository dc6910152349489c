"""Whether the answer depends on a parameter."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from ..metrics import ari, nmi
from ..models.given import SharedViews
from .subject import NOT_THESE, Floats, as_subject, check_labels, views_of


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """How the clusters change with one parameter, all others left as they are.

    Attributes
    ----------
    parameter : str
        Its name.
    values : tuple
        The values tried.
    current : object
        The value of the fit that the others are compared with.
    agreement : ndarray of shape (m,)
        Adjusted Rand index of the clusters at each value with those of the fit: 1 if they are the same.
    scores : ndarray of shape (m,), or None
        NMI with true labels (by the larger entropy), if given.
    contributions : ndarray of shape (m, v)
        Share of the unified graph that comes from each view.
    names : tuple of str
        The views.
    """

    parameter: str
    values: tuple[Any, ...]
    current: Any
    agreement: Floats
    scores: Floats | None
    contributions: Floats
    names: tuple[str, ...]


def sensitivity(
    model: Any, views: Any, parameter: str, values: Sequence[Any], *, y: ArrayLike | None = None
) -> Sensitivity:
    """Fit again with other values of a parameter, and compare the clusters.

    Parameters
    ----------
    model : SimilarityGraphFusion or DistanceGraphFusion
        A fitted model. It is left as it is.
    views : as for `fit`
        The data it was fitted to.
    parameter : str
        The parameter to vary, such as ``"n_neighbors"``, ``"beta"`` or ``"gamma"``.
    values : sequence
        The values to try.
    y : array-like of shape (n,), default=None
        True labels to score against.

    Returns
    -------
    Sensitivity

    Examples
    --------
    >>> from consilience import DistanceGraphFusion, make_multiview
    >>> from consilience.inspection import sensitivity
    >>> data = make_multiview(200, n_clusters=3, separation=4.0, random_state=0)
    >>> model = DistanceGraphFusion(n_clusters=3, random_state=0).fit(data.views)
    >>> bool(sensitivity(model, data.views, "n_neighbors", [8, 16]).agreement.min() > 0.9)
    True
    """
    subject = as_subject(model)
    if subject.model is None:
        raise TypeError("Only a fitted model can be fitted again, not a FusionResult.")
    known = model.get_params()
    if parameter not in known:
        raise ValueError(f"There is no parameter {parameter!r}; known: {', '.join(known)}.")
    if len(values) == 0:
        raise ValueError("values is empty: name at least one value to try.")
    truth = None if y is None else check_labels(y, subject.n_samples)
    shared = SharedViews(views_of(model, views))
    if shared.fingerprint != model.data_fingerprint_:
        raise ValueError(NOT_THESE)
    fits = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they repeat those of the fit
        for value in values:
            fits.append(clone(model).set_params(**{parameter: value}).fit(shared))
    return Sensitivity(
        parameter=parameter,
        values=tuple(values),
        current=known[parameter],
        agreement=np.array([ari(model.labels_, fit.labels_) for fit in fits]),
        scores=None if truth is None else np.array([nmi(truth, fit.labels_) for fit in fits]),
        contributions=np.stack([fit.view_contributions_ for fit in fits]),
        names=subject.names,
    )
