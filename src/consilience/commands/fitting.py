"""What every command that fits systems to files shares: the files, the common parameters, the warnings."""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from ..io.readers import ReadViews, read_labels, read_views
from ..neighbors import takes_missing_cells
from .graphs import beside_graphs


def read_given(arguments: argparse.Namespace) -> ReadViews:
    """Read the files named; labels of their own (`--labels`) take the place of those beside the views."""
    tables = None
    if arguments.files:
        tables = read_views(
            arguments.files,
            id_column=arguments.id_column,
            max_bytes=arguments.max_bytes,
            use_rep=parsed_use_rep(arguments.use_rep),
            labels_key=arguments.labels_key,
            join=arguments.join,
            empty_cells=_empty_cells(arguments),
        )
    read = beside_graphs(arguments, tables)
    if arguments.labels is None:
        return read
    views = read.views
    truth = read_labels(arguments.labels, id_column=arguments.id_column, sample_ids=views.sample_ids)
    if len(truth) != views.n_samples:
        raise ValueError(
            f"{arguments.labels} holds {len(truth)} labels, the views have {views.n_samples} samples; "
            "there must be one for each."
        )
    return replace(read, labels=truth)


def _empty_cells(arguments: argparse.Namespace) -> bool | list[bool]:
    """Say in which files cells may be empty: where the metric bears it."""
    metrics = arguments.metric.split(",")
    flags = [takes_missing_cells(metric) for metric in metrics]
    return flags if len(flags) == len(arguments.files) else all(flags)


def parsed_use_rep(text: str | None) -> Any:
    """Return `--use-rep` as `read_views` takes it.

    Examples
    --------
    >>> parsed_use_rep("rna=X_pca,prot=X"), parsed_use_rep("X_pca"), parsed_use_rep("X_pca,protein")
    ({'rna': 'X_pca', 'prot': 'X'}, 'X_pca', ['X_pca', 'protein'])
    """
    if text is None:
        return None
    parts = [part.partition("=") for part in text.split(",")]
    if not all(key and (value or not equals) for key, equals, value in parts):
        raise ValueError(f"--use-rep takes a representation, or NAME=REP,NAME=REP,...; got {text!r}.")
    if not any(equals for _, equals, _ in parts):
        return text if len(parts) == 1 else [key for key, _, _ in parts]
    if not all(equals for _, equals, _ in parts):
        raise ValueError(f"--use-rep names some views and not others: write NAME=REP for each in {text!r}.")
    if len({key for key, _, _ in parts}) < len(parts):
        raise ValueError(f"--use-rep names a view twice: {text!r}.")
    return {key: value for key, _, value in parts}


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
