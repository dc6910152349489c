"""Features on disk: mapped arrays go through fit and predict without being copied as a whole."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from consilience import DistanceGraphFusion, SimilarityGraphFusion, Views, make_multiview
from consilience.io.readers import read_views

DIMENSIONS = (64, 32, 128)


def data(n=240, dtype=np.float32):
    sample = make_multiview(n, n_views=2, n_clusters=3, separation=4.0, random_state=0)
    return [np.ascontiguousarray(view, dtype=dtype) for view in sample.views.values()]


def mapped(folder, arrays, mode="r"):
    for i, array in enumerate(arrays):
        np.save(folder / f"{i}.npy", array)
    return [np.load(folder / f"{i}.npy", mmap_mode=mode) for i in range(len(arrays))]


def fit(views):
    return DistanceGraphFusion(n_clusters=3, random_state=0, n_jobs=1).fit(views)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_map_is_used_as_it_is(tmp_path, dtype):
    maps = mapped(tmp_path, data(dtype=dtype))
    for array, map_ in zip(Views(maps).arrays, maps, strict=True):
        assert np.shares_memory(array, map_) and array.dtype == dtype and not array.flags.writeable


@pytest.mark.parametrize(
    "make, dtype",
    [
        (np.asfortranarray, np.float32),
        (lambda x: x.astype(">f4"), np.float32),
        (lambda x: x.astype(">f8"), np.float64),
        (lambda x: np.round(10 * x).astype(np.int16), np.float64),
        (lambda x: x.astype(np.float16), np.float64),
        (lambda x: x > 0, np.float64),
    ],
)
def test_a_map_of_another_form_is_converted(tmp_path, make, dtype):
    arrays = [make(array) for array in data()]
    for array, original in zip(Views(mapped(tmp_path, arrays)).arrays, arrays, strict=True):
        assert array.dtype == dtype and array.dtype.isnative and array.flags.c_contiguous
        np.testing.assert_array_equal(array, original)


def test_maps_give_what_arrays_give(tmp_path):
    arrays = data()
    model, other = fit(arrays), fit(mapped(tmp_path, arrays))
    np.testing.assert_array_equal(model.labels_, other.labels_)
    np.testing.assert_array_equal(model.embedding_, other.embedding_)
    assert (model.graph_ != other.graph_).nnz == 0
    assert model.data_fingerprint_ == other.data_fingerprint_


def test_missing_samples_and_rescaled_features_on_a_map(tmp_path):
    arrays = data()
    arrays[0][5] = np.nan
    arrays[1][:, 2] *= 1e4
    before = [array.copy() for array in arrays]
    maps = mapped(tmp_path, arrays)
    with pytest.warns(UserWarning, match="dominated"):
        model = SimilarityGraphFusion(n_clusters=3, random_state=0).fit(arrays)
    with pytest.warns(UserWarning, match="dominated"):
        other = SimilarityGraphFusion(n_clusters=3, random_state=0).fit(maps)
    np.testing.assert_array_equal(model.labels_, other.labels_)
    for map_, array in zip(maps, before, strict=True):
        np.testing.assert_array_equal(map_, array)


def test_new_samples_on_a_map_are_placed_in_blocks(tmp_path, monkeypatch):
    arrays = data(300)
    model = fit([array[:200] for array in arrays])
    new = [array[200:] for array in arrays]
    expected = model.predict_proba(new)
    monkeypatch.setattr("consilience.models.prediction._BLOCK", 17)
    np.testing.assert_array_equal(model.predict_proba(mapped(tmp_path, new)), expected)


def test_a_map_of_nan_and_infinity_is_refused(tmp_path):
    arrays = data()
    arrays[1][100, 3] = np.inf
    with pytest.raises(ValueError, match="view 'view_1', row 100, column 3 holds infinity"):
        Views(mapped(tmp_path, arrays))
    arrays[1][100, 3] = np.nan
    with pytest.raises(ValueError, match="view 'view_1', row 100, column 3 holds NaN"):
        fit(mapped(tmp_path, arrays))


def test_a_path_is_no_view_and_the_message_names_what_reads_it(tmp_path):
    np.save(tmp_path / "rna.npy", data()[0])
    for path in (tmp_path / "rna.npy", str(tmp_path / "rna.npy")):
        with pytest.raises(ValueError, match=r"files are read by consilience\.io\.readers\.read_views"):
            fit({"rna": path})
        assert fit(read_views({"rna": path}).views).view_names_.tolist() == ["rna"]


CHECKS = """
import sys
from pathlib import Path

import numpy as np

from consilience import DistanceGraphFusion, Views
from consilience.engines import get_engine, numba
from consilience.models.given import forms_of
from consilience.spaces.space import check_range
from consilience.stages.prepare import make_space


def status(what):
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith(what + ":"))


def check(maps):
    views = Views(maps)
    settings = model._resolve(views, engine)
    for i, metric in enumerate(settings.metrics):
        make_space(views, i, metric, "auto", engine)
        check_range(views.arrays[i], metric, "")
    forms_of(views, settings.metrics)
    return views.fingerprint()


engine = get_engine("numba")
model = DistanceGraphFusion(n_clusters=20, n_neighbors=10)
maps = [np.load(path, mmap_mode="r") for path in sys.argv[2:]]
numba.MANY_ENTRIES = 0
check([map_[:1000] for map_ in maps])  # compiled, and whatever is imported late
total = sum(float(map_.sum()) for map_ in maps)  # the maps are resident: from here, growth is what is taken
before = status("VmRSS")
if sys.argv[1] == "copied":
    maps = [np.array(map_) for map_ in maps]
check(maps)
print(status("VmHWM") - before)
"""


@pytest.fixture(scope="module")
def large_files(tmp_path_factory):
    folder, rng = tmp_path_factory.mktemp("large"), np.random.default_rng(0)
    for d in DIMENSIONS:
        np.save(folder / f"{d}.npy", rng.standard_normal((200_000, d), dtype=np.float32))
    yield [folder / f"{d}.npy" for d in DIMENSIONS]
    for d in DIMENSIONS:
        (folder / f"{d}.npy").unlink()


def grown(how, files):
    """Return by how many bytes a fresh process grew over the checks of a fit."""
    command = [sys.executable, "-c", CHECKS, how, *map(str, files)]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system does not report peak memory")
def test_the_checks_of_a_fit_take_a_fraction_of_the_data(large_files):
    """At most one byte for each entry, which has four; one copy would be noticed by the same measure."""
    n_entries = 200_000 * sum(DIMENSIONS)
    assert grown("mapped", large_files) < n_entries
    assert grown("copied", large_files) > 3 * n_entries
