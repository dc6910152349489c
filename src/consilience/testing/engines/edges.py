"""Checks of what engines do with values and weights on shared edges."""

from __future__ import annotations

import numpy as np

from ...graphs import EdgeKernel
from .trial import Trial, check


@check("unite", "n_edges", "judged", "judged_shares")
def edges_are_united(trial: Trial) -> None:
    engine, problem = trial.engine, trial.problem
    edges = engine.unite([engine.adopt(lists) for lists in problem.lists], problem.mask)
    trial.same(engine.fetch(edges), problem.edges, "unite")
    assert engine.n_edges(edges) == problem.edges.n_edges, "n_edges: another number."
    judged = engine.judged(edges)
    trial.same(trial.fetched(judged), problem.judged, "judged")
    if judged is not None:
        trial.same(engine.judged_shares(judged), trial.oracle.judged_shares(problem.judged), "judged_shares")


@check("measure", "moments", "mean_root", "mean_positive", "mean", "transform")
def values_are_measured(trial: Trial) -> None:
    engine, oracle, problem = trial.engine, trial.oracle, trial.problem
    edges, judged = engine.adopt(problem.edges), trial.handle(problem.judged)
    for i, (space, expected) in enumerate(zip(problem.spaces, problem.values, strict=True)):
        found = engine.measure(engine.place(space), edges)
        trial.same(engine.fetch(found), expected, "measure")
        mine = engine.adopt(expected)
        for kernel in (None, problem.kernels[i], EdgeKernel(typical=2.0)):
            first = engine.moments(mine, judged, i, kernel)
            second = oracle.moments(expected, problem.judged, i, kernel)
            trial.same([first.mean, first.deviation], [second.mean, second.deviation], "moments", 10)
            assert first.exponent == second.exponent, "moments: another exponent."
            root = engine.mean_root(mine, judged, i, kernel)
            trial.same(root, oracle.mean_root(expected, problem.judged, i, kernel), "mean_root", 10)
        trial.same(engine.mean_positive(mine), oracle.mean_positive(expected), "mean_positive", 10)
        trial.same(engine.mean(mine), oracle.mean(expected), "mean", 10)
        for kernel in (problem.kernels[i], EdgeKernel(typical=2.0), EdgeKernel(width=3.0), EdgeKernel()):
            found = engine.fetch(engine.transform(mine, kernel))
            trial.same(found, oracle.transform(expected, kernel), "transform", 10)
    nothing = engine.adopt(np.zeros(problem.edges.n_edges))
    for name in ("mean", "mean_positive"):
        assert getattr(engine, name)(nothing) == 1.0, f"{name}: 1 is returned where there is nothing else."


@check("weigh", "n_values", "precision", "totals", "divide", "trust_on_edges")
def weights_are_made(trial: Trial) -> None:
    engine, oracle, problem = trial.engine, trial.oracle, trial.problem
    edges, v = engine.adopt(problem.edges), len(problem.spaces)
    similar = [EdgeKernel(typical=2.0)] * v
    parts = ((engine.adopt(x), kernel) for x, kernel in zip(problem.values, similar, strict=True))
    expected = oracle.weigh(problem.edges, v, zip(problem.values, similar, strict=True), double=True)
    found = engine.weigh(edges, v, parts, double=True)
    trial.same(engine.fetch(found), expected, "weigh: similarities", 10)
    for double in (True, False):
        parts = ((engine.adopt(x), kernel) for x, kernel in zip(problem.values, problem.kernels, strict=True))
        found = engine.weigh(edges, v, parts, double=double)
        assert engine.n_values(found) == problem.edges.n_edges, "n_values: another number."
        precision = engine.precision(found)
        assert precision in (np.dtype(np.float64), np.dtype(np.float32)), f"precision: {precision}."
        assert not double or precision == np.float64, "weigh: double precision was asked for."
        slack = 10 if precision == np.float64 else max(1e-6 / trial.rtol, 10)
        trial.same(engine.fetch(found), problem.weights, "weigh", slack)
    mine, units = engine.adopt(problem.weights), np.arange(1.0, v + 1)
    trial.same(engine.totals(mine), oracle.totals(problem.weights), "totals", 10)
    trial.same(engine.fetch(engine.divide(mine, units)), oracle.divide(problem.weights, units), "divide")
    trust = engine.trust_on_edges(edges, engine.adopt(problem.trust), mine)
    trial.same(engine.fetch(trust), problem.trust_on_edges, "trust_on_edges")


@check("average", "expected_average")
def views_are_averaged(trial: Trial) -> None:
    engine, oracle, problem = trial.engine, trial.oracle, trial.problem
    mine, judged = engine.adopt(problem.weights), trial.handle(problem.judged)
    for view_weights in (None, problem.view_weights):
        for trust in (None, problem.trust_on_edges):
            found = engine.average(mine, judged, view_weights, trial.handle(trust))
            expected = oracle.average(problem.weights, problem.judged, view_weights, trust)
            trial.same(engine.fetch(found), expected, "average", 10)
    if judged is None:
        return
    for trust in (None, problem.trust_on_edges):
        found = engine.expected_average(mine, judged, problem.view_weights, trial.handle(trust))
        expected = oracle.expected_average(problem.weights, problem.judged, problem.view_weights, trust)
        trial.same(engine.fetch(found), expected, "expected_average", 1e3)
