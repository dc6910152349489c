"""What the figures of a comparison on one data set show, in words; nothing that they do not."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

import numpy as np

from ..words import conjugated, listed
from .agreement import pairs_by_agreement
from .data_sets import SetFacts
from .outcome import OK, Outcome
from .result import Comparison

ONE_VIEW = "SC"  # the system that clusters one of the views alone
NEARLY_ALL = 0.9  # a cluster with this share of the samples makes stability and agreement say little


def sentences(comparison: Comparison, facts: SetFacts) -> list[str]:
    """Return one or a few sentences for each question that the figures on a data set answer."""
    outcomes = comparison.on(facts.name)
    scored = [outcome for outcome in outcomes if outcome.status == OK and outcome.scores]
    margin = _margin(scored)
    answers = [
        _best(scored, margin),
        _against_one_view(scored, margin, facts.n_views),
        _agreement(comparison, facts.name),
        _nearly_one_cluster(outcomes),
    ]
    return [sentence for sentence in answers if sentence]


def mean_and_std(values: list[float]) -> tuple[float | None, float | None]:
    """Return mean and sample standard deviation; None where there are too few values.

    Examples
    --------
    >>> mean_and_std([1.0, 3.0]), mean_and_std([1.0]), mean_and_std([])
    ((2.0, 1.414...), (1.0, None), (None, None))
    """
    mean = float(np.mean(values)) if values else None
    return mean, float(np.std(values, ddof=1)) if len(values) > 1 else None


def _nmi(outcome: Outcome) -> float:
    return mean_and_std([score["NMI"] for score in outcome.scores])[0] or 0.0


def _seed_spread(outcome: Outcome) -> float:
    return mean_and_std([score["NMI"] for score in outcome.scores])[1] or 0.0


def _margin(scored: Sequence[Outcome]) -> float | None:
    """Return how much the NMI of a system varies with the samples; None if there are too few resamples.

    The median over the systems: from a handful of resamples, the spread of a single one is too uncertain.
    """
    spreads = [mean_and_std([score["NMI"] for score in outcome.resample_scores])[1] for outcome in scored]
    known = [spread for spread in spreads if spread is not None]
    return median(known) if known else None


def _rank(outcome: Outcome, other: Outcome, margin: float | None) -> int:
    """Say whether a system's NMI is above (1) or below (-1) another's; 0 if that may be chance."""
    difference = _nmi(outcome) - _nmi(other)
    as_printed = 0.0005
    if abs(difference) <= max(_seed_spread(outcome), _seed_spread(other), margin or 0.0, as_printed):
        return 0
    return 1 if difference > 0 else -1


def _best(scored: Sequence[Outcome], margin: float | None) -> str:
    if len(scored) < 2:
        return ""
    best, *others = sorted(scored, key=lambda outcome: -_nmi(outcome))
    ties = [other for other in others if _rank(best, other, margin) == 0]
    highest = f"{best.name} has the highest NMI, {_nmi(best):.3f}"
    if len(ties) == len(others):
        first = f"All systems tie in NMI, {_nmi(others[-1]):.3f} to {_nmi(best):.3f}"
    elif len(ties) > 3:
        lowest = min(map(_nmi, ties))
        first = f"{highest}; {len(ties)} others, down to {lowest:.3f}, tie with it"
    elif ties:
        named = listed([f"{other.name} ({_nmi(other):.3f})" for other in ties])
        first = f"{highest}; {named} {conjugated('tie', len(ties))} with it"
    else:
        first = f"{highest}; next is {others[0].name}, {_nmi(others[0]):.3f}"
    yardsticks = ["the spread over the seeds of either"] if len(best.scores) > 1 else []
    if margin is not None:
        yardsticks.append(f"{margin:.3f}, the median spread over the resamples")
    if not yardsticks:
        return f"{first}. One fit each does not show whether differences are more than chance."
    return f"{first}. Ties are differences within {' or '.join(yardsticks)}."


def _against_one_view(scored: Sequence[Outcome], margin: float | None, n_views: int) -> str:
    single = next((outcome for outcome in scored if outcome.name == ONE_VIEW), None)
    if single is None or len(scored) < 2 or n_views < 2:
        return ""
    ranks = [_rank(other, single, margin) for other in scored if other is not single]
    above, ties, below = (ranks.count(rank) for rank in (1, 0, -1))
    return (
        f"Of {len(ranks)} that {conjugated('combine', len(ranks))} the views, {above} "
        f"{conjugated('come', above)} out above {single.name}, which takes one alone "
        f"(NMI {_nmi(single):.3f}), {ties} {conjugated('tie', ties)} with it, {below} "
        f"{conjugated('come', below)} out below."
    )


def _agreement(comparison: Comparison, data: str) -> str:
    names, matrix = comparison.agreements[data]
    if len(names) < 2:
        return ""
    pairs = pairs_by_agreement(names, matrix)
    best = f"{pairs[0][0]:.3f}"
    closest = [pair for value, pair in pairs if f"{value:.3f}" == best]
    if len(names) == 2:
        return f"{names[0]} and {names[1]} agree with ARI {best}."
    if len(closest) == len(pairs):
        return f"All pairs of systems agree equally: ARI {best}."
    if len(closest) == 1:
        first = f"{closest[0][0]} and {closest[0][1]} agree most: ARI {best}"
    else:
        first = f"{len(closest)} pairs of systems agree most: ARI {best}"
    means = sorted((comparison.mean_agreement(name, data) or 0.0, name) for name in names)
    (least, odd), (second, after) = means[0], means[1]
    if f"{least:.3f}" == f"{second:.3f}":
        return f"{first}."
    return (
        f"{first}. {odd} agrees least with the others, {least:.3f} on average; the next is {after} with "
        f"{second:.3f}."
    )


def _nearly_one_cluster(outcomes: Sequence[Outcome]) -> str:
    shares = {outcome.name: outcome.largest_share for outcome in outcomes}
    names = [f"{name} ({share:.0%})" for name, share in shares.items() if share and share >= NEARLY_ALL]
    if not names:
        return ""
    return (
        f"Nearly all samples are in one cluster of {listed(names)}: the stability of that, and agreement "
        "with it, say little."
    )
