import gzip
import os
import struct
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import io, sparse

from consilience.io.readers import FileError, ReadViews, read_labels, read_views
from consilience.io.readers.formats import examine
from consilience.io.readers.matlab import load_mat
from consilience.views import Views

EXTRA = "the extra `files` is not installed: pip install 'consilience[files]'"

A = np.array([[1.5, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0], [10.0, 11.0, 12.0]])
B = np.array([[0.0, 1.0], [0.0, 0.0], [2.0, 0.0], [0.0, 3.0]])
GT = np.array([1, 1, 2, 2])


def module(name):
    return pytest.importorskip(name, reason=EXTRA)


def write(path, text, encoding="utf-8"):
    path.write_bytes(text.encode(encoding))
    return path


def cell(*items, column=False):
    array = np.empty((1, len(items)), dtype=object)
    array[0, :] = items
    return array.T if column else array


def check(found, *arrays, names=None, labels=None):
    assert isinstance(found, ReadViews) and isinstance(found.views, Views)
    assert found.views.n_views == len(arrays) == len(found.sources)
    for got, expected in zip(found.views.arrays, arrays, strict=True):
        assert sparse.issparse(got) == sparse.issparse(expected)
        dense = [m.toarray() if sparse.issparse(m) else m for m in (got, expected)]
        np.testing.assert_array_equal(*dense)
    if names is not None:
        assert list(found.views.names) == list(names)
    if labels is None:
        assert found.labels is None
    else:
        assert found.labels.tolist() == list(labels)


# ---- MATLAB 5 to 7


MAT_LAYOUTS = {
    "fea row": {"fea": cell(A, B), "gt": GT[:, None]},
    "fea column": {"fea": cell(A, B, column=True), "gt": GT[None]},
    "X and Y": {"X": cell(A, B), "Y": GT[:, None]},
    "x and truth": {"x": cell(A, B), "truth": GT},
    "unknown name": {"omics": cell(A, B), "labels": GT, "parameters": np.array([[3.0]])},
    "data, samples as columns": {"data": cell(A.T, B.T), "truelabel": cell(GT, GT)},
    "mixed, told by labels": {"data": cell(A.T, B), "label": GT},
    "cells within cells": {"views": cell(cell(A), cell(B)), "y": GT},
    "separate": {"X2": B, "X1": A, "X_mean": np.ones((7, 9)), "gt": GT},
    "plain": {"size": A, "colour": B, "gnd": GT, "k": 3, "idx": np.arange(9)},
    "struct": {"data": {"size": A, "colour": B, "y": GT}},
    "struct around a cell": {"set": {"X": cell(A, B)}, "y": GT},
    "indicator labels": {"X": cell(A, B), "Y": np.array([[1, 0], [1, 0], [0, 1], [0, 1]])},
    "both numbers and names": {"X": cell(A, B), "y": GT, "labels": cell("cat", "dog", "emu")},
    "two equal labellings": {"X": cell(A, B), "gt": GT, "y": GT - 1},
    "other cell": {"fea": cell(A, B), "W": cell(np.eye(4), np.eye(4)), "gt": GT},
}


@pytest.mark.parametrize("compressed", [True, False], ids=["v7", "v6"])
@pytest.mark.parametrize("layout", MAT_LAYOUTS)
def test_mat_layouts(tmp_path, layout, compressed):
    path = tmp_path / "set.MAT"
    io.savemat(path, MAT_LAYOUTS[layout], do_compression=compressed, appendmat=False)
    labels = [0, 0, 1, 1] if layout == "indicator labels" else GT
    check(read_views(path), A, B, labels=labels)


def test_mat_names_and_sources(tmp_path):
    path = tmp_path / "set.mat"
    io.savemat(path, {"fea": cell(A, B)})
    found = read_views(path)
    assert found.views.names == ("fea1", "fea2")
    assert found.sources == (f"{path}: fea{{1}}", f"{path}: fea{{2}}")
    assert found.labels is None and found.views.sample_ids is None
    io.savemat(path, {"fea": cell(A, B), "names": cell("size", "colour")})
    assert read_views(path).views.names == ("size", "colour")


def test_mat_struct_array(tmp_path):
    views = np.empty((1, 2), dtype=[("name", object), ("data", object)])
    views[0, 0], views[0, 1] = ("size", A), ("colour", B)
    io.savemat(tmp_path / "set.mat", {"views": views, "gt": GT})
    found = read_views(tmp_path / "set.mat")
    check(found, A, B, names=["size", "colour"], labels=GT)
    assert found.sources[1].endswith("views{2}.data")


