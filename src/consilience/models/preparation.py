"""The preparation of views as a function, for code that is not one of our estimators."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from scipy import sparse
from sklearn.preprocessing import normalize

from ..engines import get_engine
from ..run.messages import check_choice
from ..spaces import Space
from ..stages.agree import select_views
from ..stages.prepare import SCALES, metrics_of_views, prepare
from ..stages.search import USUAL_CLUSTERS, resolve_n_neighbors
from ..views import Views, in_memory
from .given import views_for

SELECTIONS = ("agreement", "all")


def prepare_views(
    views: Any,
    n_clusters: int = USUAL_CLUSTERS,
    *,
    metric: Any = "auto",
    scale: Literal["auto", "none", "standard"] = "auto",
    view_selection: Literal["agreement", "all"] = "agreement",
    n_neighbors: int | Literal["auto"] = "auto",
    engine: Any = "numba",
) -> Views:
    """Return views as our estimators see them: features rescaled, views that agree with no other left out.

    Every estimator of the package prepares its views by the same rule, through its parameters `metric`,
    `scale` and `view_selection`. This function does it for other methods, so that a comparison gives all the
    same data. Rows of a view whose metric is the cosine get unit length: Euclidean distances between them
    are those of the cosine.

    Parameters
    ----------
    views : list, tuple, dict, Views, DataFrame, array or sparse matrix
        The views, as `fit` takes them.
    n_clusters : int, default=8
        Number of clusters that will be looked for; it matters for ``n_neighbors="auto"`` only.
    metric, scale
        As in `DistanceGraphFusion`.
    view_selection : {"agreement", "all"}, default="agreement"
        Which views are kept: those that agree with another, or all that are not constant.
    n_neighbors : int or "auto", default="auto"
        Neighbours by which the views are compared.
    engine : str or Engine, default="numba"
        The engine that computes.

    Returns
    -------
    Views
        The views that are kept, with their names, ids and missing samples. Graphs, matrices between samples
        and tables with categories stay as they are.

    Warns
    -----
    UserWarning
        If features are rescaled, or a view is left out.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> from consilience import make_multiview, prepare_views
    >>> sample = make_multiview(200, n_views=3, noise_views=1, n_clusters=3, separation=4.0, random_state=0)
    >>> sample.views["view_0"][:, 0] *= 1e6
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     prepared = prepare_views(sample.views, 3)
    >>> prepared.names, bool(prepared["view_0"].std(axis=0).max() < 100)
    (('view_0', 'view_1', 'view_2'), True)
    """
    check_choice("scale", scale, SCALES)
    check_choice("view_selection", view_selection, SELECTIONS)
    engine, given = get_engine(engine), views_for(metric, views)
    k = resolve_n_neighbors(n_neighbors, given.n_samples, n_clusters)
    metrics = metrics_of_views(metric, given, scale, engine)
    placed = prepare(given, metrics, scale, engine=engine)
    if view_selection == "agreement":
        placed = placed.only(select_views(placed, k, "auto", engine=engine).kept)
    result = given.select(placed.names)
    for space in placed.spaces:
        rows = _features(space)
        if rows is not None:
            result = result.with_features(space.name, rows)
    return result


def _features(space: Space) -> Any | None:
    """Return the features of the samples that a view has seen; None where they stay as they were."""
    if space.is_pairwise or space.kinds is not None:
        return None
    if space.scaling.changes_nothing and space.metric != "cosine":
        return None
    rows = space.rows if space.seen is None else space.rows[space.seen]
    rows = in_memory(space.scaling(rows))
    if space.metric == "cosine":
        rows = normalize(sparse.csr_matrix(rows) if sparse.issparse(rows) else rows)
    return sparse.csr_array(rows) if sparse.issparse(rows) else np.ascontiguousarray(rows)
