"""The command line: parses, calls, and turns errors into one line. No logic."""

from __future__ import annotations

import argparse
import functools
import shlex
import sys
import warnings
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NoReturn

from .run.config import as_bytes, config_context

BAD_INPUT, BUG, INTERRUPTED = 2, 1, 130


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(BAD_INPUT, f"{self.prog}: error: {message} (see {self.prog} --help)\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status.

    Examples
    --------
    >>> main(["cluster", "nowhere.csv", "--clusters", "2"])
    2
    """
    arguments = build_parser().parse_args(argv)
    arguments.typed = shlex.join(["consilience", *(sys.argv[1:] if argv is None else argv)])
    try:
        with warnings.catch_warnings(), _settings(arguments):
            warnings.simplefilter("always")
            warnings.showwarning = functools.partial(_show_warning, arguments)
            return int(_command(arguments.command)(arguments))
    except KeyboardInterrupt as stop:
        sys.stderr.write(f"\nconsilience: {stop.args[0] if stop.args else 'stopped'}\n")
        return INTERRUPTED
    except BrokenPipeError:
        return 0  # the reader of the output has seen enough
    except (ValueError, OSError, MemoryError) as error:
        return _fail(error, arguments, BAD_INPUT)
    except Exception as error:  # a bug: still one line, but say so
        return _fail(error, arguments, BUG)


def _settings(arguments: argparse.Namespace) -> AbstractContextManager[None]:
    """Set what holds for the run, as far as the options say."""
    options = {"memory_limit": "max_memory", "checkpoint_dir": "checkpoint"}
    given = {name: getattr(arguments, option, None) for name, option in options.items()}
    return config_context(**{name: value for name, value in given.items() if value is not None})


def _command(name: str) -> Any:
    """Return the function behind a subcommand; imported only now, so that --help is quick."""
    if name == "cluster":
        from .commands.cluster import run
    elif name == "report":
        from .commands.report import run
    elif name == "compare":
        from .commands.compare import run
    elif name == "reproduce":
        from .commands.reproduce import run
    elif name == "demo":
        from .commands.demo import run
    elif name == "completion":
        return _completion
    else:
        from .commands.catalog import run
    return run


def _completion(arguments: argparse.Namespace) -> int:
    try:
        import shtab
    except ImportError:
        raise ValueError("Completion needs shtab: pip install 'consilience[completion]'.") from None
    sys.stdout.write(shtab.complete(build_parser(), arguments.shell) + "\n")
    return 0


def _fail(error: BaseException, arguments: argparse.Namespace, status: int) -> int:
    if arguments.debug:
        raise error
    text = _one_line(error, arguments) or type(error).__name__
    if status == BUG:
        text = f"unexpected {type(error).__name__}: {text} (a bug; --debug shows where)"
    sys.stderr.write(f"consilience: error: {text}\n")
    return status


def _show_warning(arguments: argparse.Namespace, message: Any, *_: Any, **__: Any) -> None:
    sys.stderr.write(f"consilience: warning: {_one_line(message, arguments)}\n")


def _one_line(message: Any, arguments: argparse.Namespace) -> str:
    """Return the text of an error or a warning on one line, its settings as options of the command."""
    from .commands.options import in_options

    return " ".join(in_options(message, arguments).split())


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: Any, **__: Any) -> NoReturn:
        from .run.versions import versions

        sys.stdout.write(", ".join(f"{name} {version}" for name, version in versions().items()) + "\n")
        parser.exit(0)


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command."""
    parser = _Parser(
        prog="consilience",
        description="One graph from many views of the same samples: cluster them, see where views disagree.",
        epilog="example: consilience demo",
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="show versions and exit")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=_Parser)
    _add_demo(commands)
    _add_cluster(commands)
    _add_report(commands)
    _add_compare(commands)
    _add_reproduce(commands)
    datasets = commands.add_parser(
        "datasets",
        help="list data sets and say where to put them",
        epilog="example: CONSILIENCE_DATA=~/multiview consilience datasets",
    )
    _add_common(datasets)
    completion = commands.add_parser(
        "completion",
        help="print a script for shell completion",
        epilog="example: consilience completion bash >> ~/.bash_completion",
    )
    completion.add_argument("shell", choices=["bash", "zsh", "tcsh"], help="which shell")
    _add_common(completion)
    return parser


def _add_demo(commands: Any) -> None:
    demo = commands.add_parser(
        "demo",
        help="fuse six real views of handwritten digits",
        description="Fuse six views of handwritten digits, then again with one of them spoiled.",
        epilog="example: consilience demo --out digits",
    )
    _add_output(demo, "consilience-demo")
    _add_common(demo)


