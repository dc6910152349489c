"""`view_selection`: every system can leave out the views that SGF and DGF leave out."""

import warnings

import numpy as np
import pytest

from consilience import (
    PAPER,
    DistanceGraphFusion,
    SimilarityGraphFusion,
    Views,
    config_context,
    make_multiview,
)
from consilience.models import AverageGraph, ConcatenatedSpectral, SharedViews, SingleViewSpectral, systems

N, C = 120, 3


@pytest.fixture(scope="module")
def made():
    return make_multiview(N, n_views=3, noise_views=2, n_clusters=C, separation=4.0, random_state=0)


@pytest.fixture(scope="module")
def real(made):
    """The views without those of noise."""
    return {name: made.views[name] for name in made.views if not name.startswith("noise")}


def fit(model, views):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(views)


@pytest.mark.parametrize("name", systems())
def test_a_system_without_the_noise_views_finds_what_it_finds_when_they_are_not_there(name, made, real):
    system = systems()[name]
    given = {"n_clusters": C, "random_state": 0}
    with_noise = fit(system(view_selection="agreement", **given), made.views)
    without = fit(system(**given), real)
    np.testing.assert_array_equal(with_noise.labels_, without.labels_)
    assert len(with_noise.view_names_) == 5


@pytest.mark.parametrize("name", systems())
def test_shared_views_give_the_same(name, made):
    model = systems()[name](n_clusters=C, random_state=0, view_selection="agreement", scale="auto")
    alone = fit(model, made.views).labels_
    shared = SharedViews(made.views)
    for _ in range(2):
        np.testing.assert_array_equal(fit(model, shared).labels_, alone)


@pytest.mark.parametrize("name", systems())
def test_it_says_what_it_leaves_out_and_how_to_keep_it(name, made):
    model = systems()[name](n_clusters=C, random_state=0, view_selection="agreement")
    fit(model, made.views)
    said = [text for text in model.warnings_ if "agree with no other view" in text]
    setting = "view_weights='uniform'" if name in ("SGF", "DGF") else "view_selection='all'"
    assert len(said) == 1 and "'noise_0', 'noise_1'" in said[0] and setting in said[0]


@pytest.mark.parametrize("system", [SimilarityGraphFusion, DistanceGraphFusion])
def test_of_sgf_and_dgf_auto_follows_the_weights(system, made):
    given = {"n_clusters": C, "random_state": 0}
    default, said = (
        fit(system(**given), made.views),
        fit(system(view_selection="agreement", **given), made.views),
    )
    assert (default.graph_ != said.graph_).nnz == 0
    np.testing.assert_array_equal(default.view_weights_, said.view_weights_)
    assert fit(system(view_weights="uniform", **given), made.views).views_.kept.all()


@pytest.mark.parametrize("system", [SimilarityGraphFusion, DistanceGraphFusion, AverageGraph])
def test_views_can_be_selected_and_then_count_alike(system, made):
    model = system(n_clusters=C, random_state=0, view_weights="uniform", view_selection="agreement")
    fit(model, made.views)
    np.testing.assert_array_equal(model.views_.kept, [True, True, True, False, False])
    if system is not AverageGraph:
        np.testing.assert_array_equal(model.view_weights_, [1, 1, 1, 0, 0])
    assert model.predict(made.views).shape == (N,)


def test_given_weights_stay_with_their_views(made):
    weights = dict(zip(made.views, [1.0, 2.0, 3.0, 4.0, 5.0], strict=True))
    model = SimilarityGraphFusion(n_clusters=C, view_weights=weights, view_selection="agreement")
    np.testing.assert_array_equal(fit(model, made.views).view_weights_, [1, 2, 3, 0, 0])


def test_weights_by_agreement_cannot_keep_all_views(made):
    model = SimilarityGraphFusion(n_clusters=C, view_selection="all")
    with pytest.raises(ValueError, match=r"view_selection='all' pass view_weights='uniform'"):
        model.fit(made.views)


@pytest.mark.parametrize("name", systems())
def test_other_words_are_an_error(name, made):
    with pytest.raises(ValueError, match=r"Unknown view_selection .some.; known"):
        systems()[name](n_clusters=C, view_selection="some").fit(made.views)


def test_the_paper_keeps_all_views(made):
    model = SimilarityGraphFusion(n_clusters=C, n_neighbors=6, beta=1.0, gamma=1.0, random_state=0, **PAPER)
    assert fit(model, made.views).views_.kept.all()


def test_a_view_that_was_asked_for_is_not_left_out(made):
    with pytest.raises(ValueError, match="has no effect where the view is given"):
        SingleViewSpectral(n_clusters=C, view="noise_0", view_selection="agreement").fit(made.views)
    best = fit(SingleViewSpectral(n_clusters=C, random_state=0, view_selection="agreement"), made.views)
    assert np.isnan(best.view_scores_[3:]).all() and not np.isnan(best.view_scores_[:3]).any()


def test_the_concatenation_compares_each_view_by_its_own_metric(made, real):
    counts = np.random.default_rng(0).poisson(0.1, size=(N, 40))
    counts[:, :C] = 5 * (np.arange(C) == made.y[:, None])
    views = {**made.views, "words": counts}
    model = ConcatenatedSpectral(n_clusters=C, random_state=0, view_selection="agreement", scale="auto")
    wanted = ConcatenatedSpectral(
        n_clusters=C, random_state=0, scale="auto", metric=fit(model, views).metrics_[0]
    )
    np.testing.assert_array_equal(model.labels_, fit(wanted, {**real, "words": counts}).labels_)


def test_with_missing_samples_the_average_selects_too(made, real):
    mask = np.random.default_rng(0).random((N, 5)) > 0.1
    mask[:, 0] = True
    model = fit(
        AverageGraph(n_clusters=C, random_state=0, view_selection="agreement"), Views(made.views, mask=mask)
    )
    np.testing.assert_array_equal(model.views_.kept, [True, True, True, False, False])


@pytest.mark.parametrize("name", ["SGF-0", "Average"])
def test_a_fit_that_was_stopped_goes_on_with_the_same_selection(name, made, tmp_path, monkeypatch):
    model = systems()[name](n_clusters=C, random_state=0, view_selection="agreement")
    expected = fit(model, made.views).labels_

    def stop(*_, **__):
        raise KeyboardInterrupt

    with config_context(checkpoint_dir=tmp_path):
        with monkeypatch.context() as patched:
            patched.setattr("consilience.models.base.embed", stop)
            with pytest.raises(KeyboardInterrupt):
                fit(model, made.views)
        np.testing.assert_array_equal(fit(model, made.views).labels_, expected)
