import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from consilience import DistanceGraphFusion, Views, omics


def dense(values):
    return values.toarray() if sparse.issparse(values) else np.asarray(values)


def test_a_view_per_modality_over_all_cells(cells, planted):
    views = omics.views_of(cells)
    assert views.names == ("rna", "prot", "atac")
    assert views.sample_ids.tolist() == cells.obs_names.tolist()
    assert [array.dtype for array in views.arrays] == [np.float64, np.float32, np.float64]
    assert [sparse.issparse(array) for array in views.arrays] == [False, False, True]
    where = np.array([int(name[4:]) for name in views.sample_ids])
    for i, (name, modality) in enumerate(cells.mod.items()):
        seen = cells.obs_names.isin(modality.obs_names)
        np.testing.assert_array_equal(views.mask[:, i], seen)
        assert 0 < (~seen).sum() < len(seen)
        expected = np.where(seen[:, None], planted[0][name][where], 0.0)
        np.testing.assert_allclose(dense(views[name]), expected, rtol=1e-6)
        assert views.feature_names[i].tolist() == modality.var_names.tolist()


def test_complete_modalities_have_no_mask_and_are_not_copied(ad, mu, planted):
    names = pd.DataFrame(index=[f"cell{i}" for i in range(240)])
    columns = [[f"{name}{j}" for j in range(x.shape[1])] for name, x in planted[0].items()]
    data = mu.MuData(
        {
            name: ad.AnnData(x, obs=names, var=pd.DataFrame(index=own))
            for (name, x), own in zip(planted[0].items(), columns, strict=True)
        }
    )
    views = omics.views_of(data)
    assert views.mask is None
    assert all(np.shares_memory(views[name], data[name].X) for name in data.mod)


def test_estimators_take_them_directly(cells, one):
    views = omics.views_of(cells)
    direct = Views(cells)
    assert direct.fingerprint() == views.fingerprint()
    assert [names.tolist() for names in direct.feature_names] == [x.tolist() for x in views.feature_names]
    model = DistanceGraphFusion(n_clusters=3, random_state=0)
    labels = model.fit_predict(views)
    np.testing.assert_array_equal(model.fit_predict(cells), labels)
    assert model.sample_ids_.tolist() == cells.obs_names.tolist()
    assert Views(one).names == ("X",)


def test_the_default_is_pca_where_there_is_one(cells):
    cells["prot"].obsm["X_pca"] = np.arange(360.0).reshape(180, 2)
    views = omics.views_of(cells)
    assert views.n_features == (10, 2, 10)
    assert omics.views_of(cells, "X").n_features == (10, 10, 10)
    assert omics.views_of(cells, {"prot": "X"}).n_features == (10, 10, 10)
    assert omics.views_of(cells, {"rna": "X"}).n_features == (10, 2, 10)
    row = cells["prot"].obs_names.get_loc(views.sample_ids[views.mask[:, 1]][0])
    np.testing.assert_array_equal(views["prot"][views.mask[:, 1]][0], [2 * row, 2 * row + 1])


def test_representations_of_an_anndata(one, planted):
    asked = {"rna": "layers/half", "protein": "protein", "atac": "obsm/peaks", "all": "X"}
    views = omics.views_of(one, asked)
    assert views.names == tuple(asked)
    np.testing.assert_array_equal(views["rna"], planted[0]["rna"] / 2)
    np.testing.assert_array_equal(views["protein"], planted[0]["prot"])
    assert sparse.issparse(views["atac"])
    np.testing.assert_array_equal(views["atac"].toarray(), planted[0]["atac"])
    assert views.feature_names[0][0] == "gene0" and views.feature_names[1][0] == "protein0"
    assert views.feature_names[2] is None
    assert omics.views_of(one, ["X", "layers/half"]).names == ("X", "half")
    assert omics.views_of(one, "protein").names == ("protein",)


def test_two_representations_of_one_name_are_not_taken_for_one(one):
    one.layers["protein"] = one.X * 3
    for asked in (["obsm/protein", "layers/protein"], ["protein", "protein"]):
        with pytest.raises(ValueError, match=f"{asked[0]!r} and {asked[1]!r}, which would both be called"):
            omics.views_of(one, asked)
    both = omics.views_of(one, {"seen": "obsm/protein", "other": "layers/protein"})
    assert both.names == ("seen", "other")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("rep", ["X", "X_pca"])
def test_new_cells_come_as_they_did_at_fit(one, rep):
    if rep == "X_pca":
        one.obsm[rep] = np.asarray(one.obsm["protein"])[:, :6]  # other columns than those of X
    model = DistanceGraphFusion(n_clusters=3, random_state=0).fit(one)
    assert model.view_names_.tolist() == [rep]
    assert (model.predict(one[::3]) == model.labels_[::3]).all()
    if rep == "X":
        with pytest.raises(ValueError, match="'gene9', at fit it was 'gene0'; pass the columns of the fit"):
            model.predict(one[:, ::-1])


def test_a_key_that_looks_like_a_place(one):
    one.obsm["X"] = np.ones((240, 1))
    assert omics.views_of(one, "X").n_features == (10,)
    assert omics.views_of(one, "obsm/X").n_features == (1,)


def test_a_table_in_a_modality_that_lacks_cells(cells):
    frame = pd.DataFrame({"a": np.arange(180.0)}, index=cells["prot"].obs_names)
    cells["prot"].obsm["tags"] = frame
    views = omics.views_of(cells, {"prot": "tags"})
    seen = views.mask[:, 1]
    np.testing.assert_array_equal(views["prot"][seen, 0], frame.loc[views.sample_ids[seen], "a"])
    np.testing.assert_array_equal(seen, cells.obs_names.isin(frame.index))


