"""Seconds and peak memory: the import, a cold start, UCI_Digits, 100,000 and a million samples.

Each part runs in a fresh process. A yardstick, work of NumPy that the library has no part in, is timed before
and after: machines are shared, and what they do in a second changes from hour to hour.
"""

from __future__ import annotations

import hashlib
import tempfile
import time
import warnings
from statistics import median
from typing import Any

import numpy as np

from ..speed.cold_start import FIRST_FIT, IMPORT
from ..speed.limited import run_limited
from ..speed.measure import fresh_process, memory_status

SIZES = {"n = 100,000": 100_000, "n = 1,000,000": 1_000_000}
LIMITS = {"seconds": 1200.0, "gibibytes": 20.0}


def parts() -> dict[str, Any]:
    """Return what can be measured: names, and functions without arguments."""
    found: dict[str, Any] = {"import": _import, "cold start": _cold_start, "UCI_Digits": _digits}
    return found | {name: lambda n=n: _many(n) for name, n in SIZES.items()}


def yardstick() -> dict[str, float]:
    """Time a product of matrices, a sort, a copy and a gather."""
    rng = np.random.default_rng(0)
    a, numbers = rng.random((2000, 2000), dtype=np.float32), rng.random(4_000_000)
    large, places = np.ones(40_000_000), rng.integers(0, 40_000_000, 8_000_000)
    works = {
        "product": lambda: a @ a,
        "sort": lambda: np.sort(numbers),
        "copy": lambda: large.copy(),
        "gather": lambda: large[places],
    }
    return {name: min(_seconds(work) for _ in range(3)) for name, work in works.items()}


def _import() -> dict[str, Any]:
    program = IMPORT.format(modules="consilience")
    floor = IMPORT.format(modules="sklearn.cluster, scipy.sparse.linalg, numba")
    ours, theirs = ([float(fresh_process(one)) for _ in range(5)] for one in (program, floor))
    return {"seconds": median(ours), "floor": median(theirs)}


def _cold_start() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as cache:
        cold, warm = (float(fresh_process(FIRST_FIT, NUMBA_CACHE_DIR=cache)) for _ in range(2))
    return {"seconds": cold, "with compiled code on disk": warm}


def _digits() -> dict[str, Any]:
    return _child("digits", {})


def _many(n: int) -> dict[str, Any]:
    return _child("many", {"n": n})


def _child(function: str, arguments: dict[str, Any]) -> dict[str, Any]:
    outcome = run_limited(f"benchmarks.gate.speed.{function}", arguments, **LIMITS)
    return {"reason": outcome.reason} if outcome.value is None else outcome.value


def digits(repeats: int = 7) -> dict[str, Any]:
    """Fit to UCI_Digits, warm, several times; return the medians."""
    from .fits import FUSIONS
    from .sets import load

    warnings.simplefilter("ignore")
    views = list(load("UCI_Digits").views)
    found: dict[str, Any] = {}
    for name, system in FUSIONS.items():
        model = system(n_clusters=10, random_state=0).fit(views)
        runs = []
        for _ in range(repeats):
            seconds = _seconds(lambda model=model: model.fit(views))
            runs.append((seconds, dict(model.timings_)))
        stages = {stage: median(run[1][stage] for run in runs) for stage in runs[0][1]}
        found[name] = {"seconds": median(run[0] for run in runs), "stages": stages}
    return {"seconds": found["DGF"]["seconds"], "models": found, "peak": memory_status("VmHWM") / 2**30}


def many(n: int) -> dict[str, Any]:
    """Fit to blobs of many samples, warm; return seconds and peaks per stage."""
    from sklearn.metrics import adjusted_rand_score

    from ..speed.data import N_CLASSES, blobs
    from ..speed.measure import forget_peak, stage_peaks
    from .fits import FUSIONS, digest

    warnings.simplefilter("ignore")
    system, parameters = FUSIONS["DGF"], {"n_clusters": N_CLASSES, "n_neighbors": 10, "random_state": 0}
    system(**parameters, neighbor_search="approximate").fit(blobs(2000, seed=1).views)  # compiles
    sample = blobs(n)
    model = system(**parameters)
    forget_peak()
    with stage_peaks() as peaks:
        seconds = _seconds(lambda: model.fit(sample.views))
    return {
        "seconds": seconds,
        "stages": dict(model.timings_),
        "peak": max(memory_status("VmHWM"), *peaks.values()) / 2**30,
        "peaks": {stage: value / 2**30 for stage, value in peaks.items()},
        "recall": [one.recall for one in model.neighbor_searches_],
        "ari": float(adjusted_rand_score(sample.y, model.labels_)),
        "labels": hashlib.sha256(np.asarray(model.labels_, dtype=np.int64).tobytes()).hexdigest()[:16],
        "graph": digest(model.graph_.data),
    }


def _seconds(work: Any) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began
