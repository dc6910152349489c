"""`consilience compare`: every system on the same files, and how well they agree."""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from shutil import get_terminal_size
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..comparison.outcome import FAILED, NOT_RUN, OK
from ..comparison.picture import side_by_side
from ..comparison.running import Comparison, Step, compare_systems
from ..comparison.summary import cells, csv_rows, legend, notes, panels, summarize
from ..models import systems
from ..pages.comparison import comparison_page
from ..run.progress import Bar, clock
from ..views import Views
from .fitting import common_parameters
from .inputs import read_given
from .options import in_options
from .output import check_target, result_folder, write_json, write_table
from .tables import show, show_table, table_width

SEEDS_WITH_LABELS = 3


def run(arguments: argparse.Namespace) -> int:
    """Read the files, run the systems, write the results and show them."""
    chosen = chosen_systems(arguments.systems, systems())
    check_at_least("--seeds", arguments.seeds, 1)
    check_at_least("--resamples", arguments.resamples, 0)
    check_target(arguments.out, arguments.force)
    read = read_given(arguments)
    n_seeds = arguments.seeds or (1 if read.labels is None else SEEDS_WITH_LABELS)
    display = _Display(visible=not arguments.json)
    comparison = compare_systems(
        read.views,
        chosen,
        {**common_parameters(arguments), "n_jobs": arguments.jobs, "verbose": False},
        truth=read.labels,
        seeds=range(arguments.seed, arguments.seed + n_seeds),
        n_resamples=arguments.resamples,
        watch=display.step,
        strict=arguments.debug,
    )
    display.end()
    if not comparison.compared and not comparison.having(FAILED):
        raise KeyboardInterrupt("stopped before any system was done; nothing is written")
    summary = summarize(comparison, read.views, arguments.clusters, read.sources)
    with result_folder(arguments.out, arguments.force) as folder:
        write_results(folder, summary, labels_table(comparison, read.views, read.labels))
    warn_once(comparison, arguments)
    if arguments.json:
        show(json.dumps(summary, indent=1, ensure_ascii=False))
    else:
        show_summary(summary, arguments.out)
    if comparison.interrupted:
        raise KeyboardInterrupt(f"stopped; what was done until then is in {arguments.out}")
    if not comparison.compared:
        raise ValueError(f"Every system failed; the reasons are in {arguments.out / 'comparison.csv'}.")
    return 0


def chosen_systems(words: str, known: Mapping[str, type[Any]]) -> dict[str, type[Any]]:
    """Return the systems named, separated by commas, in the order of those known; case does not matter.

    Examples
    --------
    >>> list(chosen_systems("b,A", {"A": int, "B": str, "C": set}))
    ['A', 'B']
    """
    names = {word.strip().casefold() for word in words.split(",")} - {""}
    if not names:
        raise ValueError(f"--systems names no system; known: all, {', '.join(known)}.")
    for word in words.split(","):
        if word.strip() and word.strip().casefold() not in {"all", *map(str.casefold, known)}:
            raise ValueError(f"Unknown system {word.strip()!r}; known: all, {', '.join(known)}.")
    return {name: known[name] for name in known if "all" in names or name.casefold() in names}


def check_at_least(option: str, value: int | None, least: int) -> None:
    """Raise a ValueError if an option's number is too small."""
    if value is not None and value < least:
        raise ValueError(f"{option} must be at least {least}, got {value}.")


class _Display:
    """Progress on standard error: a bar on a terminal, otherwise a line for each system that has ended."""

    def __init__(self, visible: bool) -> None:
        self.visible, self.bar, self.began = visible, Bar(visible), time.perf_counter()

    def step(self, step: Step) -> None:
        took = clock(time.perf_counter() - self.began)
        line = f"{step.number}/{step.n_systems} {step.name}: {short(step.doing)} ({took})"
        if self.bar.in_place:
            self.bar.draw(step.share, line)
        elif self.visible and step.ended:
            sys.stderr.write(line + "\n")
            sys.stderr.flush()

    def end(self) -> None:
        self.bar.erase()


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


def labels_table(
    comparison: Comparison, views: Views, truth: NDArray[Any] | None
) -> tuple[list[str], list[Sequence[Any]]]:
    """Return header and rows of what every system says of every sample, and of what is known."""
    ids = np.arange(views.n_samples) if views.sample_ids is None else views.sample_ids
    columns = {"sample": ids} if truth is None else {"sample": ids, "truth": truth}
    found = {outcome.name: outcome.labels for outcome in comparison.outcomes if outcome.labels is not None}
    return [*columns, *found], list(zip(*columns.values(), *found.values(), strict=True))


def write_results(
    folder: Path, summary: dict[str, Any], labels: tuple[list[str], list[Sequence[Any]]]
) -> None:
    """Write tables, picture, summary and page into a folder."""
    write_table(folder / "comparison.csv", *csv_rows(summary))
    write_table(folder / "labels.csv", *labels)
    names, matrix = summary["agreement"]["systems"], summary["agreement"]["ARI"]
    rows = [[name, *values] for name, values in zip(names, matrix, strict=True)]
    write_table(folder / "agreement.csv", ["system", *names], rows)
    write_json(folder / "comparison.json", summary)
    drawn = panels(summary)
    (folder / "comparison.svg").write_text(side_by_side(drawn), encoding="utf-8")
    (folder / "report.html").write_text(comparison_page(summary, drawn), encoding="utf-8")


def warn_once(comparison: Comparison, arguments: argparse.Namespace) -> None:
    """Warn once of each kind of thing that any system warned of, however often."""
    names: dict[str, list[str]] = {}
    texts: dict[str, str] = {}
    for outcome in comparison.outcomes:
        for kind, warning in outcome.warnings.items():
            names.setdefault(kind, []).append(outcome.name)
            texts.setdefault(kind, warning.text)
    for kind, text in texts.items():
        named = ", ".join(names[kind])
        warnings.warn(f"{named}: {short(in_options(text, arguments), 200)}", stacklevel=2)


def show_summary(summary: dict[str, Any], out: Path) -> None:
    """Show the result on the terminal."""
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
        f"Results are in {out}: comparison.csv, agreement.csv, labels.csv, comparison.json, comparison.svg, "
        "report.html"
    )
