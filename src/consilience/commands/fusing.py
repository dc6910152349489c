"""Fitting a fusion to files, as the options say."""

from __future__ import annotations

import argparse
import warnings
from typing import Any

from ..cluster import DistanceGraphFusion, SimilarityGraphFusion
from ..views import Views
from .fitting import collected_warnings, common_parameters

METHODS = {"sgf": SimilarityGraphFusion, "dgf": DistanceGraphFusion}


def fit(arguments: argparse.Namespace, views: Views) -> tuple[Any, list[str]]:
    """Fit the chosen method; return it with the warnings that came up."""
    model = METHODS[arguments.method](
        **common_parameters(arguments),
        scale=arguments.scale,
        view_weights=arguments.view_weights,
        row_weights=arguments.row_weights,
        assign_labels=arguments.assign_labels,
        resolution=arguments.resolution,
        random_state=arguments.seed,
        verbose=not arguments.json,
    )
    try:
        with collected_warnings() as told:
            model.fit(views)
    except MemoryError as error:
        raise MemoryError(_as_options(str(error))) from None
    told = [_as_options(message) for message in told]
    for message in told:
        warnings.warn(message, stacklevel=2)
    return model, told


def _as_options(message: str) -> str:
    """Turn the advice of the library, which speaks of parameters, into that for the command."""
    for parameter, option in (
        ("view_weights='uniform'", "--view-weights uniform"),
        ("row_weights='uniform'", "--row-weights uniform"),
        ("n_neighbors=", "--neighbors "),
        ("n_clusters=", "--clusters "),
        ("n_jobs=1", "NUMBA_NUM_THREADS=1"),
        ("scale='none'", "--scale none"),
        ("Pass n_clusters", "Pass --clusters"),
        (" Raise max_clusters.", " Pass --clusters to have more."),
    ):
        message = message.replace(parameter, option)
    return message
