"""The door for data: what gets in, in which shape, and what is turned away with which words."""

from __future__ import annotations

import copy
import pickle
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse
from sklearn.base import BaseEstimator, ClusterMixin, clone
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score, train_test_split
from sklearn.utils import _safe_indexing, indexable
from sklearn.utils.validation import _num_samples

from consilience.views import Views, ViewTypeError, as_views, graph_view

FORMATS = ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"]


def example(n=6, seed=0):
    rng = np.random.default_rng(seed)
    return {"size": rng.normal(size=(n, 3)), "words": rng.poisson(0.5, size=(n, 5)).astype(float)}


def frame(values, ids=None, columns=None):
    return pd.DataFrame(values, index=ids, columns=columns)


def assert_same(a: Views, b: Views):
    assert a.names == b.names
    assert a.pairwise == b.pairwise
    for x, y in zip(a.arrays, b.arrays, strict=True):
        assert type(x) is type(y)
        assert x.dtype == y.dtype
        np.testing.assert_array_equal(dense(x), dense(y))
    for x, y in ((a.sample_ids, b.sample_ids), (a.mask, b.mask)):
        assert (x is None) == (y is None)
        assert x is None or x.tolist() == y.tolist()
    for x, y in zip(a.feature_names, b.feature_names, strict=True):
        assert (x is None) == (y is None)
        assert x is None or x.tolist() == y.tolist()


def dense(x):
    return x.toarray() if sparse.issparse(x) else x


@st.composite
def lists_of_arrays(draw, max_views=3):
    n = draw(st.integers(1, 6))
    numbers = st.sampled_from([np.float64, np.float32, np.int64, np.int8, np.uint16, np.bool_])
    return [
        draw(
            hnp.arrays(
                dtype=draw(numbers),
                shape=(n, draw(st.integers(1, 4))),
                elements={"allow_nan": False, "allow_infinity": False},
            )
        )
        for _ in range(draw(st.integers(1, max_views)))
    ]


# What gets in -------------------------------------------------------------------------------------------


@given(arrays=lists_of_arrays())
def test_list_tuple_mapping_and_views_are_the_same(arrays):
    views = Views(arrays)
    named = {f"view_{i}": array for i, array in enumerate(arrays)}
    for other in (tuple(arrays), named, views):
        assert_same(views, Views(other))
    for given_array, array in zip(arrays, views.arrays, strict=True):
        assert array.dtype == (np.float32 if given_array.dtype == np.float32 else np.float64)
        assert array.flags.c_contiguous
        np.testing.assert_array_equal(array, given_array.astype(array.dtype))


def test_attributes():
    views = Views(example(6))
    assert views.names == ("size", "words")
    assert (views.n_samples, views.n_views, len(views)) == (6, 2, 6)
    assert views.n_features == (3, 5)
    assert views.shape == (6, 8)
    assert views.sample_ids is None
    assert views.mask is None
    assert views.seen(0) is None
    assert views.pairwise == (False, False)
    assert views.feature_names == (None, None)
    assert [name for name, _ in views.items()] == ["size", "words"]
    assert next(iter(views.items()))[1] is views.arrays[0] is views["size"]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_clean_data_is_not_copied(dtype):
    X = np.ones((4, 3), dtype=dtype)
    S = sparse.csr_array(np.eye(4, dtype=dtype))
    views = Views([X, S])
    assert np.shares_memory(views.arrays[0], X)
    assert np.shares_memory(views.arrays[1].data, S.data)
    assert np.shares_memory(Views(views).arrays[0], X)
    assert as_views(views) is views
    assert np.shares_memory(as_views(X).arrays[0], X)


@pytest.mark.parametrize(
    "X",
    [
        np.arange(6).reshape(3, 2),
        np.array([[True, False], [False, True]]),
        np.arange(6, dtype=np.float16).reshape(3, 2),
        np.arange(6, dtype=np.longdouble).reshape(3, 2),
        np.arange(6, dtype=">f8").reshape(3, 2),
        np.array([[1, 2.5], [np.float32(3), True], [Fraction(1, 2), np.bool_(True)]], dtype=object),
        np.asfortranarray(np.arange(6.0).reshape(3, 2)),
        np.arange(12.0).reshape(3, 4)[:, ::2],
        np.array([[1.0, 2.0]]).view(np.matrix),
    ],
)
def test_other_dense_data_becomes_float64(X):
    view = Views(X).arrays[0]
    assert type(view) is np.ndarray
    assert view.dtype == np.float64
    assert view.dtype.isnative
    assert view.flags.c_contiguous
    np.testing.assert_array_equal(view, np.asarray(X).astype(np.float64))


def test_big_endian_float32_stays_single_but_becomes_native():
    view = Views(np.arange(6, dtype=">f4").reshape(3, 2)).arrays[0]
    assert view.dtype == np.float32
    assert view.dtype.isnative
    assert view[2].tolist() == [4, 5]


@pytest.mark.parametrize("container", [sparse.csr_array, sparse.csr_matrix])
@pytest.mark.parametrize("fmt", FORMATS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.bool_])
def test_sparse_stays_sparse(container, fmt, dtype):
    X = np.array([[0, 1, 0, 2], [0, 0, 0, 0], [3, 0, 0, 0]]).astype(dtype)
    S = container(X).asformat(fmt)
    before = S.toarray()
    views = Views(S)  # alone: dok_array is a Mapping as well
    assert views.names == ("view_0",)
    view = views.arrays[0]
    assert view.format == "csr"
    assert isinstance(view, sparse.sparray) == isinstance(S, sparse.sparray)
    assert view.dtype == (np.float32 if dtype is np.float32 else np.float64)
    assert view.has_canonical_format
    np.testing.assert_array_equal(view.toarray(), X.astype(float))
    np.testing.assert_array_equal(S.toarray(), before)
    assert_same(Views({"a": S}), Views([S], names=["a"]))


@pytest.mark.parametrize("dtype", [np.float64, np.int64, np.bool_])
def test_untidy_csr_is_tidied_in_a_copy(dtype):
    data = np.array([1, 1, 1, 1], dtype=dtype)
    S = sparse.csr_array((data, np.array([2, 0, 1, 1]), np.array([0, 2, 4])), shape=(2, 3))
    parts = [part.copy() for part in (S.data, S.indices, S.indptr)]
    view = Views(S).arrays[0]
    assert view.has_canonical_format
    np.testing.assert_array_equal(view.toarray(), S.toarray().astype(float))
    assert view.nnz == 3
    for part, was in zip((S.data, S.indices, S.indptr), parts, strict=True):
        np.testing.assert_array_equal(part, was)


def test_csr_with_spare_room_is_pruned():
    S = sparse.csr_array(np.eye(3))
    S.data = np.concatenate([S.data, [np.nan, np.nan]])
    S.indices = np.concatenate([S.indices, [0, 0]]).astype(S.indices.dtype)
    view = Views(S).arrays[0]
    assert view.data.tolist() == [1, 1, 1]
    assert S.data.size == 5


def test_csr_with_long_indices():
    S = sparse.csr_array(np.eye(3))
    S.indices, S.indptr = S.indices.astype(np.int64), S.indptr.astype(np.int64)
    np.testing.assert_array_equal(Views(S)[[2, 0]].arrays[0].toarray(), np.eye(3)[[2, 0]])


