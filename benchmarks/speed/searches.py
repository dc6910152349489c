"""Libraries that find near neighbours, next to ours: `python -m benchmarks.speed.searches --out FILE`.

Recall of the 10 nearest against the truth on 1,000 rows drawn from all; seconds for building and asking,
warm, on two threads, in wall-clock time and in time of the processors; what the process grows by meanwhile;
the first call in a fresh process, with nothing compiled and with what the first one left on disk; whether a
second run and a run on one thread give the same lists; whether sparse rows are taken, and a memory map
without a copy.

Each figure is of a process of its own, stopped at its limits. Rows are kept in --out after each; started
again with the same file, it goes on where it stopped. The tables are printed in Markdown; --plot draws them.
What is not installed is said to be, in its row: `pip install pynndescent faiss-cpu usearch hnswlib scann`
for all.

A quiet machine with two cores takes about 45 minutes; --quick (10,000 rows) about 10.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from ..quality.results import Results, key
from .limited import run_limited
from .search_libraries import LIBRARIES
from .search_tables import report
from .search_trials import DATA

N, N_LARGE, N_QUICK, N_THREADS = 100_000, 1_000_000, 10_000, 2
LARGE = "blobs, d = 64"
WARM_UP = 600.0  # seconds for imports and compiling, which do not count
_TRIALS = "benchmarks.speed.search_trials."
# So that threads that wait do not count as work, and none is started that was not asked for.
_ENVIRONMENT = {"OMP_WAIT_POLICY": "passive", "OMP_NUM_THREADS": str(N_THREADS), "OPENBLAS_NUM_THREADS": "2"}


@dataclass(frozen=True)
class Trial:
    """One thing to measure: what decides about it, and the function that does it."""

    what: dict[str, Any]
    measure: Callable[[], dict[str, Any]]


class Comparison:
    """The trials of the study, in order.

    Parameters
    ----------
    arguments : argparse.Namespace
        See `_parser`.
    folder : str
        A temporary folder for rows and their true neighbours.
    """

    def __init__(self, arguments: argparse.Namespace, folder: str) -> None:
        self.arguments, self.folder = arguments, folder
        self.limits = {"seconds": arguments.max_seconds, "gibibytes": arguments.max_memory}
        self.libraries = {name: LIBRARIES[name] for name in LIBRARIES if arguments.library in name}
        self._prepared: dict[tuple[str, int], str] = {}

    def trials(self) -> Iterator[Trial]:
        """Yield what is to be measured, the main comparison first."""
        n = N_QUICK if self.arguments.quick else self.arguments.n
        for data in DATA:
            if self.arguments.data in data:
                yield from self._searches(data, n, large=False)
        yield from self._once()
        if self.arguments.large and self.arguments.data in LARGE:
            yield from self._searches(LARGE, N_LARGE, large=True)

    def _searches(self, data: str, n: int, large: bool) -> Iterator[Trial]:
        for name, library in self.libraries.items():
            for number, setting in enumerate(library.settings):
                if large and number not in library.large:
                    continue
                what = {"trial": "search", "name": data, "n": n, "library": name, "setting": setting}

                def measure(what: dict[str, Any] = what) -> dict[str, Any]:
                    given = {**what, "n_threads": N_THREADS, "folder": self.folder}
                    return self._prepare(what["name"], what["n"]) or self._run(given)

                yield Trial(what, measure)

    def _once(self) -> Iterator[Trial]:
        """Yield what is measured once of each library, at its first setting."""
        for name, library in self.libraries.items():
            given = {"library": name, "setting": library.settings[0]}
            yield Trial({"trial": "first_call", **given}, lambda given=given: self._first_calls(given))
            yield Trial(
                {"trial": "repeated", **given}, lambda given=given: self._run({"trial": "repeated", **given})
            )
            yield Trial(
                {"trial": "takes", **given},
                lambda given=given: self._run({"trial": "takes", "folder": self.folder, **given}),
            )

    def _first_calls(self, given: dict[str, Any]) -> dict[str, Any]:
        with tempfile.TemporaryDirectory() as cache:
            first = self._run({"trial": "first_call", **given}, NUMBA_CACHE_DIR=cache)
            second = self._run({"trial": "first_call", **given}, NUMBA_CACHE_DIR=cache)
        return {**first, "again": second.get("seconds")}

    def _prepare(self, name: str, n: int) -> dict[str, Any]:
        """Draw data, once; return nothing, or why there are none."""
        if (name, n) not in self._prepared:
            arguments = {"trial": "prepare", "name": name, "n": n, "folder": self.folder}
            self._prepared[name, n] = self._run(arguments, seconds=3600.0).get("reason", "")
        reason = self._prepared[name, n]
        return {"reason": reason} if reason else {}

    def _run(
        self, arguments: dict[str, Any], seconds: float | None = None, **environment: str
    ) -> dict[str, Any]:
        """Run a trial; return its figures, `reason` why it could not be tried, or `stopped` at a limit."""
        rest = {name: value for name, value in arguments.items() if name != "trial"}
        for package in LIBRARIES[rest["library"]].packages if "library" in rest else ():
            try:
                metadata.version(package)
            except metadata.PackageNotFoundError:
                return {"reason": f"{package} is not installed"}
        limits = {**self.limits, **({} if seconds is None else {"seconds": seconds})}
        limits["warm_up"] = WARM_UP if arguments["trial"] == "search" else 0.0
        outcome = run_limited(_TRIALS + arguments["trial"], rest, **limits, **{**_ENVIRONMENT, **environment})
        if outcome.value is not None:
            return outcome.value
        return {"stopped" if outcome.reason.startswith("stopped") else "reason": outcome.reason}


def main(given: list[str] | None = None) -> None:
    arguments = _parser().parse_args(given)
    results = Results(arguments.out)
    asked = []
    with tempfile.TemporaryDirectory() as folder:
        for trial in Comparison(arguments, folder).trials():
            name = key(*trial.what.values())
            asked.append(name)
            if results.has(name) or arguments.tables:
                continue
            load = round(os.getloadavg()[0], 1)  # before the work: what else there was to do
            results.put({name: {**trial.what, "load": load, **trial.measure()}})
            print(" | ".join(map(str, results.cells[name].values())), flush=True)
    packages = {one: _version(one) for library in LIBRARIES.values() for one in library.packages}
    cells = [results.cells[name] for name in asked if name in results.cells]
    print(report(cells, results.facts, packages))
    if arguments.plot is not None:
        from .search_plots import draw

        print(draw(cells, arguments.plot) or "There is nothing to draw.")


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.speed.searches",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--out", type=Path, help="where to keep the rows, as JSON")
    add("--tables", action="store_true", help="measure nothing, print the tables of --out")
    add("--plot", type=Path, metavar="FILE", help="draw recall against time, as a PNG")
    add("--quick", action="store_true", help=f"{N_QUICK:,} rows")
    add("--large", action="store_true", help=f"also {N_LARGE:,} rows of {LARGE}, at some settings")
    add("--n", type=int, default=N, help=f"rows (default: {N:,})")
    add("--data", default="", help=f"only data whose name contains this, of: {'; '.join(DATA)}")
    add("--library", default="", help=f"only libraries whose name contains this, of: {'; '.join(LIBRARIES)}")
    add("--max-seconds", type=float, default=300.0, help="for one process (default: 300)")
    add("--max-memory", type=float, default=12.0, help="GiB for one process (default: 12)")
    return parser


if __name__ == "__main__":
    main()
