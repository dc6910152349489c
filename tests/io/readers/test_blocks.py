"""Files of many rows: mapped, or read in blocks into one array."""

import json
import logging
import pickle
import tempfile
import tracemalloc

import numpy as np
import pytest

from consilience import DistanceGraphFusion, Views
from consilience.cli import main
from consilience.io.readers import FileError, arrays, parquet, read_labels, read_views, zarr_array
from consilience.run import memory
from consilience.run.config import config_context

EXTRA = "the extra `files` is not installed: pip install 'consilience[files]'"
A = np.random.default_rng(0).normal(size=(1000, 20)).astype(np.float32)


def module(name):
    return pytest.importorskip(name, reason=EXTRA)


def put_zarr(path, array=A, **options):
    zarr = module("zarr")
    options = {"chunks": (128, array.shape[-1]), **options}
    stored = zarr.create_array(path, shape=array.shape, dtype=array.dtype, **options)
    stored[...] = array
    return path


def put_parquet(path, columns, **options):
    pa, pq = module("pyarrow"), module("pyarrow.parquet")
    pq.write_table(pa.table(columns), path, **options)
    return path


def told(path, **options):
    with pytest.raises(FileError) as caught:
        read_views(path, **options)
    text = str(caught.value)
    assert path.name in text and "\n" not in text
    return text


def peak(read):
    """Return what a function returns, and the most bytes that it took at a time."""
    tracemalloc.start()
    try:
        result = read()
        return result, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


# ---- .npy


def test_a_map_may_be_of_any_size_unless_it_must_be_converted(tmp_path, monkeypatch):
    monkeypatch.setattr(arrays, "MAPPED", 1)
    np.save(tmp_path / "a.npy", A)
    (values,) = read_views(tmp_path / "a.npy", max_bytes=900).views.arrays
    np.testing.assert_array_equal(values, A)
    for other in (np.asfortranarray(A), A.astype(">f4"), A.astype(np.int8)):
        np.save(tmp_path / "b.npy", other)
        assert "max_bytes allows 900 bytes" in told(tmp_path / "b.npy", max_bytes=900)


def test_a_mapped_file_is_checked_without_copies(tmp_path, monkeypatch):
    monkeypatch.setattr(arrays, "MAPPED", 1)
    large = np.tile(A, (50, 1))
    np.save(tmp_path / "a.npy", large)
    _, taken = peak(lambda: read_views(tmp_path / "a.npy"))
    assert taken < 0.1 * large.nbytes
    large[40_000] = (
        np.nan
    )  # a sample that was not seen: zeros are written for it, so there is a copy, but one
    np.save(tmp_path / "b.npy", large)
    views, taken = peak(lambda: read_views([tmp_path / "a.npy", tmp_path / "b.npy"]).views)
    assert np.flatnonzero(~views.mask[:, 1]).tolist() == [40_000]
    assert taken < 1.2 * large.nbytes


@pytest.mark.parametrize("array, words", [(A[0], "1-D"), (A.reshape(10, 100, 20), "3-D"), (A[:0], "empty")])
def test_npy_that_is_no_table(tmp_path, array, words):
    np.save(tmp_path / "a.npy", array)
    assert words in told(tmp_path / "a.npy")


# ---- Zarr


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"zarr_format": 2},
        {"shards": (512, 20)},
        {"chunks": (60, 7)},
        {"chunks": (1000, 20)},
        {"compressors": None},
        {"zarr_format": 2, "order": "F"},
    ],
)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int16", ">f4", "bool"])
def test_zarr(tmp_path, monkeypatch, options, dtype):
    monkeypatch.setattr(zarr_array, "BLOCK", 3000)
    array = (10 * A).astype(dtype)
    found = read_views(put_zarr(tmp_path / "text.zarr", array, **options))
    assert found.views.names == ("text",) and found.views.sample_ids is None
    (values,) = found.views.arrays
    assert values.dtype == (np.float32 if array.dtype.itemsize == 4 else np.float64)
    np.testing.assert_array_equal(values, array)


