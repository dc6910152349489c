"""`consilience report`: files in, one page out."""

from __future__ import annotations

import argparse
import json

from ..inspection import FusionHelp, inspect
from ..inspection.fusion_help import fusion_help_for
from ..inspection.samples import check_rate
from ..io.files import checked_path
from ..pages.report import write_report
from ..pages.report.writing import EXAMPLE, N_PAIRS
from ..run.messages import collected_warnings
from .fitting import fit
from .inputs import read_given
from .summary import conflict_sentences, summarize
from .tables import show


def run(arguments: argparse.Namespace) -> int:
    """Read the files, fit, inspect the fit and write the page."""
    try:
        checked_path(arguments.out, arguments.force, EXAMPLE)
    except FileExistsError:
        raise ValueError(
            f"{arguments.out} exists already; pass --force to overwrite it, or another --out."
        ) from None
    check_rate(arguments.fdr)
    read = read_given(arguments)
    model, warned = fit(arguments, read.views)
    found = inspect(model, fdr=arguments.fdr, n_pairs=N_PAIRS)
    fusion_help: FusionHelp | str | None = None
    if not arguments.no_fusion_help:
        with collected_warnings():  # those of the fit were shown
            fusion_help = fusion_help_for(model, read.views, read.labels)
    write_report(
        arguments.out,
        model,
        inspection=found,
        fusion_help=fusion_help,
        y=read.labels,
        title=arguments.title,
        notes=warned,
        command=arguments.typed,
        force=arguments.force,
    )
    summary = summarize(model, read.views, read.labels, read.sources, warned, found)
    answered = isinstance(fusion_help, FusionHelp)
    verdict_text = fusion_help.sentence if isinstance(fusion_help, FusionHelp) else fusion_help
    if arguments.json:
        verdict, strength = (
            (fusion_help.verdict, fusion_help.strength)
            if isinstance(fusion_help, FusionHelp)
            else (None, None)
        )
        said = {"verdict": verdict, "strength": strength, "sentence": verdict_text}
        facts = None if fusion_help is None else said
        show(json.dumps({**summary, "fusion_help": facts}, indent=1, ensure_ascii=False))
        return 0
    show(f"{summary['n_samples']} samples in {summary['n_clusters']} clusters")
    if summary["cluster_selection"] is not None:
        show(summary["cluster_selection"]["reason"])
    for sentence in conflict_sentences(found.samples):
        show(sentence)
    if verdict_text is not None:
        show(verdict_text if answered else f"Nobody can say whether fusing helps: {verdict_text}")
    show(f"The page is {arguments.out}.")
    return 0
