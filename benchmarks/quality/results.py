"""Results in one JSON file, written after each piece of work; doing such pieces in several processes."""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

from consilience.engines import threads

from ..speed.measure import machine_facts

Cells = dict[str, dict[str, Any]]
VERSIONS = ("consilience", "numpy", "scipy", "scikit-learn")


def key(*parts: object) -> str:
    """Return the name of a result: what was done, and the versions that did it.

    A change of the library that does not change its version is not noticed: begin a new file then.
    """
    facts = machine_facts()
    return " | ".join([*map(str, parts), *(f"{name} {facts[name]}" for name in VERSIONS)])


class Results:
    """Results by name, kept in a file if there is one.

    Parameters
    ----------
    path : Path or None
        The file; what it holds already is read. None: they are kept in memory only.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self.cells: Cells = {}
        self.facts = machine_facts()
        if path is not None and path.exists():
            content = json.loads(path.read_text(encoding="utf-8"))
            self.cells, self.facts = content["cells"], content["facts"]

    def has(self, name: str) -> bool:
        """Say whether a result is there. A reason for having none is not a result, and worth another try."""
        return name in self.cells and not self.cells[name].get("reason")

    def put(self, cells: Mapping[str, dict[str, Any]]) -> None:
        """Keep results; the file is there as a whole or as it was before."""
        for name, cell in cells.items():
            self.cells.pop(name, None)  # the latest is the last
            self.cells[name] = cell
        self.facts = machine_facts()
        if self.path is None or not cells:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        scratch = self.path.with_name(self.path.name + ".part")
        scratch.write_text(json.dumps({"facts": self.facts, "cells": self.cells}, indent=1), encoding="utf-8")
        scratch.replace(self.path)


def run(
    pieces: Iterable[Any],
    do: Callable[[Any], Cells],
    results: Results,
    *,
    n_jobs: int = 1,
    max_seconds: float | None = None,
) -> int:
    """Do pieces of work, keep the results of each as it ends, and return how many were not begun in time.

    Parameters
    ----------
    pieces : iterable
        What `do` takes, in the order in which they are to begin.
    do : callable
        Returns results by name; a function that can be sent to another process. It runs on one thread.
    results : Results
        Where they go.
    n_jobs : int, default=1
        Number of processes; with one, the work is done by this one.
    max_seconds : float, default=None
        After so many seconds no piece is begun.
    """
    left, began = list(pieces), time.monotonic()

    def goes_on() -> bool:
        return bool(left) and (max_seconds is None or time.monotonic() - began < max_seconds)

    if n_jobs == 1:
        while goes_on():
            piece = left.pop(0)
            _keep(results, piece, _on_one_thread(do, piece), len(left))
        return len(left)
    # Fresh processes: a fork of one that has compiled code and threads running may hang.
    with ProcessPoolExecutor(n_jobs, multiprocessing.get_context("spawn")) as pool:
        running: dict[Future[Any], Any] = {}
        while running or goes_on():
            while len(running) < n_jobs and goes_on():
                piece = left.pop(0)
                running[pool.submit(_on_one_thread, do, piece)] = piece
            for done in wait(running, return_when=FIRST_COMPLETED).done:
                piece = running.pop(done)
                _keep(results, piece, _result_of(done), len(left) + len(running))
    return len(left)


def resume(
    arguments: argparse.Namespace, pieces: Callable[[], Iterable[Any]], do: Callable[[Any], Cells]
) -> Results:
    """Return the results of a study: those kept before and, unless only tables are wanted, all others.

    Parameters
    ----------
    arguments : Namespace
        With the common options.
    pieces : callable
        Returns all pieces of work, each with a `key`: the name of its result.
    do : callable
        Does one; see `run`.
    """
    if arguments.tables is not None:
        if not arguments.tables.exists():
            raise SystemExit(f"There is no file {arguments.tables}.")
        return Results(arguments.tables)
    results = Results(arguments.out)
    missing = [piece for piece in pieces() if not results.has(piece.key)]
    n_left = run(missing, do, results, n_jobs=arguments.jobs, max_seconds=arguments.max_seconds)
    report_rest(n_left, arguments.out)
    return results


def _on_one_thread(do: Callable[[Any], Cells], piece: Any) -> tuple[Cells, float]:
    began = time.monotonic()
    with threads.limit(1):
        return do(piece), time.monotonic() - began


def _result_of(done: Future[Any]) -> tuple[Cells, float]:
    try:
        found: tuple[Cells, float] = done.result()
        return found
    except BrokenProcessPool:
        raise SystemExit(
            "A process was killed from outside, most often for want of memory; lower --jobs. What was done "
            "is kept: start again with the same --out."
        ) from None


def _keep(results: Results, piece: Any, found: tuple[Cells, float], n_left: int) -> None:
    cells, seconds = found
    results.put(cells)
    print(f"{piece}: {seconds:.1f} s, {n_left} left", file=sys.stderr, flush=True)


def report_rest(n_left: int, out: Path | None) -> None:
    """Say on standard error what was not begun in time."""
    if n_left:
        again = "start again with the same --out" if out else "next time, name a file with --out"
        print(f"Time is up: {n_left} pieces were not begun; {again}.", file=sys.stderr)


def ordered(names: Sequence[str], known: Iterable[str]) -> list[str]:
    """Return the names that occur, in the order known, then the others."""
    first = [name for name in known if name in names]
    return [*first, *(name for name in dict.fromkeys(names) if name not in first)]
