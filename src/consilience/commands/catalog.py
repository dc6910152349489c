"""`consilience datasets`: data sets of multi-view papers, where they are from, where to put them."""

from __future__ import annotations

import argparse
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from .tables import show, show_table

VARIABLE = "CONSILIENCE_DATA"


@dataclass(frozen=True)
class DataSet:
    """A data set: its shape, the metric that suits it, its source, and its licence to our knowledge."""

    name: str
    n_samples: int
    n_views: int
    n_classes: int
    metric: str
    source: str
    licence: str


SETS = (
    DataSet("digits (bundled)", 1797, 6, 10, "euclidean", "load_digits_views()", "CC BY 4.0 (UCI)"),
    DataSet("UCI_Digits", 2000, 6, 10, "euclidean", "UCI: Multiple Features", "CC BY 4.0"),
    DataSet("MSRC_v1", 210, 5, 7, "euclidean", "Microsoft Research Cambridge images", "not stated"),
    DataSet("BBCSport", 544, 2, 5, "cosine", "mlg.ucd.ie: segmented BBC Sport news", "research use"),
    DataSet("3Sources", 169, 3, 6, "cosine", "mlg.ucd.ie: 3 news sources", "research use"),
    DataSet("ORL", 400, 3, 40, "euclidean", "AT&T Laboratories Cambridge faces", "not stated"),
    DataSet("Yale", 165, 3, 15, "euclidean", "Yale face database", "research use"),
    DataSet("Reuters", 1200, 5, 6, "cosine", "Grimal: multilingual Reuters", "not stated"),
    DataSet("Reuters-21578", 1500, 5, 6, "cosine", "UCI: Reuters-21578", "research use"),
    DataSet("NUS-WIDE", 2000, 5, 31, "euclidean", "NUS-WIDE-OBJECT", "research use"),
    DataSet("CiteSeer", 3312, 2, 6, "cosine", "LINQS: words and citations", "not stated"),
    DataSet("ALOI", 10800, 4, 100, "euclidean", "Amsterdam Library of Object Images", "not stated"),
    DataSet("Flower17", 1360, 7, 17, "distances", "Oxford: 17 category flowers", "not stated"),
    DataSet("Caltech101", 9144, 6, 102, "euclidean", "Caltech 101", "CC BY 4.0"),
)


def run(arguments: argparse.Namespace) -> int:
    """List the data sets and say which are there."""
    folder = os.environ.get(VARIABLE)
    present = _stems(Path(folder)) if folder else set()
    if arguments.json:
        show(json.dumps([{**asdict(s), "found": s.name.lower() in present} for s in SETS], indent=1))
        return 0
    show_table(
        ["data set", "samples", "views", "classes", "metric", "found", "source", "licence"],
        [
            [
                s.name,
                s.n_samples,
                s.n_views,
                s.n_classes,
                s.metric,
                "yes" if s.name.lower() in present or "bundled" in s.name else "no",
                s.source,
                s.licence,
            ]
            for s in SETS
        ],
    )
    show()
    where = f"is {folder}" if folder else "is not set"
    show(f"Put files such as UCI_Digits.mat into one folder and name it by {VARIABLE}, which {where}.")
    show("Only the first is bundled. Licences are to our knowledge only: check at the source before use.")
    return 0


def _stems(folder: Path) -> set[str]:
    if not folder.is_dir():
        raise ValueError(f"{VARIABLE} names {folder}, which is no folder.")
    return {file.stem.lower() for file in folder.iterdir()}
