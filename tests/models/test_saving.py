"""Keeping a fit: what is saved comes back the same, and nothing else is taken for a model."""

import copy
import dataclasses
import datetime
import decimal
import hashlib
import io
import json
import math
import os
import pickle
import tracemalloc
import types
import uuid
import warnings
import zipfile
from dataclasses import replace
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import consilience
from consilience import (
    ClusterQRLabels,
    DistanceGraphFusion,
    EdgeSet,
    KMeansLabels,
    LeidenLabels,
    SimilarityGraphFusion,
    Views,
    graph_view,
    make_multiview,
)
from consilience.engines import get_engine
from consilience.fusion import Fused
from consilience.fusion.edge_fusion import LearnedAverage
from consilience.graphs import EdgeKernel
from consilience.inspection import inspect
from consilience.io.model_files import ModelFileError, arrays, container
from consilience.io.model_files.arrays import ArrayWriter
from consilience.io.model_files.container import ModelFile, new_archive, write_manifest
from consilience.io.model_files.decoding import Decoder
from consilience.io.model_files.encoding import Encoder
from consilience.io.stored import REGISTRY
from consilience.models import AverageGraph, SharedViews, systems
from consilience.models.prediction import EdgeModel, OtherDescription
from consilience.spaces import Scaling, Space
from consilience.spaces.descriptions import Transform
from consilience.stages.describe import DescriptionTable, Redescribed
from consilience.stages.sparsify import UnifiedGraph

pytestmark = [
    pytest.mark.filterwarnings("ignore:The graph has .* connected components"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore:.* about who is near whom"),
]
N = 60
DATA = make_multiview(N, n_views=3, n_clusters=3, separation=3.0, random_state=0)
EVERY_SYSTEM = pytest.mark.parametrize("name", systems())


def assert_same(one, other, where="value"):
    """Compare two values, of whatever type, to the last bit."""
    assert type(one) is type(other), (where, type(one), type(other))
    if isinstance(one, np.ndarray):
        assert one.dtype == other.dtype and one.shape == other.shape, where
        if one.dtype == object:
            for i, pair in enumerate(zip(one.ravel(), other.ravel(), strict=True)):
                assert_same(*pair, f"{where}[{i}]")
        else:
            assert one.tobytes() == other.tobytes(), where
            if one.flags.c_contiguous or one.flags.f_contiguous:
                assert one.flags.c_contiguous == other.flags.c_contiguous, where
    elif sparse.issparse(one):
        assert one.shape == other.shape, where
        for part in ("data", "indices", "indptr"):
            assert_same(getattr(one, part), getattr(other, part), f"{where}.{part}")
    elif isinstance(one, dict):
        assert list(one) == list(other), where
        for key in one:
            assert_same(one[key], other[key], f"{where}.{key}")
    elif isinstance(one, (list, tuple)):
        assert len(one) == len(other), where
        for i, pair in enumerate(zip(one, other, strict=True)):
            assert_same(*pair, f"{where}[{i}]")
    elif isinstance(one, np.random.RandomState):
        assert_same(one.get_state(), other.get_state(), where)
    elif dataclasses.is_dataclass(one) and not hasattr(one, "get_params"):
        for field in dataclasses.fields(one):
            assert_same(getattr(one, field.name), getattr(other, field.name), f"{where}.{field.name}")
    elif type(one).__module__.startswith("consilience."):
        assert_same(dict(sorted(vars(one).items())), dict(sorted(vars(other).items())), where)
        for name in dir(type(one)):
            if name[0] != "_" and isinstance(getattr(type(one), name), property):
                # What only some of the systems have (`history_`) is on neither, or the same on both.
                assert hasattr(one, name) == hasattr(other, name), f"{where}.{name}"
                if hasattr(one, name):
                    assert_same(getattr(one, name), getattr(other, name), f"{where}.{name}")
    else:
        assert one == other or (one != one and other != other), (where, one, other)
        assert repr(one) == repr(other) or isinstance(one, datetime.datetime), where


def sparsely_filled(d, density):
    rng = np.random.default_rng(0)
    return sparse.csr_array(np.where(rng.random((N, d)) < density, rng.random((N, d)), 0.0))


def saved_and_loaded(model, folder):
    file = model.save(folder / "fit.consilience")
    return consilience.load(file)


@pytest.fixture(scope="module")
def fitted():
    """Return every system, fitted to complete data."""
    data = Views(DATA.views, sample_ids=[f"s{i}" for i in range(N)])
    return {name: cls(n_clusters=3, random_state=0).fit(data) for name, cls in systems().items()}


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """Return a small model's file."""
    small = make_multiview(20, n_views=2, n_clusters=2, separation=6.0, random_state=0)
    model = DistanceGraphFusion(n_clusters=2, n_neighbors=4, random_state=0).fit(small.views)
    return model.save(tmp_path_factory.mktemp("models") / "small.consilience")


# What is saved comes back the same.


@EVERY_SYSTEM
def test_every_system_comes_back_the_same(name, fitted, tmp_path):
    model = fitted[name]
    loaded = saved_and_loaded(model, tmp_path)
    assert_same(model, loaded)
    assert_same(model.get_params(), loaded.get_params())
    assert repr(clone(loaded)) == repr(clone(model))
    again = loaded.save(tmp_path / "again.consilience")
    assert again.read_bytes() == (tmp_path / "fit.consilience").read_bytes()


@EVERY_SYSTEM
def test_a_loaded_model_can_be_fitted_again(name, fitted, tmp_path):
    loaded = saved_and_loaded(fitted[name], tmp_path)
    data = Views(DATA.views, sample_ids=[f"s{i}" for i in range(N)])
    expected = vars(fitted[name]).copy()
    found = vars(loaded.fit(data)).copy()
    for attributes in (expected, found):
        del attributes["timings_"]
    assert_same(dict(sorted(expected.items())), dict(sorted(found.items())))


TAKE_MISSING = [name for name, cls in systems().items() if cls.takes_missing]


@pytest.mark.parametrize("name", TAKE_MISSING)
def test_fits_to_incomplete_data_come_back_the_same(name, tmp_path):
    mask = np.random.default_rng(0).random((N, 3)) > 0.25
    mask[~mask.any(axis=1), 0] = True
    model = systems()[name](n_clusters=3, random_state=0).fit(Views(DATA.views, mask=mask))
    assert_same(model, saved_and_loaded(model, tmp_path))


def test_the_systems_that_take_missing_samples_are_among_those_tested():
    assert {"SGF", "DGF", "Average"} <= set(TAKE_MISSING)


IDS = {
    "none": None,
    "text": [f"probe {i} é" for i in range(N)],
    "integers": list(range(1000, 1000 + N)),
    "mixed": [i if i % 2 else f"s{i}" for i in range(N)],
    "floats": [i + 0.5 for i in range(N)],
    "tuples": [("a", i) for i in range(N)],
    "datetimes": [datetime.datetime(2024, 1, 1) + datetime.timedelta(hours=i) for i in range(N)],
    "dates": [datetime.date(2024, 1, 1) + datetime.timedelta(days=i) for i in range(N)],
    "datetime64": np.arange(N).astype("datetime64[D]"),
    "pandas": pd.date_range("2024-01-01", periods=N, freq="h"),
    "pandas, zone": pd.date_range("2024-01-01", periods=N, freq="h", tz="Europe/Berlin"),
    "pandas, in objects": list(pd.date_range("2024-01-01", periods=N, freq="ns")),
    "bytes": [str(i).encode() for i in range(N)],
    "uuids": [uuid.UUID(int=i) for i in range(N)],
}


@pytest.mark.parametrize("ids", IDS.values(), ids=IDS)
def test_sample_ids_come_back_as_they_were(ids, tmp_path):
    model = AverageGraph(n_clusters=3, random_state=0).fit(Views(DATA.views, sample_ids=ids))
    loaded = saved_and_loaded(model, tmp_path)
    if ids is None:
        assert loaded.sample_ids_ is None
        return
    assert loaded.sample_ids_.dtype == model.sample_ids_.dtype
    assert loaded.sample_ids_.tolist() == model.sample_ids_.tolist()
    assert [type(label) for label in loaded.sample_ids_] == [type(label) for label in model.sample_ids_]


def test_the_index_of_a_table_comes_back(tmp_path):
    index = pd.date_range("2024-01-01", periods=N, tz="UTC")
    tables = {name: pd.DataFrame(view, index=index) for name, view in DATA.views.items()}
    model = DistanceGraphFusion(n_clusters=3, random_state=0).fit(tables)
    assert model.sample_ids_.tolist() == saved_and_loaded(model, tmp_path).sample_ids_.tolist()


def test_fits_to_sparse_and_precomputed_views_come_back_the_same(tmp_path):
    counts = sparsely_filled(30, 0.2)
    similar = np.exp(-((DATA.views["view_0"][:, None] - DATA.views["view_0"][None]) ** 2).sum(axis=2) / 50)
    data = Views(
        {"text": counts, "links": sparse.csr_matrix(np.where(similar > 0.2, similar, 0))}, pairwise=["links"]
    )
    model = SimilarityGraphFusion(
        n_clusters=3, random_state=0, metric={"text": "cosine", "links": "precomputed_similarity"}
    ).fit(data)
    assert_same(model, saved_and_loaded(model, tmp_path))


@pytest.mark.parametrize("kind", ["similarity", "distance"])
@pytest.mark.parametrize("cls", [SimilarityGraphFusion, DistanceGraphFusion])
def test_fits_to_graphs_come_back_the_same(cls, kind, tmp_path):
    likely = np.where(DATA.y[:, None] == DATA.y, 0.4, 0.05)
    pairs = np.argwhere(np.triu(np.random.default_rng(0).random((N, N)) < likely, 1))
    # Without weights: of equally near nodes those that share most are taken, after loading, too.
    net = graph_view([(int(i), int(j)) for i, j in pairs], kind=kind, nodes=N)
    views = {"table": DATA.views["view_0"], "net": net}
    model = cls(n_clusters=3, random_state=0).fit(views)
    new = {"table": DATA.views["view_0"][:9], "net": net.matrix[:9]}
    for _ in range(2):  # also once it has predicted
        loaded = saved_and_loaded(model, tmp_path)
        assert_same(model.labels_, loaded.labels_)
        assert_same(model.predict_proba(new), loaded.predict_proba(new))
        (tmp_path / "fit.consilience").unlink()


def test_a_fit_to_one_view_and_to_one_with_a_view_left_out_come_back_the_same(tmp_path):
    table = pd.DataFrame(DATA.views["view_0"], columns=[f"gene {i}" for i in range(10)])
    model = SimilarityGraphFusion(n_clusters=3, random_state=0).fit(table)
    assert_same(model, saved_and_loaded(model, tmp_path))
    assert "feature_names_in_" in vars(model)
    with pytest.warns(UserWarning, match="constant"):
        model.fit({**DATA.views, "flat": np.ones((N, 2))})
    loaded = consilience.load(model.save(tmp_path / "fit.consilience", force=True))
    assert_same(model, loaded)
    assert loaded.view_weights_[3] == 0 and loaded.warnings_


def test_the_number_of_clusters_that_was_chosen_comes_back(tmp_path):
    for name in ("SGF", "Average", "SNF"):
        model = systems()[name](n_clusters="auto", random_state=0).fit(DATA.views)
        loaded = consilience.load(model.save(tmp_path / name))
        assert_same(model, loaded)
        assert_same(model.cluster_selection_.scores, loaded.cluster_selection_.scores)


PREDICT = [name for name, cls in systems().items() if hasattr(cls, "predict")]


@pytest.mark.parametrize("weights", ["uniform", "agreement"])
@pytest.mark.parametrize("name", PREDICT)
def test_a_loaded_model_says_the_same_of_new_samples(name, weights, tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "age": rng.normal(size=N).round(1),
            "sex": rng.choice(["f", "m"], size=N),
            "stage": pd.Categorical(rng.choice(["I", "II", "III"], size=N), ordered=True),
        }
    )
    counts = sparsely_filled(200, 0.05)
    wide = np.column_stack([DATA.views["view_0"], 1e4 * rng.normal(size=N)])
    data = Views(
        {"wide": wide, "plain": DATA.views["view_1"], "table": table, "counts": counts},
        mask=np.column_stack([np.ones((N, 3), dtype=bool), np.arange(N) % 5 > 0]),
    )
    model = systems()[name](n_clusters=3, random_state=0)
    if "view_weights" in model.get_params():
        model.set_params(view_weights=weights, row_weights=weights, scale="auto")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a column that dominates, for one
        model.fit(data)
    loaded = saved_and_loaded(model, tmp_path)
    assert_same(model, loaded)
    new = {"wide": wide[:20] + 0.1, "table": table[10:30].reset_index(drop=True)}
    given = [data, new, {"plain": DATA.views["view_1"][3:5] * 1.01}]
    for some in given + ([{"counts": counts[:9]}] if weights == "uniform" else []):  # else it is left out
        assert_same(model.predict_proba(some), loaded.predict_proba(some))
        assert_same(model.predict(some), loaded.predict(some))


