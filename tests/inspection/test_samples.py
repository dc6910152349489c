"""Misplaced rows: found, and flagged at the rate that is stated."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.metrics import roc_auc_score

from consilience import (
    DistanceGraphFusion,
    SimilarityGraphFusion,
    Views,
    consistent_graph,
    fuse_graphs,
    load_digits_views,
    make_multiview,
)
from consilience.engines import get_engine
from consilience.inspection import sample_conflicts
from consilience.inspection.mixture import Slopes, separate
from consilience.metrics import nmi
from consilience.models import AverageGraph
from consilience.models.systems.view_graphs import view_graph
from consilience.stages import prepare

pytestmark = pytest.mark.long

SEPARATION = 4.1  # at which single views score NMI 0.6 to 0.8, or hardly more
SEEDS = range(700, 706)  # not those that any constant was chosen on


def fitted(views, n_clusters, cls=DistanceGraphFusion, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return cls(n_clusters=n_clusters, random_state=0, **options).fit(views)


def planted(scrambled, seed, n=1000):
    return make_multiview(
        n, n_views=4, n_clusters=5, separation=SEPARATION, scrambled=scrambled, random_state=seed
    )


def shuffled(views, name, share, seed):
    """The views with some rows of one of them in each other's place, and which."""
    rng = np.random.default_rng(seed)
    n = len(views[name])
    moved = rng.choice(n, round(share * n), replace=False)
    order = np.arange(n)
    order[moved] = np.roll(moved, 1)
    truth = np.zeros((n, len(views)), dtype=bool)
    truth[moved, list(views).index(name)] = True
    return {**views, name: views[name][order]}, truth


def false_share(conflicts, truth):
    return 1 - truth[conflicts.flagged].mean()


def test_the_separation_is_the_one_asked_for():
    data = planted(0.0, 700)
    for name, view in data.views.items():
        alone = fitted({name: view}, 5, AverageGraph)
        assert 0.6 < nmi(data.y, alone.labels_) < 0.85


@pytest.fixture(scope="module")
def on_planted():
    found = {}
    for share in (0.1, 0.3):
        found[share] = [
            (sample_conflicts(fitted(data.views, 5)), data.scrambled)
            for data in (planted(share, seed) for seed in SEEDS)
        ]
    return found


@pytest.mark.parametrize("share, least", [(0.1, 0.95), (0.3, 0.9)])
def test_scrambled_rows_are_found(on_planted, share, least):
    areas = [roc_auc_score(truth.ravel(), found.scores.ravel()) for found, truth in on_planted[share]]
    assert np.mean(areas) >= least


@pytest.mark.parametrize("share", [0.1, 0.3])
def test_as_many_flags_are_false_as_is_stated(on_planted, share):
    flags = sum(int(found.flagged.sum()) for found, _ in on_planted[share])
    false = sum(int((found.flagged & ~truth).sum()) for found, truth in on_planted[share])
    assert flags > 100
    assert abs(false / flags - 0.05) <= 0.02 + 1e-9


def test_more_flags_at_a_higher_rate():
    """More flags at a higher rate, and more of them false; fewer at a lower one."""
    data = planted(0.1, 700)
    model = fitted(data.views, 5)
    few, more = (sample_conflicts(model, fdr=rate) for rate in (0.02, 0.2))
    assert 0 < few.flagged.sum() < more.flagged.sum()
    assert np.all(more.flagged[few.flagged])
    assert 0.05 < false_share(more, data.scrambled) < 0.3


def test_nothing_is_flagged_where_nothing_is_wrong():
    for seed in range(3):
        assert sample_conflicts(fitted(planted(0.0, seed).views, 5)).flagged.sum() == 0
    views, _ = load_digits_views(return_X_y=True)
    assert sample_conflicts(fitted(views, 10)).flagged.sum() <= 5  # of 10,782: digits that look like others


