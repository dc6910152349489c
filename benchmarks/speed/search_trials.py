"""What is measured of one search, each in a process of its own: see `searches`."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from .data import blobs, digits, documents, uci_digits
from .limited import begin
from .measure import forget_peak, memory_status
from .search_libraries import LIBRARIES
from .truth import K, drawn_queries, reach, recall

N_WARM, N_REPEATED = 2000, 20_000
DATA = {
    "blobs, d = 64": lambda n: blobs(n).views[0],
    "blobs, d = 32": lambda n: blobs(n).views[1],
    "blobs, d = 128": lambda n: blobs(n).views[2],
    "digits, d = 47": digits,
    "UCI digits, d = 216": uci_digits,
    "documents, 20,000 words": documents,
}


def metric_of(name: str) -> str:
    return "cosine" if name.startswith("documents") else "euclidean"


def prepare(name: str, n: int, folder: str) -> dict[str, Any]:
    """Draw the data, find the true neighbours of some rows, and write both down for the other processes."""
    x = DATA[name](n)
    queries = drawn_queries(n)
    np.savez(_place(folder, name, n, "truth.npz"), queries=queries, far=reach(x, queries))
    if sparse.issparse(x):
        sparse.save_npz(_place(folder, name, n, "rows.npz"), x)
    else:
        np.save(_place(folder, name, n, "rows.npy"), x)
    return {}


def search(
    name: str, n: int, folder: str, library: str, setting: dict[str, Any], n_threads: int
) -> dict[str, Any]:
    """Time one search, warm, and compare it with the truth."""
    chosen, metric = LIBRARIES[library], metric_of(name)
    x = _rows(folder, name, n)
    chosen.search(x[:N_WARM].copy(), K, metric, n_threads, 0, **setting)
    begin()
    forget_peak()
    held, began, cpu = memory_status("VmRSS"), time.perf_counter(), time.process_time()
    index = chosen.search(x, K, metric, n_threads, 0, **setting)
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    truth = np.load(_place(folder, name, n, "truth.npz"))
    return {
        "seconds": seconds,
        "cpu": cpu,
        "megabytes": (memory_status("VmHWM") - held) / 2**20,
        "recall": recall(x, index[truth["queries"]], **truth),
    }


def first_call(library: str, setting: dict[str, Any]) -> dict[str, Any]:
    """Time the first search of 1,000 rows in this process, the library's import included.

    Not the import of NumPy, SciPy, scikit-learn, Numba and ours, which this module needs itself.
    """
    x = np.random.default_rng(0).standard_normal((1000, 64), dtype=np.float32)
    began = time.perf_counter()
    LIBRARIES[library].search(x, K, "euclidean", 2, 0, **setting)
    return {"seconds": time.perf_counter() - began}


def repeated(library: str, setting: dict[str, Any]) -> dict[str, Any]:
    """Say whether a second run and a run on one thread give the same lists, and how many rows differ."""
    x = blobs(N_REPEATED).views[0]
    runs = [
        LIBRARIES[library].search(x, K, "euclidean", n_threads, 0, **setting)[:, :K]
        for n_threads in (2, 2, 1)
    ]
    return {
        "second run": float((runs[0] != runs[1]).any(axis=1).mean()),
        "one thread": float((runs[0] != runs[2]).any(axis=1).mean()),
    }


def takes(library: str, setting: dict[str, Any], folder: str) -> dict[str, Any]:
    """Say why a search takes no sparse rows, if so, and how much memory it adds to rows in a memory map.

    In units of the map: at 1 and more it may have copied all rows.
    """
    chosen = LIBRARIES[library]
    answer: dict[str, Any] = {"sparse": ""}
    try:
        chosen.search(documents(N_WARM), K, "cosine", 2, 0, **setting)
    except Exception as error:  # whatever a library says to what it does not take
        answer["sparse"] = str(error)
    path = Path(folder) / "map.npy"
    np.save(path, blobs(N_REPEATED, (512,)).views[0])
    rows = np.load(path, mmap_mode="r")
    chosen.search(rows[:N_WARM], K, "euclidean", 2, 0, **setting)
    rows.sum()  # now all of the map is resident, and what comes on top is the library's own
    forget_peak()
    held = memory_status("VmRSS")
    chosen.search(rows, K, "euclidean", 2, 0, **setting)
    answer["map"] = (memory_status("VmHWM") - held) / rows.nbytes
    return answer


def _place(folder: str, name: str, n: int, ending: str) -> Path:
    return Path(folder) / f"{name.replace(' ', '').replace(',', '_')}_{n}_{ending}"


def _rows(folder: str, name: str, n: int) -> Any:
    path = _place(folder, name, n, "rows.npz")
    return sparse.load_npz(path) if path.exists() else np.load(_place(folder, name, n, "rows.npy"))
