import inspect
from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from consilience import metrics
from consilience.metrics import ari, clustering_accuracy, nmi, purity

METRICS = [clustering_accuracy, nmi, ari, purity]
AVERAGE_METHODS = ["max", "arithmetic", "geometric", "min"]


@st.composite
def labellings(draw, max_label=4, max_size=25):
    """Two labellings of the same samples."""
    n = draw(st.integers(1, max_size))
    labels = st.lists(st.integers(0, max_label), min_size=n, max_size=n)
    return draw(labels), draw(labels)


def brute_force_accuracy(y_true, y_pred):
    classes, clusters = sorted(set(y_true)), sorted(set(y_pred))
    # Dummies stand for "no class", so that every cluster can be given something.
    targets = classes + [None] * len(clusters)
    best = 0
    for chosen in set(permutations(targets, len(clusters))):
        given_class = dict(zip(clusters, chosen, strict=True))
        best = max(best, sum(t == given_class[p] for t, p in zip(y_true, y_pred, strict=True)))
    return best / len(y_true)


# By hand: 10 samples with the table (classes x clusters)
#     3 1 0
#     0 2 2
#     0 2 0
# The best matching is 3 + 2 (class 1, cluster 2) + 2 (class 2, cluster 1) = 7; largest per cluster: 3, 2, 2.
HAND_TRUE = [0, 0, 0, 0, 1, 1, 1, 1, 2, 2]
HAND_PRED = [0, 0, 0, 1, 1, 1, 2, 2, 1, 1]


def test_by_hand():
    assert clustering_accuracy(HAND_TRUE, HAND_PRED) == pytest.approx(0.7)
    assert purity(HAND_TRUE, HAND_PRED) == pytest.approx(0.7)
    # Pairs together, of 45: 3 + 1 + 1 + 1 = 6 in both, 6 + 6 + 1 = 13 by class, 3 + 10 + 1 = 14 by cluster.
    expected = 13 * 14 / 45
    assert ari(HAND_TRUE, HAND_PRED) == pytest.approx((6 - expected) / ((13 + 14) / 2 - expected))


def test_nmi_by_hand():
    # Four clusters of one sample against two classes of two: I = log 2, H(y) = log 2, H(clusters) = 2 log 2.
    y, clusters = [0, 0, 1, 1], [0, 1, 2, 3]
    values = {name: nmi(y, clusters, average_method=name) for name in AVERAGE_METHODS}
    expected = {"max": 1 / 2, "arithmetic": 2 / 3, "geometric": 1 / np.sqrt(2), "min": 1.0}
    assert values == pytest.approx(expected)
    assert nmi(y, clusters) == values["max"]


def test_accuracy_is_one_to_one_and_purity_is_not():
    y, clusters = [0, 0, 0, 0], [0, 0, 1, 1]
    assert clustering_accuracy(y, clusters) == 0.5
    assert purity(y, clusters) == 1.0
    assert purity(clusters, y) == 0.5


def test_greedy_matching_would_be_wrong():
    # Table [[3, 2], [2, 0]]: taking the largest cell first gives 3, the best matching gives 4.
    y, clusters = [0, 0, 0, 0, 0, 1, 1], [0, 0, 0, 1, 1, 0, 0]
    assert clustering_accuracy(y, clusters) == pytest.approx(4 / 7)


@pytest.mark.parametrize("metric", METRICS)
def test_one_sample_and_one_label(metric):
    assert metric([7], ["a"]) == 1.0
    assert metric([7, 7, 7], ["a", "a", "a"]) == 1.0


@pytest.mark.parametrize("average_method", AVERAGE_METHODS)
def test_nmi_of_a_single_label_against_several_is_zero(average_method):
    assert nmi([0, 0, 0], [0, 1, 2], average_method=average_method) == 0.0
    assert nmi([0, 1, 2], [0, 0, 0], average_method=average_method) == 0.0


@settings(deadline=None)
@given(labellings(max_label=3, max_size=12))
def test_accuracy_equals_brute_force(pair):
    assert clustering_accuracy(*pair) == pytest.approx(brute_force_accuracy(*pair))


@settings(deadline=None)
@given(labellings())
def test_equals_scikit_learn(pair):
    assert ari(*pair) == pytest.approx(adjusted_rand_score(*pair))
    for name in AVERAGE_METHODS:
        reference = normalized_mutual_info_score(*pair, average_method=name)
        assert nmi(*pair, average_method=name) == pytest.approx(reference, abs=1e-12)


@settings(deadline=None)
@given(labellings(), st.permutations(range(5)), st.permutations(["a", "b", "zz", "", "é"]))
def test_renaming_labels_changes_nothing(pair, numbers, strings):
    y_true, y_pred = pair
    renamed = [-numbers[t] for t in y_true], [strings[p] for p in y_pred]
    for metric in METRICS:
        assert metric(*renamed) == pytest.approx(metric(y_true, y_pred))


