"""The verdict: whether fusing helps, from numbers that need no labels.

Fusing can help only if the views agree, beyond chance, about who is near whom: then they have something in
common to be found. It does if what is found in all of them together shows in them better than what any of
them finds alone (see `shown`). How strong the evidence is says the standard error of the difference.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .contenders import VIEW, Contender
from .resamples import SUBSET

YES, NO, UNCLEAR = "yes", "no", "unclear"
STRONG, WEAK = "strong", "weak"
ERRORS = 2.0  # standard errors that a difference must exceed to be more than chance
SAME = 0.99  # partitions that agree further than this (ARI) are the same

SAID = {
    (YES, STRONG): "Fusing helps, as far as can be said without labels",
    (YES, WEAK): "Fusing probably helps, but the evidence is thin",
    (NO, STRONG): "Fusing does not help, as far as can be said without labels",
    (NO, WEAK): "Fusing probably does not help, but the evidence is thin",
    (UNCLEAR, WEAK): "It is unclear whether fusing helps",
}

Vector = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Evidence:
    """The numbers that the verdict rests on.

    Attributes
    ----------
    fused, view : str
        The fusion that is judged, and the view whose clusters show best next to it.
    shown, view_shown : float
        How far the clusters of either show in the views, beyond chance; 1 is the most there can be.
    gain, error : float
        By how much the fusion shows better, on the samples that both have seen, and the standard error of
        that, from the resamples.
    closest : str
        The view whose clusters are most like those of the fusion.
    sameness : float
        Their adjusted Rand index; NaN if no view has seen all samples.
    views_agree : bool or None
        Whether any two views agree about who is near whom, more than by chance; None if that is not known,
        for lack of common samples.
    reliability : ndarray of shape (v,)
        How far each view can be relied on, as in a fitted `DistanceGraphFusion`; but views whose own
        structure is in doubt need no stronger evidence than others to agree.
    """

    fused: str
    view: str
    shown: float
    view_shown: float
    gain: float
    error: float
    closest: str
    sameness: float
    views_agree: bool | None
    reliability: Vector


@dataclass(frozen=True)
class Verdict:
    """The verdict, how strong the evidence for it is, and a sentence that gives the numbers."""

    word: str
    strength: str
    sentence: str


def gather(
    found: Sequence[Contender],
    shown: Vector,
    gains: Vector,
    resampled_gains: Vector,
    agreement: Vector,
    reliability: Vector,
    complete: NDArray[np.bool_],
) -> Evidence:
    """Return the evidence on the last contender, a fusion, judged against the single views.

    `gains` has shape (number of single views,): by how much the fusion shows better than each, and
    `resampled_gains` has one row of these for every resample. `complete` says which contenders have a cluster
    for every sample: a view that has seen only some cannot replace a fusion.
    """
    alone = [i for i, one in enumerate(found) if one.kind == VIEW]
    rival = int(np.argmin(np.where(np.isnan(gains), np.inf, gains)))
    best = alone[rival]
    closest = max(alone, key=lambda i: (complete[i], agreement[-1, i]))
    known = reliability[~np.isnan(reliability)]
    return Evidence(
        fused=found[-1].name,
        view=found[best].name,
        shown=float(shown[-1]),
        view_shown=float(shown[best]),
        gain=float(gains[rival]),
        error=_jackknife(resampled_gains[:, rival]),
        closest=found[closest].name,
        sameness=float(agreement[-1, closest]) if complete[closest] else np.nan,
        views_agree=bool((known > 0).any()) if len(known) else None,
        reliability=reliability,
    )


def _jackknife(values: Vector) -> float:
    """Return the standard error of a number from its values in subsets that leave some samples out.

    It is that of the delete-d jackknife: subsets have most samples in common, so that their values differ
    less than those of new samples would.
    """
    known = values[~np.isnan(values)]
    return float(np.sqrt(SUBSET / (1 - SUBSET)) * known.std(ddof=1)) if len(known) > 1 else np.nan


def judge(evidence: Evidence) -> Verdict:
    """Return the verdict, how strong the evidence is, and a sentence that gives the numbers for it."""
    e = evidence
    is_sure = abs(e.gain) > ERRORS * e.error
    how = "better" if e.gain > 0 else "no better"
    showing = (
        f"the clusters of {e.fused} show in the views {how} than those of {e.view!r}, the best view by that "
        f"(difference {e.gain:+.3f}, standard error {e.error:.3f}; {e.shown:.2f} for {e.fused}, where 0 is "
        "chance and 1 the most there can be)"
    )
    if e.sameness > SAME:
        return _verdict(
            NO, True, f"{e.closest!r} alone gives the clusters of {e.fused} (ARI {e.sameness:.3f})"
        )
    if e.views_agree is False:
        at_odds = "no two views (copies apart) agree beyond chance about who is near whom"
        joint = "though" if e.gain > 0 else "and"
        return _verdict(NO, is_sure and e.gain < 0, f"{at_odds}, {joint} {showing}")
    if e.views_agree is None or np.isnan(e.gain):
        unknown = "the views have too few samples in common to say whether they agree"
        return _verdict(UNCLEAR, False, f"{unknown}; {showing}")
    return _verdict(YES if e.gain > 0 else NO, is_sure, f"{_agreeing(e)}, and {showing}")


def _verdict(word: str, is_sure: bool, reason: str) -> Verdict:
    strength = STRONG if is_sure else WEAK
    return Verdict(word, strength, f"{SAID[word, strength]}: {reason}.")


def _agreeing(e: Evidence) -> str:
    agreeing = e.reliability[e.reliability > 0]
    v = len(e.reliability)
    all_of = "the views" if len(agreeing) == v else f"{len(agreeing)} of the {v} views"
    return (
        f"{all_of} agree beyond chance about who is near whom (reliability {agreeing.min():.2g} to "
        f"{agreeing.max():.2g})"
    )
