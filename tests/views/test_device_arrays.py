"""Arrays of other libraries: taken where they are, and given back as the same kind.

There is no GPU here: for these tests, tensors in the memory of this process count as lying on a device.
"""

import copy
import pickle

import numpy as np
import pytest
from scipy import sparse

import consilience
from consilience import DistanceGraphFusion, SimilarityGraphFusion, Views, make_multiview
from consilience.engines import get_engine
from consilience.inspection import does_fusion_help
from consilience.models.systems import ConcatenatedSpectral
from consilience.spaces import Scaling
from consilience.spaces.scaling import plan_rescaling, thinned
from consilience.views import DeviceArray, container, device_arrays, in_memory
from consilience.views.content_order import content_keys

torch = pytest.importorskip("torch", reason="needs the extra 'gpu': consilience[gpu]")
from consilience.engines.torch import TorchEngine  # noqa: E402

rng = np.random.default_rng(0)


@pytest.fixture
def on_device(monkeypatch):
    """Let all tensors count as being on a device."""
    monkeypatch.setattr(device_arrays, "is_on_device", lambda raw: True)


@pytest.fixture
def nothing_comes_here(monkeypatch):
    """Let every copy of a view into the memory of this process be an error; chunks are hashed there."""

    def fail(self):
        raise AssertionError("a view was copied through the memory of this process")

    monkeypatch.setattr(DeviceArray, "here", property(fail))


def as_tensors(views):
    return {name: torch.from_numpy(array.copy()) for name, array in views.items()}


def data(n=300, **given):
    return make_multiview(n, n_clusters=3, separation=4.0, random_state=0, **given)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16, np.bool_])
def test_tensors_in_this_memory_are_taken_without_a_copy(dtype):
    x = rng.integers(0, 2, (5, 3)).astype(dtype)
    taken = Views(torch.from_numpy(x)).arrays[0]
    np.testing.assert_array_equal(taken, x)
    assert np.shares_memory(taken, x) == (dtype in (np.float32, np.float64))


def test_the_output_of_a_model_in_training_is_taken():
    x = torch.ones((4, 2), requires_grad=True) * 2.0
    np.testing.assert_array_equal(Views(x).arrays[0], np.full((4, 2), 2.0))


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_halves_become_single_precision(name):
    x = torch.tensor([[1.5, 2.0], [0.25, 4.0]], dtype=getattr(torch, name))
    taken = Views(x).arrays[0]
    assert taken.dtype == np.float32
    np.testing.assert_array_equal(taken, x.float().numpy())


def test_halves_on_a_device_become_single_precision_there(on_device, nothing_comes_here):
    views = Views(torch.tensor([[1.5, 2.0], [0.25, 4.0]], dtype=torch.bfloat16))
    assert views.resident_arrays[0].tensor.dtype == torch.float32


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support is in beta")
@pytest.mark.parametrize("layout", ["to_sparse_coo", "to_sparse_csr"])
def test_sparse_tensors_become_matrices(layout):
    x = np.where(rng.random((6, 4)) < 0.4, 1.5, 0.0)
    taken = Views(getattr(torch.from_numpy(x), layout)()).arrays[0]
    assert sparse.issparse(taken)
    np.testing.assert_array_equal(taken.toarray(), x)


def test_other_arrays_with_dlpack_are_taken():
    class Foreign:
        """An array of a library that knows DLPack and nothing of NumPy."""

        def __init__(self, x):
            self.x = x

        def __dlpack__(self, **given):
            return self.x.__dlpack__(**given)

        def __dlpack_device__(self):
            return self.x.__dlpack_device__()

    x = rng.normal(size=(5, 2))
    assert np.shares_memory(Views([Foreign(x), x]).arrays[0], x)


