"""From a fitted model and its data to the page about it: behind `model.report`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from ..cluster.base import precomputed_views
from ..cluster.fusion import GraphFusion
from ..views import Views
from .fusion_help import does_fusion_help
from .helping.result import FusionHelp
from .report import write_report
from .report.writing import checked_path
from .subject import as_subject


def report_on(
    model: GraphFusion,
    path: str | Path,
    views: Any = None,
    y: ArrayLike | None = None,
    *,
    fdr: float = 0.05,
    title: str | None = None,
    sample_names: ArrayLike | None = None,
    force: bool = False,
) -> Path:
    """Write the page about a fitted model; see its `report` method."""
    as_subject(model)
    checked_path(Path(path), force)  # before the work
    help = None if views is None else help_for(model, views, y)
    return write_report(
        path, model, help=help, y=y, fdr=fdr, title=title, sample_names=sample_names, force=force
    )


def help_for(model: GraphFusion, views: Any, y: ArrayLike | None = None) -> FusionHelp | None:
    """Say whether fusing helps, with the parameters of a fitted model; None for a single view."""
    if not isinstance(views, Views):
        views = Views(views, pairwise=precomputed_views(model.metric, views))
    if views.fingerprint() != model.data_fingerprint_:
        raise ValueError(
            "These are not the views that the model was fitted to: names, values or the order of samples "
            "differ. Pass the same, or fit again."
        )
    if views.n_views < 2 or model.n_clusters < 2:
        return None
    return does_fusion_help(
        views,
        model.n_clusters,
        y=y,
        n_neighbors=model.n_neighbors,
        metric=model.metric,
        scale=model.scale,
        random_state=model.random_state,
        n_jobs=model.n_jobs,
    )
