"""From features to labels as n, views, k and features grow: `python -m benchmarks.speed.scale --out FILE`.

The data: 20 classes, three views of 64, 32 and 128 features in single precision, the centre of a class drawn
from N(0, 0.55^2 I), plus N(0, I). Ours next to SNF, the average graph, scikit-learn's SpectralClustering and
MiniBatchKMeans on the concatenation, and muon's WNN with Leiden. Each fit is of a process of its own, warm,
and is stopped at its limits of time and memory; a system that was stopped is not tried on more.

Rows are kept in --out after each; started again with the same file, it goes on where it stopped. Tables are
printed in Markdown, with fitted exponents of growth; --plots draws them. All systems:
`pip install 'consilience[plot]' muon scanpy igraph snfpy`.

A quiet machine with two cores takes about an hour; --quick (up to 10,000 samples) five minutes.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

from ..quality.results import Results, key
from .data import DIMENSIONS
from .limited import run_limited
from .scale_systems import PACKAGES, SYSTEMS
from .scale_tables import report

SIZES = (1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
QUICK_SIZES, QUICK_CENTRE = (1000, 3000, 10_000), 3000
CENTRE, K = 30_000, 10
WARM_UP = 600.0  # seconds for imports, compiling and drawing the data, which do not count
VIEWS, NEIGHBORS, FEATURES = (1, 2, 3, 6, 12), (5, 10, 20, 40), (16, 64, 256, 1024)
Case = dict[str, Any]


def cases(sizes: tuple[int, ...], centre: int, study: str) -> Iterator[Case]:
    """Yield what is fitted, from small to large along each axis."""
    if "n" in study:
        for n in sizes:
            yield {"axis": "n", "at": n, "n": n, "dimensions": list(DIMENSIONS), "k": K}
    if "v" in study:
        for v in VIEWS:
            yield {"axis": "views", "at": v, "n": centre, "dimensions": [64] * v, "k": K}
    if "k" in study:
        for k in NEIGHBORS:
            yield {"axis": "k", "at": k, "n": centre, "dimensions": list(DIMENSIONS), "k": k}
    if "d" in study:
        for d in FEATURES:
            yield {"axis": "features", "at": d, "n": centre, "dimensions": [d] * 3, "k": K}


class Limits:
    """Who was stopped where: nobody is tried on more than that."""

    def __init__(self, seconds: float, gibibytes: float) -> None:
        self.seconds, self.gibibytes = seconds, gibibytes
        self._stopped: dict[tuple[str, str], str] = {}

    def fit(self, system: str, case: Case, search: str) -> dict[str, Any]:
        """Fit in a process of its own; return the figures, `reason` why it was not tried, or `stopped`."""
        for package in PACKAGES.get(system, ()):
            try:
                metadata.version(package)
            except metadata.PackageNotFoundError:
                return {"reason": f"{package} is not installed"}
        for axis in (case["axis"], "n"):
            at, why = self._stopped.get((system, axis), (float("inf"), ""))
            if case["at" if axis == case["axis"] else "n"] >= at:
                return {"stopped": f"not tried: {why} at {axis} = {at:,}"}
        arguments = {name: case[name] for name in ("n", "dimensions", "k")}
        outcome = run_limited(
            "benchmarks.speed.scale_systems.fit",
            {"system": system, "search": search, **arguments},
            seconds=self.seconds,
            gibibytes=self.gibibytes,
            warm_up=WARM_UP,
        )
        if outcome.value is not None:
            return outcome.value
        at_limit = outcome.reason.startswith(
            ("stopped", "died", "MemoryError", "numpy._core._exceptions._Array")
        )
        return {"stopped" if at_limit else "reason": outcome.reason}

    def note(self, system: str, case: Case, figures: dict[str, Any]) -> None:
        """Remember who was stopped."""
        why = figures.get("stopped", "")
        if why and not why.startswith("not tried"):
            self._stopped.setdefault((system, case["axis"]), (case["at"], why))


def main(given: list[str] | None = None) -> None:
    arguments = _parser().parse_args(given)
    results = Results(arguments.out)
    limits = Limits(arguments.max_seconds, arguments.max_memory)
    sizes = tuple(n for n in (QUICK_SIZES if arguments.quick else SIZES) if n <= arguments.max_n)
    asked = []
    for case in cases(sizes, QUICK_CENTRE if arguments.quick else CENTRE, arguments.axes):
        for system in (name for name in SYSTEMS if arguments.systems in name):
            name = key(system, *case.values(), arguments.search)
            asked.append(name)
            if not results.has(name) and not arguments.tables:
                load = round(os.getloadavg()[0], 1)  # before the work: what else there was to do
                figures = limits.fit(system, case, arguments.search)
                results.put({name: {"system": system, **case, "load": load, **figures}})
                print(_line(results.cells[name]), flush=True)
            limits.note(system, case, results.cells.get(name, {}))
    cells = [results.cells[name] for name in asked if name in results.cells]
    print(report(cells, results.facts))
    if arguments.plots is not None:
        from .scale_plots import draw

        for path in draw(cells, arguments.plots):
            print(path)


def _line(cell: dict[str, Any]) -> str:
    head = f"{cell['axis']} = {cell['at']:<9,} {cell['system']:<20}"
    if "seconds" not in cell:
        return f"{head} {cell.get('stopped') or cell.get('reason')}"
    return f"{head} {cell['seconds']:8.1f} s {cell['peak']:8.0f} MB  ARI {cell['ari']:.3f}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.speed.scale",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--out", type=Path, help="where to keep the rows, as JSON")
    add("--tables", action="store_true", help="fit nothing, print the tables of --out")
    add("--plots", type=Path, metavar="FOLDER", help="draw the growth there")
    add("--quick", action="store_true", help="up to 10,000 samples")
    add("--max-n", type=int, default=SIZES[-1], help="most samples")
    add("--axes", default="nvkd", help="which of n, v(iews), k and d (features) to vary (default: nvkd)")
    add("--systems", default="", help=f"only those whose name contains this, of: {'; '.join(SYSTEMS)}")
    add("--search", default="auto", choices=("auto", "exact", "approximate"), help="neighbor_search of ours")
    add("--max-seconds", type=float, default=300.0, help="for one process (default: 300)")
    add("--max-memory", type=float, default=12.0, help="GiB for one process (default: 12)")
    return parser


if __name__ == "__main__":
    main()
