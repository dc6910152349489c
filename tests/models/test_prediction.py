"""New samples: what a fit says of them, next to a plain version, and every way in which they may come."""

import copy
import dataclasses
import pickle
from contextlib import nullcontext

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.metrics import confusion_matrix

from consilience import DistanceGraphFusion, SimilarityGraphFusion, Views, make_multiview
from consilience.engines import get_engine
from consilience.models import AverageGraph, prediction

FUSIONS = (SimilarityGraphFusion, DistanceGraphFusion)
every = pytest.mark.parametrize("method", [*FUSIONS, AverageGraph])
both = pytest.mark.parametrize("method", FUSIONS)


@pytest.fixture(scope="module")
def sample():
    return make_multiview(240, n_views=3, n_clusters=4, separation=3.5, random_state=3)


@pytest.fixture(scope="module")
def parts(sample):
    """Four fifths to fit, one to predict."""
    views = Views(sample.views)
    return views[48:], views[:48]


def fit(method, views, **parameters):
    return method(n_clusters=4, random_state=0, **parameters).fit(views)


def halved(views, rng):
    """Hide half of the views of each sample, at random."""
    v = views.n_views
    ranks = rng.random((len(views), v)).argsort(axis=1)
    return Views(views, mask=ranks < max(v // 2, 1))


def matching(labels, other):
    """Return, for each cluster of one fit, the cluster of the other that it is matched with."""
    c = int(max(labels.max(), other.max())) + 1
    table = confusion_matrix(labels, other, labels=np.arange(c))
    return linear_sum_assignment(-table)[1]


# Compared with a plain version


def standard(values, among):
    mean, deviation = among.mean(), among.std(ddof=1)
    return np.maximum((values - mean) / deviation + 1, 0)


def plain_probabilities(model, old, new):
    """Return what `predict_proba` should say, sample by sample, view by view, edge by edge."""
    similar = isinstance(model, SimilarityGraphFusion)
    fusion, edges, k = model.fusion_, model.edges_, model.n_neighbors_
    engine, result = get_engine("numpy"), []
    for i in range(len(new)):
        squares = [cdist(b[i : i + 1], a)[0] ** 2 for a, b in zip(old.arrays, new.arrays, strict=True)]
        near = sorted(set(np.concatenate([np.argsort(one, kind="stable")[:k] for one in squares])))
        weights = []
        for v, a in enumerate(old.arrays):
            among = np.sum((a[edges.rows] - a[edges.indices]) ** 2, axis=1)
            x, fitted = standard(squares[v][near], among), standard(among, among)
            if similar:
                sigma = np.sqrt(fitted).mean()
                x, fitted = np.exp(-x / (2 * sigma**2)), np.exp(-fitted / (2 * sigma**2))
            weights.append(x / fitted.sum())
        trust = model.row_reliability_[near].T
        state = engine.load(np.array(weights), None, trust, fusion.view_weights)
        engine.start(state, fusion.view_scales)
        for _ in range(fusion.n_iter - 1):
            if model.solver == "exact":
                engine.exact_round(state, fusion.view_scales, model.beta, model.gamma)
            else:
                engine.dca_round(state, fusion.view_scales, model.beta, model.gamma, 3)
        if model.solver == "exact":
            engine.fuse(state, fusion.view_scales)
        fused = engine.collect(state)[1]
        strength = fused if similar else np.exp(-fused / (2 * fusion.fused.mean()))
        votes = np.zeros(4)
        for j in np.argsort(-strength, kind="stable")[:k]:
            votes[model.labels_[near[j]]] += strength[j]
        result.append(votes / votes.sum())
    return np.array(result)


@both
@pytest.mark.parametrize("solver", ["dca", "exact"])
@pytest.mark.parametrize("engine", ["numba", "numpy"])
def test_probabilities_are_those_of_the_plain_version(method, solver, engine, parts):
    old, new = parts
    made = {"scale": "none", "descriptions": "default"}
    model = fit(method, old, solver=solver, engine=engine, gamma=2.0, **made)
    expected = plain_probabilities(model, old, new)
    np.testing.assert_allclose(model.predict_proba(new), expected, atol=1e-9)
    np.testing.assert_array_equal(model.predict(new), expected.argmax(axis=1))
    assert 0.5 < expected.max(axis=1).mean() < 1


# What it is worth


@every
def test_new_samples_get_the_cluster_that_a_fit_on_all_gives_them(method, sample, parts):
    whole = fit(method, sample.views).labels_
    model = fit(method, parts[0])
    match = matching(model.labels_, whole[48:])
    assert np.mean(match[model.predict(parts[1])] == whole[:48]) >= 0.95
    assert np.mean(match[model.predict(halved(parts[1], np.random.default_rng(0)))] == whole[:48]) >= 0.7


@every
def test_samples_of_the_fit_keep_their_label(method, parts):
    model = fit(method, parts[0])
    np.testing.assert_array_equal(model.predict(parts[0]), model.labels_)
    rounded = Views(
        {name: array + 1e-9 for name, array in parts[0].items()}
    )  # nearly the same is near enough
    assert np.mean(model.predict(rounded) == model.labels_) >= 0.97


@pytest.mark.filterwarnings("ignore:The graph has 2 connected")
def test_copies_with_different_labels_share_the_vote():
    x = np.array([[0.0], [0.0], [1.0], [1.1], [5.0], [5.1], [5.2], [6.0]])
    model = DistanceGraphFusion(n_clusters=2, n_neighbors=3, random_state=0, row_order="given").fit(x)
    labels = np.array([0, 1, 0, 0, 1, 1, 1, 1])
    model.predictor_ = dataclasses.replace(model.predictor_, labels=labels)
    assert model.predict_proba(np.zeros((1, 1))).tolist() == [[0.5, 0.5]]


@pytest.mark.filterwarnings("ignore:View .* is dominated", "ignore:View .* is carried")
def test_targets_on_digits(dataset):
    arrays = dataset("UCI_Digits")[0]
    views = Views(list(arrays))
    order = np.random.default_rng(11).permutation(len(views))
    new, old = np.sort(order[:400]), np.sort(order[400:])
    model = DistanceGraphFusion(n_clusters=10, random_state=0)
    whole = clone(model).fit(views).labels_
    model.fit(views[old])
    match = matching(model.labels_, whole[old])
    assert np.mean(match[model.predict(views[new])] == whole[new]) >= 0.95
    assert np.mean(match[model.predict(halved(views[new], np.random.default_rng(1)))] == whole[new]) >= 0.85
    assert np.mean(model.predict(views[old]) == model.labels_) >= 0.99


# Every way in which they may come


@every
def test_any_of_the_views_in_any_form(method, parts):
    old, new = parts
    model = fit(method, old)
    whole = model.predict_proba(new)
    assert whole.shape == (48, 4)
    np.testing.assert_allclose(whole.sum(axis=1), 1)
    by_name = dict(reversed(list(new.items())))
    ids = [f"n{i}" for i in range(48)]
    frames = {name: pd.DataFrame(array, index=ids) for name, array in new.items()}
    for other in (
        by_name,
        list(new.arrays),
        tuple(new.arrays),
        frames,
        [sparse.csr_array(a) for a in new.arrays],
    ):
        np.testing.assert_array_equal(model.predict_proba(other), whole)
    two = model.predict_proba({name: new[name] for name in ("view_0", "view_2")})
    mask = np.tile([True, False, True], (48, 1))
    for other in (Views(new, mask=mask), [new["view_0"], None, new["view_2"]], Views(new.select([0, 2]))):
        np.testing.assert_array_equal(model.predict_proba(other), two)
    assert not np.array_equal(two, whole)


@every
def test_one_sample_says_nothing_about_another(method, parts):
    model = fit(method, parts[0])
    mask = np.random.default_rng(2).random((48, 3)) < 0.6
    mask[~mask.any(axis=1), 1] = True
    new = Views(parts[1], mask=mask)
    whole = model.predict_proba(new)
    # Except for the last digit, which depends on how many numbers are computed at a time.
    np.testing.assert_allclose(model.predict_proba(new[::-1])[::-1], whole, rtol=1e-13)
    alone = np.concatenate([model.predict_proba(new[[i]]) for i in range(48)])
    np.testing.assert_allclose(alone, whole, rtol=1e-13)


def test_many_new_samples_come_in_blocks(parts, monkeypatch):
    model = fit(DistanceGraphFusion, parts[0])
    whole = model.predict_proba(parts[1])
    monkeypatch.setattr(prediction, "_BLOCK", 7)
    np.testing.assert_allclose(model.predict_proba(parts[1]), whole, rtol=1e-13)


@every
def test_a_fit_with_missing_samples(method, sample):
    mask = np.random.default_rng(4).random((240, 3)) < 0.7
    mask[~mask.any(axis=1), 0] = True
    views = Views(sample.views, mask=mask)
    model = fit(method, views[48:])
    np.testing.assert_array_equal(model.predict(views[48:]), model.labels_)
    assert np.mean(matching(model.labels_, sample.y[48:])[model.predict(views[:48])] == sample.y[:48]) > 0.7


def test_threads_pickles_and_copies_say_the_same(parts):
    model = fit(DistanceGraphFusion, parts[0], n_jobs=1)
    whole = model.predict_proba(parts[1])
    np.testing.assert_array_equal(fit(DistanceGraphFusion, parts[0], n_jobs=2).predict_proba(parts[1]), whole)
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        np.testing.assert_array_equal(other.predict_proba(parts[1]), whole)


def test_parameters_set_after_the_fit_change_nothing(parts):
    model = fit(DistanceGraphFusion, parts[0])
    whole = model.predict_proba(parts[1])
    model.set_params(beta=50.0, gamma=0.1, n_neighbors=2, metric="manhattan", scale="standard")
    np.testing.assert_array_equal(model.predict_proba(parts[1]), whole)
    # The engine is who computes, not what: only the last digits may differ.
    model.set_params(engine="numpy")
    np.testing.assert_allclose(model.predict_proba(parts[1]), whole, rtol=1e-13)


@both
@pytest.mark.parametrize("scale", ["standard", "auto", "none"])
def test_features_are_rescaled_as_at_fit(method, scale, sample):
    views = {name: array.copy() for name, array in sample.views.items()}
    views["view_0"] = views["view_0"] * np.array([1e4] + [1.0] * 9) + 7
    old = {name: array[48:] for name, array in views.items()}
    with pytest.warns(UserWarning, match="dominated") if scale == "auto" else nullcontext():
        model = fit(method, old, scale=scale, view_weights="uniform", row_weights="uniform")
    new = {name: array[:48] for name, array in views.items()}
    one = model.predict_proba({name: array[:1] for name, array in new.items()})  # no statistics of its own
    np.testing.assert_allclose(model.predict_proba(new)[:1], one, rtol=1e-13)
    if scale != "none":
        assert np.mean(matching(model.labels_, sample.y[48:])[model.predict(new)] == sample.y[:48]) > 0.8


@pytest.mark.parametrize("metric", ["cosine", "correlation", "manhattan", "seuclidean", "gower"])
def test_other_metrics(metric, parts):
    model = fit(DistanceGraphFusion, parts[0], metric=metric)
    assert np.mean(model.predict(parts[0]) == model.labels_) >= 0.99
    assert model.predict_proba(parts[1]).shape == (48, 4)


def test_distances_to_the_samples_of_the_fit(parts):
    old, new = parts
    within = {name: cdist(array, array) for name, array in old.items()}
    between = {name: cdist(new[name], array) for name, array in old.items()}
    # In the order of the rows: that by content is another for distances.
    model = fit(DistanceGraphFusion, within, metric="precomputed_distance", row_order="given")
    expected = fit(DistanceGraphFusion, old, scale="none", row_order="given").predict_proba(new)
    np.testing.assert_allclose(model.predict_proba(between), expected, atol=1e-9)
    ids = [f"p{i:03d}" for i in range(192)]  # in their order, too
    framed = {name: pd.DataFrame(d, index=ids, columns=ids) for name, d in within.items()}
    model = fit(DistanceGraphFusion, framed, metric="precomputed_distance")
    order = np.random.default_rng(0).permutation(192)
    shuffled = {
        name: pd.DataFrame(d, index=[f"n{i}" for i in range(48)], columns=ids).iloc[:, order]
        for name, d in between.items()
    }
    np.testing.assert_allclose(model.predict_proba(shuffled), expected, atol=1e-9)
    shuffled["view_1"] = shuffled["view_1"].rename(columns={"p003": "q003"})
    with pytest.raises(ValueError, match=r"'view_1' has no column for sample 'p003' of the fit \(1 such"):
        model.predict(shuffled)


def test_similarities_to_the_samples_of_the_fit(parts):
    old, new = parts
    within = {name: np.exp(-cdist(array, array) / 3) for name, array in old.items()}
    between = {name: sparse.csr_array(np.exp(-cdist(new[name], array) / 3)) for name, array in old.items()}
    for method in FUSIONS:
        model = fit(method, within, metric="precomputed_similarity")
        expected = fit(method, old).predict(new)
        match = matching(fit(method, old).labels_, model.labels_)
        assert np.mean(model.predict(between) == match[expected]) > 0.9
    nobody = {name: sparse.csr_array((48, 192)) for name in within}
    with pytest.warns(UserWarning, match="48 new samples have no edge") as warned:
        chance = model.predict_proba(nobody)
    assert len(warned) == 1  # once, and not for each description
    np.testing.assert_allclose(chance, np.tile(np.bincount(model.labels_) / 192, (48, 1)))


def test_tables_with_categories():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 120)
    table = pd.DataFrame(
        {
            "size": y + rng.normal(0, 0.3, 120),
            "kind": pd.Categorical(np.where(rng.random(120) < 0.9, np.array(list("abc"))[y], "a")),
            "grade": pd.Categorical(y, ordered=True),
        }
    )
    x = rng.normal(size=(120, 4)) + 3 * y[:, None]
    model = DistanceGraphFusion(n_clusters=3, random_state=0).fit(
        {"table": table[20:].reset_index(drop=True), "x": x[20:]}
    )
    assert model.metrics_ == ("gower", "euclidean")
    new = table[:20].reset_index(drop=True)
    whole = model.predict_proba({"table": new})
    # The same cells in a frame that has fewer categories: codes differ, what they stand for does not.
    one = new.iloc[[3]].astype({"kind": str})
    np.testing.assert_allclose(model.predict_proba({"table": one}), whole[[3]], rtol=1e-13)
    new.loc[4, "size"] = np.nan
    new.loc[5, "kind"] = None
    assert np.isfinite(model.predict_proba({"table": new})).all()
    new["kind"] = ["a"] * 19 + ["new"]
    with pytest.raises(ValueError, match=r"'table', column 'kind' holds 'new' \(row 19\).*not there at fit"):
        model.predict({"table": new})
    new["kind"] = 1.0
    with pytest.raises(ValueError, match=r"column 'kind' holds 1.0 \(row 0\), a category"):
        model.predict({"table": new})
    new["size"] = "large"
    with pytest.raises(ValueError, match="column 'size' held numbers at fit and holds categories now"):
        model.predict({"table": new.assign(kind="a")})


# What is refused


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda new: {"view_7": new["view_0"]}, r"fitted to the views 'view_0', .*; there was no 'view_7'"),
        (lambda new: list(new.arrays[:2]), r"fitted to 3 views \('view_0'.*got 2; pass a dict"),
        (lambda new: [new.arrays[0], None], "must have one for each of 'view_0', .* or None; got 2"),
        (lambda new: {"view_1": new["view_1"][:, :4]}, "'view_1' has 4 features, at fit there were 10"),
        (lambda new: {"view_1": np.where(new["view_1"] > 2, np.nan, 1.0)}, "'view_1', row .* holds NaN"),
    ],
)
def test_what_is_no_new_sample(change, message, parts):
    model = fit(DistanceGraphFusion, parts[0])
    with pytest.raises(ValueError, match=message):
        model.predict(change(parts[1]))


