"""What the comparison systems cost: next to their authors' programs, and in memory."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

from ..comparison import load, references
from .measure import Row, fresh_process

LIMITS = {
    ("CoReg", "UCI_Digits"): 1 / 20,
    **{(method, data): 1.0 for method in ("RMSC", "MVGL", "MCGC") for data in ("3Sources", "BBCSport")},
}
ON_EDGES = ("CoReg", "AWP", "WMSC", "AASC")
_N = 20_000

_GROWTH = """
import warnings
from benchmarks.speed.measure import peak_megabytes
from consilience import make_multiview
from consilience.models import systems
system = systems()[{system!r}]
warnings.simplefilter("ignore")
small = make_multiview(500, n_views=3, n_features=30, n_clusters=10, separation=3.0, random_state=0)
system(n_clusters=10, random_state=0).fit(small.views)
sample = make_multiview({n}, n_views=3, n_features=30, n_clusters=10, separation=3.0, random_state=0)
before = peak_megabytes()
system(n_clusters=10, random_state=0).fit(sample.views)
print(peak_megabytes() - before)
"""


def rows() -> Iterator[Row]:
    yield from _against_the_programs()
    for system in ON_EDGES:
        value = float(fresh_process(_GROWTH.format(system=system, n=_N)))
        yield Row(f"{system}, {_N} samples x 3 views: the process grows by", value, "MB", at_most=1000)


def _against_the_programs() -> Iterator[Row]:
    """CPU seconds of a fit on one core, features to labels, warm, next to those of the authors' programs."""
    folders = os.environ.get("CONSILIENCE_DATA"), os.environ.get("CONSILIENCE_GOLDEN")
    if not all(folders):
        reason = "CONSILIENCE_DATA or CONSILIENCE_GOLDEN is not set"
        yield Row("comparison systems next to their authors' programs", None, "s of CPU", reason=reason)
        return
    data, golden = (Path(folder) for folder in folders if folder)
    for row in references(golden):
        limit = LIMITS.get((row.method, row.data))
        if limit is None:
            continue
        views, _ = load(data, row.data)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            seconds = min(_cpu_seconds(row.estimator(random_state=0, n_jobs=1), views) for _ in range(3))
        compared_with = f"the authors' program: {row.cpu_seconds:.3f} s"
        yield Row(
            f"{row.method} on {row.data}, one core",
            seconds,
            "s of CPU",
            compared_with,
            seconds / row.cpu_seconds,
            limit,
        )


def _cpu_seconds(model: object, views: list[object]) -> float:
    began = time.process_time()
    model.fit(views)  # type: ignore[attr-defined]
    return time.process_time() - began
