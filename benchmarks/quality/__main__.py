"""The fair bench: `make quality`, or `python -m benchmarks.quality [--data FOLDER]`.

Four comparisons over the data sets of a folder, tuning and validation apart, rows shuffled, with nothing but
the number of clusters:

clean
    Every system, with the same preparation for all: metric, scaling, views left out.
corrupted
    A named few, with the same preparation, on every corruption, next to the oracle that knows what was
    spoiled; on sets of at most 5,000 samples.
parts
    What each part of our models is worth: trust in rows, descriptions, the paper's fusion; on clean data and
    where rows or views are spoiled.
unprepared
    Some with no preparation but the choice of a metric, on faults that a preparation deals with: what that is
    worth.

Each fit is kept as soon as it is there; killed, the same command goes on. The tables (Markdown, CSV, LaTeX),
figures and a page are in folders of these names below --out. Other systems, sets and conditions by arguments.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from joblib import cpu_count

from consilience import PAPER, DistanceGraphFusion, SimilarityGraphFusion, compare
from consilience.comparison import Comparison, read_comparison
from consilience.comparison.contenders import find_contenders
from consilience.comparison.corruption_overview import corruption_tables
from consilience.comparison.data_sets import SetFile, facts_of
from consilience.comparison.formats import Cell, Table
from consilience.comparison.overview import Overview
from consilience.comparison.pace import Step
from consilience.datasets import corruptions
from consilience.models import AverageGraph, systems
from consilience.pages.bench import overviews, title_of

from .data import TUNING, VALIDATION, folder_given, named_sets, pick

PAPER_SETTING: dict[str, Any] = {"n_neighbors": 6, "beta": 1.0, "gamma": 1e4}  # "no tuning" in the paper
FEW = ("Average", "SGF", "DGF")  # on corrupted data
UNPREPARED = ("Average", "paper SGF", "paper DGF")
PREPARED_FOR = ("noise-1:1", "noise-2:1", "shuffled-view", "copies", "rescaled-columns", "huge-columns")
SPOILED = ("shuffle-one-30", "shuffle-all-30")  # what the parts of our models deal with
MOST_CORRUPTED = 5000  # samples of a set that is corrupted: three systems, 24 conditions
SEEDS, CORRUPTED_SEEDS = 3, 1
MAX_SECONDS = 60.0


def all_systems() -> dict[str, Any]:
    """Return every system of the bench by name: ours, the paper's fixed setting, and k-means."""
    return {
        **systems(),
        "paper SGF": SimilarityGraphFusion(**PAPER_SETTING, **PAPER),
        "paper DGF": DistanceGraphFusion(**PAPER_SETTING, **PAPER),
        "KMeans": "sklearn.cluster:KMeans",
    }


def all_parts() -> dict[str, Any]:
    """Return the models with and without each of their parts, by name; with both they are the defaults."""
    parts: dict[str, dict[str, Any]] = {
        " low": {"effort": "low"},
        " + trust": {"effort": "low", "row_weights": "learned"},
        " + descriptions": {"effort": "low", "descriptions": "confirmed"},
        " + both": {"effort": "low", "row_weights": "learned", "descriptions": "confirmed"},
    }
    models = {"Average": AverageGraph, "SGF": SimilarityGraphFusion, "DGF": DistanceGraphFusion}
    named = {
        f"{name}{part}": model(**given) for name, model in models.items() for part, given in parts.items()
    }
    return {"Average" if name == "Average low" else name: model for name, model in named.items()}


def main(given: list[str] | None = None) -> None:
    """Run the bench, or what is left of it."""
    arguments = _parser().parse_args(given)
    if arguments.tables is not None:
        for folder in sorted(path.parent for path in arguments.tables.glob("*/scores.csv")):
            show(read_comparison(folder), folder)
        return
    sets = named_sets(folder_given(arguments.data), arguments.sets, arguments.part)
    for name, comparison in pick(COMPARISONS, arguments.comparisons, "comparison").items():
        folder = arguments.out / name
        show(comparison(sets, folder, arguments), folder)
    print(f"Tables, figures and pages are in {arguments.out}.", file=sys.stderr)


def show(found: Comparison, folder: Path) -> None:
    """Write all files of a comparison, and print its tables, narrow enough for a page."""
    found.write(folder, force=True)
    print(f"\n# {folder.name}")
    for block in overviews(found):
        print(f"\n## {title_of(block)}\n\n{compact(block).markdown()}\n{' '.join(block.sentences)}\n")
        if len(found.conditions) > 1:
            for table in corruption_tables(found, found.systems, block.part).values():
                print(table.markdown())


def compact(block: Overview) -> Table:
    """Return the table of means with fewer columns."""
    rows = []
    for row in block.means.cells:
        texts = block.means.texts(row)
        apart = "" if row[7].value is None else f"{texts[7]} ({texts[8]} to {texts[9]})"
        rows.append([*row[:3], row[4], row[5], Cell(texts[6]), Cell(apart), row[11]])
    old = block.means.header
    apart = f"difference to {block.reference} (95 %)"
    header = [*old[:3], old[4], old[5], "wins / ties / losses", apart, old[11]]
    return Table(header, rows, align="lrrrrrrr")


