"""Sparse matrices with indices outside their shape: SciPy accepts them, compiled code never sees them."""

import subprocess
import sys
import warnings

import numpy as np
import pytest
from scipy import sparse

from consilience import DistanceGraphFusion, EdgeSet, Views, fuse_graphs, graph_view
from consilience.graphs import check_sparse
from consilience.inspection import does_fusion_help
from consilience.models import SharedViews
from consilience.stages import nearest_neighbors, select_n_clusters, spectral_clustering, spectral_embedding

FORMATS = ("csr", "csc", "bsr", "coo", "lil", "dok", "dia")


def sound(n=40, d=12, seed=0, form="csr"):
    return sparse.csr_array(
        sparse.random(n, d, density=0.4, random_state=np.random.default_rng(seed))
    ).asformat(form)


def damaged(how, n=40, d=12, seed=0, square=False):
    """Return a CSR matrix with one thing wrong."""
    matrix = sparse.csr_array(sound(n, n if square else d, seed))
    data, indices, indptr = matrix.data.copy(), matrix.indices.copy(), matrix.indptr.copy()
    if how == "column too large":
        indices[7] = 10**9
    elif how == "column just beyond":
        indices[7] = matrix.shape[1]
    elif how == "negative column":
        indices[7] = -5
    elif how == "row begins late":
        indptr[3] = indptr[-1] + 50
    elif how == "last row ends late":
        indptr[-1] += 100
    elif how == "rows descend":
        indptr[5], indptr[6] = indptr[6], indptr[5] - 1
    result = sparse.csr_array(matrix.shape)
    result.data, result.indices, result.indptr = data, indices, indptr  # what the constructor does not see
    return result


DAMAGES = (
    "column too large",
    "column just beyond",
    "negative column",
    "row begins late",
    "last row ends late",
    "rows descend",
)


@pytest.mark.parametrize("form", FORMATS)
def test_sound_matrices_pass(form):
    matrix = sound(form=form)
    before = matrix.toarray()
    check_sparse(matrix, "it")
    np.testing.assert_array_equal(matrix.toarray(), before)
    check_sparse(sparse.csr_array((3, 2)), "it")
    check_sparse(sparse.coo_array((3, 2)), "it")


def test_unused_room_is_no_damage():
    matrix = sparse.csr_array(sound())
    roomy = sparse.csr_array(matrix.shape)
    roomy.data, roomy.indices = np.append(matrix.data, 0.0), np.append(matrix.indices, 10**6).astype(np.int32)
    roomy.indptr = matrix.indptr
    check_sparse(roomy, "it")
    np.testing.assert_array_equal(Views([roomy]).arrays[0].toarray(), matrix.toarray())


@pytest.mark.parametrize("how", DAMAGES)
@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csr_matrix])
def test_views_refuse_damaged_rows(how, form):
    matrix = damaged(how)
    whole = form(matrix.shape)
    whole.data, whole.indices, whole.indptr = matrix.data, matrix.indices, matrix.indptr
    with pytest.raises(ValueError, match="view 'words' is a damaged sparse matrix"):
        Views({"words": whole, "other": np.ones((40, 2))})


def test_the_message_says_where():
    matrix = damaged("column just beyond")
    row = int(np.searchsorted(matrix.indptr, 7, side="right")) - 1
    with pytest.raises(
        ValueError, match=rf"row {row} has an entry in column 12, and columns are 0 to 11; build"
    ):
        Views({"words": matrix})


def test_other_formats():
    columns = sparse.csc_array(sound())
    columns.indices = columns.indices.copy()
    columns.indices[3] = 40
    with pytest.raises(ValueError, match=r"column \d+ has an entry in row 40, and rows are 0 to 39"):
        Views([columns])
    blocks = sparse.bsr_array(sound(), blocksize=(2, 3))
    blocks.indices = blocks.indices.copy()
    blocks.indices[0] = 4
    with pytest.raises(ValueError, match="block columns are 0 to 3"):
        Views([blocks])
    entries = sparse.coo_array(sound())
    entries.col[2] = -1
    with pytest.raises(ValueError, match="it has an entry in column -1, and columns are 0 to 11"):
        Views([entries])
    entries = sparse.coo_array(sound())
    entries.row[2] = 40
    with pytest.raises(ValueError, match="it has an entry in row 40"):
        Views([entries])


@pytest.mark.parametrize("how", DAMAGES)
def test_fit_predict_and_the_rest_refuse_them(how):
    good = [sound(seed=1), sound(seed=2)]
    bad = [sound(seed=1), damaged(how)]
    model = DistanceGraphFusion(
        n_clusters=2, metric="cosine", view_weights="uniform", row_weights="uniform", random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of random views: their graphs fall into pieces
        model.fit(good)
    for call in (
        lambda: DistanceGraphFusion(n_clusters=2).fit(bad),
        lambda: model.predict(bad),
        lambda: model.predict({"view_1": bad[1]}),
        lambda: SharedViews(bad),
        lambda: does_fusion_help(bad, 2),
        lambda: nearest_neighbors(bad[1], 3),
    ):
        with pytest.raises(ValueError, match="damaged sparse matrix"):
            call()


@pytest.mark.parametrize("how", DAMAGES)
def test_graphs(how):
    bad = damaged(how, square=True)
    for call in (
        lambda: graph_view(bad, kind="similarity"),
        lambda: fuse_graphs([bad, bad], kind="similarity"),
        lambda: spectral_embedding(bad, 2),
        lambda: spectral_clustering(bad, 2),
        lambda: select_n_clusters(bad),
        lambda: EdgeSet.from_support([bad]),
        lambda: EdgeSet.union([np.array([[1], [0]])]).take(bad),
        lambda: DistanceGraphFusion(n_clusters=2, metric="precomputed_distance").fit([bad]),
    ):
        with pytest.raises(ValueError, match="damaged sparse matrix"):
            call()


def test_the_process_survives():
    """Before there was a check, this read far beyond the end of an array and killed the process."""
    program = """
import numpy as np
from scipy import sparse
from consilience import DistanceGraphFusion
x = sparse.csr_array(sparse.random(300, 50, density=0.3, random_state=np.random.default_rng(0)))
x.indices[:] = 2**31 - 1
for metric in ("cosine", "euclidean"):
    try:
        DistanceGraphFusion(n_clusters=2, metric=metric).fit([x, x])
    except ValueError as error:
        print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and done.stdout.count("damaged sparse matrix") == 2, done.stderr
