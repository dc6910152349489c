import logging
from types import MappingProxyType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from tests.engines.names import HOST_ENGINES

from consilience import DistanceGraphFusion, Views
from consilience.engines import get_engine
from consilience.spaces import (
    is_precomputed,
    metric_label,
    metric_names,
    resolve_metrics,
    takes_categories,
    takes_missing_cells,
)
from consilience.spaces.metric import PRECOMPUTED
from consilience.spaces.scaling import looks_like_counts, seems_counted

A, B = np.arange(6.0).reshape(3, 2), np.ones((3, 4))


def with_zeros(n_zero, shape=(10, 10), value=3.0):
    """An array with that many zeros, the rest positive."""
    array = np.full(shape, value)
    array.flat[:n_zero] = 0
    return array


def resolve(metric, arrays, names, engine="numba", **options):
    return resolve_metrics(metric, arrays, names, engine=get_engine(engine), **options)


def resolve_one(metric, array, engine="numba"):
    return resolve(metric, [array], ["only"], engine)[0]


def test_names_are_those_one_can_pass():
    names = metric_names()
    assert names[0] == "auto"
    assert len(set(names)) == len(names)
    assert {"euclidean", "cosine", "manhattan", "jaccard", "mahalanobis", *PRECOMPUTED} <= set(names)
    assert {"gower", "nan_euclidean", "correlation"} <= set(names)
    assert "precomputed" not in names
    for name in names:
        assert resolve_one(name, A) in names


@pytest.mark.parametrize(
    ("alias", "name"),
    [("l2", "euclidean"), ("sqeuclidean", "euclidean"), ("l1", "manhattan"), ("cityblock", "manhattan")],
)
def test_aliases_are_replaced(alias, name):
    assert resolve_one(alias, A) == name


def test_one_name_serves_all_views():
    assert resolve("cosine", [A, B, A], ["a", "b", "c"]) == ("cosine",) * 3


@pytest.mark.parametrize("kind", [list, tuple, np.array])
def test_one_name_per_view_in_order(kind):
    assert resolve(kind(["cosine", "l1"]), [A, B], ["a", "b"]) == ("cosine", "manhattan")


@pytest.mark.parametrize("kind", [dict, MappingProxyType])
def test_a_mapping_is_read_by_name(kind):
    metric = kind({"b": "cosine", "a": "l1"})
    assert resolve(metric, [A, B], ["a", "b"]) == ("manhattan", "cosine")


@pytest.mark.parametrize("metric", [[], ["cosine"], ["cosine"] * 3])
def test_wrong_number_of_names_says_both_numbers(metric):
    with pytest.raises(ValueError, match=f"2 views, got {len(metric)}"):
        resolve(metric, [A, B], ["a", "b"])


@pytest.mark.parametrize(
    "metric", [{"a": "cosine"}, {"a": "cosine", "c": "cosine"}, {"a": "l1", "b": "l1", "c": "l1"}]
)
def test_mapping_with_other_views_names_both_sides(metric):
    with pytest.raises(ValueError, match="'a', 'b'") as error:
        resolve(metric, [A, B], ["a", "b"])
    for name in metric:
        assert repr(name) in str(error.value)


def test_unknown_metric_names_the_view_and_lists_the_known_ones():
    with pytest.raises(ValueError, match="'euclidian' for view 'b'") as error:
        resolve(["cosine", "euclidian"], [A, B], ["a", "b"])
    for name in metric_names():
        assert name in str(error.value)
    assert "Say which" not in str(error.value)


def test_precomputed_is_asked_what_it_holds():
    with pytest.raises(ValueError, match="Say which: 'precomputed_distance'"):
        resolve_one("precomputed", A)


@pytest.mark.parametrize("metric", [5, None, [None, 3], ["cosine", None]])
def test_what_is_no_name_is_refused_clearly(metric):
    with pytest.raises((TypeError, ValueError), match="metric"):
        resolve(metric, [A, B], ["a", "b"])


