"""What a fit was estimated to need next to what it needs: per stage, one fresh process for each size.

    python -m benchmarks.speed.memory                 # n = 10,000 and 100,000
    python -m benchmarks.speed.memory 1000000 --neighbors 10

The data: 20 classes, three views of 64, 32 and 128 float32 features, the centre of a class drawn from
N(0, 0.55^2 I), plus N(0, I). Measured is what the whole process holds at most (VmHWM), which is what
`memory_estimate` is about.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from consilience import memory_estimate
from consilience.models import systems
from consilience.words import memory_size

from .data import DIMENSIONS, N_CLASSES, blobs
from .measure import memory_status, stage_peaks

SYSTEMS = ("SGF", "DGF", "Average")


def measure(n: int, system: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """Fit in this process; return the most that it held in each stage, in bytes."""
    model = systems()[system](n_clusters=N_CLASSES, random_state=0, **parameters)
    small = blobs(300, seed=1).views
    model.fit(small)  # compile first: that is memory, too, but not of the size of the data
    libraries = memory_status("VmRSS")
    views = blobs(n).views
    held = memory_status("VmRSS")
    with stage_peaks() as peaks, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(views)
    return {
        "libraries": libraries,
        "before": held,
        "peaks": peaks,
        "seconds": model.timings_,
        "edges": len(model.edges_.indices) if hasattr(model, "edges_") else None,
        "graph": model.graph_.nnz,
    }


def show(n: int, system: str, parameters: dict[str, Any], measured: dict[str, Any]) -> None:
    """Print the estimate next to what was measured."""
    estimate = memory_estimate(
        n, DIMENSIONS, dtype=np.float32, n_clusters=N_CLASSES, system=system, **parameters
    )
    print(f"{system}, n = {n:,}, {parameters}: {measured['edges']} edges, {measured['graph']} in the graph")
    print(f"  {'':10} {'measured':>10} {'estimate':>10}  ratio")
    before = {"libraries": estimate.libraries, "before": estimate.libraries + estimate.input}
    for name, expected in before.items():
        held = measured[name]
        print(f"  {name:10} {memory_size(held):>10} {memory_size(expected):>10}  {expected / held:5.2f}")
    for stage, peak in measured["peaks"].items():
        expected = estimate.stages.get(stage)
        ratio = "" if expected is None else f"{memory_size(expected):>10}  {expected / peak:5.2f}"
        print(f"  {stage:10} {memory_size(peak):>10} {ratio}   {measured['seconds'].get(stage, 0):8.1f} s")
    most = max(measured["peaks"].values())
    off = estimate.peak / most - 1
    verdict = f"{'ok' if abs(off) <= 0.25 else 'MISSED'} (within 25 %)"
    print(f"  peak       {memory_size(most):>10} {memory_size(estimate.peak):>10}  {off:+.0%}: {verdict}")


def main(argv: Sequence[str] | None = None) -> int:
    """Measure each size in a process of its own."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("n", nargs="*", type=int, default=[10_000, 100_000], help="numbers of samples")
    parser.add_argument("--system", choices=SYSTEMS, default="SGF")
    parser.add_argument("--neighbors", type=int, default=10)
    parser.add_argument("--search", help="neighbor_search (default: that of the library)")
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args(argv)
    parameters: dict[str, Any] = {"n_neighbors": arguments.neighbors}
    if arguments.search is not None:
        parameters["neighbor_search"] = arguments.search
    if arguments.jobs is not None:
        parameters["n_jobs"] = arguments.jobs
    if arguments.child:
        print(json.dumps(measure(arguments.n[0], arguments.system, parameters)))
        return 0
    given = sys.argv[1:] if argv is None else list(argv)
    options = [one for one in given if one not in map(str, arguments.n)]
    for n in arguments.n:
        command = [sys.executable, "-m", "benchmarks.speed.memory", str(n), *options, "--child"]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        if run.returncode:
            print(f"n = {n:,}: {run.stderr.strip().splitlines()[-1]}")
            continue
        show(n, arguments.system, parameters, json.loads(run.stdout))
    return 0


if __name__ == "__main__":
    sys.exit(main())
