"""`consilience report`: files in, one page out."""

from __future__ import annotations

import argparse
import json

from ..inspection import inspect
from ..inspection.report import write_report
from ..inspection.report.writing import N_PAIRS, checked_path
from ..inspection.reporting import help_for
from ..inspection.samples import check_rate
from .fitting import collected_warnings, read_given
from .fusing import fit
from .summary import conflict_sentences, summarize
from .tables import show


def run(arguments: argparse.Namespace) -> int:
    """Read the files, fit, look at the fit from all sides and write the page."""
    try:
        checked_path(arguments.out, arguments.force)
    except FileExistsError:
        raise ValueError(
            f"{arguments.out} exists already; pass --force to overwrite it, or another --out."
        ) from None
    check_rate(arguments.fdr)
    read = read_given(arguments)
    model, told = fit(arguments, read.views)
    found = inspect(model, fdr=arguments.fdr, n_pairs=N_PAIRS)
    help, why_not = None, ""
    if not arguments.no_fusion_help:
        with collected_warnings():  # those of the fit have been told
            help, why_not = help_for(model, read.views, read.labels)
    write_report(
        arguments.out,
        model,
        inspection=found,
        help=help,
        no_help=why_not,
        y=read.labels,
        title=arguments.title,
        notes=told,
        command=arguments.typed,
        force=arguments.force,
    )
    summary = summarize(model, read.views, read.labels, read.sources, told, found)
    if arguments.json:
        verdict = None if help is None else {"verdict": help.verdict, "sentence": help.sentence}
        show(json.dumps({**summary, "fusion_help": verdict}, indent=1, ensure_ascii=False))
        return 0
    show(f"{summary['n_samples']} samples in {summary['n_clusters']} clusters")
    for sentence in conflict_sentences(found.samples):
        show(sentence)
    if help is not None:
        show(help.sentence)
    elif why_not:
        show(f"Whether fusing helps cannot be told: {why_not}")
    show(f"The page is {arguments.out}.")
    return 0
