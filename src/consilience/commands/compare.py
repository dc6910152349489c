"""`consilience compare`: systems from anywhere on one data set or on many, by the same rules for all."""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections.abc import Mapping
from pathlib import Path
from shutil import get_terminal_size
from typing import Any

import numpy as np
from joblib import cpu_count

from ..comparison import DataSet, compare
from ..comparison.contenders import find_contenders
from ..comparison.corruption_overview import corruption_table
from ..comparison.data_sets import SetFile, find_sets
from ..comparison.fitting import CLEAN
from ..comparison.outcome import FAILED, NOT_RUN, OK
from ..comparison.overview import Overview, failures
from ..comparison.result import Comparison
from ..comparison.summary import PREPARED, cells, legend, notes, summarize
from ..datasets import corruptions
from ..engines import get_engine
from ..metrics import scores
from ..models.base import check_n_samples
from ..pages.bench import (
    check_folder,
    corrupted_systems,
    facts_of,
    overviews,
    title_of,
    write_comparison,
)
from ..run.messages import check_count, collected_warnings
from ..run.progress import Bar
from ..stages.prepare import metrics_of_views, prepare
from ..stages.search import resolve_n_neighbors
from ..views import Views
from ..words import counted
from .fitting import common_parameters
from .inputs import read_given
from .options import in_options
from .tables import show, show_table, table_width

SEEDS_WITH_LABELS, RESAMPLES = 3, 5


def run(arguments: argparse.Namespace) -> int:
    """Read the files, run the systems, write the results and show them."""
    for option, least in (("seeds", 1), ("resamples", 0), ("corrupted_seeds", 1), ("jobs", 0)):
        check_at_least(f"--{option.replace('_', '-')}", getattr(arguments, option), least)
    limits(arguments)
    prepare_out(arguments.out, arguments.force)
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))  # where a module of the user's may be
    for path in arguments.files:
        if not path.exists() and not path.suffix:
            raise ValueError(f"{path}: there is no such file or folder.")
    if arguments.reference is not None:
        names = [one.name for one in find_contenders(arguments.systems)]
        if arguments.reference.casefold() not in map(str.casefold, names):
            raise ValueError(f"No system is named {arguments.reference!r}; there are {', '.join(names)}.")
    folders = [path for path in arguments.files if path.is_dir() and path.suffix != ".zarr"]
    data: Any = many_sets(arguments) if folders else one_set(arguments)
    scored = folders or data.labels is not None
    n_seeds = arguments.seeds or (SEEDS_WITH_LABELS if scored else 1)
    resamples = arguments.resamples if arguments.resamples is not None else (0 if folders else RESAMPLES)
    display = Bar(visible=not arguments.json, lines=True)
    found = compare(
        data,
        arguments.systems,
        preparation=arguments.preparation,
        corruptions=chosen_corruptions(arguments.corruptions),
        corrupted_systems=arguments.corrupted_systems,
        seeds=range(arguments.seed, arguments.seed + n_seeds),
        n_corrupted_seeds=arguments.corrupted_seeds,
        n_resamples=resamples,
        metric=common_parameters(arguments)["metric"],
        n_neighbors=common_parameters(arguments)["n_neighbors"],
        shuffle=not arguments.keep_row_order,
        **limits(arguments),
        out=arguments.out,
        resume=not arguments.force,
        watch=lambda step: (
            display.draw(step.share, short(str(step), 140)) if display.in_place or step.ended else None
        ),
        strict=arguments.debug,
    )
    display.erase()
    return finish(arguments, found, data)


