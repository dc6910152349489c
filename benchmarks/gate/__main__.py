"""Compare the tree with the frozen baseline: `make gate`.

    python -m benchmarks.gate                         # ten minutes: speed, digests, the scores of one seed
    python -m benchmarks.gate --parts fits --sets MSRC_v1,NGs --fits DGF
    python -m benchmarks.gate --parts scores          # the scores of ten seeds: hours
    python -m benchmarks.gate --rerun --parts speed   # the baseline's own code again, here and now
    python -m benchmarks.gate --record                # make the baseline, on the code as it is

What is compared: seconds and peak memory per stage, corrected by a yardstick; for every fit and data set
whether labels, graph, embedding, fusion and predictions have the same bits; and scores. CONSILIENCE_DATA
names the folder of the data sets.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from . import sets, work
from .store import BASELINE, Store, commit, facts
from .tables import facts_that_differ, fits_table, scores_table, speed_table

PARTS = {"speed": work.measure_speed, "fits": work.measure_fits, "scores": work.measure_scores}


def main() -> None:
    arguments = _parser().parse_args()
    names = [name.strip() for name in arguments.fits.split(",") if name]
    wanted = [name.strip() for name in arguments.sets.split(",") if name]
    if arguments.rerun:
        _rerun(arguments)
        return
    now = Store(arguments.out or (BASELINE if arguments.record else None))
    for name, value in {"commit": commit(), "facts": facts(), "sets": sets.names()}.items():
        now.put(value, name)
    for part in arguments.parts.split(","):
        print(f"{part} ...", flush=True)
        PARTS[part](now, wanted, names)
    if not arguments.record:
        _show(Store(arguments.baseline), now)


def _show(before: Store, now: Store) -> None:
    differ = facts_that_differ(before.content["facts"], now.content["facts"])
    print(f"\nBaseline: commit {before.content['commit'][:10]}; now {now.content['commit'][:10]}.")
    if differ:
        print(f"Not the same as when the baseline was made: {', '.join(differ)}.")
    for table in (
        speed_table(before, now) if "speed" in now.content else (),
        fits_table(before, now, not differ) if "fits" in now.content else (),
        scores_table(before, now),
    ):
        print()
        print("\n".join(table), flush=True)


def _rerun(arguments: argparse.Namespace) -> None:
    """Run the code of the baseline's commit next to the tree, here and now, and compare the two."""
    frozen = Store(arguments.baseline).content["commit"].rstrip("+")
    here = Path(__file__).parents[2]
    with tempfile.TemporaryDirectory() as scratch:
        tree, measured = Path(scratch) / "tree", Path(scratch) / "measured.json"
        subprocess.run(
            ["git", "worktree", "add", "--detach", "--quiet", str(tree), frozen], cwd=here, check=True
        )
        try:
            path = os.pathsep.join([str(tree), str(tree / "src")])
            options = ["--parts", arguments.parts, "--sets", arguments.sets, "--fits", arguments.fits]
            command = [sys.executable, "-m", "benchmarks.gate", "--record", *options, "--out", str(measured)]
            subprocess.run(command, cwd=tree, env={**os.environ, "PYTHONPATH": path}, check=True)
            own = [sys.executable, "-m", "benchmarks.gate", *options, "--baseline", str(measured)]
            subprocess.run(own, cwd=here, check=True)
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", str(tree)], cwd=here, check=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.gate",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--record", action="store_true", help=f"make the baseline, {BASELINE.name}; goes on where it stopped")
    add("--rerun", action="store_true", help="compare with the baseline's code, run here and now")
    add("--parts", default="speed,fits", help=f"some of {', '.join(PARTS)} (default: speed,fits)")
    add("--sets", default="", help="some of the data sets, with commas between")
    add("--fits", default="", help="some of the fits, with commas between")
    add("--out", type=Path, help="keep what is measured in this JSON file, and go on from what it holds")
    add("--baseline", type=Path, default=BASELINE, help="compare with this file")
    return parser


if __name__ == "__main__":
    main()
