"""From a fitted model and its data to the page about it: behind `model.report`."""

from __future__ import annotations

from numbers import Integral
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from ..cluster.fusion import GraphFusion
from ..io.files import checked_path
from .fusion_help import does_fusion_help
from .fusion_help.result import FusionHelp
from .report import write_report
from .report.writing import EXAMPLE
from .samples import check_rate
from .subject import NOT_THESE, as_subject, check_labels, views_of


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
    n = as_subject(model).n_samples
    checked_path(path, force, EXAMPLE)  # all that can be wrong, before the work
    check_rate(fdr)
    if y is not None:
        check_labels(y, n, "y")
    help = None if views is None else help_for(model, views, y)
    return write_report(
        path,
        model,
        help=help,
        y=y,
        fdr=fdr,
        title=title,
        sample_names=sample_names,
        force=force,
    )


def help_for(model: GraphFusion, views: Any, y: ArrayLike | None = None) -> FusionHelp | str:
    """Say whether fusing helps, with the neighbours, metrics and scales of a fitted model; or why not."""
    views = views_of(model, views)
    if views.fingerprint() != model.data_fingerprint_:
        raise ValueError(NOT_THESE)
    told = model.params_
    if views.n_views < 2:
        return "There is a single view: nothing is fused."
    if model.n_clusters_ < 2:
        return "With a single cluster there is nothing to compare."
    seed = told["random_state"]
    try:
        return does_fusion_help(
            views,
            model.n_clusters_,
            y=y,
            n_neighbors=told["n_neighbors"],
            metric=told["metric"],
            scale=told["scale"],
            random_state=int(seed) if isinstance(seed, Integral) else 0,  # not to use up a generator
            n_jobs=told["n_jobs"],
        )
    except ValueError as error:
        # A model is fitted to these views, so nothing is wrong with them but that they cannot be compared.
        return str(error)
