"""What is written is what scanpy's own functions work on."""

import warnings

import numpy as np
import pandas as pd
import pytest

from consilience import omics
from consilience.metrics import nmi

REASON = "scanpy, umap-learn or igraph is not installed: pip install scanpy igraph"


@pytest.fixture(scope="module")
def sc():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # theirs, at import
        pytest.importorskip("igraph", reason=REASON)
        pytest.importorskip("umap", reason=REASON)
        return pytest.importorskip("scanpy", reason=REASON)


def leiden_and_umap(sc, data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what they are going to change
        sc.tl.leiden(data, neighbors_key="consilience", flavor="igraph", n_iterations=2, directed=False)
        sc.tl.umap(data, neighbors_key="consilience", maxiter=50)


def check(data, truth):
    assert nmi(truth, data.obs["leiden"].cat.codes.to_numpy()) > 0.9
    places = data.obsm["X_umap"]
    assert places.shape == (data.n_obs, 2) and np.isfinite(places).all()
    centres = np.stack([places[truth == label].mean(axis=0) for label in np.unique(truth)])
    nearest = ((places[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)
    assert nmi(truth, nearest) > 0.9


def test_leiden_and_umap_on_three_modalities_with_partly_different_cells(sc, mu, cells, tmp_path):
    assert len({frozenset(modality.obs_names) for modality in cells.mod.values()}) == 3
    assert all(modality.n_obs < cells.n_obs for modality in cells.mod.values())
    truth = cells.obs["truth"].cat.codes.to_numpy()
    model = omics.cluster(cells, 3, random_state=0)
    assert nmi(truth, model.labels_) > 0.9
    leiden_and_umap(sc, cells)  # on the MuData itself
    check(cells, truth)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sc.tl.diffmap(cells, n_comps=5, neighbors_key="consilience")
        sc.tl.paga(cells, groups="consilience", neighbors_key="consilience")
    assert cells.obsm["X_diffmap"].shape == (cells.n_obs, 5)
    cells.write(tmp_path / "cells.h5mu")
    again = mu.read_h5mu(tmp_path / "cells.h5mu")
    pd.testing.assert_series_equal(again.obs["leiden"], cells.obs["leiden"])
    np.testing.assert_array_equal(again.obsm["X_umap"], cells.obsm["X_umap"])


def test_leiden_and_umap_on_an_anndata(sc, one):
    omics.cluster(one, 3, use_rep=["X", "protein", "peaks"], random_state=0)
    leiden_and_umap(sc, one)
    check(one, one.obs["truth"].to_numpy())


def test_the_scale_of_the_connectivities_does_not_matter_to_leiden(sc, one):
    omics.cluster(one, 3, use_rep=["X", "protein", "peaks"], random_state=0)
    leiden_and_umap(sc, one)
    before, places = one.obs["leiden"].copy(), one.obsm["X_umap"].copy()
    one.obsp["consilience_connectivities"] = one.obsp["consilience_connectivities"] * 0.25
    leiden_and_umap(sc, one)
    pd.testing.assert_series_equal(before, one.obs["leiden"])
    np.testing.assert_allclose(places, one.obsm["X_umap"], rtol=1e-4, atol=1e-4)
