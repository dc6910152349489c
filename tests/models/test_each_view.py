"""The clusters of each view alone, which are offered where no two views agree."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from consilience import DistanceGraphFusion, SimilarityGraphFusion, load, make_multiview
from consilience.inspection import inspect
from consilience.metrics import ari
from consilience.models import AverageGraph

pytestmark = [
    pytest.mark.filterwarnings("ignore:The graph has .* connected components"),
    pytest.mark.filterwarnings("ignore:.* about who is near whom"),
    pytest.mark.filterwarnings("ignore:The two views agree .* no more than by chance"),
]
N, C = 200, 3
SAMPLE = make_multiview(N, n_views=2, n_clusters=C, separation=8.0, random_state=0)
FIRST, SECOND = SAMPLE.views.values()
ORDER = np.random.default_rng(0).permutation(N)
SHUFFLED = {"first": FIRST, "second": SECOND[ORDER]}


def fit(views, system=SimilarityGraphFusion, **parameters):
    return system(**{"n_clusters": C, "random_state": 0, **parameters}).fit(views)


@pytest.mark.parametrize("system", [SimilarityGraphFusion, DistanceGraphFusion, AverageGraph])
def test_each_view_has_its_own_clusters(system):
    model = fit(SHUFFLED, system)
    alone = model.labels_by_view()
    assert list(alone) == ["first", "second"]
    assert ari(SAMPLE.y, alone["first"]) > 0.95
    assert ari(SAMPLE.y[ORDER], alone["second"]) > 0.95
    for labels in alone.values():
        assert labels.dtype == np.intp and set(labels.tolist()) == set(range(C))
        assert np.array_equal(np.unique(labels, return_index=True)[1].argsort(), np.arange(C))  # first seen


def test_it_is_what_a_fit_of_that_view_finds():
    alone = fit(SHUFFLED, AverageGraph).labels_by_view()
    for name, view in SHUFFLED.items():
        np.testing.assert_array_equal(alone[name], fit({name: view}, AverageGraph).labels_)


def test_that_the_views_do_not_agree_is_said_together_with_where_to_look():
    with pytest.warns(UserWarning, match=r"no more than by chance.*labels_by_view\(\)"):
        fit(SHUFFLED)
    assert inspect(fit(SHUFFLED)).none_agree
    model = fit(SAMPLE.views)
    assert not any("labels_by_view" in text for text in model.warnings_)
    assert not inspect(model).none_agree and len(model.labels_by_view()) == 2  # but they are there


def test_rows_in_another_order_have_the_same_clusters():
    moved = {name: view[ORDER] for name, view in SHUFFLED.items()}
    first, other = fit(SHUFFLED).labels_by_view(), fit(moved).labels_by_view()
    for name, labels in first.items():
        assert ari(labels[ORDER], other[name]) == 1


def test_samples_that_a_view_has_not_seen_have_no_cluster_there():
    seen = np.random.default_rng(1).random((N, 2)) > 0.2
    seen[~seen.any(axis=1)] = True
    views = [np.where(seen[:, [i]], view, np.nan) for i, view in enumerate((FIRST, SECOND))]
    alone = fit(views).labels_by_view()
    for i, labels in enumerate(alone.values()):
        np.testing.assert_array_equal(labels >= 0, seen[:, i])
        assert ari(SAMPLE.y[seen[:, i]], labels[seen[:, i]]) > 0.95


def test_views_that_were_left_out_are_not_offered():
    noise = np.random.default_rng(2).normal(size=(N, 4))
    assert list(fit({**SAMPLE.views, "noise": noise}).labels_by_view()) == list(SAMPLE.views)


def test_a_loaded_model_gives_the_same(tmp_path):
    model = fit(SHUFFLED)
    again = load(model.save(tmp_path / "model.consilience"))
    for name, labels in model.labels_by_view().items():
        np.testing.assert_array_equal(again.labels_by_view()[name], labels)


def test_a_view_that_has_seen_fewer_samples_than_there_are_clusters():
    few = np.full((N, 2), np.nan)
    few[:2] = [[0.0, 1.0], [1.0, 0.0]]
    alone = fit([FIRST, few], view_selection="all", view_weights="uniform").labels_by_view()
    assert np.all(alone["view_1"][2:] == -1) and alone["view_1"][:2].min() >= 0


def test_it_takes_a_fitted_model():
    with pytest.raises(NotFittedError):
        SimilarityGraphFusion(n_clusters=C).labels_by_view()
