"""With ids, the order in which rows come changes nothing but the order of the answer."""

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import cdist

from consilience import DistanceGraphFusion, SimilarityGraphFusion, Views, make_multiview
from consilience.inspection import inspect
from consilience.models import AverageGraph, SharedViews
from consilience.models.given import id_order
from consilience.stages import canonical_labels

pytestmark = pytest.mark.long

SYSTEMS = (SimilarityGraphFusion, DistanceGraphFusion, AverageGraph)
every = pytest.mark.parametrize("system", SYSTEMS)
KINDS = {
    "text": [f"s{i}" for i in range(150)],
    "numbers": [7 * i % 1009 for i in range(150)],
    "mixed": [i if i % 2 else f"x{i}" for i in range(150)],
    "pairs": [(i % 5, i) for i in range(150)],
}


@pytest.fixture(scope="module")
def sample():
    # Rounded, so that samples are equally near; not far apart, so that clusters depend on small things.
    data = make_multiview(150, n_views=3, n_clusters=4, separation=3.5, missing=0.2, random_state=0)
    return {name: np.round(array) for name, array in data.views.items()}


def shuffled(views, ids, seed):
    """Return frames in orders of their own."""
    rng = np.random.default_rng(seed)
    frames = {}
    for name, array in views.items():
        frame = pd.DataFrame(array, index=pd.Index(ids, tupleize_cols=False)).dropna(how="all")
        frames[name] = frame.iloc[rng.permutation(len(frame))]
    return frames


def by_id(model):
    return dict(zip(model.sample_ids_.tolist(), model.labels_.tolist(), strict=True))


@every
@pytest.mark.parametrize("kind", KINDS)
def test_shuffling_every_table_changes_no_label(system, kind, sample):
    ids = KINDS[kind]
    first = system(n_clusters=4, random_state=0).fit(shuffled(sample, ids, 0))
    for seed in (1, 2):
        frames = shuffled(sample, ids, seed)
        other = system(n_clusters=4, random_state=0).fit(frames)
        own = list(frames["view_0"].index)
        assert other.sample_ids_.tolist()[: len(own)] == own  # the order of the first view
        assert sorted(by_id(other), key=repr) == sorted(by_id(first), key=repr)
        labels = by_id(first)
        expected = canonical_labels([labels[label] for label in other.sample_ids_.tolist()])
        np.testing.assert_array_equal(other.labels_, expected)


@pytest.mark.parametrize("system", SYSTEMS[:2])
@pytest.mark.parametrize("solver", ["dca", "exact"])
def test_everything_is_put_back(system, solver, sample):
    """All that a fit keeps is that of the samples in order, at other places."""
    views = Views(sample, sample_ids=[f"s{i:03d}" for i in range(150)])
    assert id_order(views) is None
    straight = system(n_clusters=4, random_state=0, solver=solver).fit(views)
    order = np.random.default_rng(3).permutation(150)
    model = system(n_clusters=4, random_state=0, solver=solver).fit(views[order])
    np.testing.assert_array_equal(model.labels_, canonical_labels(straight.labels_[order]))
    np.testing.assert_array_equal(model.embedding_, straight.embedding_[order])
    np.testing.assert_array_equal(model.graph_.toarray(), straight.graph_.toarray()[np.ix_(order, order)])
    assert model.graph_.has_canonical_format
    np.testing.assert_array_equal(model.row_reliability_, straight.row_reliability_[order])
    places = np.argsort(order)
    for own, their in zip(model.neighbors_, straight.neighbors_, strict=True):
        np.testing.assert_array_equal(own, places[their][order])
    rows, columns = model.edges_.rows, model.edges_.indices
    assert np.all(np.diff(rows.astype(int) * 150 + columns) > 0)
    for field in ("consistent", "inconsistent", "weights_by_view", "trust_by_view", "seen_by_view"):
        ours, theirs = getattr(model.fusion_, field), getattr(straight.fusion_, field)
        if field.endswith("view"):
            ours, theirs = ours.T, theirs.T
        for v in range(3):
            dense = straight.edges_.to_csr(theirs[:, v].astype(float)).toarray()
            np.testing.assert_array_equal(ours[:, v].astype(float), dense[order[rows], order[columns]])
    np.testing.assert_array_equal(model.edges_.seen, model.fusion_.seen_by_view)
    assert model.history_.tolist() == straight.history_.tolist()
    np.testing.assert_allclose(
        model.predict_proba(sample),
        straight.predict_proba(sample)[:, _renumbered(straight, order)],
        rtol=1e-12,
    )


