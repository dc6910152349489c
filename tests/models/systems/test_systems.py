"""What every system must do, whatever else it does: each that is registered is run through all of this."""

import inspect
import pickle
import re

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted
from tests.models.sklearn_checks import failed_checks

from consilience import Views, config_context, make_multiview, models
from consilience.engines.numba.points.features import DensePoints
from consilience.models import systems
from consilience.run import memory
from consilience.testing import assert_same_partition, check_multiview_estimator

pytestmark = [
    pytest.mark.filterwarnings("ignore:The graph has .* connected components"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]
every_system = pytest.mark.parametrize("name", systems())
COMMON = {
    "n_clusters",
    "n_neighbors",
    "metric",
    "scale",
    "neighbor_search",
    "engine",
    "n_jobs",
    "random_state",
    "verbose",
}
TAKES_MISSING = {"Average", "SNF", "SGF", "DGF"}
NEEDS_DISTANCES = {"DGF-0", "MCGC", "MVGL", "SNF"}
DENSE = {"MCGC", "RMSC", "SNF"}
ESTIMATED = {"SGF", "DGF", "Average"}  # see stages/test_memory.py
FEATURES_ONLY = {"Concatenated", "FastMICE"}


@pytest.fixture(scope="module")
def sample():
    return make_multiview(90, n_views=3, n_clusters=3, separation=7.0, random_state=0)


def test_the_systems_of_the_paper_are_all_there():
    paper = {"SC", "AASC", "AWP", "CoReg", "MCGC", "MVGL", "RMSC", "WMSC", "SGF-0", "DGF-0", "SGF", "DGF"}
    assert set(systems()) == paper | {"FastMICE", "SNF", "Average", "Concatenated"}
    for system in systems().values():
        assert getattr(models, system.__name__) is system
        assert system.__name__ in models.__all__


@pytest.mark.long
@every_system
@pytest.mark.filterwarnings("ignore:Only .* clusters have samples", "ignore:The random walk has")
def test_scikit_learns_checks(name):
    failed, _ = failed_checks(systems()[name]())
    assert not failed, failed


@pytest.mark.long
@every_system
def test_our_checks(name):
    check_multiview_estimator(systems()[name]())


@every_system
def test_all_have_the_common_parameters_and_document_theirs(name):
    system = systems()[name]
    parameters = inspect.signature(system).parameters
    assert set(parameters) > COMMON
    assert all(p.kind is p.KEYWORD_ONLY for p in parameters.values())
    text = inspect.getdoc(system)
    for word in [*parameters, "Parameters", "Attributes", "Examples", "labels_"]:
        assert re.search(rf"\b{word}\b", text), f"{system.__name__} does not document {word}"


@every_system
def test_fitted_attributes_clone_and_pickle(name, sample):
    model = systems()[name](n_clusters=3, random_state=0)
    with pytest.raises(ValueError, match="not fitted"):
        check_is_fitted(model)
    model.fit(sample.views)
    assert_same_partition(model.labels_, sample.y)
    assert model.labels_.dtype == np.intp
    assert model.view_names_.tolist() == list(sample.views)
    assert all(seconds >= 0 for seconds in model.timings_.values())
    if hasattr(model, "view_weights_"):
        assert model.view_weights_.shape == (3,)
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.labels_, model.labels_)
    assert not hasattr(clone(model), "labels_")


@every_system
def test_a_constant_view_is_left_out_and_named(name, sample):
    views = {"flat": np.ones((90, 3)), **sample.views}
    with pytest.warns(UserWarning, match="View 'flat' is constant"):
        model = systems()[name](n_clusters=3, random_state=0).fit(views)
    assert_same_partition(model.labels_, sample.y)
    if hasattr(model, "view_weights_"):
        assert model.view_weights_.shape == (4,)
        assert model.view_weights_[0] == 0


@every_system
@pytest.mark.filterwarnings("ignore:Only .* clusters have samples")
@pytest.mark.parametrize("n_clusters", [1, 2, 4, 6])
def test_a_handful_of_samples(name, n_clusters):
    x = np.array([[0.0, 0.0], [0.1, 0.0], [0.0, 0.0], [5.0, 5.1], [5.0, 5.0], [5.0, 5.0]])  # with duplicates
    model = systems()[name](n_clusters=n_clusters, n_neighbors=2, random_state=0).fit([x, x[:, ::-1] ** 2])
    assert 1 <= model.labels_.max() + 1 <= n_clusters
    # Of so few samples RMSC makes one block, unless error_penalty is larger.
    if n_clusters == 2 and name != "RMSC":
        assert_same_partition(model.labels_, [0, 0, 0, 1, 1, 1])


@every_system
def test_two_samples(name):
    model = systems()[name](n_clusters=2, random_state=0).fit(
        [np.array([[0.0], [1.0]]), np.array([[2.0], [1.0]])]
    )
    assert sorted(model.labels_.tolist()) == [0, 1]