def test_columns_in_another_order(sample):
    frames = {name: pd.DataFrame(x, columns=[f"f{j}" for j in range(10)]) for name, x in sample.views.items()}
    model = fit(DistanceGraphFusion, frames)
    with pytest.raises(ValueError, match="Column 0 of view 'view_1' is 'f9', at fit it was 'f0'"):
        model.predict({"view_1": frames["view_1"].iloc[:, ::-1]})


@pytest.mark.parametrize("columns", [range(10), range(5, 15), [(0, j) for j in range(10)]])
def test_columns_that_are_no_names_in_another_order(columns, sample):
    labels = pd.Index(columns, tupleize_cols=False)
    frames = {name: pd.DataFrame(x, columns=labels) for name, x in sample.views.items()}
    model = fit(DistanceGraphFusion, frames)
    np.testing.assert_array_equal(model.predict(frames), model.labels_)
    np.testing.assert_array_equal(model.predict(sample.views), model.labels_)
    with pytest.raises(ValueError, match=r"Column 0 of view 'view_1' is .*; pass the columns of the fit in"):
        model.predict({"view_1": frames["view_1"].iloc[:, ::-1]})


def test_counted_columns_are_no_names(sample):
    model = fit(DistanceGraphFusion, {name: pd.DataFrame(x) for name, x in sample.views.items()})
    named = pd.DataFrame(sample.views["view_0"], columns=list("abcdefghij"))
    counted = model.predict({"view_0": sample.views["view_0"]})
    np.testing.assert_array_equal(model.predict({"view_0": named}), counted)