def test_zarr_takes_the_array_and_some_chunks(tmp_path, monkeypatch):
    monkeypatch.setattr(zarr_array, "BLOCK", 40_000)
    large = np.tile(A, (50, 1))
    path = put_zarr(tmp_path / "a.zarr", large, chunks=(1000, 20))
    read_views(path)  # imports
    _, taken = peak(lambda: read_views(path))
    assert taken < 1.3 * large.nbytes


def test_an_array_in_a_zarr_group(tmp_path):
    zarr = module("zarr")
    group = zarr.create_group(tmp_path / "cells.zarr")
    group.create_array("rna", shape=A.shape, dtype=A.dtype)[...] = A
    found = read_views([tmp_path / "cells.zarr" / "rna"])
    np.testing.assert_array_equal(found.views["rna"], A)
    text = told(tmp_path / "cells.zarr")
    assert "a Zarr group, not an array" in text and "cells.zarr/rna" in text
    assert "no such array; did you mean 'rna'?" in told(tmp_path / "cells.zarr" / "rnb")


def test_zarr_that_is_no_table(tmp_path):
    assert "1-D" in told(put_zarr(tmp_path / "a.zarr", A[:, 0], chunks=(100,)))
    assert "3-D" in told(put_zarr(tmp_path / "b.zarr", A.reshape(10, 100, 20), chunks=(5, 100, 20)))
    assert "complex" in told(put_zarr(tmp_path / "c.zarr", A.astype(np.complex64)))
    assert "max_bytes" in told(put_zarr(tmp_path / "d.zarr"), max_bytes=1000)
    assert "unpacks to" in told(put_zarr(tmp_path / "e.zarr", A[:1], chunks=(10_000, 20)), max_bytes=10_000)


def test_what_is_named_zarr_and_is_none(tmp_path):
    assert "there is no such file" in told(tmp_path / "a.zarr")
    (tmp_path / "b.zarr").mkdir()
    assert "holds no Zarr array" in told(tmp_path / "b.zarr")
    (tmp_path / "c.zarr").write_bytes(b"PK\x03\x04")
    assert "a Zarr array is a folder" in told(tmp_path / "c.zarr")
    (tmp_path / "b.zarr" / "zarr.json").write_text("[1")
    assert "its zarr.json cannot be read" in told(tmp_path / "b.zarr")
    (tmp_path / "b.zarr" / "zarr.json").write_text("[1]")
    assert "its zarr.json cannot be read" in told(tmp_path / "b.zarr")
    with pytest.raises(FileError, match="labels are read from"):
        read_labels(tmp_path / "b.zarr")


@pytest.mark.parametrize("kind", ["float32", "object"])
def test_zarr_never_opens_a_pickle(tmp_path, kind):
    """Format 2 has a codec that does: it is refused before Zarr looks at the array."""
    harm = tmp_path / "harm"

    class Bomb:
        def __reduce__(self):
            return open, (str(harm), "w")

    path = tmp_path / "a.zarr"
    path.mkdir()
    about = {"zarr_format": 2, "shape": [2, 2], "chunks": [2, 2], "order": "C", "fill_value": 0}
    about |= {
        "dtype": "<f4" if kind == "float32" else "|O",
        "compressor": None,
        "filters": [{"id": "pickle"}],
    }
    (path / ".zarray").write_text(json.dumps(about))
    (path / "0.0").write_bytes(pickle.dumps(Bomb()))
    assert "packed by 'pickle'" in told(path) and not harm.exists()
    nested = [{"name": "sharding_indexed", "configuration": {"codecs": [{"name": "strange"}]}}]
    for codecs in (["strange"], [{"name": "strange"}], nested):
        (path / "zarr.json").write_text(json.dumps({"node_type": "array", "codecs": codecs}))
        assert "packed by 'strange'" in told(path)


