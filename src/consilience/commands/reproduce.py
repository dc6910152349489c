"""`consilience reproduce`: the paper's tables and figures, in one command that can be stopped and resumed."""

from __future__ import annotations

import argparse
import errno
import hashlib
import json
import os
import platform
import sys
import time
import warnings
from collections.abc import Sequence
from importlib.util import find_spec
from itertools import zip_longest
from pathlib import Path
from typing import Any

from ..io.files import put_in_place
from ..pages.reproduction import page
from ..reproduction import claims, figures
from ..reproduction.data_sets import Found, find_sets, plain_name
from ..reproduction.definitions import Paper, load_paper
from ..reproduction.experiments import EXPERIMENTS, Row
from ..reproduction.plan import Plan
from ..reproduction.running import State, Workers
from ..reproduction.running import run as run_pieces
from ..reproduction.store import Store
from ..reproduction.work import Laboratory
from ..run.progress import Bar, clock
from ..run.versions import versions
from .output import write_json, write_table
from .tables import bold, show, show_table

RESULTS, MARKER = "results", "protocol.txt"  # what in --out makes it ours, and resumable


def run(arguments: argparse.Namespace) -> int:
    """Do what is missing, write everything, show it."""
    if find_spec("matplotlib") is None:
        raise ValueError("Figures need matplotlib: pip install 'consilience[plot]'.")
    n_jobs = os.cpu_count() or 1 if arguments.jobs is None else arguments.jobs
    if n_jobs < 1:
        raise ValueError(f"--jobs must be at least 1, got {n_jobs}.")
    protocol = "quick" if arguments.quick else "full"
    _check_out(arguments.out, protocol)
    paper = load_paper()
    found = find_sets(arguments.data, paper)
    plan = _plan(paper, found, arguments)
    for name in found.having("unusable"):
        warnings.warn(f"{name} is not used: {found.sets[name].reason}", stacklevel=2)
    facts = _facts(plan, arguments.quick)
    asked = arguments.experiments
    names = list(EXPERIMENTS) if "all" in asked else list(dict.fromkeys(asked))
    lab = Laboratory(tuple((name, _path(found, name)) for name in plan.sets))
    try:
        store = _open_store(arguments.out, protocol, found, plan, facts)
        tables = _run_experiments(names, plan, store, lab, n_jobs, _Display(not arguments.json))
        findings = claims.judge(tables, paper, quick=arguments.quick)
        _write(arguments, names, tables, findings, facts, found, paper)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(
            f"stopped; what was done is kept, start again with --out {arguments.out}"
        ) from None
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise ValueError(
            f"The disk of {arguments.out} is full; what was done is kept: make room, start again."
        ) from None
    summary = {"facts": facts, "tables": tables, "findings": [vars(one) for one in findings]}
    if arguments.json:
        show(json.dumps(summary, indent=1, ensure_ascii=False))
    else:
        _show(arguments, {name: tables.get(name, []) for name in names}, findings, found)
    return 0


def _open_store(out: Path, protocol: str, found: Found, plan: Plan, facts: dict[str, Any]) -> Store:
    """Return the results so far, without what a killed run left behind."""
    fingerprints = {name: _fingerprint(_path(found, name)) for name in plan.sets}
    environment = {key: facts[key] for key in (*versions(), "machine", "processor", "cores")}
    store = Store(out / RESULTS, fingerprints, json.dumps(environment, sort_keys=True))
    marker = store.folder / MARKER
    if not marker.exists():
        note = f"{protocol}\nResults of consilience reproduce, one file each; it goes on from these.\n"
        with put_in_place(marker) as scratch:
            scratch.write_text(note, encoding="utf-8")
    store.tidy()
    return store