@pytest.mark.parametrize("engine", HOST_ENGINES)
@given(st.integers(0, 100), st.booleans(), st.sampled_from([np.float64, np.float32]))
@settings(max_examples=50, deadline=None)
def test_auto_is_cosine_iff_non_negative_with_more_than_80_percent_zeros(engine, n_zero, negative, dtype):
    array = with_zeros(n_zero).astype(dtype)
    if negative:
        array[-1, -1] = -1
    n_zero = np.count_nonzero(array == 0)
    expected = "cosine" if n_zero > 80 and not negative else "euclidean"
    assert resolve_one("auto", array, engine) == expected
    assert resolve_one("auto", sparse.csr_array(array), engine) == expected
    assert resolve_one("auto", sparse.csr_matrix(array), engine) == expected
    assert (
        looks_like_counts(array) is seems_counted(array, None, get_engine(engine)) is (expected == "cosine")
    )


def test_auto_counts_stored_zeros_as_zeros():
    stored = sparse.csr_array(np.ones((10, 10)))
    stored.data[:81] = 0
    assert stored.nnz == 100
    assert resolve_one("auto", stored) == "cosine"
    stored.data[80] = 1
    assert resolve_one("auto", stored) == "euclidean"


def test_auto_of_an_empty_sparse_view():
    assert resolve_one("auto", sparse.csr_array((5, 7))) == "cosine"


def test_auto_decides_for_each_view_alone_and_logs_it(caplog):
    views = {"words": with_zeros(90), "sizes": with_zeros(10), "fixed": with_zeros(90)}
    with caplog.at_level(logging.INFO, logger="consilience"):
        metrics = resolve(["auto", "auto", "euclidean"], list(views.values()), list(views))
    assert metrics == ("cosine", "euclidean", "euclidean")
    assert [record.getMessage() for record in caplog.records] == [
        "view 'words': metric 'auto' is cosine",
        "view 'sizes': metric 'auto' is euclidean",
    ]


def test_auto_looks_at_the_samples_that_the_view_has_seen():
    # What a view has not seen is held as zeros, which say nothing about its features.
    rng = np.random.default_rng(0)
    mask = np.ones((60, 2), dtype=bool)
    mask[6:, 1] = False
    views = Views([rng.random((60, 4)) + 1, rng.random((60, 4)) + 1], mask=mask)
    model = DistanceGraphFusion(n_clusters=2, metric="auto", random_state=0).fit(views)
    assert model.metrics_ == ("euclidean", "euclidean")


def far(a, b):
    return float(abs(a - b).sum())


def test_a_function_is_a_metric_for_one_view_or_all():
    assert resolve(far, [A, B], ["a", "b"]) == (far, far)
    assert resolve(["cosine", far], [A, B], ["a", "b"]) == ("cosine", far)
    assert resolve({"b": far, "a": "l1"}, [A, B], ["a", "b"]) == ("manhattan", far)


def test_what_metrics_take():
    named = set(metric_names()) - {"auto"}
    assert {name for name in named if takes_categories(name)} == {"gower"}
    assert {name for name in named if takes_missing_cells(name)} == {"gower", "nan_euclidean"}
    assert {name for name in named if is_precomputed(name)} == set(PRECOMPUTED)
    assert takes_categories(far)
    assert takes_missing_cells(far)
    assert not is_precomputed(far)


def test_labels_of_metrics():
    class Weighted:
        def __call__(self, a, b):
            return 0.0

    assert [metric_label(one) for one in ("cosine", far, Weighted())] == ["cosine", "far", "Weighted"]


@pytest.mark.parametrize("kinds", [("categorical", "numeric"), ("numeric", "ordinal")])
def test_auto_is_gower_for_columns_that_are_no_numbers(kinds):
    metrics = resolve("auto", [A, A], ["a", "b"], kinds=[None, kinds])
    assert metrics == ("euclidean", "gower")
    assert resolve("auto", [A], ["a"], kinds=[("numeric", "numeric")]) == ("euclidean",)


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "nan_euclidean", "l1"])
def test_categories_under_a_metric_of_numbers_name_the_column(metric):
    kinds = [None, ("numeric", "ordinal", "categorical", "categorical")]
    with pytest.raises(ValueError, match=r"Column 2 of view 'b' is categorical.*metric='gower'"):
        resolve(["euclidean", metric], [A, B], ["a", "b"], kinds=kinds)
    assert resolve(metric, [A], ["a"], kinds=[("numeric", "ordinal")]) == (resolve_one(metric, A),)


def test_gower_and_functions_take_categories():
    kinds = [("categorical", "numeric")] * 2
    assert resolve(["gower", far], [A, A], ["a", "b"], kinds=kinds) == ("gower", far)