IDS = {
    "counted": range(240),
    "turned": range(239, -1, -1),
    "numbers": range(1000, 1240),
    "text": [f"s{i}" for i in range(240)],
}


@pytest.mark.parametrize("ids", IDS.values(), ids=IDS)
def test_columns_of_a_matrix_are_matched_by_id(ids, sample):
    apart = pd.DataFrame(cdist(sample.views["view_0"], sample.views["view_0"]), index=ids, columns=ids)
    other = pd.DataFrame(sample.views["view_1"], index=ids)
    metric = {"apart": "precomputed_distance", "other": "euclidean"}
    model = fit(DistanceGraphFusion, {"apart": apart, "other": other}, metric=metric)
    order = np.random.default_rng(0).permutation(240)
    expected = model.predict_proba({"apart": apart})
    np.testing.assert_array_equal(model.predict_proba({"apart": apart.iloc[:, order]}), expected)
    np.testing.assert_array_equal(model.predict_proba({"apart": apart.sort_index(axis=1)}), expected)
    as_text = apart.rename(columns=str).iloc[:, order]
    np.testing.assert_array_equal(model.predict_proba({"apart": as_text}), expected)


def test_a_matrix_between_new_samples_is_none_to_those_of_the_fit(sample):
    square = Views({"apart": cdist(sample.views["view_0"], sample.views["view_0"])}, pairwise=True)
    metric = "precomputed_distance"
    half = fit(DistanceGraphFusion, square[::2], metric=metric)
    np.testing.assert_array_equal(half.predict(square[::2]), half.labels_)
    np.testing.assert_array_equal(half.predict({"apart": square["apart"][::2, ::2]}), half.labels_)
    for others in (square[1::2], square[:7]):
        with pytest.raises(ValueError, match="'apart' is a matrix between the new samples; pass an array"):
            half.predict(others)


