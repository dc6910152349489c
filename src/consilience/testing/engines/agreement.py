"""Checks of what engines count in lists of neighbours."""

from __future__ import annotations

import numpy as np

from .trial import Trial, check


@check("stack", "overlaps", "adopt")
def overlaps_are_counted(trial: Trial) -> None:
    engine, problem = trial.engine, trial.problem
    stacked = engine.stack([engine.adopt(lists) for lists in problem.lists])
    for mask in (problem.mask, None) if problem.mask is not None else (None,):
        found = engine.overlaps(stacked, mask)
        expected = trial.oracle.overlaps(trial.oracle.stack(problem.lists), mask)
        v = len(problem.lists)
        below = np.tril_indices(v, -1)
        trial.same(found.shared[below], expected.shared[below], "overlaps: shared")
        apart = ~np.eye(v, dtype=bool)
        trial.same(found.pairs[apart], expected.pairs[apart], "overlaps: pairs")
        trial.same(found.n_seen, expected.n_seen, "overlaps: n_seen")


@check("row_trust", "lower_trust", "bounded")
def rows_are_trusted_alike(trial: Trial) -> None:
    engine, oracle, problem = trial.engine, trial.oracle, trial.problem
    v, n = len(problem.lists), problem.n_samples
    rng = np.random.default_rng(5)
    votes = rng.random((v, v)) * (1 - np.eye(v))
    expected_shared = 1.0 + rng.random((v, v))
    expected_shared = (expected_shared + expected_shared.T) / 2
    units = np.linspace(0, 2, v)  # the rows of the first view all count 1
    arguments = problem.mask, votes, expected_shared, units
    mine = engine.row_trust(engine.stack([engine.adopt(one) for one in problem.lists]), *arguments)
    theirs = oracle.row_trust(oracle.stack(problem.lists), *arguments)
    trial.same(engine.fetch(mine), theirs, "row_trust", 1e3)
    columns, rows = np.arange(v) == 0, rng.random(n) < 0.3
    for own, trust in ((engine.adopt(problem.trust), problem.trust), (None, None)):
        lowered = engine.lower_trust(own, v, columns, rows, 0.05)
        trial.same(engine.fetch(lowered), oracle.lower_trust(trust, v, columns, rows, 0.05), "lower_trust")
    for trust in (problem.trust, np.ones((n, v))):
        found = engine.bounded(engine.adopt(trust), 0.3)
        trial.same(trial.fetched(found), oracle.bounded(trust, 0.3), "bounded")


@check("matched_rows")
def rows_are_matched_alike(trial: Trial) -> None:
    engine, oracle, problem = trial.engine, trial.oracle, trial.problem
    if len(problem.lists) < 2:
        return
    lists, vectors = [engine.adopt(one) for one in problem.lists], oracle.unit_rows(problem.vectors)
    for own, trust in ((engine.adopt(problem.trust), problem.trust), (None, None)):
        found, shares = engine.matched_rows(lists, engine.adopt(vectors), own, problem.mask, 3)
        expected, expected_shares = oracle.matched_rows(problem.lists, vectors, trust, problem.mask, 3)
        trial.same(engine.fetch(found), expected, "matched_rows", 1e3)
        trial.same(shares, expected_shares, "matched_rows: shares", 1e3)
    copies = [engine.adopt(one) for one in [*problem.lists, problem.lists[0]]]
    copy_of, last = [*range(len(problem.lists)), 0], len(problem.lists)
    mask = None if problem.mask is None else np.column_stack([problem.mask, problem.mask[:, 0]])
    found = engine.fetch(engine.matched_rows(copies, engine.adopt(vectors), None, mask, 3, copy_of)[0])
    trial.same(found[:, :last], expected, "matched_rows: with a copy", 1e3)
    trial.same(found[:, last], found[:, 0], "matched_rows: of a copy")


@check("confirmed", "neighbor_graph", "votes")
def neighbours_confirm_and_vote(trial: Trial) -> None:
    engine, oracle, problem = trial.engine, trial.oracle, trial.problem
    v, n = len(problem.lists), problem.n_samples
    rng = np.random.default_rng(6)
    others = rng.random((n, v)) < 0.8
    others[:, 0] = False
    rows, places = rng.integers(0, n, 40), rng.integers(0, n, 40)
    ascending = [np.sort(lists, axis=1) for lists in problem.lists]
    mine = engine.stack([engine.adopt(one) for one in ascending])
    found = engine.confirmed(mine, 0, others, rows, places)
    trial.same(found, oracle.confirmed(oracle.stack(ascending), 0, others, rows, places), "confirmed")
    members = rng.dirichlet(np.ones(4), n)
    for lists in problem.lists:
        mine = engine.votes(engine.neighbor_graph(engine.adopt(lists)), members)
        trial.same(mine, oracle.votes(oracle.neighbor_graph(lists), members), "votes", 10)
