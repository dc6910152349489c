import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from consilience import DistanceGraphFusion, SimilarityGraphFusion, omics
from consilience.inspection import sample_conflicts, sample_contributions
from consilience.models import AverageGraph

SYSTEMS = {"sgf": SimilarityGraphFusion, "dgf": DistanceGraphFusion}


def fitted(data, system=DistanceGraphFusion, **parameters):
    return system(n_clusters=3, random_state=0, **parameters).fit(omics.views_of(data))


def kept(data, key="consilience"):
    """Return all that `write` writes, for comparisons."""
    columns = [name for name in data.obs.columns if str(name).startswith(key)]
    graphs = {name: data.obsp[f"{key}_{name}"].toarray() for name in ("connectivities", "distances")}
    return data.obs[columns], graphs, np.asarray(data.obsm[f"X_{key}"]), data.uns[key]


def check_same(one, other):
    pd.testing.assert_frame_equal(one[0], other[0], check_index_type=False)
    for name in one[1]:
        np.testing.assert_array_equal(one[1][name], other[1][name])
    np.testing.assert_array_equal(one[2], other[2])
    assert set(one[3]) == set(other[3]) and one[3]["params"] == other[3]["params"]
    for name, values in one[3]["views"].items():
        np.testing.assert_array_equal(values, other[3]["views"][name])


@pytest.mark.parametrize("system", SYSTEMS)
def test_the_layout_of_scanpy(cells, system):
    model = fitted(cells, SYSTEMS[system])
    omics.write(cells, model)
    written = cells.uns["consilience"]
    assert written["connectivities_key"] == "consilience_connectivities"
    assert written["distances_key"] == "consilience_distances"
    assert written["params"] == {
        "n_neighbors": model.n_neighbors_,
        "method": type(model).__name__,
        "metric": "euclidean",
        "use_rep": "X_consilience",
        "n_clusters": 3,
        "random_state": 0,
    }
    assert written["views"]["names"].tolist() == ["rna", "prot", "atac"]
    np.testing.assert_array_equal(written["views"]["contributions"], model.view_contributions_)
    np.testing.assert_array_equal(cells.obsm["X_consilience"], model.embedding_)
    labels = cells.obs["consilience"]
    assert labels.cat.categories.tolist() == ["0", "1", "2"]
    assert labels.astype(int).tolist() == model.labels_.tolist()


@pytest.mark.parametrize("system", SYSTEMS)
def test_the_graph(cells, system):
    model = fitted(cells, SYSTEMS[system])
    omics.write(cells, model)
    near, far = (cells.obsp[f"consilience_{name}"] for name in ("connectivities", "distances"))
    assert sparse.issparse(near) and near.format == far.format == "csr"
    assert near.dtype == np.float32 and near.data.max() == 1
    graph = model.graph_.toarray()
    np.testing.assert_allclose(near.toarray(), graph / graph.max(), rtol=1e-6)
    np.testing.assert_array_equal(near.toarray() > 0, graph > 0)
    np.testing.assert_array_equal(far.toarray() > 0, graph > 0)
    np.testing.assert_array_equal(far.toarray(), far.T.toarray())
    order = np.argsort(near.data, kind="stable")
    assert (np.diff(far.data[order])[np.diff(near.data[order]) > 0] < 0).all()
    assert (np.diff(far.data[order])[np.diff(near.data[order]) == 0] == 0).all()
    assert far.data.min() > 0


def test_contributions_and_conflicts(cells):
    model = fitted(cells)
    found = sample_conflicts(model)
    omics.write(cells, model, conflicts=found)
    shares = sample_contributions(model).shares
    for i, name in enumerate(("rna", "prot", "atac")):
        np.testing.assert_array_equal(cells.obs[f"consilience_contribution_{name}"], shares[:, i])
        np.testing.assert_array_equal(cells.obs[f"consilience_conflict_{name}"], found.scores[:, i])
        np.testing.assert_array_equal(cells.obs[f"consilience_flagged_{name}"], found.flagged[:, i])
        absent = ~cells.obs_names.isin(cells[name].obs_names)
        np.testing.assert_array_equal(np.isnan(shares[:, i]), absent)
    np.testing.assert_allclose(np.nansum(shares, axis=1), 1.0)
    with pytest.raises(ValueError, match="conflicts are those of another model"):
        omics.write(cells, model, conflicts=sample_conflicts(fitted(cells["rna"])))


