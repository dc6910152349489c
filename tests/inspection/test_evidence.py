"""What views say of samples: the fast counts against loops."""

from __future__ import annotations

import numpy as np
import pytest

from consilience import DistanceGraphFusion, Views, make_multiview
from consilience.engines import get_engine
from consilience.inspection.evidence import gather_evidence
from consilience.inspection.subject import as_subject

from .twins import shared_neighbors, two_step_votes

both_engines = pytest.mark.parametrize("engine", ["numba", "numpy"])


def random_lists(rng, n, k, v=1):
    lists = []
    for _ in range(v):
        rows = [rng.permutation([t for t in range(n) if t != s])[:k] for s in range(n)]
        lists.append(np.array(rows, dtype=np.int32))
    return lists


def votes(neighbors, members, engine):
    engine = get_engine(engine)
    return engine.votes(engine.neighbor_graph(engine.adopt(neighbors)), members)


@both_engines
@pytest.mark.parametrize("seed", range(5))
def test_walks_agree_with_loops(engine, seed):
    rng = np.random.default_rng(seed)
    neighbors = random_lists(rng, 30, 4)[0]
    neighbors[3:6, 1:] = np.arange(3, 6)[:, None]  # few neighbours
    members = rng.dirichlet(np.ones(3), size=30)
    shares = members.mean(axis=0)
    found = votes(neighbors, members, engine)
    np.testing.assert_allclose(found, two_step_votes(neighbors, members, shares), atol=1e-12)


@both_engines
def test_a_sample_without_neighbours_says_nothing(engine):
    neighbors = np.array([[1], [0], [2], [2]], dtype=np.int32)  # 2 names nobody, 3 names 2
    members = np.eye(2)[[0, 1, 0, 1]]
    found = votes(neighbors, members, engine)
    # Walks from 0 and 1 can only return, those from 2 and 3, too: nobody is a witness about himself.
    np.testing.assert_allclose(found, 0.5)


@pytest.fixture(scope="module", params=["numba", "numpy"])
def planted(request):
    data = make_multiview(200, n_views=3, n_clusters=3, separation=4.0, random_state=1)
    return DistanceGraphFusion(n_clusters=3, random_state=0, engine=request.param).fit(data.views)


@pytest.mark.parametrize("seed", range(3))
def test_confirmed_neighbours_agree_with_loops(planted, seed):
    rng = np.random.default_rng(seed)
    subject = as_subject(planted)
    evidence = gather_evidence(subject)
    assert evidence.engine.name == planted.engine
    rows, places = rng.integers(200, size=(2, 300))
    rows[:50] = places[:50]
    for i in range(3):
        others = evidence.witnesses.copy()
        others[:, i] = False
        expected = shared_neighbors(list(subject.lists), i, others, rows, places)
        np.testing.assert_array_equal(evidence.n_confirmed(i, rows, places), expected)


def test_what_others_say_is_without_the_view_itself(planted):
    """Scrambling a view's own likelihoods does not change what the others say."""
    evidence = gather_evidence(as_subject(planted))
    before = evidence.by_others(1)
    evidence.likelihoods[1][:] = evidence.likelihoods[1][::-1]
    np.testing.assert_array_equal(evidence.by_others(1), before)
    assert not np.array_equal(evidence.by_others(0), before)
    np.testing.assert_allclose(before.sum(axis=1), 1.0)


def test_views_that_see_more_make_the_others_surer(planted):
    evidence = gather_evidence(as_subject(planted))
    all_of_them, one_less = evidence.by_all(), evidence.by_others(0)
    assert all_of_them.max(axis=1).mean() > one_less.max(axis=1).mean()


def test_views_are_no_witnesses_about_samples_they_have_not_seen():
    data = make_multiview(200, n_views=3, n_clusters=3, separation=4.0, missing=0.3, random_state=0)
    views = Views([np.nan_to_num(x) for x in data.views.values()], mask=data.mask)
    evidence = gather_evidence(as_subject(DistanceGraphFusion(n_clusters=3, random_state=0).fit(views)))
    np.testing.assert_array_equal(evidence.witnesses, data.mask)
    for i in range(3):
        assert np.all(evidence.likelihoods[i][~data.mask[:, i]] == 1.0)
        assert np.all(np.isfinite(evidence.likelihoods[i])) and np.all(evidence.likelihoods[i] > 0)