@given(arrays=lists_of_arrays(), data=st.data())
def test_input_is_never_changed(arrays, data):
    n = arrays[0].shape[0]
    mask = data.draw(hnp.arrays(bool, (n, 2 * len(arrays))))
    mask[:, 0] = True
    inputs = arrays + [sparse.csr_array(array) for array in arrays]
    before = [dense(x).copy() for x in inputs]
    for x in arrays:
        x.flags.writeable = False  # a write would raise
    Views(inputs, mask=mask, sample_ids=range(n))[::-1]
    for x, was in zip(inputs, before, strict=True):
        np.testing.assert_array_equal(dense(x), was)


class OnlyArray:
    """An array-like that NumPy can read and that offers nothing else."""

    def __init__(self, values):
        self.values = values

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.values, dtype=dtype)


@pytest.mark.parametrize(
    "one_view",
    [
        [[1.0, 2.0], [3.0, 4.0]],
        ([1, 2], [3, 4]),
        [(1, 2), (3, 4)],
        list(np.array([[1, 2], [3, 4]])),
        [[np.float64(1), 2], [3, 4]],
        np.array([[1, 2], [3, 4]]),
        OnlyArray([[1, 2], [3, 4]]),
        sparse.dok_array(np.array([[1, 2], [3, 4]])),
        pd.DataFrame([[1, 2], [3, 4]]),
    ],
)
def test_one_view(one_view):
    views = Views(one_view)
    assert views.names == ("view_0",)
    assert dense(views.arrays[0]).tolist() == [[1, 2], [3, 4]]


def test_nested_lists_three_deep_are_several_views():
    views = Views([[[1, 2], [3, 4]], [[5], [6]]])
    assert views.n_features == (2, 1)
    assert views.arrays[1].tolist() == [[5], [6]]


# DataFrames ---------------------------------------------------------------------------------------------


def test_frame_dtypes():
    single = pd.DataFrame({"a": np.float32([1, 2]), "b": np.float32([3, 4])})
    mixed = single.assign(c=[True, False], d=np.int8([5, 6]))
    nullable = pd.DataFrame(
        {"a": pd.array([1, 2], dtype="Int64"), "b": pd.array([True, False], dtype="boolean")}
    )
    objects = pd.DataFrame({"a": np.array([1, 2.5], dtype=object), "b": [3, 4]})
    views = Views([single, mixed, nullable, objects])
    assert [array.dtype for array in views.arrays] == [np.float32, np.float64, np.float64, np.float64]
    assert views.arrays[1].tolist() == [[1, 3, 1, 5], [2, 4, 0, 6]]
    assert views.arrays[2].tolist() == [[1, 1], [2, 0]]
    assert views.arrays[3].tolist() == [[1, 3], [2.5, 4]]
    assert views.arrays[0].flags.c_contiguous
    assert [names.tolist() for names in views.feature_names] == [
        list("ab"),
        list("abcd"),
        list("ab"),
        list("ab"),
    ]


def test_sparse_frame_stays_sparse():
    X = np.array([[0.0, 1.0], [2.0, 0.0], [0.0, 0.0]])
    filled = pd.DataFrame.sparse.from_spmatrix(sparse.csr_matrix(X), index=list("abc"), columns=["x", "y"])
    other = pd.DataFrame(np.ones((3, 1)), index=list("cab"))
    views = Views({"other": other, "sparse": filled})
    assert sparse.issparse(views["sparse"])
    assert views.sample_ids.tolist() == list("cab")
    np.testing.assert_array_equal(views["sparse"].toarray(), X[[2, 0, 1]])


def test_feature_names_only_from_frames_whose_columns_are_all_strings():
    views = Views(
        [
            frame(np.eye(2), columns=["x", 1]),
            frame(np.eye(2)),
            np.eye(2),
            frame(np.eye(2), columns=["x", "y"]),
        ]
    )
    assert views.feature_names[:3] == (None, None, None)
    assert views.feature_names[3].tolist() == ["x", "y"]


@pytest.mark.parametrize("ids", [["p", "q", "r"], [7, 5, 6], [("p", 1), ("p", 2), ("q", 1)]])
def test_ids_come_from_the_index(ids):
    index = pd.MultiIndex.from_tuples(ids) if isinstance(ids[0], tuple) else ids
    views = Views({"a": frame(np.arange(3)[:, None], index), "b": frame(np.arange(3)[:, None], index)})
    assert views.sample_ids.shape == (3,)
    assert views.sample_ids.tolist() == ids


def test_a_default_index_is_no_id():
    assert Views([frame(np.eye(3)), frame(np.eye(3))]).sample_ids is None
    shifted = Views(frame(np.eye(3), pd.RangeIndex(1, 4)))
    assert shifted.sample_ids.tolist() == [1, 2, 3]


def test_times_match_whatever_their_unit():
    days = pd.date_range("2020-01-01", periods=3)
    views = Views(
        [
            frame(np.arange(3)[:, None], days.as_unit("ns")),
            frame(np.arange(3)[::-1, None], days[::-1].as_unit("s")),
        ]
    )
    assert views.arrays[1].ravel().tolist() == [0, 1, 2]


@settings(deadline=None)  # the first frame of a process takes its time
@given(permutations=st.lists(st.permutations(range(5)), min_size=1, max_size=3), numbers=st.booleans())
def test_rows_are_aligned_by_id(permutations, numbers):
    labels = np.arange(10, 15) if numbers else np.array(list("abcde"), dtype=object)
    base = np.arange(10.0).reshape(5, 2)
    D = np.abs(np.subtract.outer(np.arange(5.0), 2 * np.arange(5.0)))  # not symmetric
    tables, order = {}, permutations[0]
    for i, p in enumerate(permutations):
        p = list(p)
        tables[f"x{i}"] = frame(base[p] + i, labels[p])
        tables[f"d{i}"] = frame(D[np.ix_(p, p[::-1])], labels[p], labels[p[::-1]])
    views = Views(tables, pairwise=[name for name in tables if name[0] == "d"])
    assert views.sample_ids.tolist() == labels[list(order)].tolist()
    for i in range(len(permutations)):
        np.testing.assert_array_equal(views[f"x{i}"], base[list(order)] + i)
        np.testing.assert_array_equal(views[f"d{i}"], D[np.ix_(order, order)])
    explicit = Views(tables, sample_ids=labels, pairwise=[name for name in tables if name[0] == "d"])
    np.testing.assert_array_equal(explicit["x0"], base)
    np.testing.assert_array_equal(explicit["d0"], D)
    if not numbers:
        assert explicit.feature_names[1].tolist() == labels.tolist()
    assert_same(Views(views, sample_ids=labels), explicit)


def test_pairwise_frame_without_column_ids_has_its_columns_in_the_order_of_its_rows():
    D = np.arange(9.0).reshape(3, 3)
    views = Views({"x": frame(np.eye(3), list("cab")), "d": frame(D, list("abc"))}, pairwise=["d"])
    np.testing.assert_array_equal(views["d"], D[np.ix_([2, 0, 1], [2, 0, 1])])


