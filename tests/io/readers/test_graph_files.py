"""Graphs in files, and the command that takes them beside tables."""

import gzip
import json

import numpy as np
import pytest
from scipy import io, sparse

from consilience.cli import main
from consilience.io.readers import FileError
from consilience.io.readers.graphs import read_graph


def written(folder, text, name="net.csv"):
    path = folder / name
    path.write_text(text)
    return path


def test_an_edge_list(tmp_path):
    path = written(tmp_path, "target,note,Source,weight\nb,x,a,2\nc,y,b,0.5\n")
    graph = read_graph(path, kind="similarity")
    assert graph.nodes.tolist() == ["a", "b", "c"]
    assert graph.matrix.toarray().tolist() == [[0, 2, 0], [2, 0, 0.5], [0, 0.5, 0]]
    assert read_graph(path, kind="distance", directed=True).n_edges == 2


@pytest.mark.parametrize("delimiter", ["\t", ";", "|", " "])
def test_other_delimiters_and_no_weights(tmp_path, delimiter):
    text = f"source{delimiter}target\n1{delimiter}2\n2{delimiter}3\n"
    graph = read_graph(written(tmp_path, text, "net.tsv"), kind="similarity")
    assert graph.nodes.tolist() == ["1", "2", "3"] and set(graph.matrix.data) == {1.0}


def test_decimal_commas_and_gzip(tmp_path):
    path = tmp_path / "net.csv.gz"
    path.write_bytes(gzip.compress(b"source;target;weight\na;b;1,5\n"))
    assert read_graph(path, kind="distance").matrix.data.tolist() == [1.5, 1.5]


@pytest.mark.parametrize("ending", ["mtx", "npz", "npy"])
def test_adjacency_matrices(tmp_path, ending):
    dense = np.array([[0, 2.0, 0], [2.0, 0, 1.0], [0, 1.0, 0]])
    path = tmp_path / f"net.{ending}"
    if ending == "mtx":
        io.mmwrite(path, sparse.coo_array(dense), symmetry="symmetric")
    elif ending == "npz":
        sparse.save_npz(path, sparse.csr_array(dense))
    else:
        np.save(path, dense)
    graph = read_graph(path, kind="similarity")
    assert graph.nodes is None and np.array_equal(graph.matrix.toarray(), dense)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\nc,d\n", "net.csv, line 1: the first line must name the columns source and target"),
        ("source,target,source\na,b,c\n", "line 1: the column name 'source' occurs more than once"),
        (
            "source,target,weight\na,b,1\n\nc,d,-2\n",
            r"line 4, column 3 \('weight'\): the weight -2 is negative",
        ),
        ("source,target,weight\na,b,one\n", "line 2, column 3 .*'one' is no number"),
        ("source,target,weight\na,b,1_0\n", "line 2, column 3 .*'1_0' is no number"),
        ("source,target,weight\na,b,\n", "line 2, column 3 .*the weight is missing"),
        ("source,target,weight\na,b,inf\n", "line 2, column 3 .*infinite or too large"),
        ("source,target,weight\na,b,1e999\n", "line 2, column 3 .*infinite or too large"),
        ('source,target,weight\na,b,"1,5"\n', "line 2, column 3 .*decimal comma"),
        ("source,target\na,b\nc\n", "line 3: expected 2 columns but found 1"),
        ("source,target\n,b\n", "line 2: the source of the edge is empty"),
        ("source,target\n", "a header but no edge below it"),
        ("source,target\na,a\n", "net.csv: the graph has no edge between different nodes"),
        ("source,target,weight\na,b,1\nb,a,2\n", "net.csv: the weight is 1 from 'a' to 'b' but 2 from"),
    ],
)
def test_errors_name_the_line(tmp_path, text, message):
    with pytest.raises(FileError, match=message):
        read_graph(written(tmp_path, text), kind="similarity")


def test_limits_and_other_files(tmp_path):
    path = written(tmp_path, "source,target\n" + "".join(f"a{i},b{i}\n" for i in range(1000)))
    with pytest.raises(FileError, match="max_bytes allows"):
        read_graph(path, kind="similarity", max_bytes=100_000)
    np.savez(tmp_path / "two.npz", a=np.ones((4, 4)), b=np.ones((4, 4)))
    with pytest.raises(FileError, match="holds 2 matrices, but a graph is one"):
        read_graph(tmp_path / "two.npz", kind="similarity")
    np.save(tmp_path / "wide.npy", np.ones((4, 5)))
    with pytest.raises(FileError, match=r"wide.npy: an adjacency matrix is square.*\(4, 5\)"):
        read_graph(tmp_path / "wide.npy", kind="similarity")
    with pytest.raises(FileError, match=r"no such file"):
        read_graph(tmp_path / "absent.csv", kind="similarity")


