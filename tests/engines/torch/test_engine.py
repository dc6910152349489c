"""The engine of PyTorch as a whole: its device, errors in one line, fits next to those of the default."""

import copy
import pickle
import weakref

import numpy as np
import pytest
from sklearn.base import clone

torch = pytest.importorskip("torch", reason="needs the extra 'gpu': consilience[gpu]")

from consilience import DistanceGraphFusion, SimilarityGraphFusion, Views, ampute, load, load_digits_views
from consilience.engines import get_engine
from consilience.engines.torch import TorchEngine
from consilience.engines.torch import device as devices
from consilience.engines.torch.device import Device
from consilience.metrics import ari
from consilience.models import AverageGraph, SharedViews
from consilience.spaces import Space
from consilience.stages.prepare import prepare

WITHOUT_GPU = pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")


def few(n=300):
    views, _ = load_digits_views(return_X_y=True)
    return {name: views[name][:n] for name in ("fourier", "profiles", "karhunen", "zernike")}


def test_the_engine_has_a_device_and_a_name():
    engine = TorchEngine(device="cpu")
    assert get_engine("torch").name == engine.name == "torch"
    assert copy.deepcopy(engine) == engine == pickle.loads(pickle.dumps(engine))
    assert clone(DistanceGraphFusion(engine=engine)).engine == engine


@pytest.mark.parametrize(
    ("name", "match"),
    [
        ("abacus", "There is no device 'abacus'; use 'auto', 'cpu', 'cuda'"),
        ("meta", "There is no device 'meta'"),
        (3.5, "There is no device 3.5"),
    ],
)
def test_unknown_devices_are_refused(name, match):
    with pytest.raises(ValueError, match=match):
        TorchEngine(device=name)


@pytest.mark.parametrize("dtype", ["float16", "int32", 3, None, torch.bfloat16, np.float16])
def test_unknown_precisions_are_refused(dtype):
    with pytest.raises(ValueError, match="dtype must be 'auto', 'float32' or 'float64', got"):
        TorchEngine(device="cpu", dtype=dtype)


@pytest.mark.parametrize("dtype", ["float32", torch.float32, np.float32, "float64", torch.float64, "auto"])
def test_weights_have_the_precision_asked_for(dtype):
    views, given = few(), {"n_clusters": 10, "n_neighbors": 10, "random_state": 0, "effort": "low"}
    engine = TorchEngine(device="cpu", dtype=dtype)
    model = DistanceGraphFusion(**given, engine=engine).fit(views)
    single = str(dtype).endswith("float32") or dtype is np.float32
    assert model.consistent_.dtype == (np.float32 if single else np.float64)
    assert engine != TorchEngine(device="cpu", dtype="float64" if single else "float32")
    default = DistanceGraphFusion(**given).fit(views)
    assert ari(model.labels_, default.labels_) > 0.99
    np.testing.assert_allclose(model.history_, default.history_, rtol=1e-4 if single else 1e-9)


@WITHOUT_GPU
def test_a_gpu_that_is_not_there_is_refused():
    with pytest.raises(ValueError, match=r"There is no GPU that PyTorch .* device='cpu' works without"):
        TorchEngine(device="cuda")