def test_a_shuffled_default_index_is_matched_with_a_default_index():
    X = pd.DataFrame({"x": np.arange(6.0)})
    shuffled = X.sample(frac=1, random_state=1)
    assert shuffled["x"].tolist() != X["x"].tolist()
    for tables in ([X, shuffled], [shuffled, X]):
        views = Views(tables)
        assert views.sample_ids.tolist() == tables[0].index.tolist()
        np.testing.assert_array_equal(views.arrays[0], views.arrays[1])
        np.testing.assert_array_equal(views.arrays[0], tables[0].to_numpy())


def test_ids_beside_no_ids_warns():
    labelled = frame([[1.0], [2.0]], ["p", "q"])
    with pytest.warns(UserWarning, match="view 'b' has sample ids, but 'a' has none.*same order") as caught:
        views = Views({"a": np.eye(2), "b": labelled})
    assert caught[0].filename == __file__
    assert views.sample_ids.tolist() == ["p", "q"]
    np.testing.assert_array_equal(views["a"], np.eye(2))
    with pytest.warns(UserWarning, match="'a'"):
        Views({"a": frame(np.eye(2)), "b": labelled})
    with pytest.raises(ValueError, match="'a' has none, and its 3 rows cannot be the 2 samples"):
        Views({"a": np.eye(3), "b": labelled})
    # Who says what the rows are need not be warned.
    views = Views({"a": np.eye(2), "b": labelled}, sample_ids=["q", "p"])
    assert views["b"].tolist() == [[2], [1]]
    np.testing.assert_array_equal(views["a"], np.eye(2))


def test_explicit_sample_ids():
    assert Views(np.eye(2), sample_ids=["a", "b"]).sample_ids.dtype.kind == "U"
    assert Views(np.eye(2), sample_ids=(3, 4)).sample_ids.dtype.kind == "i"
    assert Views(np.eye(2), sample_ids=pd.Index(["a", "b"])).sample_ids.tolist() == ["a", "b"]
    assert Views(np.eye(2), sample_ids=[1, "1"]).sample_ids.tolist() == [1, "1"]
    assert Views(np.eye(2), sample_ids=[("a", 1), ("a", 2)]).sample_ids.tolist() == [("a", 1), ("a", 2)]


@pytest.mark.parametrize(
    ("sample_ids", "match"),
    [
        (["a"], r"sample_ids has 1, view 'view_0' has 2"),
        (["a", "a"], "sample_ids holds the sample id 'a' more than once"),
        ("ab", "sample_ids must be a 1-D sequence"),
        (3, "sample_ids must be a 1-D sequence"),
        (np.eye(2), r"sample_ids must be 1-D, got shape \(2, 2\)"),
    ],
)
def test_bad_sample_ids(sample_ids, match):
    with pytest.raises(ValueError, match=match):
        Views(np.eye(2), sample_ids=sample_ids)


def test_ids_are_joined():
    a = frame([[1.0], [2.0], [3.0]], list("pqr"))
    b = frame([[9.0], [8.0], [7.0], [6.0]], list("xrpy"))
    views = Views({"a": a, "b": b})
    assert views.sample_ids.tolist() == list("pqrxy")  # the first view's, then those only a later one has
    assert views.mask.tolist() == [[True, True], [True, False], [True, True], [False, True], [False, True]]
    assert views["a"].ravel().tolist() == [1, 2, 3, 0, 0]
    assert views["b"].ravel().tolist() == [7, 0, 8, 9, 6]
    inner = Views({"a": a, "b": b}, join="inner")
    assert inner.sample_ids.tolist() == ["p", "r"] and inner.mask is None
    assert inner["b"].ravel().tolist() == [7, 8]
    with pytest.raises(ValueError, match="join must be 'outer' or 'inner'"):
        Views({"a": a}, join="left")


def test_joining_whole_number_ids_keeps_them_numbers():
    joined = Views([frame([[1.0], [2.0]], [5, 3]), frame([[1.0], [2.0]], [3, 9])]).sample_ids
    assert joined.dtype.kind == "i" and joined.tolist() == [5, 3, 9]


@pytest.mark.parametrize("join", ["outer", "inner"])
def test_joined_views_hold_each_sample_once(join):
    rng = np.random.default_rng(5)
    tables = {}
    for name in "abc":
        ids = rng.choice(40, size=30, replace=False)
        tables[name] = pd.DataFrame({"own": ids.astype(float)}, index=[f"s{i}" for i in ids])
    views = Views(tables, join=join)
    everyone = [set(table.index) for table in tables.values()]
    wanted = set.union(*everyone) if join == "outer" else set.intersection(*everyone)
    assert set(views.sample_ids) == wanted and len(views) == len(wanted)
    for v, (name, array) in enumerate(views.items()):
        for i, label in enumerate(views.sample_ids):
            seen = views.mask is None or views.mask[i, v]
            assert seen == (label in tables[name].index)
            assert array[i, 0] == (float(label[1:]) if seen else 0)


def test_a_pairwise_view_is_joined_in_rows_and_columns():
    D = np.array([[0.0, 1, 2], [1, 0, 3], [2, 3, 0]])
    views = Views(
        {"x": frame([[1.0], [2.0]], ["c", "z"]), "d": frame(D, list("abc"), list("cab"))}, pairwise=["d"]
    )
    assert views.sample_ids.tolist() == ["c", "z", "a", "b"]
    at = {label: i for i, label in enumerate(views.sample_ids)}
    assert views["d"][at["z"]].tolist() == [0, 0, 0, 0] and views["d"][:, at["z"]].tolist() == [0, 0, 0, 0]
    # Row a, column b of the table as it came: its columns are in the order c, a, b.
    assert views["d"][at["a"], at["b"]] == 2 and views["d"][at["b"], at["c"]] == 1


def test_frames_cut_out_of_one_frame_are_joined_by_their_default_index():
    whole = pd.DataFrame({"x": np.arange(6.0)})
    views = Views({"whole": whole, "part": whole[whole["x"] % 2 == 0]})
    assert views.sample_ids.tolist() == list(range(6))
    assert views.mask[:, 1].tolist() == [True, False] * 3
    assert views["part"].ravel().tolist() == [0, 0, 2, 0, 4, 0]


def test_ids_that_have_nothing_in_common_are_refused():
    with pytest.raises(ValueError, match=r"view 'view_0' shares no sample id.*'1'.*1; they differ in type"):
        Views([frame(np.eye(1), ["1"]), frame(np.eye(1), [1])])
    with pytest.raises(ValueError, match="view 'c' shares no sample id with the other views: it has 'u'"):
        Views(
            {
                "a": frame(np.eye(2), ["p", "q"]),
                "b": frame(np.eye(2), ["p", "r"]),
                "c": frame(np.eye(2), ["u", "v"]),
            }
        )
    with pytest.raises(ValueError, match="no sample id in common"):
        Views([frame(np.eye(2), list(ids)) for ids in ("pq", "qr", "rp")], join="inner")


