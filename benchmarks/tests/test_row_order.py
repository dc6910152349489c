"""The study of row order: the solver against plain twins, and what depends on the order of the rows."""

import doctest
import json
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from benchmarks.quality.row_order import __main__ as command
from benchmarks.quality.row_order import orders, picture, solver, study, tables
from consilience import Views, make_multiview
from consilience.metrics import nmi

RNG = np.random.default_rng(0)


@pytest.fixture(scope="module")
def sample():
    """Return clusters that are found, but not all of their samples."""
    return make_multiview(90, n_views=3, n_clusters=3, separation=2.5, random_state=0)


@pytest.fixture(scope="module")
def transitions(sample):
    return solver.transition_matrices(list(sample.views.values()))


@pytest.fixture(scope="module")
def planted():
    """Return noise with a faint trace of two independent partitions."""
    return orders.two_partitions(0.2, n_samples=200, n_clusters=4, seed=1)


def some_tensor(n_views=3, n_samples=8):
    return RNG.normal(size=(n_views, n_samples, n_samples))


@pytest.mark.parametrize("module", [solver, orders, study], ids=lambda module: module.__name__)
def test_examples(module):
    failed, tried = doctest.testmod(module)
    assert tried > 0
    assert failed == 0


# The shrinkage


def twin_shrink(tensor, threshold, along):
    """As the papers write it: rotate, a transform that is not unitary, a decomposition for each frequency."""
    rotated = tensor.transpose(1, 2, 0)  # samples, samples, views: as the graphs are stacked
    if along != "views":
        rotated = rotated.transpose(1, 2, 0)  # samples, views, samples: the rows are last
    spectrum = np.fft.fft(rotated, axis=2) if along != "none" else rotated.astype(complex)
    # Without a transform the norm is that of the unitary one, the identity.
    small = threshold if along != "none" else threshold / np.sqrt(rotated.shape[2])
    for k in range(rotated.shape[2]):
        left, values, right = np.linalg.svd(spectrum[:, :, k], full_matrices=False)
        spectrum[:, :, k] = left @ np.diag(np.maximum(values - small, 0)) @ right
    shrunk = np.fft.ifft(spectrum, axis=2) if along != "none" else spectrum
    assert np.abs(shrunk.imag).max() < 1e-12
    shrunk = shrunk.real.transpose(2, 0, 1) if along != "views" else shrunk.real
    return shrunk.transpose(2, 0, 1)


@pytest.mark.parametrize("n_samples", [8, 9])  # with and without a highest frequency of its own
@pytest.mark.parametrize("n_views", [2, 3])
@pytest.mark.parametrize("along", solver.ALONG)
def test_shrinkage_is_that_of_the_papers(along, n_views, n_samples):
    tensor = some_tensor(n_views, n_samples)
    found = solver.shrink(tensor, 3.0, along)
    assert np.allclose(found, twin_shrink(tensor, 3.0, along), atol=1e-9)
    assert 0.05 < np.linalg.norm(found) / np.linalg.norm(tensor) < 0.9  # something was cut, something is left


@pytest.mark.parametrize("along", solver.ALONG)
def test_shrinkage_is_the_proximal_point_of_the_norm(along):
    tensor, threshold = some_tensor(), 2.0

    def objective(point):
        return threshold * solver.nuclear_norm(point, along) + ((point - tensor) ** 2).sum() / 2

    best = solver.shrink(tensor, threshold, along)
    for size in (1e-3, 1e-1, 1.0):
        for _ in range(20):
            assert objective(best) < objective(best + size * some_tensor())


@pytest.mark.parametrize("along", solver.ALONG)
def test_shrinkage_and_norm_fit_together(along):
    """The subgradient at the proximal point: what is taken away has the dual norm, and is aligned."""
    tensor, threshold = some_tensor(), 2.0
    found = solver.shrink(tensor, threshold, along)
    aligned = ((tensor - found) * found).sum()
    assert np.isclose(aligned, threshold * solver.nuclear_norm(found, along))


