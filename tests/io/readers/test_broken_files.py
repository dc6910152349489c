"""What people meet instead of good files: each kind must be told in one line that names file and place."""

import builtins
import gzip
import importlib
import io as streams
import os
import pickle
import struct
import zipfile
import zlib
from datetime import datetime

import numpy as np
import pytest
from scipy import io, sparse

from consilience.cli import main
from consilience.io.readers import FileError, read_labels, read_views

EXTRA = "the extra `files` is not installed: pip install 'consilience[files]'"
BROKEN, BROKEN_LABELS = [], []
A = np.arange(12.0).reshape(4, 3)


def broken(*words, limit=None, cases=BROKEN, **keywords):
    """Register a function that makes a broken file, with what the error must say."""

    def register(make):
        keywords.update({} if limit is None else {"max_bytes": limit})
        cases.append(pytest.param(make, words, keywords, id=make.__name__))
        return make

    return register


def module(name):
    return pytest.importorskip(name, reason=EXTRA)


def put(folder, name, content):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def npz(folder, name="set.npz", **arrays):
    np.savez(folder / name, **arrays)
    return folder / name


def npy(folder, array, name="view.npy", **keywords):
    np.save(folder / name, array, **keywords)
    return folder / name


def mat(folder, name="set.mat", compress=False, **variables):
    io.savemat(folder / name, variables, do_compression=compress, appendmat=False)
    return folder / name


def cell(*items):
    array = np.empty((1, len(items)), dtype=object)
    array[0, :] = items
    return array


def bytes_of(array, **keywords):
    stream = streams.BytesIO()
    np.save(stream, array, **keywords)
    return stream.getvalue()


class Bomb:
    """Unpickled, it makes a folder: the nearest thing to harm that a test can look for."""

    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return os.mkdir, (str(self.mark),)


# ---- any file


@broken("there is no such file", "digits.csv")
def missing_with_a_similar_name(folder):
    put(folder, "digits.csv", "1,2\n")
    return folder / "digit.csv"


@broken("no such file", "nor the folder")
def missing_folder(folder):
    return folder / "nowhere" / "a.csv"


@broken("folder")
def a_folder(folder):
    (folder / "views").mkdir()
    return folder / "views"


@broken("folder")
def a_folder_named_like_a_file(folder):
    (folder / "views.csv").mkdir()
    return folder / "views.csv"


if hasattr(os, "mkfifo"):  # not on Windows

    @broken("no regular file")
    def a_pipe(folder):
        os.mkfifo(folder / "pipe.csv")
        return folder / "pipe.csv"


@broken("unknown ending '.docx'", ".csv, .tsv, .txt, .mat, .npz, .npy, .parquet, .mtx")
def unknown_ending(folder):
    return put(folder, "data.docx", "1,2\n")


@broken("unknown ending ''")
def no_ending(folder):
    return put(folder, "data", "1,2\n")


@broken("empty")
def empty_csv(folder):
    return put(folder, "a.csv", b"")


@broken("empty")
def empty_mat(folder):
    return put(folder, "a.mat", b"")


@broken("30 bytes", "max_bytes", "10 bytes", limit=10)
def larger_than_allowed(folder):
    return put(folder, "a.csv", "1,2\n3,4\n5,6\n" + "7,8\n" * 4 + "9\n")


@broken("given more than once")
def the_same_file_twice(folder):
    path = put(folder, "a.csv", "1,2\n")
    return [path, folder / "." / "a.csv"]


@broken("escape", "\\x1b")
def a_name_with_an_escape_sequence(folder):
    return folder / "escape\x1b[2J\n.csv"


# ---- content that does not fit the name


@broken("web page")
def html_named_csv(folder):
    return put(folder, "a.csv", "\n<!DOCTYPE html><html><body>404</body></html>")


@broken("PNG")
def png_named_npz(folder):
    return put(folder, "a.npz", b"\x89PNG\r\n\x1a\n" + bytes(50))


@broken("pickle", "never opened")
def pickle_named_npz(folder):
    return put(folder, "a.npz", pickle.dumps(Bomb(folder / "harm")))


@broken("pickle", "never opened")
def pickle_named_npy(folder):
    return put(folder, "a.npy", pickle.dumps(Bomb(folder / "harm")))


@broken("pickle", "never opened")
def pickle_named_mat(folder):
    return put(folder, "a.mat", pickle.dumps(Bomb(folder / "harm")))


@broken("something else")
def old_pickle_named_npz(folder):
    return put(folder, "a.npz", pickle.dumps(Bomb(folder / "harm"), protocol=0))


@broken("zip archive")
def spreadsheet_named_csv(folder):
    with zipfile.ZipFile(folder / "a.csv", "w") as archive:
        archive.writestr("xl/workbook.xml", "<x/>")
    return folder / "a.csv"


@broken(".npy array")
def npy_named_npz(folder):
    return put(folder, "a.npz", bytes_of(A))


