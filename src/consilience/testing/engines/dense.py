"""Checks of the dense steps of comparison systems, and of what every engine has."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from ...engines import Engine
from .trial import Trial, check


@check("project_rows", "strongest", "diffuse", "symmetrize_dense")
def dense_steps_are_the_same(trial: Trial) -> None:
    engine, oracle, n = trial.engine, trial.oracle, trial.problem.n_samples
    rng = np.random.default_rng(8)
    matrix = rng.normal(size=(n, n))
    trial.same(engine.project_rows(matrix), oracle.project_rows(matrix), "project_rows")
    indptr = np.array([0, 3, 3, 10, n])
    values = rng.normal(size=n)
    found = engine.project_rows(values, indptr)
    trial.same(found, oracle.project_rows(values, indptr), "project_rows, compressed")
    columns, weights = engine.strongest(matrix, 5)
    expected_columns, expected_weights = oracle.strongest(matrix, 5)
    trial.same(columns, expected_columns, "strongest: columns")
    trial.same(weights, expected_weights, "strongest: entries")
    symmetric, out, expected = matrix + matrix.T, np.empty((n, n)), np.empty((n, n))
    engine.diffuse(symmetric, expected_columns, expected_weights, out)
    oracle.diffuse(symmetric, expected_columns, expected_weights, expected)
    trial.same(out, expected, "diffuse", 10)
    mine, theirs = matrix.copy(), matrix.copy()
    engine.symmetrize_dense(mine)
    oracle.symmetrize_dense(theirs)
    trial.same(mine, theirs, "symmetrize_dense")


@check("shrink_round")
def low_rank_rounds_are_the_same(trial: Trial) -> None:
    n, rng = 30, np.random.default_rng(9)

    def problem() -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray], list[tuple[object, np.ndarray]]]:
        state = np.random.default_rng(4)
        walks = [sparse.csr_array(sparse.random(n, n, density=0.2, random_state=state)) for _ in range(2)]
        views = [(sparse.csr_array(walk), 0.1 * state.normal(size=(n, n))) for walk in walks]
        return state.random((n, n)), (state.random((n, n)), state.random((n, n))), views

    steps, penalty = (0.7, 0.9), 0.05 + 0.01 * float(rng.random())
    mine, theirs = problem(), problem()
    found = trial.engine.shrink_round(*mine, steps, penalty)
    trial.same(found, trial.oracle.shrink_round(*theirs, steps, penalty), "shrink_round", 10)
    trial.same(mine[1][0], theirs[1][0], "shrink_round: the multiplier", 10)
    for (_, own), (_, other) in zip(mine[2], theirs[2], strict=True):
        trial.same(own, other, "shrink_round: a view's multiplier", 10)


@check("limit", "n_threads", "fetch", "adopt")
def handles_go_there_and_back(trial: Trial) -> None:
    engine, problem = trial.engine, trial.problem
    assert isinstance(engine.name, str) and isinstance(engine, Engine)
    with engine.limit(1):
        assert engine.n_threads == 1, "limit: one thread was asked for."
    for value in (problem.lists[0], problem.trust, problem.weights, problem.fused, problem.vectors):
        trial.same(engine.fetch(engine.adopt(value)), value, "adopt and fetch")
    trial.same(engine.fetch(engine.adopt(problem.edges)), problem.edges, "adopt and fetch edges")
    trial.same(engine.fetch(engine.adopt(problem.graph)), problem.graph, "adopt and fetch a graph")
