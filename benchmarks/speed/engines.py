"""What every stage gains by more threads: `python -m benchmarks.speed.engines [--threads 1 2 4]`.

The recipe of the million: 20 classes, three views of 64, 32 and 128 features, k = 10, features to labels,
warm. Each number of threads has a process of its own. Next to the stages the ceiling of the machine: products
of matrices, and copies from memory to memory, on as many threads. A stage that is far below both either waits
or does something that only one thread does. The labels must be the same whatever the number of threads.

The default is a rehearsal with 100,000 samples; --n 1000000 is the measurement (8 GiB, 20 minutes of one
processor for one thread and two). --figure draws how the times fall.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score

from consilience import DistanceGraphFusion
from consilience.engines import threads
from consilience.run.progress import Progress

from .data import N_CLASSES, blobs
from .limited import run_limited
from .measure import fastest, forget_peak, machine_facts, memory_status

K, N, N_WARM = 10, 100_000, 2000
_SIDE, _COPIED = 3000, 1 << 28  # of the matrices that are multiplied, and bytes that are copied
_CPU = "processor"
Answer = dict[str, Any]


def ceiling(n_jobs: int) -> Answer:
    """Return how fast products of matrices and copies are, on some threads."""
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((_SIDE, _SIDE), dtype=np.float32) for _ in range(2))
    source = np.ones(_COPIED // 8)
    target = np.empty_like(source)

    def copy(start: int, stop: int) -> None:
        target[start:stop] = source[start:stop]

    with threads.limit(n_jobs):
        product = fastest(lambda: a @ b, 3)
        copied = fastest(lambda: threads.for_ranges(copy, len(source), grain=1 << 16), 5)
    return {"GFLOP/s": 2e-9 * _SIDE**3 / product, "GB/s": 2e-9 * _COPIED / copied}


def fit(n: int, n_jobs: int, effort: str) -> Answer:
    """Fit once, warm; return the seconds of each stage, on the clock and of all processors, and memory."""
    warnings.simplefilter("ignore")
    given = {"n_clusters": N_CLASSES, "n_neighbors": K, "random_state": 0, "effort": effort}
    small = DistanceGraphFusion(**given, n_jobs=n_jobs, neighbor_search="approximate")
    small.fit(blobs(N_WARM, seed=1).views)  # compiles what the large fit will use
    sample = blobs(n)
    model = DistanceGraphFusion(**given, n_jobs=n_jobs)
    forget_peak()
    began, spent = time.perf_counter(), time.process_time()
    with _processor_seconds() as seconds:
        model.fit(sample.views)
    return {
        "seconds": time.perf_counter() - began,
        _CPU: time.process_time() - spent,
        "stages": dict(model.timings_),
        "stages of all processors": seconds,
        "GiB": memory_status("VmHWM") / 2**30,
        "ari": float(adjusted_rand_score(sample.y, model.labels_)),
        "labels": hashlib.sha256(np.ascontiguousarray(model.labels_, dtype=np.int64)).hexdigest(),
    }


@contextmanager
def _processor_seconds() -> Iterator[dict[str, float]]:
    """Note what each stage of the fits inside the block takes of all processors together."""
    seconds: dict[str, float] = {}
    plain = Progress.stage

    @contextmanager
    def watched(self: Progress, name: str, detail: str = "") -> Iterator[None]:
        began = time.process_time()
        with plain(self, name, detail):
            yield
        seconds[name] = seconds.get(name, 0.0) + time.process_time() - began

    Progress.stage = watched  # type: ignore[method-assign]
    try:
        yield seconds
    finally:
        Progress.stage = plain  # type: ignore[method-assign]


def table(found: dict[int, Answer], ceilings: dict[int, Answer]) -> str:
    """Return a row for each stage: seconds, how many times as fast as with the fewest threads, and work."""
    least = min(found)
    header = f"{'threads':<24}" + "".join(f"{number:>20}" for number in found)
    lines = [header, f"{'':<24}" + f"{'s, gain, work':>20}" * len(found)]

    def line(name: str, values: dict[int, tuple[float, float]]) -> str:
        first, work = values[least]
        cells = [
            f"{a:8.2f} {first / max(a, 1e-9):5.1f}x {b / max(work, 1e-9):4.2f}" for a, b in values.values()
        ]
        return f"{name:<24}" + "".join(f"{cell:>20}" for cell in cells)

    for name in found[least]["stages"]:
        pairs = {
            number: (one["stages"][name], one["stages of all processors"].get(name, 0.0))
            for number, one in found.items()
        }
        lines.append(line(name, pairs))
    lines.append(line("features to labels", {t: (one["seconds"], one[_CPU]) for t, one in found.items()}))
    lines.append(f"{'peak memory, GiB':<24}" + "".join(f"{one['GiB']:>20.2f}" for one in found.values()))
    for unit in ("GFLOP/s", "GB/s"):
        gains = [f"{one[unit]:.0f} {one[unit] / ceilings[least][unit]:5.1f}x" for one in ceilings.values()]
        lines.append(f"{'ceiling: ' + unit:<24}" + "".join(f"{gain:>20}" for gain in gains))
    same = len({one["labels"] for one in found.values()}) == 1
    truth = min(one["ari"] for one in found.values())
    lines.append(f"labels: {'the same' if same else 'NOT the same'} on all; ARI with the truth {truth:.3f}")
    return "\n".join(lines)


def draw(found: dict[int, Answer], ceilings: dict[int, Answer], path: Path) -> None:
    """Draw how many times faster the whole fit and its search are, next to the ceilings."""
    from matplotlib.figure import Figure

    from consilience.inspection.drawing import BLUE, GREEN, GREY, VERMILION, own_style

    numbers, least = sorted(found), min(found)
    curves = {
        "features to labels": [found[least]["seconds"] / found[t]["seconds"] for t in numbers],
        "search": [found[least]["stages"]["search"] / found[t]["stages"]["search"] for t in numbers],
        "products of matrices": [ceilings[t]["GFLOP/s"] / ceilings[least]["GFLOP/s"] for t in numbers],
        "copies": [ceilings[t]["GB/s"] / ceilings[least]["GB/s"] for t in numbers],
    }
    with own_style():
        figure = Figure(figsize=(5, 3.6), layout="constrained")
        axes = figure.subplots()
        for (name, gains), color, mark in zip(
            curves.items(), (VERMILION, BLUE, GREEN, GREY), "osd^", strict=True
        ):
            axes.plot(numbers, gains, marker=mark, color=color, label=name)
        axes.set(xlabel="threads", ylabel=f"times as fast as on {least}", xticks=numbers)
        axes.legend()
        figure.savefig(path)


def main(given: list[str] | None = None) -> None:
    """Measure, print the table, and write what was asked for."""
    cores = os.cpu_count() or 1
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.speed.engines",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--n", type=int, default=N, help=f"samples (default: {N:,})")
    powers = [number for number in (1, 2, 4, 8, 16, 32, 64) if number <= cores]
    parser.add_argument("--threads", type=int, nargs="+", default=powers, help=f"(default here: {powers})")
    parser.add_argument("--effort", default="low", choices=("low", "medium", "high"))
    parser.add_argument("--out", type=Path, help="also write everything as JSON")
    parser.add_argument("--figure", type=Path, help="draw a figure, such as scaling.svg")
    arguments = parser.parse_args(given)
    print(", ".join(f"{name} {value}" for name, value in machine_facts().items()), flush=True)
    found, ceilings = {}, {}
    for number in sorted(set(arguments.threads)):
        ceilings[number] = _run("ceiling", n_jobs=number)
        found[number] = _run("fit", n=arguments.n, n_jobs=number, effort=arguments.effort)
        print(f"{number} threads: {found[number]['seconds']:.2f} s", flush=True)
    print(f"\n{arguments.n:,} samples, effort {arguments.effort!r}\n{table(found, ceilings)}")
    print("gain: times as fast as with the fewest threads; work: seconds of all processors, relative to that")
    if arguments.out is not None:
        content = {"facts": machine_facts(), "n": arguments.n, "found": found, "ceilings": ceilings}
        arguments.out.write_text(json.dumps(content, indent=1))
    if arguments.figure is not None:
        draw(found, ceilings, arguments.figure)


def _run(function: str, **arguments: Any) -> Answer:
    """Run a function of this module in a process of its own, or stop with the reason why it did not end."""
    outcome = run_limited(f"benchmarks.speed.engines.{function}", arguments, seconds=7200.0, gibibytes=20.0)
    if outcome.value is None:
        raise SystemExit(f"{function} {arguments}: {outcome.reason}")
    answer: Answer = outcome.value
    return answer


if __name__ == "__main__":
    main()
