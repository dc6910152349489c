"""How far one has to walk to follow one fit: `python -m benchmarks.walk`.

`DistanceGraphFusion(n_clusters=10, random_state=0).fit(views)` on the bundled digits is run once more after
a first time, and every call of a Python function of the package is noted: in how many files and functions the
fit takes place, how deep calls are nested, how many go from one file to another, and how many classes of the
package are above the estimator. Compiled kernels are not followed; comprehensions belong to their function.

    python -m benchmarks.walk --files        # also the files, each with its functions and calls
    python -m benchmarks.walk --tree OTHER   # the same of another checkout, as a second column
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import warnings
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

COMPREHENSIONS = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")
MEASURES = ("files", "functions", "depth", "calls", "calls across files", "classes above DGF")


@dataclass
class Walk:
    """What was called."""

    package: str
    calls: Counter[tuple[str, str]] = field(default_factory=Counter)
    across: int = 0
    depth: int = 0

    def note(self, frame: FrameType, event: str, _: Any) -> None:
        """Count a call, as `sys.setprofile` reports it."""
        code = frame.f_code
        if event != "call" or not self._counts(frame):
            return
        self.calls[code.co_filename, code.co_qualname] += 1
        above = self._above(frame)
        self.across += bool(above) and above[0].f_code.co_filename != code.co_filename
        self.depth = max(self.depth, len(above) + 1)

    def _counts(self, frame: FrameType) -> bool:
        code = frame.f_code
        # Numba reports its kernels as frames without a caller.
        is_ours = code.co_filename.startswith(self.package) and frame.f_back is not None
        return is_ours and code.co_name not in COMPREHENSIONS

    def _above(self, frame: FrameType) -> list[FrameType]:
        """Return the callers in the package, the nearest first."""
        found, at = [], frame.f_back
        while at is not None:
            if self._counts(at):
                found.append(at)
            at = at.f_back
        return found


def walk() -> dict[str, Any]:
    """Run the fit and return what was counted, and the functions of each file."""
    import consilience

    package = str(Path(consilience.__file__).parent)
    views, _ = consilience.load_digits_views(return_X_y=True)
    warnings.simplefilter("ignore")
    consilience.DistanceGraphFusion(n_clusters=10, random_state=0).fit(views)  # compiles and imports
    noted = Walk(package)
    model = consilience.DistanceGraphFusion(n_clusters=10, random_state=0)
    sys.setprofile(noted.note)
    try:
        model.fit(views)
    finally:
        sys.setprofile(None)
    files: dict[str, dict[str, int]] = defaultdict(dict)
    for (file, function), count in sorted(noted.calls.items()):
        files[file.removeprefix(package + os.sep)][function] = count
    ours = [one for one in type(model).__mro__[1:] if one.__module__.startswith("consilience.")]
    return {
        "files": len(files),
        "functions": len(noted.calls),
        "depth": noted.depth,
        "calls": sum(noted.calls.values()),
        "calls across files": noted.across,
        "classes above DGF": len(ours),
        "by file": files,
    }


def _in_tree(tree: Path) -> dict[str, Any]:
    """Walk in another checkout, in a process of its own."""
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(tree / "src"), str(Path(__file__).parents[1])]),
    }
    command = [sys.executable, "-m", "benchmarks.walk", "--json"]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.walk",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--files", action="store_true", help="list the files, and the functions in each")
    parser.add_argument("--tree", type=Path, help="another checkout to compare with")
    parser.add_argument("--json", action="store_true", help="print JSON")
    arguments = parser.parse_args()
    found = walk()
    if arguments.json:
        print(json.dumps(found))
        return
    other = None if arguments.tree is None else _in_tree(arguments.tree)
    print(f"{'':<20}{'here':>8}" + ("" if other is None else f"{arguments.tree.name:>12}"))
    for name in MEASURES:
        print(f"{name:<20}{found[name]:>8}" + ("" if other is None else f"{other[name]:>12}"))
    if arguments.files:
        for file, functions in found["by file"].items():
            print(f"\n{file}: {', '.join(functions)}")


if __name__ == "__main__":
    main()