def test_columns_are_shortened():
    tensor = some_tensor()
    found = solver.shrink_columns(tensor, 4.0)
    for j in range(tensor.shape[2]):
        column, kept = tensor[:, :, j], found[:, :, j]
        length = np.linalg.norm(column)
        assert np.allclose(kept, column * max(length - 4.0, 0) / length)


def test_unknown_transform():
    with pytest.raises(ValueError, match="'samples', 'none', 'views'"):
        solver.shrink(some_tensor(), 1.0, "rows")


# The decomposition


@pytest.mark.parametrize("along", solver.ALONG)
def test_the_parts_make_the_whole(transitions, along):
    v, n, _ = transitions.shape
    found = solver.decompose(transitions, solver.error_weight(v, n, along), along)
    assert found.gap < 1e-6
    assert found.n_rounds < 60
    assert np.abs(transitions - found.low_rank - found.error).max() < 1e-6
    assert np.abs(found.error).max() > 1e-6


def test_a_large_weight_leaves_no_error_and_a_small_one_nothing_else(transitions):
    assert not solver.decompose(transitions, 10.0).error.any()
    assert np.allclose(solver.decompose(transitions, 1e-6).low_rank, 0, atol=1e-6)


# The order of the rows


@pytest.mark.parametrize("along", ["none", "views"])
def test_without_a_transform_along_samples_the_order_changes_nothing(transitions, along):
    v, n, _ = transitions.shape
    order, weight = orders.shuffled(n, 3), solver.error_weight(v, n, along)
    as_it_is = solver.decompose(transitions, weight, along).low_rank
    standing = solver.decompose(transitions[:, order[:, None], order], weight, along).low_rank
    assert np.allclose(standing, as_it_is[:, order[:, None], order], atol=1e-7)


def test_with_a_transform_along_samples_it_does(transitions):
    v, n, _ = transitions.shape
    order, weight = orders.shuffled(n, 3), solver.error_weight(v, n, "samples")
    as_it_is = solver.decompose(transitions, weight).low_rank
    standing = solver.decompose(transitions[:, order[:, None], order], weight).low_rank
    difference = np.linalg.norm(standing - as_it_is[:, order[:, None], order])
    assert difference > 0.01 * np.linalg.norm(as_it_is)


@pytest.mark.parametrize("method", [study.NONE, study.VIEWS, study.AVERAGE])
def test_labels_of_sound_methods_do_not_depend_on_the_order(sample, transitions, method):
    views = Views(list(sample.views.values()))
    data = orders.LabelledSet("sample", views, tuple(views.arrays), sample.y)
    by_class, at_random = orders.sorted_by(sample.y), orders.shuffled(90, 3)
    found = [study._labels(method, data, transitions, order) for order in (by_class, at_random)]
    assert nmi(*found) > 0.999


def test_the_solver_finds_what_the_rows_are_sorted_by(planted):
    """The same numbers in two orders: two answers, each right by its own order and blind to the other."""
    transitions = solver.transition_matrices(planted.features)
    by_first = solver.cluster(transitions, 4, orders.sorted_by(planted.first))
    by_second = solver.cluster(transitions, 4, orders.sorted_by(planted.second))
    assert nmi(planted.first, by_first) > 0.9
    assert nmi(planted.second, by_second) > 0.9
    assert nmi(planted.second, by_first) < 0.1
    assert nmi(planted.first, by_second) < 0.1


def test_what_the_rows_are_sorted_by_is_not_in_the_graphs(planted):
    """The twin of the test above: shuffled, and without the transform, neither partition is found."""
    transitions = solver.transition_matrices(planted.features)
    by_first = orders.sorted_by(planted.first)
    fits = [
        solver.cluster(transitions, 4, orders.shuffled(200, 0)),
        solver.cluster(transitions, 4, by_first, along="none"),
        solver.spectral_labels(transitions, 4),
    ]
    for labels in fits:
        assert nmi(planted.first, labels) < 0.4


def test_labels_without_a_trace_are_not_found():
    """To sort pure noise by labels drawn at random is to shuffle it: there is nothing to amplify."""
    noise = orders.two_partitions(0.0, n_samples=200, n_clusters=4, seed=1)
    labels = solver.cluster(solver.transition_matrices(noise.features), 4, orders.sorted_by(noise.first))
    assert nmi(noise.first, labels) < 0.1