@pytest.mark.parametrize("name", ["pixels", "zernike"])
def test_shuffled_rows_of_digits(name):
    views, _ = load_digits_views(return_X_y=True)
    spoiled, truth = shuffled(views, name, 0.3, seed=3)
    found = sample_conflicts(fitted(spoiled, 10))
    i = list(views).index(name)
    assert roc_auc_score(truth.ravel(), found.scores.ravel()) >= 0.95
    assert roc_auc_score(truth[:, i], found.scores[:, i]) >= 0.95
    assert false_share(found, truth) <= 0.07
    assert found.flagged[:, i].sum() > 0.8 * truth.sum()
    assert abs(found.misplaced_shares[i] - 0.3) < 0.03
    assert set(found.worst(name, 100)) <= set(np.flatnonzero(truth[:, i]))


@pytest.mark.long
def test_shuffled_rows_of_uci_digits(dataset):
    arrays, _ = dataset("UCI_Digits")
    views = {f"view_{i}": array for i, array in enumerate(arrays)}
    areas, false = [], []
    for name in views:
        spoiled, truth = shuffled(views, name, 0.3, seed=11)
        found = sample_conflicts(fitted(spoiled, 10))
        areas.append(roc_auc_score(truth.ravel(), found.scores.ravel()))
        false.append(false_share(found, truth))
    assert min(areas) >= 0.95
    assert abs(np.mean(false) - 0.05) <= 0.02


def test_similarity_fusion_finds_them_too():
    data = planted(0.1, 701)
    found = sample_conflicts(fitted(data.views, 5, SimilarityGraphFusion))
    assert roc_auc_score(data.scrambled.ravel(), found.scores.ravel()) >= 0.95


def test_the_same_every_time_and_for_any_number_of_threads():
    data = planted(0.1, 702)
    first = sample_conflicts(fitted(data.views, 5, n_jobs=1))
    second = sample_conflicts(fitted(data.views, 5, n_jobs=2))
    np.testing.assert_array_equal(first.scores, second.scores)
    other = sample_conflicts(fitted(data.views, 5), random_state=1)
    assert not np.array_equal(first.scores, other.scores)
    assert np.corrcoef(first.scores.ravel(), other.scores.ravel())[0, 1] > 0.98


def test_a_view_left_out_is_still_diagnosed():
    """A view of noise has all rows misplaced, and does not make the others look bad."""
    data = make_multiview(800, n_views=3, n_clusters=4, separation=4.5, noise_views=1, random_state=0)
    model = fitted(data.views, 4)
    assert model.view_weights_[3] == 0
    found = sample_conflicts(model)
    assert found.misplaced_shares[3] > 0.6 and np.median(found.scores[:, 3]) > 0.6
    assert found.flagged.sum() == 0  # it is wrong as a whole
    kept = sample_conflicts(fitted(data.views, 4, view_weights="uniform"))
    assert np.median(kept.scores[:, 3]) > 0.6 and kept.flagged[:, :3].sum() == 0


def test_a_constant_view_and_a_single_view_say_nothing():
    data = planted(0.0, 703, n=200)
    with pytest.warns(UserWarning, match="constant"):
        model = DistanceGraphFusion(n_clusters=5, random_state=0).fit(
            {**data.views, "flat": np.ones((200, 2))}
        )
    found = sample_conflicts(model)
    assert np.isnan(found.scores[:, 4]).all() and np.isfinite(found.scores[:, :4]).all()
    alone = sample_conflicts(fitted(data.views["view_0"], 5))
    assert np.isnan(alone.scores).all() and not alone.flagged.any() and np.isnan(alone.misplaced_shares).all()


def test_of_two_views_both_are_blamed():
    data = make_multiview(1000, n_views=2, n_clusters=4, separation=6.0, scrambled=[0.2, 0], random_state=0)
    found = sample_conflicts(fitted(data.views, 4))
    spoiled = data.scrambled[:, 0]
    for i in range(2):
        assert roc_auc_score(spoiled, found.scores[:, i]) > 0.95


