"""Files of AnnData and MuData, read by `read_views` and by the command."""

import csv
import json
import os
import sys
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from consilience import omics
from consilience.cli import main
from consilience.io.readers import FileError, read_views


@pytest.fixture
def h5mu(cells, tmp_path):
    cells.write(tmp_path / "cells.h5mu")
    return tmp_path / "cells.h5mu"


@pytest.fixture
def h5ad(one, tmp_path):
    one.write_h5ad(tmp_path / "one.h5ad")
    return tmp_path / "one.h5ad"


def test_views_of_files_are_those_of_the_objects(cells, one, h5mu, h5ad):
    found = read_views(h5mu)
    assert found.views.fingerprint() == omics.views_of(cells).fingerprint()
    assert found.views.sample_ids.tolist() == cells.obs_names.tolist()
    assert found.labels is None and found.sources[1] == f"{h5mu}: prot"
    assert found.views.feature_names[2][0] == "atac0"
    assert type(found.container).__name__ == "MuData"
    asked = {"a": "protein", "b": "layers/half", "c": "peaks"}
    found = read_views(h5ad, use_rep=asked, labels_key="truth")
    assert found.views.fingerprint() == omics.views_of(one, asked).fingerprint()
    assert found.views.feature_names[0][0] == "protein0"
    assert found.labels.tolist() == one.obs["truth"].tolist()


def test_one_file_per_modality_and_tables_next_to_it(ad, one, h5ad, tmp_path):
    other = ad.AnnData(one.X[::-1] * 2, obs=pd.DataFrame(index=one.obs_names[::-1]))
    other.write_h5ad(tmp_path / "other.h5ad")
    one.obsm["protein"].to_csv(tmp_path / "protein.csv", index_label="id")
    found = read_views([h5ad, tmp_path / "other.h5ad", tmp_path / "protein.csv"])
    assert found.views.names == ("one", "other", "protein") and found.container is None
    np.testing.assert_array_equal(found.views["other"], one.X * 2)
    np.testing.assert_allclose(found.views["protein"], one.obsm["protein"].to_numpy())


def test_labels_from_obs(h5mu, cells):
    assert read_views(h5mu, labels_key="truth").labels.tolist() == cells.obs["truth"].tolist()
    with pytest.raises(FileError, match=r"there is no column 'type' in obs; its columns are 'truth'"):
        read_views(h5mu, labels_key="type")


def test_options_for_other_files(tmp_path):
    np.save(tmp_path / "a.npy", np.eye(3))
    with pytest.raises(FileError, match=r"use_rep is for \.h5ad and \.h5mu files"):
        read_views(tmp_path / "a.npy", use_rep="X")
    with pytest.raises(FileError, match=r"labels_key is for"):
        read_views(tmp_path / "a.npy", labels_key="y")