@broken("HDF5")
def hdf5_named_npz(folder):
    return put(folder, "a.npz", b"\x89HDF\r\n\x1a\n" + bytes(100))


@broken("MATLAB 4", "-v7")
def text_named_mat(folder):
    return put(folder, "a.mat", "1,2,3\n" * 100)


@broken("something else")
def text_named_parquet(folder):
    return put(folder, "a.parquet", "a,b\n1,2\n")


@broken("something else")
def text_named_mtx(folder):
    return put(folder, "a.mtx", "1 2\n3 4\n")


@broken("Git LFS pointer")
def git_lfs_pointer(folder):
    return put(folder, "a.csv", "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n")


@broken("named .gz", "not packed")
def plain_named_gz(folder):
    return put(folder, "a.csv.gz", "1,2\n")


@broken("zero bytes", "UTF-8")
def binary_named_csv(folder):
    return put(folder, "a.csv", bytes(range(10)) * 10)


# ---- NumPy


@broken("cut short")
def npz_cut_short(folder):
    path = npz(folder, X0=A)
    return put(folder, "set.npz", path.read_bytes()[:-60])


@broken("damaged", "'X0'")
def npz_with_a_flipped_byte(folder):
    path = npz(folder, X0=np.zeros((100, 100)))
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    return put(folder, "set.npz", bytes(content))


@broken("'X0'", "objects", "pickle", "never opened")
def npz_with_objects(folder):
    return npz(folder, X0=np.array([[Bomb(folder / "harm")]], dtype=object))


@broken("objects", "never opened")
def npy_with_objects(folder):
    return npy(folder, np.array([[Bomb(folder / "harm")]], dtype=object), allow_pickle=True)


@broken("unpacks to 7.6 MiB", "1.0 MiB", limit=2**20)
def npz_bomb(folder):
    np.savez_compressed(folder / "set.npz", X0=np.zeros((1000, 1000)))
    return folder / "set.npz"


def _announcing(shape):
    header = repr({"descr": "<f8", "fortran_order": False, "shape": shape}).encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header


@broken("'X0'", "728 TiB", "8.0 GiB")
def npz_whose_header_announces_too_much(folder):
    with zipfile.ZipFile(folder / "set.npz", "w") as archive:
        archive.writestr("X0.npy", _announcing((10**7, 10**7)) + bytes(80))
    return folder / "set.npz"


@broken("728 TiB", "8.0 GiB")
def npy_whose_header_announces_too_much(folder):
    return put(folder, "a.npy", _announcing((10**7, 10**7)) + bytes(80))


@broken("'X0'", "cut short", "800 bytes", "80 bytes")
def npz_array_cut_short(folder):
    with zipfile.ZipFile(folder / "set.npz", "w") as archive:
        archive.writestr("X0.npy", _announcing((10, 10)) + bytes(80))
    return folder / "set.npz"


@broken("cut short", "96 bytes")
def npy_cut_short(folder):
    return put(folder, "a.npy", bytes_of(A)[:-8])


@broken("header cannot be read")
def npy_with_a_broken_header(folder):
    return put(folder, "a.npy", b"\x93NUMPY\x01\x00\x0a\x00{'descr': ")


