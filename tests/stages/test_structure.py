"""Structure: halves of the features of a view of noise agree no more than by chance."""

import numpy as np
import pytest
from scipy import sparse

from consilience import make_multiview
from consilience.agreement import view_agreement
from consilience.engines import get_engine
from consilience.spaces import Space
from consilience.stages import nearest_neighbors
from consilience.stages.prepare import prepare
from consilience.stages.structure import MOST_SAMPLES, has_structure, with_structure
from consilience.views import Views

NUMBA = get_engine("numba")


def ask(rows, metric="euclidean", engine=NUMBA, **more):
    return has_structure(Space("x", rows, metric, **more), engine=engine)


def clustered(n=200, d=20, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) + 2 * rng.normal(size=(4, d))[rng.integers(0, 4, n)]


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan"])
def test_noise_has_none_and_clusters_have_it(metric):
    rng = np.random.default_rng(1)
    draws = [rng.normal(size=(60 + 10 * i, 4 + 3 * i)) for i in range(40)]
    assert sum(ask(rows, metric) for rows in draws) <= 2  # of 40, at a level of 1 in 100
    assert all(ask(clustered(seed=i), metric) for i in range(10))


def test_what_cannot_be_divided_counts_as_structure():
    rows = np.random.default_rng(2).normal(size=(50, 6))
    assert ask(rows[:, :1]) and ask(rows, "chebyshev")
    assert ask(np.abs(rows @ rows.T), "precomputed_similarity")


def test_too_few_samples_to_say_count_as_structure():
    noise = np.random.default_rng(2).normal(size=(11, 6))  # each is a neighbour of each
    assert ask(noise[:1]) and ask(noise[:2]) and ask(noise)


def test_equal_samples_have_none():
    assert not ask(np.ones((30, 4)))
    assert not ask(sparse.csr_array((30, 4)))


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_constant_features_change_nothing(kind):
    rng = np.random.default_rng(8)
    noise, rows = np.abs(rng.normal(size=(200, 6))), np.abs(clustered(200, 6))
    empty, ones = np.zeros((200, 3)), np.ones((200, 9))
    for one, expected in ((noise, False), (rows, True), (rows[:, :1], True)):
        assert ask(kind(one)) == ask(kind(np.column_stack([empty, one, ones]))) == expected


def test_only_samples_that_were_seen_are_looked_at():
    rows, seen = clustered(), np.arange(200) < 120
    spoiled = np.where(seen[:, None], np.random.default_rng(3).normal(size=rows.shape), rows)
    assert ask(rows, seen=seen) and not ask(spoiled, seen=seen)
    assert ask(rows, seen=np.zeros(200, dtype=bool))  # nobody knows


def test_sparse_views_and_many_samples():
    words = sparse.csr_array(sparse.random(300, 50, density=0.1, random_state=4))
    topics = sparse.csr_array(words + sparse.csr_array(np.kron(np.eye(3), np.ones((100, 50)))[:, :50] * 0.5))
    assert not ask(words, "cosine") and ask(topics, "cosine")
    many = clustered(3 * MOST_SAMPLES)
    assert ask(many) and not ask(np.random.default_rng(5).normal(size=many.shape))


def test_every_engine_says_the_same():
    rng = np.random.default_rng(6)
    for rows in (
        clustered(80),
        rng.normal(size=(80, 12)),
        np.round(clustered(80)),
        np.eye(5)[rng.integers(5, size=80)],
    ):
        assert ask(rows) == ask(rows, engine=get_engine("numpy"))


def test_only_views_in_doubt_are_looked_at(monkeypatch):
    sample = make_multiview(150, n_views=3, n_clusters=4, separation=5.0, random_state=0)
    rng = np.random.default_rng(7)
    views = Views({**sample.views, "noise": rng.normal(size=(150, 9))})
    prepared = prepare(views, ("euclidean",) * 4, "none", engine=NUMBA)
    agreement = view_agreement(nearest_neighbors(list(views.arrays), 10))
    asked = []

    def watched(space, level, *, engine):
        asked.append((space.name, level))
        return has_structure(space, level, engine=engine)

    monkeypatch.setattr("consilience.stages.structure.has_structure", watched)
    judged, found = with_structure(agreement, prepared, engine=NUMBA)
    assert asked == [("noise", 0.01)]
    np.testing.assert_array_equal(found, [True, True, True, False])
    assert judged.bars[0, 1] == pytest.approx(0.01 / 3) and judged.bars[0, 3] == pytest.approx(0.01 / 30 / 6)
