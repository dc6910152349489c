"""Writing a fit into an AnnData or MuData, in the layout of scanpy.

scanpy's connectivities are numbers up to 1, in single precision; so are ours: the unified graph is scaled to
the largest value 1. (Neither scanpy's Leiden nor its UMAP depends on that scale; it is for the reader.)
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from ..inspection import SampleConflicts, sample_contributions
from ..models.fusion import GraphFusion
from ..views.annotated import cell_names, is_anndata, is_mudata

_NEAREST = 1e-3  # the distance written where the connectivity is 1: 0 would be no entry


def write(
    data: Any, model: GraphFusion, key: str = "consilience", conflicts: SampleConflicts | None = None
) -> None:
    r"""Write a fit into an AnnData or MuData, so that scanpy goes on from there.

    With the default `key`, it writes the following; earlier results of that name are replaced:

    - ``obs["consilience"]``: the clusters, as a categorical of strings;
    - ``obs["consilience_contribution_<view>"]``: how much each view contributed to a cell's place in the
      unified graph; they sum to 1, and are NaN where the view has not seen the cell;
    - ``obs["consilience_conflict_<view>"]`` and ``obs["consilience_flagged_<view>"]``, if `conflicts` are
      given: the probability that the view's row contradicts the other views, and whether it is flagged;
    - ``obsm["X_consilience"]``: the spectral embedding;
    - ``obsp["consilience_connectivities"]``: the unified graph, its largest weight 1;
    - ``obsp["consilience_distances"]``: distances on the same edges, made from the connectivities;
    - ``uns["consilience"]``: where these are, settings, and the views with their contributions.

    So ``sc.tl.leiden(data, neighbors_key="consilience")`` and ``sc.tl.umap(data,
    neighbors_key="consilience")`` run on the unified graph.

    Parameters
    ----------
    data : AnnData or MuData
        The cells that the model was fitted to, in any order. It is changed in place; nothing is if there is
        an error.
    model : SimilarityGraphFusion or DistanceGraphFusion
        Fitted to these cells, such as to ``views_of(data)``.
    key : str, default="consilience"
        The name of the result.
    conflicts : SampleConflicts, default=None
        What `consilience.inspection.sample_conflicts` found in the model, to be written too.

    Raises
    ------
    ValueError
        If the cells are others than those of the model (the message names one), or `data` is a view of
        another object.

    See Also
    --------
    consilience.omics.cluster : Views, fit and this in one call.

    Notes
    -----
    A connectivity :math:`w` stands for the distance at which a Gaussian kernel of width 1 has that value. In
    a sparse matrix a distance of 0 is no entry, so :math:`\sqrt{10^{-6} - 2 \log w}` is written: always
    positive, and smaller for a larger weight. ``n_neighbors`` does not count the cell itself. scanpy's UMAP
    notes that the graph was not made by UMAP; that is true, and no error.

    Examples
    --------
    >>> from consilience import SimilarityGraphFusion, omics  # doctest: +SKIP
    >>> model = SimilarityGraphFusion(n_clusters=8).fit(omics.views_of(cells))  # doctest: +SKIP
    >>> omics.write(cells, model)  # doctest: +SKIP
    """
    check_target(data, key)
    if not isinstance(model, GraphFusion) or not hasattr(model, "fusion_"):
        raise ValueError(
            "Only a fitted SimilarityGraphFusion or DistanceGraphFusion can be written, not "
            f"{type(model).__name__}: fit one to views_of(data) first."
        )
    order = _order(data, model)
    columns = _columns(model, key, conflicts)
    connectivities = _connectivities(model, order)
    settings = _settings(model, key)
    prefixes = tuple(f"{key}_{what}_" for what in ("contribution", "conflict", "flagged"))
    for column in [name for name in data.obs.columns if str(name).startswith(prefixes)]:
        del data.obs[column]  # of views that are no longer there
    for name, values in columns.items():
        data.obs[name] = values[order]
    data.obsm[f"X_{key}"] = model.embedding_[order]
    data.obsp[settings["connectivities_key"]] = connectivities
    data.obsp[settings["distances_key"]] = _distances(connectivities)
    data.uns[key] = settings


def check_target(data: Any, key: Any) -> None:
    """Raise a ValueError if nothing can be written there: better before the work than after."""
    if not is_mudata(data) and not is_anndata(data):
        raise ValueError(f"The result can be written into an AnnData or MuData, not a {type(data).__name__}.")
    if not isinstance(key, str) or not key or "/" in key:
        raise ValueError(f"The key must be a name without '/', got {key!r}.")
    if data.is_view:
        raise ValueError("The data is a view of another object: take a copy first, data = data.copy().")


def _order(data: Any, model: GraphFusion) -> Any:
    """Return where in the model each cell of the data is."""
    if model.sample_ids_ is None:
        raise ValueError(
            "The model was fitted to samples without ids, so nobody knows which cells they are: fit it to "
            "consilience.omics.views_of(data)."
        )
    cells, known = cell_names(data).tolist(), model.sample_ids_.tolist()
    at = {name: i for i, name in enumerate(known)}
    missing = [name for name in cells if name not in at]
    if missing:
        raise ValueError(
            f"{len(missing)} cells of the data were not in the fit, for example {missing[0]!r}: write the "
            "model into the data that it was fitted to."
        )
    gone = set(known).difference(cells)
    if gone:
        first = next(name for name in known if name in gone)
        raise ValueError(
            f"{len(gone)} cells of the fit are not in the data, for example {first!r}: write the model into "
            "the data that it was fitted to, and take a part of it afterwards."
        )
    return np.array([at[name] for name in cells], dtype=np.intp)


def _columns(model: GraphFusion, key: str, conflicts: SampleConflicts | None) -> dict[str, Any]:
    """Return what goes into obs, in the order of the model."""
    import pandas as pd  # comes with AnnData

    n_clusters = int(model.labels_.max()) + 1
    columns: dict[str, Any] = {
        key: pd.Categorical(model.labels_.astype(str), categories=list(map(str, range(n_clusters))))
    }
    names = _in_columns(model.view_names_)
    shares = sample_contributions(model).shares
    columns |= {f"{key}_contribution_{name}": share for name, share in zip(names, shares.T, strict=True)}
    if conflicts is not None:
        if conflicts.scores.shape != shares.shape or conflicts.names != tuple(model.view_names_):
            raise ValueError("These conflicts are those of another model: pass sample_conflicts(model).")
        columns |= {
            f"{key}_conflict_{name}": one for name, one in zip(names, conflicts.scores.T, strict=True)
        }
        columns |= {
            f"{key}_flagged_{name}": one for name, one in zip(names, conflicts.flagged.T, strict=True)
        }
    return columns


def _in_columns(names: Any) -> list[str]:
    """Return the names of views as parts of column names, all different."""
    found: list[str] = []
    for name in names:
        plain = unique = str(name).replace("/", "_")  # "/" would end a name in HDF5
        number = 2
        while unique in found:
            unique, number = f"{plain}_{number}", number + 1
        found.append(unique)
    return found


def _connectivities(model: GraphFusion, order: Any) -> sparse.csr_matrix:
    """Return the unified graph as scanpy keeps graphs: CSR, single precision, no number above 1."""
    graph = model.graph_
    if not np.array_equal(order, np.arange(len(order))):
        graph = graph[order][:, order]
    graph = sparse.csr_matrix(graph, copy=True)
    graph.sort_indices()
    scaled = (graph.data / graph.data.max(initial=0.0)) if graph.nnz else graph.data
    graph.data = np.maximum(scaled, np.finfo(np.float32).tiny).astype(np.float32)  # 0 would be no edge
    return graph


def _distances(connectivities: sparse.csr_matrix) -> sparse.csr_matrix:
    """Return positive distances on the edges of the connectivities, the shorter the stronger."""
    distances = connectivities.astype(np.float64)
    distances.data = np.sqrt(_NEAREST**2 - 2 * np.log(distances.data))
    return distances


def _settings(model: GraphFusion, key: str) -> dict[str, Any]:
    """Return what goes into uns: keys and parameters as in scanpy, and the results for each view."""
    params: dict[str, Any] = {
        "n_neighbors": int(model.n_neighbors_),
        "method": type(model).__name__,
        "metric": "euclidean",  # of the embedding, which is what use_rep names
        "use_rep": f"X_{key}",
        "n_clusters": int(model.labels_.max()) + 1,
    }
    if isinstance(model.params_["random_state"], (int, np.integer)):
        params["random_state"] = int(model.params_["random_state"])
    return {
        "connectivities_key": f"{key}_connectivities",
        "distances_key": f"{key}_distances",
        "params": params,
        # Arrays, not dicts by view: a file allows no "/" in keys.
        "views": {
            "names": np.array([str(name) for name in model.view_names_], dtype=object),
            "metrics": np.array([str(metric) for metric in model.metrics_], dtype=object),
            "weights": model.view_weights_,
            "contributions": model.view_contributions_,
            "inconsistent_shares": model.views_.inconsistent_share,
        },
    }
