"""The stage `trust`: rows of other samples count less, and what it leaves alone."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score
from tests.engines.names import HOST_ENGINES

from consilience import DistanceGraphFusion, SimilarityGraphFusion, Views, make_multiview
from consilience.engines import get_engine
from consilience.engines.matching import LEAST_TRUST
from consilience.models import AverageGraph
from consilience.stages import agree, connect, prepare, search, trust
from consilience.stages.agree import Weighting

pytestmark = [
    pytest.mark.filterwarnings("ignore:The graph has .* connected components"),
    pytest.mark.filterwarnings("ignore:.* about who is near whom"),
]
N, C, K = 240, 3, 12


def exchanged_rows(n_views=4, share=0.3, seed=0):
    """Return views in which a share of the rows of each are exchanged, and which have another's cluster."""
    made = make_multiview(N, n_views=n_views, n_clusters=C, separation=6.0, random_state=seed)
    rng = np.random.default_rng(seed)
    views, wrong = [], np.zeros((N, n_views), dtype=bool)
    for m, x in enumerate(made.views.values()):
        rows = np.flatnonzero(rng.random(N) < share)
        other = rng.permutation(rows)
        x = x.copy()
        x[rows] = x[other]
        views.append(x)
        wrong[rows, m] = made.y[rows] != made.y[other]
    return views, wrong


def staged(views, engine="numba", weighting=None):
    """Run the stages up to `trust`; return the selection before and after it."""
    engine = get_engine(engine)
    views = Views(views)
    spaces = prepare(views, ["euclidean"] * views.n_views, "none", engine=engine)
    found = [search(i, spaces, K, "exact", True, engine=engine) for i in range(len(spaces))]
    before = agree(found, spaces, weighting or Weighting(None, True), engine=engine)
    kept = spaces.only(before.kept)
    edges = connect(found, before, kept, engine=engine)
    return before, trust(found, before, edges, kept, C, K, True, engine=engine)


@pytest.mark.parametrize("engine", HOST_ENGINES)
def test_rows_of_other_samples_count_less(engine):
    views, wrong = exchanged_rows()
    before, after = staged(views, engine)
    assert before.matched is None and after.matched.shape == (4,)
    for m in range(4):
        assert roc_auc_score(~wrong[:, m], after.trust[:, m]) > 0.95
    assert LEAST_TRUST <= after.trust.min() and after.trust.max() == 1
    assert np.all(np.abs(after.matched - (1 - wrong.mean(axis=0))) < 0.15)
    np.testing.assert_array_equal(after.kept, before.kept)


def test_engines_find_the_same():
    views, _ = exchanged_rows()
    one, other = (staged(views, engine)[1] for engine in HOST_ENGINES)
    np.testing.assert_allclose(one.trust, other.trust, atol=1e-6)
    np.testing.assert_allclose(one.matched, other.matched, atol=1e-6)


def test_of_two_views_nothing_is_learned():
    before, after = staged(exchanged_rows(n_views=2)[0])
    assert after is before


def test_copies_that_are_kept_do_not_outvote_the_others():
    """With weights of one's own, copies stay: they must not count as witnesses for each other."""
    views, wrong = exchanged_rows(n_views=3)
    plain = staged(views, weighting=Weighting(np.ones(3), True))[1]
    copied = staged([*views, views[0] + 1e-9], weighting=Weighting(np.ones(4), True))[1]
    assert copied.kept.all() and copied.trust.shape == (N, 4)
    np.testing.assert_array_equal(copied.trust[:, 0], copied.trust[:, 3])
    for m in range(3):
        assert roc_auc_score(~wrong[:, m], copied.trust[:, m]) > 0.9
        assert abs(copied.matched[m] - plain.matched[m]) < 0.1


def test_two_views_and_a_copy_are_two_views():
    views, _ = exchanged_rows(n_views=2)
    before, after = staged([*views, views[0] + 1e-9], weighting=Weighting(np.ones(3), True))
    assert before.kept.all() and after is before


def test_the_trust_of_the_stage_before_is_where_it_begins():
    """Neighbours that are not trusted say little about where a sample is."""
    views, _ = exchanged_rows()
    _, by_agreement = staged(views)
    _, alike = staged(views, weighting=Weighting(np.ones(4), False))
    assert np.abs(by_agreement.trust - alike.trust).max() > 1e-3


@pytest.mark.parametrize("system", [SimilarityGraphFusion, DistanceGraphFusion, AverageGraph])
def test_a_fit_that_learns_trust_finds_more(system):
    views, wrong = exchanged_rows()
    made = {"n_clusters": C, "descriptions": "default", "random_state": 0}
    model = system(row_weights="learned", **made).fit(views)
    alike = system(row_weights="uniform", **made).fit(views)
    assert roc_auc_score(~wrong.ravel(), model.row_reliability_.ravel()) > 0.95
    assert model.matched_shares_.shape == (4,) and np.all(model.matched_shares_ < 0.95)
    assert alike.matched_shares_ is None and np.all(alike.row_reliability_ == 1)


def test_rows_that_are_not_seen_and_views_that_are_left_out_have_no_trust():
    views, _ = exchanged_rows(share=0.1)
    mask = np.random.default_rng(0).random((N, 5)) > 0.2
    mask[:, 4] = True
    mask[~mask[:, :4].any(axis=1), 0] = True
    noise = np.random.default_rng(1).normal(size=(N, 4))
    model = DistanceGraphFusion(n_clusters=C, effort="medium", random_state=0)
    with pytest.warns(UserWarning, match="'view_4' agrees with no other view"):
        model.fit(Views([*views, noise], mask=mask))
    np.testing.assert_array_equal(np.isnan(model.row_reliability_[:, :4]), ~mask[:, :4])
    assert np.isnan(model.row_reliability_[:, 4]).all() and np.isnan(model.matched_shares_[4])
    assert np.isfinite(model.matched_shares_[:4]).all()