def test_the_systems_that_predict_are_among_those_tested():
    assert {"SGF", "DGF", "Average"} <= set(PREDICT)


def test_shared_views_fit_models_that_can_be_saved(tmp_path):
    model = DistanceGraphFusion(n_clusters=3, random_state=0).fit(SharedViews(DATA.views))
    assert_same(model, saved_and_loaded(model, tmp_path))


PARAMETERS = {
    "a list of metrics": {"metric": ["euclidean", "cosine", "euclidean"]},
    "a dict of metrics": {"metric": {"view_0": "euclidean", "view_1": "cosine", "view_2": "l1"}},
    "an array of weights": {"view_weights": np.array([1.0, 2.0, 0.5], dtype=">f8")},
    "a tuple of weights": {"view_weights": (1, 2.5, np.float32(0.5))},
    "NumPy scalars": {"n_neighbors": np.int32(7), "beta": np.float64(0.5)},
    "a random state": {"random_state": np.random.RandomState(3)},
    "no seed": {"random_state": None},
    "no end": {"gamma": 1e300},
    "restarts": {"assign_labels": KMeansLabels(n_init=3)},
    "no restarts": {"assign_labels": ClusterQRLabels()},
}


@pytest.mark.parametrize("parameters", PARAMETERS.values(), ids=PARAMETERS)
def test_parameters_come_back_as_they_were(parameters, tmp_path):
    model = DistanceGraphFusion(**{"n_clusters": 3, "random_state": 0, **parameters}).fit(DATA.views)
    loaded = saved_and_loaded(model, tmp_path)
    for name, expected in model.get_params().items():
        if isinstance(expected, np.ndarray):
            expected = expected.astype(expected.dtype.newbyteorder("="))
        assert_same(expected, loaded.get_params()[name], name)


def test_a_random_state_goes_on_where_it_was(tmp_path):
    generator = np.random.RandomState(5)
    model = DistanceGraphFusion(n_clusters=3, random_state=generator).fit(DATA.views)
    generator.normal()  # one of a pair, the other of which is kept for later
    loaded = saved_and_loaded(model, tmp_path)
    assert loaded.random_state is not generator
    assert_same(generator.normal(size=1000), loaded.random_state.normal(size=1000))


