"""What the default settings are worth: `make quality`, or `python -m benchmarks.quality [--data FOLDER]`.

Our defaults, the paper's fixed setting and every other system on all data sets of a folder, clean and
corrupted. Results are kept in --out after each data set and condition; started again with the same file, it
goes on where it stopped. The tables are printed in Markdown. Times are those of one thread; for times that
count, --jobs 1 on a machine with nothing else to do.
"""

from __future__ import annotations

import argparse

from .contenders import contenders
from .corruptions import CONDITIONS
from .data import add_common_options, find_sets, folder_given, pick
from .results import Results, report_rest, run
from .study import do, look_at, plan
from .tables import report


def main(given: list[str] | None = None) -> None:
    arguments = _parser().parse_args(given)
    if arguments.tables is not None:
        if not arguments.tables.exists():
            raise SystemExit(f"There is no file {arguments.tables}.")
        results = Results(arguments.tables)
    else:
        results = Results(arguments.out)
        _measure(arguments, results)
    print(report(results.cells, results.facts, arguments.reference, arguments.score))


def _measure(arguments: argparse.Namespace, results: Results) -> None:
    sets = look_at(find_sets(folder_given(arguments.data), arguments.sets))
    conditions = pick(CONDITIONS, arguments.conditions, "condition")
    names = pick(dict.fromkeys(contenders()), arguments.systems, "system")
    pieces, empty = plan(
        sets,
        conditions,
        list(names),
        results,
        n_seeds=arguments.seeds,
        n_corrupted_seeds=arguments.corrupted_seeds,
        dense_limit=arguments.dense_limit,
    )
    results.put(empty)
    n_left = run(pieces, do, results, n_jobs=arguments.jobs, max_seconds=arguments.max_seconds)
    report_rest(n_left, arguments.out)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality", description=__doc__)
    add_common_options(parser)
    add = parser.add_argument
    add("--systems", default="", help=f"some of: {', '.join(contenders())}")
    add("--conditions", default="", help=f"some of: {', '.join(CONDITIONS)}".replace("%", "%%"))
    add("--seeds", type=int, default=10, help="on clean data (default: 10)")
    add("--corrupted-seeds", type=int, default=5, help="in all other conditions (default: 5)")
    add("--dense-limit", type=int, help="most samples that dense systems are run on, in any condition")
    add(
        "--reference",
        default="DGF",
        choices=contenders(),
        help="whom all others are compared with (default: DGF)",
    )
    add("--score", default="nmi", choices=("nmi", "acc", "ari"), help="for the tables (default: nmi)")
    return parser


if __name__ == "__main__":
    main()
