"""What every command that fits systems to files shares: the files, the common parameters, the warnings."""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..datasets.reading import ReadViews, read_labels, read_views


def read_given(arguments: argparse.Namespace) -> ReadViews:
    """Read the files named; labels of their own (`--labels`) take the place of those beside the views."""
    read = read_views(arguments.files, id_column=arguments.id_column, max_bytes=arguments.max_bytes)
    if arguments.labels is None:
        return read
    views = read.views
    truth = read_labels(arguments.labels, id_column=arguments.id_column, sample_ids=views.sample_ids)
    if len(truth) != views.n_samples:
        raise ValueError(
            f"{arguments.labels} holds {len(truth)} labels, the views have {views.n_samples} samples; "
            "there must be one for each."
        )
    return ReadViews(views, truth, read.sources)


def common_parameters(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the parameters that every system has, as the options say."""
    return {
        "n_clusters": arguments.clusters,
        "n_neighbors": "auto" if arguments.neighbors is None else arguments.neighbors,
        "metric": arguments.metric.split(",") if "," in arguments.metric else arguments.metric,
    }


@contextmanager
def collected_warnings() -> Iterator[list[str]]:
    """Give a list that holds, after the block, the texts of the warnings in it; none of them is shown."""
    told: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield told
        finally:
            told.extend(dict.fromkeys(str(warning.message) for warning in caught))
