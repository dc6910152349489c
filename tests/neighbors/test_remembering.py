import numpy as np
import pytest
from scipy import sparse

from consilience.graph import EdgeSet
from consilience.neighbors import RememberingSpace, as_space


class Counting:
    """A space that counts what it is asked."""

    def __init__(self, space):
        self.space, self.kind, self.asked = space, space.kind, []

    def __getattr__(self, name):
        def answer(*arguments):
            self.asked.append(name)
            return getattr(self.space, name)(*arguments)

        return answer


def spaces():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 3)).round(1)  # with ties
    yield as_space(x, "euclidean")
    yield as_space(np.abs(x), "cosine")
    yield as_space(sparse.csr_array(np.maximum(x, 0)), "cosine")
    yield as_space(x, "manhattan")
    yield as_space(np.exp(-np.abs(x[:, :1] - x[:, :1].T)) + np.eye(60), "precomputed_similarity")
    yield as_space(x, "euclidean", seen=np.arange(60) % 7 > 0)


@pytest.mark.parametrize("number", range(6))
def test_the_answers_are_the_same_and_computed_once(number):
    plain = list(spaces())[number]
    counting = Counting(plain)
    space = RememberingSpace(counting)
    edges = EdgeSet.union([plain.nearest(9)])
    for _ in range(2):
        for k in (9, 4, 1):
            np.testing.assert_array_equal(space.nearest(k), plain.nearest(k))
        np.testing.assert_array_equal(space.on_edges(edges), plain.on_edges(edges))
        assert space.mean_over_pairs() == plain.mean_over_pairs()
        assert space.is_constant() == plain.is_constant()
    assert space.kind == plain.kind
    assert sorted(counting.asked) == ["is_constant", "mean_over_pairs", "nearest", "on_edges"]


def test_what_is_done_to_an_answer_does_not_come_back():
    space = RememberingSpace(next(spaces()))
    edges = EdgeSet.union([space.nearest(3)])
    expected = space.nearest(3), space.on_edges(edges)
    space.nearest(3)[:] = 0
    space.on_edges(edges)[:] = 0
    np.testing.assert_array_equal(space.nearest(3), expected[0])
    np.testing.assert_array_equal(space.on_edges(edges), expected[1])


def test_old_edge_sets_are_forgotten():
    space = RememberingSpace(next(spaces()))
    for k in range(1, 9):
        space.on_edges(EdgeSet.union([space.nearest(k)]))
    assert len(space._on_edges) == 4
