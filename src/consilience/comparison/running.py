"""Many systems on the same views: what each finds, how stable that is, and how well they agree.

A system that fails is a result like any other, and an interrupt keeps what is done.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from ..engines import get_engine
from ..inspection.fusion_help.agreement import pairwise_ari
from ..inspection.fusion_help.resamples import draw_subsets, subset_size
from ..metrics import ari, scores
from ..models.base import check_n_samples
from ..run.messages import check_count, collected_warnings
from ..spaces import is_precomputed
from ..stages.prepare import metrics_of_views, prepare
from ..stages.search import resolve_n_neighbors
from ..views import Views
from .outcome import FAILED, INTERRUPTED, NOT_RUN, OK, Outcome, describe

WARM_UP = 50  # samples in a fit that is not timed


@dataclass(frozen=True)
class Step:
    """What is going on: the system at work (from 1), the share of the fits behind, and whether it ended."""

    number: int
    n_systems: int
    name: str
    doing: str
    share: float
    ended: bool = False


@dataclass(frozen=True, eq=False)
class Comparison:
    """The results of all systems.

    Attributes
    ----------
    outcomes : tuple of Outcome
        One for each system, in the order given.
    seeds : tuple of int
        The seeds that each system was fitted with on all samples.
    n_resamples, subset_size : int
        How many random subsets of how many samples it was fitted on again.
    agreement : ndarray
        Adjusted Rand index of the labels of the systems in `compared`, each with each.
    """

    outcomes: tuple[Outcome, ...]
    seeds: tuple[int, ...]
    n_resamples: int
    subset_size: int
    agreement: NDArray[np.float64]

    @property
    def compared(self) -> list[str]:
        """Names of the systems that gave labels."""
        return [outcome.name for outcome in self.outcomes if outcome.labels is not None]

    def having(self, status: str) -> list[str]:
        """Names of the systems with a status."""
        return [outcome.name for outcome in self.outcomes if outcome.status == status]

    @property
    def interrupted(self) -> bool:
        """Whether it was stopped before its end."""
        return bool(self.having(INTERRUPTED) or self.having(NOT_RUN))

    def mean_agreement(self, name: str) -> float | None:
        """Mean agreement of a system with the others, or None if there is nothing to compare."""
        if name not in self.compared or len(self.compared) < 2:
            return None
        i = self.compared.index(name)
        return float(np.delete(self.agreement[i], i).mean())


def checked_views(views: Views, parameters: Mapping[str, Any], seeds: Sequence[int]) -> Views:
    """Raise a ValueError for what no system could work with; return the views, ready to take samples from.

    Matrices between samples (metric "precomputed_...") are marked as such.
    """
    for seed in seeds:
        check_random_state(seed)
    c, engine = parameters["n_clusters"], get_engine(parameters.get("engine", "numba"))
    check_count("n_clusters", c)
    check_n_samples(views.n_samples, c)
    resolve_n_neighbors(parameters.get("n_neighbors", "auto"), views.n_samples, c)
    with collected_warnings(), engine.limit(parameters.get("n_jobs")):  # the systems will say it again
        metrics = metrics_of_views(parameters.get("metric", "auto"), views, "none", engine)
        prepare(views, metrics, "none", engine=engine)
    square = [name for name, metric in zip(views.names, metrics, strict=True) if is_precomputed(metric)]
    return Views(views, pairwise=square) if square else views


def compare_systems(
    views: Views,
    systems: Mapping[str, type[Any]],
    parameters: Mapping[str, Any],
    *,
    truth: NDArray[Any] | None = None,
    seeds: Sequence[int] = (0,),
    n_resamples: int = 0,
    watch: Callable[[Step], None] = lambda step: None,
    strict: bool = False,
) -> Comparison:
    """Fit every system to the views, with every seed, and again on random subsets of the samples.

    Parameters
    ----------
    views : Views
        The data.
    systems : mapping of str to class
        Short name -> estimator.
    parameters : mapping
        What every system is given, except `random_state`.
    truth : ndarray of shape (n_samples,), optional
        Known classes, to score against.
    seeds : sequence of int, default=(0,)
        Values of `random_state`. The first is that of the labels kept and of the resamples.
    n_resamples : int, default=0
        Number of random subsets of four fifths of the samples, the same ones for all systems. How well the
        labels found there agree with those found on all samples shows how stable a system is.
    watch : callable, optional
        Is called with every step.
    strict : bool, default=False
        Whether to let the exception of a system through.

    Returns
    -------
    Comparison
        Also after a KeyboardInterrupt; the system at work is then "interrupted", the rest is "not run".

    Raises
    ------
    ValueError
        If data, classes or parameters are such that no system could work with them.

    Examples
    --------
    >>> from consilience import Views, make_multiview
    >>> from consilience.models import systems
    >>> made = make_multiview(60, n_views=2, n_clusters=3, separation=3.0, random_state=0)
    >>> chosen = {name: systems()[name] for name in ("SGF", "DGF")}
    >>> found = compare_systems(Views(made.views), chosen, {"n_clusters": 3}, truth=made.y, n_resamples=2)
    >>> found.having("ok"), found.agreement.shape, len(found.outcomes[0].stability)
    (['SGF', 'DGF'], (2, 2), 2)
    """
    views = checked_views(views, parameters, seeds)
    if truth is not None:
        scores(truth, np.zeros(views.n_samples, dtype=np.intp))  # raises if they are no such classes
    subsets = draw_subsets(views.n_samples, n_resamples, seeds[0])
    plan = _Plan(views, parameters, truth, tuple(seeds), subsets, len(systems), watch, strict)
    outcomes = tuple(Outcome(name, system) for name, system in systems.items())
    try:
        for number, outcome in enumerate(outcomes):
            plan.run(outcome, number)
    except KeyboardInterrupt:
        pass  # the statuses say so
    labels = [outcome.labels for outcome in outcomes if outcome.labels is not None]
    return Comparison(outcomes, tuple(seeds), n_resamples, subset_size(views.n_samples), pairwise_ari(labels))


@dataclass(frozen=True, eq=False)
class _Plan:
    """What is done with every system; see `compare_systems`."""

    views: Views
    parameters: Mapping[str, Any]
    truth: NDArray[Any] | None
    seeds: tuple[int, ...]
    subsets: Sequence[NDArray[np.intp]]
    n_systems: int
    watch: Callable[[Step], None]
    strict: bool

    def run(self, outcome: Outcome, number: int) -> None:
        """Fit one system as often as planned; `number` counts them from 0."""

        def report(doing: str, n_done: int) -> None:
            n_fits = len(self.seeds) + len(self.subsets)
            share = (number + n_done / n_fits) / self.n_systems
            self.watch(Step(number + 1, self.n_systems, outcome.name, doing, share, n_done == n_fits))

        outcome.status = INTERRUPTED  # unless it ends otherwise
        self._fit_seeds(outcome, report)
        if outcome.status != FAILED:
            self._fit_subsets(outcome, report)
            outcome.status = OK
        ending = f"{outcome.status}: {outcome.reason}" if outcome.reason else outcome.status
        report(ending, len(self.seeds) + len(self.subsets))

    def _fit_seeds(self, outcome: Outcome, report: Callable[[str, int], None]) -> None:
        for i, seed in enumerate(self.seeds):
            report(f"seed {i + 1} of {len(self.seeds)}" if len(self.seeds) > 1 else "all samples", i)
            if i == 0:
                self._warm_up(outcome.system)
            try:
                labels, seconds = outcome.fit(self.views, {**self.parameters, "random_state": seed})
            except Exception as error:
                if self.strict:
                    raise
                outcome.fail(("" if i == 0 else f"With seed {seed}: ") + describe(error))
                return
            if self.truth is not None:
                outcome.scores.append(scores(self.truth, labels))
            outcome.seconds.append(seconds)
            outcome.labels = labels if outcome.labels is None else outcome.labels

    def _warm_up(self, system: type[Any]) -> None:
        """Fit a system to a few samples: loading and compiling code is no part of the time of a fit."""
        n = self.views.n_samples
        neighbors = self.parameters.get("n_neighbors", "auto")
        least = 0 if isinstance(neighbors, str) else int(neighbors) + 1
        size = min(n, max(WARM_UP, 2 * int(self.parameters["n_clusters"]), least))
        rows = np.linspace(0, n - 1, size).astype(np.intp)
        with suppress(Exception), collected_warnings():  # the fit that counts will say what is wrong
            system(**self.parameters, random_state=self.seeds[0]).fit(self.views[rows])

    def _fit_subsets(self, outcome: Outcome, report: Callable[[str, int], None]) -> None:
        found = outcome.labels
        assert found is not None
        for i, rows in enumerate(self.subsets):
            report(f"resample {i + 1} of {len(self.subsets)}", len(self.seeds) + i)
            try:
                labels, _ = outcome.fit(self.views[rows], {**self.parameters, "random_state": self.seeds[0]})
            except Exception as error:
                if self.strict:
                    raise
                outcome.stability_reasons.append(describe(error))
            else:
                outcome.stability.append(ari(found[rows], labels))
                if self.truth is not None:
                    outcome.resample_scores.append(scores(self.truth[rows], labels))