def _run_experiments(
    names: Sequence[str], plan: Plan, store: Store, lab: Laboratory, n_jobs: int, display: _Display
) -> dict[str, list[Row]]:
    """Do what the experiments need and is not there yet; return all tables that there are."""
    experiments = [EXPERIMENTS[name] for name in names]
    together = [one for one in experiments if not one.timed]
    try:
        with Workers(n_jobs) as workers:
            for stages in zip_longest(*(one.stages for one in together), fillvalue=lambda plan, store: []):
                pieces = [work for stage in stages for work in stage(plan, store)]
                run_pieces(pieces, store, lab, workers=workers, watch=display)
        # What is timed has the machine for itself.
        for one in experiments:
            if one.timed:
                for stage in one.stages:
                    run_pieces(stage(plan, store), store, lab, watch=display)
    finally:
        display.bar.erase()
    tables = {}
    for name, one in EXPERIMENTS.items():
        try:
            tables[name] = one.rows(plan, store)
        except KeyError:  # not done yet: the page shows what there is
            if name in names:
                raise
    return {name: rows for name, rows in tables.items() if rows}


def _check_out(out: Path, protocol: str) -> None:
    """Raise a ValueError if the results cannot go there; a folder with results of ours may be continued."""
    if out.is_symlink() and not out.exists():
        raise ValueError(f"{out} is a link to nowhere; name another --out.")
    if out.exists() and not out.is_dir():
        raise ValueError(f"{out} is a file; name a folder with --out.")
    if out.exists() and any(out.iterdir()):
        marker = out / RESULTS / MARKER
        if not marker.is_file():
            raise ValueError(f"{out} holds other things than results of this command; name another --out.")
        if marker.read_text(encoding="utf-8").split()[:1] != [protocol]:
            raise ValueError(f"{out} holds results of the other protocol, quick or full; name another --out.")
    parent = out.resolve().parent
    if not parent.is_dir():
        raise ValueError(f"The folder {parent} does not exist; make it first, or name another --out.")
    if not os.access(out if out.exists() else parent, os.W_OK):
        raise ValueError(
            f"The folder {out if out.exists() else parent} cannot be written to; name another --out."
        )


def _plan(paper: Paper, found: Found, arguments: argparse.Namespace) -> Plan:
    """Return what to do with what was found and asked for."""
    wanted = list(paper.sets) if arguments.sets is None else _set_names(arguments.sets, paper)
    quick = paper.experiments.quick
    if arguments.quick and arguments.sets is None:
        wanted = [name for name in wanted if name in quick.sets]
    sets = tuple(name for name in wanted if found.sets[name].status == "found")
    if not sets:
        reasons = "; ".join(f"{name}: {found.sets[name].advice}" for name in wanted)
        raise ValueError(f"{found.folder} holds none of the data sets wanted ({reasons}).")
    experiments = paper.experiments
    return Plan(
        paper,
        sets,
        quick.grid if arguments.quick else experiments.grid,
        tuple(range(quick.n_runs if arguments.quick else experiments.n_runs)),
        1 if arguments.quick else 5,
    )


def _set_names(given: str, paper: Paper) -> list[str]:
    """Return the sets that are named, once each; case, and "-", "_" or a blank, do not matter."""
    known = {plain_name(name): name for name in paper.sets}
    names = [name.strip() for name in given.split(",")]
    for name in names:
        if plain_name(name) not in known:
            raise ValueError(f"Unknown data set {name!r}; known: {', '.join(paper.sets)}.")
    return list(dict.fromkeys(known[plain_name(name)] for name in names))


def _path(found: Found, name: str) -> Path:
    path = found.sets[name].path
    assert path is not None
    return path


