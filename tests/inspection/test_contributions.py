"""How much each view brought to each sample, next to a plain loop over the edges."""

import numpy as np
import pytest
from scipy import sparse

from consilience import DistanceGraphFusion, SimilarityGraphFusion, Views, fuse_graphs, make_multiview
from consilience.inspection import sample_contributions


def by_loops(fusion, graph):
    """Return what `sample_contributions` says, from the definition, for the views that were kept."""
    edges, v = fusion.edges, len(fusion.view_names)
    sums, seen = np.zeros((edges.n_samples, v)), np.zeros((edges.n_samples, v), dtype=bool)
    mean = fusion.fused.mean()
    for i in range(edges.n_samples):
        for e in range(edges.indptr[i], edges.indptr[i + 1]):
            for view in range(v):
                if fusion.seen_by_view is not None and not fusion.seen_by_view[view, e]:
                    continue
                seen[i, view] = seen[edges.indices[e], view] = True
                if graph[i, edges.indices[e]] == 0:
                    continue
                said = fusion.view_scales[view] * fusion.consistent[e, view]
                if fusion.kind == "distance":
                    said = np.exp(-said / (2 * mean))
                trust = 1.0 if fusion.trust_by_view is None else fusion.trust_by_view[view, e]
                sums[i, view] += fusion.view_weights[view] * trust * said
    shares = sums / sums.sum(axis=1, keepdims=True)
    shares[~seen] = np.nan
    return shares


@pytest.mark.parametrize("system", [SimilarityGraphFusion, DistanceGraphFusion])
@pytest.mark.parametrize("rows", ["agreement", "uniform"])
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_as_the_loop(system, rows, missing):
    data = make_multiview(
        150, n_views=3, n_clusters=3, separation=5.0, missing=missing, scrambled=[0.2, 0, 0], random_state=1
    )
    model = system(n_clusters=3, row_weights=rows, random_state=0).fit(Views(data.views, mask=data.mask))
    if not missing:  # with gaps, hardly a row stands out
        assert (model.fusion_.trust_by_view is None) == (rows == "uniform")
    found = sample_contributions(model)
    np.testing.assert_allclose(found.shares, by_loops(model.fusion_, model.graph_.toarray()), rtol=1e-10)
    np.testing.assert_allclose(np.nansum(found.shares, axis=1), 1.0)
    if data.mask is not None:
        np.testing.assert_array_equal(np.isnan(found.shares), ~data.mask)
    assert found.names == tuple(data.views) and len(found.sample_names) == 150


@pytest.mark.parametrize("kind", ["similarity", "distance"])
def test_of_graphs(kind):
    rng = np.random.default_rng(0)
    pattern = np.triu(rng.random((20, 20)) < 0.4, 1)
    graphs = [np.where(pattern, rng.uniform(0.1, 1.0, (20, 20)), 0.0) for _ in range(2)]
    result = fuse_graphs([sparse.csr_array(graph + graph.T) for graph in graphs], kind=kind)
    np.testing.assert_allclose(
        sample_contributions(result).shares, by_loops(result, np.ones((20, 20))), rtol=1e-10
    )


def test_a_view_left_out_brings_nothing_and_keeps_its_place():
    data = make_multiview(120, n_views=3, n_clusters=3, separation=4.0, random_state=0)
    views = {**data.views, "noise": np.random.default_rng(0).normal(size=(120, 5))}
    with pytest.warns(UserWarning, match="noise"):
        model = DistanceGraphFusion(n_clusters=3, random_state=0).fit(views)
    shares = sample_contributions(model).shares
    assert model.view_weights_[3] == 0 and (shares[:, 3] == 0).all()
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)


@pytest.mark.parametrize("system", [SimilarityGraphFusion, DistanceGraphFusion])
def test_rows_in_the_wrong_place_bring_less(system):
    data = make_multiview(400, n_views=3, n_clusters=4, separation=5.0, scrambled=[0.2, 0, 0], random_state=1)
    model = system(n_clusters=4, row_weights="uniform", random_state=0).fit(data.views)
    shares, wrong = sample_contributions(model).shares[:, 0], data.scrambled[:, 0]
    assert shares[wrong].mean() < 0.85 * shares[~wrong].mean()