def test_zarr_with_a_damaged_chunk(tmp_path):
    path = put_zarr(tmp_path / "a.zarr")
    chunk = max((one for one in path.rglob("*") if one.is_file() and one.name != "zarr.json"), key=str)
    chunk.write_bytes(b"\x00" * 20)
    assert "damaged Zarr array" in told(path)


def test_entries_of_zarr_are_checked(tmp_path):
    array = A.copy()
    array[700] = np.nan
    assert not read_views([put_zarr(tmp_path / "a.zarr", array), put_zarr(tmp_path / "b.zarr")]).views.mask[
        700, 0
    ]
    array[800, 3] = np.nan
    path = put_zarr(tmp_path / "c.zarr", array)
    assert "row 801, column 4: it holds NaN (a missing value), 1 such in all" in told(path)
    assert np.isnan(read_views([path, tmp_path / "b.zarr"], empty_cells=True).views["c"][800, 3])
    array[900, 5] = np.inf
    assert "row 901, column 6: it holds infinity" in told(
        put_zarr(tmp_path / "d.zarr", array), empty_cells=True
    )


def test_zarr_arrays_themselves_are_views(tmp_path):
    zarr = module("zarr")
    array = zarr.open_array(put_zarr(tmp_path / "a.zarr"), mode="r")
    np.testing.assert_array_equal(Views({"a": array})["a"], A)


# ---- Parquet


@pytest.mark.parametrize("row_group", [97, 1000])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int16", "bool"])
def test_parquet_in_blocks(tmp_path, monkeypatch, row_group, dtype):
    monkeypatch.setattr(parquet, "COLUMNS", 3)
    monkeypatch.setattr(parquet, "ROWS", 10)
    array = (10 * A).astype(dtype)
    columns = {"id": [f"s{i}" for i in range(len(A))], **{f"c{j}": array[:, j] for j in range(20)}}
    found = read_views(put_parquet(tmp_path / "a.parquet", columns, row_group_size=row_group)).views
    assert found["a"].dtype == (np.float32 if dtype == "float32" else np.float64)
    np.testing.assert_array_equal(found["a"], array)
    assert found.sample_ids[[0, 999]].tolist() == ["s0", "s999"]


def test_parquet_takes_the_array_and_a_block(tmp_path):
    pa = module("pyarrow")
    large = np.tile(A, (100, 4))
    path = put_parquet(
        tmp_path / "a.parquet", {f"c{j}": large[:, j] for j in range(80)}, row_group_size=25_000
    )
    read_views(path)  # imports
    pool, own = pa.proxy_memory_pool(pa.default_memory_pool()), pa.default_memory_pool()
    pa.set_memory_pool(pool)
    try:
        views, taken = peak(lambda: read_views(path).views)
    finally:
        pa.set_memory_pool(own)
    assert taken < 1.2 * large.nbytes, "one array for all"
    assert 0 < pool.max_memory() < large.nbytes / 2, "and some columns of one row group"
    np.testing.assert_array_equal(views["a"], large)


def test_parquet_integers_beyond_floats_are_rounded(tmp_path):
    columns = {"a": np.array([2**53 + 1, 1]), "b": np.array([1.0, 2.0])}
    np.testing.assert_array_equal(
        read_views(put_parquet(tmp_path / "a.parquet", columns)).views["a"], [[2.0**53, 1], [1, 2]]
    )


def test_files_join_by_id(tmp_path):
    """A table in another order, with a sample less, beside one with all."""
    columns = {f"c{j}": A[:, j] for j in range(20)}
    ids = np.array([f"s{i:04d}" for i in range(len(A))])
    order = np.random.default_rng(1).permutation(len(A))[1:]
    one = put_parquet(tmp_path / "one.parquet", {"id": ids, **columns})
    other = put_parquet(
        tmp_path / "other.parquet", {"id": ids[order], **{c: v[order] for c, v in columns.items()}}
    )
    views = read_views({"first": one, "second": other}).views
    assert views.names == ("first", "second") and int((~views.mask[:, 1]).sum()) == 1
    seen = views.mask[:, 1]
    np.testing.assert_array_equal(views["first"][seen], views["second"][seen])


