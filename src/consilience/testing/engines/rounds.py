"""Checks of the passes over the edges that the paper's algorithms make."""

from __future__ import annotations

import numpy as np

from ...engines.results import Sums
from .trial import Trial, check

BETA, GAMMA, N_ROUNDS, N_STEPS = 1.0, 100.0, 3, 3


@check("normalize")
def weights_are_normalized(trial: Trial) -> None:
    engine, problem = trial.engine, trial.problem
    judged, names = trial.handle(problem.judged), [space.name for space in problem.spaces]
    found = engine.normalize(engine.adopt(problem.weights.copy()), judged, names)
    trial.same(engine.fetch(found), problem.normalized, "normalize", 10)
    for bad in (-1.0, np.nan, np.inf):
        wrong = problem.weights.copy()
        wrong[1, 0 if problem.judged is None else int(np.argmax(problem.judged[1]))] = bad
        try:
            engine.normalize(engine.adopt(wrong), judged, names)
        except ValueError as error:
            assert names[1] in str(error), f"normalize: the error does not name the view: {error}"
        else:
            raise AssertionError(f"normalize: there is no ValueError about {bad}.")


@check("load", "start", "dca_round", "exact_round", "fuse", "collect", "consistent")
def rounds_are_the_same(trial: Trial) -> None:
    engine, oracle, problem = trial.engine, trial.oracle, trial.problem
    v = len(problem.spaces)
    scales = np.random.default_rng(1).dirichlet(np.full(v, 5.0), N_ROUNDS + 1)
    for trust in (None, problem.trust_on_edges):
        for exact in (False, True):
            mine = engine.load(
                engine.adopt(problem.normalized.copy()),
                trial.handle(problem.judged),
                trial.handle(trust),
                problem.view_weights,
            )
            theirs = oracle.load(problem.normalized.copy(), problem.judged, trust, problem.view_weights)
            _same_sums(trial, engine.start(mine, scales[0]), oracle.start(theirs, scales[0]), "start")
            for alpha in scales[1:]:
                if exact:
                    found = engine.exact_round(mine, alpha, BETA, GAMMA)
                    expected = oracle.exact_round(theirs, alpha, BETA, GAMMA)
                else:
                    found = engine.dca_round(mine, alpha, BETA, GAMMA, N_STEPS)
                    expected = oracle.dca_round(theirs, alpha, BETA, GAMMA, N_STEPS)
                _same_sums(trial, found, expected, "exact_round" if exact else "dca_round")
            engine.fuse(mine, scales[0])
            oracle.fuse(theirs, scales[0])
            inconsistent, fused = engine.collect(mine)
            expected_inconsistent, expected_fused = oracle.collect(theirs)
            trial.same(engine.fetch(inconsistent), expected_inconsistent, "collect: inconsistent", 1e3)
            trial.same(engine.fetch(fused), expected_fused, "collect: fused", 1e3)
            found = engine.consistent(engine.adopt(problem.normalized), inconsistent, scales[0])
            expected = oracle.consistent(problem.normalized, expected_inconsistent, scales[0])
            trial.same(engine.fetch(found), expected, "consistent", 1e3)


def _same_sums(trial: Trial, found: Sums, expected: Sums, what: str) -> None:
    for name in ("consistent_squares", "inconsistent_gram", "consistent_fused", "fused_square"):
        trial.same(getattr(found, name), getattr(expected, name), f"{what}: {name}", 1e3)
    if what == "exact_round":
        assert found.consistent_gram is not None, "exact_round: there is no consistent_gram."
        trial.same(found.consistent_gram, expected.consistent_gram, f"{what}: consistent_gram", 1e3)
