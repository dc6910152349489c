"""`consilience report`, and `report` of a model: the page, and what is said when it cannot be written."""

from __future__ import annotations

import csv
import json
import os
from pathlib import Path

import pytest
from sklearn.exceptions import NotFittedError

from consilience import DistanceGraphFusion, SimilarityGraphFusion, make_multiview
from consilience.cli import main
from consilience.inspection import does_fusion_help
from consilience.models import AverageGraph

pytestmark = pytest.mark.long


@pytest.fixture
def made(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data = make_multiview(200, n_views=3, n_clusters=3, separation=4.0, scrambled=[0.2, 0, 0], random_state=0)
    for name, array in data.views.items():
        with Path(f"{name}.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["id", *(f"f{j}" for j in range(array.shape[1]))])
            writer.writerows([f"s{i}", *row] for i, row in enumerate(array))
    with Path("truth.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["id", "class"], *((f"s{i}", c) for i, c in enumerate(data.y))])
    return data


def run(*words):
    try:
        return main([str(word) for word in words])
    except SystemExit as end:
        return end.code


FILES = ["view_0.csv", "view_1.csv", "view_2.csv"]


def test_the_page_of_the_command(made, capsys):
    before = set(os.listdir())
    assert run("report", *FILES, "--clusters", 3, "--labels", "truth.csv", "--title", "My <b>study</b>") == 0
    assert set(os.listdir()) - before == {"report.html"}
    out = capsys.readouterr().out
    page = Path("report.html").read_text()
    assert "The page is report.html." in out and "200 samples in 3 clusters" in out
    assert "My &lt;b&gt;study&lt;/b&gt;" in page and "<b>study" not in page
    assert "consilience report view_0.csv view_1.csv view_2.csv --clusters 3" in page
    said = does_fusion_help(made.views, 3, random_state=0).sentence
    assert said in out and said.replace("'", "&#x27;") in page


def test_what_is_printed_for_machines(made, capsys):
    assert run("report", *FILES, "--clusters", 3, "--json", "--fdr", 0.2, "--out", "p.html") == 0
    said = json.loads(capsys.readouterr().out)
    assert said["fusion_help"]["verdict"] in ("yes", "no", "unclear")
    assert said["false_discovery_rate"] == 0.2 and len(said["views"]) == 3
    assert run("report", *FILES, "--clusters", 3, "--json", "--no-fusion-help", "--out", "q.html") == 0
    assert json.loads(capsys.readouterr().out)["fusion_help"] is None


def test_an_existing_page_is_kept_unless_forced(made, capsys):
    Path("report.html").write_text("mine")
    assert run("report", *FILES, "--clusters", 3, "--no-fusion-help") == 2
    err = capsys.readouterr().err
    assert "--force" in err and err.count("\n") == 1
    assert Path("report.html").read_text() == "mine"
    assert run("report", *FILES, "--clusters", 3, "--no-fusion-help", "--force", "--json") == 0
    assert Path("report.html").read_text().startswith("<!doctype html>")


BAD = [
    (["--out", "no/such/page.html"], "no/such"),
    (["--out", "."], "is a folder"),
    (["--out", "truth.csv/page.html"], "truth.csv"),
    (["--fdr", "2"], "fdr must be a number between 0 and 1"),
    (["--fdr", "high"], "invalid float"),
]


@pytest.mark.parametrize(("words", "telling"), BAD)
def test_bad_input_is_one_line(made, capsys, words, telling):
    before = sorted(os.listdir())
    assert run("report", *FILES, "--clusters", 3, "--json", *words) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and telling in captured.err and captured.err.count("\n") == 1
    assert sorted(os.listdir()) == before


def test_a_page_is_written_even_if_nothing_can_be_said_of_fusing(made, capsys):
    with Path("flat.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["id", "f"], *([f"s{i}", 1] for i in range(200))])
    assert run("report", "view_1.csv", "flat.csv", "--clusters", 3, "--out", "p.html") == 0
    assert "Nobody can say whether fusing helps" in capsys.readouterr().out
    assert "no two views" in Path("p.html").read_text()


def test_a_single_view_gets_a_page_too(made, capsys):
    assert run("report", "view_1.csv", "--clusters", 3, "--out", "one.html") == 0
    assert Path("one.html").exists()


def test_the_page_of_a_model(made, tmp_path):
    for cls in (SimilarityGraphFusion, DistanceGraphFusion):
        model = cls(n_clusters=3, random_state=0).fit(made.views)
        path = model.report(tmp_path / f"{cls.__name__}.html", made.views, made.y)
        page = path.read_text()
        assert cls.__name__ in page and model.data_fingerprint_ in page
        plain = model.report(tmp_path / "plain.html", force=True).read_text()
        assert len(plain) < len(page)


def test_what_a_model_says_when_it_cannot(made, tmp_path):
    model = DistanceGraphFusion(n_clusters=3, random_state=0)
    with pytest.raises(NotFittedError, match="call fit"):
        model.report(tmp_path / "r.html")
    model.fit(made.views)
    with pytest.raises(ValueError, match="one label for each of 200 samples"):
        model.report(tmp_path / "r.html", y=made.y[:10])
    with pytest.raises(ValueError, match="200"):
        model.report(tmp_path / "r.html", sample_names=["a"])
    other = {name: array[::-1] for name, array in made.views.items()}
    with pytest.raises(ValueError, match="not the views that the model was fitted to"):
        model.report(tmp_path / "r.html", other)
    with pytest.raises(FileNotFoundError, match="nowhere"):
        model.report(tmp_path / "nowhere" / "r.html")
    (tmp_path / "there.html").write_text("mine")
    with pytest.raises(FileExistsError, match="force=True"):
        model.report(tmp_path / "there.html")
    assert (tmp_path / "there.html").read_text() == "mine"
    assert not list(tmp_path.glob("*.part")) and not list(tmp_path.glob(".*"))
    assert not (tmp_path / "r.html").exists()
    average = AverageGraph(n_clusters=3, random_state=0).fit(made.views)
    with pytest.raises(TypeError, match="Only a fitted SimilarityGraphFusion or DistanceGraphFusion"):
        average.report(tmp_path / "r.html")
    assert not (tmp_path / "r.html").exists()