def test_mat_sparse_stays_sparse(tmp_path):
    io.savemat(tmp_path / "set.mat", {"fea": cell(sparse.csc_matrix(A), sparse.csc_matrix(B)), "gt": GT})
    check(read_views(tmp_path / "set.mat"), sparse.csr_array(A), sparse.csr_array(B), labels=GT)
    io.savemat(tmp_path / "turned.mat", {"data": cell(sparse.csc_matrix(A.T), B.T), "gt": GT})
    check(read_views(tmp_path / "turned.mat"), sparse.csr_array(A), B, labels=GT)


def test_mat_orientation(tmp_path):
    def views(**variables):
        io.savemat(tmp_path / "set.mat", variables)
        return [array.shape for array in read_views(tmp_path / "set.mat").views.arrays]

    ones = np.ones
    assert views(X=cell(ones((9, 5)), ones((8, 5)))) == [(5, 9), (5, 8)], "all share the columns"
    assert views(X=cell(ones((9, 5)), ones((5, 8)))) == [(5, 9), (5, 8)], "all share 5"
    assert views(X=cell(ones((9, 5)), ones((9, 5)))) == [(9, 5), (9, 5)], "both agree: rows"
    assert views(X=cell(ones((9, 5)), ones((9, 5))), y=np.arange(5)) == [(5, 9), (5, 9)], "labels decide"
    assert views(X=cell(ones((5, 5)), ones((5, 5))), y=np.arange(5)) == [(5, 5), (5, 5)]
    assert views(X=ones((9, 5)), y=np.arange(5)) == [(5, 9)], "a single matrix"
    assert views(X=ones((9, 5)), Y=2 * ones((9, 3))) == [(9, 5), (9, 3)], "Y is a second view"


@pytest.mark.parametrize("texts", [cell("cat", "cat", "dog", "dog"), np.array(["cat", "cat", "dog", "dog"])])
def test_mat_text_labels(tmp_path, texts):
    io.savemat(tmp_path / "set.mat", {"X": cell(A, B), "labels": texts})
    check(read_views(tmp_path / "set.mat"), A, B, labels=["cat", "cat", "dog", "dog"])


def test_mat_many_labels_per_sample_are_no_labels_and_no_view(tmp_path):
    io.savemat(tmp_path / "set.mat", {"X": cell(A, B), "Y": np.array([[1, 1], [1, 0], [0, 1], [0, 0]])})
    check(read_views(tmp_path / "set.mat"), A, B)


def test_mat_ids(tmp_path):
    io.savemat(tmp_path / "set.mat", {"X": cell(A, B), "ids": cell("a", "b", "c", "d")})
    assert read_views(tmp_path / "set.mat").views.sample_ids.tolist() == ["a", "b", "c", "d"]


def same(got, scipys):
    """Say whether our reader and SciPy's found the same, each in its own words."""
    if sparse.issparse(scipys):
        return got.shape == scipys.shape and (got.toarray() == scipys.toarray()).all()
    if scipys.dtype.names is not None:
        structs = [got] if isinstance(got, dict) else got
        pairs = zip(structs, scipys.ravel(order="F"), strict=True)
        return all(same(one[name], other[name]) for one, other in pairs for name in scipys.dtype.names)
    if scipys.dtype.kind == "O":
        return all(same(one, other) for one, other in zip(got, scipys.ravel(order="F"), strict=True))
    if scipys.dtype.kind == "U":
        return ([got] if isinstance(got, str) else got) == [
            text.rstrip() for text in scipys.ravel()
        ] or not got
    return got.dtype == scipys.dtype and np.array_equal(got, scipys)


@pytest.mark.parametrize("compressed", [True, False])
def test_mat_reader_agrees_with_scipy(tmp_path, compressed):
    kinds = "i1 u1 i2 u2 i4 u4 i8 u8 f4 f8 c16".split()
    variables = {f"a_{kind}": (A - 3 * (kind[0] != "u")).astype(kind) for kind in kinds}
    variables |= {
        "empty": np.ones((0, 3)),
        "one": 5,
        "solid": np.arange(24.0).reshape(2, 3, 4),
        "flag": A > 3,
    }
    variables |= {"text": "naïve ≠ 数", "texts": np.array(["a", "bcd", ""]), "none": ""}
    variables |= {
        "csc": sparse.csc_matrix(B),
        "yes": sparse.csc_matrix(B > 0),
        "zero": sparse.csc_matrix((3, 2)),
    }
    variables |= {"csc_c": sparse.csc_matrix(B * 1j), "cells": cell(A, "x", cell(B), sparse.csc_matrix(A))}
    variables |= {
        "struct": {"a": A, "inner": {"b": "text", "c": cell(B)}},
        "no_cells": np.empty((0, 0), object),
    }
    structs = np.empty((2, 1), dtype=[("name", object), ("data", object)])
    structs[0, 0], structs[1, 0] = ("size", A), ("colour", B)
    variables["structs"] = structs
    path = tmp_path / "set.mat"
    io.savemat(path, variables, do_compression=compressed)
    ours = load_mat(examine(path, 2**30))
    theirs = io.loadmat(path)
    assert set(ours) == set(variables) == {name for name in theirs if not name.startswith("__")}
    for name in variables:
        assert same(ours[name], theirs[name]), name


