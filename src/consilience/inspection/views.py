"""View by view: what each contributed, how far they agree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..agreement import view_reliability
from .subject import Bools, Floats, Subject, as_subject


@dataclass(frozen=True, eq=False)
class ViewSummary:
    """What each view contributed. Arrays have one entry per view, in the order of `names`.

    Attributes
    ----------
    names : tuple of str
        All views, also those left out.
    kept : ndarray of bool
        Which views were kept.
    weights : ndarray
        How much each counts; 0 for a view left out.
    scales : ndarray
        The factor that brings a view to the common scale (the paper's alpha); no measure of trust.
    contributions : ndarray
        Share of the unified graph that comes from each view; they sum to 1.
    inconsistent_shares : ndarray
        How much of a view's own weight the others do not confirm; NaN for a view left out.
    reliability : ndarray
        Median agreement with the other views that are kept; 0: with no other, NaN: nothing to compare.
    """

    names: tuple[str, ...]
    kept: Bools
    weights: Floats
    scales: Floats
    contributions: Floats
    inconsistent_shares: Floats
    reliability: Floats


@dataclass(frozen=True, eq=False)
class AgreementMatrix:
    """How far each two views agree about who is near whom.

    Attributes
    ----------
    names : tuple of str
        The views.
    shares : ndarray of shape (v, v)
        Share of neighbours in common, beyond chance: 0 for unrelated views, 1 for copies and on the
        diagonal, NaN where there is nothing to compare.
    significant : ndarray of bool of shape (v, v)
        Which views agree more than chance explains, all pairs considered; False on the diagonal.
    """

    names: tuple[str, ...]
    shares: Floats
    significant: Bools


def view_summary(fitted: Any) -> ViewSummary:
    """Say what each view contributed, and how far it can be relied on.

    Parameters
    ----------
    fitted : SimilarityGraphFusion, DistanceGraphFusion or FusionResult
        A fitted model, or what `fuse_graphs` returned.

    Returns
    -------
    ViewSummary

    Examples
    --------
    >>> from consilience import DistanceGraphFusion, make_multiview
    >>> from consilience.inspection import view_summary
    >>> data = make_multiview(200, n_views=3, n_clusters=3, separation=4.0, random_state=0)
    >>> summary = view_summary(DistanceGraphFusion(n_clusters=3, random_state=0).fit(data.views))
    >>> summary.names, summary.contributions.round(2)
    (('view_0', 'view_1', 'view_2'), array([0.31, 0.37, 0.31]))
    """
    subject = as_subject(fitted)
    fusion, model = subject.fusion, subject.model
    if model is not None and not np.isnan(model.view_reliability_).all():
        reliability = model.view_reliability_
    else:
        reliability = _reliability(subject)
    return ViewSummary(
        names=subject.names,
        kept=subject.kept,
        weights=subject.expand(fusion.view_weights, 0.0),
        scales=subject.expand(fusion.view_scales, 0.0),
        contributions=subject.expand(fusion.view_contributions, 0.0),
        inconsistent_shares=subject.expand(fusion.inconsistent_shares, np.nan),
        reliability=reliability,
    )


def agreement_matrix(fitted: Any) -> AgreementMatrix:
    """Say how far each two views agree about who is near whom, beyond chance.

    Parameters
    ----------
    fitted : SimilarityGraphFusion, DistanceGraphFusion or FusionResult
        A fitted model, or what `fuse_graphs` returned.

    Returns
    -------
    AgreementMatrix

    Examples
    --------
    >>> from consilience import DistanceGraphFusion, make_multiview
    >>> from consilience.inspection import agreement_matrix
    >>> data = make_multiview(200, n_views=3, n_clusters=3, separation=4.0, random_state=0)
    >>> matrix = agreement_matrix(DistanceGraphFusion(n_clusters=3, random_state=0).fit(data.views))
    >>> matrix.significant[0]
    array([False,  True,  True])
    """
    subject = as_subject(fitted)
    v = len(subject.names)
    shares, significant = np.full((v, v), np.nan), np.zeros((v, v), dtype=bool)
    there, found = _there(subject), subject.agreement
    if found is not None:
        shares[np.ix_(there, there)] = found.shares
        significant[np.ix_(there, there)] = found.significant
    return AgreementMatrix(subject.names, shares, significant)


def _there(subject: Subject) -> NDArray[np.bool_]:
    """Return which views say anything."""
    return np.array([one is not None for one in subject.lists])


def _reliability(subject: Subject) -> Floats:
    there = _there(subject)
    values = np.full(len(there), np.nan)
    if there.sum() > 1 and subject.agreement is not None:
        values[there] = view_reliability(subject.agreement).values
    return values
