"""`consilience report`: files in, one page out."""

from __future__ import annotations

import argparse
import json

from ..inspection import FusionHelp, inspect
from ..inspection.report import write_report
from ..inspection.report.writing import EXAMPLE, N_PAIRS
from ..inspection.reporting import help_for
from ..inspection.samples import check_rate
from ..io.files import checked_path
from .fitting import collected_warnings, read_given
from .fusing import fit
from .summary import conflict_sentences, summarize
from .tables import show


def run(arguments: argparse.Namespace) -> int:
    """Read the files, fit, look at the fit from all sides and write the page."""
    try:
        checked_path(arguments.out, arguments.force, EXAMPLE)
    except FileExistsError:
        raise ValueError(
            f"{arguments.out} exists already; pass --force to overwrite it, or another --out."
        ) from None
    check_rate(arguments.fdr)
    read = read_given(arguments)
    model, told = fit(arguments, read.views)
    found = inspect(model, fdr=arguments.fdr, n_pairs=N_PAIRS)
    help = None
    if not arguments.no_fusion_help:
        with collected_warnings():  # those of the fit have been told
            help = help_for(model, read.views, read.labels)
    write_report(
        arguments.out,
        model,
        inspection=found,
        help=help,
        y=read.labels,
        title=arguments.title,
        notes=told,
        command=arguments.typed,
        force=arguments.force,
    )
    summary = summarize(model, read.views, read.labels, read.sources, told, found)
    told_of_fusing = help.sentence if isinstance(help, FusionHelp) else help
    if arguments.json:
        verdict = help.verdict if isinstance(help, FusionHelp) else None
        told_of_help = None if help is None else {"verdict": verdict, "sentence": told_of_fusing}
        show(json.dumps({**summary, "fusion_help": told_of_help}, indent=1, ensure_ascii=False))
        return 0
    show(f"{summary['n_samples']} samples in {summary['n_clusters']} clusters")
    if summary["cluster_selection"] is not None:
        show(summary["cluster_selection"]["reason"])
    for sentence in conflict_sentences(found.samples):
        show(sentence)
    if told_of_fusing is not None:
        cannot = "" if isinstance(help, FusionHelp) else "Whether fusing helps cannot be told: "
        show(cannot + told_of_fusing)
    show(f"The page is {arguments.out}.")
    return 0
