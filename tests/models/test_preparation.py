"""`prepare_views`: what our estimators see, for everybody else."""

import warnings

import numpy as np
import pytest
from scipy import sparse

from consilience import DistanceGraphFusion, Views, make_multiview, prepare_views
from consilience.models import AverageGraph

N, C = 150, 3


@pytest.fixture(scope="module")
def made():
    sample = make_multiview(N, n_views=3, noise_views=2, n_clusters=C, separation=4.0, random_state=0)
    sample.views["view_1"][:, 0] *= 1e5
    words = np.random.default_rng(0).poisson(0.2, size=(N, 60))
    words[:, :C] += 6 * (np.arange(C) == sample.y[:, None])
    views = {**sample.views, "words": sparse.csr_array(words.astype(float))}
    return views, sample.y


def quiet(function, *given, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*given, **options)


def test_a_fit_to_prepared_views_is_a_fit_that_prepares_them(made):
    views, _ = made
    prepared = quiet(prepare_views, views, C)
    assert prepared.names == ("view_0", "view_1", "view_2", "words")
    given = {"n_clusters": C, "random_state": 0, "row_order": "given"}  # as their contents differ
    own = quiet(DistanceGraphFusion(**given).fit, views)
    other = quiet(
        DistanceGraphFusion(scale="none", metric=["euclidean"] * 3 + ["cosine"], **given).fit, prepared
    )
    np.testing.assert_array_equal(own.labels_, other.labels_)
    kept = own.view_weights_ > 0
    np.testing.assert_allclose(own.view_weights_[kept], other.view_weights_, rtol=1e-6)


def test_nothing_changes_where_nothing_is_asked_for(made):
    views = {name: made[0][name] for name in ("view_0", "noise_0")}
    prepared = prepare_views(views, C, scale="none", view_selection="all")
    assert prepared.fingerprint() == Views(views).fingerprint()


def test_rows_of_cosine_views_have_unit_length_and_stay_sparse(made):
    words = quiet(prepare_views, {"words": made[0]["words"]}, C, view_selection="all")["words"]
    assert sparse.issparse(words)
    np.testing.assert_allclose(np.asarray(words.multiply(words).sum(axis=1)).ravel(), 1.0)


def test_missing_samples_ids_and_matrices_between_samples_stay(made):
    views, _ = made
    x = views["view_0"]
    distances = np.linalg.norm(x[:, None] - x[None], axis=2)
    mask = np.ones((N, 3), dtype=bool)
    mask[5:9, 1] = False
    given = Views(
        {"a": x, "b": views["view_1"], "pairs": distances},
        mask=mask,
        sample_ids=[f"s{i}" for i in range(N)],
        pairwise=["pairs"],
    )
    prepared = quiet(
        prepare_views, given, C, metric=["auto", "auto", "precomputed_distance"], view_selection="all"
    )
    np.testing.assert_array_equal(prepared.mask, mask)
    assert prepared.pairwise == (False, False, True) and prepared.sample_ids[3] == "s3"
    np.testing.assert_array_equal(prepared["pairs"], distances)
    assert not prepared["b"][5:9].any() and prepared["b"].std() < 100
    assert quiet(AverageGraph(n_clusters=C).fit, prepared.select(["a", "b"])).labels_.shape == (N,)


def test_wrong_words_are_errors(made):
    with pytest.raises(ValueError, match="Unknown scale 'much'"):
        prepare_views(made[0], scale="much")
    with pytest.raises(ValueError, match="Unknown view_selection 'some'"):
        prepare_views(made[0], view_selection="some")