def test_round_trip_of_a_mudata(mu, cells, tmp_path):
    omics.write(cells, fitted(cells), conflicts=sample_conflicts(fitted(cells)))
    before = kept(cells)
    cells.write(tmp_path / "cells.h5mu")
    check_same(before, kept(mu.read_h5mu(tmp_path / "cells.h5mu")))
    check_same(before, kept(cells))


def test_round_trip_of_an_anndata(ad, one, tmp_path):
    asked = {"rna": "X", "protein/a": "protein", "atac": "peaks"}
    model = omics.cluster(one, 3, use_rep=asked, key_added="fused")  # no seed
    assert "random_state" not in one.uns["fused"]["params"]
    assert "fused_contribution_protein_a" in one.obs
    np.testing.assert_array_equal(one.obs["fused"].astype(int), model.labels_)
    before = kept(one, "fused")
    one.write_h5ad(tmp_path / "one.h5ad")
    check_same(before, kept(ad.read_h5ad(tmp_path / "one.h5ad"), "fused"))


def test_one_call_is_the_three(cells):
    other = cells.copy()
    model = fitted(cells)
    omics.write(cells, model)
    returned = omics.cluster(other, 3, random_state=0)
    assert isinstance(returned, DistanceGraphFusion)
    check_same(kept(cells), kept(other))


def test_cells_in_another_order_are_matched_by_name(one):
    model = omics.cluster(one, 3, use_rep=["X", "protein", "peaks"], random_state=0)
    order = np.random.default_rng(0).permutation(240)
    shuffled = one[order].copy()
    omics.write(shuffled, model)
    first, second = kept(one), kept(shuffled)
    pd.testing.assert_frame_equal(first[0].iloc[order], second[0])
    for name in first[1]:
        np.testing.assert_array_equal(first[1][name][np.ix_(order, order)], second[1][name])
    np.testing.assert_array_equal(first[2][order], second[2])


def test_views_whose_names_differ_by_a_slash_have_columns_of_their_own(one):
    views = omics.views_of(one, {"a/b": "X", "a_b": "protein"})
    model = DistanceGraphFusion(n_clusters=3, random_state=0).fit(views)
    omics.write(one, model)
    written = one.obs[["consilience_contribution_a_b", "consilience_contribution_a_b_2"]]
    np.testing.assert_array_equal(written, sample_contributions(model).shares)


def test_a_second_result_replaces_the_first(one):
    model = omics.cluster(one, 3, use_rep=["X", "protein", "peaks"], random_state=0)
    omics.write(one, model, conflicts=sample_conflicts(model))
    one.obs["mine"] = 1
    omics.cluster(one, 2, use_rep=["X", "protein"], random_state=0)
    assert one.obs["consilience"].cat.categories.tolist() == ["0", "1"]
    assert [name for name in one.obs if name.startswith("consilience_")] == [
        "consilience_contribution_X",
        "consilience_contribution_protein",
    ]
    assert "mine" in one.obs


def test_what_cannot_be_written(one, planted):
    model = fitted(one)
    before = one.copy()
    with pytest.raises(ValueError, match=r"1 cells of the data were not in the fit, for example 'odd'"):
        other = one.copy()
        other.obs_names = [*one.obs_names[:-1], "odd"]
        omics.write(other, model)
    with pytest.raises(ValueError, match=r"40 cells of the fit are not in the data, for example 'cell100'"):
        omics.write(one[np.r_[:100, 140:240]].copy(), model)
    with pytest.raises(ValueError, match="a view of another object"):
        omics.write(one[::-1], model)
    with pytest.raises(ValueError, match="samples without ids"):
        omics.write(one, DistanceGraphFusion(n_clusters=3, random_state=0).fit(planted[0]))
    with pytest.raises(ValueError, match=r"Only a fitted .* not DistanceGraphFusion"):
        omics.write(one, DistanceGraphFusion())
    with pytest.raises(ValueError, match="into an AnnData or MuData, not a dict"):
        omics.write({}, model)
    with pytest.raises(ValueError, match="a name without '/', got 'a/b'"):
        omics.cluster(one, 3, key_added="a/b")
    assert list(one.obs) == list(before.obs) and not len(one.obsp) and not len(one.uns)


def test_an_average_cannot_be_written(one):
    before = one.copy()
    average = AverageGraph(n_clusters=3, random_state=0).fit(omics.views_of(one))
    with pytest.raises(ValueError, match="not AverageGraph"):
        omics.write(one, average)
    assert list(one.obs) == list(before.obs) and not len(one.obsp) and not len(one.uns)
