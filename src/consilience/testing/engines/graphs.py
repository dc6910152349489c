"""Checks of what engines do with the unified graph: sparsify, embed, cluster."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from .trial import Trial, check


@check("keep_largest", "sparsify", "symmetrize")
def graphs_are_sparsified(trial: Trial) -> None:
    engine, oracle, problem = trial.engine, trial.oracle, trial.problem
    edges, values, k = engine.adopt(problem.edges), engine.adopt(problem.fused), problem.n_neighbors
    for name, arguments in (("keep_largest", (k,)), ("sparsify", (k,)), ("symmetrize", ())):
        found = engine.fetch(getattr(engine, name)(edges, values, *arguments))
        trial.same(found, getattr(oracle, name)(problem.edges, problem.fused, *arguments), name)
    wide = (problem.edges.n_samples, problem.edges.n_samples + 3)
    found = engine.fetch(engine.keep_largest(edges, values, k, wide))
    assert found.shape == wide, f"keep_largest: a matrix of shape {found.shape}, not {wide}."


@check("impute")
def missing_samples_are_imputed(trial: Trial) -> None:
    engine, oracle, problem = trial.engine, trial.oracle, trial.problem
    if problem.mask is None:
        return
    more = problem.mask, problem.view_weights, problem.n_neighbors
    edges, values = engine.impute(engine.adopt(problem.edges), engine.adopt(problem.fused), *more)
    expected_edges, expected_values = oracle.impute(problem.edges, problem.fused, *more)
    trial.same(engine.fetch(edges), expected_edges, "impute: edges")
    trial.same(engine.fetch(values), expected_values, "impute: values", 1e3)


@check("mix")
def graphs_are_mixed(trial: Trial) -> None:
    engine, oracle, graph = trial.engine, trial.oracle, trial.problem.graph
    other = graph.copy()
    other.data = other.data**2
    shares = np.array([0.75, 0.25])
    found = engine.fetch(engine.mix([engine.adopt(graph), engine.adopt(other)], shares))
    trial.same(found, oracle.mix([graph, other], shares), "mix")
    assert (found != found.T).nnz == 0, "mix: not symmetric."


@check("leading_vectors", "n_rows", "take", "first_columns", "unit_rows")
def vectors_span_the_same(trial: Trial) -> None:
    engine, problem, c = trial.engine, trial.problem, trial.problem.n_clusters
    pieces = sparse.csr_array(sparse.block_diag([problem.graph, problem.graph, [[0.0]]], format="csr"))
    for graph in (problem.graph, pieces):
        found = engine.leading_vectors(engine.adopt(graph), c, None, 0)
        expected = trial.oracle.leading_vectors(graph, c, None, 0)
        slack = max(1e-8 / trial.rtol, 1.0)
        trial.same(found.eigenvalues, expected.eigenvalues, "leading_vectors: eigenvalues", slack)
        counts = found.n_connected, found.n_isolated, found.n_dropped
        assert counts == (expected.n_connected, expected.n_isolated, expected.n_dropped), (
            "leading_vectors: other components."
        )
        vectors = engine.fetch(found.vectors)
        assert np.nanmax(found.residuals) <= 1e-5, "leading_vectors: large residuals."
        if _gap_after(graph, c) > 1e-6:
            trial.same(vectors @ vectors.T, expected.vectors @ expected.vectors.T, "leading_vectors", slack)
    mine = engine.adopt(problem.vectors)
    assert engine.n_rows(mine) == problem.n_samples, "n_rows: another number."
    rows = np.array([3, 1, 4])
    trial.same(engine.take(mine, rows), problem.vectors[rows], "take")
    trial.same(engine.fetch(engine.first_columns(mine, 2)), problem.vectors[:, :2], "first_columns")
    found = engine.fetch(engine.unit_rows(mine))
    trial.same(found, trial.oracle.unit_rows(problem.vectors), "unit_rows")


def _gap_after(graph: sparse.csr_array, c: int) -> float:
    """Return the gap behind the c-th eigenvalue; without one, the vectors are not unique."""
    degrees = np.asarray(graph.sum(axis=1)).ravel()
    inverse = np.divide(1.0, np.sqrt(degrees), out=np.zeros_like(degrees), where=degrees > 0)
    values = np.linalg.eigvalsh(np.eye(len(degrees)) - inverse[:, None] * graph.toarray() * inverse)
    return float(values[c] - values[c - 1])


@check("kmeans", "unit_rows")
def kmeans_finds_as_good_a_partition(trial: Trial) -> None:
    engine, oracle, problem, c = trial.engine, trial.oracle, trial.problem, trial.problem.n_clusters
    vectors = problem.vectors.copy()
    vectors[:2] = 0.0
    for unit in (True, False):
        found, expected = (
            one.kmeans(handle, c, n_init=10, max_iter=300, unit=unit, random_state=np.random.RandomState(0))
            for one, handle in ((engine, engine.adopt(vectors)), (oracle, vectors))
        )
        rows = oracle.unit_rows(vectors) if unit else vectors
        assert found.labels.shape == (len(rows),) and found.centers.shape == expected.centers.shape
        apart = ((rows[:, None] - found.centers[None]) ** 2).sum(axis=2)
        nearest = apart[np.arange(len(rows)), found.labels]
        assert np.all(nearest <= apart.min(axis=1) + 1e-9), "kmeans: a row is not in its nearest cluster."
        best = ((rows - expected.centers[expected.labels]) ** 2).sum()
        assert nearest.sum() <= 1.01 * best + 1e-9, "kmeans: a worse partition than the oracle's."
