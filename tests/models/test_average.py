import numpy as np
import pytest

from consilience import SimilarityGraphFusion, Views, make_multiview
from consilience.engines import get_engine
from consilience.metrics import ari
from consilience.models import AverageGraph

pytestmark = pytest.mark.filterwarnings("ignore:The graph has .* connected components")


def test_the_graph_is_the_mean_of_what_sgf_fuses():
    sample = make_multiview(120, n_views=3, n_clusters=3, separation=4.0, random_state=0)
    average = AverageGraph(n_clusters=3, n_neighbors=8, random_state=0).fit(sample.views)
    fusion = SimilarityGraphFusion(n_clusters=3, n_neighbors=8, random_state=0).fit(sample.views)
    edges = fusion.edges_
    mean = fusion.fusion_.weights_by_view.mean(axis=0) * edges.n_edges
    expected = get_engine("numpy").sparsify(edges, mean, 8)
    assert abs(average.graph_ - expected).max() < 1e-12
    np.testing.assert_array_equal(average.view_weights_, np.full(3, 1 / 3))


def test_samples_missing_from_a_view():
    sample = make_multiview(150, n_views=3, n_clusters=3, separation=6.0, missing=0.3, random_state=0)
    model = AverageGraph(n_clusters=3, random_state=0).fit(Views(sample.views, mask=sample.mask))
    assert ari(sample.y, model.labels_) > 0.9
