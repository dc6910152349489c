"""Checks of what engines do to predict the clusters of new samples."""

from __future__ import annotations

import numpy as np

from .trial import Trial, check


@check("unite_new", "trust_of_ends", "coinciding", "cluster_shares", "measure_new")
def new_samples_get_clusters(trial: Trial) -> None:
    engine, oracle, problem = trial.engine, trial.oracle, trial.problem
    asked, k, v = problem.asked, problem.n_neighbors, len(problem.spaces)
    queries = [
        oracle.query(points, rows[np.flatnonzero(own)]) if own.any() else None
        for points, rows, own in zip(problem.points, problem.new_rows, asked.T, strict=True)
    ]
    lists = [None if one is None else oracle.nearest_new(one, k) for one in queries]
    masks = [space.seen for space in problem.spaces]
    edges = engine.unite_new([trial.handle(one) for one in lists], asked, masks)
    expected = oracle.unite_new(lists, asked, masks)
    trial.same(engine.fetch(edges), expected, "unite_new")
    values = [
        np.zeros(expected.n_edges) if one is None else oracle.measure_new(one, expected, own)
        for one, own in zip(queries, asked.T, strict=True)
    ]
    trust = engine.trust_of_ends(edges, engine.adopt(problem.trust))
    trial.same(engine.fetch(trust), oracle.trust_of_ends(expected, problem.trust), "trust_of_ends")
    distances = [(i, values[i]) for i, space in enumerate(problem.spaces) if space.kind == "distance"]
    same = engine.coinciding(edges, [(i, engine.adopt(one)) for i, one in distances], v)
    expected_same = oracle.coinciding(expected, distances, v)
    trial.same(engine.fetch(same), expected_same, "coinciding")
    unified = np.random.default_rng(2).random(expected.n_edges)
    labels = np.arange(problem.n_samples) % problem.n_clusters
    found = engine.cluster_shares(edges, engine.adopt(unified), same, labels, problem.n_clusters, k)
    theirs = oracle.cluster_shares(expected, unified, expected_same, labels, problem.n_clusters, k)
    trial.same(found, theirs, "cluster_shares")
