"""Fitting systems to data sets: one piece of work is one system on one set in one condition.

This runs in the processes that do the work, or in the calling one. It sends an event when a fit begins and
when it has ended, so that whoever waits can stop what takes too long, and keep each result at once.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..datasets import corrupt
from ..engines import threads
from ..inspection.fusion_help.resamples import draw_subsets
from ..metrics import ari, scores
from ..models import MCGC, MVGL, RMSC, SharedViews
from ..models.given import views_for
from ..models.preparation import prepare_views
from ..models.systems.labelling import relabel
from ..run.config import config_context
from ..run.messages import collected_warnings
from ..views import Views
from .contenders import Contender, describe
from .data_sets import Source
from .exchange import labels_of

PREPARATIONS = ("equal", "own", "none")
CLEAN = "clean"
WARM_UP = 50  # samples in a fit that is not timed
LEARN_ONCE = (MCGC, MVGL, RMSC)  # what they learn does not depend on the seed, and takes long

Labels = NDArray[np.intp]


@dataclass(frozen=True)
class Rules:
    """What is the same for all fits of a comparison.

    Attributes
    ----------
    preparation : {"equal", "own", "none"}
        "equal": metric, scaling and the views left out by one rule for all systems; "own": as each system
        does by default; "none": features as they are, all views.
    metric, n_neighbors
        As in `DistanceGraphFusion`.
    shuffle : bool
        Whether rows are brought into a random order first.
    first_seed : int
        Of the labels that are kept, and of the resamples.
    n_resamples : int
        How many random subsets of the samples there are.
    n_threads : int or None
        Threads of a fit; None: all.
    memory_limit : int or None
        Bytes that a fit may take.
    strict : bool
        Whether the exception of a system is let through.
    """

    preparation: str = "equal"
    metric: Any = "auto"
    n_neighbors: Any = "auto"
    shuffle: bool = True
    first_seed: int = 0
    n_resamples: int = 0
    n_threads: int | None = None
    memory_limit: int | None = None
    strict: bool = False

    def parameters_of(self, contender: Contender, n_clusters: int, seed: int) -> dict[str, Any]:
        """Return what a system is made with, as far as it takes it."""
        given: dict[str, Any] = {"n_clusters": n_clusters, "random_state": seed}
        if contender.takes != "ours":
            return {**given, "seed": seed, "n_jobs": self.n_threads}
        given["n_jobs"] = self.n_threads
        if self.preparation == "equal":
            # A system that is told which view to take has none to leave out.
            chosen = getattr(contender.system, "view", "best") != "best"
            selection = "all" if chosen else "agreement"
            given.update(scale="auto", view_selection=selection, metric=self.metric)
        elif self.preparation == "none":
            given.update(scale="none", view_selection="all", metric=self.metric)
            weights = getattr(contender.system, "view_weights", None)
            if isinstance(weights, str) and weights == "agreement":  # it would leave views out
                given["view_weights"] = "uniform"
        elif not _is_auto(self.metric):
            given["metric"] = self.metric
        if not _is_auto(self.n_neighbors):
            given["n_neighbors"] = self.n_neighbors
        return given


def _is_auto(value: Any) -> bool:
    return isinstance(value, str) and value == "auto"


@dataclass(frozen=True)
class Task:
    """One fit: on all samples with a seed, or on a resample, with its number."""

    kind: str  # "seed" or "resample"
    number: int


@dataclass(frozen=True)
class Piece:
    """Fits of one system to one data set in one condition.

    Attributes
    ----------
    data, contender : int
        Their places.
    condition : str
        A corruption, or "clean".
    oracle : bool
        Whether what was spoiled is known, and left out.
    tasks : tuple of Task
        The fits.
    found : ndarray or None
        Labels of the first seed, in the order of the file, if that fit was made before.
    """

    data: int
    contender: int
    condition: str = CLEAN
    oracle: bool = False
    tasks: tuple[Task, ...] = ()
    found: Labels | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True)
class Event:
    """Something that happened to a fit: it begins (no record), or it has ended.

    Attributes
    ----------
    task : Task
        Which fit.
    record : dict or None
        What came of it, ready for JSON but for `labels`.
    """

    task: Task
    record: dict[str, Any] | None = None


@dataclass(frozen=True, eq=False)
class _Given:
    """What systems are given: views in the order of the fit, the classes, and who is scored."""

    views: Views
    truth: NDArray[Any] | None
    places: NDArray[np.intp]  # of the samples, in the order of the file
    scored: NDArray[np.bool_]
    n_clusters: int

    def score(self, labels: Labels, rows: NDArray[np.intp] | None = None) -> dict[str, float] | None:
        if self.truth is None:
            return None
        chosen = np.arange(len(self.truth)) if rows is None else rows
        kept = self.scored[chosen]
        return scores(self.truth[chosen][kept], labels[kept])


class Fitter:
    """Does pieces of work; keeps the last data set and what was prepared of it.

    Parameters
    ----------
    sets : sequence of DataSet or SetFile
        The data sets.
    contenders : sequence of Contender
        The systems.
    rules : Rules
        What is the same for all.
    fingerprints : sequence of str, default=()
        What the data sets are known by: a file that has changed since is refused.
    """

    def __init__(
        self,
        sets: Sequence[Source],
        contenders: Sequence[Contender],
        rules: Rules,
        fingerprints: Sequence[str] = (),
    ) -> None:
        self.sets, self.contenders, self.rules = sets, contenders, rules
        self.fingerprints = fingerprints
        self._loaded: tuple[int, Any] | None = None
        self._given: tuple[Any, _Given] | None = None
        self._shared: dict[str, Any] = {}

    def do(self, piece: Piece) -> Iterator[Event]:
        """Make the fits of a piece, one after the other."""
        contender, state = self.contenders[piece.contender], _State(piece.found)
        limit = self.rules.memory_limit
        with (
            threads.limit(self.rules.n_threads),
            config_context(memory_limit=... if limit is None else limit),
        ):
            for i, task in enumerate(piece.tasks):
                yield Event(task)
                try:
                    ready = self._prepare(piece, contender, task, state)
                    yield Event(task)  # the clock of the fit begins here: what came before is not its own
                    with _own_random_state(self._seed(task)):
                        record = self._fit(piece, contender, task, state, *ready)
                except (Exception, SystemExit) as error:
                    if self.rules.strict:
                        raise
                    reason = describe(error)
                    again = isinstance(error, MemoryError | ImportError | OSError)
                    if task.kind == "resample":
                        yield Event(task, failure(reason, again=again))
                        continue
                    # The other seeds would fail as well, or could not be compared with anybody's.
                    told = f"With seed {task.number}: {reason}" if i else reason
                    for each in piece.tasks[i:]:
                        yield Event(each, failure(told, again=again))
                    return
                else:
                    yield Event(task, record)

    def _seed(self, task: Task) -> int:
        return task.number if task.kind == "seed" else self.rules.first_seed

    def _prepare(self, piece: Piece, contender: Contender, task: Task, state: _State) -> tuple[_Given, Any]:
        """Return the data of a fit, and the views as the system takes them; compile what it will run."""
        given, rules = self._data(piece, task), self.rules
        if task.kind == "resample":
            rows = draw_subsets(given.views.n_samples, rules.n_resamples, rules.first_seed)[task.number]
            part = given.views[rows]
            ours = contender.takes == "ours"
            return given, part if ours else self._prepared(part, given.n_clusters)
        timed = self._is_timed(task, state)
        views = self._views_for(contender, given, timed)
        if timed:
            self._warm_up(contender, given, rules.parameters_of(contender, given.n_clusters, task.number))
        return given, views

    def _is_timed(self, task: Task, state: _State) -> bool:
        return not state.n_fits and task.number == self.rules.first_seed

    def _fit(
        self, piece: Piece, contender: Contender, task: Task, state: _State, given: _Given, views: Any
    ) -> dict[str, Any]:
        parameters = self.rules.parameters_of(contender, given.n_clusters, self._seed(task))
        if task.kind == "resample":
            return self._fit_resample(given, contender, task, state, views, parameters)
        timed, before = self._is_timed(task, state), _reset_peak()
        began = time.perf_counter()
        with collected_warnings() as texts:
            labels = state.labels_with(contender, task.number, views, parameters, piece.condition)
        seconds = time.perf_counter() - began
        record: dict[str, Any] = {
            "status": "ok",
            "scores": given.score(labels),
            "clusters_found": int(labels.max()) + 1,
            "largest_share": float(np.bincount(labels).max() / len(labels)),
            "warnings": texts,
        }
        if timed:
            record |= {"seconds": seconds, "megabytes": _peak_since(before)}
        if piece.condition == CLEAN:
            kept = np.full(len(given.places), -1, dtype=np.intp)
            kept[given.places] = labels
            record |= {"labels": kept, "parameters": state.parameters}
            if task.number == self.rules.first_seed:
                state.found = kept
        return record

    def _fit_resample(
        self,
        given: _Given,
        contender: Contender,
        task: Task,
        state: _State,
        views: Any,
        parameters: Mapping[str, Any],
    ) -> dict[str, Any]:
        if state.found is None:
            raise ValueError("There are no labels of all samples to compare with.")
        rules, n = self.rules, given.views.n_samples
        rows = draw_subsets(n, rules.n_resamples, rules.first_seed)[task.number]
        with collected_warnings() as texts:
            labels = labels_of(contender, contender.make(parameters), views, parameters)
        return {
            "status": "ok",
            "scores": given.score(labels, rows),
            "stability": ari(state.found[given.places][rows], labels),
            "warnings": texts,
        }

    def _data(self, piece: Piece, task: Task) -> _Given:
        """Return the data of a fit: each seed draws a corruption of its own."""
        draw = 0 if piece.condition == CLEAN else task.number
        key = piece.data, piece.condition, piece.oracle, draw
        if self._given is None or self._given[0] != key:
            self._given, self._shared = (key, self._make_data(piece, draw)), {}
        return self._given[1]

    def _make_data(self, piece: Piece, draw: int) -> _Given:
        if self._loaded is None or self._loaded[0] != piece.data:
            data: Any = self.sets[piece.data].load()
            if self.fingerprints and data.fingerprint() != self.fingerprints[piece.data]:
                raise OSError(f"Data set {data.name!r} has changed since the comparison began.")
            # Of matrices between samples, rows and columns are taken together.
            data = replace(data, views=views_for(self.rules.metric, data.views))
            order = np.arange(data.views.n_samples)
            if self.rules.shuffle:
                data, order = data.shuffled()
            self._loaded = piece.data, (data, order)
        data, order = self._loaded[1]
        c = int(data.n_clusters)
        truth = None if data.labels is None else np.asarray(data.labels)
        everybody = np.ones(len(order), dtype=bool)
        if piece.condition == CLEAN:
            return _Given(data.views, truth, order, everybody, c)
        spoiled = corrupt(data.views, piece.condition, random_state=draw)
        if not piece.oracle:
            return _Given(spoiled.views, truth, order, spoiled.scored, c)
        samples = spoiled.oracle_samples
        truth = None if truth is None else truth[samples]
        return _Given(spoiled.oracle, truth, order[samples], spoiled.scored[samples], c)

    def _views_for(self, contender: Contender, given: _Given, timed: bool) -> Any:
        """Return the views as a system takes them; on the clock, nothing is known of them before."""
        if contender.takes == "ours":
            return given.views if timed else self._keep("shared", lambda: SharedViews(given.views))
        return self._keep("prepared", lambda: self._prepared(given.views, given.n_clusters))

    def _keep(self, name: str, make: Any) -> Any:
        if name not in self._shared:
            self._shared[name] = make()
        return self._shared[name]

    def _prepared(self, views: Views, n_clusters: int) -> Views:
        """Return views for systems of others, prepared as ours prepare them."""
        if self.rules.preparation != "equal":
            return views
        with collected_warnings():
            return prepare_views(
                views, n_clusters, metric=self.rules.metric, n_neighbors=self.rules.n_neighbors
            )

    def _warm_up(self, contender: Contender, given: _Given, parameters: Mapping[str, Any]) -> None:
        """Fit a system to a few samples: loading and compiling code is no part of the time of a fit."""
        n, neighbors = given.views.n_samples, self.rules.n_neighbors
        least = 0 if isinstance(neighbors, str) else int(neighbors) + 1
        size = min(n, max(WARM_UP, 2 * given.n_clusters, least))
        rows = np.linspace(0, n - 1, size).astype(np.intp)
        with suppress(Exception), collected_warnings():  # the fit that counts will say what is wrong
            labels_of(contender, contender.make(parameters), given.views[rows], parameters)


class _State:
    """What the fits of a piece leave behind for the next ones."""

    def __init__(self, found: Labels | None) -> None:
        self.found = found
        self.n_fits = 0
        self.model: Any = None
        self.parameters: dict[str, Any] = {}

    def labels_with(
        self, contender: Contender, seed: int, views: Any, parameters: Mapping[str, Any], condition: str
    ) -> Labels:
        """Return the labels that a seed gives; what does not depend on the seed is learned once."""
        self.n_fits += 1
        if type(self.model) in LEARN_ONCE and condition == CLEAN:
            return relabel(self.model, seed)
        self.model = contender.make(parameters)
        if hasattr(self.model, "get_params"):
            own = {key: one for key, one in self.model.get_params(deep=False).items() if key != "callback"}
            self.parameters = json.loads(json.dumps(own, default=repr))
        return labels_of(contender, self.model, views, parameters)


def failure(reason: str, *, again: bool = False) -> dict[str, Any]:
    """Return the record of a fit that failed; `again`: for a reason that may be gone the next time."""
    return {"status": "failed", "reason": reason, "again": again}


@contextmanager
def _own_random_state(seed: int) -> Iterator[None]:
    """Begin with this seed for whoever draws from the global generators, and put these back afterwards."""
    before, others = np.random.get_state(), random.getstate()  # noqa: NPY002 - systems of others use it
    np.random.set_state(np.random.RandomState(seed).get_state())  # noqa: NPY002 - systems of others use it
    random.seed(seed)
    try:
        yield
    finally:
        np.random.set_state(before)  # noqa: NPY002 - systems of others use it
        random.setstate(others)


def _reset_peak() -> float | None:
    """Begin to measure the peak of the memory in use, where the system does that; return what is in use."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return None
    return _status_megabytes("VmRSS")


def _peak_since(before: float | None) -> float | None:
    """Return the megabytes that were added at the peak."""
    peak = _status_megabytes("VmHWM")
    return None if before is None or peak is None else max(peak - before, 0.0)


def _status_megabytes(entry: str) -> float | None:
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith(entry + ":")), None)
