"""Checks of what engines do with rows: placing, searching, ties, new samples."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ...graphs import EdgeSet
from .trial import Trial, check


@check("describe")
def columns_are_described(trial: Trial) -> None:
    for space in trial.problem.spaces:
        if sparse.issparse(space.rows) or space.is_pairwise or not np.isfinite(space.rows).all():
            continue
        found = trial.engine.describe(space.rows, space.seen)
        expected = trial.oracle.describe(space.rows, space.seen)
        for name in ("n_rows", "lowest", "highest", "mean", "variance", "n_nonzero"):
            trial.same(getattr(found, name), getattr(expected, name), f"describe: {name}", 1e3)


@check("place", "is_constant", "mean_over_pairs")
def views_are_placed(trial: Trial) -> None:
    for space, points in zip(trial.problem.spaces, trial.problem.points, strict=True):
        own = trial.engine.place(space)
        constant = trial.oracle.is_constant(points)
        assert trial.engine.is_constant(own) == constant, f"is_constant: {constant} was expected."
        if space.is_complete:
            found, expected = trial.engine.mean_over_pairs(own), trial.oracle.mean_over_pairs(points)
            trial.same(found, expected, "mean_over_pairs", 10)


@check("nearest", "measure", "unite", "fetch")
def the_nearest_are_found(trial: Trial) -> None:
    engine, k = trial.engine, trial.problem.n_neighbors
    for space, points, lists in zip(
        trial.problem.spaces, trial.problem.points, trial.problem.lists, strict=True
    ):
        own = engine.place(space)
        found = engine.nearest(own, k)
        assert found.report.search == "exact" and found.report.recall == 1.0
        mine = engine.fetch(found.lists)
        assert mine.shape == lists.shape and _are_lists(mine), "nearest: no lists of neighbours."
        # The same distances; of equally near ones another may be named.
        trial.same(_sorted_values(trial, points, mine), _sorted_values(trial, points, lists), "nearest", 10)
        edges = engine.unite([found.lists], None)
        plain = engine.fetch(engine.measure(own, edges))
        with_known = engine.fetch(engine.measure(own, edges, found.known))
        trial.same(with_known, plain, "measure what is known")
        trial.same(plain, trial.oracle.measure(points, engine.fetch(edges)), "measure")


@check("nearest", "measure")
def approximate_search_says_how_good_it_is(trial: Trial) -> None:
    engine, problem, k = trial.engine, trial.problem, trial.problem.n_neighbors
    for space, points, exact in zip(problem.spaces, problem.points, problem.lists, strict=True):
        for how in ("approximate", "auto"):
            own = engine.place(space)
            found = engine.nearest(own, k, how)
            lists = engine.fetch(found.lists)
            assert lists.shape == exact.shape and _are_lists(lists), f"nearest, {how}: no lists."
            assert 0 < found.report.recall <= 1, f"nearest, {how}: a recall of {found.report.recall}."
            edges = engine.adopt(problem.edges)
            measured = engine.fetch(engine.measure(own, edges, found.known))
            trial.same(measured, trial.oracle.measure(points, problem.edges), "measure what is known")


@check("subset", "cached", "nearest")
def subsets_and_caches_change_nothing(trial: Trial) -> None:
    engine, n, k = trial.engine, trial.problem.n_samples, trial.problem.n_neighbors
    rows = np.flatnonzero(np.arange(n) % 5 != 1)
    for space, points in zip(trial.problem.spaces, trial.problem.points, strict=True):
        own = engine.place(space)
        cached = engine.cached(own)
        for width in (k, k + 2, k):
            first = engine.fetch(engine.nearest(own, width).lists)
            again = engine.fetch(engine.nearest(cached, width).lists)
            assert np.array_equal(first, again), "cached: other neighbours."
        found = engine.fetch(engine.nearest(engine.subset(cached, rows, n), k).lists)
        expected = trial.oracle.nearest(trial.oracle.subset(points, rows, n), k).lists
        first, second = (_between(trial, points, rows, one) for one in (found, expected))
        trial.same(first, second, "nearest in a subset", 10)


@check("break_ties", "restrict")
def ties_are_broken_alike(trial: Trial) -> None:
    engine, problem = trial.engine, trial.problem
    for i, (space, points, lists) in enumerate(
        zip(problem.spaces, problem.points, problem.lists, strict=True)
    ):
        own = engine.place(space)
        once, again = (
            engine.fetch(engine.break_ties(own, engine.adopt(lists), (problem.n_samples, i))) for _ in "ab"
        )
        assert np.array_equal(once, again), "break_ties: not the same twice."
        trial.same(
            _sorted_values(trial, points, once), _sorted_values(trial, points, lists), "break_ties", 10
        )
    some = np.arange(problem.n_samples) % 3 == 0
    found = engine.fetch(engine.restrict(engine.adopt(problem.lists[0]), some))
    assert np.array_equal(found, trial.oracle.restrict(problem.lists[0], some)), "restrict: other lists."


@check("query", "nearest_new", "measure_new", "unite_new", "place")
def new_samples_are_searched(trial: Trial) -> None:
    engine, problem, k = trial.engine, trial.problem, trial.problem.n_neighbors
    m = problem.new_rows[0].shape[0]
    everyone = np.ones(m, dtype=bool)
    for space, points, rows in zip(problem.spaces, problem.points, problem.new_rows, strict=True):
        queries, theirs = engine.query(engine.place(space), rows), trial.oracle.query(points, rows)
        found, expected = engine.nearest_new(queries, k), trial.oracle.nearest_new(theirs, k)
        values = []
        for lists in (engine.fetch(found), expected):
            edges = trial.oracle.unite_new([lists], everyone[:, None], [space.seen])
            measured = trial.oracle.measure_new(theirs, edges, everyone)
            values.append(_sorted_rows(edges, measured))
        trial.same(values[0], values[1], "nearest_new", 10)
        edges = trial.oracle.unite_new([expected], everyone[:, None], [space.seen])
        measured = engine.fetch(engine.measure_new(queries, engine.adopt(edges), everyone))
        trial.same(measured, trial.oracle.measure_new(theirs, edges, everyone), "measure_new")
        some = everyone & (np.arange(m) % 2 == 0)
        own = trial.oracle.query(points, rows[np.flatnonzero(some)])
        mine = engine.query(engine.place(space), rows[np.flatnonzero(some)])
        found = engine.fetch(engine.measure_new(mine, engine.adopt(edges), some))
        trial.same(found, trial.oracle.measure_new(own, edges, some), "measure_new of some")


def _are_lists(lists: NDArray[Any]) -> bool:
    """Say whether no sample is named twice, except where a sample's own number fills up."""
    own = np.arange(len(lists))
    for i, row in enumerate(lists.tolist()):
        others = [one for one in row if one != own[i]]
        if len(set(others)) < len(others) or min(row) < 0 or max(row) >= len(lists):
            return False
    return True


def _sorted_values(trial: Trial, points: Any, lists: NDArray[Any]) -> NDArray[Any]:
    """Return what the oracle measures between samples and their neighbours, each row in order."""
    edges = EdgeSet.union([lists])
    return _sorted_rows(edges, trial.oracle.measure(points, edges))


def _sorted_rows(edges: EdgeSet, values: NDArray[Any]) -> NDArray[Any]:
    rows = np.repeat(np.arange(edges.n_samples), np.diff(edges.indptr))
    return np.asarray(values)[np.lexsort((values, rows))]


def _between(trial: Trial, points: Any, rows: NDArray[np.intp], lists: NDArray[Any]) -> NDArray[Any]:
    """Return the same for lists in a subset."""
    whole = np.tile(np.arange(trial.problem.n_samples)[:, None], (1, lists.shape[1]))
    whole[rows] = rows[lists]
    return _sorted_values(trial, points, whole)
