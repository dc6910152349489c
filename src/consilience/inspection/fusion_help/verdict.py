"""The verdict: whether fusing helps, from numbers that need no labels.

Fusing can help only if the views agree, beyond chance, about who is near whom: then they have something in
common to be found. It does if what some of them find together shows in a view held out better than what any
of them finds alone; or, where that is not known, if what is found in all of them together holds under
resampling no less than what the most stable of them shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .contenders import VIEW, Contender
from .held_out import HeldOut

YES, NO, UNCLEAR = "yes", "no", "unclear"
MARGIN = 0.05  # of stability: smaller differences count as none
ERRORS = 2.0  # standard errors that a difference must exceed to be more than chance
SAME = 0.99  # partitions that agree further than this (ARI) are the same

HELPS = "Fusing helps, as far as can be said without labels"
HELPS_NOT = "Fusing does not help, as far as can be said without labels"
NOT_KNOWN = "It is unclear whether fusing helps"

Vector = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Evidence:
    """The numbers that the verdict rests on.

    Attributes
    ----------
    fused, view : str
        The fusion that is judged, and the most stable view, which it is judged against.
    stability, null_stability : float
        Of the fusion.
    view_stability : float
        Of the view.
    gain, error : float
        How much more stable the fusion is, on average over the resamples, and the standard error of that.
    closest : str
        The view whose clusters are most like those of the fusion.
    sameness : float
        Their adjusted Rand index; NaN if no view has seen all samples.
    views_agree : bool or None
        Whether any two views agree about who is near whom, more than by chance; None if that is not known,
        for lack of common samples.
    reliability : ndarray of shape (v,)
        How far each view can be relied on, as in a fitted `DistanceGraphFusion`.
    held_out : HeldOut or None
        What views say that were held out; None if fewer than three are kept, or samples are missing.
    """

    fused: str
    view: str
    stability: float
    null_stability: float
    view_stability: float
    gain: float
    error: float
    closest: str
    sameness: float
    views_agree: bool | None
    reliability: Vector
    held_out: HeldOut | None


def gather(
    found: Sequence[Contender],
    resampled: Vector,
    null_stability: Vector,
    agreement: Vector,
    reliability: Vector,
    complete: NDArray[np.bool_],
    witnesses: HeldOut | None,
) -> Evidence:
    """Return the evidence on the last contender, a fusion, judged against the single views.

    `resampled` has shape (m, n_resamples): the stability of every contender in every resample. `complete`
    says which have a cluster for every sample: a view that has seen only some cannot replace a fusion.
    """
    alone = [i for i, one in enumerate(found) if one.kind == VIEW]
    means = resampled.mean(axis=1)
    best = max(alone, key=lambda i: means[i])
    closest = max(alone, key=lambda i: (complete[i], agreement[-1, i]))
    gains = resampled[-1] - resampled[best]  # in the same resamples
    known = reliability[~np.isnan(reliability)]
    return Evidence(
        fused=found[-1].name,
        view=found[best].name,
        stability=float(means[-1]),
        null_stability=float(null_stability[-1]),
        view_stability=float(means[best]),
        gain=float(gains.mean()),
        error=float(gains.std(ddof=1) / np.sqrt(len(gains))),
        closest=found[closest].name,
        sameness=float(agreement[-1, closest]) if complete[closest] else np.nan,
        views_agree=bool((known > 0).any()) if len(known) else None,
        reliability=reliability,
        held_out=witnesses,
    )


def judge(evidence: Evidence, *, margin: float = MARGIN) -> tuple[str, str]:
    """Return the verdict, and a sentence that gives the numbers for it.

    Differences of stability within the margin count as none.
    """
    e = evidence
    against = (
        f"{e.fused} has stability {e.stability:.2f}, against {e.view_stability:.2f} of {e.view!r}, the most "
        f"stable view (difference {e.gain:+.2f}, standard error {e.error:.2f})"
    )
    if e.sameness > SAME:
        return NO, f"{HELPS_NOT}: {e.closest!r} alone gives the clusters of {e.fused} (ARI {e.sameness:.3f})."
    if e.views_agree is False:
        at_odds = "no two views (copies apart) agree beyond chance about who is near whom"
        if e.gain > max(margin, ERRORS * e.error):
            return UNCLEAR, f"{NOT_KNOWN}: {at_odds}, and yet {against}."
        return NO, f"{HELPS_NOT}: {at_odds}, and {against}."
    if e.held_out is not None and e.held_out.gain > ERRORS * e.held_out.error:
        return YES, f"{HELPS}: {_witnessed(e)}."
    is_large, is_sure = e.gain < -margin, e.gain < -ERRORS * e.error
    if is_large and is_sure:
        return NO, f"{HELPS_NOT}: {against}."
    if is_large or is_sure:
        why = "which may be chance" if is_large else "which is little, but hardly chance"
        return UNCLEAR, f"{NOT_KNOWN}: {against}, {why}."
    if e.views_agree is None:
        unknown = "the views have too few samples in common to say whether they agree"
        return UNCLEAR, f"{NOT_KNOWN}: {unknown}; {against}."
    if e.stability <= e.null_stability + margin:
        chance = f"the stability of {e.fused}, {e.stability:.2f}, is no more than without structure"
        return UNCLEAR, f"{NOT_KNOWN}: {chance}, {e.null_stability:.2f}."
    return YES, f"{HELPS}: {_agreeing(e)}, and {against}; {e.null_stability:.2f} without structure."


def _agreeing(e: Evidence) -> str:
    agreeing = e.reliability[e.reliability > 0]
    v = len(e.reliability)
    all_of = "the views" if len(agreeing) == v else f"{len(agreeing)} of the {v} views"
    return (
        f"{all_of} agree beyond chance about who is near whom (reliability {agreeing.min():.2g} to "
        f"{agreeing.max():.2g})"
    )


def _witnessed(e: Evidence) -> str:
    assert e.held_out is not None
    return (
        f"{_agreeing(e)}, and clusters that {e.fused} finds without a view show better in that view than "
        f"those of {e.held_out.view!r}, by {e.held_out.gain:.3f} of the edge weight (standard error "
        f"{e.held_out.error:.3f}); {e.fused} has stability {e.stability:.2f}, {e.view!r} "
        f"{e.view_stability:.2f}, and {e.null_stability:.2f} would be without structure"
    )