@broken("header cannot be read")
def npy_with_a_program_as_header(folder):
    header = f"__import__('os').mkdir({str(folder / 'harm')!r})\n".encode()
    return put(folder, "a.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header)


@broken("'archive/data.pkl'", "no NumPy array")
def torch_file_named_npz(folder):
    with zipfile.ZipFile(folder / "set.npz", "w") as archive:
        archive.writestr("archive/data.pkl", pickle.dumps(Bomb(folder / "harm")))
    return folder / "set.npz"


@broken("no array")
def npz_without_arrays(folder):
    return npz(folder)


@broken("3-D", "4 x 2 x 3", "variable images")
def npz_three_dimensional(folder):
    return npz(folder, images=np.ones((4, 2, 3)))


@broken("1-D", "reshape")
def npy_one_dimensional(folder):
    return npy(folder, np.arange(5.0))


@broken("variable X1", "complex")
def npz_complex(folder):
    return npz(folder, X0=A, X1=A + 1j)


@broken("variable X1", "text")
def npz_text(folder):
    return npz(folder, X0=A, X1=A.astype(str))


@broken("datetime64")
def npy_times(folder):
    return npy(folder, np.zeros((3, 2), dtype="datetime64[s]"))


@broken("structured")
def npy_structured(folder):
    return npy(folder, np.zeros(3, dtype=[("a", float), ("b", float)]))


@broken("variable X0, row 2, column 3", "NaN", "1 such")
def npz_nan(folder):
    values = A.copy()
    values[1, 2] = np.nan
    return npz(folder, X0=values)


@broken("row 4, column 1", "infinity")
def npy_infinity(folder):
    values = A.copy()
    values[3, 0] = -np.inf
    return npy(folder, values)


@broken("is empty (0 x 3)")
def npy_without_rows(folder):
    return npy(folder, np.ones((0, 3)))


@broken("no view found", "y_hat (1-D of length 4")
def npz_without_a_matrix(folder):
    return npz(folder, y=np.arange(4), y_hat=np.arange(4))


@broken("different numbers of samples", "X0 is 4 x 3", "X1 is 5 x 3")
def npz_with_different_rows(folder):
    return npz(folder, X0=A, X1=np.ones((5, 3)))


@broken("more than one", "labels: y and gt")
def npz_with_two_labellings(folder):
    return npz(folder, X0=A, y=[0, 0, 1, 1], gt=[0, 1, 0, 1])


@broken("labels do not fit", "4 samples", "y has 5 entries")
def npz_with_too_many_labels(folder):
    return npz(folder, X0=A, y=np.arange(5))


@broken("variable y", "label 2", "0.5")
def npz_with_fractions_as_labels(folder):
    return npz(folder, X0=A, y=[0, 0.5, 1, 1])


@broken("damaged sparse matrix")
def sparse_npz_with_an_index_beyond_its_shape(folder):
    parts = {"format": b"csr", "shape": [2, 2], "data": [1.0], "indices": [99999], "indptr": [0, 1, 1]}
    return npz(folder, **parts)


@broken("damaged sparse matrix")
def sparse_npz_without_its_parts(folder):
    return npz(folder, format=b"csr", shape=[2, 2], data=[1.0])


@broken("max_bytes", "8.0 GiB")
def sparse_npz_with_endless_rows(folder):
    return npz(folder, format=b"coo", shape=[10**12, 2], data=[1.0], row=[0], col=[0])


# ---- MATLAB


@broken("cut short")
def mat_cut_short(folder):
    path = mat(folder, X=cell(A, A))
    return put(folder, "set.mat", path.read_bytes()[:-40])


@broken("damaged MATLAB file")
def mat_packed_with_a_flipped_byte(folder):
    path = mat(folder, compress=True, X=cell(np.random.default_rng(0).normal(size=(50, 9)), A))
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    return put(folder, "set.mat", bytes(content))


@broken("unpacks to 7.6 MiB", "1.0 MiB", limit=2**20)
def mat_bomb(folder):
    return mat(folder, compress=True, X=cell(np.zeros((1000, 1000))))


def element(kind, content, order="<"):
    return struct.pack(f"{order}II", kind, len(content)) + content + bytes(-len(content) % 8)


def matrix(matlab_class, name, *parts, shape=(1, 1)):
    """Return a variable as MATLAB writes it, but for what is in it."""
    dims = [] if shape is None else [element(5, struct.pack("<2i", *shape))]
    head = [element(6, struct.pack("<2I", matlab_class, 0)), *dims, element(1, name.encode())]
    return element(14, b"".join([*head, *parts]))


MAT_HEADER = b"MATLAB 5.0 MAT-file".ljust(116) + bytes(8) + b"\x00\x01IM"
NUMBERS = matrix(6, "", element(9, A.tobytes()), shape=(3, 4))
HANDLE = matrix(16, "", matrix(4, "", element(16, b"@system"), shape=(1, 7)))
OPAQUE = element(1, b"MCOS") + element(1, b"string") + matrix(13, "", element(6, bytes(4)))


@broken("variable X", "a function handle", "not a matrix")
def mat_function_handle(folder):
    return put(folder, "a.mat", MAT_HEADER + matrix(16, "X", HANDLE))


@broken("variable fea{2}", "a function handle", "not a matrix")
def mat_function_handle_in_a_cell(folder):
    return put(folder, "a.mat", MAT_HEADER + matrix(1, "fea", NUMBERS, HANDLE, shape=(1, 2)))


@broken("variable gt", "object of a MATLAB class", "not labels")
def mat_object_as_labels(folder):
    views = matrix(1, "fea", NUMBERS, NUMBERS, shape=(1, 2))
    return put(folder, "a.mat", MAT_HEADER + views + matrix(17, "gt", OPAQUE, shape=None))


@broken("no view found", "people (an object of a MATLAB class")
def mat_object_alone(folder):
    return put(folder, "a.mat", MAT_HEADER + matrix(17, "people", OPAQUE, shape=None))


@broken("damaged MATLAB file", "no room for 4294836225 cells")
def mat_endless_cells(folder):
    return put(folder, "a.mat", MAT_HEADER + matrix(1, "fea", NUMBERS, shape=(65535, 65535)))


@broken("damaged MATLAB file", "nested too deeply")
def mat_cells_within_cells(folder):
    inner = NUMBERS
    for _ in range(100):
        inner = matrix(1, "fea", inner)
    return put(folder, "a.mat", MAT_HEADER + inner)


@broken("variable fea{2}", "text", "matrices only")
def mat_text_in_a_cell(folder):
    return mat(folder, fea=cell(A, "abc"))


@broken("variable X{2}", "3-D")
def mat_three_dimensional(folder):
    return mat(folder, X=cell(A, np.ones((4, 2, 3))))


@broken("variable X{1}", "complex")
def mat_complex(folder):
    return mat(folder, X=cell(A + 1j, A))


@broken("variable X{2}", "empty")
def mat_empty_cell(folder):
    return mat(folder, X=cell(A, np.ones((0, 0))))


@broken("variable X{2}, row 1, column 1", "NaN")
def mat_nan_in_a_sparse_matrix(folder):
    return mat(folder, X=cell(A, sparse.csc_matrix([[np.nan, 1], [0, 0], [0, 1], [0, 0]])))


@broken("no view found", "note (text)", "k (1 x 1")
def mat_without_a_matrix(folder):
    return mat(folder, note="hello", k=3)


@broken("different numbers of samples", "X{1} is 4 x 3", "X{2} is 7 x 5")
def mat_with_nothing_in_common(folder):
    return mat(folder, X=cell(A, np.ones((7, 5))))


@broken("different numbers of samples", "X{1} is 100 x 5", "X{2} is 99 x 5")
def mat_with_a_sample_too_few(folder):
    return mat(folder, X=cell(np.ones((100, 5)), np.ones((99, 5))), gt=np.arange(100))


@broken("more than one cell array", "p and q", "'fea'")
def mat_with_two_cell_arrays(folder):
    return mat(folder, p=cell(A, A), q=cell(A, A))


@broken("more than one", "labels: gt and truth")
def mat_with_two_labellings(folder):
    return mat(folder, X=cell(A, A), gt=[0, 0, 1, 1], truth=[0, 1, 0, 1])


@broken("labels do not fit", "gt has 6 entries")
def mat_with_too_many_labels(folder):
    return mat(folder, X=cell(A, np.ones((4, 2))), gt=np.arange(6))


@broken("variable views{1}", "2 matrices", "p and q")
def mat_struct_with_two_matrices(folder):
    views = np.empty((1, 2), dtype=[("p", object), ("q", object)])
    views[0, 0] = views[0, 1] = (A, A)
    return mat(folder, views=views)


@broken("HDF5", "cut short")
def mat73_cut_short(folder):
    h5py = module("h5py")
    with h5py.File(folder / "set.mat", "w") as file:
        file["X1"] = np.ones((500, 50))
    return put(folder, "set.mat", (folder / "set.mat").read_bytes()[:3000])


@broken("variable X1", "unpacks to 7.6 MiB", "1.0 MiB", limit=2**20)
def mat73_bomb(folder):
    h5py = module("h5py")
    with h5py.File(folder / "set.mat", "w") as file:
        file.create_dataset("X1", data=np.zeros((1000, 1000)), compression="gzip")
    return folder / "set.mat"


@broken("variable X", "link", "not a matrix")
def mat73_link_out_of_the_file(folder):
    h5py = module("h5py")
    with h5py.File(folder / "other.h5", "w") as file:
        file["secret"] = A
    with h5py.File(folder / "set.mat", "w") as file:
        file["X"] = h5py.ExternalLink("other.h5", "secret")
    return folder / "set.mat"


@broken("variable fea{1}", "data kept in another file", "not a matrix")
def mat73_data_out_of_the_file(folder):
    h5py = module("h5py")
    secret = put(folder, "secret.bin", bytes(96))
    with h5py.File(folder / "set.mat", "w") as file:
        outside = file.create_dataset("#refs#/a", (4, 3), dtype="f8", external=[(str(secret), 0, 96)])
        file.create_dataset("fea", data=np.array([outside.ref], dtype=h5py.ref_dtype), dtype=h5py.ref_dtype)
    return folder / "set.mat"


@broken("nested too deeply")
def mat73_cell_that_holds_itself(folder):
    h5py = module("h5py")
    with h5py.File(folder / "set.mat", "w") as file:
        own = file.create_dataset("fea", (1,), dtype=h5py.ref_dtype)
        own[0] = own.ref
    return folder / "set.mat"


@broken("variable X", "damaged sparse matrix")
def mat73_sparse_with_an_index_beyond_its_shape(folder):
    h5py = module("h5py")
    with h5py.File(folder / "set.mat", "w") as file:
        group = file.create_group("X")
        group.attrs["MATLAB_sparse"] = 2
        group["data"], group["ir"], group["jc"] = [1.0], [777], [0, 1, 1]
    return folder / "set.mat"


@broken("variable gt", "object of a class", "not labels")
def mat73_object_as_labels(folder):
    h5py = module("h5py")
    with h5py.File(folder / "set.mat", "w") as file:
        file["X1"], file["X2"], file["gt"] = A.T, A.T, np.arange(6)
        file["gt"].attrs["MATLAB_class"], file["gt"].attrs["MATLAB_object_decode"] = np.bytes_("string"), 3
    return folder / "set.mat"


# ---- text


@broken("line 3, column 2 ('b')", "'abc' is no number")
def csv_text_among_numbers(folder):
    return put(folder, "a.csv", "a,b\n1,2\n3,abc\n")


@broken("line 2, column 1", "'1.5kg' is no number")
def csv_text_without_a_header(folder):
    return put(folder, "a.csv", "1,2\n1.5kg,4\n5,6\n")


@broken("line 1, column 2", "'x' is no number")
def csv_slip_in_the_first_row(folder):
    return put(folder, "a.csv", "1,x,3,4\n5,6,7,8\n")


@broken("line 4", "expected 3 columns but found 2")
def csv_row_too_short(folder):
    return put(folder, "a.csv", "a,b,c\n1,2,3\n\n4,5\n")


@broken("line 2", "expected 2 columns but found 3")
def tsv_row_too_long(folder):
    return put(folder, "a.tsv", "1\t2\n1\t2\t3\n4\t5\n6\t7\n")


@broken("line 1", "'b'", "more than once")
def csv_header_twice(folder):
    return put(folder, "a.csv", "a,b,b\n1,2,3\n")


@broken("line 4", "'x'", "line 2")
def csv_id_twice(folder):
    return put(folder, "a.csv", "id,a\nx,1\ny,2\nx,3\n")


@broken("line 3", "id is empty")
def csv_id_empty(folder):
    return put(folder, "a.csv", "id,a\nx,1\n,2\nz,3\n")


@broken("line 3, column 3 ('b')", "missing")
def csv_cell_empty(folder):
    return put(folder, "a.csv", "id,a,b\nx,1,2\ny,3,\n")


@broken("line 2, column 1 ('a')", "missing", "'NA'")
def csv_cell_na(folder):
    return put(folder, "a.csv", "a,b\nNA,2\n3,4\n")


@broken("line 3, column 2 ('b')", "missing", "'NaN'", "metric gower")
def csv_cell_nan(folder):
    return put(folder, "a.csv", "a,b\n1,2\n3,NaN\n")


@broken("line 2, column 1", "infinite")
def csv_cell_infinite(folder):
    return put(folder, "a.csv", "1,2\n-inf,4\n")


@broken("line 2, column 1", "'1_000' is no number")
def csv_underscores(folder):
    return put(folder, "a.csv", "1,2\n1_000,4\n")


@broken("line 3, column 2", "'2.5'", "decimal mark")
def csv_both_decimal_marks(folder):
    return put(folder, "a.csv", "a;b\n1,5;2\n3;2.5\n")


@broken("line 1, column 2", "'1,5' has a decimal comma", "semicolons")
def tsv_decimal_commas(folder):
    return put(folder, "a.tsv", "s1\t1,5\ns2\t2,5\n")


@broken("line 1, column 3", "missing", "delimiter at the end")
def csv_delimiter_at_the_end(folder):
    return put(folder, "a.csv", "1,2,\n3,4,\n")


@broken("line 3", "quote")
def csv_quote_left_open(folder):
    return put(folder, "a.csv", 'a,b\n1,2\n"3,4\n5,6\n')


@broken("line 2", "byte 0xe9", "UTF-8")
def csv_in_latin_1(folder):
    return put(folder, "a.csv", "id,a\ncafé,1\n".encode("latin-1"))


@broken("UTF-16", "cut short")
def csv_in_utf_16_cut_short(folder):
    return put(folder, "a.csv", "1,2\n3,4\n".encode("utf-16")[:-1])


@broken("zero bytes", "UTF-16")
def csv_in_utf_16_without_its_mark(folder):
    return put(folder, "a.csv", "1,2\n3,4\n".encode("utf-16-le"))


@broken("UTF-32")
def csv_in_utf_32(folder):
    return put(folder, "a.csv", "1,2\n3,4\n".encode("utf-32"))


@broken("header but no row")
def csv_with_a_header_only(folder):
    return put(folder, "a.csv", "a,b\n")


@broken("blank lines")
def csv_of_blanks(folder):
    return put(folder, "a.csv", "\n \n\n")


@broken("no row of data")
def csv_of_comments(folder):
    return put(folder, "a.csv", "# nothing\n# here\n")


@broken("no column of numbers")
def csv_with_ids_only(folder):
    return put(folder, "a.csv", "id\nx\ny\n")


@broken("no column 'key'", "'id' and 'a'", id_column="key")
def csv_without_the_id_column(folder):
    return put(folder, "a.csv", "id,a\nx,1\n")


@broken("line 2", "blank")
def csv_blank_line_in_a_single_column(folder):
    return put(folder, "a.csv", "1\n\n3\n")


@broken("damaged or cut short")
def csv_gz_cut_short(folder):
    return put(folder, "a.csv.gz", gzip.compress(b"1,2\n" * 100000)[:-20])


@broken("unpacked", "1.0 MiB", limit=2**20)
def csv_gz_bomb(folder):
    return put(folder, "a.csv.gz", gzip.compress(b"0" * 2**22))


@broken("would take", "allows 600 KiB", limit=600 * 1024)
def csv_that_grows(folder):
    return put(folder, "a.csv", "1,2,3,4,5,6,7,8\n" * 20000)


# ---- Matrix Market and Parquet


HEADER = "%%MatrixMarket matrix coordinate real general\n"


@broken("cut short")
def mtx_cut_short(folder):
    return put(folder, "a.mtx", HEADER + "4 3 5\n1 1 2.0\n2 2 3.0\n")


@broken("entry 1", "row 9, column 9", "4 x 3")
def mtx_index_beyond_its_shape(folder):
    return put(folder, "a.mtx", HEADER + "4 3 1\n9 9 2.0\n")


@broken("8.0 GiB")
def mtx_announcing_too_much(folder):
    return put(folder, "a.mtx", HEADER + "4 3 99999999999\n1 1 1.0\n")


@broken("8.0 GiB")
def mtx_with_endless_rows(folder):
    return put(folder, "a.mtx", HEADER + "99999999999 3 1\n1 1 1.0\n")


@broken("line 1", "'riel' is unknown")
def mtx_with_a_damaged_header(folder):
    return put(folder, "a.mtx", HEADER.replace("real", "riel") + "2 2 1\n1 1 1.0\n")


@broken("line 3", "rows, columns and entries", "-2")
def mtx_with_negative_sizes(folder):
    return put(folder, "a.mtx", HEADER + "% comment\n2 2 -2\n1 1 1.0\n")


@broken("damaged or cut short", "found 2")
def mtx_with_more_entries_than_announced(folder):
    return put(folder, "a.mtx", HEADER + "2 2 1\n1 1 1.0\n1 2 1.0\n1 2 1.0\n")


@broken("damaged or cut short", "x1.0")
def mtx_with_text(folder):
    return put(folder, "a.mtx", HEADER + "2 2 1\n1 1 x1.0\n")


@broken("complex")
def mtx_complex(folder):
    return put(folder, "a.mtx", HEADER.replace("real", "complex") + "2 2 1\n1 1 1.0 2.0\n")


def _parquet(folder, **columns):
    pa, parquet = module("pyarrow"), module("pyarrow.parquet")
    parquet.write_table(pa.table(columns), folder / "a.parquet")
    return folder / "a.parquet"


@broken("damaged or cut short")
def parquet_cut_short(folder):
    path = _parquet(folder, a=[1.0, 2.0])
    return put(folder, "a.parquet", path.read_bytes()[:-30])


@broken("column 'b'", "timestamp")
def parquet_times(folder):
    return _parquet(folder, a=[1.0, 2.0], b=[datetime(2020, 1, 1), datetime(2021, 1, 1)])


@broken("row 2, column 'a'", "missing, 1 such here")
def parquet_null(folder):
    return _parquet(folder, a=[1.0, None, 3.0], b=[1.0, 2.0, 3.0])


@broken("row 1 is seen by no view")
def parquet_row_of_nulls(folder):
    return _parquet(folder, a=[1.0, None, 3.0])


@broken("line 4, column 3 ('c')", "'5x' is no number")
def csv_slip_beside_words(folder):
    return put(folder, "a.csv", "id,b,c\n1,red,2\n2,blue,3\n3,red,5x\n")


@broken("row 3, column 'a'", "infinite")
def parquet_infinite(folder):
    return _parquet(folder, a=[1.0, 2.0, np.inf])


@broken("row 2", "'x'", "row 1")
def parquet_id_twice(folder):
    return _parquet(folder, id=["x", "x"], a=[1.0, 2.0])


@broken("no column 'key'", id_column="key")
def parquet_without_the_id_column(folder):
    return _parquet(folder, a=[1.0, 2.0])


@broken("unpacks to 781 KiB", "100 KiB", limit=100 * 1024)
def parquet_bomb(folder):
    return _parquet(folder, a=np.zeros(100_000))


# ---- several files


@broken("numbers of rows differ", "'b' has 3")
def files_with_different_numbers_of_samples(folder):
    return [put(folder, "a.csv", "1,2\n3,4\n"), put(folder, "b.csv", "1\n2\n3\n")]


@broken("view 'b' shares no sample id", "it has 'x' and so on")
def files_with_different_ids(folder):
    return [put(folder, "b.csv", "id,a\nx,1\ny,2\n"), put(folder, "a.csv", "id,b\nu,1\nz,2\n")]


@broken("'a' has none, and its 2 rows cannot be the 3 samples")
def file_without_ids_of_another_length(folder):
    return [put(folder, "b.csv", "id,a\nx,1\ny,2\nz,3\n"), put(folder, "a.csv", "b\n1\n2\n")]


@broken("labels differ")
def files_with_different_labels(folder):
    return [npz(folder, "b.npz", X0=A, y=[0, 0, 1, 1]), npz(folder, "a.npz", X0=A, y=[0, 1, 0, 1])]


# ---- labels


@broken("3 columns", cases=BROKEN_LABELS)
def labels_in_three_columns(folder):
    return put(folder, "y.csv", "a,b,c\n1,2,3\n")


@broken("line 3", "missing", cases=BROKEN_LABELS)
def labels_with_a_gap(folder):
    return put(folder, "y.csv", "id,label\na,1\nb,\n")


@broken("line 2", "expected 1 columns but found 2", cases=BROKEN_LABELS)
def labels_ragged(folder):
    return put(folder, "y.csv", "1\n1,2\n1\n1\n1\n")


@broken("1 of the 2 samples have no label", "'b'", cases=BROKEN_LABELS, sample_ids=["a", "b"])
def labels_without_a_sample(folder):
    return put(folder, "y.csv", "id,label\na,1\nc,2\n")


@broken("line 3", "'a'", "line 2", cases=BROKEN_LABELS)
def labels_with_an_id_twice(folder):
    return put(folder, "y.csv", "id,label\na,1\na,2\n")


@broken("3 labels for 2 samples", cases=BROKEN_LABELS, sample_ids=["a", "b"])
def labels_too_many(folder):
    return npy(folder, np.array([1, 2, 3]), "y.npy")


@broken("no column 'key'", cases=BROKEN_LABELS, id_column="key")
def labels_without_the_id_column(folder):
    return put(folder, "y.csv", "id,label\na,1\n")


@broken("4 x 3", cases=BROKEN_LABELS)
def labels_as_a_table(folder):
    return npy(folder, A, "y.npy")


@broken("no labels found among X0", cases=BROKEN_LABELS)
def labels_not_in_the_file(folder):
    return npz(folder, X0=A)


@broken("labels: p and q", cases=BROKEN_LABELS)
def labels_in_two_variables(folder):
    return npz(folder, p=[0, 0, 1], q=[0, 1, 1])


@broken("objects", "never opened", cases=BROKEN_LABELS)
def labels_as_a_pickle(folder):
    return npy(folder, np.array([Bomb(folder / "harm")], dtype=object), "y.npy", allow_pickle=True)


@broken("label 2", "0.5", cases=BROKEN_LABELS)
def labels_as_fractions(folder):
    return put(folder, "y.csv", "1\n0.5\n")


@broken("labels are read from", cases=BROKEN_LABELS)
def labels_in_matrix_market(folder):
    return put(folder, "y.mtx", HEADER + "1 1 1\n1 1 1.0\n")


@broken("header but no label", cases=BROKEN_LABELS)
def labels_with_a_header_only(folder):
    return put(folder, "y.csv", "id,label\n")


# ---- the tests


def told(function, made, folder, **keywords):
    """Return what is said about the file, after checking what holds for every message."""
    with pytest.raises(FileError) as caught:
        function(made, **keywords)
    text = str(caught.value)
    assert text.isprintable() and len(text.splitlines()) == 1, "one line"
    name = os.path.basename(made[-1] if isinstance(made, list) else made)
    assert name.isprintable() is False or name in text, "the file is named"
    assert not (folder / "harm").exists(), "nothing of a file is executed"
    assert caught.value.__cause__ is None and (
        caught.value.__context__ is None or caught.value.__suppress_context__
    )
    assert str(pickle.loads(pickle.dumps(caught.value))) == text
    return text


@pytest.mark.parametrize("make, words, keywords", BROKEN)
def test_broken_views(tmp_path, make, words, keywords):
    text = told(read_views, make(tmp_path), tmp_path, **keywords)
    for word in words:
        assert word in text, text


@pytest.mark.parametrize("make, words, keywords", BROKEN)
def test_broken_views_at_the_command(tmp_path, monkeypatch, capsys, make, words, keywords):
    made = make(tmp_path)
    files = made if isinstance(made, list) else [made]
    options = [f"--{name.replace('_', '-')}={value}" for name, value in keywords.items()]
    monkeypatch.chdir(tmp_path)
    before = sorted(os.listdir())
    assert main(["cluster", *map(str, files), "--clusters", "2", *options]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("consilience: error: ") and err.count("\n") == 1
    # A setting is written as the option that sets it.
    assert all(word.replace("max_bytes", "--max-bytes") in err for word in words), err
    assert "max_bytes" not in err and "id_column" not in err
    assert sorted(os.listdir()) == before, "nothing is written and nothing executed"


def test_there_are_forty_kinds_of_broken_files():
    assert len(BROKEN) >= 40


@pytest.mark.parametrize("make, words, keywords", BROKEN_LABELS)
def test_broken_labels(tmp_path, make, words, keywords):
    text = told(read_labels, make(tmp_path), tmp_path, **keywords)
    for word in words:
        assert word in text, text


def test_the_bomb_would_go_off(tmp_path):
    pickle.loads(pickle.dumps(Bomb(tmp_path / "harm")))
    assert (tmp_path / "harm").exists()


def test_no_file():
    with pytest.raises(FileError, match="no file given"):
        read_views([])


@pytest.mark.parametrize("name", ["a.csv", "a.npz", "a.mat", "a.npy", "a.parquet", "a.mtx"])
def test_no_permission(tmp_path, monkeypatch, name):
    """Permissions mean nothing to root, so the refusal is played."""
    path = put(tmp_path, name, "1,2\n")

    def refuse(file, *arguments, **keywords):
        if os.fspath(file) == str(path):
            raise PermissionError(13, "Permission denied", str(file))
        return original(file, *arguments, **keywords)

    original = builtins.open
    monkeypatch.setattr(builtins, "open", refuse)
    assert "no permission" in told(read_views, path, tmp_path)


def test_a_device_that_fails(tmp_path, monkeypatch):
    path = put(tmp_path, "a.csv", "1,2\n")

    def fail(*_, **__):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(builtins, "open", fail)
    assert "Input/output error" in told(read_views, path, tmp_path)


def test_a_name_with_a_zero_byte():
    with pytest.raises(FileError):
        read_views("a\0.csv")


@pytest.mark.parametrize(
    "name, content, package",
    [("a.mat", b"\x89HDF\r\n\x1a\n" + bytes(64), "h5py"), ("a.parquet", b"PAR1" + bytes(64), "pyarrow")],
)
def test_without_the_extra(tmp_path, monkeypatch, name, content, package):
    original = importlib.import_module

    def absent(module, *arguments):
        if module.startswith(package):
            raise ImportError(module)
        return original(module, *arguments)

    monkeypatch.setattr("consilience.io.readers.errors.import_module", absent)
    text = told(read_views, put(tmp_path, name, content), tmp_path)
    assert package in text and "pip install 'consilience[files]'" in text


@pytest.mark.parametrize("ending", ["csv", "npy", "npz", "mat", "mtx"])
def test_every_cut_is_told(tmp_path, ending):
    """However much of a file is lost, it is told, or read if it is text, never anything else."""
    make = {
        "csv": lambda: put(tmp_path, "a.csv", "id,a,b\nx,1,2\ny,3,4\n"),
        "npy": lambda: npy(tmp_path, A, "a.npy"),
        "npz": lambda: npz(tmp_path, "a.npz", X0=A),
        "mat": lambda: mat(tmp_path, "a.mat", compress=True, X=cell(A, A)),
        "mtx": lambda: put(tmp_path, "a.mtx", HEADER + "4 3 2\n1 1 2.0\n2 2 3.0\n"),
    }
    content = make[ending]().read_bytes()
    for size in range(0, len(content) - 1, max(1, len(content) // 40)):
        path = put(tmp_path, f"cut.{ending}", content[:size])
        try:
            read_views(path)
            assert ending in ("csv", "mtx"), f"{size} of {len(content)} bytes were enough"
        except FileError as error:
            assert path.name in str(error)


@pytest.mark.parametrize("ending", ["csv", "npy", "npz", "mat", "mtx"])
def test_damage_anywhere_is_told(tmp_path, ending):
    """Whatever byte is changed, the file is read or told, and nothing else is raised."""
    test = {
        "csv": lambda: put(tmp_path, "a.csv", "id,a,b\nx,1,2\ny,3,4\n"),
        "npy": lambda: npy(tmp_path, A, "a.npy"),
        "npz": lambda: npz(tmp_path, "a.npz", X0=A, y=[0, 0, 1, 1]),
        "mat": lambda: mat(tmp_path, "a.mat", X=cell(A, sparse.csc_matrix(A)), gt=[0, 0, 1, 1]),
        "mtx": lambda: put(tmp_path, "a.mtx", HEADER + "4 3 2\n1 1 2.0\n2 2 3.0\n"),
    }
    content = test[ending]().read_bytes()
    random = np.random.default_rng(0)
    for place in random.choice(len(content), size=min(150, len(content)), replace=False):
        changed = bytearray(content)
        changed[place] = random.integers(256)
        path = put(tmp_path, f"changed.{ending}", bytes(changed))
        try:
            read_views(path, max_bytes=2**24)
        except FileError as error:
            assert path.name in str(error)


@pytest.mark.parametrize("size", [0, 4, 12, 100])
def test_a_packed_mat_variable_of_another_size_than_it_says(tmp_path, size):
    packed = zlib.compress(struct.pack("<II", 14, 64) + bytes(size))
    path = put(tmp_path, "a.mat", MAT_HEADER + struct.pack("<II", 15, len(packed)) + packed)
    assert "damaged MATLAB file" in told(read_views, path, tmp_path)


def test_a_stray_function_handle_does_no_harm(tmp_path):
    views = matrix(1, "fea", NUMBERS, NUMBERS, shape=(1, 2))
    path = put(tmp_path, "a.mat", MAT_HEADER + matrix(16, "callback", HANDLE) + views)
    assert read_views(path).views.n_features == (4, 4)
