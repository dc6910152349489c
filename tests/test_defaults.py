"""What the defaults promise, on real data: they need no labels, and a bad view costs nothing."""

import warnings

import numpy as np
import pytest

from consilience import DistanceGraphFusion, SimilarityGraphFusion, Views
from consilience.metrics import nmi
from consilience.models import SharedViews

# The paper's rows, tuned with the labels: the better of SGF and DGF, NMI in percent.
TUNED = {"UCI_Digits": 95.77, "MSRC_v1": 80.98, "BBCSport": 93.96}
pytestmark = pytest.mark.filterwarnings("ignore:View .* (is carried by|is dominated by)")
both = pytest.mark.parametrize("method", [SimilarityGraphFusion, DistanceGraphFusion])


# A view that is left out has its part in the order of the samples; without it, others are equally near first.
GIVEN = {"row_order": "given"}


def score(method, views, y, n_seeds=3, **parameters):
    """Return the mean NMI in percent, and the warnings of the first fit that are about agreement."""
    shared, scores, warned = SharedViews(views if isinstance(views, Views) else Views(views)), [], []
    for seed in range(n_seeds):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model = method(n_clusters=len(np.unique(y)), random_state=seed, **parameters).fit(shared)
        warned = warned or [str(one.message) for one in caught if "near whom" in str(one.message)]
        scores.append(100 * nmi(y, model.labels_))
    return np.mean(scores), warned


@pytest.mark.parametrize("name", TUNED)
def test_the_recommended_estimator_is_within_two_points_of_what_labels_can_tune(dataset, name):
    found, warned = score(DistanceGraphFusion, *dataset(name))
    assert found > TUNED[name] - 2 and not warned


@both
@pytest.mark.parametrize("name", ["MSRC_v1", "BBCSport", "breastTCGA_3omics_train", "ALOI10"])
def test_noise_views_cost_nothing(dataset, method, name):
    views, y = dataset(name)
    rng = np.random.default_rng(0)
    noise = [rng.normal(size=(len(y), (10, 50, 200)[i % 3])) for i in range(2 * len(views))]
    clean, warned = score(method, views, y, 1, **GIVEN)
    assert not warned
    noisy, warned = score(method, [*views, *noise], y, 1, **GIVEN)
    assert noisy == clean and len(warned) == 1 and "left out" in warned[0]


@both
@pytest.mark.parametrize("name", ["MSRC_v1", "3Sources", "breastTCGA_3omics_train"])
def test_a_shuffled_view_is_as_good_as_absent(dataset, method, name):
    views, y = dataset(name)
    order = np.random.default_rng(0).permutation(len(y))
    shuffled, warned = score(method, [views[0][order], *views[1:]], y, 1, **GIVEN)
    assert shuffled == score(method, views[1:], y, 1, **GIVEN)[0]
    assert len(warned) == 1 and "'view_0'" in warned[0]


@both
def test_of_two_views_one_shuffled_there_is_a_warning(dataset, method):
    views, y = dataset("BBCSport")
    order = np.random.default_rng(0).permutation(len(y))
    _, warned = score(method, [views[0][order], views[1]], y, 1)
    assert len(warned) == 1 and "neither can be preferred" in warned[0]


@both
def test_counts_text_and_a_badly_scaled_view_need_no_settings(dataset, method):
    """What a fixed choice costs where no other description of the features makes up for a part of it."""

    def gain(name, **fixed):
        views, y = dataset(name)
        return (
            score(method, views, y, 1, effort="low")[0] - score(method, views, y, 1, effort="low", **fixed)[0]
        )

    assert gain("NGs", metric="euclidean") > 40
    assert gain("ALOI10", scale="none") > 8
    assert gain("breastTCGA_3omics_train", scale="standard") > 20