def test_ids_that_do_not_match_those_given():
    a = frame(np.eye(3), list("pqr"))
    with pytest.raises(ValueError, match=r"1 ids of view 'view_0' are missing from sample_ids, .* 'r'"):
        Views(a, sample_ids=list("pqz"))
    views = Views({"a": a, "b": np.eye(4)}, sample_ids=list("zpqr"))
    assert views.mask.tolist() == [[False, True], [True, True], [True, True], [True, True]]
    with pytest.raises(ValueError, match="missing from the columns of view 'view_0', for example 'r'"):
        Views(frame(np.eye(3), list("pqr"), list("pqx")), pairwise=True)


def test_ids_from_a_column():
    a = pd.DataFrame({"who": ["p", "q"], "x": [1.0, 2.0]})
    b = pd.DataFrame({"y": [3.0, 4.0], "who": ["q", "p"]})
    views = Views({"a": a, "b": b}, id_column="who")
    assert views.sample_ids.tolist() == ["p", "q"]
    assert views["b"].ravel().tolist() == [4, 3] and views.feature_names[1].tolist() == ["y"]
    with pytest.raises(ValueError, match="no view has the column 'whom'"):
        Views({"a": a, "b": b}, id_column="whom")
    with pytest.raises(ValueError, match="column 'who' of view 'a' holds the sample id 'p' more than once"):
        Views({"a": a.assign(who="p"), "b": b}, id_column="who")


def test_duplicated_ids():
    with pytest.raises(ValueError, match="the index of view 'b' holds the sample id 'q' more than once"):
        Views({"a": frame(np.eye(3), list("pqr")), "b": frame(np.eye(3), list("pqq"))})
    with pytest.raises(ValueError, match="the index of view 'view_0' holds the sample id 0 "):
        Views(frame(np.eye(3), [1, 0, 0]))


# What is turned away ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "match"),
    [
        (np.zeros((2, 3, 4)), r"'view_0' has shape \(2, 3, 4\).*list of 2-D arrays"),
        ([np.eye(2), np.zeros((2, 3, 4))], r"'view_1' has shape \(2, 3, 4\)"),
        (np.zeros(3), "'view_0'.*Reshape your data"),
        ([1.0, 2.0], "'view_0'.*Reshape your data"),
        ([np.eye(3), np.zeros(3)], r"'view_1'.*\(3,\).*Reshape your data"),
        (pd.Series([1.0, 2.0]), "Reshape your data"),
        ({"a": pd.Series([1.0, 2.0])}, "'a'.*Reshape your data"),
        ([pd.Series([1.0, 2.0]), pd.Series([1.0, 2.0])], "'view_0'.*Reshape your data"),
        (np.float64(3), "Reshape your data"),
        ([], "no views"),
        ((), "no views"),
        ({}, "no views"),
        (np.eye(2) * 1j, "'view_0': Complex data not supported"),
        ({"z": sparse.csr_array(np.eye(2) * 1j)}, "'z': Complex data not supported"),
        ({"z": pd.DataFrame({"x": [1j, 2j], "y": [1, 2]})}, "'z': Complex data not supported"),
        ((x for x in [np.eye(2)]), "'view_0' is a generator"),
        ({"a": np.eye(2)}.values(), "'view_0' is a dict_values"),
        ("data.csv", "'view_0' is a str"),
        (["a.csv", "b.csv"], "'view_0' is a str"),
        (None, "'view_0' is a NoneType"),
        (3, "'view_0' is a int"),
        ([np.eye(2), None], "'view_1' is a NoneType"),
        ({"a": {"b": np.eye(2)}}, "'a' is a dict"),
        ([[1.0, 2.0], [3.0]], "'view_0' is no table: its rows differ in length"),
        ({"a": [[1.0, 2.0], [3.0]]}, "'a' is no table"),
        (np.empty((0, 3)), r"'view_0': 0 sample\(s\) \(shape=\(0, 3\)\) while a minimum of 1 is required"),
        (np.empty((3, 0)), r"'view_0': 0 feature\(s\) \(shape=\(3, 0\)\) while a minimum of 1 is required"),
        ({"a": sparse.csr_array((3, 0))}, r"'a': 0 feature\(s\)"),
        ({"a": pd.DataFrame(index=list("pq"))}, r"'a': 0 feature\(s\)"),
        ({"a": np.eye(2), "b": np.eye(3), "c": np.eye(2)}, "view 'a' has 2, view 'b' has 3, view 'c' has 2"),
        ({1: np.eye(2), "1": np.eye(2)}, "unique, but '1' occurs 2 times"),
        ({"": np.eye(2)}, "non-empty strings, got ''"),
        ([Views(np.eye(2)), np.eye(2)], "'view_0' is a Views"),
        ([[10**400, 1]], "'view_0' holds an integer that is too large"),
    ],
)
def test_bad_data(data, match):
    with pytest.raises(ValueError, match=match):
        Views(data)


@pytest.mark.parametrize(
    ("names", "match"),
    [
        (["a"], "got 1 for 2 views"),
        (["a", "b", "c"], "got 3 for 2 views"),
        (["a", "a"], "unique, but 'a' occurs 2 times"),
        (["a", ""], "non-empty strings, got ''"),
        (["a", 1], "non-empty strings, got 1"),
    ],
)
def test_bad_names(names, match):
    with pytest.raises(ValueError, match=match):
        Views([np.eye(2), np.eye(2)], names=names)


def test_names():
    assert Views([np.eye(2), np.eye(2)], names=["a", "b"]).names == ("a", "b")
    assert Views({3: np.eye(2), "x": np.eye(2)}).names == ("3", "x")
    assert Views({"a": np.eye(2), "b": np.eye(2)}, names=["x", "y"]).names == ("x", "y")
    with pytest.raises(ValueError, match="swap the names"):
        Views({"a": np.eye(2), "b": np.eye(2)}, names=["b", "a"])
    with pytest.raises(ValueError, match="view 'mine', row 1, column 0 holds infinity"):
        Views([[[1.0], [np.inf]]], names=["mine"])


@pytest.mark.parametrize("bad", [{"foo": "bar"}, "2.5", Decimal(1), [1], 1j])
def test_entries_that_are_no_numbers(bad):
    X = np.ones((3, 2)).astype(object)
    X[2, 1] = bad
    for error in (TypeError, ValueError, ViewTypeError):
        with pytest.raises(
            error, match=r"view 'a', row 2, column 1 holds .*argument must be .* string.* number"
        ):
            Views({"a": X})
    with pytest.raises(ViewTypeError, match=f"sample 'r', column 1.*{type(bad).__name__}"):
        Views([np.eye(3), X], sample_ids=list("pqr"))
    with pytest.raises(ViewTypeError, match="view 'a', sample 'r', column 'y'"):
        Views({"a": frame(X, list("pqr"), ["x", "y"])})


@pytest.mark.parametrize(
    ("column", "value"),
    [
        (["u", 2.0], "'u'"),
        (["u", b"v"], "b'v'"),
        (pd.to_datetime(["2020", "2021"]), "Timestamp"),
        (np.array([{}, "v"], dtype=object), "{}"),
    ],
)
def test_frame_columns_that_are_no_numbers(column, value):
    table = pd.DataFrame({"x": [1.0, 2.0], "kind": column})
    with pytest.raises(ViewTypeError, match=f"view 'a',.* column 'kind' holds.*{value}"):
        Views({"a": table})