@pytest.mark.parametrize("sparsely", [True, False])
def test_data_still_in_the_file_is_read(ad, one, tmp_path, sparsely):
    if sparsely:
        one.X = sparse.csr_matrix(one.X)
    one.write_h5ad(tmp_path / "one.h5ad")
    backed = ad.read_h5ad(tmp_path / "one.h5ad", backed="r")
    assert backed.isbacked
    np.testing.assert_array_equal(dense(omics.views_of(backed)["X"]), dense(one.X))
    part = omics.views_of(backed[10:20])
    np.testing.assert_array_equal(dense(part["X"]), dense(one.X)[10:20])
    backed.file.close()


def test_a_backed_mudata_is_read(mu, cells, tmp_path):
    cells.write(tmp_path / "cells.h5mu")
    backed = mu.read_h5mu(tmp_path / "cells.h5mu", backed="r")
    assert omics.views_of(backed).fingerprint() == omics.views_of(cells).fingerprint()
    backed.file.close()


def test_a_part_of_the_cells(cells):
    views = omics.views_of(cells[50:150])
    whole = omics.views_of(cells)[50:150]
    assert views.fingerprint() == whole.fingerprint()
    assert views.sample_ids.tolist() == whole.sample_ids.tolist()


def test_what_is_wrong_is_said(ad, mu, cells, one):
    for use_rep, words in [
        ("X_umap", r"modality 'rna' has no representation 'X_umap': there are 'X'$"),
        ({"dna": "X"}, r"names the modality 'dna'; the modalities are 'rna', 'prot' and 'atac'"),
        (["X"], "a str, or a dict with one representation for each modality"),
        ({"rna": 3}, "no representation 3"),
    ]:
        with pytest.raises(ValueError, match=words):
            omics.views_of(cells, use_rep)
    for use_rep, words in [
        (
            "half",
            r"no representation 'half': there are 'X', 'protein', 'peaks' and 'layers/half'; did you mean "
            "'layers/half'",
        ),
        ("layers/none", "no representation 'layers/none'"),
        ([], "names no representation"),
    ]:
        with pytest.raises(ValueError, match=words):
            omics.views_of(one, use_rep)
    with pytest.raises(ValueError, match="has neither 'X_pca' nor X: say with use_rep which of 'only'"):
        omics.views_of(ad.AnnData(obs=pd.DataFrame(index=["a", "b"]), obsm={"only": np.eye(2)}))
    with pytest.raises(ValueError, match="a list is neither an AnnData nor a MuData"):
        omics.views_of([1])


def test_names_that_occur_twice(ad, mu):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # theirs, about the same
        twice = ad.AnnData(np.eye(3), obs=pd.DataFrame(index=["a", "b", "a"]))
    with pytest.raises(
        ValueError, match=r"'a' occurs more than once in obs_names: call obs_names_make_unique"
    ):
        omics.views_of(twice)


def test_modalities_that_share_no_cells(ad, mu, one):
    sets = mu.MuData({"first": one[:100].copy(), "second": one[100:].copy()}, axis=1)
    with pytest.raises(ValueError, match=r"share variables, not cells \(axis=1\)"):
        omics.views_of(sets)


def test_a_modality_changed_behind_the_back(cells):
    cells["rna"].obs_names = [f"new{i}" for i in range(200)]
    with pytest.raises(ValueError, match=r"modality 'rna' has the cell 'new0'.*update\(\)"):
        omics.views_of(cells)


class Cells:
    """Something that looks like an AnnData; for those who have none."""

    def __init__(self, x, names, **obsm):
        self.X, self.obs_names, self.obsm, self.layers = x, names, obsm, {}
        self.var_names = [f"v{j}" for j in range(x.shape[1])]


class Modalities:
    axis = 0

    def __init__(self, names, **mod):
        self.obs_names, self.mod, self.obsm = names, mod, {}


def test_they_are_known_by_what_they_have():
    first = Cells(np.arange(6.0).reshape(3, 2), ["a", "b", "c"])
    second = Cells(sparse.csr_array([[5.0], [7.0]]), ["d", "b"])
    views = omics.views_of(Modalities(["a", "b", "c", "d"], first=first, second=second))
    np.testing.assert_array_equal(views.mask, [[1, 0], [1, 1], [1, 0], [0, 1]])
    np.testing.assert_array_equal(views["first"], [[0, 1], [2, 3], [4, 5], [0, 0]])
    np.testing.assert_array_equal(views["second"].toarray(), [[0], [7], [0], [5]])
    assert omics.views_of(first, {"one": "X"}).names == ("one",)


def test_a_damaged_sparse_matrix_is_refused():
    values = sparse.csc_array(np.eye(3))
    values.indices[0] = 7  # a row that there is not
    with pytest.raises(ValueError, match="this AnnData, X is a damaged sparse matrix"):
        omics.views_of(Cells(values, ["a", "b", "c"]))


def test_data_that_cannot_be_read_any_more():
    class Gone:
        shape = (3, 1)

        def to_memory(self):
            raise RuntimeError("the file is closed")

    with pytest.raises(ValueError, match=r"X cannot be read \(the file is closed\): load the data"):
        omics.views_of(Cells(Gone(), ["a", "b", "c"]))
