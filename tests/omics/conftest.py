"""Cells in AnnData and MuData, made with the packages themselves; without these the tests skip."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from consilience import make_multiview

REASON = "the extra `h5mu` is not installed: pip install 'consilience[h5mu]'"


@pytest.fixture
def ad():
    return pytest.importorskip("anndata", reason=REASON)


@pytest.fixture
def mu(ad):
    mudata = pytest.importorskip("mudata", reason=REASON)
    with mudata.set_options(pull_on_update=False):  # how it is going to be; it warns of the old way
        yield mudata


@pytest.fixture(scope="session")
def planted():
    """Three views of 240 cells in three clusters."""
    data = make_multiview(240, n_views=3, n_clusters=3, separation=4.0, random_state=0)
    return dict(zip(("rna", "prot", "atac"), data.views.values(), strict=True)), data.y


@pytest.fixture
def cells(ad, mu, planted):
    """Return a MuData: modalities of partly different cells, in other orders; one sparse, one float32."""
    views, y = planted
    rng = np.random.default_rng(0)
    names = np.array([f"cell{i}" for i in range(240)])
    parts = {"rna": np.arange(200), "prot": rng.permutation(240)[:180], "atac": rng.permutation(240)[:190]}
    modalities = {}
    for name, rows in parts.items():
        values = views[name][rows]
        values = {"rna": values, "prot": values.astype(np.float32), "atac": sparse.csr_matrix(values)}[name]
        modality = ad.AnnData(values, obs=pd.DataFrame(index=names[rows]))
        modality.var_names = [f"{name}{j}" for j in range(values.shape[1])]
        modalities[name] = modality
    data = mu.MuData(modalities)
    data.obs["truth"] = pd.Categorical([f"type {y[int(name[4:])]}" for name in data.obs_names])
    return data


@pytest.fixture
def one(ad, planted):
    """Return an AnnData with all three views: X, a DataFrame in obsm, a sparse matrix in obsm, a layer."""
    views, y = planted
    names = [f"cell{i}" for i in range(240)]
    data = ad.AnnData(views["rna"].copy(), obs=pd.DataFrame({"truth": y}, index=names))
    data.var_names = [f"gene{j}" for j in range(data.n_vars)]
    data.layers["half"] = views["rna"] / 2
    data.obsm["protein"] = pd.DataFrame(views["prot"], index=names).add_prefix("protein")
    data.obsm["peaks"] = sparse.csr_matrix(views["atac"])
    return data