def test_mat_from_a_big_endian_machine(tmp_path):
    def element(kind, content):
        return struct.pack(">II", kind, len(content)) + content + bytes(-len(content) % 8)

    small = struct.pack(">HH", 2, 1) + b"X1\0\0"  # a small element: size, type and content in 8 bytes
    parts = element(6, struct.pack(">2I", 6, 0)), element(5, struct.pack(">2i", 4, 3)), small
    numbers = element(9, A.T.astype(">f8").tobytes())
    head = b"MATLAB 5.0 MAT-file".ljust(124) + b"\x01\x00MI"
    (tmp_path / "set.mat").write_bytes(head + element(14, b"".join(parts) + numbers))
    check(read_views(tmp_path / "set.mat"), A, names=["X1"])


# ---- MATLAB 7.3


class Mat73:
    """Writes what MATLAB writes: a block of its own in front, everything transposed, cells as references."""

    def __init__(self, path):
        self.h5py = module("h5py")
        self.path = path
        self.file = self.h5py.File(path, "w", userblock_size=512)
        self.refs = self.file.create_group("#refs#")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()
        with open(self.path, "r+b") as file:
            file.write(b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(116) + bytes(8) + b"\x00\x02IM")

    def matrix(self, name, values, group=None):
        values = np.atleast_2d(values)
        data = (group or self.file).create_dataset(name, data=values.T)
        data.attrs["MATLAB_class"] = np.bytes_("double" if values.dtype.kind == "f" else "int64")
        return data

    def text(self, name, text, group=None):
        codes = np.array([[ord(c)] for c in text], dtype=np.uint16)
        data = (group or self.file).create_dataset(name, data=codes)
        data.attrs["MATLAB_class"] = np.bytes_("char")
        return data

    def sparse(self, name, values, group=None):
        csc = sparse.csc_matrix(values)
        data = (group or self.file).create_group(name)
        data.attrs["MATLAB_class"], data.attrs["MATLAB_sparse"] = np.bytes_("double"), np.uint64(csc.shape[0])
        data["jc"] = csc.indptr.astype(np.uint64)
        if csc.nnz:
            data["data"], data["ir"] = csc.data, csc.indices.astype(np.uint64)
        return data

    def add(self, value, name=None, group=None):
        name, group = name or f"r{len(self.refs)}", self.refs if name is None else group
        if isinstance(value, str):
            return self.text(name, value, group)
        return (self.sparse if sparse.issparse(value) else self.matrix)(name, value, group)

    def cell(self, name, *items, group=None, marked=True):
        refs = np.array([[self.add(item).ref] for item in items], dtype=self.h5py.ref_dtype)
        data = (group or self.file).create_dataset(name, data=refs, dtype=self.h5py.ref_dtype)
        if marked:
            data.attrs["MATLAB_class"] = np.bytes_("cell")


def test_mat73_cells(tmp_path):
    with Mat73(tmp_path / "set.mat") as mat:
        mat.cell("fea", A, sparse.csc_matrix(B), sparse.csc_matrix((4, 5)))
        mat.matrix("gt", GT)
    found = read_views(tmp_path / "set.mat")
    check(found, A, sparse.csr_array(B), sparse.csr_array((4, 5)), names=["fea1", "fea2", "fea3"], labels=GT)


def test_mat73_samples_as_columns_and_text_labels(tmp_path):
    with Mat73(tmp_path / "set.mat") as mat:
        mat.cell("data", A.T, B.T)
        mat.cell("labels", "cat", "cat", "dog", "é")
    check(read_views(tmp_path / "set.mat"), A, B, labels=["cat", "cat", "dog", "é"])


def test_mat73_separate_and_struct(tmp_path):
    with Mat73(tmp_path / "plain.mat") as mat:
        mat.add(A, "X1", mat.file)
        mat.add(sparse.csc_matrix(B), "X2", mat.file)
    check(read_views(tmp_path / "plain.mat"), A, sparse.csr_array(B), names=["X1", "X2"])
    with Mat73(tmp_path / "struct.mat") as mat:
        group = mat.file.create_group("data")
        group.attrs["MATLAB_class"] = np.bytes_("struct")
        mat.cell("X", A, B, group=group)
        mat.matrix("y", GT, group)
    check(read_views(tmp_path / "struct.mat"), A, B, labels=GT)
    with Mat73(tmp_path / "array.mat") as mat:
        group = mat.file.create_group("views")
        group.attrs["MATLAB_class"] = np.bytes_("struct")
        mat.cell("data", A, B, group=group, marked=False)
        mat.cell("name", "size", "colour", group=group, marked=False)
    check(read_views(tmp_path / "array.mat"), A, B, names=["size", "colour"])
    assert read_labels(tmp_path / "struct.mat").tolist() == GT.tolist()


