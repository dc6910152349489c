import numpy as np
import pytest

from consilience import SimilarityGraphFusion, Views, make_multiview
from consilience.engines.numba.points.features import DensePoints
from consilience.models import SharedViews, systems

pytestmark = [
    pytest.mark.filterwarnings("ignore:The graph has .* connected components"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore:.* about who is near whom"),
]


@pytest.mark.long
@pytest.mark.parametrize("name", systems())
def test_every_system_gives_the_same_labels(name):
    sample = make_multiview(80, n_views=3, n_clusters=3, separation=2.5, random_state=0)
    shared = SharedViews(sample.views)
    for k in (9, 5, 9):
        model = systems()[name](n_clusters=3, n_neighbors=k, random_state=0)
        expected = model.fit(sample.views).labels_
        assert np.array_equal(model.fit(shared).labels_, expected)


def test_neighbours_are_searched_once_for_many_fits(monkeypatch):
    searched = []
    search = DensePoints.nearest
    monkeypatch.setattr(
        DensePoints, "nearest", lambda self, k, *how: searched.append(k) or search(self, k, *how)
    )
    shared = SharedViews(make_multiview(80, n_views=3, n_clusters=3, random_state=0).views)
    for beta in (0.1, 1, 10):
        made = {"n_clusters": 3, "n_neighbors": 7, "descriptions": "default", "random_state": 0}
        SimilarityGraphFusion(**made, beta=beta).fit(shared)
    assert searched == [7, 7, 7]


def test_another_metric_or_scale_is_another_preparation():
    sample = make_multiview(80, n_views=2, n_clusters=3, separation=2.0, random_state=0)
    views = Views({"a": sample.views["view_0"], "b": np.abs(sample.views["view_1"])})
    shared = SharedViews(views)
    for parameters in ({}, {"scale": "standard"}, {"metric": ["euclidean", "cosine"]}, {}):
        model = SimilarityGraphFusion(n_clusters=3, random_state=0, **parameters)
        expected = model.fit(views).fusion_.fused
        np.testing.assert_array_equal(model.fit(shared).fusion_.fused, expected)


def test_the_views_are_checked_as_always():
    with pytest.raises(ValueError, match="NaN"):
        SharedViews([np.array([[0.0], [np.nan]])])
