"""Views that keep their answers: the same answers, each computed once."""

import numpy as np
import pytest
from scipy import sparse
from tests.engines.placed import place

from consilience.engines.points.cached import CachedPoints
from consilience.graphs import EdgeSet


class Counting:
    """Points that count what they are asked."""

    def __init__(self, points):
        self.points, self.kind, self.ranks_ties, self.asked = points, points.kind, points.ranks_ties, []

    def __getattr__(self, name):
        def answer(*arguments):
            self.asked.append(name)
            return getattr(self.points, name)(*arguments)

        return answer


def views(engine):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 3)).round(1)  # with ties
    similarity = np.exp(-np.abs(x[:, :1] - x[:, :1].T)) + np.eye(60)
    yield place(engine, x, "euclidean")
    yield place(engine, np.abs(x), "cosine")
    yield place(engine, sparse.csr_array(np.maximum(x, 0)), "cosine")
    yield place(engine, x, "manhattan")
    yield place(engine, similarity, "precomputed_similarity")
    yield place(engine, x, "euclidean", seen=np.arange(60) % 7 > 0)


@pytest.mark.parametrize("number", range(6))
def test_the_answers_are_the_same_and_computed_once(host_engine, number):
    plain = list(views(host_engine))[number].points
    counting = Counting(plain)
    cached = CachedPoints(counting)
    edges = EdgeSet.union([plain.nearest(9).lists])
    for _ in range(2):
        for k in (9, 4, 1):
            found, expected = cached.nearest(k), plain.nearest(k)
            np.testing.assert_array_equal(found.lists, expected.lists)
            assert found.report == expected.report
        np.testing.assert_array_equal(cached.measure(edges), plain.measure(edges))
        assert cached.mean_over_pairs() == plain.mean_over_pairs()
        assert cached.is_constant() == plain.is_constant()
    assert cached.kind == plain.kind
    assert cached.ranks_ties == plain.ranks_ties
    assert sorted(counting.asked) == ["is_constant", "mean_over_pairs", "measure", "nearest"]


def test_a_longer_list_is_searched_again_and_then_kept(host_engine):
    plain = next(views(host_engine)).points
    counting = Counting(plain)
    cached = CachedPoints(counting)
    for k in (3, 8, 3, 8):
        np.testing.assert_array_equal(cached.nearest(k).lists, plain.nearest(k).lists)
    assert counting.asked == ["nearest", "nearest"]


def test_every_kind_of_search_is_kept_by_itself(host_engine):
    counting = Counting(next(views(host_engine)).points)
    cached = CachedPoints(counting)
    for search in ("exact", "auto", "exact", "auto"):
        cached.nearest(5, search)
    assert counting.asked == ["nearest", "nearest"]


@pytest.mark.parametrize("number", range(6))
def test_another_order_is_kept_too(host_engine, number):
    plain = list(views(host_engine))[number].points
    counting = Counting(plain)
    cached = CachedPoints(counting)
    order, other = (np.random.default_rng(seed).permutation(60) for seed in (1, 2))
    for one in (order, order, other):
        shuffled, expected = cached.reordered(one), plain.reordered(one)
        np.testing.assert_array_equal(shuffled.nearest(5).lists, expected.nearest(5).lists)
        edges = EdgeSet.union([shuffled.nearest(5).lists])
        np.testing.assert_array_equal(shuffled.measure(edges), expected.measure(edges))
    assert counting.asked == ["reordered", "reordered"]


def test_what_is_done_to_an_answer_does_not_come_back(host_engine):
    cached = next(views(host_engine)).cached()
    edges = EdgeSet.union([cached.nearest(3)])
    expected = cached.nearest(3), cached.measure(edges)
    cached.nearest(3)[:] = 0
    cached.measure(edges)[:] = 0
    np.testing.assert_array_equal(cached.nearest(3), expected[0])
    np.testing.assert_array_equal(cached.measure(edges), expected[1])


def test_old_edge_sets_are_forgotten(host_engine):
    cached = next(views(host_engine)).cached()
    for k in range(1, 9):
        cached.measure(EdgeSet.union([cached.nearest(k)]))
    assert len(cached.points._measured) == 4