# The command


@pytest.fixture
def planted(tmp_path):
    """Write a table with ids and two graphs over the same clusters; return their files and the clusters."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 30)
    ids = [f"s{i}" for i in range(90)]
    x = rng.normal(size=(90, 3)) + 1.5 * np.eye(3)[y]
    table = "\n".join([f"{i}," + ",".join(f"{v:.4f}" for v in row) for i, row in zip(ids, x, strict=True)])
    written(tmp_path, "id,a,b,c\n" + table + "\n", "rna.csv")
    for name, low, high in (("ppi.csv", 1.0, 3.0), ("roads.tsv", 3.0, 1.0)):
        edges = ["source,target,weight"]
        there = np.triu(rng.random((90, 90)) < np.where(y[:, None] == y, 0.35, 0.03), 1)
        for i, j in np.argwhere(there):
            edges.append(f"{ids[i]},{ids[j]},{(high if y[i] == y[j] else low) * rng.uniform(0.5, 1.5):.3f}")
        written(tmp_path, "\n".join(edges).replace(",", "\t" if name.endswith("tsv") else ",") + "\n", name)
    written(tmp_path, "id,label\n" + "".join(f"{i},{c}\n" for i, c in zip(ids, y, strict=True)), "truth.csv")
    return tmp_path


def run(folder, *arguments, clusters=3):
    return main(
        ["cluster", *map(str, arguments), "--clusters", str(clusters), "--json", "--out", str(folder / "out")]
    )


@pytest.mark.parametrize("method", ["sgf", "dgf"])
def test_graphs_beside_a_table(planted, capsys, method):
    status = run(
        planted,
        planted / "rna.csv",
        "--similarity-graph",
        planted / "ppi.csv",
        "--distance-graph",
        planted / "roads.tsv",
        "--labels",
        planted / "truth.csv",
        "--method",
        method,
    )
    assert status == 0
    summary = json.loads(capsys.readouterr().out)
    assert [view["view"] for view in summary["views"]] == ["rna", "ppi", "roads"]
    assert [view["metric"] for view in summary["views"]] == [
        "euclidean",
        "precomputed_similarity",
        "graph_distance",
    ]
    assert summary["scores"]["NMI"] > 0.8
    labels = (planted / "out" / "labels.csv").read_text().splitlines()
    assert labels[1].startswith("s0,") and len(labels) == 91


def test_graphs_alone(planted, capsys):
    arguments = ["--similarity-graph", planted / "ppi.csv", "--distance-graph", planted / "roads.tsv"]
    assert run(planted, *arguments) == 0
    assert json.loads(capsys.readouterr().out)["n_samples"] == 90


def test_nodes_that_are_no_samples_and_samples_that_are_no_nodes(planted, capsys):
    lines = (planted / "ppi.csv").read_text().splitlines()
    kept = [line for line in lines if "s89," not in line] + ["x1,s0,2", "x1,x2,2"]
    written(planted, "\n".join(kept) + "\n", "part.csv")
    assert run(planted, planted / "rna.csv", "--similarity-graph", planted / "part.csv") == 0
    told = capsys.readouterr()
    assert "2 of 91 nodes are no samples of the tables, such as 'x1'; they are left out" in told.err
    assert json.loads(told.out)["n_samples"] == 90


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ([], "Name at least one file, or a graph with --similarity-graph or --distance-graph."),
        (["rna.csv", "--similarity-graph", "strange.csv"], "none of its nodes is a sample of the tables"),
        (["plain.csv", "--similarity-graph", "ppi.csv"], "name the column that holds them with --id-column"),
        (["rna.csv", "--similarity-graph", "small.npy"], "it is 3 x 3 and names no nodes, but there are 90"),
        (
            ["rna.csv", "--similarity-graph", "half.npy"],
            "pass --no-directed if these edges go both ways, or --dir",
        ),
        (["rna.csv", "--similarity-graph", "both.csv"], "correct it, or pass --directed"),
    ],
)
def test_bad_graphs_end_with_one_line_and_status_2(planted, capsys, files, message):
    written(planted, "source,target\nq,r\n", "strange.csv")
    written(planted, "a,b\n" + "".join(f"{i},{i % 7}\n" for i in range(90)), "plain.csv")
    written(planted, "source,target,weight\ns0,s1,1\ns1,s0,2\n", "both.csv")
    np.save(planted / "small.npy", np.ones((3, 3)))
    np.save(planted / "half.npy", np.triu(np.ones((90, 90))))
    given = [name if name.startswith("--") else planted / name for name in files]
    assert run(planted, *given) == 2
    err = capsys.readouterr().err
    assert message in err and err.count("error:") == 1
