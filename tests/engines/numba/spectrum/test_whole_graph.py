"""Components and symmetry of graphs, next to what SciPy finds."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from consilience import make_multiview
from consilience.engines.numba.spectrum import whole_graph
from consilience.engines.numba.spectrum.whole_graph import KERNELS, find_components, is_symmetric
from consilience.spectra import NormalizedLaplacian
from consilience.stages import spectral_embedding


def graph_of(n, pairs):
    rows, columns = np.array(pairs, dtype=int).reshape(-1, 2).T
    graph = sparse.coo_array((np.ones(len(rows)), (rows, columns)), shape=(n, n)).tocsr()
    graph = sparse.csr_array(graph + graph.T)
    graph.data[:] = 1
    return graph


@given(st.data(), st.integers(1, 40))
@settings(max_examples=200, deadline=None)
def test_the_same_as_scipy_finds(data, n):
    pairs = data.draw(st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=50))
    graph = graph_of(n, pairs)
    expected = NormalizedLaplacian(graph)
    found = NormalizedLaplacian(graph, KERNELS)
    np.testing.assert_array_equal(found.components, expected.components)
    assert (found.n_connected, found.n_isolated) == (expected.n_connected, expected.n_isolated)


@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_long_chains_in_any_order(index):
    n = 100_000
    order = np.random.default_rng(0).permutation(n)
    pairs = np.stack([order[:-1], order[1:]], axis=1)[np.arange(n - 1) % 1000 != 999]  # a hundred chains
    graph = graph_of(n, pairs)
    graph.indices, graph.indptr = graph.indices.astype(index), graph.indptr.astype(index)
    found = find_components(graph)
    assert found.dtype == np.intp
    np.testing.assert_array_equal(found, NormalizedLaplacian(graph).components)
    assert len(np.unique(found)) == 100


@pytest.mark.filterwarnings("ignore:The graph has .* connected components")
def test_embeddings_of_many_samples_use_them(monkeypatch):
    sizes = []
    watched = replace(KERNELS, find_components=lambda g: sizes.append(g.shape[0]) or find_components(g))
    monkeypatch.setattr(whole_graph, "KERNELS", watched)
    for n in (300, 20_500):
        blobs = make_multiview(n, n_views=1, n_clusters=3, separation=9.0, random_state=0)
        x = blobs.views["view_0"][:, :1]
        order = np.argsort(x[:, 0])
        chain = graph_of(n, np.stack([order[:-1], order[1:]], axis=1)[np.arange(n - 1) % 100 != 99])
        spectral_embedding(chain, 3, random_state=0)
    assert sizes == [20_500]


@given(st.data(), st.integers(1, 30))
@settings(max_examples=200, deadline=None)
def test_a_graph_is_symmetric_if_it_is_its_transpose(data, n):
    pairs = data.draw(st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=40))
    graph = graph_of(n, pairs)
    graph.data[:] = np.random.default_rng(len(pairs)).integers(1, 4, graph.nnz)
    graph = sparse.csr_array(graph + graph.T) if data.draw(st.booleans()) else graph
    assert is_symmetric(graph) == ((graph != graph.T).nnz == 0)


@pytest.mark.parametrize("change", ["weight", "place", "missing"])
def test_one_entry_is_enough(change):
    x = sparse.random(3000, 3000, density=0.003, random_state=0, format="csr")
    graph = sparse.csr_array(x + x.T)
    assert is_symmetric(graph)
    if change == "weight":
        graph.data[777] = np.nextafter(graph.data[777], 9)
    elif change == "missing":
        graph.data[777] = 0
        graph.eliminate_zeros()
    else:
        rows = np.repeat(np.arange(3000), np.diff(graph.indptr))
        free = next(c for c in range(3000) if c not in graph.indices[rows == rows[777]])
        graph.indices[777] = free
    assert not is_symmetric(graph)


def test_a_graph_that_is_not_symmetric_is_refused_all_the_same():
    graph = graph_of(4, [(0, 1), (2, 3)])
    graph.data[0] = 2.0
    with pytest.raises(ValueError, match="must be symmetric"):
        NormalizedLaplacian(graph, KERNELS)
    graph.data[0] = 1 + 1e-15  # as far as rounding goes, it is
    assert NormalizedLaplacian(graph, KERNELS).n_connected == 2
