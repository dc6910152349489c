r"""Sample by sample: which rows of which view contradict the other views.

A row of a view is called *misplaced* if it says no more about its sample than the row of a sample drawn at
random would: rows in the wrong order, a mixed-up specimen, a failed measurement. `evidence` says what is
measured of a row, `mixture` how the two kinds are separated.

The likelihood ratios of the evidence are estimates in the presence of misplaced rows, which keep them from
falling below the share :math:`\pi` of these; so :math:`(L - \pi) / (1 - \pi)` takes their place.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .evidence import Evidence, gather_evidence
from .mixture import Slopes, separate
from .subject import Bools, Floats, Subject, as_subject

_FEWEST_PLACED = 2000  # rows put at random places, at least, in each view
_MOST_FITTED = 20_000  # rows that the mixture is fitted to; more would add nothing but time
_TAILS = (0.5, 0.4, 0.3)  # of the rows at random places, to guess the share of misplaced ones from
_LEAST_RATIO = 0.01  # of likelihoods, once the share of misplaced rows is taken off
_PART_OF_ERROR = 0.25
_PASSES = 2
_WHOLE = 0.5  # share of misplaced rows from which a view that was left out is wrong as a whole
# Of what `_measured` returns. Chosen on planted data, so that as many flags are false as is stated.
_PRIOR = Slopes(expected=np.array([0.0, -3.0, 0.0]), most=np.array([np.inf, -1.0, np.inf]))


@dataclass(frozen=True, eq=False)
class SampleConflicts:
    """Which rows of which view contradict the others.

    Attributes
    ----------
    names : tuple of str
        The views.
    sample_names : ndarray of shape (n,)
        Ids of the samples, or their numbers.
    scores : ndarray of shape (n, v)
        Probability that a view's row is misplaced: that it says no more of its sample than the row of
        another one would. NaN where the view has not seen the sample, or no other view has.
    flagged : ndarray of bool of shape (n, v)
        The rows with the largest scores: as many in each view as keep the share of false flags among
        them, as expected from the scores, at `fdr`. None in a view that was left out because it agrees
        with no other: it is wrong as a whole, and to name rows would say nothing.
    fdr : float
        The false discovery rate asked for.
    misplaced_shares : ndarray of shape (v,)
        Estimated share of misplaced rows in each view; not all of them can be named.
    """

    names: tuple[str, ...]
    sample_names: NDArray[Any]
    scores: Floats
    flagged: Bools
    fdr: float
    misplaced_shares: Floats

    @property
    def n_flagged(self) -> NDArray[np.intp]:
        """How many rows of each view are flagged."""
        return np.asarray(self.flagged.sum(axis=0))

    def worst(self, view: int | str, n: int = 10) -> NDArray[np.intp]:
        """Return the samples with the largest scores in a view, the largest first."""
        if isinstance(view, str) and view not in self.names:
            raise KeyError(f"no view {view!r}: the views are {', '.join(map(repr, self.names))}")
        i = self.names.index(view) if isinstance(view, str) else view
        order = np.argsort(-np.nan_to_num(self.scores[:, i], nan=-1.0), kind="stable")
        return np.asarray(order[: max(min(n, int(np.isfinite(self.scores[:, i]).sum())), 0)])


def sample_conflicts(
    fitted: Any, *, fdr: float = 0.05, labels: ArrayLike | None = None, random_state: int = 0
) -> SampleConflicts:
    """Find the rows of each view that contradict the other views.

    Parameters
    ----------
    fitted : SimilarityGraphFusion, DistanceGraphFusion or FusionResult
        A fitted model, or what `fuse_graphs` returned.
    fdr : float, default=0.05
        Share of false flags to allow among the flagged rows of each view, between 0 and 1.
    labels : array-like of shape (n,), default=None
        Clusters, for a `FusionResult`. Without any, only neighbours in common are counted.
    random_state : int, default=0
        Draws the random places that rows are put at, to see how misplaced rows look.

    Returns
    -------
    SampleConflicts

    Notes
    -----
    Of two views that contradict each other nobody can say which is at fault: both rows are blamed. With
    three views or more the odd one out is. Rows that are misplaced within their own cluster are found only
    if the views share more than the clusters.

    Examples
    --------
    >>> from consilience import DistanceGraphFusion, make_multiview
    >>> from consilience.inspection import sample_conflicts
    >>> data = make_multiview(1000, n_clusters=5, separation=5.0, scrambled=[0.1, 0, 0, 0], random_state=0)
    >>> model = DistanceGraphFusion(n_clusters=5, random_state=0).fit(data.views)
    >>> conflicts = sample_conflicts(model)
    >>> conflicts.n_flagged
    array([106,   0,   0,   0])
    >>> f"{data.scrambled[conflicts.flagged].mean():.2f}"  # how many of the flags are right
    '0.91'
    """
    subject = as_subject(fitted, labels)
    check_rate(fdr)
    return find_conflicts(subject, gather_evidence(subject), fdr, random_state)


def check_rate(fdr: Any) -> None:
    """Raise a ValueError if this is no false discovery rate."""
    if not isinstance(fdr, Real) or isinstance(fdr, bool) or not 0 < float(fdr) < 1:
        raise ValueError(f"fdr must be a number between 0 and 1, got {fdr!r}.")


def find_conflicts(subject: Subject, evidence: Evidence, fdr: float, random_state: int) -> SampleConflicts:
    """Find misplaced rows in evidence that is gathered already."""
    n, v = subject.seen.shape
    scores, shares = np.full((n, v), np.nan), np.full(v, np.nan)
    flagged = np.zeros((n, v), dtype=bool)
    for i in range(v):
        judged = np.flatnonzero(subject.seen[:, i] & (evidence.n_others(i) > 0))
        if subject.lists[i] is None or len(judged) < 2:
            continue
        sound, shares[i] = _sound_rows(evidence, i, judged, np.random.default_rng([random_state, i]))
        scores[judged, i] = 1 - sound
        if subject.kept[i] or shares[i] <= _WHOLE:
            flagged[judged, i] = _flag(sound, fdr)
    return SampleConflicts(subject.names, subject.sample_names, scores, flagged, fdr, shares)


def _sound_rows(
    evidence: Evidence, i: int, judged: NDArray[np.intp], rng: np.random.Generator
) -> tuple[Floats, float]:
    """Return the probability that each of these rows of a view is at its place, and the share misplaced."""
    rows = judged if len(judged) <= _MOST_FITTED else np.sort(rng.choice(judged, _MOST_FITTED, replace=False))
    times = -(-_FEWEST_PLACED // len(rows))
    drawn = np.concatenate([rng.permutation(rows) for _ in range(times)])
    places = np.tile(rows, times)
    likelihoods, consensus = evidence.likelihoods[i], evidence.by_others(i)
    trusted = consensus.max(axis=1)
    mistaken = consensus.copy()
    np.put_along_axis(mistaken, consensus.argmax(axis=1)[:, None], 0.0, axis=1)
    confirmed, confirmed_placed = (
        np.log((evidence.n_confirmed(i, a, b) + 0.5) / evidence.n_others(i)[b])
        for a, b in ((judged, judged), (drawn, places))
    )
    share, most = _guess_share(
        _surprise(likelihoods, consensus, rows, rows), _surprise(likelihoods, consensus, drawn, places)
    )
    at, least = np.searchsorted(judged, rows), _least_ratios(likelihoods, evidence)
    for _ in range(_PASSES):
        ratios = _without(likelihoods, share, least)
        measured = _measured(_surprise(ratios, consensus, judged, judged), confirmed)
        placed = _measured(_surprise(ratios, consensus, drawn, places), confirmed_placed)
        otherwise = np.einsum("nc,nc->n", mistaken, ratios)
        found = separate(measured[at], placed, trusted[rows], otherwise[rows], share, most, _PRIOR)
        share = found.share
    return found.sound(measured, trusted[judged], otherwise[judged]), share


def _without(likelihoods: Floats, share: float, least: Floats) -> Floats:
    """Return likelihood ratios as they were without this share of misplaced rows."""
    share = min(share, 0.9)
    return np.maximum(likelihoods - share, least) / (1 - share)


def _least_ratios(likelihoods: Floats, evidence: Evidence) -> Floats:
    """Return the smallest such ratio that still means something: a part of the error of the estimates."""
    error = np.sqrt(likelihoods / (evidence.shares * 2 * evidence.width))
    return np.maximum(_PART_OF_ERROR * error, _LEAST_RATIO)


def _surprise(ratios: Floats, consensus: Floats, rows: NDArray[Any], places: NDArray[Any]) -> Floats:
    """Return how surprising rows of a view are at places, by what the others say of these."""
    return np.asarray(-np.log(np.einsum("nc,nc->n", consensus[places], ratios[rows])))


def _measured(surprise: Floats, confirmed: Floats) -> Floats:
    """Return what the mixture looks at: evidence for and against the place apart, and confirmed neighbours.

    Apart, because what speaks for a place has a bound, the number of clusters; what speaks against has none.
    """
    return np.column_stack([np.minimum(surprise, 0.0), np.maximum(surprise, 0.0), confirmed])


def _guess_share(surprise: Floats, placed: Floats) -> tuple[float, float]:
    """Return the share of misplaced rows as it shows among the most surprising ones, and the most it can be.

    There are few other rows among those; so the share is hardly larger, except by chance. Without clusters
    nothing is surprising, and there is no bound.
    """
    if np.ptp(placed) < 1e-9:
        return 0.1, 1.0
    bounds = np.quantile(placed, [1 - tail for tail in _TAILS])
    guess = float(
        min(np.mean(surprise > bound) / max(np.mean(placed > bound), 1 / len(placed)) for bound in bounds)
    )
    by_chance = np.sqrt(max(guess, 1 / len(surprise)) / (min(_TAILS) * len(surprise)))
    return guess, guess + 2 * by_chance


def _flag(sound: Floats, fdr: float) -> Bools:
    """Flag the least sound rows, as many as keep the mean of `sound` among them at `fdr`."""
    order = np.argsort(sound, kind="stable")
    allowed = np.cumsum(sound[order]) <= fdr * np.arange(1, len(sound) + 1)
    flagged = np.zeros(len(sound), dtype=bool)
    if allowed.any():
        flagged[order[: np.flatnonzero(allowed)[-1] + 1]] = True
    return flagged