def _renumbered(straight, order):
    """Return which cluster of the one fit each cluster of the other is."""
    labels = straight.labels_[order]
    return labels[np.sort(np.unique(labels, return_index=True)[1])]


def test_what_looks_at_a_model_sees_the_same(sample):
    views = Views(sample, sample_ids=[f"s{i:03d}" for i in range(150)])
    order = np.random.default_rng(4).permutation(150)
    straight = inspect(DistanceGraphFusion(n_clusters=4, random_state=0).fit(views))
    other = inspect(DistanceGraphFusion(n_clusters=4, random_state=0).fit(views[order]))
    assert list(other.samples.sample_names) == [f"s{i:03d}" for i in order]
    np.testing.assert_array_equal(other.samples.flagged, straight.samples.flagged[order])
    # How misplaced rows look is simulated, with random numbers by place.
    np.testing.assert_allclose(other.samples.scores, straight.samples.scores[order], atol=0.02)


def test_shared_views_give_the_same(sample):
    ids = [f"s{i}" for i in np.random.default_rng(5).permutation(150)]
    views = Views(sample, sample_ids=ids)
    model = DistanceGraphFusion(n_clusters=4, random_state=0)
    alone = model.fit(views).labels_
    np.testing.assert_array_equal(model.fit(SharedViews(views)).labels_, alone)


@pytest.mark.parametrize("metric", ["precomputed_similarity", "precomputed_distance"])
@pytest.mark.parametrize("ids", ["numbers", "text"])
def test_rows_and_columns_of_a_matrix_move_together(metric, ids, sample):
    rows = np.nan_to_num(sample["view_0"])
    apart = cdist(rows, rows)
    matrix = np.exp(-(apart**2) / 20) if metric == "precomputed_similarity" else apart
    labels = np.array(KINDS[ids])[np.random.default_rng(3).permutation(150)]
    model = SimilarityGraphFusion(n_clusters=4, metric=metric, random_state=0)
    known = model.fit(Views({"m": matrix}, pairwise=True, sample_ids=labels)).labels_
    frame = pd.DataFrame(matrix, index=labels, columns=labels)
    # Nobody says that it is a matrix between samples but the metric.
    for data in (Views({"m": matrix}, sample_ids=labels), Views({"m": frame}), {"m": frame}, frame):
        np.testing.assert_array_equal(model.fit(data).labels_, known)
    np.testing.assert_array_equal(model.fit(SharedViews(Views({"m": frame}))).labels_, known)
    model.set_params(metric={"view_0": metric})
    np.testing.assert_array_equal(model.fit([frame]).labels_, known)
    np.testing.assert_array_equal(model.set_params(metric=[metric]).fit(frame).labels_, known)


def test_a_matrix_whose_columns_may_be_in_another_order(sample):
    labels = KINDS["text"]
    rows = np.nan_to_num(sample["view_0"])
    matrix = pd.DataFrame(cdist(rows, rows), index=labels)
    model = SimilarityGraphFusion(n_clusters=4, metric="precomputed_distance", random_state=0)
    with pytest.raises(ValueError, match=r"columns of view 'm' are not named as its rows.*pairwise=\['m'\]"):
        model.fit(Views({"m": matrix}))
    assert len(model.fit(Views({"m": matrix}, pairwise=["m"])).labels_) == 150


def test_what_is_in_the_order_of_its_ids_or_has_none_is_not_moved(sample):
    assert id_order(Views(sample)) is None
    assert id_order(Views(sample, sample_ids=range(150))) is None
    assert id_order(Views(sample, sample_ids=[*range(1, 150), 0])).tolist() == [149, *range(149)]
