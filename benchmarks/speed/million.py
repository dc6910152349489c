"""A million samples on two cores, target by target: `python -m benchmarks.speed.million [--out FILE]`.

The data: 20 classes, three views of 64, 32 and 128 features in single precision, the centre of a class drawn
from N(0, 0.55^2 I), plus N(0, I). Features to labels in one process, warm, next to what `pynndescent` takes
for the neighbours of the three views alone, which needs to be installed for that. And at a tenth of the
size: memory, growth, how far the eigenvectors are from ARPACK's, and whether a second run and a run on one
thread come to the same partition.

A quiet machine with two cores takes about 8 minutes and 8 GiB. --n 100000 is a rehearsal of a minute or two;
the targets are those of a million.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import subspace_angles
from scipy.sparse.linalg import eigsh
from sklearn.metrics import adjusted_rand_score

from consilience import DistanceGraphFusion
from consilience.spectra import NormalizedLaplacian
from consilience.stages import spectral_embedding

from .data import DIMENSIONS, N_CLASSES, blobs
from .limited import run_limited
from .measure import forget_peak, machine_facts, memory_status, stage_peaks
from .search_libraries import pynndescent
from .truth import drawn_queries, reach, recall

K, N, N_WARM, N_COMPILED = 10, 1_000_000, 2000, 50_000
AFTER_THE_SEARCH = ("connect", "weigh", "fuse", "sparsify")  # what is done for each edge and view
_HERE = "benchmarks.speed.million."


def search_three(n: int) -> dict[str, Any]:
    """Time pynndescent on the three views, warm."""
    views = blobs(n).views
    for x in views:
        pynndescent(x[:N_COMPILED].copy(), K, "euclidean", 2, 0)  # compiles all that large data need
    seconds, found = [], []
    for x in views:
        began = time.perf_counter()
        index = pynndescent(x, K, "euclidean", 2, 0)
        seconds.append(time.perf_counter() - began)
        queries = drawn_queries(n)
        found.append(recall(x, index[queries], queries, reach(x, queries)))
    return {"seconds": seconds, "recall": found}


def fit(
    n: int, search: str, n_jobs: int, with_recall: bool = False, with_angle: bool = False
) -> dict[str, Any]:
    """Fit once, warm; return seconds and peaks per stage, the partition, and how good it is."""
    warnings.simplefilter("ignore")
    parameters = {
        "n_clusters": N_CLASSES,
        "n_neighbors": K,
        "random_state": 0,
        "n_jobs": n_jobs,
        "effort": "low",
    }
    DistanceGraphFusion(**parameters, neighbor_search="approximate" if search == "auto" else search).fit(
        blobs(N_WARM, seed=1).views
    )  # compiles what the large fit will use
    sample = blobs(n)
    held = memory_status("VmRSS")
    model = DistanceGraphFusion(**parameters, neighbor_search=search)
    forget_peak()
    began = time.perf_counter()
    with stage_peaks() as peaks:
        model.fit(sample.views)
    seconds = time.perf_counter() - began
    most = max(memory_status("VmHWM"), *peaks.values())
    answer = {
        "seconds": seconds,
        "timings": dict(model.timings_),
        "held": held / 2**30,
        "peak": most / 2**30,
        "peaks": {name: value / 2**30 for name, value in peaks.items()},
        "ari": float(adjusted_rand_score(sample.y, model.labels_)),
        "labels": hashlib.sha256(np.ascontiguousarray(model.labels_, dtype=np.int64)).hexdigest(),
        "edges": len(model.edges_.indices),
        "reported": [None if one is None else one.recall for one in model.neighbor_searches_],
    }
    embedding = spectral_embedding(model.graph_, N_CLASSES, random_state=0)
    answer["residual"] = float(embedding.residuals.max())
    if with_angle:
        answer["angle"] = angle_to_arpack(model.graph_, embedding.vectors)
    if with_recall:
        queries = drawn_queries(n)
        answer["recall"] = [
            recall(x, found[queries], queries, reach(x, queries))
            for x, found in zip(sample.views, model.neighbors_, strict=True)
        ]
    return answer


def angle_to_arpack(graph: sparse.csr_array, vectors: NDArray[np.float64]) -> float:
    """Return the largest angle between the span of eigenvectors and that of a tight solution by ARPACK."""
    adjacency = NormalizedLaplacian(graph).adjacency
    n, c = vectors.shape
    start = np.random.default_rng(0).standard_normal(n)
    tight = eigsh(adjacency, c, which="LA", tol=1e-12, ncv=4 * c, v0=start)[1]
    return float(subspace_angles(tight, vectors).max())


def targets(n: int, theirs: dict[str, Any], ours: dict[str, Any], tenth: dict[str, Any]) -> list[tuple]:
    """Return what must hold: name, value reached, limit, whether that is a most or a least, and unit."""
    growth = math.log(ours["seconds"] / tenth["fit"]["seconds"]) / math.log(10)
    rows: list[tuple] = []
    if "seconds" in theirs:
        ratio = ours["seconds"] / sum(theirs["seconds"])
        rows.append(("total, in units of pynndescent on three views", ratio, 1.6, "most", "x"))
    rows += [
        (f"peak memory at n = {n:,}", ours["peak"], 9.0, "most", "GiB"),
        *(
            (f"recall, view of {d} features", value, 0.9, "least", "")
            for d, value in zip(DIMENSIONS, ours["recall"], strict=True)
        ),
        ("ARI with the truth", ours["ari"], 0.99, "least", ""),
        (f"growth exponent from n = {n // 10:,}", growth, 1.15, "most", ""),
        ("residual of the eigenvectors, in 1e-6", 1e6 * ours["residual"], 100.0, "most", ""),
        (f"the same at n = {n // 10:,}", 1e6 * tenth["fit"]["residual"], 100.0, "most", ""),
        ("their angle to those of ARPACK, in 1e-6", 1e6 * tenth["fit"]["angle"], 1e4, "most", ""),
        (f"peak memory at n = {n // 10:,}", tenth["fit"]["peak"], 2.0, "most", "GiB"),
        ("partitions that differ in a second run", float(_differ(tenth, "again")), 0.0, "most", ""),
        ("partitions that differ on one thread", float(_differ(tenth, "one thread")), 0.0, "most", ""),
    ]
    return rows


def _differ(tenth: dict[str, Any], which: str) -> bool:
    return tenth["fit"]["labels"] != tenth[which]["labels"]


def main(given: list[str] | None = None) -> None:
    arguments = _parser().parse_args(given)
    n, search = arguments.n, arguments.search
    print(", ".join(f"{name} {value}" for name, value in machine_facts().items()), flush=True)
    tenth = {
        name: _run("fit", n=n // 10, search=search, n_jobs=jobs, with_angle=name == "fit")
        for name, jobs in (("fit", 2), ("again", 2), ("one thread", 1))
    }
    theirs = _run("search_three", n=n)
    if "seconds" in theirs:
        _say("pynndescent, seconds per view", theirs["seconds"])
        _say("  its recall", theirs["recall"])
    ours = _run("fit", n=n, search=search, n_jobs=2, with_recall=True)
    if arguments.out is not None:
        content = {"facts": machine_facts(), "n": n, "theirs": theirs, "ours": ours, "tenth": tenth}
        arguments.out.write_text(json.dumps(content, indent=1))
    failed = [one["reason"] for one in (ours, *tenth.values()) if "reason" in one]
    if failed:
        raise SystemExit(failed[0])
    _show(n, ours, theirs, tenth)


def _show(n: int, ours: dict[str, Any], theirs: dict[str, Any], tenth: dict[str, Any]) -> None:
    print(f"\n{'stage':<12} {'s':>8} {'GiB':>6}   n = {n // 10:,}: s, GiB")
    for name, seconds in ours["timings"].items():
        before = tenth["fit"]["timings"].get(name, 0.0), tenth["fit"]["peaks"].get(name, 0.0)
        peak = ours["peaks"].get(name, 0.0)
        print(f"{name:<12} {seconds:8.2f} {peak:6.2f}   {before[0]:8.2f} {before[1]:6.2f}")
    print(f"{'in all':<12} {ours['seconds']:8.2f} {ours['peak']:6.2f}   {tenth['fit']['seconds']:8.2f}")
    print(f"\n{ours['edges']:,} edges; before the fit {ours['held']:.2f} GiB, data and libraries")
    for name in AFTER_THE_SEARCH:
        per_edge = 1e9 * ours["timings"][name] / (ours["edges"] * len(DIMENSIONS))
        print(f"{name:<12} {per_edge:8.1f} ns an edge and view")
    rest = sum(took for name, took in ours["timings"].items() if name != "search")
    print(f"{'all but search':<14} {1e9 * rest / (ours['edges'] * len(DIMENSIONS)):6.1f} ns an edge and view")
    _say("recall it reports itself", [one for one in ours["reported"] if one is not None])
    print()
    if "reason" in theirs:
        print(f"{'total, in units of pynndescent on three views':<48} not measured: {theirs['reason']}")
    for name, value, limit, side, unit in targets(n, theirs, ours, tenth):
        good = value <= limit if side == "most" else value >= limit
        print(f"{name:<48} {value:8.3f} {unit:<4} {'ok' if good else 'MISSED'} (at {side} {limit:g})")


def _run(function: str, **arguments: Any) -> dict[str, Any]:
    """Run a function of this module in a process of its own; return what it does, or the reason why not."""
    outcome = run_limited(_HERE + function, arguments, seconds=3600.0, gibibytes=20.0)
    return {"reason": outcome.reason} if outcome.value is None else outcome.value


def _say(words: str, values: list[float]) -> None:
    print(f"{words}: {', '.join(f'{value:.3f}' for value in values)}", flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.speed.million",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--out", type=Path, help="also write everything as JSON")
    parser.add_argument("--n", type=int, default=N, help=f"samples (default: {N:,})")
    parser.add_argument("--search", default="auto", choices=("auto", "exact", "approximate"))
    return parser


if __name__ == "__main__":
    main()
