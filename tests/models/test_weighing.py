"""Which views and rows count: those that agree with no other, copies, two views, and what is said of it."""

import warnings

import numpy as np
import pytest

from consilience import PAPER, DistanceGraphFusion, SimilarityGraphFusion, Views, make_multiview
from consilience.metrics import nmi
from consilience.models import SharedViews

pytestmark = pytest.mark.long

both = pytest.mark.parametrize("method", [SimilarityGraphFusion, DistanceGraphFusion])


@pytest.fixture(scope="module")
def sample():
    return make_multiview(300, n_views=3, n_clusters=4, separation=5.0, random_state=0)


def fit(method, views, **parameters):
    """Fit and return the model and what it warned of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = method(n_clusters=4, random_state=0, **parameters).fit(views)
    return model, [str(one.message) for one in caught]


def noise(n_views, n=300, seed=1):
    rng = np.random.default_rng(seed)
    return {f"noise_{i}": rng.normal(size=(n, 5 + 20 * i)) for i in range(n_views)}


@both
def test_agreement_and_rows_are_the_defaults_and_paper_turns_them_off(method, sample):
    made = method().get_params()
    assert (made["view_weights"], made["row_weights"], made["scale"]) == ("agreement", "auto", "auto")
    model, said = fit(method, {**sample.views, **noise(1)}, n_neighbors=6, **PAPER)
    assert not any("noise_0" in message for message in said)
    np.testing.assert_array_equal(model.view_weights_, 1)
    np.testing.assert_array_equal(model.row_reliability_, 1)
    assert model.agreement_ is None  # nothing was compared
    assert np.isnan(model.view_reliability_).all()


@both
@pytest.mark.parametrize("n_noise", [1, 3, 6])
def test_noise_costs_nothing_and_is_named(method, sample, n_noise):
    # Noise has its part in the order of the samples, and sums in another order are rounded otherwise.
    clean, _ = fit(method, sample.views, row_order="given")
    model, said = fit(method, {**noise(n_noise), **sample.views}, row_order="given")
    np.testing.assert_array_equal(model.labels_, clean.labels_)
    np.testing.assert_array_equal(model.fusion_.fused, clean.fusion_.fused)
    np.testing.assert_array_equal(model.view_weights_[:n_noise], 0)
    np.testing.assert_allclose(model.view_weights_[n_noise:], clean.view_weights_)
    np.testing.assert_array_equal(model.view_reliability_[:n_noise], 0)
    assert len(said) == 1 and all(repr(f"noise_{i}") in said[0] for i in range(n_noise))
    assert "left out; view_weights='uniform' keeps" in said[0] and "view_0" not in said[0]


@both
def test_a_view_left_out_keeps_its_place(method, sample):
    views = {"view_0": sample.views["view_0"], **noise(1), "view_1": sample.views["view_1"]}
    model, _ = fit(method, views)
    assert list(model.view_names_) == ["view_0", "noise_0", "view_1"]
    for values in (model.inconsistent_, model.consistent_, model.row_reliability_):
        np.testing.assert_array_equal(np.isnan(values).all(axis=0), [False, True, False])
    assert np.isnan(model.views_["noise_0"]["inconsistent_share"]) and model.view_contributions_[1] == 0
    shares = model.agreement_.shares
    assert shares.shape == (3, 3) and np.isfinite(shares).all()
    assert abs(shares[1, 0]) < 0.05 < shares[0, 2]


@both
def test_many_views_left_out_are_not_all_listed(method, sample):
    _, said = fit(method, {**sample.views, **noise(12)})
    assert "'noise_7' and 4 more" in said[0] and "noise_8" not in said[0]


@both
def test_uniform_keeps_everything(method, sample):
    model, said = fit(method, {**sample.views, **noise(2)}, view_weights="uniform")
    np.testing.assert_array_equal(model.view_weights_, 1)
    assert said == [] and np.all(np.abs(model.view_reliability_[3:]) == 0)


@both
def test_weights_given_are_taken(method, sample):
    model, _ = fit(method, sample.views, view_weights=[1.0, 2.0, 3.0])
    np.testing.assert_array_equal(model.view_weights_, [1, 2, 3])


@both
def test_a_copy_changes_nothing_and_is_named(method, sample):
    clean, _ = fit(method, sample.views)
    views = {**sample.views, "again": sample.views["view_1"] * 3}
    model, said = fit(method, views)
    np.testing.assert_array_equal(model.labels_, clean.labels_)
    np.testing.assert_allclose(model.view_weights_, [*clean.view_weights_, 0])
    np.testing.assert_allclose(model.view_reliability_, clean.view_reliability_[[0, 1, 2, 1]])
    assert len(said) == 1 and said[0].startswith(
        "View 'again' is a copy of 'view_1', or nearly: they share 100%"
    )


@both
def test_copies_that_have_seen_different_samples_are_not_said_to_disagree(method, sample):
    mask = np.ones((300, 2), dtype=bool)
    mask[:30, 0] = mask[270:, 1] = False
    view = sample.views["view_0"]
    model, said = fit(method, Views([view, view], mask=mask))
    assert said == []
    np.testing.assert_array_equal(model.view_weights_ > 0, True)


@both
def test_copies_of_noise_do_not_vote_for_each_other(method, sample):
    one = noise(1)["noise_0"]
    clean, _ = fit(method, sample.views)
    model, said = fit(method, {**sample.views, "a": one, "b": one, "c": one + 1e-6})
    np.testing.assert_array_equal(model.labels_, clean.labels_)
    np.testing.assert_array_equal(model.view_weights_[3:], 0)
    assert sum("is a copy of 'a'" in message for message in said) == 2
    assert any(message.startswith("View 'a' agrees with no other view") for message in said)


@both
def test_all_rows_of_a_view_shuffled_is_as_if_it_were_not_there(method, sample):
    order = np.random.default_rng(2).permutation(300)
    views = {**sample.views, "view_1": sample.views["view_1"][order]}
    model, said = fit(method, views)
    without, _ = fit(method, {name: view for name, view in sample.views.items() if name != "view_1"})
    np.testing.assert_array_equal(model.labels_, without.labels_)
    assert len(said) == 1 and "View 'view_1' agrees with no other" in said[0]


@both
def test_of_two_views_neither_can_be_preferred(method, sample):
    one, two = sample.views["view_0"], sample.views["view_1"]
    model, said = fit(method, [one, two])
    assert said == [] and model.view_reliability_[0] == model.view_reliability_[1] > 0
    np.testing.assert_array_equal(model.view_weights_, 1)
    model, said = fit(method, [one, two[np.random.default_rng(3).permutation(300)]])
    np.testing.assert_array_equal(model.view_weights_, 1)
    np.testing.assert_array_equal(model.view_reliability_, 0)
    assert "neither can be preferred" in said[0] and "same order" in said[0]


@both
def test_if_no_two_agree_all_count_alike(method):
    model, said = fit(method, noise(4))
    np.testing.assert_array_equal(model.view_weights_, 1)
    assert "No two of the 4 views agree" in said[0]


@both
def test_if_no_two_agree_views_without_structure_are_left_out(method, sample):
    one, two = (make_multiview(300, n_views=1, n_clusters=4, separation=5.0, random_state=i) for i in (1, 2))
    unlike = {"one": one.views["view_0"], "two": two.views["view_0"]}
    clean, _ = fit(method, unlike)
    model, said = fit(method, {**unlike, **noise(4)})
    np.testing.assert_array_equal(model.labels_, clean.labels_)
    np.testing.assert_array_equal(model.view_weights_, [1, 1, 0, 0, 0, 0])
    assert "that have structure of their own ('one', 'two')" in said[0] and "neither can be" in said[0]
    assert "'noise_3' agree with no other view" in said[1] and "no structure of their own" in said[1]
    model, said = fit(method, {"one": unlike["one"], **noise(1)})
    np.testing.assert_array_equal(model.view_weights_, [1, 0])
    alone, _ = fit(method, {"one": unlike["one"]})
    np.testing.assert_array_equal(model.labels_, alone.labels_)
    assert len(said) == 1 and said[0].startswith("View 'noise_0' agrees with no other view")
    assert "and has no structure of its own. It is left out; view_weights='uniform' keeps it" in said[0]


@both
def test_groups_that_show_different_clusterings_are_named(method, sample):
    other = make_multiview(300, n_views=2, n_clusters=4, separation=5.0, random_state=5)
    views = {**sample.views, **{f"other_{i}": view for i, view in enumerate(other.views.values())}}
    model, said = fit(method, views)
    clean, _ = fit(method, sample.views)
    np.testing.assert_array_equal(model.labels_, clean.labels_)
    np.testing.assert_array_equal(model.view_weights_[3:], 0)
    assert len(said) == 1 and "2 groups" in said[0]
    assert "'view_0', 'view_1', 'view_2'; 'other_0', 'other_1'" in said[0]
    assert "Only the largest group is kept ('view_0', 'view_1', 'view_2')" in said[0]
    del views["view_2"]
    model, said = fit(method, views)
    np.testing.assert_allclose(model.view_weights_, 1, atol=0.1)
    assert len(said) == 1 and "None can be preferred" in said[0]


@both
@pytest.mark.parametrize("common", [0.1, 0.5, 1.0])
def test_noise_with_something_in_common_does_not_win(method, sample, common):
    rng = np.random.default_rng(6)
    noise_a = rng.normal(size=(300, 5))
    views = {**sample.views, "a": noise_a, "b": noise_a + common * rng.normal(size=(300, 5))}
    clean, _ = fit(method, sample.views)
    model, _ = fit(method, views)
    np.testing.assert_array_equal(model.labels_, clean.labels_)


@both
def test_discrete_noise_is_left_out_too(method, sample):
    rng = np.random.default_rng(7)
    kinds = {f"kind_{i}": np.eye(5)[rng.integers(5, size=300)] for i in range(4)}
    clean, _ = fit(method, sample.views)
    model, said = fit(method, {**sample.views, **kinds})
    np.testing.assert_array_equal(model.view_weights_[3:], 0)
    np.testing.assert_array_equal(model.labels_, clean.labels_)
    assert "'kind_3'" in said[0]


@both
def test_warnings_point_at_the_line_of_the_user(method, sample):
    views = {**sample.views, **noise(1)}
    for call in (lambda m: m.fit(views), lambda m: m.fit_predict(views), lambda m: m.fit(SharedViews(views))):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            call(method(n_clusters=4, random_state=0))
        assert [warning.filename for warning in caught] == [__file__]


@both
def test_one_view_alone_says_nothing_of_agreement(method, sample):
    model, said = fit(method, [sample.views["view_0"]])
    assert said == [] and np.isnan(model.view_reliability_).all()
    np.testing.assert_array_equal(model.agreement_.shares, [[1]])
    np.testing.assert_array_equal(model.view_weights_, [1])


@both
def test_spoiled_rows_cost_less_with_row_weights(method):
    gains = []
    for seed in range(3):
        # Views that share more than the clusters: who is near whom within them, too.
        sample = make_multiview(400, n_views=1, n_clusters=4, n_features=4, separation=4.0, random_state=seed)
        rng = np.random.default_rng(seed)
        views = [sample.views["view_0"] + 0.3 * rng.normal(size=(400, 4)) for _ in range(4)]
        for view in views:
            spoiled = rng.choice(400, 120, replace=False)
            view[spoiled] = view[rng.permutation(spoiled)]
        scores = [
            nmi(sample.y, fit(method, views, row_weights=weights)[0].labels_)
            for weights in ("uniform", "agreement")
        ]
        gains.append(scores[1] - scores[0])
    assert np.min(gains) > 0.01 and np.mean(gains) > 0.03


@both
def test_rows_found_spoiled_are_those_that_are(method):
    sample = make_multiview(
        500, n_views=4, n_clusters=5, separation=7.0, scrambled=[0.2, 0, 0, 0], random_state=0
    )
    model, _ = fit(method, sample.views)
    spoiled = sample.scrambled[:, 0]
    rows = model.row_reliability_[:, 0]
    assert np.mean(rows[spoiled][:, None] < rows[~spoiled]) > 0.6 and rows[spoiled].mean() < 0.8
    assert model.row_reliability_[:, 1:].mean() > 0.9


@both
def test_samples_missing_are_outside(method):
    sample = make_multiview(300, n_views=4, n_clusters=4, separation=6.0, missing=0.3, random_state=0)
    model, said = fit(method, Views({**sample.views}, mask=sample.mask))
    assert said == [] and nmi(sample.y, model.labels_) > 0.9
    np.testing.assert_array_equal(np.isnan(model.row_reliability_), ~sample.mask)
    assert np.all(model.view_reliability_ > 0)


@both
def test_a_noise_view_with_missing_samples_is_left_out_too(method):
    sample = make_multiview(
        400, n_views=3, noise_views=2, n_clusters=4, separation=6.0, missing=0.2, random_state=0
    )
    model, said = fit(method, Views({**sample.views}, mask=sample.mask))
    np.testing.assert_array_equal(model.view_weights_ == 0, sample.noise)
    assert "'noise_0', 'noise_1'" in said[0] and nmi(sample.y, model.labels_) > 0.9


@both
def test_both_engines_agree(method, sample):
    fast, _ = fit(method, {**sample.views, **noise(1)})
    readable, _ = fit(method, {**sample.views, **noise(1)}, engine="numpy")
    np.testing.assert_allclose(fast.fusion_.fused, readable.fusion_.fused, rtol=1e-9)
    np.testing.assert_array_equal(fast.labels_, readable.labels_)


@both
def test_a_dominated_view_is_rescaled_with_a_warning_that_names_it(method, sample):
    rng = np.random.default_rng(4)
    clean, _ = fit(method, sample.views)
    view = np.concatenate([sample.views["view_0"], 1e5 * rng.normal(size=(300, 2))], axis=1)
    model, said = fit(method, {**sample.views, "view_0": view})
    assert len(said) == 1
    assert said[0].startswith("View 'view_0' is dominated by 2 of its 12 features (1")
    assert abs(nmi(sample.y, model.labels_) - nmi(sample.y, clean.labels_)) < 0.03
    model, said = fit(method, {**sample.views, "view_0": view}, scale="none")
    assert model.view_weights_[0] == 0 and "agrees with no other view" in said[0]
    model, said = fit(method, {**sample.views, "view_0": sample.views["view_0"] * 10.0 ** np.arange(10)})
    assert "'view_0' is carried by about 1.0 of its 10 features" in said[0]
    assert nmi(sample.y, model.labels_) > 0.9


@both
def test_the_unit_of_a_view_changes_nothing(method, sample):
    clean, _ = fit(method, sample.views)
    model, said = fit(method, {**sample.views, "view_0": 2.0**20 * sample.views["view_0"]})
    assert said == []
    np.testing.assert_array_equal(model.labels_, clean.labels_)