def _fingerprint(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _facts(plan: Plan, quick: bool) -> dict[str, Any]:
    """Return what belongs to every row: versions, machine, threads."""
    return {
        **versions(),
        "machine": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "cores": os.cpu_count(),
        "threads": 1,
        "quick": quick,
        "grid": list(plan.grid.values),
        "runs": len(plan.seeds),
    }


def _processor() -> str:
    """Return the processor's name, where the system says."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def _write(
    arguments: argparse.Namespace,
    names: Sequence[str],
    tables: dict[str, list[Row]],
    findings: Sequence[claims.Finding],
    facts: dict[str, Any],
    found: Found,
    paper: Paper,
) -> None:
    """Write the tables asked for, their figures, and the page with all there is; each file whole or not."""
    out = arguments.out
    note = "quick version: a small grid, few seeds; not the paper's protocol" if arguments.quick else ""
    pictures: dict[str, str] = {}
    for name, rows in tables.items():
        for stem, figure in figures.draw(name, rows, paper, note).items():
            figures.save(figure, out / "figures", stem)
            pictures[stem] = (out / "figures" / f"{stem}.svg").read_text(encoding="utf-8")
        if name in names:
            _write_rows(out, name, [{**row, **facts} for row in rows])
    missing = [(name, one.reason) for name, one in found.sets.items() if one.status != "found"]
    page.write(out / "report.html", tables, pictures, findings, facts, missing, quick=arguments.quick)


def _write_rows(out: Path, name: str, rows: list[Row]) -> None:
    flat = page.csv_rows(rows)
    header = list(dict.fromkeys(column for row in flat for column in row))
    cells = [[row.get(column, "") for column in header] for row in flat]
    with put_in_place(out / f"{name}.csv") as scratch:
        write_table(scratch, header, cells)
    with put_in_place(out / f"{name}.json") as scratch:
        write_json(scratch, rows)


def _show(
    arguments: argparse.Namespace,
    tables: dict[str, list[Row]],
    findings: Sequence[claims.Finding],
    found: Found,
) -> None:
    """Show the results on the terminal."""
    if arguments.quick:
        show(bold("Quick version: a small grid and few seeds; not the paper's protocol"))
        show()
    for name, rows in tables.items():
        if not rows:
            show(f"{EXPERIMENTS[name].title}: not done, its data set is not there.")
    for name in ("scores", "no-tuning", "2019"):
        if tables.get(name):
            show(bold(EXPERIMENTS[name].title))
            paper = "paper, tuned" if name == "no-tuning" else "paper"
            header = ["set", "system", "NMI", paper, "difference", "ACC", paper, "difference"]
            show_table(header, [_score_cells(row) for row in tables[name]])
            show()
    for one in findings:
        if not one.text.startswith("Not run"):
            show(f"{bold(one.verdict)}: {one.claim}")
            show(f"  {one.text}")
    absent = [(name, one) for name, one in found.sets.items() if one.status != "found"]
    if absent:
        show()
        show(
            "Not used: " + "; ".join(f"{name} ({one.status})" for name, one in absent) + ". See report.html."
        )
    show()
    show(f"Results are in {arguments.out}: open report.html; tables as CSV and JSON, pictures in figures.")


def _score_cells(row: Row) -> list[Any]:
    if row["NMI"] is None:
        return [row["set"], row["system"], "failed", "", "", "", "", row["reason"][:60]]
    neighbors = f", k = {row['n_neighbors']}" if "n_neighbors" in row else ""
    cells: list[Any] = [row["set"], row["system"] + neighbors]
    for metric in ("NMI", "ACC"):
        values = (row[metric], row[f"{metric}_paper"], row[f"{metric}_difference"])
        cells += ["" if value is None else f"{value:.2f}" for value in values]
    return cells


class _Display:
    """Shows how far things are: a bar on a terminal, a line now and then elsewhere."""

    EVERY = 10.0  # seconds

    def __init__(self, visible: bool) -> None:
        self.visible, self.bar = visible, Bar(visible)
        self.last = float("-inf")

    def __call__(self, state: State) -> None:
        system = state.work.arguments.get("system", "")
        line = f"{state.done}/{state.total} {state.work.kind} {system} {state.work.data}".replace(
            "  ", " "
        ).rstrip()
        if state.seconds_left is not None:
            line += f", about {clock(state.seconds_left)} left"
        self.bar.draw(state.share, line)
        if self.visible and not self.bar.in_place and time.monotonic() - self.last >= self.EVERY:
            self.last = time.monotonic()
            sys.stderr.write(f"{line}\n")
            sys.stderr.flush()
