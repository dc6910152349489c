"""Kill a fit at random moments, start it again each time, and compare what comes out in the end.

    python -m benchmarks.speed.killed                     # n = 50,000, ten kills
    python -m benchmarks.speed.killed 5000 --kills 3 --seed 1

Each attempt is a process of its own, killed (SIGKILL) after a random part of the time that the fit takes
without. One that gets to its end before is compared with the fit that nobody disturbed, and the next begins
anew, until there were as many kills as asked for.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import consilience

from .data import N_CLASSES, blobs

LONGEST = 0.4  # of the time of a whole fit, before a kill


def fit(n: int, folder: Path, target: Path) -> None:
    """Fit in this process, with checkpoints, and write what was found."""
    views = blobs(n).views
    print("fitting", flush=True)
    with consilience.config_context(checkpoint_dir=folder), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = consilience.SimilarityGraphFusion(n_clusters=N_CLASSES, n_neighbors=10, random_state=0)
        model.fit(views)
    graph = model.graph_
    np.savez(
        target,
        labels=model.labels_,
        embedding=model.embedding_,
        data=graph.data,
        indices=graph.indices,
        indptr=graph.indptr,
    )
    print("done", flush=True)


def attempt(n: int, folder: Path, target: Path, seconds: float | None) -> tuple[bool, float]:
    """Fit in a process of its own, kill it after some time; say whether it was done, and how long it ran."""
    command = [sys.executable, "-m", "benchmarks.speed.killed", str(n), "--child", str(folder), str(target)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        if process.stdout.readline() != "fitting\n":
            raise RuntimeError("the fit did not even begin")
        began = time.perf_counter()
        if seconds is not None:
            try:
                process.wait(seconds)
            except subprocess.TimeoutExpired:
                process.kill()
        done = "done" in process.stdout.read()
    return done, time.perf_counter() - began


def same(one: Path, other: Path) -> bool:
    """Say whether two fits have found the same, to the last bit."""
    first, second = np.load(one), np.load(other)
    return all(np.array_equal(first[name], second[name], equal_nan=True) for name in first.files)


def main(argv: Sequence[str] | None = None) -> int:
    """Fit once in peace, then kill and resume; return 0 if the results are the same."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("n", nargs="?", type=int, default=50_000, help="number of samples")
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0, help="of the moments")
    parser.add_argument("--child", nargs=2, type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args(argv)
    if arguments.child is not None:
        fit(arguments.n, *arguments.child)
        return 0
    chance = random.Random(arguments.seed)
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch)
        _, whole = attempt(arguments.n, place / "peace", place / "peace.npz", None)
        print(f"n = {arguments.n:,}: {whole:.1f} s undisturbed")
        kills, compared, equal, done = 0, 0, True, False
        folder, target = place / "kept", place / "killed.npz"
        while kills < arguments.kills or not done:
            seconds = None if kills >= arguments.kills else chance.uniform(0, LONGEST * whole)
            done, took = attempt(arguments.n, folder, target, seconds)
            if done:
                compared += 1
                equal &= same(place / "peace.npz", target)
                left = sorted(one.name for one in folder.iterdir())
                print(f"done after {took:5.1f} s; the same: {equal}; left in the folder: {left or 'nothing'}")
            else:
                kills += 1
                finished = sorted(one.stem for one in folder.glob("*/*.checkpoint"))
                used = sum(one.stat().st_size for one in folder.rglob("*")) / 2**20
                last = finished[-1] if finished else "none"
                print(
                    f"kill {kills:2} after {took:5.1f} s; last finished stage: {last}; {used:.0f} MiB on disk"
                )
        print(f"{kills} kills, {compared} fits to the end, all the same: {'ok' if equal else 'MISSED'}")
    return 0 if equal else 1


if __name__ == "__main__":
    sys.exit(main())