def test_missing_samples_have_no_score():
    data = make_multiview(
        800, n_views=4, n_clusters=4, separation=5.0, scrambled=0.1, missing=0.3, random_state=0
    )
    views = Views([np.nan_to_num(x) for x in data.views.values()], mask=data.mask)
    found = sample_conflicts(fitted(views, 4))
    alone = data.mask & (data.mask.sum(axis=1) == 1)[:, None]
    np.testing.assert_array_equal(np.isnan(found.scores), ~data.mask | alone)
    judged = np.isfinite(found.scores)
    assert roc_auc_score(data.scrambled[judged], found.scores[judged]) > 0.9


def test_graphs_that_people_bring():
    """On fused graphs, without clusters: neighbours in common are enough."""
    views, y = load_digits_views(return_X_y=True)
    spoiled, truth = shuffled(views, "pixels", 0.3, seed=1)
    engine = get_engine("numba")
    prepared = prepare(Views(spoiled), ("euclidean",) * len(spoiled), "none", engine=engine)
    graphs = {
        name: view_graph(i, prepared, 15, "exact", engine=engine) for i, name in enumerate(prepared.names)
    }
    fusion = fuse_graphs(graphs, kind="similarity")
    without, with_labels = sample_conflicts(fusion), sample_conflicts(fusion, labels=y)
    for found in (without, with_labels):
        assert roc_auc_score(truth.ravel(), found.scores.ravel()) > 0.95


@pytest.mark.parametrize("fdr", [0, 1, -0.1, 2, "x", None, float("nan")])
def test_a_rate_that_is_none(fdr):
    with pytest.raises(ValueError, match="fdr must be a number between 0 and 1"):
        sample_conflicts(fitted(planted(0.0, 0, n=100).views, 5), fdr=fdr)


def test_what_cannot_be_inspected():
    with pytest.raises(NotFittedError, match="call fit"):
        sample_conflicts(DistanceGraphFusion())
    with pytest.raises(TypeError, match="AverageGraph"):
        sample_conflicts(fitted(planted(0.0, 0, n=100).views, 5, AverageGraph))
    with pytest.raises(ValueError, match="fuse_graphs"):
        sample_conflicts(consistent_graph(np.ones((3, 2))))
    with pytest.raises(ValueError, match="one label for each of 100 samples"):
        sample_conflicts(fitted(planted(0.0, 0, n=100).views, 5), labels=[0, 1])


def test_a_mixture_of_known_parts_is_separated():
    """Two normal distributions, of which one is known: the share and the probabilities come out right."""
    rng = np.random.default_rng(0)
    n, share = 20_000, 0.2
    spoiled = rng.random(n) < share
    x = np.where(spoiled, rng.normal(2.0, 1.0, n), rng.normal(-1.0, 1.0, n))[:, None]
    known = rng.normal(2.0, 1.0, (n, 1))
    prior = Slopes(np.zeros(1), np.full(1, np.inf))
    found = separate(x, known, np.ones(n), np.zeros(n), 0.5, 1.0, prior)
    assert abs(found.share - share) < 0.01
    sound = found.sound(x, np.ones(n), np.zeros(n))
    exact = 1 / (1 + share / (1 - share) * np.exp(3 * x[:, 0] - 1.5))
    assert np.abs(sound - exact).max() < 0.03


def test_copies_do_not_vouch_for_each_other():
    data = make_multiview(800, n_views=3, n_clusters=4, separation=5.0, scrambled=[0.2, 0, 0], random_state=0)
    views = {**data.views, "copy": data.views["view_0"] + 1e-6}
    for weights in ("agreement", "uniform"):
        found = sample_conflicts(fitted(views, 4, view_weights=weights))
        for i in (0, 3):
            assert roc_auc_score(data.scrambled[:, 0], found.scores[:, i]) > 0.95
            assert found.n_flagged[i] > 10
        assert found.n_flagged[1] == found.n_flagged[2] == 0


def test_the_worst_rows():
    data = planted(0.1, 704, n=300)
    found = sample_conflicts(fitted(data.views, 5))
    worst = found.worst("view_1", 5)
    assert len(worst) == 5 and found.scores[worst[0], 1] == found.scores[:, 1].max()
    assert len(found.worst(0, 10**9)) == 300 and len(found.worst(0, -3)) == 0
    with pytest.raises(KeyError, match="no view 'nope'"):
        found.worst("nope")
