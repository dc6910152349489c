"""The page of a comparison on many data sets, and all files of a comparison."""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..comparison.corruption_overview import corruption_figure, corruption_tables
from ..comparison.data_sets import SetFacts
from ..comparison.figures.picture import Panel, inline, side_by_side
from ..comparison.fitting import CLEAN
from ..comparison.formats import Table
from ..comparison.overview import (
    Overview,
    failures,
    overview,
    reference_of,
)
from ..comparison.result import SCORES, Comparison
from ..comparison.store import FILE
from ..comparison.summary import PREPARED, csv_rows, panels, summarize
from ..datasets import corruptions
from ..run.run_folder import OWN_LOCK
from ..run.versions import versions
from ..words import counted, visible
from .comparison import comparison_page
from .frame import whole_page
from .markup import Column, Markup, element, joined, section
from .markup import table as html_table

TITLE = "Systems compared on many data sets"
_OURS = re.compile(
    r"(means|sets|corruptions|scores|differences|critical-difference|comparison|labels|agreement)[^/]*"
    r"\.(md|csv|tex|svg|json)|report\.html"
)


def write_comparison(
    comparison: Comparison,
    folder: Path,
    *,
    force: bool = False,
    reference: str | None = None,
    truth: NDArray[Any] | None = None,
    sample_ids: Sequence[Any] | None = None,
) -> Path:
    """Write all files of a comparison into a folder, each whole or not at all.

    Parameters
    ----------
    comparison : Comparison
        What was found.
    folder : Path
        Where to.
    force : bool, default=False
        Whether files in a folder that holds something else may be overwritten.
    reference : str, default=None
        Whom the others are compared with.
    truth, sample_ids : array-like, default=None
        Of a single data set, for its table of labels.
    """
    check_folder(folder, force)
    folder.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=".comparison-", dir=folder))
    try:
        if len(comparison.sets) == 1 and comparison.conditions == (CLEAN,):
            _write_one_set(comparison, comparison.sets[0], scratch, truth, sample_ids)
        else:
            _write_many_sets(comparison, scratch, reference)
        rows = list(comparison.rows())
        header = list(dict.fromkeys(name for row in rows for name in row))
        _write_csv(scratch / "scores.csv", header, ([row.get(name, "") for name in header] for row in rows))
        for old in folder.iterdir():  # of another comparison in this folder
            if _OURS.fullmatch(old.name) and not (scratch / old.name).exists():
                old.unlink()
        for file in scratch.iterdir():
            os.replace(file, folder / file.name)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return folder


def check_folder(folder: Path, force: bool = False) -> None:
    """Raise a ValueError if a comparison cannot be written there: better before the work than after."""
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is a file; name another folder.")
    if not folder.exists() and not folder.resolve().parent.is_dir():
        raise ValueError(f"The folder {folder.resolve().parent} does not exist; make it first.")
    ours = (folder / FILE).exists() or all(
        (folder / one).exists() for one in ("scores.csv", "comparison.json")
    )
    names = {path.name for path in folder.iterdir()} - {OWN_LOCK} if folder.is_dir() else set()
    if names and not ours and not force:
        raise ValueError(
            f"{folder} holds something that is no comparison; name another folder, or use force."
        )
    if not os.access(folder if folder.exists() else folder.resolve().parent, os.W_OK):
        raise ValueError(f"The folder {folder} cannot be written into; name another one.")


def _write_one_set(
    comparison: Comparison,
    facts: SetFacts,
    folder: Path,
    truth: NDArray[Any] | None,
    sample_ids: Sequence[Any] | None,
) -> None:
    summary = summarize(comparison, facts)
    _write_csv(folder / "comparison.csv", *csv_rows(summary))
    _write_csv(folder / "labels.csv", *labels_table(comparison, facts, truth, sample_ids))
    names, matrix = summary["agreement"]["systems"], summary["agreement"]["ARI"]
    rows = [[name, *values] for name, values in zip(names, matrix, strict=True)]
    _write_csv(folder / "agreement.csv", ["system", *names], rows)
    _write_json(folder / "comparison.json", summary)
    drawn = panels(summary)
    (folder / "comparison.svg").write_text(side_by_side(drawn), encoding="utf-8")
    (folder / "report.html").write_text(comparison_page(summary, drawn), encoding="utf-8")