def test_mat73_as_h5py_writes_it(tmp_path):
    h5py = module("h5py")
    with h5py.File(tmp_path / "set.mat", "w") as file:
        file["X1"], file["X2"], file["y"] = A.T, B.T, GT
    check(read_views(tmp_path / "set.mat"), A, B, labels=GT)


# ---- NumPy


def test_npz(tmp_path):
    np.savez_compressed(tmp_path / "set.npz", X0=A, X1=B.astype(np.float32), y=GT)
    found = read_views(str(tmp_path / "set.npz"))
    check(found, A, B, names=["X0", "X1"], labels=GT)
    assert found.views["X1"].dtype == np.float32
    np.savez(tmp_path / "named.npz", colour=B, size=A, labels=np.array(["a", "b", "a", "b"]), note="text")
    check(read_views(tmp_path / "named.npz"), B, A, names=["colour", "size"], labels=["a", "b", "a", "b"])
    many = {f"X{i}": np.full((4, 1), i) for i in reversed(range(12))}
    np.savez(tmp_path / "many.npz", **many)
    assert read_views(tmp_path / "many.npz").views.names == tuple(f"X{i}" for i in range(12))
    np.savez(tmp_path / "ids.npz", X0=A, sample_ids=np.array(["a", "b", "c", "d"]), y=GT[:, None])
    found = read_views(tmp_path / "ids.npz")
    check(found, A, labels=GT)
    assert found.views.sample_ids.tolist() == ["a", "b", "c", "d"]


def test_npz_takes_rows_as_samples(tmp_path):
    np.savez(tmp_path / "set.npz", X0=np.ones((5, 3)), X1=np.ones((4, 3)))
    with pytest.raises(FileError, match="X0 is 5 x 3 and X1 is 4 x 3"):
        read_views(tmp_path / "set.npz")


@pytest.mark.parametrize("format", ["csr", "csc", "coo", "bsr", "dia"])
def test_sparse_npz(tmp_path, format):
    sparse.save_npz(tmp_path / "words.npz", sparse.csr_array(B).asformat(format))
    check(read_views(tmp_path / "words.npz"), sparse.csr_array(B), names=["words"])


def test_npy(tmp_path, monkeypatch):
    np.save(tmp_path / "size.npy", np.asfortranarray(A))
    np.save(tmp_path / "flags.npy", B > 0)
    check(read_views([tmp_path / "size.npy", tmp_path / "flags.npy"]), A, B > 0, names=["size", "flags"])
    monkeypatch.setattr("consilience.io.readers.arrays.MAPPED", 1)
    np.save(tmp_path / "large.npy", A)
    found = read_views(tmp_path / "large.npy")
    check(found, A, names=["large"])
    base = found.views.arrays[0]
    while base is not None and not isinstance(base, np.memmap):
        base = base.base
    assert isinstance(base, np.memmap), "a large file is mapped, not copied"


# ---- text


ROWS = "1.5,2,3\n4,5,6\n7,8,9\n10,11,12\n"
TEXTS = {
    "plain": ROWS,
    "header": "a,b,c\n" + ROWS,
    "blank lines": "\n" + ROWS + "\n\n  \n",
    "no newline at the end": ROWS.strip(),
    "mixed line endings": "a,b,c\r\n1.5,2,3\n4,5,6\r\n7,8,9\r10,11,12\r\n",
    "spaces after commas": ROWS.replace(",", ", "),
    "quoted": '"a ""x"", y",b,c\n"1.5","2",3\n' + "4,5,6\n7,8,9\n10,11,12\n",
    "tabs": ROWS.replace(",", "\t"),
    "semicolons": ROWS.replace(",", ";"),
    "bars": ROWS.replace(",", "|"),
    "spaces": ROWS.replace(",", "   ").replace("\n", "  \n "),
    "decimal commas": "a;b;c\n1,5;2;3\n4;5;6,0\n7;8;9\n10;11;12\n",
    "comment above": "# made by hand\n" + ROWS,
    "commented header": "# a,b,c\n" + ROWS,
    "exponents and signs": "+1.5e0,2E0,3.\n4,5,.6e1\n7,8,9\n10,11,12\n",
    "counted columns": "0,1,2\n" + ROWS,
    "pandas, nothing named": ",0,1,2\n0,1.5,2,3\n1,4,5,6\n2,7,8,9\n3,10,11,12\n",
}


@pytest.mark.parametrize("kind", TEXTS)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_text(tmp_path, kind, encoding):
    found = read_views(write(tmp_path / "size.csv", TEXTS[kind], encoding))
    check(found, A, names=["size"])
    assert found.views.sample_ids is None
    assert found.sources == (str(tmp_path / "size.csv"),)