@settings(deadline=None)
@given(labellings(), st.randoms(use_true_random=False))
def test_order_of_samples_changes_nothing(pair, random):
    shuffled = list(zip(*pair, strict=True))
    random.shuffle(shuffled)
    for metric in METRICS:
        assert metric(*zip(*shuffled, strict=True)) == pytest.approx(metric(*pair))


@settings(deadline=None)
@given(labellings())
def test_bounds(pair):
    assert 0 < clustering_accuracy(*pair) <= purity(*pair) <= 1
    assert -0.5 - 1e-12 <= ari(*pair) <= 1
    values = [nmi(*pair, average_method=name) for name in AVERAGE_METHODS]
    assert all(0 <= value <= 1 for value in values)
    larger, arithmetic, geometric, smaller = values
    assert larger <= arithmetic + 1e-12 <= geometric + 2e-12 <= smaller + 3e-12


@settings(deadline=None)
@given(labellings())
def test_symmetry(pair):
    for metric in (clustering_accuracy, nmi, ari):
        assert metric(*pair) == pytest.approx(metric(*reversed(pair)))


@settings(deadline=None)
@given(labellings())
def test_a_labelling_agrees_with_itself(pair):
    for metric in METRICS:
        assert metric(pair[0], pair[0]) == pytest.approx(1.0)


@pytest.mark.parametrize(
    "labels",
    [
        np.array([0, 0, 1, 2], dtype=np.uint8),
        np.array([-5, -5, 3, -1]),
        np.array([0.5, 0.5, 1.5, 2.5]),
        np.array(["x", "x", "y", "z"]),
        ["x", "x", "y", "z"],
        [1, 1, "1", "one"],
        np.array([1, 1, "a", (2, 3)], dtype=object),
        np.array(["2020-01-01", "2020-01-01", "2021-01-01", "2022-01-01"], dtype="datetime64[D]"),
        pd.Series([3, 3, 1, 2], index=[9, 8, 7, 6]),
        pd.Series(["x", "x", "y", "z"]),
        pd.Series(["x", "x", "y", "z"], dtype="category"),
        pd.Series([3, 3, 1, 2], dtype="Int64"),
        pd.Index(["x", "x", "y", "z"]),
    ],
    ids=lambda labels: f"{type(labels).__name__}-{getattr(labels, 'dtype', '')}",
)
@pytest.mark.parametrize("metric", METRICS)
def test_any_labels(metric, labels):
    plain, other = [0, 0, 1, 2], [0, 1, 1, 1]
    assert metric(labels, other) == pytest.approx(metric(plain, other))
    assert metric(other, labels) == pytest.approx(metric(other, plain))


def test_boolean_labels():
    assert clustering_accuracy([True, False, False], [0, 1, 1]) == 1.0


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ([0, 1], "same length, got (2 and 3|3 and 2)"),
        ([], "at least one label"),
        ([[0, 1, 2]], "one-dimensional, got 2"),
        (3, "one-dimensional, got 0"),
        ([[0, 1], [2]], "one-dimensional"),
        (pd.DataFrame({"a": [0, 1, 2]}), "one-dimensional, got 2"),
        ([0, 1, np.nan], "missing"),
        (["a", "b", np.nan], "missing"),
        (["a", "b", None], "missing"),
        (pd.Series(["a", "b", None]), "missing"),
        (pd.Series([1, 2, None], dtype="Int64"), "missing"),
        (np.array(["2020", "2021", "NaT"], dtype="datetime64[Y]"), "missing"),
        (np.ma.array([0, 1, 2], mask=[False, True, False]), "missing"),
        (pd.Series([{1}, {2}, {3}]), "hashable"),
    ],
    ids=str,
)
def test_bad_labels(metric, bad, message):
    good = [0, 0, 1]
    with pytest.raises(ValueError, match=message):
        metric(bad, good)
    with pytest.raises(ValueError, match=message):
        metric(good, bad)


def test_message_names_the_argument():
    with pytest.raises(ValueError, match="y_pred must not hold missing"):
        clustering_accuracy([0, 1], [0, np.nan])
    with pytest.raises(ValueError, match="y_true must be one-dimensional"):
        clustering_accuracy([[0, 1]], [0, 1])


def test_unknown_average_method():
    with pytest.raises(ValueError, match=r"average_method must be one of .* got 'mean'"):
        nmi([0, 1], [0, 1], average_method="mean")


def test_input_is_not_changed_and_result_is_a_float():
    y = np.array([3, 1, 1])
    for metric in METRICS:
        assert type(metric(y, y)) is float
    assert y.tolist() == [3, 1, 1]


def test_many_labels_on_one_side():
    n = 100_000
    y, own = np.arange(n) % 10, np.arange(n)
    assert clustering_accuracy(y, own) == pytest.approx(10 / n)
    assert purity(y, own) == 1.0
    assert purity(own, own) == 1.0


def test_every_function_is_exported_with_an_example():
    assert set(metrics.__all__) == {"clustering_accuracy", "nmi", "ari", "purity", "scores"}
    for metric in map(metrics.__dict__.get, metrics.__all__):
        assert ">>> " in inspect.getdoc(metric)