def labels_table(
    comparison: Comparison, facts: SetFacts, truth: Any, sample_ids: Sequence[Any] | None
) -> tuple[list[str], list[Sequence[Any]]]:
    """Return header and rows of what every system says of every sample, and of what is known."""
    columns: dict[str, Any] = {"sample": np.arange(facts.n_samples) if sample_ids is None else sample_ids}
    if truth is not None:
        columns["truth"] = truth
    found = {one.name: one.labels for one in comparison.on(facts.name) if one.labels is not None}
    return [*columns, *found], list(zip(*columns.values(), *found.values(), strict=True))


def _write_many_sets(comparison: Comparison, folder: Path, reference: str | None) -> None:
    blocks = overviews(comparison, reference)
    taken: set[str] = set()
    for number, block in enumerate(blocks):
        name = "" if block.part is None else f"-{re.sub('[^A-Za-z0-9_.-]+', '-', block.part) or 'other'}"
        name = f"{name}-{number}" if name in taken else name
        taken.add(name)
        _write_table(folder, f"means{name}", block.means)
        _write_table(folder, f"sets{name}", block.sets)
        _write_figures(folder, {f"{key}{name}": panel for key, panel in block.figures.items()})
        if len(comparison.conditions) > 1:
            systems = corrupted_systems(comparison)
            for which, table in corruption_tables(comparison, systems, block.part).items():
                _write_table(folder, f"corruptions{name}{'-' * bool(which)}{which.replace(' ', '-')}", table)
            drawn = corruption_figure(comparison, systems, block.part, reference=block.reference)
            _write_figures(folder, {f"corruptions{name}": drawn} if drawn else {})
    _write_json(folder / "comparison.json", facts_of(comparison, blocks))
    (folder / "report.html").write_text(bench_page(comparison, blocks), encoding="utf-8")


def overviews(comparison: Comparison, reference: str | None = None, score: str = "NMI") -> list[Overview]:
    """Return the figures of each part of the bench, or of all sets if it has none."""
    parts = comparison.parts
    if len(parts) < 2:
        return [overview(comparison, None, reference=reference, score=score)]
    return [overview(comparison, part, reference=reference, score=score) for part in parts]


def title_of(block: Overview) -> str:
    """Return what the sets of a part are called."""
    return "all data sets" if block.part is None else block.part or "other data sets"


def corrupted_systems(comparison: Comparison) -> list[str]:
    """Return the systems that were run on corrupted data."""
    ran = {name for (_, condition, _, name) in comparison.outcomes if condition != CLEAN}
    return [name for name in comparison.systems if name in ran]


def facts_of(comparison: Comparison, blocks: Sequence[Overview]) -> dict[str, Any]:
    """Return how a comparison was made, and its means, ready for JSON."""
    return {
        "preparation": comparison.rules.preparation,
        "rows_shuffled": comparison.rules.shuffle,
        "seeds": list(comparison.seeds),
        "corrupted_seeds": list(comparison.corrupted_seeds),
        "conditions": {name: corruptions()[name] for name in comparison.conditions},
        "systems": list(comparison.systems),
        "sets": [
            {
                "set": one.name,
                "part": one.part,
                "family": one.family,
                "samples": one.n_samples,
                "clusters": one.n_clusters,
                "features": list(one.n_features),
                "fingerprint": one.fingerprint,
                "reason": one.reason,
            }
            for one in comparison.sets
        ],
        "means": {
            title_of(block): {
                "header": list(block.means.header),
                "rows": [[cell.value for cell in row] for row in block.means.cells],
            }
            for block in blocks
        },
        "findings": {title_of(block): list(block.sentences) for block in blocks},
        "interrupted": comparison.interrupted,
        "versions": versions(),
    }


def bench_page(comparison: Comparison, blocks: Sequence[Overview]) -> str:
    """Return the whole page."""
    loaded = [one for one in comparison.sets if not one.reason]
    body = joined(
        element("h1", TITLE),
        element(
            "p",
            f"{counted(len(comparison.systems), 'system')} on {counted(len(loaded), 'data set')}, "
            f"{counted(len(comparison.seeds), 'seed')} each. {PREPARED[comparison.rules.preparation]} "
            + ("Rows were brought into a random order first." if comparison.rules.shuffle else ""),
        ),
        element(
            "p", element("b", "It was stopped before its end: systems without all their seeds are left out.")
        )
        if comparison.interrupted
        else None,
        [_part(comparison, block, number) for number, block in enumerate(blocks)],
        _empty_cells(comparison),
        section("how", "How it was made", _how(comparison)),
    )
    return whole_page(TITLE, body)