def test_text_packed(tmp_path):
    (tmp_path / "size.csv.gz").write_bytes(gzip.compress(TEXTS["header"].encode()))
    found = read_views(tmp_path / "size.csv.gz")
    check(found, A, names=["size"])
    assert found.views.feature_names[0].tolist() == ["a", "b", "c"]


IDS = {
    "first column": "n,a,b\nx,1,2\ny,3,4\nz,5,6\n",
    "without a header": "x,1,2\ny,3,4\nz,5,6\n",
    "named id": "ID,a,b\nx,1,2\ny,3,4\nz,5,6\n",
    "numbers as names": "id,7157,1956\nx,1,2\ny,3,4\nz,5,6\n",
    "index of pandas": ",a,b\nx,1,2\ny,3,4\nz,5,6\n",
    "row names of R": '"a","b"\n"x",1,2\n"y",3,4\n"z",5,6\n',
    "a hash before the header": "#id\ta\tb\nx\t1\t2\ny\t3\t4\nz\t5\t6\n",
    "a number among them": "n,a,b\nx,1,2\ny,3,4\n7,5,6\n",
}


@pytest.mark.parametrize("kind", IDS)
def test_text_ids(tmp_path, kind):
    views = read_views(write(tmp_path / "v.csv", IDS[kind])).views
    assert views.sample_ids.tolist()[:2] == ["x", "y"]
    assert views.arrays[0].tolist() == [[1, 2], [3, 4], [5, 6]]


def test_text_id_column(tmp_path):
    path = write(tmp_path / "v.csv", "a,key,b\n1,10,2\n3,20,4\n")
    views = read_views(path, id_column="key").views
    assert views.sample_ids.tolist() == [10, 20]
    assert views.feature_names[0].tolist() == ["a", "b"]
    assert views.arrays[0].tolist() == [[1, 2], [3, 4]]
    zeros = read_views(write(tmp_path / "w.csv", "key,b\n007,2\n008,4\n"), id_column="key").views
    assert zeros.sample_ids.tolist() == ["007", "008"], "not numbers: they could not be written back"


def test_text_many_cells_are_exact(tmp_path):
    values = np.random.default_rng(0).normal(size=(2000, 50)) * 10.0 ** np.arange(-25, 25)
    np.savetxt(tmp_path / "v.txt", values, fmt="%.17g")
    np.testing.assert_array_equal(read_views(tmp_path / "v.txt").views.arrays[0], values)


# ---- Parquet and Matrix Market


def test_parquet(tmp_path):
    pa, pq = module("pyarrow"), module("pyarrow.parquet")
    plain = {"a": A[:, 0], "b": A[:, 1].astype(np.int32), "c": A[:, 2].astype(np.float32)}
    pq.write_table(pa.table(plain), tmp_path / "size.parquet")
    found = read_views(tmp_path / "size.parquet")
    check(found, A, names=["size"])
    assert found.views.feature_names[0].tolist() == ["a", "b", "c"]
    pq.write_table(pa.table({"name": list("wxyz"), **plain}), tmp_path / "ids.parquet")
    assert read_views(tmp_path / "ids.parquet").views.sample_ids.tolist() == list("wxyz")
    pq.write_table(pa.table({**plain, "key": [9, 8, 7, 6]}), tmp_path / "key.parquet")
    assert read_views(tmp_path / "key.parquet", id_column="key").views.sample_ids.tolist() == [9, 8, 7, 6]


def test_parquet_by_pandas(tmp_path):
    module("pyarrow")
    frame = pd.DataFrame(A, columns=list("abc"))
    frame.to_parquet(tmp_path / "counted.parquet")
    found = read_views(tmp_path / "counted.parquet")
    check(found, A)
    assert found.views.sample_ids is None
    frame.set_axis(list("wxyz")).to_parquet(tmp_path / "named.parquet")
    found = read_views(tmp_path / "named.parquet")
    check(found, A)
    assert found.views.sample_ids.tolist() == list("wxyz")


