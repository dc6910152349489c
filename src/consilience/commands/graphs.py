"""Graphs among the files of a command: `--similarity-graph` and `--distance-graph`."""

from __future__ import annotations

import argparse
from dataclasses import replace

from ..datasets.reading.graphs import named_graphs, with_graphs
from ..io.readers import FileError, ReadViews


def beside_graphs(arguments: argparse.Namespace, read: ReadViews | None) -> ReadViews:
    """Read the graphs that the options name and put them beside the views of the tables, if there are any."""
    paths = [(path, "similarity") for path in arguments.similarity_graph]
    paths += [(path, "distance") for path in arguments.distance_graph]
    if not paths:
        if read is None:
            raise ValueError(
                "Name at least one file, or a graph with --similarity-graph or --distance-graph."
            )
        return read
    taken = () if read is None else read.views.names
    try:
        graphs = named_graphs(paths, taken, directed=arguments.directed, max_bytes=arguments.max_bytes)
        views = with_graphs(None if read is None else read.views, graphs)
    except FileError as error:
        raise ValueError(_as_options(str(error))) from None
    sources = tuple(one.file for one in graphs)
    if read is None:
        return ReadViews(views, None, sources)
    return replace(read, views=views, sources=read.sources + sources)


def _as_options(message: str) -> str:
    """Turn advice that speaks of parameters into that for the command."""
    options = {"directed=True": "--directed", "directed=False": "--no-directed", "id_column": "--id-column"}
    for parameter, option in options.items():
        message = message.replace(parameter, option)
    return message