def _part(comparison: Comparison, block: Overview, number: int) -> Markup:
    inside = [element("p", " ".join(block.sentences)) if block.sentences else None, as_html(block.means)]
    inside.append(element("p", LEGEND, class_="note"))
    for key, caption in FIGURES.items():
        if key in block.figures:
            inside.append(_figure(block.figures[key], caption.format(reference=block.reference)))
    inside.append(as_html(block.sets))
    if len(comparison.conditions) > 1:
        systems = corrupted_systems(comparison)
        drawn = corruption_figure(comparison, systems, block.part, reference=block.reference)
        inside.append(element("h3", "Corruptions, and the distance to the oracle"))
        inside.append(_figure(drawn, FIGURES_CORRUPTED) if drawn else None)
        inside.extend(map(as_html, corruption_tables(comparison, systems, block.part).values()))
    return section(f"part-{number}", title_of(block).capitalize(), joined(*inside))


LEGEND = (
    "NMI is divided by the larger entropy. Sets of one family are averaged first where it says so. Ranks and "
    "tests use the common sets. Intervals of the mean difference: bootstrap over families. Spread over "
    "seeds: how far another seed moves a score; over sets: how different the sets are, which is no error bar."
)
FIGURES = {
    "critical-difference": "Mean ranks; systems under one bar cannot be told apart (Wilcoxon, Holm, 5 %).",
    "differences": "Mean difference to {reference}, with 95 % bootstrap intervals.",
    "scores": "Means over seeds of every system on every set; an empty cell says why.",
}
FIGURES_CORRUPTED = (
    "Means on the same sets; open marks: the same system where what was spoiled is known. The distance is "
    "the headroom."
)


def _figure(panel: Panel, caption: str) -> Markup:
    return element(
        "figure", element("div", Markup(inline(panel)), class_="box"), element("figcaption", caption)
    )


def as_html(table: Table) -> Markup:
    """Return a table of a comparison as HTML; the best values are bold."""
    columns = [Column(table.header[0]), *(Column(name, "number") for name in table.header[1:])]
    rows = [
        [element("b", text) if cell.best else text for cell, text in zip(row, table.texts(row), strict=True)]
        for row in table.cells
    ]
    return html_table(columns, rows, caption=table.caption or None, class_="dense fixed")


def _empty_cells(comparison: Comparison) -> Markup | None:
    table = failures(comparison)
    if table is None:
        return None
    columns = [Column(name) for name in table.header]
    rows = [table.texts(row) for row in table.cells]
    return section("empty", "Empty cells", html_table(columns, rows))


def _how(comparison: Comparison) -> Markup:
    conditions = "\n".join(f"{name}: {corruptions()[name]}" for name in comparison.conditions)
    facts = {
        "preparation": comparison.rules.preparation,
        "metric": comparison.rules.metric,
        "n_neighbors": comparison.rules.n_neighbors,
        "rows shuffled": comparison.rules.shuffle,
        "seeds": list(comparison.seeds),
        "seeds on corrupted data": list(comparison.corrupted_seeds),
        "scores": ", ".join(SCORES),
        **versions(),
    }
    listing = "\n".join(f"{name} = {value}" for name, value in facts.items())
    return joined(element("pre", listing), element("pre", conditions))


def _write_table(folder: Path, name: str, table: Table) -> None:
    for ending, text in (("md", table.markdown()), ("csv", table.csv()), ("tex", table.latex())):
        (folder / f"{name}.{ending}").write_text(text, encoding="utf-8")


def _write_figures(folder: Path, figures: dict[str, Panel]) -> None:
    for name, panel in figures.items():
        (folder / f"{name}.svg").write_text(side_by_side([panel]), encoding="utf-8")


def _write_csv(path: Path, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows([[_guarded(cell) for cell in row] for row in rows])


def _guarded(cell: Any) -> Any:
    """Return a cell that no spreadsheet takes for a formula, and that can be written."""
    if not isinstance(cell, str):
        return cell
    text = visible(cell)
    return f"'{text}" if text.startswith(("=", "+", "-", "@")) else text


def _write_json(path: Path, content: Any) -> None:
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


__all__ = ["bench_page", "check_folder", "overviews", "reference_of", "write_comparison"]
