"""Run the speed benchmarks: `make bench`, or `python -m benchmarks.speed [--out FILE]`."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from . import cold_start, end_to_end, fusion_pass, systems
from .measure import machine_facts


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed", description=__doc__)
    parser.add_argument("--out", type=Path, help="also write the rows, with the machine's facts, as JSON")
    out = parser.parse_args().out
    print(", ".join(f"{name} {value}" for name, value in machine_facts().items()))
    rows = []
    for part in (cold_start, end_to_end, fusion_pass, systems):
        for row in part.rows():
            rows.append(row)
            value = "" if row.value is None else f"{row.value:9.3f} {row.unit}"
            ratio = "" if row.ratio is None else f"{row.ratio:6.2f} x"
            print(f"{row.name:<52} {value:>18} {ratio:>9}  {row.compared_with:<34} {row.verdict}", flush=True)
    if out is not None:
        out.write_text(json.dumps([row.as_dict() for row in rows], indent=1))


if __name__ == "__main__":
    main()