def _add_cluster(commands: Any) -> None:
    cluster = commands.add_parser(
        "cluster",
        help="cluster the samples in your files",
        description="Cluster samples described by several views: one file with all views, or one per view "
        "(.mat, .npz, .npy, .csv, .tsv, .parquet, .mtx, .h5ad, .h5mu, .zarr).",
        epilog="example: consilience cluster rna.csv protein.csv --clusters 4",
    )
    _add_input(cluster, auto=True)
    _add_method(cluster)
    cluster.add_argument(
        "--checkpoint",
        type=Path,
        metavar="DIR",
        help="if killed, the same command goes on from there",
    )
    cluster.add_argument(
        "--no-write-back", action="store_true", help="write no .h5ad or .h5mu with the result in it"
    )
    _add_output(cluster, "consilience-result")
    _add_common(cluster)


def _add_report(commands: Any) -> None:
    report = commands.add_parser(
        "report",
        help="write a page about the clusters and the views in your files",
        description="Cluster samples described by several views and write one page: the clusters, how sure "
        "they are, which view disagrees where, and whether fusing them helps.",
        epilog="example: consilience report rna.csv protein.csv --clusters 4 --id-column patient",
    )
    _add_input(report, auto=True)
    _add_method(report)
    report.add_argument(
        "--fdr",
        type=float,
        default=0.05,
        metavar="RATE",
        help="share of false flags among the rows said to contradict other views (default: 0.05)",
    )
    report.add_argument(
        "--no-fusion-help",
        action="store_true",
        help="do not find out whether fusing helps: that takes about as long as some fits",
    )
    report.add_argument("--title", metavar="TEXT", help="title of the page")
    report.add_argument(
        "--out", type=Path, default=Path("report.html"), metavar="FILE", help="(default: report.html)"
    )
    report.add_argument("--force", action="store_true", help="overwrite a file that exists")
    _add_seed(report)
    _add_common(report)


def _add_method(cluster: argparse.ArgumentParser) -> None:
    cluster.add_argument(
        "--method", choices=["sgf", "dgf"], default="dgf", help="fuse similarities or distances (default)"
    )
    cluster.add_argument(
        "--scale",
        choices=["auto", "none", "standard"],
        default="auto",
        metavar="HOW",
        help="rescale features: auto (default), none, standard",
    )
    for option, choices, text in (
        ("--effort", ["high", "medium", "low"], "quality or speed: high (default), medium, low"),
        ("--view-weights", ["agreement", "uniform"], "what each view counts: agreement (default), uniform"),
        # What --effort stands for, and what hardly anybody needs; documented in docs/guide/command.md.
        ("--row-weights", ["auto", "learned", "agreement", "uniform"], argparse.SUPPRESS),
        ("--descriptions", ["auto", "confirmed", "default"], argparse.SUPPRESS),
        ("--row-order", ["content", "given"], argparse.SUPPRESS),
    ):
        cluster.add_argument(option, choices=choices, default=choices[0], metavar="HOW", help=text)
    cluster.add_argument("--max-clusters", type=int, metavar="C", help="the most for auto (default: 20)")
    cluster.add_argument(
        "--assign-labels",
        choices=["kmeans", "cluster_qr", "leiden"],
        default="kmeans",
        metavar="HOW",
        help="kmeans (default), cluster_qr or leiden",
    )
    cluster.add_argument("--resolution", type=float, metavar="R", help="of leiden (default: 1)")


def _add_compare(commands: Any) -> None:
    compare = commands.add_parser(
        "compare",
        help="compare systems on your files, or on a folder of data sets",
        description="Run systems on the same data by the same rules. Stopped, the same command goes on.",
        epilog="example: consilience compare DIR --systems average,dgf,mymodule:MyMethod",
    )
    _add_input(compare, required=False)
    # All of them would not fit on a screen; the guide to the command has the rest.
    add, less_used = compare.add_argument, argparse.SUPPRESS
    add("--sets", metavar="S[,S...]", help="some of the data sets of a folder")
    add(
        "--systems",
        default="all",
        metavar="S[,S...]",
        help="such as sgf,dgf or package.module:Class (default: all)",
    )
    add(
        "--preparation",
        choices=["equal", "own", "none"],
        default="equal",
        metavar="HOW",
        help="equal for all systems (default), own, or none",
    )
    add("--corruptions", metavar="C", help="spoil the data, such as noise-2:1,copies, or all")
    add("--corrupted-systems", metavar="S[,S...]", help=less_used)
    add("--seeds", type=int, metavar="N", help="fits on all samples (default: 3 with labels, else 1)")
    add("--corrupted-seeds", type=int, metavar="N", help=less_used)
    add("--resamples", type=int, metavar="R", help="fits for stability (default: 5; of a folder 0)")
    add("--reference", metavar="S", help="whom the others are compared with (default: average)")
    add("--score", choices=["NMI", "ACC", "ARI", "purity"], default="NMI", help=less_used)
    add("--keep-row-order", action="store_true", help=less_used)
    add("--max-seconds", type=float, metavar="T", help="stop a fit after so long")
    add("--jobs", type=int, metavar="J", help="processes (default: one per core; 0: this one)")
    _add_output(compare, "consilience-comparison")
    _add_common(compare)