def test_views_on_a_device_stay_there(on_device, nothing_comes_here):
    x = torch.ones((6, 2), dtype=torch.float32)
    views = Views({"a": x, "b": np.eye(6)}, sample_ids=list("abcdef"))
    assert views.resident_arrays[0].tensor.data_ptr() == x.data_ptr()
    taken = views[[4, 1]]
    assert isinstance(taken.resident_arrays[0], DeviceArray) and taken.shape == (2, 8)
    assert isinstance(views[1:3].select("a").resident_arrays[0], DeviceArray)
    assert "'a' 6 x 2 float32" in repr(views)


def test_they_come_here_when_somebody_asks(on_device):
    x = rng.normal(size=(6, 2))
    views = Views(torch.from_numpy(x))
    np.testing.assert_array_equal(views.arrays[0], x)
    np.testing.assert_array_equal(views["view_0"], x)
    np.testing.assert_array_equal(
        np.asarray(views.resident_arrays[0], dtype=np.float32), x.astype(np.float32)
    )
    assert in_memory(x) is x


def test_matrices_between_samples_come_here(on_device):
    views = Views(torch.ones((4, 4)), pairwise=True)
    assert isinstance(views.resident_arrays[0], np.ndarray)


def test_rows_of_nan_are_samples_that_were_not_seen(on_device, nothing_comes_here):
    x = rng.normal(size=(6, 3))
    x[[1, 4]] = np.nan
    views = Views([torch.from_numpy(x), np.eye(6)], mask=np.arange(12).reshape(6, 2) != 0)
    np.testing.assert_array_equal(views.mask[:, 0], [False, False, True, True, False, True])
    assert not views.resident_arrays[0].tensor[[0, 1, 4]].any()


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_single_cells_without_a_number_are_named(on_device, value):
    x = np.ones((5, 3))
    x[2, 1] = value
    with pytest.raises(ValueError, match=r"row 2, column 1 holds") as here:
        DistanceGraphFusion(n_clusters=2).fit([x, x])
    with pytest.raises(ValueError, match=r"row 2, column 1 holds") as there:
        DistanceGraphFusion(n_clusters=2, engine="torch").fit([torch.from_numpy(x)] * 2)
    assert str(there.value) == str(here.value)


def test_numbers_that_overflow_in_single_precision_are_found(on_device):
    with pytest.raises(ValueError, match="holds infinity"):
        Views(torch.tensor([[1.0, 2.0], [1e9, 1.0]], dtype=torch.float64).half())


def test_complex_numbers_are_refused(on_device):
    with pytest.raises(ValueError, match="Complex data not supported"):
        Views(torch.ones((3, 2), dtype=torch.complex64))


@pytest.mark.parametrize("shape", [(3,), (2, 3, 4), (0, 2), (2, 0)])
def test_shapes_that_are_no_table_are_refused_as_ever(on_device, shape):
    with pytest.raises(ValueError, match="view 'view_0'"):
        Views([torch.ones(shape)])