def test_a_gpu_of_another_number_is_refused(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    with pytest.raises(ValueError, match="There are 2 GPUs, 'cuda:0' to 'cuda:1'; there is no 'cuda:7'"):
        TorchEngine(device="cuda:7")


def test_work_that_does_not_fit_is_refused(monkeypatch):
    monkeypatch.setattr(Device, "free_bytes", lambda self: 1 << 20)
    with pytest.raises(MemoryError, match=r"View 'x' needs about 8\.0 MiB on cpu, where 1\.0 MiB"):
        Device.of("cpu").require(8 << 20, "View 'x'", "Take less.")


def test_a_fit_that_does_not_fit_is_refused_before_it_begins(monkeypatch):
    monkeypatch.setattr(Device, "free_bytes", lambda self: 1 << 20)
    monkeypatch.setattr(TorchEngine, "place", lambda self, space: pytest.fail("it began"))
    model = DistanceGraphFusion(n_clusters=3, engine=TorchEngine("cpu"))
    with pytest.raises(
        MemoryError, match=r"DistanceGraphFusion on 300 samples and 4 views needs about .* on "
    ):
        model.fit(few())


def test_memory_that_runs_out_is_one_line(monkeypatch):
    def run_out(*_):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB and so on.")

    monkeypatch.setattr("consilience.engines.torch.rounds.dca_round", run_out)
    model = DistanceGraphFusion(n_clusters=3, engine=TorchEngine("cpu"))
    with pytest.raises(MemoryError, match="The memory of cpu is used up") as caught:
        model.fit(few(60))
    assert "\n" not in str(caught.value) and not hasattr(model, "labels_")


@pytest.mark.parametrize(
    "said",
    [
        "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`\nand so on",
        "CUDA error: out of memory",
    ],
)
def test_libraries_of_cuda_say_it_in_other_words(monkeypatch, said):
    def run_out(*_):
        raise RuntimeError(said)

    monkeypatch.setattr("consilience.engines.torch.rounds.dca_round", run_out)
    with pytest.raises(MemoryError, match="The memory of cpu is used up") as caught:
        DistanceGraphFusion(n_clusters=3, engine=TorchEngine("cpu")).fit(few(60))
    assert "\n" not in str(caught.value)


def test_other_errors_stay_as_they_are(monkeypatch):
    def fail(*_):
        raise RuntimeError("something else")

    monkeypatch.setattr("consilience.engines.torch.rounds.dca_round", fail)
    with pytest.raises(RuntimeError, match="something else"):
        DistanceGraphFusion(n_clusters=3, engine=TorchEngine("cpu")).fit(few(60))


def test_an_error_does_not_hold_the_memory_of_the_device():
    held = []

    def work():
        tensor = torch.zeros(10)
        held.append(weakref.ref(tensor))
        raise torch.OutOfMemoryError("CUDA out of memory.")

    with pytest.raises(MemoryError) as caught, Device.of("cpu").explained():
        work()
    assert caught.value is not None and held[0]() is None


def test_half_precision_around_a_search_changes_nothing():
    rng = np.random.default_rng(0)
    groups = rng.normal(size=(20, 64))[np.arange(800) % 20] + 1e-3 * rng.normal(size=(800, 64))
    engine, oracle = TorchEngine("cpu"), get_engine("numpy")
    space = Space("x", groups, "euclidean")
    expected = oracle.nearest(oracle.place(space), 10).lists
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = engine.fetch(engine.nearest(engine.place(space), 10).lists)
    np.testing.assert_array_equal(found, expected)


def test_shared_views_are_placed_for_each_device(monkeypatch):
    shared = SharedViews(Views(few(60)))
    one, other = TorchEngine("cpu"), TorchEngine("cpu", dtype="float32")
    for engine in (one, other, one):
        shared.prepare_by(prepare, ("euclidean",) * 4, "none", engine=engine)
    assert len(shared._prepared) == 2


def test_more_members_of_lists_than_can_be_sorted_are_refused(monkeypatch):
    monkeypatch.setattr("consilience.engines.torch.edges._MOST_MEMBERS", 1000)
    with pytest.raises(ValueError, match="60 samples with 40 neighbours in all views together are more than"):
        DistanceGraphFusion(n_clusters=3, n_neighbors=10, engine=TorchEngine("cpu")).fit(few(60))


@pytest.mark.parametrize("missing", [0.0, 0.25], ids=["complete", "missing samples"])
@pytest.mark.parametrize("solver", ["dca", "exact"])
@pytest.mark.parametrize("system", [SimilarityGraphFusion, DistanceGraphFusion, AverageGraph])
def test_fits_are_those_of_the_default_engine(system, solver, missing, tmp_path):
    if system is AverageGraph and solver == "exact":
        return
    views = ampute(Views(few()), missing, random_state=0) if missing else Views(few())
    given = {"n_clusters": 5, "random_state": 0, "effort": "medium"}
    if system is AverageGraph:
        del given["effort"]
    else:
        given["solver"] = solver
    default = system(**given).fit(views)
    model = system(**given, engine=TorchEngine("cpu")).fit(views)
    np.testing.assert_array_equal(model.labels_, default.labels_)
    np.testing.assert_allclose(model.graph_.toarray(), default.graph_.toarray(), atol=1e-12)
    new = {
        name: array[300:350] for name, array in load_digits_views(return_X_y=True)[0].items() if name in few()
    }
    np.testing.assert_allclose(model.predict_proba(new), default.predict_proba(new), atol=1e-9)
    loaded = load(system(**given, engine="torch").fit(views).save(tmp_path / "fit"))
    assert loaded.engine == "torch"
    np.testing.assert_allclose(loaded.predict_proba(new), default.predict_proba(new), atol=1e-9)


def test_descriptions_are_those_of_the_default_engine():
    default, model = (
        DistanceGraphFusion(n_clusters=5, random_state=0, engine=engine).fit(few())
        for engine in ("numba", "torch")
    )
    np.testing.assert_array_equal(model.labels_, default.labels_)
    np.testing.assert_allclose(model.graph_.toarray(), default.graph_.toarray(), atol=1e-12)


def test_two_fits_have_the_same_bits():
    given = {"n_clusters": 5, "engine": "torch", "effort": "medium", "random_state": 0}
    fits = (SimilarityGraphFusion(**given).fit(few()) for _ in "ab")
    one, other = fits
    assert one.graph_.data.tobytes() == other.graph_.data.tobytes()
    assert one.embedding_.tobytes() == other.embedding_.tobytes()


@pytest.mark.long
def test_many_samples_by_regions_and_blocks(monkeypatch):
    from consilience import make_multiview

    sample = make_multiview(26_000, n_views=3, n_clusters=6, separation=5.0, random_state=0)
    monkeypatch.setitem(devices._BLOCK_BYTES, "cpu", 1 << 22)
    model = DistanceGraphFusion(
        n_clusters=6, engine=TorchEngine("cpu"), neighbor_search="approximate", effort="low", random_state=0
    ).fit(sample.views)
    assert ari(sample.y, model.labels_) > 0.99
    assert all(one.search == "approximate" and one.recall >= 0.9 for one in model.neighbor_searches_)