def _add_reproduce(commands: Any) -> None:
    names = ["scores", "times", "sensitivity", "convergence", "complexity"]
    names += ["affinity", "no-tuning", "2019", "eigengaps", "all"]
    reproduce = commands.add_parser(
        "reproduce",
        help="run the paper's experiments again",
        description="Run the paper's experiments on the data sets found, and say which of its claims hold. "
        "Stopped or killed, it goes on where it was when it is started again with the same --out.",
        epilog="example: consilience reproduce --data multiview --out paper --quick",
    )
    reproduce.add_argument(
        "experiments",
        nargs="*",
        choices=names,
        default="all",
        metavar="EXPERIMENT",
        help=f"{', '.join(names)} (default: all)",
    )
    reproduce.add_argument("--data", type=Path, required=True, metavar="DIR", help="where the data sets are")
    reproduce.add_argument(
        "--out",
        type=Path,
        default=Path("consilience-paper"),
        metavar="DIR",
        help="(default: consilience-paper)",
    )
    reproduce.add_argument("--sets", metavar="S[,S...]", help="some of the data sets (default: all found)")
    reproduce.add_argument(
        "--quick", action="store_true", help="three sets, a 3 x 3 grid, 2 seeds: minutes instead of hours"
    )
    reproduce.add_argument("--jobs", type=int, metavar="J", help="processes (default: one per core)")
    _add_common(reproduce)


def _number_or_auto(text: str) -> int | str:
    if text == "auto":
        return text
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"invalid int value: {text!r} (or auto)") from None


def _memory(text: str) -> int:
    try:
        return as_bytes(text, "memory")
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error).rstrip(".")) from None


def _add_input(parser: argparse.ArgumentParser, *, auto: bool = False, required: bool = True) -> None:
    clusters = "--clusters C" if required else "[--clusters C]"
    parser.usage = f"%(prog)s [FILE ...] {clusters} [options]"  # all of them would fill a screen
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE", help="the views")
    text = "number of clusters" + (", or auto" if auto else "")
    text += "" if required else " (default: as many as classes)"
    kind_of_number = _number_or_auto if auto else int
    parser.add_argument("--clusters", type=kind_of_number, required=required, metavar="C", help=text)
    parser.add_argument("--neighbors", type=int, metavar="K", help="neighbours per sample and view")
    parser.add_argument("--metric", default="auto", metavar="M[,M...]", help="one metric, or one per view")
    for kind in ("similarity", "distance"):
        text = "edge list or matrix of a graph, one more view"
        parser.add_argument(f"--{kind}-graph", action="append", default=[], type=Path, metavar="F", help=text)
    parser.add_argument(
        "--directed",
        action=argparse.BooleanOptionalAction,
        help="whether edges of graphs have a direction",
    )
    parser.add_argument("--labels", type=Path, metavar="FILE", help="true labels, to score against")
    parser.add_argument("--id-column", metavar="NAME", help="column of the sample ids")
    parser.add_argument(
        "--join",
        choices=["outer", "inner"],
        default="outer",
        help="keep samples that not all files have (default), or not",
    )
    parser.add_argument("--use-rep", metavar="REP", help="of .h5ad, .h5mu: such as X_pca, or rna=X_pca,adt=X")
    parser.add_argument("--labels-key", metavar="NAME", help="of .h5ad, .h5mu: true labels, a column of obs")
    parser.add_argument(
        "--max-memory",
        type=_memory,
        metavar="M",
        help="refuse what needs more, such as 6GiB",
    )
    parser.add_argument(
        "--max-bytes", type=int, default=8 << 30, metavar="N", help="largest file, unpacked (default: 8 GiB)"
    )


def _add_output(parser: argparse.ArgumentParser, folder: str) -> None:
    parser.add_argument("--out", type=Path, default=Path(folder), metavar="DIR", help=f"(default: {folder})")
    parser.add_argument("--force", action="store_true", help="overwrite results in an existing folder")
    _add_seed(parser)


def _add_seed(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="random seed (default: 0)")


def _add_common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON for machines")
    parser.add_argument("--debug", action="store_true", help="show the whole traceback of an error")


if __name__ == "__main__":
    sys.exit(main())
