"""Timing, and the facts of the machine that belong to every figure."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import numba
import numpy
import scipy
import sklearn

import consilience
from consilience.run.progress import Progress


@dataclass(frozen=True)
class Row:
    """One figure: what was measured, what it is compared with, and what it should be at most."""

    name: str
    value: float | None
    unit: str
    compared_with: str = ""
    ratio: float | None = None
    at_most: float | None = None
    reason: str = ""  # why there is no value
    facts: dict[str, Any] = field(default_factory=lambda: machine_facts())

    @property
    def verdict(self) -> str:
        """Say whether the target is met: the ratio's if there is one, else the value's."""
        if self.value is None:
            return f"not measured: {self.reason}"
        if self.at_most is None:
            return ""
        reached = self.value if self.ratio is None else self.ratio
        return f"{'ok' if reached <= self.at_most else 'MISSED'} (at most {self.at_most:g})"

    def as_dict(self) -> dict[str, Any]:
        """Return all of it, for JSON."""
        return {**asdict(self), "verdict": self.verdict}


def machine_facts() -> dict[str, Any]:
    return {
        "consilience": consilience.__version__,
        "python": platform.python_version(),
        "numpy": numpy.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
        "numba": numba.__version__,
        "machine": platform.machine(),
        "cores": os.cpu_count(),
    }


def fastest(function: Callable[[], Any], repeats: int = 7) -> float:
    """Return the least wall-clock seconds of several calls, after one to warm up."""
    function()
    return min(_seconds(function) for _ in range(repeats))


def in_turn(functions: dict[str, Callable[[], Any]], repeats: int = 9) -> dict[str, float]:
    """Return the median seconds of each function, called in turn so that all meet the same disturbances."""
    for function in functions.values():
        function()
    seconds: dict[str, list[float]] = {name: [] for name in functions}
    for _ in range(repeats):
        for name, function in functions.items():
            seconds[name].append(_seconds(function))
    return {name: median(values) for name, values in seconds.items()}


def fresh_process(program: str, **environment: str) -> str:
    """Run a program in a new interpreter and return what it prints."""
    run = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **environment},
    )
    return run.stdout


def peak_megabytes() -> float:
    """Return the most memory that this process has held so far.

    Not what getrusage says: that is inherited from the process that started this one.
    """
    return memory_status("VmHWM") / 2**20


def memory_status(field: str) -> int:
    """Return a field of /proc/self/status in bytes: VmHWM is the peak, VmRSS what the process holds now."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(field + ":"))


def forget_peak() -> None:
    """Let the peak begin anew from what the process holds now."""
    Path("/proc/self/clear_refs").write_text("5")


@contextmanager
def stage_peaks() -> Iterator[dict[str, int]]:
    """Note what this process holds at most in each stage of the fits inside the block, in bytes."""
    peaks: dict[str, int] = {}
    plain = Progress.stage

    @contextmanager
    def watched(self: Progress, name: str, detail: str = "") -> Iterator[None]:
        forget_peak()
        with plain(self, name, detail):
            yield
        peaks[name] = max(peaks.get(name, 0), memory_status("VmHWM"))

    Progress.stage = watched  # type: ignore[method-assign]
    try:
        yield peaks
    finally:
        Progress.stage = plain  # type: ignore[method-assign]


def _seconds(function: Callable[[], Any]) -> float:
    began = time.perf_counter()
    function()
    return time.perf_counter() - began
