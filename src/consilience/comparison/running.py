"""Many systems on many data sets by the same rules: `compare`.

A system that fails is a result like any other, a kill loses at most the fits that were under way, and an
interrupt keeps what is done.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from numbers import Integral
from pathlib import Path
from typing import Any, Literal

from joblib import cpu_count
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from ..datasets.corruption import corruptions as known_corruptions
from ..run.config import as_bytes
from ..run.messages import check_choice, check_count, check_number
from ..run.progress import Bar
from ..run.run_folder import sole_use
from .contenders import Contender, describe, find_contenders, pickled
from .data_sets import facts_of, find_sets
from .fitting import CLEAN, PREPARATIONS, Event, Fitter, Piece, Rules
from .pace import Pace, Step, Watch
from .planning import Plan
from .result import Comparison
from .store import Store
from .workers import Limits, Workers


def compare(
    data: Any,
    systems: Any = "all",
    *,
    labels: ArrayLike | None = None,
    n_clusters: int | None = None,
    preparation: Literal["equal", "own", "none"] = "equal",
    corruptions: Sequence[str] = (),
    corrupted_systems: Any = None,
    seeds: int | Sequence[int] = 3,
    n_corrupted_seeds: int | None = None,
    n_resamples: int = 0,
    metric: Any = "auto",
    n_neighbors: int | Literal["auto"] = "auto",
    shuffle: bool = True,
    families: Mapping[str, str] | None = None,
    n_jobs: int | None = None,
    max_seconds: float | None = None,
    max_memory: int | str | None = None,
    out: str | os.PathLike[str] | None = None,
    resume: bool = True,
    verbose: bool = False,
    watch: Watch | None = None,
    strict: bool = False,
) -> Comparison:
    """Fit every system to every data set, by the same rules for all, and score what they find.

    Parameters
    ----------
    data : views, DataSet, path, or a sequence or mapping of data sets or paths
        One set of views as `fit` takes them, data sets in memory (`DataSet`), files, or a folder: all files
        of data in it and below it, one set each.
    systems : str, class, estimator, function, sequence or mapping, default="all"
        Names separated by commas ("dgf,average"), ``"package.module:Class"``, or things themselves: any class
        or estimator with `fit` or `fit_predict`, or a function that returns labels. See
        `consilience.comparison.contenders` for what each is given. A mapping names them.
    labels : array-like of shape (n_samples,), default=None
        Known classes, if `data` is one set of views.
    n_clusters : int, default=None
        Number of clusters; None: as many as a set has classes.
    preparation : {"equal", "own", "none"}, default="equal"
        "equal": metric, scaling of features and the leaving out of views by one rule (`prepare_views`), the
        same for all systems. "own": as each system does by default. "none": features as they are, all views.
    corruptions : sequence of str, default=()
        Ways to spoil the data, as `consilience.datasets.corruptions` names them. Beside each stands the
        oracle: the same system where what was spoiled is known.
    corrupted_systems : as `systems`, default=None
        Those that are run on corrupted data; None: all.
    seeds : int or sequence of int, default=3
        Values of `random_state`, or how many: 0, 1, ...
    n_corrupted_seeds : int, default=None
        How many of them on corrupted data, each with a draw of its own; None: all.
    n_resamples : int, default=0
        Number of random subsets of four fifths of the samples, the same for all systems: how well the labels
        found there agree with those found on all samples shows how stable a system is.
    metric, n_neighbors
        As in `DistanceGraphFusion`.
    shuffle : bool, default=True
        Whether to bring rows into a random order first, always the same. Data sets are often sorted by class,
        and a method may profit from that without anybody noticing. Labels come back in the original order.
    families : mapping of str to str, default=None
        Name of a set -> its family; sets of one family count once in a mean over families.
    n_jobs : int, default=None
        Number of processes, of as many threads each as there are cores for. None: one, and this process
        itself unless a limit is set.
    max_seconds : float, default=None
        Wall-clock time of one fit, after which it is stopped.
    max_memory : int or str, default=None
        Memory of one fit's process, such as ``"4GiB"``, at which it is stopped.
    out : path, default=None
        A folder that keeps the result of each fit as soon as it is there; called again with the same folder,
        even after a crash, it goes on where it was. Results that other code or other data made are not used.
    resume : bool, default=True
        Whether to use the results that the folder holds; otherwise they are removed first.
    verbose : bool, default=False
        Whether to show the progress on standard error.
    watch : callable, default=None
        Is called with every `Step`.
    strict : bool, default=False
        Whether to let the exception of a system through. By default it is the reason of an empty cell.

    Returns
    -------
    Comparison
        Also after a KeyboardInterrupt: what was not done then has the status "not run".

    See Also
    --------
    consilience.comparison.Comparison : Tables, statistics, and a page.

    Examples
    --------
    >>> import consilience
    >>> from sklearn.cluster import KMeans
    >>> made = consilience.make_multiview(90, n_views=2, n_clusters=3, separation=3.0, random_state=0)
    >>> found = consilience.compare(made.views, ["dgf", KMeans], labels=made.y, seeds=2)
    >>> [(one.name, one.status) for one in found.on("data")]
    [('DGF', 'ok'), ('KMeans', 'ok')]
    """
    check_choice("preparation", preparation, PREPARATIONS)
    all_seeds = _checked_seeds(seeds)
    few = (
        all_seeds
        if n_corrupted_seeds is None
        else all_seeds[: _count("n_corrupted_seeds", n_corrupted_seeds)]
    )
    conditions = (CLEAN, *_checked_corruptions(corruptions))
    limits = _checked_limits(max_seconds, max_memory)
    if strict and (limits != Limits() or n_jobs is not None):
        raise ValueError(
            "strict=True fits in this process, where no limit can be held; leave out n_jobs and limits."
        )
    in_process = n_jobs is None and limits == Limits()
    n_workers = 1 if n_jobs is None else _n_processes(n_jobs)
    sources = find_sets(data, labels, n_clusters, families)
    contenders = find_contenders(systems)
    spoiled = contenders if corrupted_systems is None else find_contenders(corrupted_systems)
    known = {one.name: one for one in contenders}
    for one in spoiled:
        if one.name in known and one.identity != known[one.name].identity:
            raise ValueError(
                f"Two systems are named {one.name!r}: give that of corrupted_systems another name."
            )
    contenders += [one for one in spoiled if one.name not in known]
    if not in_process:
        contenders = [_sent(one) for one in contenders]
    rules = Rules(
        preparation,
        metric,
        n_neighbors,
        bool(shuffle),
        all_seeds[0],
        n_resamples if n_resamples == 0 else _count("n_resamples", n_resamples),
        None if in_process else max(1, cpu_count() // n_workers),
        limits.n_bytes,
        strict,
    )
    plan = Plan(
        [facts_of(one) for one in sources],
        contenders,
        rules,
        conditions,
        {one.name for one in spoiled},
        all_seeds,
        few,
    )
    with sole_use(None if out is None else Path(out)), _Display(watch, verbose) as shown:
        store = Store(None if out is None else Path(out), resume=resume)
        fitter = Fitter(sources, contenders, rules, [one.fingerprint for one in plan.sets])
        pieces = plan.missing(store, limits)
        pace = Pace(pieces, plan.sets, [one.name for one in contenders], n_workers, shown.step)
        keep = _Keeper(plan, store, pace)
        with closing(store), suppress(KeyboardInterrupt):  # the statuses say so
            if in_process:
                for piece in pieces:
                    for event in fitter.do(piece):
                        keep(piece, event)
            elif pieces:
                with Workers(n_workers, fitter, limits) as workers:
                    workers.run(pieces, keep)
        return plan.result(store)


class _Display:
    """Shows steps on standard error, and hands them on."""

    def __init__(self, watch: Watch | None, visible: bool) -> None:
        self.watch, self.bar = watch, Bar(visible, lines=True)

    def __enter__(self) -> _Display:
        return self

    def __exit__(self, *_: object) -> None:
        self.bar.erase()

    def step(self, step: Step) -> None:
        if self.bar.in_place or step.ended:
            self.bar.draw(step.share, str(step))
        if self.watch is not None:
            self.watch(step)


class _Keeper:
    """Keeps what comes of fits, and tells the clock."""

    def __init__(self, plan: Plan, store: Store, pace: Pace) -> None:
        self.plan, self.store, self.pace = plan, store, pace

    def __call__(self, piece: Piece, event: Event) -> None:
        if event.record is None:
            self.pace.begin(piece, event.task)
            return
        self.store.put(self.plan.key(piece, event.task), event.record)
        self.pace.end(piece, event.task, event.record)


def _sent(one: Contender) -> Contender:
    """Return a system that can be sent to another process, or the reason why it cannot."""
    try:
        pickled(one)
    except Exception as error:  # whatever an object does when it is written down
        reason = f"It cannot be sent to another process ({describe(error)}); n_jobs=None fits it here."
        return replace(one, system=None, reason=reason)
    return one


def _checked_seeds(seeds: int | Sequence[int]) -> tuple[int, ...]:
    if isinstance(seeds, Integral):
        check_count("seeds", seeds)
        return tuple(range(int(seeds)))
    assert isinstance(seeds, Iterable)
    found = tuple(int(seed) for seed in seeds)
    if not found:
        raise ValueError("seeds must name at least one seed.")
    if len(set(found)) < len(found):
        raise ValueError("seeds names a seed twice.")
    for seed in found:
        check_random_state(seed)
    return found


def _checked_corruptions(names: Sequence[str]) -> tuple[str, ...]:
    given = (names,) if isinstance(names, str) else tuple(names)
    known = known_corruptions()
    for name in given:
        if name not in known:
            raise ValueError(f"Unknown corruption {name!r}; known: {', '.join(known)}.")
    return tuple(dict.fromkeys(name for name in given if name != CLEAN))


def _checked_limits(max_seconds: float | None, max_memory: int | str | None) -> Limits:
    if max_seconds is not None:
        check_number("max_seconds", max_seconds, strictly=True)
    return Limits(max_seconds, None if max_memory is None else as_bytes(max_memory, "max_memory"))


def _count(name: str, value: int) -> int:
    check_count(name, value)
    return int(value)


def _n_processes(n_jobs: int) -> int:
    if not isinstance(n_jobs, int) or n_jobs == 0:
        raise ValueError(f"n_jobs must be None or a non-zero integer, got {n_jobs!r}.")
    return n_jobs if n_jobs > 0 else max(1, cpu_count() + 1 + n_jobs)
