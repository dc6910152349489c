"""Views from an AnnData or MuData, a fit, and the result back into it: one call."""

from __future__ import annotations

from typing import Any, Literal

from ..models import DistanceGraphFusion
from .representations import views_of
from .writing import check_target, write


def cluster(
    data: Any,
    n_clusters: int | Literal["auto"] = 8,
    *,
    use_rep: Any = None,
    key_added: str = "consilience",
    **params: Any,
) -> DistanceGraphFusion:
    """Cluster the cells of an AnnData or MuData by `DistanceGraphFusion`, and write the result into it.

    Parameters
    ----------
    data : AnnData or MuData
        The cells. The result is written into it.
    n_clusters : int or "auto", default=8
        Number of clusters.
    use_rep : str, dict or sequence of str, default=None
        Which representations to take, as in `views_of`.
    key_added : str, default="consilience"
        Under which name the result is written, as in `write`.
    **params
        Other parameters of `DistanceGraphFusion`, such as `n_neighbors` and `random_state`.

    Returns
    -------
    DistanceGraphFusion
        The fitted model; `consilience.inspection` and its `report` show more about it.

    See Also
    --------
    consilience.omics.write : What is written. Use it after a fit with another estimator, for example.

    Examples
    --------
    >>> from consilience import omics
    >>> cells = mudata.read("cells.h5mu")  # doctest: +SKIP
    >>> chosen = {"rna": "X_pca", "prot": "X"}
    >>> model = omics.cluster(cells, 8, use_rep=chosen, random_state=0)  # doctest: +SKIP
    >>> scanpy.tl.umap(cells, neighbors_key="consilience")  # doctest: +SKIP
    """
    check_target(data, key_added)
    model = DistanceGraphFusion(n_clusters=n_clusters, **params).fit(views_of(data, use_rep))
    write(data, model, key_added)
    return model
