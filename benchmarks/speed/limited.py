"""Running a function in a process of its own that is stopped when it takes too long or too much memory."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).parents[2]
_LOOK = 0.05  # seconds between two looks at a process


@dataclass(frozen=True)
class Outcome:
    """What a function returned, or why it did not; and how long its process was there, at how much memory."""

    value: Any
    reason: str
    seconds: float
    megabytes: float


def run_limited(
    function: str,
    arguments: dict[str, Any],
    *,
    seconds: float,
    gibibytes: float,
    warm_up: float = 0.0,
    **environment: str,
) -> Outcome:
    """Call a function in a new interpreter, and stop it at its limits.

    Parameters
    ----------
    function : str
        Its full name, such as ``"benchmarks.speed.trials.search"``. What it returns must be JSON.
    arguments : dict
        What it is called with, by name; JSON.
    seconds, gibibytes : float
        The limits: wall-clock time, and resident memory.
    warm_up : float, default=0.0
        Seconds that it may take besides, until it calls `begin`.
    **environment : str
        Variables to set.
    """
    command = [sys.executable, "-m", "benchmarks.speed.limited", function, json.dumps(arguments)]
    path = os.pathsep.join(filter(None, [str(_ROOT), os.environ.get("PYTHONPATH", "")]))
    began, most, reason = time.perf_counter(), 0.0, ""
    since, allowed = began, seconds + warm_up  # since when time counts, and how much there is
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as errors:
        child = subprocess.Popen(
            command, stdout=out, stderr=errors, env={**os.environ, "PYTHONPATH": path, **environment}
        )
        try:
            while child.poll() is None and not reason:
                time.sleep(_LOOK)
                most = max(most, _resident_megabytes(child.pid))
                if allowed > seconds and os.fstat(out.fileno()).st_size:  # it has begun
                    since, allowed = time.perf_counter(), seconds
                if time.perf_counter() - since > allowed:
                    reason = f"stopped after {allowed:g} s"
                elif most > 1024 * gibibytes:
                    reason = f"stopped at {gibibytes:g} GiB after {time.perf_counter() - since:.0f} s"
        finally:
            child.kill()
            child.wait()
        took = time.perf_counter() - began
        for file in (out, errors):
            file.seek(0)
        if not reason and child.returncode == 0:
            return Outcome(json.loads(out.read().strip().splitlines()[-1]), "", took, most)
        return Outcome(None, reason or _why(child.returncode, errors.read()), took, most)


def begin() -> None:
    """Say, in the process of its own, that all is warm and time counts from now on."""
    print("begin", flush=True)


def _why(code: int, errors: str) -> str:
    lines = [line.strip() for line in errors.splitlines()]
    last = next((line for line in reversed(lines) if line.strip("~^")), "")
    return f"died of signal {-code}" if code < 0 else last or f"ended with {code}"


def _resident_megabytes(pid: int) -> float:
    try:
        status = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:  # it has just ended
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in status if line.startswith("VmRSS")), 0.0)


def _end_with(parent: int) -> None:
    """End this process when the one that started it has gone: killed, it stops nobody."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


def main() -> None:
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    module, _, name = sys.argv[1].rpartition(".")
    print("\n" + json.dumps(getattr(importlib.import_module(module), name)(**json.loads(sys.argv[2]))))


if __name__ == "__main__":
    main()