def test_a_callback_is_left_behind_with_a_warning(tmp_path):
    model = DistanceGraphFusion(n_clusters=3, random_state=0, callback=lambda i, info: False).fit(DATA.views)
    with pytest.warns(UserWarning, match="callback is a function.*has none") as caught:
        loaded = saved_and_loaded(model, tmp_path)
    assert [warning.filename for warning in caught] == [__file__]
    assert loaded.callback is None and loaded.params_["callback"] is None
    assert model.callback is not None and model.params_["callback"] is model.callback
    assert_same(model.labels_, loaded.labels_)


def test_numpys_own_generator_is_what_none_stands_for(tmp_path):
    model = DistanceGraphFusion(n_clusters=3, random_state=np.random).fit(DATA.views)
    assert saved_and_loaded(model, tmp_path).random_state is None


@pytest.mark.long
def test_what_inspection_and_report_say_is_the_same(fitted, tmp_path):
    for name in ("SGF", "DGF"):
        model, loaded = fitted[name], saved_and_loaded(fitted[name], tmp_path)
        assert_same(inspect(model), inspect(loaded))
        pages = [one.report(tmp_path / f"{i}.html", DATA.views) for i, one in enumerate((model, loaded))]
        assert pages[0].read_bytes() == pages[1].read_bytes()
        for path in tmp_path.iterdir():
            path.unlink()


WAYS = {
    "pickle": lambda model, folder: pickle.loads(pickle.dumps(model)),
    "joblib": lambda model, folder: joblib.load(joblib.dump(model, folder / "model.joblib")[0]),
    "deepcopy": lambda model, folder: copy.deepcopy(model),
}


@pytest.mark.parametrize("way", WAYS)
@EVERY_SYSTEM
def test_pickling_and_copying_work_too(name, way, fitted, tmp_path):
    assert_same(fitted[name], WAYS[way](fitted[name], tmp_path))


# Values, one by one.


class Archive:
    """Values in a file, without a model around them."""

    def __init__(self, folder):
        self.path = folder / "values.zip"

    def write(self, value):
        with new_archive(self.path) as archive:
            writer = ArrayWriter(archive)
            node = Encoder(writer).encode(value, "value")
            content = {
                "consilience_version": "0",
                "class": "",
                "parameters": {},
                "attributes": {"value": node},
            }
            write_manifest(archive, content, writer)
        return node

    def read(self):
        with self.path.open("rb") as file:
            content = ModelFile(file, None)
            value = Decoder(content.array).decode(content.manifest["attributes"]["value"], "value")
            content.check_all_read()
            return value


VALUES = [
    None,
    True,
    0,
    -(2**53),
    2**53 + 1,
    -(10**300),
    0.1,
    -0.0,
    5e-324,
    math.nan,
    math.inf,
    -math.inf,
    "",
    "ünï\ud800\x00\n\"'<&>",
    [],
    [1, [2.5, None], ()],
    (1, (2,), []),
    {},
    {"type": "tuple", "items": {"": {"type": 1}}},
    b"\x00\xff",
    decimal.Decimal("1.10"),
    uuid.UUID(int=7),
    datetime.date(1, 1, 1),
    datetime.datetime(2024, 2, 29, 23, 59, 59, 999999),
    datetime.datetime(2024, 1, 1, tzinfo=datetime.timezone(datetime.timedelta(hours=5, minutes=30))),
    pd.Timestamp("2024-01-01 00:00:00.000000001"),
    *[np.dtype(kind).type(3) for kind in "? i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8".split()],
    np.dtype("f4"),
    np.float32("nan"),
    np.float64("-inf"),
    np.uint64(2**64 - 1),
    np.str_("a"),
    np.str_(""),
    np.bytes_(b"a\x00b"),
    np.datetime64("2024-01-01T00:00:00", "ns"),
    np.datetime64("NaT", "D"),
    np.timedelta64(5, "25s"),
    *[np.arange(6).reshape(2, 3).astype(kind) for kind in "?bhilqBHILQefdUS"],
    np.array(5.0),
    np.array([math.nan, -math.inf, -0.0]),
    np.zeros((0, 3)),
    np.zeros((0,), dtype="U5"),
    np.array(["", "längst", "a\x00b"]),
    np.arange(3).astype("datetime64[25s]"),
    np.array(["NaT"], dtype="timedelta64"),
    np.asfortranarray(np.arange(24.0).reshape(2, 3, 4)),
    np.arange(24.0).reshape(2, 3, 4).transpose(1, 0, 2),
    np.arange(10)[::-2],
    np.array([1, "1", 1.0, True, None, ("a", 2), pd.Timestamp("2024"), math.nan, np.int8(1)], dtype=object),
    np.array([["a", None], [1, ()]], dtype=object)[:, ::-1],
    np.empty((0, 2), dtype=object),
    sparse.csr_array(np.eye(3)),
    sparse.csr_matrix(np.arange(6, dtype=np.int8).reshape(2, 3)),
    sparse.csr_array((4, 0), dtype=bool),
    sparse.csr_array((np.ones(3), np.array([2, 0, 0]), np.array([0, 3, 3])), shape=(2, 3)),
    EdgeSet(np.array([0, 1, 2]), np.array([1, 0]), np.ones((2, 2), dtype=bool)),
    Views({"a": DATA.views["view_0"], "b": sparse.csr_array(np.eye(N))}, sample_ids=range(1, N + 1)),
    Views(pd.DataFrame({"x": [1.0, 2.0]}, index=["a", "b"]), mask=[[True], [True]]),
    np.random.RandomState(0),
    KMeansLabels(n_init=4),
    ClusterQRLabels(),
    LeidenLabels(resolution=0.5),
    Transform("direction", center=np.arange(3.0)),
    Transform("log", 2.5, np.arange(3.0), np.zeros(3)),
    Transform("log", factors=np.ones(3)),
    Transform("rank", quantiles=np.arange(6.0).reshape(2, 3)),
    DescriptionTable(("default", "log"), (20, 6), np.array([0.25, math.nan]), np.array([0.75, 0.25])),
    OtherDescription(
        (None, Transform("direction")),
        (EdgeModel((EdgeKernel(), EdgeKernel()), np.array([1.0, 0.5]), LearnedAverage(np.ones(2))),),
        6,
        0.125,
    ),
    Redescribed(
        UnifiedGraph(sparse.csr_array(np.eye(2)[::-1])),
        ((Fused(None, LearnedAverage(np.ones(2)), np.ones(2)),),),
    ),
]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: f"{type(value).__name__} {value!r:.24}")
def test_a_value_comes_back_as_it_was(value, tmp_path):
    archive = Archive(tmp_path)
    archive.write(value)
    found = archive.read()
    if isinstance(value, Views):
        assert value.fingerprint() == found.fingerprint()
        assert_same(dict(sorted(vars(value).items())), dict(sorted(vars(found).items())))
    else:
        assert_same(value, found)


METRICS = (
    "euclidean",
    "cosine",
    "correlation",
    "manhattan",
    "seuclidean",
    "mahalanobis",
    "jaccard",
    "gower",
    "nan_euclidean",
)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("seen", [None, np.arange(N) % 3 > 0], ids=["all", "some"])
def test_a_space_finds_the_same_neighbours_after_loading(metric, seen, tmp_path):
    archive = Archive(tmp_path)
    x = DATA.views["view_1"]
    x = np.where(x > 0, x, 0.0) if metric == "jaccard" else x
    scaling = (
        Scaling()
        if metric in ("jaccard", "gower")
        else Scaling(center=x.mean(axis=0), factors=1 / x.std(axis=0))
    )
    space = Space("mine", x, metric, scaling, seen, sample_ids=np.arange(N) * 2)
    archive.write(space)
    found = archive.read()
    assert_same(space, found)
    engine = get_engine("numba")
    points = [engine.place(one) for one in (space, found)]
    assert_same(*[engine.nearest(one, 5).lists for one in points])
    assert_same(*[engine.mean_over_pairs(one) for one in points])
    new = scaling(DATA.views["view_1"][:7] + 0.1)
    assert_same(*[engine.nearest_new(engine.query(one, new), 5) for one in points])