def test_strings_blame_the_string():
    with pytest.raises(ViewTypeError, match="row 1, column 0 holds 'x'"):
        Views([[1.0, 2.0], ["x", 3.0]])
    with pytest.raises(ViewTypeError, match="row 0, column 0 holds 'x'"):
        Views(np.array([["x"], ["y"]]))
    with pytest.raises(ViewTypeError, match=r"row 0, column 0 holds .*datetime"):
        Views(np.array([["2020-01-01"]], dtype="M8[s]"))
    with pytest.raises(ViewTypeError, match=r"row 1, column 1 holds .'foo': 'bar'."):
        Views([[1.0, 2.0], [3.0, {"foo": "bar"}]])
    with pytest.raises(ViewTypeError, match=r"row 0, column 0 holds .'foo': 'bar'."):
        Views([[{"foo": "bar"}, 2.0], [3.0, 4.0]])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array, sparse.coo_array])
@pytest.mark.parametrize(("value", "word"), [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "-infinity")])
def test_not_finite(dtype, container, value, word):
    X = np.ones((4, 3), dtype=dtype)
    X[0, 1] = 0
    X[2, 1] = X[3, 0] = value
    with pytest.raises(
        ValueError, match=rf"view 'a', row 2, column 1 holds {word} \(in all 2 {word.lstrip('-')} "
    ):
        Views({"b": np.eye(4), "a": container(X)}).check_cells("a")
    X[3, 2] = np.nan if np.isinf(value) else np.inf
    place = "'t', column 2" if np.isnan(value) else "'s', column 1"
    with pytest.raises(ValueError, match=rf"view 'view_0', sample {place} .* \d NaN and \d infinity"):
        Views([container(X)], sample_ids=list("pqst"))


def test_not_finite_in_a_frame_names_the_sample_after_alignment():
    X = [[1.0, 1.0], [np.nan, 1.0], [2.0, 1.0]]
    a, b = frame(np.eye(3), list("pqr")), frame(X, list("rqp"), ["height", "width"])
    views = Views({"a": a, "b": b})
    views.check_cells("a")
    with pytest.raises(ValueError, match=r"view 'b', sample 'q', column 'height' holds NaN.*metric='gower'"):
        views.check_cells("b")
    with pytest.raises(ValueError, match="sample 7, column 0 holds infinity"):
        Views(frame([[1.0], [np.inf]], [3, 7]))


def test_not_finite_far_into_a_large_array():
    X = np.zeros((1 << 17, 2), dtype=np.float32)
    X[[50_000, 100_000, -1], 0] = np.nan
    X[-1, 1] = np.inf
    with pytest.raises(ValueError, match=r"row 131071, column 1 holds infinity \(in all 3 NaN and 1 inf"):
        Views(X)
    X[-1, 1] = 0
    with pytest.raises(ValueError, match=r"row 50000, column 0 holds NaN \(in all 3 NaN in"):
        Views(X).check_cells(0)


def test_a_sum_that_overflows_is_no_infinity():
    big = np.finfo(np.float32).max
    assert Views(np.full((3, 2), big, dtype=np.float32)).n_samples == 3
    assert Views(np.array([[np.finfo(float).max] * 3, [-np.finfo(float).max] * 3])).n_samples == 2


def test_hidden_entries_of_a_masked_array_are_missing():
    X = np.ma.masked_array(np.eye(3), mask=np.zeros((3, 3), bool))
    np.testing.assert_array_equal(Views(X).arrays[0], np.eye(3))
    X[1, 2] = np.ma.masked
    with pytest.raises(ValueError, match="row 1, column 2 holds NaN"):
        Views(X).check_cells(0)


# Mask and pairwise --------------------------------------------------------------------------------------


@pytest.mark.parametrize("container", [np.array, sparse.csr_array, sparse.coo_array, pd.DataFrame])
def test_masked_rows_may_hold_anything(container):
    X = np.arange(1.0, 9).reshape(4, 2)
    X[1] = [np.nan, np.inf]
    mask = np.ones((4, 2), bool)
    mask[1, 0] = False
    given_view = container(X)
    views = Views({"a": given_view, "b": np.ones((4, 1))}, mask=mask)
    assert dense(views["a"]).tolist() == [[1, 2], [0, 0], [5, 6], [7, 8]]
    if sparse.issparse(views["a"]):
        assert views["a"].nnz == 6
        assert views["a"].has_canonical_format
    assert views.mask.tolist() == mask.tolist()
    assert not np.shares_memory(views.mask, mask)
    assert views.seen("a").tolist() == [True, False, True, True]
    assert views.seen(1) is None
    assert np.isnan(X[1, 0])
    X[2, 0] = np.nan
    with pytest.raises(ValueError, match=r"view 'a', row 2, column 0 holds NaN \(in all 1 NaN"):
        Views({"a": container(X), "b": np.ones((4, 1))}, mask=mask).check_cells("a")


def test_masked_rows_of_objects():
    X = np.array([[1, 2], [None, "?"]], dtype=object)
    mask = np.array([[True, True], [False, True]])
    assert Views([X, np.eye(2)], mask=mask).arrays[0].tolist() == [[1, 2], [0, 0]]
    assert X[1, 1] == "?"
    table = pd.DataFrame({"x": pd.array([1, None], dtype="Int64")})
    assert Views([table, np.eye(2)], mask=mask).arrays[0].tolist() == [[1], [0]]


@pytest.mark.parametrize("container", [np.array, sparse.csr_array, pd.DataFrame, list])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rows_of_nan_were_not_seen(container, dtype):
    X = np.arange(1.0, 9, dtype=dtype).reshape(4, 2)
    X[2] = np.nan
    given_view = X.tolist() if container is list else container(X)
    views = Views({"a": given_view, "b": np.ones((4, 1))})
    assert views.mask.tolist() == [[True, True], [True, True], [False, True], [True, True]]
    assert dense(views["a"]).tolist() == [[1, 2], [3, 4], [0, 0], [7, 8]]
    assert np.isnan(X[2]).all()
    views.check_cells("a")
    with pytest.raises(ValueError, match=r"row 2 is seen by no view \(1 such in all\)"):
        Views(given_view)
    mask = np.ones((4, 2), bool)
    mask[0, 0] = False  # both ways together
    assert Views({"a": given_view, "b": np.ones((4, 1))}, mask=mask).mask[:, 0].tolist() == [
        False,
        True,
        False,
        True,
    ]


def test_rows_of_none_were_not_seen():
    X = np.array([[1, 2], [None, None], [3, np.nan]], dtype=object)
    views = Views([X, np.eye(3)])
    assert views.mask[:, 0].tolist() == [True, False, True]
    assert np.isnan(views.arrays[0][2, 1])
    table = pd.DataFrame({"x": pd.array([1, None], dtype="Int64"), "s": ["u", None]})
    assert Views([table, np.eye(2)]).mask[:, 0].tolist() == [True, False]


def test_a_pairwise_row_and_column_of_nan_was_not_seen():
    D = np.array([[0.0, np.nan, 2], [np.nan, 0, np.nan], [2, np.nan, 0]])
    views = Views([D, np.eye(3)], pairwise=[True, False])
    assert views.mask[:, 0].tolist() == [True, False, True]
    assert views.arrays[0].tolist() == [[0, 0, 2], [0, 0, 0], [2, 0, 0]]
    D[1, 0] = 1.0
    with pytest.raises(ValueError, match="row 0, column 1 holds NaN"):
        Views([D, np.eye(3)], pairwise=[True, False]).check_cells(0)


