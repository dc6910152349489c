"""Fitting a fusion to the views of a command, as the options say."""

from __future__ import annotations

import argparse
import warnings
from typing import Any

from ..models import DistanceGraphFusion, SimilarityGraphFusion
from ..run.messages import collected_warnings
from ..stages.label import LeidenLabels
from ..views import Views
from .options import in_options

METHODS = {"sgf": SimilarityGraphFusion, "dgf": DistanceGraphFusion}


def fit(arguments: argparse.Namespace, views: Views) -> tuple[Any, list[str]]:
    """Fit the chosen method; return it with the warnings that came up, which speak of options."""
    model = METHODS[arguments.method](
        **common_parameters(arguments),
        scale=arguments.scale,
        view_weights=arguments.view_weights,
        row_weights=arguments.row_weights,
        descriptions=arguments.descriptions,
        effort=arguments.effort,
        row_order=arguments.row_order,
        max_clusters=arguments.max_clusters,
        assign_labels=assigner(arguments),
        random_state=arguments.seed,
        verbose=not arguments.json,
    )
    with collected_warnings() as texts:
        model.fit(views)
    for text in texts:
        warnings.warn(text, stacklevel=2)
    return model, [in_options(text, arguments) for text in texts]


def common_parameters(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the parameters that every system has, as the options say."""
    return {
        "n_clusters": arguments.clusters,
        "n_neighbors": "auto" if arguments.neighbors is None else arguments.neighbors,
        "metric": arguments.metric.split(",") if "," in arguments.metric else arguments.metric,
    }


def assigner(arguments: argparse.Namespace) -> Any:
    """Return what reads labels off the graph or its embedding, as the options say."""
    if arguments.resolution is None:
        return arguments.assign_labels
    if arguments.assign_labels != "leiden":
        raise ValueError(
            f"--resolution has no effect with --assign-labels {arguments.assign_labels}; it is of leiden."
        )
    return LeidenLabels(resolution=arguments.resolution)
