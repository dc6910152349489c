"""Looking for the paper's data sets in folders, good and odd ones."""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import io

from consilience.reproduction.data_sets import find_sets
from consilience.reproduction.definitions import PaperSet, load_paper

SMALL = PaperSet("Two-Small_Views", "Two", 12, 2, 3, "euclidean", "a shelf", "http://shelf.example")
SQUARE = PaperSet("Square", "Square", 12, 2, 3, "precomputed_distance", "a shelf")


@pytest.fixture(scope="module")
def paper():
    return replace(load_paper(), sets={one.name: one for one in (SMALL, SQUARE)})


def arrays(n=12, widths=(3, 4), n_classes=3):
    rng = np.random.default_rng(0)
    views = {f"X{i}": rng.normal(size=(n, width)) for i, width in enumerate(widths)}
    return {**views, "y": np.arange(n) % n_classes}


def only(found, name):
    return found.sets[name].status, found.sets[name].reason


def test_found_and_missing(paper, tmp_path):
    np.savez(tmp_path / "Two-Small_Views.npz", **arrays())
    found = find_sets(tmp_path, paper)
    assert found.having("found") == ["Two-Small_Views"] and found.having("missing") == ["Square"]
    loaded = found.sets["Two-Small_Views"].load()
    assert loaded.definition is SMALL
    assert loaded.views.n_features == (3, 4) and not any(loaded.views.pairwise)
    np.testing.assert_array_equal(loaded.labels, np.arange(12) % 3)
    missing = found.sets["Square"]
    assert missing.reason == "no file Square.mat or Square.npz"
    assert missing.advice == f"{missing.reason} (12 samples, 2 views, 3 classes); source: a shelf"
    with pytest.raises(ValueError, match=r"Square is missing: no file Square.mat .*; source: a shelf"):
        found.sets["Square"].load()


def test_the_address_is_given_if_there_is_one(paper, tmp_path):
    np.savez(tmp_path / "other.npz", **arrays())
    found = find_sets(tmp_path, paper).sets["Two-Small_Views"]
    assert found.advice.endswith("source: a shelf, http://shelf.example")


@pytest.mark.parametrize("name", ["two-small-views.npz", "TWO SMALL VIEWS.npz", "Two_Small_Views.NPZ"])
def test_spellings_of_the_name(paper, tmp_path, name):
    with (tmp_path / name).open("wb") as stream:
        np.savez(stream, **arrays())
    found = find_sets(tmp_path, paper)
    assert found.sets["Two-Small_Views"].path == tmp_path / name
    assert found.having("found") == ["Two-Small_Views"]


@pytest.mark.parametrize("name", ["TwoSmallViews.npz", "Two-Small_Views2.npz", "Two-Small_Views.npz.npz"])
def test_other_names_are_not_the_set(paper, tmp_path, name):
    np.savez(tmp_path / name, **arrays())
    assert find_sets(tmp_path, paper).having("missing") == ["Two-Small_Views", "Square"]


def test_matlab_file_with_a_cell_array(paper, tmp_path):
    given = arrays()
    cells = np.empty(2, dtype=object)
    cells[:] = [given["X0"], given["X1"]]
    io.savemat(tmp_path / "Two-Small_Views.mat", {"fea": cells, "gt": given["y"][:, None] + 1})
    assert find_sets(tmp_path, paper).having("found") == ["Two-Small_Views"]


@pytest.mark.parametrize(
    ("given", "held"),
    [
        (arrays(n=15), "15 samples, 2 views, 3 classes"),
        (arrays(widths=(3, 4, 5)), "12 samples, 3 views, 3 classes"),
        (arrays(n_classes=4), "12 samples, 2 views, 4 classes"),
    ],
)
def test_wrong_shape(paper, tmp_path, given, held):
    np.savez(tmp_path / "Two-Small_Views.npz", **given)
    status, reason = only(find_sets(tmp_path, paper), "Two-Small_Views")
    assert status == "unusable"
    assert f"Two-Small_Views.npz: it holds {held}, expected are 12 samples, 2 views, 3 classes" in reason


def test_without_labels(paper, tmp_path):
    given = arrays()
    del given["y"]
    np.savez(tmp_path / "Two-Small_Views.npz", **given)
    found = find_sets(tmp_path, paper)
    assert only(found, "Two-Small_Views")[0] == "unusable"
    with pytest.raises(ValueError, match=r"Two-Small_Views is unusable: .*npz: it holds no labels; save one"):
        found.sets["Two-Small_Views"].load()


def test_unreadable_files_keep_the_reader_s_message(paper, tmp_path):
    (tmp_path / "Two-Small_Views.mat").write_text("<html>not found</html>")
    (tmp_path / "Square.npz").write_bytes(b"")
    found = find_sets(tmp_path, paper)
    assert found.having("unusable") == ["Two-Small_Views", "Square"]
    assert "named .mat but is a web page" in found.sets["Two-Small_Views"].reason
    assert "the file is empty" in found.sets["Square"].reason


def test_a_folder_with_the_name_of_a_set(paper, tmp_path):
    (tmp_path / "Square.npz").mkdir()
    status, reason = only(find_sets(tmp_path, paper), "Square")
    assert status == "unusable" and "this is a folder" in reason


def test_two_files_for_one_set(paper, tmp_path):
    np.savez(tmp_path / "square.npz", **arrays(widths=(12, 12)))
    io.savemat(tmp_path / "Square.mat", {"X1": np.eye(12)})
    status, reason = only(find_sets(tmp_path, paper), "Square")
    assert status == "unusable"
    assert reason == "Square.mat, square.npz: any could be the set; keep one of them"


def test_distance_matrices(paper, tmp_path):
    np.savez(tmp_path / "Square.npz", **arrays(widths=(12, 12)))
    assert find_sets(tmp_path, paper).sets["Square"].load().views.pairwise == (True, True)
    np.savez(tmp_path / "Square.npz", **arrays(widths=(12, 4)))
    status, reason = only(find_sets(tmp_path, paper), "Square")
    assert status == "unusable" and "view 'X1' is no matrix between the 12 samples" in reason


def test_wrong_folders(paper, tmp_path):
    with pytest.raises(ValueError, match="nowhere does not exist; name the folder"):
        find_sets(tmp_path / "nowhere", paper)
    with pytest.raises(ValueError, match=r"holds no .mat or .npz file; name the folder"):
        find_sets(tmp_path, paper)
    (tmp_path / "notes.txt").touch()
    with pytest.raises(ValueError, match=r"holds no .mat or .npz file; name the folder"):
        find_sets(tmp_path, paper)
    with pytest.raises(ValueError, match=r"notes.txt is a file, not a folder; name the folder"):
        find_sets(tmp_path / "notes.txt", paper)


def test_real_data(dataset):
    # `dataset` skips without the folder
    paper = load_paper()
    found = find_sets(Path(os.environ["CONSILIENCE_DATA"]), paper)
    assert {"BBCSport", "MSRC_v1", "UCI_Digits", "3Sources"} <= set(found.having("found"))
    assert not found.having("unusable")
    for name in ("MSRC_v1", "3Sources"):
        views, y = dataset(name)
        loaded = found.sets[name].load()
        np.testing.assert_array_equal(loaded.labels, y)
        assert loaded.views.n_features == tuple(view.shape[1] for view in views)
    digits = found.sets[paper.experiments.affinity.set].load().views
    assert set(paper.experiments.affinity.view_features) <= set(digits.n_features)