def test_parquet_keeps_the_categories_of_pandas(tmp_path):
    module("pyarrow")
    order = ["low", "mid", "high", "never"]
    stage = pd.Categorical(["mid", "low", None, "high"], categories=order, ordered=True)
    ward = pd.Categorical([30, 10, None, 30])
    rank = pd.Categorical([3, 1, 2, 3], ordered=True)
    table = pd.DataFrame({"stage": stage, "ward": ward, "rank": rank, "age": [1.0, 2.0, 3.0, 4.0]})
    table.to_parquet(tmp_path / "clinic.parquet", row_group_size=2)
    found, straight = read_views(tmp_path / "clinic.parquet").views, Views(table)
    assert found.encodings == straight.encodings
    np.testing.assert_array_equal(found.arrays[0], straight.arrays[0])
    assert found.encodings[0].kinds == ("ordinal", "categorical", "ordinal", "numeric")


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_an_index_that_counts_is_ids_beside_files_with_a_part_of_it(tmp_path, kind):
    if kind == "parquet":
        module("pyarrow")
    whole = pd.DataFrame(A, columns=list("abc"))
    files = {"whole": whole, "turned": whole[::-1], "part": whole[1:3]}
    for name, table in files.items():
        path = tmp_path / f"{name}.{kind}"
        table.to_csv(path) if kind == "csv" else table.to_parquet(path)
    views = read_views([tmp_path / f"{name}.{kind}" for name in files]).views
    straight = Views(files)
    assert views.sample_ids.tolist() == straight.sample_ids.tolist()
    np.testing.assert_array_equal(views.mask, straight.mask)
    for ours, theirs in zip(views.arrays, straight.arrays, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert read_views(tmp_path / f"whole.{kind}").views.sample_ids is None
    assert read_views(tmp_path / f"part.{kind}").views.sample_ids.tolist() == [1, 2]


def test_mtx(tmp_path):
    io.mmwrite(tmp_path / "words.mtx", sparse.coo_matrix(B))
    check(read_views(tmp_path / "words.mtx"), sparse.csr_array(B), names=["words"])
    packed = gzip.compress((tmp_path / "words.mtx").read_bytes())
    (tmp_path / "words.mtx.gz").write_bytes(packed)
    check(read_views(tmp_path / "words.mtx.gz"), sparse.csr_array(B), names=["words"])
    io.mmwrite(tmp_path / "dense.mtx", A)
    check(read_views(tmp_path / "dense.mtx"), A)


SQUARE = np.array([[1.0, 2.0, 0.0], [2.0, 0.0, 5.5], [0.0, 5.5, -3.0]])
SKEW = np.array([[0.0, 2.0, 0.0], [-2.0, 0.0, 5.5], [0.0, -5.5, 0.0]])


@pytest.mark.parametrize(
    "values, symmetry", [(A, "general"), (SQUARE, "symmetric"), (SKEW, "skew-symmetric")]
)
@pytest.mark.parametrize("field", ["real", "integer", "pattern"])
@pytest.mark.parametrize("stored", [np.array, sparse.coo_matrix])
def test_mtx_reader_agrees_with_scipy(tmp_path, values, symmetry, field, stored):
    if field == "pattern" and stored is np.array:
        stored = sparse.coo_matrix
    values = stored(values.astype(np.int64) if field == "integer" else values)
    io.mmwrite(tmp_path / "a.mtx", values, comment="a comment", field=field, symmetry=symmetry)
    expected = io.mmread(tmp_path / "a.mtx")
    expected = sparse.csr_array(expected) if sparse.issparse(expected) else expected
    check(read_views(tmp_path / "a.mtx"), expected)


# ---- several files


def test_one_file_per_view(tmp_path):
    np.save(tmp_path / "size.npy", A)
    write(tmp_path / "colour.csv", "0,1\n0,0\n2,0\n0,3\n")
    sparse.save_npz(tmp_path / "words.npz", sparse.csr_array(B))
    found = read_views(tmp_path / name for name in ("size.npy", "colour.csv", "words.npz"))
    check(found, A, B, sparse.csr_array(B), names=["size", "colour", "words"])


def test_names_are_made_unique(tmp_path):
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        np.save(tmp_path / folder / "x.npy", A)
    np.savez(tmp_path / "set.npz", a=A, b=B, y=GT)
    found = read_views([tmp_path / "one" / "x.npy", tmp_path / "two" / "x.npy", tmp_path / "set.npz"])
    check(found, A, A, A, B, names=["x", "x_2", "set.a", "set.b"], labels=GT)


def test_aligned_by_ids(tmp_path):
    one = write(tmp_path / "one.csv", "id,a\nw,1\nx,2\ny,3\nz,4\n")
    two = write(tmp_path / "two.tsv", "id\tb\nz\t40\nw\t10\ny\t30\nx\t20\n")
    np.savez(tmp_path / "three.npz", c=[[3.0], [1], [2], [4]], ids=list("ywxz"), y=[30, 10, 20, 40])
    found = read_views([one, two, tmp_path / "three.npz"])
    assert found.views.sample_ids.tolist() == list("wxyz")
    assert [array.ravel().tolist() for array in found.views.arrays] == [
        [1, 2, 3, 4],
        [10, 20, 30, 40],
        [1, 2, 3, 4],
    ]
    assert found.labels.tolist() == [10, 20, 30, 40]
    assert found.views.feature_names[0].tolist() == ["a"]


def test_a_file_without_ids_beside_one_with_ids_warns(tmp_path):
    one = write(tmp_path / "one.csv", "id,a\nx,1\ny,2\n")
    two = write(tmp_path / "two.csv", "b\n3\n4\n")
    with pytest.warns(UserWarning, match="view 'one' has sample ids, but 'two' has none"):
        found = read_views([one, two])
    assert found.views.sample_ids.tolist() == ["x", "y"]


def test_ids_that_only_some_files_have(tmp_path):
    one = write(tmp_path / "one.csv", "id,a\nx,1\ny,2\nz,3\n")
    two = write(tmp_path / "two.csv", "id,b,c\nw,9,8\nz,7,6\nx,5,4\n")
    views = read_views([one, two]).views
    assert views.sample_ids.tolist() == ["x", "y", "z", "w"]
    assert views.mask.tolist() == [[True, True], [True, False], [True, True], [False, True]]
    assert views["two"].tolist() == [[5, 4], [0, 0], [7, 6], [9, 8]]
    assert views.feature_names[1].tolist() == ["b", "c"]
    inner = read_views([one, two], join="inner").views
    assert inner.sample_ids.tolist() == ["x", "z"] and inner.mask is None


def test_ids_that_are_numbers_in_one_file_and_text_in_the_other(tmp_path):
    one = write(tmp_path / "one.csv", "id,a\n1,1\n2,2\n")
    two = write(tmp_path / "two.csv", "id,b\n2,5\nx,6\n")
    assert read_views([one, two]).views.sample_ids.tolist() == ["1", "2", "x"]


def test_labels_are_joined_with_the_views(tmp_path):
    ids = {"sample_id": np.array(["x", "y"])}
    np.savez(tmp_path / "one.npz", X0=np.eye(2), y=[3, 4], **ids)
    np.savez(tmp_path / "two.npz", X0=np.eye(2), y=[4, 5], sample_id=np.array(["y", "z"]))
    found = read_views([tmp_path / "one.npz", tmp_path / "two.npz"])
    assert found.views.sample_ids.tolist() == ["x", "y", "z"] and found.labels.tolist() == [3, 4, 5]
    np.savez(tmp_path / "two.npz", X0=np.eye(2), sample_id=np.array(["y", "z"]))
    with pytest.warns(UserWarning, match="1 samples have no label"):
        assert read_views([tmp_path / "one.npz", tmp_path / "two.npz"]).labels is None


def test_rows_without_a_value_were_not_seen(tmp_path):
    one = write(tmp_path / "one.csv", "id,a,b\nx,1,2\ny,,NA\nz,3,4\n")
    two = write(tmp_path / "two.csv", "id,c\nx,1\ny,2\nz,3\n")
    np.save(tmp_path / "three.npy", np.array([[1.0, 2.0], [3.0, 4.0], [np.nan, np.nan]]))
    with pytest.warns(UserWarning, match="'three' has none"):
        views = read_views([one, two, tmp_path / "three.npy"]).views
    assert views.mask.tolist() == [[True, True, True], [False, True, True], [True, True, False]]


def test_columns_of_words_are_categories(tmp_path):
    text = "who,sex,age,town\np1,f,30,Rome\np2,m,NA,\np3,f,41,Oslo\n"
    found = read_views(write(tmp_path / "clinic.csv", text), id_column="who").views
    assert found.sample_ids.tolist() == ["p1", "p2", "p3"]
    assert found.encodings[0].kinds == ("categorical", "numeric", "categorical")
    assert found.encodings[0].categories == (("f", "m"), None, ("Oslo", "Rome"))
    np.testing.assert_array_equal(found["clinic"], [[0, 30, 1], [1, np.nan, np.nan], [0, 41, 0]])


def test_empty_cells_if_they_are_asked_for(tmp_path):
    one = write(tmp_path / "one.csv", "id,a,b\nx,1,2\ny,,3\n")
    np.savez(tmp_path / "two.npz", X0=np.array([[1.0, np.nan], [2.0, 3.0]]), sample_id=np.array(["x", "y"]))
    views = read_views([one, tmp_path / "two.npz"], empty_cells=True).views
    assert np.isnan(views.arrays[0][1, 0]) and np.isnan(views.arrays[1][0, 1]) and views.mask is None
    with pytest.raises(FileError, match=r"two\.npz, variable X0, row 1, column 2: it holds NaN"):
        read_views([one, tmp_path / "two.npz"], empty_cells=[True, False])
    with pytest.raises(ValueError, match="one for each of the 2 files"):
        read_views([one, tmp_path / "two.npz"], empty_cells=[True])


def test_parquet_with_words_and_nulls(tmp_path):
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    from pyarrow import parquet

    columns = {
        "id": ["x", "y", "z"],
        "sex": pyarrow.array(["f", None, "m"]).dictionary_encode(),
        "age": [1.5, None, 3.0],
    }
    parquet.write_table(pyarrow.table(columns), tmp_path / "a.parquet")
    parquet.write_table(pyarrow.table({"id": ["x", "y", "z"], "b": [1.0, 2.0, 3.0]}), tmp_path / "b.parquet")
    views = read_views([tmp_path / "a.parquet", tmp_path / "b.parquet"]).views
    assert views.mask[:, 0].tolist() == [True, False, True]
    assert views.encodings[0].categories == (("f", "m"), None)
    np.testing.assert_array_equal(views.arrays[0][[0, 2]], [[0, 1.5], [1, 3]])


# ---- labels


LABELS = {
    "numbers": ("1\n1\n2\n", None, [1, 1, 2]),
    "numbers as floats": ("1.0\n1.0\n2.0\n", None, [1, 1, 2]),
    "header": ("label\n1\n1\n2\n", None, [1, 1, 2]),
    "any header above numbers": ("kind\n1\n1\n2\n", None, [1, 1, 2]),
    "text": ("cat\ncat\nred fox\n", None, ["cat", "cat", "red fox"]),
    "text with a header": ("class\ncat\ncat\ndog\n", None, ["cat", "cat", "dog"]),
    "a class called y": ("y\nn\ny\n", None, ["y", "n", "y"]),
    "header told by the number of samples": ("species\ncat\ncat\ndog\n", "abc", ["cat", "cat", "dog"]),
    "ids": ("id,label\na,1\nb,1\nc,2\n", None, [1, 1, 2]),
    "ids in another order": ("id,label\nc,2\na,1\nb,1\n", "abc", [1, 1, 2]),
    "more ids than samples": ("id,label\nd,4\nc,2\na,1\n", "ac", [1, 2]),
    "ids, no header": ("c,2\na,1\nb,1\n", "abc", [1, 1, 2]),
    "ids second": ("2,c\n1,a\n1,b\n", "abc", [1, 1, 2]),
    "ids second with a header": ("label,sample\n2,c\n1,a\n1,b\n", "abc", [1, 1, 2]),
    "unknown header": ("sample,kind\nc,dog\na,cat\nb,cat\n", "abc", ["cat", "cat", "dog"]),
    "counted by pandas": (",label\n0,x\n1,y\n2,x\n", "abc", ["x", "y", "x"]),
}


@pytest.mark.parametrize("kind", LABELS)
def test_labels_from_text(tmp_path, kind):
    text, ids, expected = LABELS[kind]
    labels = read_labels(write(tmp_path / "y.csv", text), sample_ids=ids)
    assert labels.tolist() == expected
    assert labels.ndim == 1 and labels.dtype.kind in "iU"


def test_labels_by_id_column_and_numbers_as_ids(tmp_path):
    path = write(tmp_path / "y.tsv", "kind\tkey\ncat\t20\ndog\t10\n")
    assert read_labels(path, id_column="key", sample_ids=np.array([10, 20])).tolist() == ["dog", "cat"]


def test_labels_from_arrays(tmp_path):
    np.save(tmp_path / "y.npy", GT[:, None].astype(float))
    assert read_labels(tmp_path / "y.npy").tolist() == GT.tolist()
    np.savez(tmp_path / "set.npz", X0=A, gt=GT, ids=list("wxyz"))
    assert read_labels(tmp_path / "set.npz").tolist() == GT.tolist()
    assert read_labels(tmp_path / "set.npz", sample_ids="zw").tolist() == [2, 1]
    np.savez(tmp_path / "only.npz", whatever=GT)
    assert read_labels(tmp_path / "only.npz").tolist() == GT.tolist()
    io.savemat(tmp_path / "set.mat", {"fea": cell(A, B), "gt": GT})
    assert read_labels(tmp_path / "set.mat").tolist() == GT.tolist()


# ---- real data sets


SETS = {
    "UCI_Digits.mat": (2000, [240, 76, 216, 47, 64, 6], 10),
    "MSRC_v1.mat": (210, [24, 576, 512, 256, 254], 7),
    "BBCSport.mat": (544, [3183, 3203], 5),
    "3Sources.mat": (169, [3560, 3631, 3068], 6),
    "100Leaves.npz": (1600, [64, 64, 64], 100),
    "ORL32.npz": (400, [1024, 383, 720], 40),
    "Cora.npz": (2708, [1433, 2708], 7),
}


@pytest.mark.parametrize("name", SETS)
def test_real_sets(name):
    folder = os.environ.get("CONSILIENCE_DATA")
    if not folder:
        pytest.skip("CONSILIENCE_DATA is not set: it names a folder that is not part of the project")
    found = read_views(Path(folder, name))
    n, features, n_classes = SETS[name]
    assert found.views.n_samples == n == len(found.labels)
    assert list(found.views.n_features) == features
    assert len(set(found.labels.tolist())) == n_classes
    if name == "BBCSport.mat":
        assert all(sparse.issparse(array) for array in found.views.arrays)
