"""The whole way from features to eigenvalues against the golden files that travel with the project."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from tests.engines.names import HOST_ENGINES

from consilience import PAPER, DistanceGraphFusion, KMeansLabels, SimilarityGraphFusion

FOLDER = Path(__file__).with_name("golden")
FILES = sorted(path.stem for path in FOLDER.glob("*.npz"))
METHODS = {"SGF": SimilarityGraphFusion, "DGF": DistanceGraphFusion}


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("make_golden", FOLDER / "make_golden.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_there_are_eight_files():
    assert len(FILES) == 8


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("engine", HOST_ENGINES)
@pytest.mark.filterwarnings("ignore:The graph has .* connected components")
def test_the_pipeline_gives_the_golden_numbers(script, file, engine):
    stored = np.load(FOLDER / f"{file}.npz", allow_pickle=False)
    name, method, _ = file.split("_")
    views, n_clusters = script.sources()[name]
    beta, gamma = stored["beta_gamma"]
    paper = {**PAPER, "assign_labels": KMeansLabels(n_init=1), "engine": engine}
    model = METHODS[method](
        n_clusters=n_clusters + 2, n_neighbors=6, metric="euclidean", beta=beta, gamma=gamma, random_state=0,
        **paper,
    ).fit(views)  # fmt: skip
    np.testing.assert_array_equal(model.edges_.rows, stored["rows"])
    np.testing.assert_array_equal(model.edges_.indices, stored["columns"])
    np.testing.assert_allclose(model.history_, stored["history"], rtol=1e-8)
    np.testing.assert_allclose(model.view_scales_, stored["alpha"], rtol=1e-8)
    np.testing.assert_allclose(model.fusion_.fused, stored["fused"], atol=1e-8 * stored["fused"].max())
    np.testing.assert_allclose(model.consistent_.sum(axis=0), stored["consistent_sums"], rtol=1e-8)
    np.testing.assert_allclose(model.graph_.sum(axis=1), stored["graph_sums"], rtol=1e-8)
    np.testing.assert_allclose(model.eigenvalues_, stored["eigenvalues"], atol=1e-8)


def test_the_script_still_makes_one_of_the_files(script):
    views, n_clusters = script.sources()["planted"]
    made = script.make(views, n_clusters, "DGF", 1.0, 100.0)
    stored = np.load(FOLDER / "planted_DGF_default.npz", allow_pickle=False)
    assert set(made) == set(stored.files)
    for key, values in made.items():
        np.testing.assert_allclose(values, stored[key], rtol=1e-9, atol=1e-12, err_msg=key)
