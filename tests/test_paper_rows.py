"""The rows of the paper's tables, from features to scores."""

import warnings

import numpy as np
import pytest

from consilience import PAPER, DistanceGraphFusion, SimilarityGraphFusion
from consilience.metrics import clustering_accuracy, nmi

pytestmark = pytest.mark.long
ROWS = [
    # data set, metric, clusters, method, beta, gamma, the paper's ACC and NMI
    ("UCI_Digits", "euclidean", 10, SimilarityGraphFusion, 1, 1, 98.10, 95.63),
    ("UCI_Digits", "euclidean", 10, DistanceGraphFusion, 0.01, 0.01, 98.20, 95.77),
    ("MSRC_v1", "euclidean", 7, SimilarityGraphFusion, 0.1, 1, 80.48, 78.91),
    ("MSRC_v1", "euclidean", 7, DistanceGraphFusion, 0.01, 0.0001, 87.14, 80.98),
    ("BBCSport", "cosine", 5, SimilarityGraphFusion, 0.1, 10, 98.35, 93.96),
    ("BBCSport", "cosine", 5, DistanceGraphFusion, 0.01, 10000, 97.98, 92.68),
]


@pytest.mark.parametrize(
    ("name", "metric", "n_clusters", "method", "beta", "gamma", "paper_accuracy", "paper_nmi"), ROWS
)
def test_mean_of_ten_seeds(dataset, name, metric, n_clusters, method, beta, gamma, paper_accuracy, paper_nmi):
    views, y = dataset(name)
    scores = []
    for seed in range(10):
        model = method(
            n_clusters=n_clusters,
            n_neighbors=6,
            metric=metric,
            beta=beta,
            gamma=gamma,
            random_state=seed,
            **PAPER,
        )
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="The graph has .* connected components")
            labels = model.fit_predict(views)
        scores.append([100 * clustering_accuracy(y, labels), 100 * nmi(y, labels)])
    np.testing.assert_allclose(np.mean(scores, axis=0), [paper_accuracy, paper_nmi], atol=0.5)
