"""Whether fusing helps, asked about a fitted model."""

from __future__ import annotations

from numbers import Integral
from typing import Any

from numpy.typing import ArrayLike

from ...models.fusion import GraphFusion
from ..subject import NOT_THESE, views_of
from .question import does_fusion_help
from .result import FusionHelp


def fusion_help_for(model: GraphFusion, views: Any, y: ArrayLike | None = None) -> FusionHelp | str:
    """Say whether fusing helps, with the neighbours, metrics and scales of a fitted model; or why not.

    Parameters
    ----------
    model : SimilarityGraphFusion or DistanceGraphFusion
        A fitted model.
    views : as for `fit`
        The data that it was fitted to.
    y : array-like of shape (n,), default=None
        Known classes, for scores in the table.

    Returns
    -------
    FusionHelp or str
        What was found, or why nothing can be said.

    Raises
    ------
    ValueError
        If these are not the data of the fit.
    """
    views = views_of(model, views)
    if views.fingerprint() != model.data_fingerprint_:
        raise ValueError(NOT_THESE)
    if views.n_views < 2:
        return "There is a single view: nothing is fused."
    if model.n_clusters_ < 2:
        return "With a single cluster there is nothing to compare."
    parameters = model.params_
    seed = parameters["random_state"]
    try:
        return does_fusion_help(
            views,
            model.n_clusters_,
            y=y,
            n_neighbors=parameters["n_neighbors"],
            metric=parameters["metric"],
            scale=parameters["scale"],
            effort=parameters["effort"],
            random_state=int(seed) if isinstance(seed, Integral) else 0,  # not to use up a generator
            engine=parameters["engine"],
            n_jobs=parameters["n_jobs"],
        )
    except ValueError as error:
        # A model is fitted to these views, so nothing is wrong with them but that they cannot be compared.
        return str(error)
