"""What a new process waits for: the import, the first fit with and without compiled code on disk, memory."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator

from .measure import Row, fresh_process

IMPORT = "import time; t = time.perf_counter(); import {modules}; print(time.perf_counter() - t)"
FIRST_FIT = """
import time
from consilience import DistanceGraphFusion, load_digits_views
views, y = load_digits_views(return_X_y=True)
began = time.perf_counter()
DistanceGraphFusion(n_clusters=10, random_state=0).fit(views)
print(time.perf_counter() - began)
"""
MEMORY = """
import numpy as np
from benchmarks.speed.measure import peak_megabytes
from consilience import DistanceGraphFusion
rng = np.random.default_rng(0)
y = np.arange(20_000) % 8
views = [2 * rng.normal(size=(8, 50))[y] + rng.normal(size=(20_000, 50)) for _ in range(2)]
before = peak_megabytes()
DistanceGraphFusion(n_clusters=8, random_state=0).fit(views)
print(peak_megabytes() - before)
"""


def rows() -> Iterator[Row]:
    ours, theirs = [], []
    for _ in range(5):
        theirs.append(
            float(fresh_process(IMPORT.format(modules="sklearn.cluster, scipy.sparse.linalg, numba")))
        )
        ours.append(float(fresh_process(IMPORT.format(modules="consilience"))))
    compared_with = f"scikit-learn, SciPy, Numba: {min(theirs):.2f} s"
    yield Row("import consilience", min(ours), "s", compared_with, min(ours) / min(theirs), 1.15)
    with tempfile.TemporaryDirectory() as cache:
        cold = float(fresh_process(FIRST_FIT, NUMBA_CACHE_DIR=cache))
        warm = float(fresh_process(FIRST_FIT, NUMBA_CACHE_DIR=cache))
    yield Row("first fit, nothing compiled", cold, "s", "digits, 6 views", at_most=15.0)
    yield Row("first fit, compiled code on disk", warm, "s", "digits, 6 views", at_most=1.5)
    yield Row("growth of the process, 20,000 x 2 x 50", float(fresh_process(MEMORY)), "MB", at_most=400.0)
