"""Whether `does_fusion_help` is right: its verdicts next to what the labels say.

`python -m benchmarks.quality.fusion_help [--data FOLDER] [--made] [--out FILE]`: on every data set of a
folder, or on made ones (`--made`). The labels say "yes" if DGF has a mean NMI of more than a point above that
of the best single view, chosen with the labels; "no" if more than a point below; otherwise "neither". A
verdict is right if it is the same, and if it is "unclear" or "no" where the labels say "neither": fusing does
not help then.
"""

from __future__ import annotations

import argparse
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from consilience import DistanceGraphFusion, Views, make_multiview
from consilience.inspection import does_fusion_help
from consilience.inspection.fusion_help.held_out import HeldOut
from consilience.inspection.fusion_help.verdict import Evidence, judge
from consilience.metrics import nmi
from consilience.models import SharedViews, SingleViewSpectral

from .data import add_common_options, find_sets, folder_given, load
from .results import Cells, Results, key, report_rest, run
from .tables import table

POINT = 1.0  # of NMI in percent: what smaller differences are is chance
SEEDS_OF_SCORES = 5
NEITHER, NONE = "neither", "–"
RIGHT = {("yes", "yes"), ("no", "no"), (NEITHER, "no"), (NEITHER, "unclear")}
MARGINS = (0.02, 0.03, 0.04, 0.05, 0.06, 0.08, 0.1)  # that the rule's own might have been


@dataclass(frozen=True)
class Piece:
    """One data set, read from a file or made, and the seeds of the verdicts."""

    name: str
    path: Path | None = None
    made: Mapping[str, Any] = field(default_factory=dict)
    n_seeds: int = 3

    @property
    def key(self) -> str:
        """Return the name of its result."""
        return key("fusion help", self.name, self.n_seeds)

    def read(self) -> tuple[Views, Any, int]:
        """Return views, classes and the number of clusters."""
        if self.path is not None:
            data = load(self.path)
            return Views(data.views), data.truth, data.n_clusters
        sample = make_multiview(**self.made)
        return Views(sample.views), sample.y, self.made["n_clusters"]


def made_pieces(n_seeds: int) -> Iterator[Piece]:
    """Return data with clusters that are known: views alike or not, with noise views, with scrambled rows."""
    kinds: list[dict[str, Any]] = []
    kinds += [{"n_views": v, "separation": s} for v in (2, 3, 4) for s in (2.0, 2.5, 3.0, 4.0, 6.0)]
    unlike = ["5 1", "5 2", "5 3", "4 2", "4 3", "3 1.5", "6 0.5", "5 2 2", "5 1 1", "4 3 2", "3 3 1"]
    unlike += ["5 1.5 1.5", "4 2 2 2", "4 1.5 1.5 1.5"]
    for words in unlike:
        separation = list(map(float, words.split()))
        kinds.append({"n_views": len(separation), "separation": separation})
    for good, noise in ((1, 1), (1, 2), (1, 3), (2, 1), (2, 2), (3, 2)):
        kinds += [{"n_views": good, "noise_views": noise, "separation": s} for s in (3.0, 4.0, 6.0)]
    shares = ["0 0 .3", ".3 .3 .3", "0 .5 .5", "0 .5", "0 .3", ".3 .3", "0 .7", ".1 .1 .1"]
    for words in shares:
        scrambled = list(map(float, words.split()))
        kinds += [{"n_views": len(scrambled), "scrambled": scrambled, "separation": s} for s in (3.0, 4.0)]
    kinds += [{"n_views": v, "separation": 0.0} for v in (2, 3, 5)]
    for kind in kinds:
        for n, c, seed in ((200, 3, 20), (500, 6, 21)):  # the rule was chosen on the like with other seeds
            made = {**kind, "n_samples": n, "n_clusters": c, "random_state": seed}
            yield Piece(str(made), made=made, n_seeds=n_seeds)


def do(piece: Piece) -> Cells:
    """Return what the labels say of a data set, and what is said without them."""
    views, truth, c = piece.read()
    shared = SharedViews(views)
    settings: dict[str, Any] = {"n_clusters": c, "scale": "auto", "n_jobs": 1}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fused = [_score(DistanceGraphFusion(**settings), shared, truth, i) for i in range(SEEDS_OF_SCORES)]
        alone = [
            [_score(SingleViewSpectral(view=j, **settings), shared, truth, i) for i in range(SEEDS_OF_SCORES)]
            for j in range(views.n_views)
        ]
        found = [does_fusion_help(views, c, random_state=i, n_jobs=1) for i in range(piece.n_seeds)]
    cell = {
        "set": piece.name,
        "v": views.n_views,
        "fused": float(np.mean(fused)),
        "alone": float(np.mean(alone, axis=1).max()),
        "verdicts": [one.verdict for one in found],
        "sentence": found[0].sentence,
        "evidence": [_kept(one.evidence) for one in found],
    }
    return {piece.key: cell}


def _kept(evidence: Evidence) -> dict[str, Any]:
    witnesses = None if evidence.held_out is None else vars(evidence.held_out)
    return {**vars(evidence), "reliability": evidence.reliability.tolist(), "held_out": witnesses}


def _evidence(kept: Mapping[str, Any]) -> Evidence:
    witnesses = None if kept["held_out"] is None else HeldOut(**kept["held_out"])
    return Evidence(**{**kept, "reliability": np.array(kept["reliability"]), "held_out": witnesses})


def _score(model: Any, shared: SharedViews, truth: Any, seed: int) -> float:
    return 100 * nmi(truth, model.set_params(random_state=seed).fit(shared).labels_)


