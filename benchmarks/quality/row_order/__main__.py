"""Do scores depend on the order of the rows? `python -m benchmarks.quality.row_order [--data FOLDER]`.

A representative of the tensor methods whose Fourier transform runs along the samples, on data sets sorted by
class and shuffled, next to the same method without that transform and to averages of the graphs. Some ten
minutes on one core. Results are kept in --out after each piece of work; started again with the same file, it
goes on where it stopped. The tables are printed in Markdown; --figure draws the main one.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from ..data import folder_given
from ..results import Results, report_rest, run
from .picture import draw
from .study import SETS, do, plan
from .tables import of_kind, report


def main(given: list[str] | None = None) -> None:
    arguments = _parser().parse_args(given)
    results = Results(arguments.tables or arguments.out)
    if arguments.tables is None:
        names = [name.strip() for name in arguments.sets.split(",")]
        pieces = plan(folder_given(arguments.data), names, results)
        n_left = run(pieces, do, results, n_jobs=1, max_seconds=arguments.max_seconds)
        report_rest(n_left, arguments.out)
    elif not arguments.tables.exists():
        raise SystemExit(f"There is no file {arguments.tables}.")
    print(report(results.cells, results.facts))
    measured = of_kind(results.cells, "order")
    if arguments.figure is not None and measured:
        arguments.figure.write_text(draw(measured), encoding="utf-8")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality.row_order", description=__doc__)
    add = parser.add_argument
    add("--data", type=Path, help="folder of .mat and .npz files with labels; otherwise CONSILIENCE_DATA")
    add("--sets", default=",".join(SETS), help="data sets, with commas between (default: %(default)s)")
    add("--out", type=Path, help="keep the results in this JSON file, and go on from what it holds")
    add("--tables", type=Path, metavar="FILE", help="only print the tables of such a file")
    add("--figure", type=Path, metavar="FILE", help="draw the figure into this SVG file")
    add("--max-seconds", type=float, help="begin nothing more after so many seconds")
    return parser


if __name__ == "__main__":
    main()