@every_system
def test_distances_as_views(name, sample):
    model = systems()[name](n_clusters=3, metric="precomputed_distance", random_state=0)
    distances = {name: cdist(x, x) for name, x in sample.views.items()}
    if name in FEATURES_ONLY:
        with pytest.raises(ValueError, match="features"):
            model.fit(distances)
    else:
        assert_same_partition(model.fit(distances).labels_, sample.y)


@every_system
def test_similarities_as_views(name, sample):
    model = systems()[name](n_clusters=3, metric="precomputed_similarity", random_state=0)
    similarities = {name: np.exp(-cdist(x, x)) for name, x in sample.views.items()}
    if name in NEEDS_DISTANCES | FEATURES_ONLY:
        with pytest.raises(ValueError, match="distances" if name in NEEDS_DISTANCES else "features"):
            model.fit(similarities)
    else:
        assert_same_partition(model.fit(similarities).labels_, sample.y)


@every_system
def test_samples_that_a_view_has_not_seen(name, sample):
    mask = np.ones((90, 3), dtype=bool)
    mask[:5, 1] = False
    model = systems()[name](n_clusters=3, random_state=0)
    views = Views(sample.views, mask=mask)
    if name in TAKES_MISSING:
        assert_same_partition(model.fit(views).labels_, sample.y)
    else:
        at_fault = list(sample.views)[1]
        with pytest.raises(ValueError, match=f"has not seen, and view '{at_fault}' lacks 5"):
            model.fit(views)


@every_system
@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_clusters": 0}, "n_clusters must be a positive integer, got 0"),
        ({"n_clusters": 91}, "fewer samples"),
        ({"n_neighbors": 90}, "n_neighbors=90 asks for more neighbours than there are other samples"),
        ({"metric": "euclidian"}, "euclidian"),
        ({"scale": "log"}, "Unknown scale 'log'"),
        ({"n_jobs": 0}, "n_jobs must be None or a non-zero integer"),
    ],
)
def test_bad_parameters_have_the_same_message_everywhere(name, parameters, message, sample):
    with pytest.raises(ValueError, match=message):
        systems()[name](**{"n_clusters": 3, **parameters}).fit(sample.views)


@every_system
def test_features_whose_squares_are_no_numbers_are_refused_alike(name, sample):
    views = {**sample.views, "vast": 1e200 * sample.views["view_0"]}
    with pytest.raises(
        ValueError, match=r"View 'vast' has entries from -.*e\+20.* too large for numbers; scale"
    ):
        systems()[name](n_clusters=3).fit(views)


@every_system
def test_the_unit_of_the_features_does_not_matter(name, sample):
    for unit in (1e-140, 1e140):
        views = {key: unit * array for key, array in sample.views.items()}
        assert_same_partition(systems()[name](n_clusters=3, random_state=0).fit(views).labels_, sample.y)


@every_system
def test_a_failed_fit_leaves_the_model_as_it_was(name, sample):
    model = systems()[name](n_clusters=3, random_state=0).fit(sample.views)
    before = model.labels_
    with pytest.raises(ValueError, match="NaN"):
        model.fit([np.full((5, 2), np.nan)])
    assert model.labels_ is before


@pytest.mark.parametrize("name", sorted(DENSE | {"MVGL"}))
def test_they_refuse_what_does_not_fit_into_memory_before_they_begin(name, sample, monkeypatch):
    monkeypatch.setattr(memory, "available_bytes", lambda: 1000)
    monkeypatch.delattr(DensePoints, "nearest")
    monkeypatch.delattr(DensePoints, "measure")
    with pytest.raises(MemoryError, match=r"needs about .* free\. .*SimilarityGraphFusion"):
        systems()[name](n_clusters=3).fit(sample.views)


@pytest.mark.parametrize("name", sorted(DENSE | {"MVGL"}))
def test_they_keep_to_a_limit_that_is_set(name, sample):
    with config_context(memory_limit=1000):
        with pytest.raises(MemoryError, match=r"needs about .*more than ."):
            systems()[name](n_clusters=3).fit(sample.views)


@pytest.mark.parametrize("name", sorted(set(systems()) - DENSE - ESTIMATED - {"MVGL"}))
def test_the_others_do_not_ask(name, sample, monkeypatch):
    monkeypatch.setattr(memory, "available_bytes", lambda: 1000)
    assert_same_partition(systems()[name](n_clusters=3, random_state=0).fit(sample.views).labels_, sample.y)


@every_system
def test_the_progress_bar_reaches_its_end(name, sample, capsys):
    systems()[name](n_clusters=3, random_state=0, verbose=True).fit(sample.views)
    assert "done in" in capsys.readouterr().err