# ---- larger than memory


@pytest.mark.parametrize("kind", ["zarr", "parquet"])
def test_more_than_memory_goes_to_a_file_without_a_name(tmp_path, monkeypatch, caplog, kind):
    if kind == "zarr":
        path = put_zarr(tmp_path / "a.zarr")
    else:
        path = put_parquet(tmp_path / "a.parquet", {f"c{j}": A[:, j] for j in range(20)})
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    with caplog.at_level(logging.INFO), config_context(memory_limit=A.nbytes):
        read_views(path)
    assert "go to a temporary file" in caplog.text
    caplog.clear()
    monkeypatch.setattr(memory, "available_bytes", lambda: A.nbytes)
    with caplog.at_level(logging.INFO):
        (values,) = read_views(path).views.arrays
    assert "go to a temporary file" in caplog.text
    base = values
    while base is not None and not isinstance(base, np.memmap):
        base = base.base
    assert isinstance(base, np.memmap) and not list(folder.iterdir())
    np.testing.assert_array_equal(values, A)
    monkeypatch.setattr(tempfile, "tempdir", str(folder / "gone"))
    assert "name a folder on a larger disk with TMPDIR" in told(path)


# ---- all together


def test_the_same_from_every_kind_of_file(tmp_path):
    """Arrays, and each of them in another format, fitted and placed."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 60)
    arrays_ = {
        name: (1.2 * rng.normal(size=(3, d))[y] + rng.normal(size=(180, d))).astype(np.float32)
        for name, d in (("rna", 6), ("image", 5), ("text", 4))
    }
    np.save(tmp_path / "rna.npy", arrays_["rna"])
    image = {f"c{j}": column for j, column in enumerate(arrays_["image"].T)}
    put_parquet(tmp_path / "image.parquet", image)
    put_zarr(tmp_path / "text.zarr", arrays_["text"])
    paths = [tmp_path / "rna.npy", tmp_path / "image.parquet", tmp_path / "text.zarr"]
    views = read_views(paths).views
    model = DistanceGraphFusion(n_clusters=3, random_state=0).fit(arrays_)
    other = DistanceGraphFusion(n_clusters=3, random_state=0).fit(views)
    np.testing.assert_array_equal(model.labels_, other.labels_)
    np.testing.assert_array_equal(model.predict(arrays_), other.predict(views))
    assert main(["cluster", *map(str, paths), "--clusters", "3", "--out", str(tmp_path / "out")]) == 0
    lines = (tmp_path / "out" / "labels.csv").read_text().splitlines()[1:]
    assert [int(line.split(",")[1]) for line in lines] == model.labels_.tolist()


def test_the_command_tells_bad_files_in_one_line(tmp_path, capsys):
    np.save(tmp_path / "a.npy", A)
    for name, words in (("gone.npy", "there is no such file"), ("gone.zarr", "there is no such file")):
        status = main(["cluster", str(tmp_path / "a.npy"), str(tmp_path / name), "--clusters", "2"])
        text = capsys.readouterr().err
        assert status == 2 and words in text and text.count("\n") == 1


def test_zarr_without_the_extra(tmp_path, monkeypatch):
    (tmp_path / "a.zarr").mkdir()
    (tmp_path / "a.zarr" / "zarr.json").write_text(json.dumps({"node_type": "array", "codecs": []}))

    def absent(module, *_):
        raise ImportError(module)

    monkeypatch.setattr("consilience.io.readers.errors.import_module", absent)
    assert "a Zarr array needs zarr: pip install 'consilience[files]'" in told(tmp_path / "a.zarr")