def test_the_command_writes_the_result_back(mu, h5mu, cells, tmp_path, capsys):
    out = tmp_path / "result"
    before = h5mu.read_bytes()
    arguments = ["cluster", str(h5mu), "--clusters", "3", "--out", str(out)]
    arguments += ["--use-rep", "rna=X,atac=X", "--labels-key", "truth"]
    assert main(arguments) == 0
    said = capsys.readouterr()
    assert "summary.json, cells.h5mu" in said.out and "against the labels" in said.out
    assert "pull_on_update" not in said.err and "Traceback" not in said.err
    assert h5mu.read_bytes() == before
    found = mu.read_h5mu(out / "cells.h5mu")
    with (out / "labels.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["sample"] for row in rows] == found.obs_names.tolist() == cells.obs_names.tolist()
    assert [row["label"] for row in rows] == found.obs["consilience"].tolist()
    assert found.obsp["consilience_connectivities"].shape == (len(rows), len(rows))
    assert "consilience_flagged_rna" in found.obs and "consilience_contribution_atac" in found.obs
    assert found.obs["truth"].tolist() == cells.obs["truth"].tolist()
    np.testing.assert_array_equal(found["atac"].X.toarray(), cells["atac"].X.toarray())


def test_the_command_on_an_anndata_and_without_writing_back(ad, h5ad, one, tmp_path, capsys):
    out = tmp_path / "result"
    arguments = ["cluster", str(h5ad), "--clusters", "3", "--out", str(out), "--json"]
    arguments += ["--use-rep", "rna=X,protein=protein,atac=peaks"]
    assert main(arguments) == 0
    summary = json.loads(capsys.readouterr().out)
    assert [row["view"] for row in summary["views"]] == ["rna", "protein", "atac"]
    assert "consilience" in ad.read_h5ad(out / "one.h5ad").obs
    assert main([*arguments, "--force", "--no-write-back", "--out", str(tmp_path / "bare")]) == 0
    assert not (tmp_path / "bare" / "one.h5ad").exists() and (tmp_path / "bare" / "labels.csv").exists()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("rna=", "--use-rep takes a representation, or NAME=REP"),
        ("rna=X,,prot=X", "--use-rep takes a representation, or NAME=REP"),
        ("rna=X,prot", "names some views and not others"),
        ("rna=X,rna=X_pca", "names a view twice"),
        ("dna=X", "use_rep names the modality 'dna'"),
        ("X_umap", "modality 'rna' has no representation 'X_umap': there are 'X'"),
    ],
)
def test_a_wrong_use_rep(h5mu, text, words, tmp_path, capsys):
    arguments = ["cluster", str(h5mu), "--clusters", "3", "--out", str(tmp_path / "out"), "--use-rep", text]
    assert main(arguments) == 2
    said = capsys.readouterr().err
    assert words in said and said.count("\n") == 1
    assert not (tmp_path / "out").exists()


# ---- files that are broken, or lead elsewhere


def refused(path, capsys, tmp_path):
    """Return the one line with which the command refuses a file."""
    assert main(["cluster", str(path), "--clusters", "3", "--out", str(tmp_path / "out")]) == 2
    said = capsys.readouterr()
    assert said.out == "" and said.err.count("\n") == 1, said
    assert said.err.startswith(f"consilience: error: {path}"), said.err
    assert not (tmp_path / "out").exists()
    return said.err


@pytest.mark.parametrize("share", [0.02, 0.3, 0.6, 0.9, 0.999])
@pytest.mark.parametrize("kind", ["h5mu", "h5ad"])
def test_cut_short(request, kind, share, tmp_path, capsys):
    path = request.getfixturevalue(kind)
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    assert "damaged or cut short" in refused(path, capsys, tmp_path)


@pytest.mark.parametrize("kind", ["h5mu", "h5ad"])
def test_bytes_overwritten_are_an_error_or_are_read_never_a_crash(request, kind, tmp_path):
    path = request.getfixturevalue(kind)
    content = bytearray(path.read_bytes())
    rng = np.random.default_rng(0)
    for _ in range(12):
        spoiled = bytearray(content)
        for place in rng.integers(600, len(content), 40):
            spoiled[place] = rng.integers(256)
        path.write_bytes(bytes(spoiled))
        try:
            read_views(path)
        except FileError as error:
            assert "\n" not in str(error)


def test_not_hdf5(tmp_path, ad, capsys):
    (tmp_path / "a.h5ad").write_bytes(b"\x80\x04\x95 a pickle")
    assert "is a pickle, which is never opened" in refused(tmp_path / "a.h5ad", capsys, tmp_path)
    (tmp_path / "b.h5mu").write_text("cells")
    assert "its content is something else" in refused(tmp_path / "b.h5mu", capsys, tmp_path)


def test_the_wrong_kind_of_hdf5(h5ad, h5mu, mu, tmp_path, capsys):
    renamed = tmp_path / "renamed.h5mu"
    os.rename(h5ad, renamed)
    assert ".h5mu" in refused(renamed, capsys, tmp_path)
    renamed = tmp_path / "renamed.h5ad"
    os.rename(h5mu, renamed)
    assert ".h5ad" in refused(renamed, capsys, tmp_path)


