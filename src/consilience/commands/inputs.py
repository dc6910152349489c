"""The files of a command: views, graphs and labels, as the options name them."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import Any

from ..io.readers import ReadViews, read_labels, read_views
from ..io.readers.graphs import named_graphs, with_graphs
from ..spaces import takes_missing_cells


def read_given(arguments: argparse.Namespace) -> ReadViews:
    """Read the files named; a file of labels (`--labels`) replaces those in the files of the views."""
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
    read = _with_graphs(arguments, tables)
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
    """Say in which files cells may be empty: where the metric allows it."""
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


def _with_graphs(arguments: argparse.Namespace, read: ReadViews | None) -> ReadViews:
    """Read the graphs that the options name, and add them to the views of the tables, if there are any."""
    paths = [(path, "similarity") for path in arguments.similarity_graph]
    paths += [(path, "distance") for path in arguments.distance_graph]
    if not paths:
        if read is None:
            raise ValueError(
                "Name at least one file, or a graph with --similarity-graph or --distance-graph."
            )
        return read
    taken = () if read is None else read.views.names
    graphs = named_graphs(paths, taken, directed=arguments.directed, max_bytes=arguments.max_bytes)
    views = with_graphs(None if read is None else read.views, graphs)
    sources = tuple(one.file for one in graphs)
    if read is None:
        return ReadViews(views, None, sources)
    return replace(read, views=views, sources=read.sources + sources)