def test_spaces_of_sparse_and_given_matrices_are_the_same_after_loading(tmp_path):
    archive = Archive(tmp_path)
    counts = sparsely_filled(30, 0.3)
    engine = get_engine("numba")
    for rows, metric in (
        (counts, "cosine"),
        (counts, "euclidean"),
        (counts, "manhattan"),
        (sparse.csr_array(sparse.triu(counts @ counts.T, 1)), "graph_distance"),
        (sparse.csr_array(counts @ counts.T), "precomputed_similarity"),
        (np.abs(np.subtract.outer(np.arange(N), np.arange(N))) * 1.0, "precomputed_distance"),
    ):
        space = Space("mine", rows, metric)
        archive.write(space)
        found = [engine.nearest(engine.place(one), 4).lists for one in (space, archive.read())]
        assert_same(*found)


def test_what_a_fit_keeps_to_predict_by_other_descriptions_is_stored(fitted):
    for name in ("SGF", "DGF"):
        model = fitted[name]
        assert len(model.predictor_.others) == len(model.descriptions_.others) > 0
        assert any(one is not None for other in model.predictor_.others for one in other.transforms)


@pytest.mark.parametrize(
    ("harm", "message"),
    [
        (lambda p: replace(p, others=(replace(p.others[0], share=0.0),)), "its shares do not fit"),
        (lambda p: replace(p, others=p.others * 9), "its shares do not fit"),
        (lambda p: replace(p, others=(replace(p.others[0], n_neighbors=0),)), "its descriptions do not fit"),
        (
            lambda p: replace(
                p, others=(replace(p.others[0], models=(replace(p.others[0].models[0], units=np.ones(9)),)),)
            ),
            "its descriptions do not",
        ),
        (lambda p: replace(p, others=(replace(p.others[0], transforms=()),)), "its descriptions do not fit"),
    ],
)
def test_other_descriptions_that_do_not_fit_are_refused(harm, message, fitted, tmp_path):
    archive = Archive(tmp_path)
    archive.write(harm(fitted["SGF"].predictor_))
    with pytest.raises(ModelFileError, match=message):
        archive.read()


NO_TRANSFORMS = {
    "no description": Transform("square", center=np.ones(3)),
    "features do not fit": Transform("log", 1.0, np.array([1.0, math.nan]), np.ones(2)),
    "quantiles do not fit": Transform("rank", quantiles=np.arange(3.0)),
}


@pytest.mark.parametrize(("message", "value"), NO_TRANSFORMS.items(), ids=NO_TRANSFORMS)
def test_a_transform_that_is_none_is_refused(message, value, tmp_path):
    archive = Archive(tmp_path)
    archive.write(value)
    with pytest.raises(ModelFileError, match=message):
        archive.read()


def test_an_array_that_is_used_twice_is_stored_once_and_is_one_array_again(tmp_path):
    archive, shared = Archive(tmp_path), np.arange(5)
    archive.write([shared, {"a": shared}, shared.copy()])
    first, second, third = archive.read()
    assert second["a"] is first and third is not first
    with zipfile.ZipFile(archive.path) as file:
        assert sum(name.endswith(".npy") for name in file.namelist()) == 2


def test_loaded_arrays_can_be_written_to(tmp_path):
    archive = Archive(tmp_path)
    archive.write(np.zeros(3))
    found = archive.read()
    found[0] = 1.0
    assert found.flags.owndata


def test_every_class_that_a_file_may_hold_is_tested_here():
    tested = {type(value).__name__ for value in VALUES} & set(REGISTRY)
    tested |= {"FusionResult", "Agreement", "ClusterSelection", "SearchReport", "ViewTable"}  # in fits
    # In what predicts.
    tested |= {"Predictor", "EdgeModel", "ViewForm", "Encoding", "Space", "Scaling", "Rescaling"}
    tested |= {"EdgeKernel", "Moments", "LearnedScales", "LearnedAverage"}
    # In run/test_checkpoints.py: what stages return, and settings in the warnings that they gave.
    tested |= {"ViewSelection", "ViewReliability", "SpectralEmbedding", "Neighbors", "SharedEdges"}
    tested |= {"EdgeWeights", "Fused", "UnifiedGraph", "Setting", "EarlyFusion", "Partition"}
    tested |= {"LearnedCombination"}  # in test_own_models.py
    ours = {name for name, one in REGISTRY.items() if one.cls.__module__.startswith("consilience.")}
    assert ours | {"RandomState"} & set(REGISTRY) == tested | {"RandomState"} & set(REGISTRY)


circle = []
circle.append(circle)
REFUSED = {
    "a function": (len, "it is a function or similar"),
    "a class": (int, "it is a function or similar"),
    "a set": ({1}, "it is a builtins.set"),
    "a module": (np, "it is a builtins.module"),
    "a table": (pd.DataFrame({"a": [1]}), "it is a pandas.*DataFrame"),
    "a named tuple": (types.SimpleNamespace(a=1), "it is a types.SimpleNamespace"),
    "a key that is no text": ({1: 2}, "its key 1 is not text"),
    "complex numbers": (np.array([1j]), "an array of complex128"),
    "a complex number": (np.complex64(1j), "a number of type complex64"),
    "records": (np.zeros(2, dtype=[("a", "f8")]), "an array of "),
    "a subclass": (np.ma.masked_array([1.0]), "MaskedArray"),
    "columns": (sparse.csc_array(np.eye(2)), "csc_array; of sparse matrices CSR is stored"),
    "itself": (circle, "holds itself"),
    "a long integer": (1 << 5000, "an integer of 5001 bits"),
    "another generator": (np.random.RandomState(np.random.PCG64(0)), "of random generators only"),
    "a function in an array": (np.array([len], dtype=object), "value.0 cannot be saved: it is a function"),
}


@pytest.mark.parametrize("value, message", REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_kept_is_refused_in_a_sentence(value, message, tmp_path):
    with pytest.raises(ValueError, match=rf"^value.* cannot be saved: .*{message.split('saved: ')[-1]}.*\.$"):
        Archive(tmp_path).write(value)
    assert not list(tmp_path.iterdir())


def test_a_metric_that_is_a_function_is_refused(tmp_path):
    def distance(a, b):
        return abs(a - b).sum()

    model = DistanceGraphFusion(n_clusters=3, random_state=0, metric=["euclidean", distance, "cosine"])
    model.fit(DATA.views)
    message = r"^metric\.1 cannot be saved: it is a function .* or pickle the model"
    with pytest.raises(ValueError, match=message):
        model.save(tmp_path / "fit.consilience")
    model.set_params(metric="euclidean")  # what it was fitted with is a function all the same
    with pytest.raises(ValueError, match="cannot be saved: it is a function"):
        model.save(tmp_path / "fit.consilience")
    assert not list(tmp_path.iterdir())


def test_an_object_with_attributes_that_the_table_does_not_name_is_refused(tmp_path):
    views = Views(DATA.views)
    views.extra = 1
    with pytest.raises(ValueError, match=r"a Views has other attributes than are stored \(extra\)"):
        Archive(tmp_path).write(views)


# Writing.


def test_the_same_fit_gives_the_same_bytes(fitted, tmp_path):
    files = [fitted["SGF"].save(tmp_path / name) for name in ("a", "b")]
    assert files[0].read_bytes() == files[1].read_bytes()


def test_a_file_is_replaced_only_if_asked_to(fitted, tmp_path):
    path = tmp_path / "fit.consilience"
    path.write_text("precious")
    with pytest.raises(FileExistsError, match=r"exists; pass force=True to replace it\.$"):
        fitted["SC"].save(path)
    assert path.read_text() == "precious"
    assert fitted["SC"].save(str(path), force=True) == path
    assert_same(fitted["SC"], consilience.load(str(path)))
    assert list(tmp_path.iterdir()) == [path]


def test_what_was_there_stays_if_saving_fails(fitted, tmp_path, monkeypatch):
    path = fitted["SC"].save(tmp_path / "fit.consilience")
    before = path.read_bytes()

    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        fitted["SGF"].save(path, force=True)
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]