def spoil(path, change):
    h5py = pytest.importorskip("h5py")
    with h5py.File(path, "r+") as file:
        change(h5py, file)


def external_link(h5py, file):
    del file["X"]
    file["X"] = h5py.ExternalLink("other.h5", "/X")


def soft_link(h5py, file):
    file["uns/again"] = h5py.SoftLink("/X")


def within_itself(h5py, file):
    file["uns/again"] = file["uns"]


def kept_elsewhere(h5py, file):
    del file["X"]
    file.create_dataset("X", (240, 10), dtype="f8", external=[("other.bin", 0, 19200)])


def too_large(h5py, file):
    file.create_dataset("uns/much", (1 << 40,), dtype="f8", chunks=(1024,), compression="gzip")


def row_beyond(h5py, file):
    file["obsm/peaks/indices"][0] = 1 << 20


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (external_link, "/X is a link to something else"),
        (soft_link, "/uns/again is a link to something else"),
        (within_itself, "is met twice"),
        (kept_elsewhere, "/X is kept in another file"),
        (too_large, "unpacks to 8.0 TiB, but --max-bytes allows 8.0 GiB"),
    ],
)
def test_what_hdf5_could_be_made_to_do(h5ad, change, words, tmp_path, capsys):
    (tmp_path / "other.bin").write_bytes(bytes(19200))
    spoil(h5ad, change)
    assert words in refused(h5ad, capsys, tmp_path)


def test_an_index_beyond_the_shape(h5ad):
    spoil(h5ad, row_beyond)
    with pytest.raises(FileError, match="damaged"):
        read_views(h5ad, use_rep="peaks")


def test_other_values_that_are_no_view(ad, one, tmp_path):
    one.obsm["empty"] = np.empty((240, 0))
    one.obsm["holes"] = np.where(np.eye(240, 3) > 0, np.inf, 1.0)
    one.obsm["wide"] = sparse.csr_matrix((240, 1 << 20))
    one.write_h5ad(tmp_path / "a.h5ad")
    with pytest.raises(FileError, match=r"empty is empty \(240 x 0\)"):
        read_views(tmp_path / "a.h5ad", use_rep="empty")
    with pytest.raises(FileError, match=r"a.h5ad: view 'holes', sample 'cell0', column 0 holds infinity"):
        read_views(tmp_path / "a.h5ad", use_rep="holes")
    with pytest.raises(FileError, match=r"wide: it would take 8\.0 MiB"):
        read_views(tmp_path / "a.h5ad", use_rep="wide", max_bytes=1 << 20)


def test_without_the_package(tmp_path, monkeypatch):
    for name, package in (("a.h5ad", "anndata"), ("a.h5mu", "mudata")):
        monkeypatch.setitem(sys.modules, package, None)
        (tmp_path / name).write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(64))
        with pytest.raises(FileError, match=rf"needs {package}: pip install 'consilience\[h5mu\]'"):
            read_views(tmp_path / name)


def test_a_graph_next_to_cells(mu, h5mu, cells, tmp_path):
    names = cells.obs_names.tolist()
    with (tmp_path / "known.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("source", "target"), *pairwise(names)])
    arguments = ["cluster", str(h5mu), "--clusters", "3", "--view-weights", "uniform", "--method", "sgf"]
    arguments += ["--similarity-graph", str(tmp_path / "known.csv")]
    assert main([*arguments, "--out", str(tmp_path / "out")]) == 0
    found = mu.read_h5mu(tmp_path / "out" / "cells.h5mu")
    assert found.obs_names.tolist() == names
    assert found.uns["consilience"]["views"]["names"].tolist() == ["rna", "prot", "atac", "known"]
    assert found.obs["consilience_contribution_known"].notna().any()