def limits(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the number of processes, and what stops them; without any, memory is only estimated."""
    if arguments.jobs == 0 or arguments.debug:
        if arguments.max_seconds is not None:
            raise ValueError("--max-seconds stops a process of its own; it needs --jobs 1 or more.")
        return {"n_jobs": None}
    return {
        "n_jobs": arguments.jobs or cpu_count(),
        "max_seconds": arguments.max_seconds,
        "max_memory": arguments.max_memory,
    }


def finish(arguments: argparse.Namespace, found: Comparison, data: Any) -> int:
    """Write and show what was found, and say how it ended."""
    done = [one for one in found.outcomes.values() if one.status == OK]
    if not done and not found.having(FAILED):
        raise KeyboardInterrupt("stopped before any system was done; the same command goes on")
    several = len(found.sets) > 1 or len(found.conditions) > 1
    known = {}
    if not several and not found.sets[0].reason:
        only = (data[0] if isinstance(data, list) else data).load()
        known = {"truth": only.labels, "sample_ids": only.views.sample_ids}
    write_comparison(found, arguments.out, force=True, reference=arguments.reference, **known)
    if several:
        blocks = overviews(found, arguments.reference, arguments.score)
        show_many(found, blocks, arguments)
    else:
        warn_once(found, arguments)
        summary = summarize(found, found.sets[0])
        if arguments.json:
            show(json.dumps(summary, indent=1, ensure_ascii=False))
        else:
            show_summary(summary, arguments.out)
    if found.interrupted:
        raise KeyboardInterrupt(
            f"stopped; what was done until then is in {arguments.out}, and the same command goes on"
        )
    if not done:
        raise ValueError(f"Every system failed; the reasons are in {arguments.out / 'scores.csv'}.")
    return 0


def prepare_out(out: Path, force: bool) -> None:
    """Check the folder of the results."""
    try:
        check_folder(out, force)
    except ValueError as error:
        advice = (
            str(error)
            .replace("use force", "pass --force")
            .replace("name another folder.", "name another folder with --out.")
        )
        raise ValueError(advice) from None


def many_sets(arguments: argparse.Namespace) -> list[Any]:
    """Return the data sets of the folders named."""
    for option in ("similarity_graph", "distance_graph", "labels", "id_column", "use_rep", "labels_key"):
        if getattr(arguments, option):
            raise ValueError(f"--{option.replace('_', '-')} is for one data set, not for a folder of many.")
    files = [path for path in arguments.files if not path.is_dir()]
    if files:
        raise ValueError(f"{files[0]} is a file among folders; name files of one data set, or folders.")
    found = find_sets(arguments.files, n_clusters=arguments.clusters)
    if arguments.sets is None:
        return found
    names = [name.strip() for name in arguments.sets.split(",") if name.strip()]
    known = {one.name.casefold(): one for one in found}
    for name in names:
        if name.casefold() not in known:
            listed = ", ".join(one.name for one in found)
            raise ValueError(f"There is no data set {name!r}; there are: {listed}.")
    return [known[name.casefold()] for name in names]


def one_set(arguments: argparse.Namespace) -> DataSet:
    """Return the data set in the files named."""
    if arguments.sets is not None:
        raise ValueError("--sets chooses among the data sets of a folder; name a folder.")
    read = read_given(arguments)
    if arguments.clusters is None and read.labels is None:
        raise ValueError("Say how many clusters with --clusters, or name a file of labels with --labels.")
    if read.labels is not None:
        scores(read.labels, np.zeros(len(read.labels), dtype=np.intp))  # raises if they are no classes
    n_clusters = arguments.clusters
    if n_clusters is None and read.labels is not None:
        n_clusters = len(np.unique(read.labels))
    check_views(read.views, {**common_parameters(arguments), "n_clusters": n_clusters})
    paths = arguments.files or [*arguments.similarity_graph, *arguments.distance_graph]
    name = SetFile(paths[0].stem, paths[0]).name if len(paths) == 1 else "data"
    return DataSet(name, read.views, read.labels, arguments.clusters, sources=read.sources)


def check_views(views: Views, parameters: Mapping[str, Any]) -> None:
    """Raise a ValueError for what no system could work with: better before the work than in every cell."""
    check_count("n_clusters", parameters["n_clusters"])
    check_n_samples(views.n_samples, parameters["n_clusters"])
    resolve_n_neighbors(parameters["n_neighbors"], views.n_samples, parameters["n_clusters"])
    engine = get_engine("numba")
    with collected_warnings():  # the systems will say it again
        prepare(views, metrics_of_views(parameters["metric"], views, "none", engine), "none", engine=engine)


def chosen_corruptions(words: str | None) -> list[str]:
    """Return the corruptions named, separated by commas; "all" is all of them."""
    names = [word.strip() for word in (words or "").split(",") if word.strip()]
    return [name for name in corruptions() if name != CLEAN] if "all" in names else names


def check_at_least(option: str, value: int | None, least: int) -> None:
    """Raise a ValueError if an option's number is too small."""
    if value is not None and value < least:
        raise ValueError(f"{option} must be at least {least}, got {value}.")


def short(text: str, length: int = 100) -> str:
    r"""Return the first line of a text, cut to a length and without what is not to be printed.

    Examples
    --------
    >>> short("too much of it\nand more", 12)
    'too much ...'
    """
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    line = "".join(letter if letter.isprintable() else "?" for letter in line)
    return line if len(line) <= length else line[: length - 3] + "..."


def warn_once(found: Comparison, arguments: argparse.Namespace) -> None:
    """Warn once of each kind of thing that any system warned of, however often."""
    names: dict[str, list[str]] = {}
    texts: dict[str, str] = {}
    for outcome in found.on(found.sets[0].name):
        for kind, warning in outcome.warnings.items():
            names.setdefault(kind, []).append(outcome.name)
            texts.setdefault(kind, warning.text)
    for kind, text in texts.items():
        named = ", ".join(names[kind])
        warnings.warn(f"{named}: {short(in_options(text, arguments), 200)}", stacklevel=2)


def show_many(found: Comparison, blocks: list[Overview], arguments: argparse.Namespace) -> None:
    """Show the tables of many data sets on the terminal."""
    if arguments.json:
        show(json.dumps(facts_of(found, blocks), indent=1, ensure_ascii=False))
        return
    loaded = [one for one in found.sets if not one.reason]
    show(
        f"{counted(len(found.systems), 'system')} on {counted(len(loaded), 'data set')}. "
        f"{PREPARED[found.rules.preparation]}"
    )
    for block in blocks:
        show(f"\n{title_of(block)}\n")
        columns = [0, 1, 2, 5, 6, 7, 8, 9, 13]
        header = [
            "system",
            block.score,
            "sets",
            "rank",
            f"w/t/l {block.reference}",
            "diff",
            "from",
            "to",
            "s",
        ]
        rows = [[block.means.texts(row)[i] for i in columns] for row in block.means.cells]
        show_table(header, rows)
        for sentence in block.sentences:
            show(sentence)
        if len(found.conditions) > 1:
            show()
            table = corruption_table(found, corrupted_systems(found), block.part, arguments.score)
            show_table(list(table.header), [table.texts(row) for row in table.cells])
    empty = failures(found)
    if empty is not None:
        show("\nNo score:")
        for row in empty.cells:
            name, reason, where = empty.texts(row)
            show(f"  {name} on {where}: {short(reason, 160)}")
    show(f"\nResults are in {arguments.out}: report.html, and tables (.csv, .md, .tex) and figures (.svg).")


def show_summary(summary: dict[str, Any], out: Path) -> None:
    """Show the result on one data set on the terminal."""
    n_done = sum(system["status"] == OK for system in summary["systems"])
    n_run = sum(system["status"] != NOT_RUN for system in summary["systems"])
    show(
        f"{summary['n_samples']} samples, {len(summary['views'])} views, {summary['n_clusters']} clusters; "
        f"{n_done} of {n_run} systems done"
    )
    show()
    header, rows = cells(summary)
    if table_width(header, rows) <= get_terminal_size((120, 24)).columns:
        show_table(header, rows)
    else:  # in two parts, at what needs no labels
        cut = header.index("agreement")
        show_table(header[:cut], [row[:cut] for row in rows])
        show()
        show_table(["system", *header[cut:]], [[row[0], *row[cut:]] for row in rows])
    for lines in ([short(note, 160) for note in notes(summary)], summary["findings"], legend(summary)):
        if lines:
            show("\n" + "\n".join(lines))
    show()
    show(
        f"Results are in {out}: comparison.csv, agreement.csv, labels.csv, scores.csv, comparison.json, "
        "comparison.svg, report.html"
    )