def test_the_file_has_the_rights_of_any_new_file(fitted, tmp_path):
    (tmp_path / "other").write_text("")
    path = fitted["SC"].save(tmp_path / "fit.consilience")
    assert path.stat().st_mode == (tmp_path / "other").stat().st_mode


def test_places_that_cannot_be_written_to_are_named(fitted, tmp_path):
    with pytest.raises(IsADirectoryError, match="is a folder; name a file"):
        fitted["SC"].save(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"There is no folder .* to write x into"):
        fitted["SC"].save(tmp_path / "absent" / "x")


def test_only_fits_of_our_own_systems_are_kept(fitted, tmp_path):
    with pytest.raises(NotFittedError):
        DistanceGraphFusion().save(tmp_path / "x")

    class Mine(DistanceGraphFusion):
        pass

    with pytest.raises(ValueError, match=r"Mine is not one of the systems .*register_system, or pickle"):
        Mine(n_clusters=3, random_state=0).fit(DATA.views).save(tmp_path / "x")
    assert not list(tmp_path.iterdir())


def test_large_arrays_are_neither_copied_on_writing_nor_twice_on_reading(tmp_path):
    size = 64 << 20
    large = np.ones(size // 8)
    odd = np.ones((2, size // 16), dtype=">f8").T  # to be turned round, and swapped
    values = [large, odd, large.reshape(4096, -1)[:, ::2]]
    large[:] = np.arange(len(large))
    odd[:] = np.arange(odd.size).reshape(odd.shape)
    archive = Archive(tmp_path)
    tracemalloc.start()
    try:
        archive.write(values)
        written = tracemalloc.get_traced_memory()[1]
        tracemalloc.reset_peak()
        found = archive.read()
        read = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert all(np.array_equal(*pair) for pair in zip(values, found, strict=True))
    assert written < 4 * arrays.CHUNK
    assert read < 2.5 * size + 4 * arrays.CHUNK


def test_a_file_holds_nothing_of_the_machine(file, tmp_path):
    with zipfile.ZipFile(file) as archive:
        content = b"".join([file.read_bytes(), *map(archive.read, archive.namelist())])
        for secret in (str(file.parent), str(Path.home()), os.uname().nodename, str(Path(__file__).parent)):
            # A name of two letters is in any hundred thousand numbers, by chance.
            assert len(secret) < 4 or secret.encode() not in content, secret
        for info in archive.infolist():
            assert (info.date_time, info.create_system) == ((1980, 1, 1, 0, 0, 0), 3)
            assert info.external_attr >> 16 == 0o100644 and not info.extra and not info.comment


def test_arrays_are_little_endian_in_c_order_and_plain_numpy_reads_them(tmp_path):
    archive = Archive(tmp_path)
    value = np.arange(6, dtype=">i4").reshape(2, 3)
    node = archive.write([value, value.T])
    with zipfile.ZipFile(archive.path) as file:
        one, other = (np.load(io.BytesIO(file.read(item["member"]))) for item in node)
    assert one.dtype.str == other.dtype.str == "<i4"
    assert one.tolist() == other.tolist() == value.tolist()
    assert "transposed" not in node[0] and node[1]["transposed"] is True
    assert archive.read()[1].tolist() == value.T.tolist()


# A file by hand, as the documentation describes it.


def by_hand(path, manifest, members, digest=None, compression=zipfile.ZIP_STORED):
    data = manifest if isinstance(manifest, bytes) else json.dumps(manifest, indent=2).encode()
    digest = hashlib.sha256(data).hexdigest() if digest is None else digest
    with zipfile.ZipFile(path, "w", compression) as archive:
        archive.writestr("manifest.json", data)
        archive.writestr("manifest.sha256", digest)
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def npy(array, **keywords):
    file = io.BytesIO()
    np.save(file, array, **keywords)
    return file.getvalue()


def described(data, array):
    sha256 = hashlib.sha256(data).hexdigest()
    return {"shape": list(array.shape), "dtype": array.dtype.str, "bytes": len(data), "sha256": sha256}


@pytest.fixture
def parts():
    """Return the manifest and the members of a file of format 1, made without our writer."""
    values = {
        "labels_": np.array([0, 0, 1, 1]),
        "data": np.ones(4),
        "indices": np.array([1, 0, 3, 2], dtype=np.int32),
        "indptr": np.arange(5, dtype=np.int32),
    }
    members = {f"arrays/{name}.npy": npy(value) for name, value in values.items()}
    refer = {name: {"type": "array", "member": f"arrays/{name}.npy"} for name in values}
    csr = {name: refer[name] for name in ("data", "indices", "indptr")}
    manifest = {
        "format": "consilience model",
        "format_version": 1,
        "consilience_version": "0.1.0",
        "class": "AverageGraph",
        "parameters": {"n_clusters": 2, "random_state": None},
        "attributes": {
            "labels_": refer["labels_"],
            "graph_": {"type": "csr_array", "shape": [4, 4], **csr},
            "warnings_": {"type": "tuple", "items": ["mind", {"type": "float", "value": "nan"}]},
        },
        "arrays": {
            f"arrays/{name}.npy": described(members[f"arrays/{name}.npy"], value)
            for name, value in values.items()
        },
    }
    return manifest, members


def test_a_file_of_format_1_made_by_hand_is_read(parts, tmp_path):
    model = consilience.load(by_hand(tmp_path / "hand", *parts))
    assert type(model) is AverageGraph
    assert model.n_clusters == 2 and model.assign_labels == AverageGraph().assign_labels
    assert model.labels_.tolist() == [0, 0, 1, 1]
    assert model.graph_.toarray()[2].tolist() == [0, 0, 0, 1]
    assert model.warnings_[0] == "mind" and math.isnan(model.warnings_[1])


def test_there_is_one_version_of_the_format():
    """With another, keep the test above for each of them, and say in the docs what changed."""
    assert container.MODEL.version == 1


# Reading what is no model.


def rejected(path, message):
    with pytest.raises(ModelFileError, match=message) as caught:
        consilience.load(path)
    found = str(caught.value)
    assert found.startswith(str(path)) and found.endswith(".") and "\n" not in found
    return found


def test_an_absent_file_is_what_python_says_of_it(tmp_path):
    with pytest.raises(FileNotFoundError):
        consilience.load(tmp_path / "absent")


@pytest.mark.parametrize("content", [b"", b"hello", pickle.dumps({"a": 1}), b"PK\x03\x04" + bytes(100)])
def test_what_is_no_archive_is_no_model(content, tmp_path):
    path = tmp_path / "x"
    path.write_bytes(content)
    rejected(path, "is not a model file, or it is cut off")


def test_another_archive_is_no_model(tmp_path):
    np.savez(tmp_path / "x.npz", a=np.ones(3))
    rejected(tmp_path / "x.npz", r"it has no manifest\.json: it is a ZIP archive of another kind")


def test_a_newer_version_says_so_and_what_to_do(parts, tmp_path):
    members = parts[1]
    newer = {"format": "consilience model", "format_version": 2, "consilience_version": "7.0", "novel": []}
    path = by_hand(tmp_path / "x", newer, {**members, "something/else": b""})
    version = consilience.__version__
    message = (
        rf"was written by consilience 7\.0 in format 2; this is consilience {version}, which reads up to "
    )
    rejected(path, message + "format 1: upgrade it")


def change(manifest, **keys):
    return {**manifest, **keys}


def without(mapping, *keys):
    return {key: value for key, value in mapping.items() if key not in keys}


def entry(manifest, name, **keys):
    known = manifest["arrays"]
    return change(manifest, arrays={**known, name: {**known[name], **keys}})


LABELS = "arrays/labels_.npy"
WRONG_MANIFESTS = {
    "not JSON": (lambda m: b"{", r"manifest\.json is not JSON"),
    "no object": (lambda m: b"[]", "does not say that it is a consilience model"),
    "deeply nested": (lambda m: b"[" * 100_000, "is not JSON"),
    "NaN": (lambda m: b'{"format": NaN}', "NaN is no JSON"),
    "a key twice": (lambda m: b'{"a": 1, "a": 2}', "a key occurs twice"),
    "no text": (lambda m: b"\xff\xfe", "is not JSON"),
    "a long number": (lambda m: b"1" * 5000, "is not JSON"),
    "another format": (lambda m: change(m, format="zip"), "does not say that it is a consilience model"),
    "version 0": (lambda m: change(m, format_version=0), "which version"),
    "version true": (lambda m: change(m, format_version=True), "which version"),
    "a part lacks": (lambda m: without(m, "parameters"), "lacks parts, or has others: 'parameters'"),
    "a part more": (lambda m: change(m, hook="os.system"), "lacks parts, or has others: 'hook'"),
    "a class of nobody": (
        lambda m: change(m, **{"class": "os.system"}),
        "class 'os.system', which is not known",
    ),
    "a class that is none": (
        lambda m: change(m, **{"class": ["SNF"]}),
        r"class \['SNF'\], which is not known",
    ),
    "a base class": (lambda m: change(m, **{"class": "MultiviewClusterer"}), "which is not known here"),
    "unknown parameter": (
        lambda m: change(m, parameters={"lamda": 1}),
        "AverageGraph has no parameter 'lamda' in this version; it was written by consilience 0.1.0",
    ),
    "parameters in a list": (lambda m: change(m, parameters=[]), "do not fit together: not a JSON object"),
    "arrays in a list": (lambda m: change(m, arrays=[]), "lists no arrays"),
    "an array of nothing": (lambda m: entry(m, LABELS, shape=None), "labels_.npy' is not one"),
    "a negative shape": (lambda m: entry(m, LABELS, shape=[-4]), "labels_.npy' is not one"),
    "an immense shape": (lambda m: entry(m, LABELS, shape=[2**47]), "is .4,. <i8, and the manifest says"),
    "another type": (lambda m: entry(m, LABELS, dtype="<f8"), "is .4,. <i8, and the manifest says .4,. <f8"),
    "objects": (lambda m: entry(m, LABELS, dtype="|O"), r"a kind that models do not hold \(\|O\)"),
    "another size": (lambda m: entry(m, LABELS, bytes=999), "160 bytes long, and the manifest says 999"),
    "another digest": (
        lambda m: entry(m, LABELS, sha256="0" * 64),
        "the array arrays/labels_.npy is damaged: its digest is not that of the manifest",
    ),
}


@pytest.mark.parametrize("make, message", WRONG_MANIFESTS.values(), ids=WRONG_MANIFESTS)
def test_a_wrong_manifest_is_refused(make, message, parts, tmp_path):
    manifest, members = parts
    rejected(by_hand(tmp_path / "x", make(manifest), members), message)


def ref(name):
    return {"type": "array", "member": f"arrays/{name}.npy"}


def matrix(**keys):
    parts = {name: ref(name) for name in ("data", "indices", "indptr")}
    return {"type": "csr_array", "shape": [4, 4], **parts, **keys}


def thing(name, **state):
    return {"type": "object", "class": name, "state": state}


def deep(n):
    return [deep(n - 1)] if n else 0


WRONG_VALUES = {
    "unknown type": ({"type": "lambda", "value": "1"}, "a type that this version does not know .'lambda'."),
    "no type": ({"py/object": "os.system"}, "a type that this version does not know .None."),
    "a list as type": ({"type": ["tuple"]}, "does not know"),
    "other parts": ({"type": "tuple", "items": [], "more": 1}, "no tuple: it has other parts"),
    "transposed tuple": ({"type": "tuple", "items": [], "transposed": True}, "no tuple: it has other parts"),
    "no items": ({"type": "tuple", "items": 3}, "no tuple: not a JSON array"),
    "too deep": (deep(100), "nested too deeply"),
    "class of nobody": (thing("subprocess.Popen", args="ls"), "'subprocess.Popen', which is not known"),
    "class in a list": (thing(["EdgeSet"]), "which is not known here"),
    "other fields": (thing("EdgeSet", a=1), "no EdgeSet: it does not hold what a EdgeSet is made of"),
    "fields lack": (thing("EdgeSet", indptr=ref("indptr")), "it does not hold what a EdgeSet is made of"),
    "fields of text": (thing("EdgeSet", indptr="ab", indices="ab", seen=None), "no EdgeSet: no rows"),
    "attributes lack": (thing("Views", arrays=ref("data")), "what a Views is made of"),
    "edges out of range": (
        thing("EdgeSet", indptr=ref("far"), indices=ref("indices"), seen=None),
        "no EdgeSet: .*rows",
    ),
    "far edges": (
        thing("EdgeSet", indptr=ref("indptr"), indices=ref("far"), seen=None),
        "an index out of range",
    ),
    "a type of objects": ({"type": "dtype", "value": "|O"}, "no type of an array"),
    "absent array": (ref("absent"), "it refers to the array 'arrays/absent.npy', which it does not hold"),
    "the manifest as array": ({"type": "array", "member": "manifest.json"}, "which it does not hold"),
    "transposed 1": ({**ref("labels_"), "transposed": False}, "`transposed` can only be true"),
    "matrix of one axis": (matrix(shape=[4]), "its shape is not that of a matrix"),
    "matrix of text": (matrix(data="abcd"), "no csr_array"),
    "matrix too wide": (matrix(indices=ref("far")), "no csr_array: it has an index out of range"),
    "matrix too narrow": (matrix(shape=[4, 3]), "no csr_array: it has an index out of range"),
    "matrix of other rows": (matrix(shape=[5, 4]), "its rows do not begin where they should"),
    "matrix going back": (matrix(indptr=ref("back")), "its rows do not add up"),
    "negative shape": (matrix(shape=[-4, 4]), "it has no shape"),
    "objects of another shape": (
        {"type": "objects", "shape": [3], "items": [1]},
        "shape and its items differ",
    ),
    "objects of immense shape": ({"type": "objects", "shape": [0, 10**30], "items": []}, "no objects"),
    "a scalar of a class": ({"type": "scalar", "dtype": "object", "value": 1}, "no scalar"),
    "a wide text": ({"type": "scalar", "dtype": "<U1000000000", "value": "a"}, "no scalar"),
    "a time of no unit": ({"type": "scalar", "dtype": "datetime64[x]", "value": 1}, "no scalar"),
    "another number": ({"type": "scalar", "dtype": "int8", "value": 1.5}, "value is of another type"),
    "no number": ({"type": "scalar", "dtype": "int8", "value": 1000}, "no scalar: its value is out of range"),
    "no float": ({"type": "float", "value": "1.5"}, "no float"),
    "no integer": ({"type": "int", "value": "1" * 2000}, "no int"),
    "no date": ({"type": "date", "value": "yesterday"}, "no date"),
    "no bytes": ({"type": "bytes", "value": 3}, "no bytes"),
    "no generator": (thing("RandomState", key=ref("data"), pos=0, has_gauss=0, gauss=0.0), "no state of"),
    "generator astray": (
        thing("RandomState", key=ref("key"), pos=10**6, has_gauss=0, gauss=0.0),
        "it is no state of a random generator",
    ),
}


@pytest.mark.parametrize("node, message", WRONG_VALUES.values(), ids=WRONG_VALUES)
def test_a_wrong_value_is_refused(node, message, parts, tmp_path):
    manifest, members = parts
    more = {
        "far": np.array([1, 0, 3, 4], dtype=np.int32),
        "back": np.array([0, 3, 2, 3, 4]),
        "key": np.zeros(624, dtype=np.uint32),
    }
    for name, value in more.items():
        members[f"arrays/{name}.npy"] = npy(value)
        manifest["arrays"][f"arrays/{name}.npy"] = described(npy(value), value)
    manifest["attributes"]["value_"] = node
    rejected(by_hand(tmp_path / "x", manifest, members), message)


@pytest.mark.parametrize(
    "name", ["fit", "__class__", "__dict__", "n_clusters", "labels", "", "a-b_", "_fit", "_kept_"]
)
def test_only_fitted_attributes_are_set(name, parts, tmp_path):
    manifest, members = parts
    manifest["attributes"][name] = 1
    rejected(by_hand(tmp_path / "x", manifest, members), "is no fitted attribute of a AverageGraph")


def test_properties_are_not_hidden(file, tmp_path):
    with zipfile.ZipFile(file) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    manifest = json.loads(members.pop("manifest.json"))
    del members["manifest.sha256"]
    manifest["attributes"]["view_weights_"] = 1
    rejected(by_hand(tmp_path / "x", manifest, members), "'view_weights_' is no fitted attribute")


INCONSISTENT = {
    "no labels": (lambda a: a.pop("labels_"), "fit together"),
    "labels of text": (lambda a: a.update(labels_="0011"), "labels_ is not one label for each sample"),
    "ids of others": (
        lambda a: a.update(sample_ids_={"type": "objects", "shape": [2], "items": ["a", "b"]}),
        "sample_ids_ does not name 4 samples",
    ),
    "neighbours astray": (
        lambda a: a.update(neighbors_=[ref("lists")]),
        "neighbors_ does not list neighbours among 4 samples",
    ),
    "another graph": (
        lambda a: a["graph_"].update(shape=[4, 5]),
        "graph_ is not a graph of 4 samples",
    ),
}


@pytest.mark.parametrize("spoil, message", INCONSISTENT.values(), ids=INCONSISTENT)
def test_a_model_whose_parts_do_not_fit_together_is_refused(spoil, message, parts, tmp_path):
    manifest, members = parts
    spoil(manifest["attributes"])
    lists = np.array([[1], [0], [3], [1000]], dtype=np.int32)
    if "neighbors_" in manifest["attributes"]:
        members["arrays/lists.npy"] = npy(lists)
        manifest["arrays"]["arrays/lists.npy"] = described(npy(lists), lists)
    if message == "fit together" or "labels_ is" in message:
        manifest["attributes"]["kept_"] = ref("labels_")
    rejected(by_hand(tmp_path / "x", manifest, members), message)


BEYOND_BOUNDS = {
    "labels": (
        lambda a: a.update(kept_=a["labels_"], labels_=a["fusion_"]["state"]["edges"]["state"]["indptr"]),
        "labels_ are not those of clusters of 21 samples",
    ),
    "no neighbours": (lambda a: a.update(n_neighbors_=0), "no number of neighbours among 20 samples"),
    "too many neighbours": (lambda a: a.update(n_neighbors_=20), "no number of neighbours among 20 samples"),
    "rounds without end": (
        lambda a: a["fusion_"]["state"].update(n_iter=10**9),
        "attributes.fusion_ is no FusionResult: its rounds do not fit",
    ),
    "a view twice": (
        lambda a: [part["items"].append(part["items"][0]) for part in of_views(a)],
        "its views do not fit",
    ),
    "a view less": (
        lambda a: [part["items"].pop() for part in of_views(a)],
        "its views do not fit",
    ),
    "no model": (lambda a: predictor(a)["models"]["items"].clear(), "its views do not fit"),
    "units of other views": (
        lambda a: edge_model(a).update(units=a["labels_"]),
        "its views do not fit",
    ),
    "an unknown view": (
        lambda a: predictor(a)["numbers"]["items"].__setitem__(0, 2),
        "attributes.predictor_ is no Predictor: it is not about 20 samples",
    ),
    "other features": (
        lambda a: predictor(a)["forms"]["items"][1]["state"].update(n_features=3),
        "it is not about the features of 'view_1'",
    ),
    "features of other samples": (
        lambda a: own_space(a).update(rows=a["embedding_"]),
        "it is not about the features of 'view_0'",
    ),
    "features of text": (lambda a: own_space(a).update(rows="ab"), "what a Predictor is made of"),
    "labels that are no clusters": (
        lambda a: predictor(a).update(labels=a["fusion_"]["state"]["edges"]["state"]["indptr"]),
        "its labels are no clusters",
    ),
    "seen by nobody": (lambda a: own_space(a).update(seen=a["labels_"]), "`seen` does not fit"),
    "trust in others": (lambda a: predictor(a).update(trust=edge_model(a)["units"]), "`trust` does not fit"),
    "an order of others": (lambda a: predictor(a).update(order=a["labels_"]), "no order"),
    "no neighbours of new samples": (
        lambda a: predictor(a).update(n_neighbors=0),
        "no number of neighbours",
    ),
}


def predictor(attributes):
    return attributes["predictor_"]["state"]


def edge_model(a):
    return predictor(a)["models"]["items"][0]["state"]


def of_views(a):
    """Return what a predictor keeps for each view."""
    return [predictor(a)["spaces"], predictor(a)["numbers"], edge_model(a)["kernels"]]


def own_space(attributes):
    return predictor(attributes)["spaces"]["items"][0]["state"]


@pytest.mark.parametrize(("spoil", "message"), BEYOND_BOUNDS.values(), ids=list(BEYOND_BOUNDS))
def test_a_file_that_would_lead_compiled_code_astray_is_refused(spoil, message, file, tmp_path):
    with zipfile.ZipFile(file) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    manifest = json.loads(members.pop("manifest.json"))
    del members["manifest.sha256"]
    spoil(manifest["attributes"])
    rejected(by_hand(tmp_path / "x", manifest, members), message)


def test_a_tampered_array_is_named(parts, tmp_path):
    manifest, members = parts
    members[LABELS] = npy(np.array([1, 1, 0, 0]))  # same shape, type and size
    rejected(
        by_hand(tmp_path / "x", manifest, members), "the array arrays/labels_.npy is damaged: its digest"
    )


def test_a_tampered_manifest_is_found(file, tmp_path):
    with zipfile.ZipFile(file) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    manifest, digest = members.pop("manifest.json"), members.pop("manifest.sha256")
    changed = manifest.replace(b'"n_clusters":2', b'"n_clusters":3')
    assert changed != manifest
    path = by_hand(tmp_path / "x", changed, members, digest.decode())
    rejected(path, r"its manifest\.json is damaged: its digest is not that of manifest\.sha256")


def test_missing_and_unexpected_members_are_named(parts, tmp_path):
    manifest, members = parts
    path = tmp_path / "x"
    rejected(by_hand(path, manifest, without(members, LABELS)), "the array arrays/labels_.npy is missing")
    rejected(by_hand(path, manifest, {**members, "run.py": b"1"}), "it holds 'run.py', which its manifest")
    manifest["attributes"].pop("graph_")
    rejected(by_hand(path, manifest, members), "the array arrays/data.npy, which belongs to nothing")


def test_a_member_twice_is_refused(parts, tmp_path):
    manifest, members = parts
    path = by_hand(tmp_path / "x", manifest, members)
    with zipfile.ZipFile(path, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr(LABELS, members[LABELS])
    rejected(path, "it holds 'arrays/labels_.npy' twice")


WRONG_ARRAYS = {
    "pickled": (npy(np.array([None, 1], dtype=object), allow_pickle=True), "do not hold .*O"),
    "records": (npy(np.zeros(2, dtype=[("a", "f8")])), "cannot be read|do not hold"),
    "complex": (npy(np.array([1j])), "do not hold .<c16"),
    "big-endian": (npy(np.arange(4, dtype=">i8")), "do not hold .>i8"),
    "Fortran order": (npy(np.asfortranarray(np.eye(3))), "do not hold"),
    "empty": (b"", "not in the format .npy"),
    "version 2": (npy(np.arange(4)).replace(b"NUMPY\x01", b"NUMPY\x02"), "not in the format .npy 1.0"),
    "long header": (b"\x93NUMPY\x01\x00\xff\xff" + bytes(70_000), "a header of 65535 bytes"),
    "odd header": (npy(np.arange(4)).replace(b"'descr'", b"'desc' "), "a header that cannot be read"),
    "header of code": (
        npy(np.arange(4)).replace(b"'fortran_order': False", b"'fortran_order': exit()"),
        "a header that cannot be read",
    ),
    "immense": (npy(np.arange(4)).replace(b"(4,), }   ", b"(10**9,), }"), "a header that cannot be read"),
    "too short": (npy(np.arange(4))[:-1], "not the number of bytes|ends too early"),
}


@pytest.mark.parametrize("data, message", WRONG_ARRAYS.values(), ids=WRONG_ARRAYS)
def test_a_wrong_array_is_refused_though_its_digest_is_right(data, message, parts, tmp_path):
    manifest, members = parts
    members[LABELS] = data
    sha256 = hashlib.sha256(data).hexdigest()
    manifest = entry(manifest, LABELS, bytes=len(data), sha256=sha256)
    rejected(by_hand(tmp_path / "x", manifest, members), message)


def test_nothing_compressed_is_inflated(parts, tmp_path):
    manifest, members = parts
    bomb = npy(np.zeros(50_000_000, dtype=np.int8))
    members[LABELS] = bomb
    manifest = entry(
        manifest,
        LABELS,
        dtype="|i1",
        shape=[50_000_000],
        bytes=len(bomb),
        sha256=hashlib.sha256(bomb).hexdigest(),
    )
    path = by_hand(tmp_path / "x", manifest, members, compression=zipfile.ZIP_DEFLATED)
    assert path.stat().st_size < 100_000
    tracemalloc.start()
    try:
        rejected(path, "in it is compressed, which nothing in a model file is")
        assert tracemalloc.get_traced_memory()[1] < 5_000_000
    finally:
        tracemalloc.stop()


def test_members_that_overlap_do_not_make_a_small_file_large(tmp_path):
    """Many entries of the directory for one and the same place in the file."""
    path = tmp_path / "x"
    data = npy(np.zeros(100_000))
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("manifest.json", "{}")
        archive.writestr("manifest.sha256", hashlib.sha256(b"{}").hexdigest())
        archive.writestr("a", data)
        for i in range(100):
            again = copy.copy(archive.getinfo("a"))
            again.filename = again.orig_filename = f"b{i}"
            archive.filelist.append(again)
            archive.NameToInfo[again.filename] = again
    rejected(path, "it claims to hold more than the file is long|is not a model file")


def test_a_limit_is_kept_to(file, monkeypatch):
    size = file.stat().st_size
    with pytest.raises(ModelFileError, match=r"it holds .*, more than the 1.0 KiB that max_bytes allows"):
        consilience.load(file, max_bytes=1024)
    consilience.load(file, max_bytes=size)
    monkeypatch.setattr(container, "available_bytes", lambda: 1024)
    with pytest.raises(ModelFileError, match="that are free"):
        consilience.load(file)
    monkeypatch.setattr(container, "available_bytes", lambda: None)
    consilience.load(file)


def test_timestamps_of_pandas_need_pandas(parts, tmp_path, monkeypatch):
    manifest, members = parts
    manifest["attributes"]["when_"] = {"type": "timestamp", "value": "2024-01-01"}
    path = by_hand(tmp_path / "x", manifest, members)
    assert consilience.load(path).when_ == pd.Timestamp("2024-01-01")
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    rejected(path, "timestamps of pandas, which is not installed: pip install pandas")


# Damage: an error that is ours, or the very same model.


def outcome(path, data, expected):
    path.write_bytes(data)
    try:
        found = consilience.load(path)
    except ModelFileError as error:
        assert "\n" not in str(error)
        return "refused"
    assert_same(expected, found)
    return "the same"


def test_a_file_cut_off_anywhere_is_refused(file, tmp_path):
    data, expected = file.read_bytes(), consilience.load(file)
    rng = np.random.default_rng(0)
    places = np.concatenate(
        [np.arange(0, 60), len(data) - 1 - np.arange(0, 300), rng.integers(len(data), size=200)]
    )
    for place in places.tolist():
        assert outcome(tmp_path / "x", data[:place], expected) == "refused", place


@pytest.mark.parametrize("seed", range(4))
def test_flipped_bytes_are_found_or_do_not_matter(seed, file, tmp_path):
    data, expected = file.read_bytes(), consilience.load(file)
    rng = np.random.default_rng(seed)
    # The archive's directory, at the end, is where most can go wrong: half of the flips go there.
    directory = data.rindex(b"manifest.sha256") - 60 * data.count(b"PK\x01\x02")
    met = set()
    for i in range(400):
        place = int(rng.integers(directory if i % 2 else 0, len(data)))
        broken = bytearray(data)
        broken[place] ^= int(rng.integers(1, 256))
        met.add(outcome(tmp_path / "x", bytes(broken), expected))
    assert "refused" in met


def test_every_byte_of_the_arrays_and_of_the_manifest_is_protected(file, tmp_path):
    data, expected = file.read_bytes(), consilience.load(file)
    with zipfile.ZipFile(file) as archive:
        for info in archive.infolist():
            content = archive.read(info)
            start = data.index(content, info.header_offset)
            for place in {start, start + len(content) // 2, start + len(content) - 2}:
                broken = bytearray(data)
                broken[place] ^= 1
                assert outcome(tmp_path / "x", bytes(broken), expected) == "refused", (info.filename, place)


def test_blocks_that_are_zeroed_doubled_or_swapped_are_found_or_do_not_matter(file, tmp_path):
    data, expected = file.read_bytes(), consilience.load(file)
    rng = np.random.default_rng(1)
    for i in range(300):
        a, b = sorted(rng.integers(0, len(data), size=2).tolist())
        length = int(rng.integers(1, 600))
        block = bytes(length) if i % 3 == 0 else data[a : a + length]
        broken = data[:b] + block + (data[b:] if i % 3 == 1 else data[b + length :])
        outcome(tmp_path / "x", broken, expected)


def test_values_of_any_kind_in_place_of_any_other_are_refused_or_harmless(file, tmp_path):
    """A file that somebody made on purpose: all digests are right, only the content is odd."""
    with zipfile.ZipFile(file) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    manifest = json.loads(members.pop("manifest.json"))
    del members["manifest.sha256"]
    odd = [None, -1, 10**9, "x", [], {}, {"type": "tuple", "items": []}, {"type": "float", "value": "nan"}]
    odd += [{"type": "array", "member": name} for name in manifest["arrays"]][:6]
    rng = np.random.default_rng(0)
    n_refused = 0
    for _ in range(300):
        spoiled = copy.deepcopy(manifest)
        place = spoiled
        while True:
            keys = list(place) if isinstance(place, dict) else list(range(len(place)))
            if not keys:
                break
            key = keys[int(rng.integers(len(keys)))]
            if isinstance(place[key], (dict, list)) and rng.random() < 0.8:
                place = place[key]
            else:
                place[key] = odd[int(rng.integers(len(odd)))]
                break
        try:
            consilience.load(by_hand(tmp_path / "x", spoiled, members))
        except ModelFileError:
            n_refused += 1
    assert n_refused > 150
