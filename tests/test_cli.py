"""The command as a user types it."""

import csv
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import io, sparse

from consilience import DistanceGraphFusion, LeidenLabels, SimilarityGraphFusion, make_multiview
from consilience.cli import build_parser, main
from consilience.commands.demo import against_the_best
from consilience.metrics import clustering_accuracy, nmi
from consilience.run.versions import versions

FILES = {"labels.csv", "view_weights.csv", "conflicts.csv", "graph.npz", "summary.json", "report.html"}


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def sample(here):
    """Two CSV files with ids, the second in another order, and a file of labels."""
    made = make_multiview(90, n_views=2, n_clusters=3, separation=5.0, random_state=0)
    ids = [f"p{i}" for i in range(90)]
    orders = [np.arange(90), np.random.default_rng(0).permutation(90)]
    for (name, array), order in zip(made.views.items(), orders, strict=True):
        with Path(f"{name}.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["patient", *(f"f{j}" for j in range(array.shape[1]))])
            writer.writerows([ids[i], *array[i]] for i in order)
    with Path("truth.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["patient", "class"], *zip(ids, made.y, strict=True)])
    return made


def read_csv(path):
    with Path(path).open(newline="") as file:
        return list(csv.DictReader(file))


def run(*words):
    """Run the command in this process; argparse's own exits count as their status."""
    try:
        return main([str(word) for word in words])
    except SystemExit as end:
        return end.code


def test_cluster_writes_what_python_gives(sample, capsys):
    assert (
        run("cluster", "view_0.csv", "view_1.csv", "--clusters", 3, "--labels", "truth.csv", "--out", "r")
        == 0
    )
    out = capsys.readouterr().out
    assert {file.name for file in Path("r").iterdir()} == FILES
    model = DistanceGraphFusion(n_clusters=3, random_state=0).fit(sample.views)
    rows = read_csv("r/labels.csv")
    assert [row["sample"] for row in rows] == [f"p{i}" for i in range(90)]
    np.testing.assert_array_equal([int(row["label"]) for row in rows], model.labels_)
    summary = json.loads(Path("r/summary.json").read_text())
    assert summary["scores"]["NMI"] == pytest.approx(nmi(sample.y, model.labels_))
    assert f"ACC {100 * clustering_accuracy(sample.y, model.labels_):.2f} %" in out
    weights = read_csv("r/view_weights.csv")
    contributions = [float(row["contribution"]) for row in weights]
    np.testing.assert_allclose(contributions, model.view_contributions_)
    assert abs(sparse.load_npz("r/graph.npz") - model.graph_).max() < 1e-12
    assert not [name for name in os.listdir() if name.startswith(".")]


def test_where_no_two_views_agree_the_clusters_of_each_alone_are_written(sample, capsys):
    shuffled = sample.views["view_1"][np.random.default_rng(0).permutation(90)]
    np.save("shuffled.npy", shuffled)
    np.save("first.npy", sample.views["view_0"])
    assert run("cluster", "first.npy", "shuffled.npy", "--clusters", 3, "--out", "r") == 0
    assert "labels_by_view()" in capsys.readouterr().err
    rows = read_csv("r/labels.csv")
    assert list(rows[0]) == ["sample", "label", "label in first", "label in shuffled"]
    model = DistanceGraphFusion(n_clusters=3, random_state=0)
    with pytest.warns(UserWarning, match="no more than by chance"):
        model.fit({"first": sample.views["view_0"], "shuffled": shuffled})
    for name, labels in model.labels_by_view().items():
        np.testing.assert_array_equal([int(row[f"label in {name}"]) for row in rows], labels)


def test_cluster_options_reach_the_model(sample, capsys):
    words = ["cluster", "view_0.csv", "view_1.csv", "--clusters", 3, "--method", "sgf", "--neighbors", 7]
    assert run(*words, "--metric", "cosine,manhattan", "--seed", 5, "--id-column", "patient", "--json") == 0
    said = json.loads(capsys.readouterr().out)
    assert said["method"] == "SimilarityGraphFusion" and said["resolved"]["n_neighbors"] == 7
    assert said["resolved"]["metrics"] == ["cosine", "manhattan"]
    assert said["parameters"]["random_state"] == 5 and said["scores"] is None
    model = SimilarityGraphFusion(n_clusters=3, n_neighbors=7, metric=["cosine", "manhattan"], random_state=5)
    np.testing.assert_array_equal(
        [int(row["label"]) for row in read_csv("consilience-result/labels.csv")],
        model.fit(sample.views).labels_,
    )


def test_the_number_of_clusters_is_chosen_and_said(sample, capsys):
    words = ["cluster", "view_0.csv", "view_1.csv", "--clusters", "auto", "--out", "r"]
    assert run(*words) == 0
    out = capsys.readouterr().out
    summary = json.loads(Path("r/summary.json").read_text())
    said = summary["cluster_selection"]
    assert summary["n_clusters"] == said["chosen"] == 3
    assert said["reason"].startswith("3 clusters: ") and said["reason"] in out
    assert said["n_clusters"] == list(range(2, 21)) and np.argmax(said["scores"]) == 1
    assert summary["parameters"]["n_clusters"] == "auto"
    assert "How many clusters?" in Path("r/report.html").read_text()
    assert run("report", "view_0.csv", "view_1.csv", "--clusters", "auto", "--no-fusion-help") == 0
    assert said["reason"] in capsys.readouterr().out


def test_labels_can_be_read_off_in_other_ways(sample, capsys):
    words = ["cluster", "view_0.csv", "view_1.csv", "--clusters", 3, "--json"]
    assert run(*words, "--assign-labels", "cluster_qr") == 0
    said = json.loads(capsys.readouterr().out)
    assert said["parameters"]["assign_labels"] == "cluster_qr"
    assert said["cluster_selection"] is None
    labels = DistanceGraphFusion(n_clusters=3, assign_labels="cluster_qr").fit(sample.views).labels_
    assert said["cluster_sizes"] == np.bincount(labels).tolist()


def test_the_resolution_is_that_of_leiden(sample, capsys):
    pytest.importorskip("igraph", reason="Leiden needs igraph: pip install 'consilience[leiden]'")
    words = ["cluster", "view_0.csv", "view_1.csv", "--clusters", 3, "--json", "--assign-labels", "leiden"]
    assert run(*words, "--resolution", 2) == 0
    said = json.loads(capsys.readouterr().out)
    assert "LeidenLabels" in str(said["parameters"]["assign_labels"])
    assert "2.0" in str(said["parameters"]["assign_labels"])
    labels = LeidenLabels(resolution=2.0)
    model = DistanceGraphFusion(n_clusters=3, assign_labels=labels, random_state=0).fit(sample.views)
    assert said["cluster_sizes"] == np.bincount(model.labels_).tolist()


def test_an_existing_folder_is_kept_unless_forced(sample, capsys):
    words = ["cluster", "view_0.csv", "view_1.csv", "--clusters", 3, "--out", "r"]
    assert run(*words) == 0
    before = Path("r/labels.csv").read_bytes()
    Path("r/mine.txt").write_text("keep")
    assert run(*words[:-2], "--out", "r", "--seed", 1) == 2
    assert "--force" in capsys.readouterr().err
    assert Path("r/labels.csv").read_bytes() == before
    assert run(*words, "--force", "--method", "sgf") == 0
    assert Path("r/mine.txt").read_text() == "keep"
    assert json.loads(Path("r/summary.json").read_text())["method"] == "SimilarityGraphFusion"


def test_nothing_half_written_stays_when_the_disk_fills_up(sample, monkeypatch, capsys):
    def full(path, content):
        path.write_text("half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("consilience.commands.cluster.write_json", full)
    assert run("cluster", "view_0.csv", "view_1.csv", "--clusters", 3, "--out", "r") == 2
    assert "No space left" in capsys.readouterr().err
    assert sorted(os.listdir()) == ["truth.csv", "view_0.csv", "view_1.csv"]


BAD = [
    (["cluster", "nowhere.csv", "--clusters", "3"], "nowhere.csv"),
    (["cluster", "view_0.csv", "--clusters", "three"], "invalid int value"),
    (["compare", "view_0.csv", "--clusters", "auto"], "invalid int value"),
    (["cluster", "view_0.csv"], "--clusters"),
    (["cluster", "view_0.csv", "--clusters", "0"], "--clusters must be a positive integer"),
    (["cluster", "view_0.csv", "--clusters", "91"], "fewer samples"),
    (["cluster", "view_0.csv", "--clusters", "3", "--metric", "euclidian"], "Unknown metric 'euclidian'"),
    (["cluster", "view_0.csv", "--clusters", "3", "--metric", "cosine,cosine"], "got 2 names"),
    (["cluster", "view_0.csv", "--clusters", "3", "--resolution", "2"], "--resolution has no effect with"),
    (["cluster", "view_0.csv", "--clusters", "3", "--id-column", "nobody"], "nobody"),
    (["cluster", "view_0.csv", "--clusters", "3", "--labels", "none.csv"], "none.csv"),
    (["cluster", "view_0.csv", "--clusters", "3", "--out", "no/such/folder"], "does not exist"),
    (["cluster", "view_0.csv", "--clusters", "3", "--out", "truth.csv"], "is a file"),
    (["cluster", "view_0.csv", "--clusters", "3", "--method", "magic"], "invalid choice"),
    (["clutser"], "invalid choice"),
    ([], "COMMAND"),
]


@pytest.mark.parametrize(("words", "telling"), BAD)
def test_bad_input_gets_one_line_and_status_2(sample, capsys, words, telling):
    before = sorted(os.listdir())
    assert run(*words) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and telling in captured.err
    assert captured.err.count("\n") == 1
    assert sorted(os.listdir()) == before


def test_debug_shows_the_traceback(sample):
    with pytest.raises(ValueError, match=r"nowhere\.csv"):
        main(["cluster", "nowhere.csv", "--clusters", "3", "--debug"])


def test_a_bug_is_one_line_too_and_status_1(sample, monkeypatch, capsys):
    monkeypatch.setattr("consilience.commands.cluster.summarize", lambda *_: 1 / 0)
    assert run("cluster", "view_0.csv", "--clusters", 3) == 1
    assert "unexpected ZeroDivisionError" in capsys.readouterr().err


def test_ctrl_c_leaves_nothing_behind(sample, monkeypatch, capsys):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("consilience.commands.cluster.write_graph", interrupt)
    assert run("cluster", "view_0.csv", "--clusters", 3, "--out", "r") == 130
    assert sorted(os.listdir()) == ["truth.csv", "view_0.csv", "view_1.csv"]


def test_warnings_are_lines_and_are_kept_in_the_summary(here, capsys):
    rng = np.random.default_rng(0)
    np.savez("all.npz", X0=rng.normal(size=(40, 3)), X1=np.ones((40, 2)))
    assert run("cluster", "all.npz", "--clusters", 2, "--out", "r") == 0
    assert "consilience: warning: View 'X1' is constant" in capsys.readouterr().err
    assert any("constant" in text for text in json.loads(Path("r/summary.json").read_text())["warnings"])


def test_names_are_escaped_on_the_page(here):
    evil = "<img src=x onerror=alert(1)>"
    with Path("a.csv").open("w") as file:
        file.write("\n".join(f"{i},{i % 3}" for i in range(30)))
    rng = np.random.default_rng(0)
    np.savez("all.npz", **{evil: rng.normal(size=(30, 3)), "b": rng.normal(size=(30, 2))})
    assert run("cluster", "all.npz", "--clusters", 2, "--out", "r") == 0
    page = Path("r/report.html").read_text()
    assert evil not in page and "&lt;img src=x" in page


@pytest.mark.long
def test_the_demo_says_nothing_that_its_files_do_not(here, capsys):
    assert run("demo", "--out", "d") == 0
    out = capsys.readouterr().out
    pages = {"report.html", "report-spoiled.html", "demo.html"}
    assert {file.name for file in Path("d").iterdir()} == (FILES - {"conflicts.csv"}) | pages
    rows = read_csv("d/labels.csv")
    truth = [row["truth"] for row in rows]
    summary = json.loads(Path("d/summary.json").read_text())
    assert len(summary["systems"]) == 18
    for system in summary["systems"]:
        labels = [row[f"{system['condition']}: {system['system']}"] for row in rows]
        assert system["NMI"] == pytest.approx(nmi(truth, labels))
        assert system["ACC"] == pytest.approx(clustering_accuracy(truth, labels))
        assert f"{system['NMI']:.3f}" in out
    clean = {s["system"]: s["NMI"] for s in summary["systems"] if s["condition"] == "clean"}
    alone = [score for name, score in clean.items() if name.endswith("alone")]
    fused = {name: clean[name] for name in ("SGF", "DGF")}
    assert min(fused.values()) > np.median(alone) + 0.1
    assert summary["findings"][0].endswith(against_the_best(fused, max(alone)))
    assert all("the spoiled one" in sentence for sentence in summary["findings"][1:3])
    moved, total, flagged, right = map(int, re.findall(r"\d+", summary["findings"][4])[:4])
    assert (moved, total) == (539, 1797) and right > 0.8 * moved and right > 0.9 * flagged
    for sentence in summary["findings"]:
        assert sentence in out


@pytest.mark.parametrize(
    ("best", "sentence"),
    [
        (0.5, "SGF and DGF are better than the best view."),
        (0.7, "SGF is better than the best view, DGF is not."),
        (0.8, "SGF and DGF are no better than the best view."),
    ],
)
def test_the_demo_says_whether_fusing_beats_the_best_view(best, sentence):
    assert against_the_best({"SGF": 0.8, "DGF": 0.6}, best) == sentence


def test_datasets_lists_what_is_there(here, capsys, monkeypatch):
    Path("UCI_Digits.mat").touch()
    monkeypatch.setenv("CONSILIENCE_DATA", str(here))
    assert run("datasets", "--json") == 0
    found = {row["name"]: row["found"] for row in json.loads(capsys.readouterr().out)}
    assert found["UCI_Digits"] and not found["BBCSport"]
    assert run("datasets") == 0
    assert "CONSILIENCE_DATA" in capsys.readouterr().out
    monkeypatch.setenv("CONSILIENCE_DATA", "nowhere")
    assert run("datasets") == 2


@pytest.mark.parametrize("command", [[], ["demo"], ["cluster"], ["compare"], ["reproduce"], ["datasets"]])
def test_help_fits_a_screen_and_shows_an_example(command, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert run(*command, "--help") == 0
    out = capsys.readouterr().out
    assert "example: " in out and out.count("\n") <= 40


def test_version_names_what_matters(capsys):
    assert run("--version") == 0
    assert set(versions()) <= set(capsys.readouterr().out.replace(",", "").split())


def test_completion_needs_its_extra_and_says_so(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "shtab", None)
    assert run("completion", "bash") == 2
    assert "consilience[completion]" in capsys.readouterr().err


@pytest.mark.long
def test_the_installed_command_and_the_module_run():
    for start in (
        [str(Path(sys.executable).with_name("consilience"))],
        [sys.executable, "-m", "consilience"],
    ):
        done = subprocess.run([*start, "--version"], capture_output=True, text=True, check=True)
        assert done.stdout.startswith("consilience ")


def test_no_colours_off_a_terminal(here, capsys):
    assert run("datasets") == 0
    assert "\033" not in capsys.readouterr().out


def test_parser_knows_every_command():
    assert set(build_parser()._subparsers._group_actions[0].choices) == {
        "demo",
        "cluster",
        "report",
        "compare",
        "reproduce",
        "datasets",
        "completion",
    }


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "metric", "n_clusters"),
    [
        ("UCI_Digits", "euclidean", 10),
        ("MSRC_v1", "euclidean", 7),
        ("BBCSport", "cosine", 5),
        ("NGs", "cosine", 5),
        ("ORL32", "euclidean", 40),
        ("breastTCGA_3omics_train", "euclidean", 3),
    ],
)
@pytest.mark.filterwarnings("ignore:The graph has .* connected components")
@pytest.mark.filterwarnings("ignore:View .* (is carried by|is dominated by)")
def test_real_files_give_the_scores_that_python_gives(dataset, here, capsys, name, metric, n_clusters):
    views, y = dataset(name)
    folder = Path(os.environ["CONSILIENCE_DATA"])
    file = next(path for path in (folder / f"{name}.mat", folder / f"{name}.npz") if path.exists())
    words = ["cluster", file, "--clusters", n_clusters, "--metric", metric, "--neighbors", 10]
    assert run(*words, "--labels", file, "--json") == 0
    said = json.loads(capsys.readouterr().out)
    model = DistanceGraphFusion(n_clusters=n_clusters, n_neighbors=10, metric=metric, random_state=0).fit(
        views
    )
    assert said["scores"]["NMI"] == pytest.approx(nmi(y, model.labels_))
    assert said["scores"]["ACC"] == pytest.approx(clustering_accuracy(y, model.labels_))


def test_weighing_and_scaling_can_be_turned_off(here, capsys):
    rng = np.random.default_rng(0)
    for name in "ab":
        np.savetxt(
            f"{name}.csv", np.repeat([0.0, 9.0], 20)[:, None] + rng.normal(size=(40, 3)), delimiter=","
        )
    np.savetxt("noise.csv", rng.normal(size=(40, 3)), delimiter=",")
    words = ["cluster", "a.csv", "b.csv", "noise.csv", "--clusters", 2, "--neighbors", 10, "--force"]
    assert run(*words) == 0
    said = capsys.readouterr()
    assert "left out" in said.out and "--view-weights uniform keeps it" in said.err
    assert run(*words, "--view-weights", "uniform", "--row-weights", "uniform", "--scale", "none") == 0
    said = capsys.readouterr()
    assert "left out" not in said.out + said.err
    summary = json.loads(Path("consilience-result/summary.json").read_text())
    assert [row["weight"] for row in summary["views"]] == [1, 1, 1]
    assert summary["parameters"]["scale"] == "none"
    assert run(*words, "--view-weights", "fair") == 2


@pytest.mark.parametrize("effort", ["low", "medium", "high"])
def test_effort_is_an_option_and_so_is_what_it_stands_for(effort, here):
    rng = np.random.default_rng(0)
    for name in "abc":
        np.savetxt(
            f"{name}.csv", np.repeat([0.0, 9.0], 20)[:, None] + rng.normal(size=(40, 3)), delimiter=","
        )
    words = ["cluster", "a.csv", "b.csv", "c.csv", "--clusters", 2, "--json", "--force"]
    summary = Path("consilience-result/summary.json")
    assert run(*words, *(["--effort", effort] if effort != "high" else [])) == 0
    said = json.loads(summary.read_text())
    assert said["parameters"]["effort"] == effort
    assert [said["parameters"][name] for name in ("row_weights", "descriptions")] == ["auto", "auto"]
    assert said["parameters"]["row_order"] == "content"
    assert ("trust" in said["seconds"]) == (effort != "low")
    assert ("describe" in said["seconds"]) == (effort == "high")
    asked = ["--row-weights", "agreement", "--descriptions", "default", "--row-order", "given"]
    assert run(*words, "--effort", effort, *asked) == 0
    said = json.loads(summary.read_text())
    given = [said["parameters"][name] for name in ("row_weights", "descriptions", "row_order")]
    assert given == ["agreement", "default", "given"]
    assert not {"trust", "describe", "redescribe"} & set(said["seconds"])


@pytest.mark.parametrize(
    ("option", "choices"),
    [
        ("--effort", ["high", "medium", "low"]),
        ("--row-weights", ["auto", "learned", "agreement", "uniform"]),
        ("--descriptions", ["auto", "confirmed", "default"]),
        ("--row-order", ["content", "given"]),
    ],
)
def test_a_choice_that_there_is_not_is_one_line_with_those_that_there_are(option, choices, here, capsys):
    assert run("cluster", "a.csv", "--clusters", 2, option, "most") == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and option in said and all(choice in said for choice in choices)


def test_advice_about_effort_is_written_as_an_option(here, capsys):
    rng = np.random.default_rng(0)
    for name in "abc":
        np.save(f"{name}.npy", rng.normal(size=(3000, 20)))
    words = ["cluster", "a.npy", "b.npy", "c.npy", "--clusters", 3, "--neighbors", 5]
    assert run(*words, "--max-memory", "334 MiB", "--descriptions", "confirmed") == 2
    assert "--descriptions default" in capsys.readouterr().err
    assert run(*words, "--max-memory", "334 MiB") == 2
    assert "--effort low" in capsys.readouterr().err
    fixed = ["--metric", "euclidean", "--descriptions", "confirmed"]
    assert run(*words, *fixed) == 2
    said = capsys.readouterr().err
    assert "--descriptions confirmed has nothing to choose from" in said and "Leave --neighbors" in said


def commands_shown():
    """Return every command line of README and documentation that can be run as it stands.

    Those of `reproduce` need the paper's data sets; its tests have their own.
    """
    root = Path(__file__).parents[1]
    pages = [root / "README.md", *sorted((root / "docs").rglob("*.md"))]
    blocks = [
        block for page in pages for block in re.findall(r"^```\w*\n(.*?)^```", page.read_text(), re.M | re.S)
    ]
    lines = [line.split("#")[0].strip() for block in blocks for line in block.splitlines()]
    return sorted(
        {line for line in lines if re.match(r"consilience (demo|cluster|compare|datasets|--version)", line)}
    )


def test_there_are_commands_to_run():
    assert len(commands_shown()) >= 4


@pytest.mark.long
@pytest.mark.parametrize("line", commands_shown())
def test_every_command_line_shown_runs(here, line):
    made = make_multiview(80, n_views=2, n_clusters=4, separation=4.0, random_state=0)
    ids = [f"p{i}" for i in range(80)]
    for name, array in zip(("rna.csv", "protein.csv"), made.views.values(), strict=True):
        with Path(name).open("w", newline="") as file:
            rows = [[i, *row] for i, row in zip(ids, array, strict=True)]
            csv.writer(file).writerows([["patient", *range(array.shape[1])], *rows])
    rng = np.random.default_rng(0)
    for name in ("ppi.csv", "roads.tsv", "work.csv", "home.csv"):
        pairs = np.argwhere(np.triu(rng.random((80, 80)) < np.where(made.y[:, None] == made.y, 0.4, 0.05), 1))
        lines = ["source,target,weight", *(f"p{i},p{j},{1 + (i + j) % 3}" for i, j in pairs)]
        Path(name).write_text("\n".join(lines).replace(",", "\t" if name.endswith("tsv") else ","))
    cells = np.empty((1, 2), dtype=object)
    cells[0, :] = list(made.views.values())
    io.savemat("UCI_Digits.mat", {"fea": cells, "gt": made.y[:, None] + 1})
    Path("DATA").mkdir()
    np.savez("DATA/small.npz", **made.views, y=made.y)
    write_method("mymethod.py")
    Path("mypackage").mkdir()
    write_method("mypackage/mymodule.py")
    if ".h5" in line:
        write_cells(made, ids)
    assert run(*shlex.split(line)[1:]) == 0


def write_method(path):
    """Write a system as the documentation has it."""
    Path(path).write_text(
        "class MyMethod:\n"
        "    def __init__(self, n_clusters):\n        self.n_clusters = n_clusters\n"
        "    def fit_predict(self, views):\n"
        "        return [i % self.n_clusters for i in range(len(views[0]))]\n"
    )


def write_cells(made, ids):
    """Write cells.h5mu, and its modalities as rna.h5ad and protein.h5ad."""
    reason = "the extra `h5mu` is not installed: pip install 'consilience[h5mu]'"
    ad, mu = (pytest.importorskip(name, reason=reason) for name in ("anndata", "mudata"))
    modalities = {}
    for name, array in zip(("rna", "adt"), made.views.values(), strict=True):
        modalities[name] = ad.AnnData(array, obs={"obs_names": ids}, obsm={"X_pca": array[:, :5]})
        modalities[name].var_names = [f"{name}{j}" for j in range(array.shape[1])]
    with mu.set_options(pull_on_update=False):
        both = mu.MuData(modalities)
        both.obs["celltype"] = [f"type {label}" for label in made.y]
        both.write("cells.h5mu")
    modalities["rna"].write_h5ad("rna.h5ad")
    modalities["adt"].write_h5ad("protein.h5ad")


def test_matlab_files_with_all_views(here, capsys):
    made = make_multiview(60, n_views=3, n_clusters=2, separation=6.0, random_state=0)
    cells = np.empty((1, 3), dtype=object)
    cells[0, :] = list(made.views.values())
    io.savemat("set.mat", {"fea": cells, "gt": made.y[:, None] + 1})
    assert run("cluster", "set.mat", "--clusters", 2, "--json") == 0
    said = json.loads(capsys.readouterr().out)
    assert said["scores"]["ACC"] == 1.0 and len(said["views"]) == 3