# Columns that are no numbers ----------------------------------------------------------------------------


def test_categories_and_text_become_codes():
    table = pd.DataFrame(
        {
            "age": [30.0, np.nan, 41.0],
            "sex": ["m", "f", None],
            "stage": pd.Categorical(["II", "I", "III"], categories=["I", "II", "III", "IV"], ordered=True),
            "site": pd.Categorical([3, 1, None]),
            "smoker": [True, False, True],
        }
    )
    views = Views({"clinic": table})
    expected = [[30, 1, 1, 1, 1], [np.nan, 0, 0, 0, 0], [41, np.nan, 2, np.nan, 1]]
    np.testing.assert_array_equal(views["clinic"], expected)
    encoding = views.encodings[0]
    assert encoding.kinds == ("numeric", "categorical", "ordinal", "categorical", "numeric")
    assert encoding.categories == (None, ("f", "m"), ("I", "II", "III", "IV"), (1, 3), None)
    assert encoding.decode(views["clinic"])[0].tolist() == [30.0, "m", "II", 3, 1.0]
    assert "(3 categorical)" in repr(views)
    assert views[[2, 0]].encodings == views.encodings == views.select(["clinic"]).encodings
    assert Views(views).encodings == views.encodings
    other = Views({"clinic": table.assign(sex=["m", "g", None])})
    assert other.fingerprint() != views.fingerprint()


def test_kinds_say_what_numbers_are():
    X = np.array([[1.0, 7.0, 20.0], [2.0, 3.0, 10.0], [1.0, 7.0, 15.0]])
    views = Views({"a": X, "b": X}, kinds={"a": {1: "categorical", 2: "ordinal"}})
    assert views["a"].tolist() == [[1, 1, 2], [2, 0, 0], [1, 1, 1]]
    assert views.encodings[0].categories == (None, (3.0, 7.0), (10.0, 15.0, 20.0))
    assert views.encodings[1] is None and views["b"].tolist() == X.tolist()
    assert Views(X, kinds={"view_0": "categorical"}).encodings[0].kinds == ("categorical",) * 3
    table = pd.DataFrame(X, columns=["x", "y", "z"])
    named = Views({"a": table}, kinds={"a": {"y": "categorical"}})
    assert named.encodings[0].kinds == ("numeric", "categorical", "numeric")
    for kinds, match in [
        ({"c": "numeric"}, "names the view 'c'; the views are 'a'"),
        ({"a": {"w": "numeric"}}, "view 'a' has no column 'w'"),
        ({"a": ["numeric"]}, "has 3 columns, got 1 kinds"),
        ({"a": "nominal"}, "got 'nominal'"),
    ]:
        with pytest.raises(ValueError, match=match):
            Views({"a": table}, kinds=kinds)
    with pytest.raises(ValueError, match="categories without an order, so it cannot be ordinal"):
        Views({"a": table.assign(x=list("uvw"))}, kinds={"a": {"x": "ordinal"}})


def test_polars_frames():
    pl = pytest.importorskip("polars", reason="polars is not installed")
    a = pl.DataFrame({"who": ["p", "q", "r"], "x": [1, None, 3], "sex": ["m", "f", None]})
    b = pl.DataFrame({"who": ["r", "p"], "y": pl.Series([1.5, 2.5], dtype=pl.Float32)})
    views = Views({"a": a, "b": b}, id_column="who")
    assert views.sample_ids.tolist() == ["p", "q", "r"]
    np.testing.assert_array_equal(views["a"], [[1, 1], [np.nan, 0], [3, np.nan]])
    assert views.mask[:, 1].tolist() == [True, False, True] and views["b"].dtype == np.float32
    assert views.encodings[0].categories[1] == ("f", "m")
    assert Views({"a": a.drop("who")}).sample_ids is None


@pytest.mark.parametrize("container", [np.array, sparse.csr_array])
def test_masked_samples_of_a_pairwise_view_lose_row_and_column(container):
    D = np.arange(1.0, 10).reshape(3, 3)
    D[1, :] = D[:, 1] = np.nan
    mask = np.array([[True, True], [False, True], [True, True]])
    views = Views([container(D), np.eye(3)], mask=mask, pairwise=[True, False])
    assert dense(views.arrays[0]).tolist() == [[1, 0, 3], [0, 0, 0], [7, 0, 9]]


@pytest.mark.parametrize(
    ("mask", "match"),
    [
        (np.ones((3, 1), bool), r"\(3, 2\).*got bool of shape \(3, 1\)"),
        (np.ones((2, 3), bool), r"\(3, 2\)"),
        (np.ones(3, bool), r"of shape \(3,\)"),
        (np.ones((3, 2)), "got float64"),
        (np.ones((3, 2), int), "got int"),
        ([[True, True], [False, False], [True, False]], r"sample 'q' is seen by no view \(1 such"),
    ],
)
def test_bad_mask(mask, match):
    with pytest.raises(ValueError, match=match):
        Views([np.eye(3), np.eye(3)], mask=mask, sample_ids=list("pqr"))


def test_mask_of_true_is_none_and_unnamed_samples_are_rows():
    assert Views([np.eye(3)], mask=np.ones((3, 1), bool)).mask is None
    with pytest.raises(ValueError, match="row 2 is seen by no view"):
        Views([np.eye(3)], mask=np.array([[True], [True], [False]]))


def test_a_frame_as_mask_is_matched_by_labels():
    tables = {"a": frame(np.eye(2), ["p", "q"]), "b": frame(np.eye(2), ["q", "p"])}
    mask = pd.DataFrame({"b": [True, True], "a": [False, True]}, index=["q", "p"])
    views = Views(tables, mask=mask)
    assert views.mask.tolist() == [[True, True], [False, True]]
    with pytest.raises(ValueError, match="missing from mask, for example 'q'"):
        Views(tables, mask=mask.rename(index={"q": "z"}))
    with pytest.raises(ValueError, match="missing from the columns of mask, for example 'b'"):
        Views(tables, mask=mask.rename(columns={"b": "z"}))


@pytest.mark.parametrize(
    ("pairwise", "flags"),
    [
        (True, (True, True)),
        (False, (False, False)),
        ("b", (False, True)),
        (["b"], (False, True)),
        ({"a", "b"}, (True, True)),
        ((True, False), (True, False)),
        (np.array([False, True]), (False, True)),
        ((), (False, False)),
    ],
)
def test_pairwise(pairwise, flags):
    assert Views({"a": np.eye(3), "b": np.eye(3)}, pairwise=pairwise).pairwise == flags


@pytest.mark.parametrize("pairwise", [["c"], [True], [True, False, True], 1, None])
def test_bad_pairwise(pairwise):
    with pytest.raises(ValueError, match="names out of 'a' and 'b'; got"):
        Views({"a": np.eye(3), "b": np.eye(3)}, pairwise=pairwise)


def test_pairwise_must_be_square():
    with pytest.raises(
        ValueError, match=r"view 'b' is pairwise.* must be a square matrix, but has shape \(3, 2\)"
    ):
        Views({"a": np.eye(3), "b": np.ones((3, 2))}, pairwise=["b"])


