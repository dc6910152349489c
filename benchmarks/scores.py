"""Scores of the comparison systems next to their authors' programs: `make scores`.

Every row of the reference (`comparison_scores.csv` in the folder CONSILIENCE_GOLDEN) at its parameters, on
the data sets in CONSILIENCE_DATA, means over ten seeds. A row holds if the NMI is within 2 points of the
program's or of the paper's; rows that are no reference are shown with the reason.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from consilience.metrics import ari, clustering_accuracy, nmi, purity
from consilience.models import systems
from consilience.models.systems.labelling import relabel

from .comparison import METRICS, Reference, load, references
from .speed.measure import machine_facts

# Long learning, the same for every seed: it is done once, and only k-means is repeated.
LEARN_ONCE = ("MCGC", "MVGL", "RMSC")


def measure(row: Reference, views: list[Any], truth: Any, n_seeds: int) -> dict[str, Any]:
    """Return mean scores in percent over the seeds, and the seconds of CPU of the first fit."""
    labels = []
    began = time.process_time()
    model = row.estimator(random_state=0, n_jobs=1).fit(views)
    seconds = time.process_time() - began
    for seed in range(n_seeds):
        if row.method in LEARN_ONCE:
            labels.append(relabel(model, seed))
        else:
            labels.append(row.estimator(random_state=seed).fit(views).labels_)
    measures = (clustering_accuracy, nmi, ari, purity)
    scores = np.array([[score(truth, found) for score in measures] for found in labels])
    mean, deviation = 100 * scores.mean(axis=0), 100 * scores.std(axis=0)
    names = ("accuracy", "nmi", "ari", "purity")
    return {
        **dict(zip(names, mean.tolist(), strict=True)),
        **{f"{name}_std": value for name, value in zip(names, deviation.tolist(), strict=True)},
        "seconds": seconds,
    }


def verdict(row: Reference, found: float) -> str:
    """Say whether a row holds."""
    if row.excluded:
        return f"not compared: {row.excluded}"
    return "ok" if row.holds(found) else f"DIFFERS: {row.explained or 'unexplained'}"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scores", description=__doc__)
    parser.add_argument("--systems", default="", help="some of them, by name, with commas between")
    parser.add_argument(
        "--sets", default=",".join(METRICS), help="some of the data sets, with commas between"
    )
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--out", type=Path, help="also write the rows, with the machine's facts, as JSON")
    arguments = parser.parse_args()
    data, golden = Path(os.environ["CONSILIENCE_DATA"]), Path(os.environ["CONSILIENCE_GOLDEN"])
    wanted = arguments.systems.split(",") if arguments.systems else [*systems(), "SC"]
    rows = []
    header = f"{'system':<10}{'data':<12}{'ACC / NMI':>16}{'program':>16}{'paper':>16}{'s':>8}{'theirs':>8}"
    print(header)
    for name in arguments.sets.split(","):
        views, truth = load(data, name)
        for row in references(golden):
            if row.data != name or row.method.split("_")[0] not in wanted:
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = measure(row, views, truth, arguments.seeds)
            judged = verdict(row, found["nmi"])
            paper = "" if row.paper_nmi is None else f"{row.paper_accuracy:.2f} / {row.paper_nmi:.2f}"
            ours, program = (
                f"{a:.2f} / {b:.2f}" for a, b in ((found["accuracy"], found["nmi"]), (row.accuracy, row.nmi))
            )
            print(
                f"{row.method:<10}{row.data:<12}{ours:>16}{program:>16}{paper:>16}"
                f"{found['seconds']:>8.2f}{row.cpu_seconds:>8.2f}  {judged}",
                flush=True,
            )
            rows.append(
                {"system": row.method, "data": name, "parameters": row.parameters, **found, "verdict": judged}
            )
    if arguments.out is not None:
        arguments.out.write_text(json.dumps({"facts": machine_facts(), "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