def said_by_labels(cell: Mapping[str, Any]) -> str:
    """Return "yes", "no" or "neither"."""
    gain = cell["fused"] - cell["alone"]
    return "yes" if gain > POINT else "no" if gain < -POINT else NEITHER


def set_table(cells: Sequence[Mapping[str, Any]]) -> str:
    """Return one row per data set."""
    rows = []
    for cell in cells:
        e, said = cell["evidence"][0], said_by_labels(cell)
        w = e["held_out"]
        others = ", ".join(cell["verdicts"][1:])
        wrong = "" if (said, cell["verdicts"][0]) in RIGHT else "wrong"
        rows.append(
            [
                cell["set"],
                str(cell["v"]),
                f"{cell['fused']:.1f}",
                f"{cell['alone']:.1f}",
                said,
                cell["verdicts"][0],
                wrong,
                f"{e['stability']:.2f}",
                f"{e['view_stability']:.2f}",
                f"{e['gain']:+.2f} ± {e['error']:.2f}",
                f"{e['null_stability']:.2f}",
                NONE if w is None else f"{w['gain']:+.3f} ± {w['error']:.3f}",
                others,
            ]
        )
    header = ["set", "views", "DGF", "best view", "labels say", "verdict", "", "stability", "best view's"]
    header += ["gain ± error", "null", "held out", "other seeds"]
    return table(header, rows)


def counts_table(cells: Sequence[Mapping[str, Any]]) -> str:
    """Return how often each verdict met each truth, over all seeds of the verdict."""
    counts = Counter((said_by_labels(cell), verdict) for cell in cells for verdict in cell["verdicts"])
    words = ("yes", "no", "unclear")
    rows = [[said, *(str(counts[said, word]) for word in words)] for said in ("yes", "no", NEITHER)]
    return table(["labels say", *(f"verdict {word}" for word in words)], rows)


def right(cells: Sequence[Mapping[str, Any]], seed: int, margin: float | None = None) -> int:
    """Return on how many sets the verdict of a seed is right; with another margin if one is given."""
    return sum((said_by_labels(cell), _verdict(cell, seed, margin)) in RIGHT for cell in cells)


def _verdict(cell: Mapping[str, Any], seed: int, margin: float | None) -> str:
    if margin is None:
        return str(cell["verdicts"][seed])
    return judge(_evidence(cell["evidence"][seed]), margin=margin)[0]


def margins_table(cells: Sequence[Mapping[str, Any]]) -> str:
    """Return what each margin would have scored, and what one chosen on all sets but one scores on that."""
    n_seeds = min(len(cell["verdicts"]) for cell in cells)
    by_margin = {m: [right([cell], s, m) for s in range(n_seeds) for cell in cells] for m in MARGINS}
    hits = np.array(list(by_margin.values())).reshape(len(MARGINS), n_seeds, len(cells)).sum(axis=1)
    left_out = [int(hits[int(np.argmax(hits.sum(axis=1) - hits[:, i])), i]) for i in range(len(cells))]
    header = ["margin", *map(str, MARGINS), "chosen on the others"]
    total = [f"{n / n_seeds:.1f}" for n in (*hits.sum(axis=1), sum(left_out))]
    return table(header, [[f"right, of {len(cells)} (mean over seeds)", *total]])


def report(results: Results) -> str:
    """Return the tables."""
    cells = list({cell["set"]: cell for cell in results.cells.values()}.values())
    n_seeds = min(len(cell["verdicts"]) for cell in cells)
    says_yes = Counter(map(said_by_labels, cells))
    by_seed = [right(cells, seed) for seed in range(n_seeds)]
    lenient = [
        by_seed[s] + sum(said_by_labels(cell) == NEITHER and cell["verdicts"][s] == "yes" for cell in cells)
        for s in range(n_seeds)
    ]
    exact = [
        by_seed[s] - sum(said_by_labels(cell) == NEITHER and cell["verdicts"][s] == "no" for cell in cells)
        for s in range(n_seeds)
    ]
    lines = [
        f"Right on {by_seed} of {len(cells)} sets (one number per seed of the verdict).",
        f"If any verdict is right where the labels say neither: {lenient}; if only 'unclear' is: {exact}.",
        f"'Always yes' would be right on {says_yes['yes']}, or {says_yes['yes'] + says_yes[NEITHER]} if any "
        f"verdict is right where the labels say neither, or {says_yes['yes']} if only 'unclear' is.",
    ]
    shown = [set_table(cells)] if len(cells) <= 50 else []
    return "\n\n".join(["\n".join(lines), *shown, counts_table(cells), margins_table(cells)])


def main(given: list[str] | None = None) -> None:
    """Do what is missing, and print the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality.fusion_help", description=__doc__)
    add_common_options(parser)
    parser.add_argument("--made", action="store_true", help="on made data instead of a folder")
    parser.add_argument("--seeds", type=int, default=3, help="of the verdict (default: 3)")
    arguments = parser.parse_args(given)
    results = Results(arguments.tables or arguments.out)
    if arguments.tables is None:
        if arguments.made:
            pieces = list(made_pieces(arguments.seeds))
        else:
            sets = find_sets(folder_given(arguments.data), arguments.sets)
            pieces = [Piece(name, path, n_seeds=arguments.seeds) for name, path in sets.items()]
        missing = [piece for piece in pieces if not results.has(piece.key)]
        n_left = run(missing, do, results, n_jobs=arguments.jobs, max_seconds=arguments.max_seconds)
        report_rest(n_left, arguments.out)
    print(report(results))


if __name__ == "__main__":
    main()