# Taking samples and views -------------------------------------------------------------------------------


def full(n=5):
    """Return a Views with everything: ids, mask, names, sparse and pairwise views of both kinds."""
    rng = np.random.default_rng(1)
    ids = [f"s{i}" for i in range(n)]
    D = rng.random((n, n))
    mask = np.ones((n, 4), bool)
    mask[1, 0] = mask[2, 1] = False
    tables = {
        "table": frame(rng.normal(size=(n, 2)), ids, ["x", "y"]),
        "sparse": sparse.csr_array(rng.poisson(0.5, (n, 4))),
        "far": frame(D, ids, ids),
        "graph": sparse.csr_matrix(D * (D > 0.5)),
    }
    return Views(tables, sample_ids=ids, mask=mask, pairwise=["far", "graph"])


ROWS = st.one_of(
    st.lists(st.integers(-5, 4), min_size=1, max_size=8),
    st.lists(st.integers(-5, 4), min_size=1, max_size=8).map(np.array),
    st.lists(st.booleans(), min_size=5, max_size=5).filter(any),
    st.lists(st.booleans(), min_size=5, max_size=5).filter(any).map(np.array),
    st.slices(5).filter(lambda s: len(range(5)[s]) > 0),
    st.integers(-5, 4),
)


@given(rows=ROWS, dots=st.booleans())
def test_taking_samples_takes_them_from_everything(rows, dots):
    views = full()
    part = views[rows, ...] if dots else views[rows]
    at = np.atleast_1d(np.arange(5)[rows])
    assert len(part) == part.n_samples == len(at)
    assert part.sample_ids.tolist() == [f"s{i}" for i in at]
    for name in ("table", "sparse"):
        np.testing.assert_array_equal(dense(part[name]), dense(views[name])[at])
    for name in ("far", "graph"):
        np.testing.assert_array_equal(dense(part[name]), dense(views[name])[np.ix_(at, at)])
    assert part.feature_names[0].tolist() == ["x", "y"]
    assert part.feature_names[2].tolist() == part.sample_ids.tolist()
    mask = views.mask[at]
    assert part.mask is None if mask.all() else part.mask.tolist() == mask.tolist()
    for name in ("table", "far"):
        assert part[name].flags.c_contiguous
    for name in ("sparse", "graph"):
        assert part[name].has_canonical_format
        assert part[name].format == "csr"
    assert_same(part, Views(part))  # repeated ids and all


def test_taking_samples_leaves_the_original_alone():
    views, twin = full(), full()
    views[[3, 3, 0]]
    assert_same(views, twin)


def test_slices_of_dense_views_share_memory():
    views = Views(np.eye(4))
    assert np.shares_memory(views[1:3].arrays[0], views.arrays[0])
    assert np.shares_memory(views[1:3, ...].arrays[0], views.arrays[0])


@pytest.mark.parametrize(
    "rows",
    [5, -6, [0, 9], [True, False], [], slice(2, 2), ["s0"], [0.5], True, None, np.eye(2, dtype=int), (0, 1)],
)
def test_bad_rows(rows):
    with pytest.raises(IndexError):
        full()[rows]


def test_views_by_name_and_select():
    views = full()
    assert views["far"] is views.arrays[2]
    with pytest.raises(KeyError, match="no view 'x': the views are 'table', 'sparse'"):
        views["x"]
    part = views.select(["graph", 0])
    assert part.names == ("graph", "table")
    assert part.pairwise == (True, False)
    assert part.arrays[0] is views.arrays[3]
    assert part.mask[:, 1].tolist() == views.mask[:, 0].tolist()
    assert part.feature_names[1].tolist() == ["x", "y"]
    assert part.sample_ids.tolist() == views.sample_ids.tolist()
    assert views.select("far").mask is None
    assert views.select(-1).names == ("graph",)
    with pytest.raises(IndexError, match="no view 4"):
        views.select(4)
    with pytest.raises(KeyError, match="no view 'x'"):
        views.select(["far", "x"])
    with pytest.raises(ValueError, match="unique"):
        views.select(["far", 2])
    with pytest.raises(ValueError, match="no views"):
        views.select([])
    with pytest.raises(ValueError, match="sample 's1' is seen by no view"):
        views.select("table")


def test_keywords_override_a_views():
    views = full()
    assert_same(Views(views), views)
    renamed = Views(views, names=list("abcd"))
    assert renamed.names == tuple("abcd")
    assert renamed.pairwise == views.pairwise
    assert renamed.mask.tolist() == views.mask.tolist()
    reordered = Views(views, sample_ids=views.sample_ids[::-1])
    assert_same(reordered, views[::-1])
    assert Views(views, pairwise=()).pairwise == (False,) * 4
    stricter = views.mask.copy()
    stricter[3, :2] = False
    assert Views(views, mask=stricter)["table"][3].tolist() == [0, 0]
    with pytest.raises(ValueError, match="hides"):
        Views(views, mask=np.ones((5, 4), bool))
    with pytest.raises(ValueError, match="swap"):
        Views(views, names=["sparse", "table", "far", "graph"])
    with pytest.raises(ValueError, match="'s0' more than once"):
        Views(views[[0, 0, 1]], sample_ids=["s0", "s1", "s2"])
    assert Views(Views(np.eye(2)), sample_ids=["p", "q"]).sample_ids.tolist() == ["p", "q"]


# Manners ------------------------------------------------------------------------------------------------


def test_repr():
    text = repr(full())
    assert text.startswith(
        "Views(5 samples: 'table' 5 x 2 float64, 20% missing, 'sparse' 5 x 4 float64 sparse (0."
    )
    assert "'far' 5 x 5 float64 pairwise, 'graph'" in text
    assert "\n" not in text
    assert repr(Views(np.ones((2, 3), np.float32))) == "Views(2 samples: 'view_0' 2 x 3 float32)"


def test_iterating_and_converting_give_advice():
    views = Views(example())
    with pytest.raises(TypeError, match=r"views\.items\(\)"):
        iter(views)
    with pytest.raises(TypeError, match=r"views\.arrays"):
        np.asarray(views)


def test_copies():
    for twin in (copy.deepcopy(full()), pickle.loads(pickle.dumps(full())), copy.copy(full())):
        assert_same(twin, full())
    views = full()
    assert not np.shares_memory(copy.deepcopy(views)["table"], views["table"])


class Dummy(ClusterMixin, BaseEstimator):
    """Cluster by whether the first feature of the first view lies above a threshold."""

    def __init__(self, threshold=0.0, extra=None):
        self.threshold = threshold
        self.extra = extra

    def fit(self, X, y=None):
        self.seen_ = as_views(X)
        return self

    def predict(self, X):
        return (as_views(X).arrays[0][:, 0] > self.threshold).astype(int)

    def score(self, X, y):
        return float(np.mean(self.predict(X) == y))