def test_a_matrix_between_the_samples_of_the_fit_in_another_order(sample):
    square = cdist(sample.views["view_0"], sample.views["view_0"])
    views = Views({"apart": square}, pairwise=True, sample_ids=[f"s{i}" for i in range(240)])
    model = fit(DistanceGraphFusion, views, metric="precomputed_distance")
    order = np.random.default_rng(0).permutation(240)
    np.testing.assert_array_equal(model.predict(views[order]), model.labels_[order])
    with pytest.raises(ValueError, match="'apart' is a matrix between the new samples"):
        model.predict(Views(views, sample_ids=None)[order[:120]])


def test_rows_that_were_not_seen_hold_no_categories(sample):
    ward = pd.DataFrame({"ward": sample.y + 1.0, "age": sample.views["view_0"][:, 0]})
    other = sample.views["view_1"]
    coded = Views({"clinic": ward, "other": other}, kinds={"clinic": {"ward": "categorical"}})
    model = fit(DistanceGraphFusion, coded)
    new = ward[:6].copy()
    new.iloc[2] = np.nan
    labels = model.predict({"clinic": new, "other": other[:6]})
    assert labels[2] == model.predict({"other": other[2:3]})[0]
    unused = pd.Categorical([1.0, None], categories=[0.0, 1.0])
    ages = pd.Categorical([None, None])
    town = pd.DataFrame({"a": pd.Categorical(np.array(list("rstu"))[sample.y]), "b": list("xy") * 120})
    model = fit(DistanceGraphFusion, {"town": town, "other": other})
    new = pd.DataFrame({"a": pd.Categorical(["r", None], categories=["a", "r"]), "b": ages})
    assert len(model.predict({"town": new, "other": other[:2]})) == 2
    with pytest.raises(ValueError, match=r"'town', column 'a' holds 0.0 \(row 0\), a category that was not"):
        model.predict({"town": new.assign(a=unused.rename_categories([1.0, 0.0])), "other": other[:2]})
    with pytest.raises(ValueError, match="View 'town' is sparse, and at fit it held categories"):
        model.predict({"town": sparse.csr_array(np.ones((2, 2))), "other": other[:2]})


def test_a_view_that_the_fit_left_out(sample):
    views = sample.views | {"noise": np.random.default_rng(0).normal(size=(240, 10))}
    with pytest.warns(UserWarning, match="'noise' agrees with no other view"):
        model = fit(DistanceGraphFusion, views)
    whole = model.predict_proba(views)
    np.testing.assert_array_equal(model.predict_proba(sample.views), whole)
    with pytest.raises(ValueError, match=r"New row 0 has none of the views that the fit.*.*240 such"):
        model.predict({"noise": views["noise"]})
    ids = [f"s{i}" for i in range(240)]
    with pytest.raises(ValueError, match="New sample 's0' has none"):
        model.predict({"noise": pd.DataFrame(views["noise"], index=ids)})


@every
def test_before_the_fit(method, sample):
    with pytest.raises(Exception, match="not fitted"):
        method().predict(sample.views)