def test_without_pytorch_an_error_says_what_to_do(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    with pytest.raises(ValueError, match=r"view 'x' is on a GPU, and PyTorch.*pip install"):
        DeviceArray.of("x", object())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_order_by_content_is_that_of_the_same_numbers_here(on_device, nothing_comes_here, dtype):
    x = rng.normal(size=(50, 7)).astype(dtype)
    x[3, 2], x[4, 2], x[5, 5] = 0.0, -0.0, np.nan
    y = rng.normal(size=(50, 3))
    there = Views([torch.from_numpy(x), torch.from_numpy(y)])
    np.testing.assert_array_equal(content_keys(there), content_keys(Views([x, y])))


@pytest.mark.parametrize("chunk", [1 << 24, 100])
def test_the_fingerprint_is_that_of_the_same_numbers_here(on_device, monkeypatch, chunk):
    monkeypatch.setattr(container, "_CHUNK", chunk)
    x = rng.normal(size=(20, 3))
    here = Views(x).fingerprint()
    assert here == Views(torch.from_numpy(x)).fingerprint() == Views(x).fingerprint(n_threads=4)
    other = x.copy()
    other[7, 1] += 1e-9
    assert here != Views(torch.from_numpy(other)).fingerprint() == Views(other).fingerprint()


@pytest.mark.parametrize("scale", ["plain", "one apart", "dominated"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_columns_are_described_and_rescaled_as_here(dtype, scale):
    x = rng.normal(size=(500, 12))
    x[:, 3] = 7.0
    x *= {"plain": np.ones(12), "one apart": np.r_[1e5, np.ones(11)], "dominated": 10.0 ** np.arange(12)}[
        scale
    ]
    x, engine = x.astype(dtype), TorchEngine(device="cpu")
    there = DeviceArray(torch.from_numpy(x))
    mine, true = engine.describe(there, None), get_engine("numpy").describe(x, None)
    for name in ("lowest", "highest", "n_nonzero"):
        np.testing.assert_array_equal(getattr(mine, name), getattr(true, name))
    np.testing.assert_allclose(mine.mean, true.mean, rtol=1e-9, atol=1e-12 * np.abs(x).max())
    np.testing.assert_allclose(mine.variance, true.variance, rtol=1e-9, atol=1e-20 * np.abs(x).max() ** 2)
    assert mine.variance[3] == 0
    plan = plan_rescaling(x, "euclidean", None, get_engine("numpy"))
    assert (plan is None) == (scale == "plain")
    for scaling in (Scaling(plan), Scaling.standard(x, None, engine)):
        found = scaling(there)
        assert found.dtype == dtype
        np.testing.assert_array_equal(in_memory(found), scaling(x))
    found = plan_rescaling(there, "euclidean", None, engine)
    assert (found is None) == (plan is None)
    if plan is not None:
        np.testing.assert_array_equal(found.features, plan.features)
        np.testing.assert_allclose(found.factors, plan.factors, rtol=1e-9)


def test_cosine_on_a_device_is_rescaled_as_here(on_device):
    x = rng.normal(size=(200, 10)) + 1.0
    x[:, 4] *= 1e3
    plan = plan_rescaling(x, "cosine", None, get_engine("numpy"))
    found = plan_rescaling(DeviceArray(torch.from_numpy(x)), "cosine", None, TorchEngine(device="cpu"))
    np.testing.assert_array_equal(found.features, plan.features)
    np.testing.assert_allclose(found.factors, plan.factors, rtol=1e-9)
    assert plan_rescaling(DeviceArray(torch.from_numpy(x[:, :3])), "cosine", None, TorchEngine("cpu")) is None


def test_roots_of_counts_are_taken_as_here():
    counts = rng.poisson(0.15, (200, 20)).astype(float)
    plan = plan_rescaling(counts, "cosine", None, get_engine("numpy"))
    assert plan.roots
    found = Scaling(plan)(DeviceArray(torch.from_numpy(counts)))
    np.testing.assert_allclose(in_memory(found), Scaling(plan)(counts), rtol=1e-15)
    there = plan_rescaling(DeviceArray(torch.from_numpy(counts)), "cosine", None, TorchEngine(device="cpu"))
    assert there.roots
    assert sparse.issparse(thinned(DeviceArray(torch.from_numpy(np.where(counts > 1, counts, 0.0)))))


@pytest.mark.parametrize("model", [SimilarityGraphFusion, DistanceGraphFusion])
@pytest.mark.parametrize("metric", ["auto", "cosine", "euclidean"])
def test_a_fit_on_a_device_copies_no_view_through_this_memory(on_device, nothing_comes_here, model, metric):
    sample = data()
    given = {"n_clusters": 3, "metric": metric, "effort": "low", "random_state": 0}
    engine = TorchEngine(device="cpu")
    there = model(**given, engine=engine).fit(as_tensors(sample.views))
    here = model(**given, engine=engine).fit(sample.views)
    np.testing.assert_array_equal(there.labels_, here.labels_)
    np.testing.assert_allclose(there.embedding_, here.embedding_, atol=1e-9)


@pytest.mark.filterwarnings("ignore:View 'view_0' is dominated")
@pytest.mark.parametrize("engine", ["numba", "torch"])
@pytest.mark.parametrize("effort", ["low", "high"])
def test_fits_are_the_same_as_of_arrays(on_device, engine, effort):
    sample = data(missing=0.1) if effort == "low" else data()
    given = {"n_clusters": 3, "effort": effort, "engine": engine, "random_state": 0, "scale": "auto"}
    views = {name: array.copy() for name, array in sample.views.items()}
    views["view_0"][:, 0] *= 1e4
    mask = sample.mask if effort == "low" else None
    there = DistanceGraphFusion(**given).fit(Views(as_tensors(views), mask=mask))
    here = DistanceGraphFusion(**given).fit(Views(views, mask=mask))
    np.testing.assert_array_equal(there.labels_, here.labels_)


def test_results_of_methods_are_as_the_input(on_device):
    sample, model = (
        data(),
        DistanceGraphFusion(n_clusters=3, engine=TorchEngine(device="cpu"), random_state=0),
    )
    tensors = as_tensors(sample.views)
    labels = model.fit_predict(list(tensors.values()))
    assert isinstance(labels, torch.Tensor) and labels.device == tensors["view_0"].device
    np.testing.assert_array_equal(labels.numpy(), model.labels_)
    assert isinstance(model.labels_, np.ndarray) and sparse.issparse(model.graph_)
    model.fit(tensors)
    proba = model.predict_proba(tensors)
    assert isinstance(proba, torch.Tensor) and isinstance(model.predict(tensors), torch.Tensor)
    np.testing.assert_allclose(proba.numpy(), model.predict_proba(sample.views), atol=1e-9)
    mixed = {**tensors, "view_0": sample.views["view_0"]}
    assert isinstance(model.fit_predict(mixed), np.ndarray)
    assert isinstance(model.fit_predict(sample.views), np.ndarray)


def test_prediction_on_a_device_copies_nothing_through_this_memory(on_device, nothing_comes_here):
    sample = data()
    tensors = as_tensors(sample.views)
    model = DistanceGraphFusion(n_clusters=3, effort="low", engine=TorchEngine(device="cpu"), random_state=0)
    model.fit({name: x[:250] for name, x in tensors.items()})
    found = model.predict({name: x[250:] for name, x in tensors.items()})
    here = model.predict({name: x[250:] for name, x in sample.views.items()})
    np.testing.assert_array_equal(found.numpy(), here)


def test_new_samples_that_do_not_fit_are_refused_in_the_same_words(on_device):
    sample = data()
    model = DistanceGraphFusion(n_clusters=3, effort="low", engine=TorchEngine(device="cpu"), random_state=0)
    model.fit(as_tensors(sample.views))
    with pytest.raises(ValueError, match="at fit there were"):
        model.predict({"view_0": torch.ones((2, 1))})


def test_a_model_can_be_saved_copied_and_pickled(on_device, tmp_path):
    sample = data()
    engine = TorchEngine(device="cpu")
    model = DistanceGraphFusion(n_clusters=3, effort="low", engine=engine, random_state=0)
    model.fit(as_tensors(sample.views))
    expected = model.predict(sample.views)
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(other.predict(sample.views), expected)
    model.set_params(engine="torch")
    loaded = consilience.load(model.save(tmp_path / "fit.consilience"))
    np.testing.assert_array_equal(loaded.set_params(engine="numba").predict(sample.views), expected)


def test_shared_views_and_diagnoses_take_them(on_device):
    sample = data(120)
    shared = consilience.models.SharedViews(as_tensors(sample.views))
    DistanceGraphFusion(n_clusters=3, random_state=0).fit(shared)
    help_found = does_fusion_help(as_tensors(sample.views), 3, random_state=0)
    assert help_found.verdict == does_fusion_help(sample.views, 3, random_state=0).verdict
    assert isinstance(consilience.prepare_views(as_tensors(sample.views), 3).arrays[0], np.ndarray)
    alone = ConcatenatedSpectral(n_clusters=3, random_state=0)
    assert alone.fit_predict(as_tensors(sample.views)).tolist() == alone.fit(sample.views).labels_.tolist()