def clean(sets: list[SetFile], folder: Path, arguments: argparse.Namespace) -> Comparison:
    """Compare all systems, or those named, on clean data."""
    return compare(
        sets, chosen_systems(arguments, all_systems()), seeds=arguments.seeds, **common(folder, arguments)
    )


def corrupted(sets: list[SetFile], folder: Path, arguments: argparse.Namespace) -> Comparison:
    """Compare a few systems, or those named, on corrupted data."""
    known = all_systems()
    return compare(
        small(sets),
        chosen_systems(arguments, {name: known[name] for name in FEW}),
        corruptions=chosen_conditions(arguments, tuple(corruptions())),
        seeds=min(arguments.corrupted_seeds, arguments.seeds),
        **common(folder, arguments),
    )


def unprepared(sets: list[SetFile], folder: Path, arguments: argparse.Namespace) -> Comparison:
    """Compare a few systems without preparation, on faults that a preparation deals with."""
    known = all_systems()
    return compare(
        small(sets),
        chosen_systems(arguments, {name: known[name] for name in UNPREPARED}),
        preparation="none",
        corruptions=chosen_conditions(arguments, PREPARED_FOR),
        seeds=min(arguments.corrupted_seeds, arguments.seeds),
        **common(folder, arguments),
    )


def parts(sets: list[SetFile], folder: Path, arguments: argparse.Namespace) -> Comparison:
    """Compare our models with and without each of their parts."""
    return compare(
        small(sets),
        chosen_systems(arguments, all_parts()),
        corruptions=chosen_conditions(arguments, SPOILED),
        seeds=min(arguments.corrupted_seeds, arguments.seeds),
        **common(folder, arguments),
    )


COMPARISONS = {"clean": clean, "corrupted": corrupted, "parts": parts, "unprepared": unprepared}


def common(folder: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    """Return what is the same in all comparisons."""
    return {
        "n_jobs": arguments.jobs,
        "max_seconds": arguments.max_seconds,
        "max_memory": arguments.max_memory,
        "out": folder,
        "watch": _Lines(),
    }


def small(sets: list[SetFile]) -> list[SetFile]:
    """Return the sets that are corrupted; one that does not load is a row that says so."""
    return [one for one in sets if facts_of(one).n_samples <= MOST_CORRUPTED]


def chosen_systems(arguments: argparse.Namespace, usual: dict[str, Any]) -> dict[str, Any]:
    """Return the systems named, or the usual ones."""
    if not arguments.systems:
        return usual
    known = all_systems() | all_parts()
    return {one.name: known.get(one.name, one.system) for one in _named(arguments.systems, known)}


def chosen_conditions(arguments: argparse.Namespace, usual: tuple[str, ...]) -> list[str]:
    """Return the corruptions named, or the usual ones."""
    names = arguments.conditions.split(",") if arguments.conditions else usual
    return [name for name in names if name != "clean"]


def _named(words: str, known: dict[str, Any]) -> Any:
    """Return the systems named: of the bench in any case, or from anywhere."""
    by_case = {name.casefold(): name for name in known}
    for word in words.split(","):
        name = by_case.get(word.strip().casefold())
        yield from find_contenders({name: known[name]} if name else word.strip())


class _Lines:
    """Writes how far the bench is, a line every few seconds."""

    def __init__(self, every: float = 5.0) -> None:
        self.every, self.last = every, -1e9

    def __call__(self, step: Step) -> None:
        if step.ended and (step.elapsed - self.last > self.every or step.done == step.total):
            self.last = step.elapsed
            print(step, file=sys.stderr, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality", description=__doc__)
    add = parser.add_argument
    add("--data", type=Path, help="folder of .mat and .npz files with labels; otherwise CONSILIENCE_DATA")
    add("--sets", default="", help="some of the data sets, with commas between")
    add("--part", default="", choices=("", TUNING, VALIDATION), help="only this part (default: both)")
    add("--systems", default="", help="others than the bench's, also package.module:Class")
    add("--conditions", default="", help="some of: " + ", ".join(corruptions()).replace("%", "%%"))
    add(
        "--comparisons",
        default=",".join(COMPARISONS),
        help=f"some of: {', '.join(COMPARISONS)} (default: all)",
    )
    add("--seeds", type=int, default=SEEDS, help=f"on clean data (default: {SEEDS})")
    add("--corrupted-seeds", type=int, default=CORRUPTED_SEEDS, help=f"draws (default: {CORRUPTED_SEEDS})")
    add("--max-seconds", type=float, default=MAX_SECONDS, help=f"of one fit (default: {MAX_SECONDS:g})")
    add("--max-memory", default="8GiB", help="of one fit (default: 8GiB)")
    add("--jobs", type=int, default=cpu_count(), help="processes of one thread each (default: one per core)")
    add("--tables", type=Path, metavar="FOLDER", help="only make the tables of such a folder again")
    add("--out", type=Path, default=Path("build/quality"), help="(default: build/quality)")
    return parser


if __name__ == "__main__":
    main()