def test_on_real_data_half_of_the_score_is_the_order(dataset):
    views, truth = dataset("MSRC_v1")
    transitions = solver.transition_matrices(orders.measured(Views(views)))
    fits = [
        solver.cluster(transitions, 7, order) for order in (orders.sorted_by(truth), orders.shuffled(210, 0))
    ]
    by_class, at_random = (nmi(truth, labels) for labels in fits)
    assert by_class > 0.95
    assert at_random < 0.6


# The study


@pytest.fixture
def folder(tmp_path):
    made = make_multiview(40, n_views=2, n_clusters=3, separation=3.0, random_state=1)
    arrays = {f"X{i}": view for i, view in enumerate(made.views.values())}
    np.savez(tmp_path / "small.npz", **arrays, y=made.y + 5)
    np.savez(tmp_path / "bare.npz", **arrays)
    return tmp_path


def test_features_are_measured_as_our_systems_measure_them():
    counts = RNG.poisson(0.1, size=(30, 40)).astype(float)
    huge = RNG.normal(size=(30, 20))
    huge[:, 3] *= 1e6
    words, numbers = orders.measured(Views([counts, huge]))
    assert set(np.linalg.norm(words, axis=1).round(9)) <= {0.0, 1.0}
    assert numbers.std(axis=0).max() < 10


def test_the_command(folder, monkeypatch, capsys):
    monkeypatch.setattr(study, "TRACES", (0.3,))
    monkeypatch.setattr(study, "N_DRAWS", 1)
    out, figure = folder / "results.json", folder / "figure.svg"
    given = ["--data", str(folder), "--sets", "small", "--out", str(out), "--figure", str(figure)]
    command.main(given)
    printed = capsys.readouterr()
    assert printed.err.count(" left") == 4
    for title in ("rows sorted by class", "over the weight", "20% of the samples", "two partitions"):
        assert title in printed.out
    cells = json.loads(out.read_text())["cells"]
    assert {cell["kind"] for cell in cells.values()} == {"order", "strength", "misplaced", "partitions"}
    (order,) = tables.of_kind(cells, "order")
    assert order["n_clusters"] == 3
    assert set(order["scores"]) == set(study.METHODS)
    assert len(order["scores"][study.SAMPLES]["shuffled"]) == len(order["random_labels"]) == 5
    ElementTree.fromstring(figure.read_text())
    command.main(given)  # nothing is left to do
    again = capsys.readouterr()
    assert not again.err
    assert again.out == printed.out
    command.main(["--tables", str(out)])
    assert capsys.readouterr().out == printed.out


def test_details_are_not_measured_on_large_sets(folder, monkeypatch):
    monkeypatch.setattr(study, "LARGEST_FOR_DETAILS", 39)
    monkeypatch.setattr(study, "LARGEST_FOR_VIEWS", 39)
    path = orders.find(folder, "small")
    (order,) = study.do(study.Piece("order", "small", path)).values()
    assert study.VIEWS not in order["scores"]
    (strength,) = study.do(study.Piece("strength", "small", path)).values()
    assert tables.of_kind({"some": strength}, "strength") == []


@pytest.mark.parametrize(("name", "message"), [("absent", "no absent.mat"), ("bare", "holds no labels")])
def test_sets_that_cannot_be_sorted(folder, name, message):
    with pytest.raises(SystemExit, match=message):
        orders.read_set(orders.find(folder, name))


def test_tables_of_no_file(folder):
    with pytest.raises(SystemExit, match="There is no file"):
        command.main(["--tables", str(folder / "no.json")])


def test_the_figure_ranks_sets_by_what_the_order_is_worth():
    def cell(name, in_order, at_random):
        score = {"sorted": in_order, "shuffled": [at_random, at_random]}
        return {"set": name, "scores": {study.SAMPLES: score, study.AVERAGE: score}}

    drawn = picture.draw([cell("little", 0.9, 0.8), cell("much", 1.0, 0.2)])
    texts = [element.text for element in ElementTree.fromstring(drawn).iter() if element.text]
    assert texts.index("much") < texts.index("little")