def test_scikit_learn_splits_samples():
    data = example(12)
    ids = [f"s{i}" for i in range(12)]
    views, y = Views(data, sample_ids=ids), np.arange(12)
    assert _num_samples(views) == 12
    assert indexable(views, y)[0] is views
    train, test, y_train, y_test = train_test_split(views, y, test_size=4, random_state=0)
    assert isinstance(train, Views)
    assert (len(train), len(test)) == (8, 4)
    for part, labels in ((train, y_train), (test, y_test)):
        assert part.sample_ids.tolist() == [f"s{i}" for i in labels]
        np.testing.assert_array_equal(part["words"], data["words"][labels])
    rows = np.concatenate([test for _, test in KFold(3).split(views)])
    assert sorted(rows) == list(range(12))
    for rows in ([3, 1], np.array([3, 1]), slice(1, 4), np.arange(12) % 2 == 0):
        expected = np.arange(12)[rows]
        np.testing.assert_array_equal(_safe_indexing(views, rows)["size"], data["size"][expected])


NONE = {"nan": [1.0, np.nan], "None": ["a", None], "NaT": [pd.Timestamp("2020"), pd.NaT], "NA": [1, pd.NA]}


@pytest.mark.parametrize("ids", NONE.values(), ids=NONE)
def test_an_id_that_is_none(ids):
    values = np.ones((2, 1))
    table = frame(values, pd.Index(ids, dtype=object))
    with pytest.raises(ValueError, match=r"the index of view 'a' has no sample id in row 1 \(.*fill it in"):
        Views({"a": table, "b": table})
    with pytest.raises(ValueError, match="sample_ids has no sample id in row 1"):
        Views(values, sample_ids=ids)
    with pytest.raises(ValueError, match="column 'key' of view 'view_0' has no sample id in row 1"):
        Views(frame(values, columns=["x"]).assign(key=ids), id_column="key")


def test_ids_that_can_be_none():
    with pytest.raises(ValueError, match=r"sample_ids holds \[1\] \(list\), which cannot be a sample id"):
        Views(np.ones((2, 1)), sample_ids=[[1], [2]])
    twice = frame(np.ones((2, 3)), columns=["key", "key", "x"])
    with pytest.raises(ValueError, match="'view_0' has several columns 'key'"):
        Views(twice, id_column="key")


@pytest.mark.parametrize("other", ["7", "007", " 7", "7.0"])
def test_ids_that_are_the_same_but_for_how_they_are_written(other):
    a = frame(np.ones((2, 1)), pd.Index([7, "x"], dtype=object))
    b = frame(np.ones((2, 1)), pd.Index(["x", other], dtype=object))
    for join in ("outer", "inner"):
        with pytest.raises(ValueError, match=r"ids 7 of view 'a' and '.*' of view 'b' seem to be the same"):
            Views({"a": a, "b": b}, join=join)
    # A table that has both can tell them apart.
    both = frame(np.ones((3, 1)), pd.Index(["x", other, 7], dtype=object))
    assert len(Views({"a": a, "b": b, "both": both})) == 3
    with pytest.raises(ValueError, match="shares no sample id"):
        Views({"a": a.iloc[:1], "b": b})


def test_ids_written_in_two_ways_throughout():
    a, b = frame(np.ones((2, 1)), ["01", "02"]), frame(np.ones((2, 1)), ["1", "2"])
    with pytest.raises(ValueError, match=r"shares no sample id.*; they are written in two ways: write them"):
        Views([a, b])


@pytest.mark.parametrize("unit", ["s", "us", "ns"])
def test_times_as_ids_in_a_column(unit):
    times = pd.to_datetime(["2020-01-02", "2020-01-01"])
    column = frame([[1.0], [2.0]], columns=["x"]).assign(time=times.as_unit(unit))
    index = frame([[2.0], [1.0]], times[::-1].as_unit(unit), columns=["x"])
    views = Views({"column": column, "index": index}, id_column="time")
    np.testing.assert_array_equal(views["column"], views["index"])
    assert views.sample_ids.tolist() == list(times)
    for ids in (times, times.to_series(), times.to_numpy(), times.to_numpy().astype("datetime64[D]")):
        assert Views({"index": index}, sample_ids=ids)["index"].ravel().tolist() == [1.0, 2.0]


def test_a_mask_with_an_index_beside_views_without_ids():
    shown = frame([[True, True], [False, True], [True, False]], columns=["a", "b"])
    data = {"a": np.ones((3, 1)), "b": np.ones((3, 1))}
    for order in ([0, 1, 2], [2, 0, 1]):
        np.testing.assert_array_equal(Views(data, mask=shown.iloc[order]).mask, shown)
    with pytest.warns(UserWarning, match="mask has sample ids, but the views have none"):
        views = Views(data, mask=shown.set_axis(["x", "y", "z"]))
    np.testing.assert_array_equal(views.mask, shown)


def test_zeros_of_unseen_samples_are_no_codes():
    table = frame([[1.0, 5.0], [2.0, 6.0], [np.nan, np.nan]], columns=["ward", "age"])
    views = Views({"clinic": table, "other": np.ones((3, 1))})
    again = Views(views, kinds={"clinic": {"ward": "categorical"}})
    assert again.encodings[0].categories[0] == (1.0, 2.0)
    np.testing.assert_array_equal(again.mask, views.mask)


def test_labels_of_columns_are_kept():
    views = Views({"a": frame(np.ones((2, 2)), columns=[7, 9]), "b": np.ones((2, 2))})
    assert views.columns[0].tolist() == [7, 9] and views.columns[1] is None
    assert views.feature_names == (None, None)
    assert views.select(["b", "a"]).columns[1].tolist() == [7, 9]
    assert Views(views)[:1].columns[0].tolist() == [7, 9]


def test_scikit_learn_searches_over_views():
    views = Views(example(30))
    y = (views["size"][:, 0] > 0.25).astype(int)
    search = GridSearchCV(Dummy(), {"threshold": [-1.0, 0.25, 1.0]}, cv=KFold(3), error_score="raise").fit(
        views, y
    )
    assert search.best_params_ == {"threshold": 0.25}
    assert search.best_score_ == 1
    assert_same(search.best_estimator_.seen_, views)
    assert cross_val_score(Dummy(0.25), views, y, cv=3).tolist() == [1, 1, 1]


def test_views_as_a_parameter_survive_clone():
    estimator = Dummy(extra=full())
    assert_same(clone(estimator).extra, full())


@settings(max_examples=25)
@given(arrays=lists_of_arrays(max_views=1))
def test_list_of_rows_is_the_array(arrays):
    X = arrays[0]
    assert_same(Views(X.tolist()), Views(X.astype(float)))


def test_rows_without_ids_are_not_matched_with_nodes_in_the_order_of_an_edge_list():
    edges = [("c", "a"), ("b", "c"), ("a", "b")]
    graph = graph_view(edges, kind="similarity")
    with pytest.raises(ValueError, match="'net' is a graph whose nodes have ids, but 'x' has none"):
        Views({"x": np.eye(3), "net": graph})
    named = Views({"x": np.eye(3), "net": graph}, sample_ids=list("abc"))
    assert named.sample_ids.tolist() == list("abc")
    framed = Views({"x": frame(np.eye(3), list("abc")), "net": graph})
    assert framed.sample_ids.tolist() == list("abc")
    counted = Views({"x": np.eye(3), "net": graph_view([(2, 0), (1, 2), (0, 1)], kind="similarity")})
    assert counted.sample_ids is None
