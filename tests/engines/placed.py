"""Views placed by an engine, for tests: the functions of the engine as methods."""

from dataclasses import replace

import numpy as np
from scipy import sparse

from consilience.engines import get_engine
from consilience.graphs import EdgeSet
from consilience.spaces import Space


def place(engine, rows, metric, name="view", **options):
    """Return a view placed by an engine; `options` are those of a Space."""
    engine = get_engine(engine)
    return Placed(engine, engine.place(Space(name, rows, metric, **options)))


class Placed:
    """Points, and the engine that made them."""

    def __init__(self, engine, points):
        self.engine, self.points = engine, points

    @property
    def kind(self):
        return self.points.kind

    def search(self, k, how="exact"):
        found = self.engine.nearest(self.points, k, how)
        return replace(found, lists=self.engine.fetch(found.lists))

    def nearest(self, k, how="exact"):
        return self.search(k, how).lists

    def measure(self, edges, known=None):
        return self.engine.fetch(self.engine.measure(self.points, self.engine.adopt(edges), known))

    def mean_over_pairs(self):
        return self.engine.mean_over_pairs(self.points)

    def is_constant(self):
        return self.engine.is_constant(self.points)

    def broken_ties(self, lists, view=0):
        """Return the lists with ties broken as in a fit, where this is view number `view`."""
        given = self.engine.adopt(lists)
        return self.engine.fetch(self.engine.break_ties(self.points, given, (len(lists), view)))

    def cached(self):
        return Placed(self.engine, self.engine.cached(self.points))

    def subset(self, rows, n_samples):
        return Placed(self.engine, self.engine.subset(self.points, rows, n_samples))

    def reordered(self, order):
        return Placed(self.engine, self.points.reordered(order))

    def query(self, rows):
        return Queried(self.engine, self.engine.query(self.points, rows))


class Queried:
    """New samples next to a placed view, and the engine that put them there."""

    def __init__(self, engine, queries):
        self.engine, self.queries = engine, queries

    @property
    def kind(self):
        return self.queries.kind

    def nearest(self, k):
        return self.engine.fetch(self.engine.nearest_new(self.queries, k))

    def measure(self, edges):
        everyone = np.ones(edges.n_samples, dtype=bool)
        return self.engine.fetch(self.engine.measure_new(self.queries, self.engine.adopt(edges), everyone))


def all_pairs(n):
    return EdgeSet.from_support([sparse.csr_array(np.ones((n, n)))])


def on_pairs(placed, n):
    """Return the values of a placed view on all pairs, as a matrix with zeros on the diagonal."""
    return all_pairs(n).to_csr(placed.measure(all_pairs(n))).toarray()
