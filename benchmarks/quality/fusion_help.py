"""Whether `does_fusion_help` is right: its verdicts next to what the labels say.

`python -m benchmarks.quality.fusion_help [--data FOLDER] [--made] [--out FILE]`: on every data set of a
folder, or on made ones (`--made`). The labels say "yes" if DGF has a mean NMI of more than a point above that
of the best single view, chosen with the labels; "no" if more than a point below; otherwise "neither". A
verdict is right if it is the same, and if it is "unclear" or "no" where the labels say "neither": fusing does
not help then. Fused and alone, views are rescaled by the same rule.

The margin of the verdict may be chosen on tuning sets alone: its table leaves the validation sets out.
"""

from __future__ import annotations

import argparse
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from consilience import DistanceGraphFusion, Views, make_multiview
from consilience.inspection import does_fusion_help
from consilience.inspection.fusion_help.held_out import HeldOut
from consilience.inspection.fusion_help.verdict import Evidence, judge
from consilience.metrics import nmi
from consilience.models import SharedViews, SingleViewSpectral

from .data import TUNING, Facts, add_common_options, chosen_sets, load
from .results import Cells, key, resume
from .tables import NONE, Kept, by_part, mean, number, rows_by_part, table

POINT = 1.0  # of NMI in percent: what smaller differences are is chance
SEEDS_OF_SCORES = 5
NEITHER, MADE = "neither", "made"
RIGHT = {("yes", "yes"), ("no", "no"), (NEITHER, "no"), (NEITHER, "unclear")}
MARGINS = (0.02, 0.03, 0.04, 0.05, 0.06, 0.08, 0.1)  # that the rule's own might have been


@dataclass(frozen=True)
class Piece:
    """One data set, read from a file or made, and the seeds of the verdicts."""

    name: str
    data: Facts | None = None
    made: Mapping[str, Any] = field(default_factory=dict)
    n_seeds: int = 2

    @property
    def key(self) -> str:
        """Return the name of its result."""
        return key("fusion help", self.name, self.n_seeds)

    def __str__(self) -> str:
        return self.name

    def read(self) -> tuple[Views, Any, int]:
        """Return views, classes and the number of clusters."""
        if self.data is not None:
            data = load(self.data.path)
            return Views(list(data.views)), data.truth, data.n_clusters
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
    header = {"set": piece.name, "part": MADE} if piece.data is None else piece.data.header
    cell = {
        **header,
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


def set_table(cells: Sequence[Kept]) -> str:
    """Return one row per data set."""
    header = ["set", "views", "DGF", "best view", "labels say", "verdict", "", "stability", "best view's"]
    header += ["gain ± error", "null", "held out", "other seeds"]

    def row(cell: Kept) -> list[str]:
        evidence, said, (first, *others) = cell["evidence"][0], said_by_labels(cell), cell["verdicts"]
        witnesses = evidence["held_out"]
        return [
            cell["set"],
            str(cell["v"]),
            f"{cell['fused']:.1f}",
            f"{cell['alone']:.1f}",
            said,
            first,
            "" if (said, first) in RIGHT else "wrong",
            f"{evidence['stability']:.2f}",
            f"{evidence['view_stability']:.2f}",
            f"{evidence['gain']:+.2f} ± {evidence['error']:.2f}",
            f"{evidence['null_stability']:.2f}",
            NONE if witnesses is None else f"{witnesses['gain']:+.3f} ± {witnesses['error']:.3f}",
            ", ".join(others),
        ]

    def means(chosen: Sequence[Kept]) -> list[str]:
        scores = [number(mean(cell[name] for cell in chosen)) for name in ("fused", "alone")]
        return ["", *scores, "", f"{right(chosen, 0)} right", *[""] * 7]

    return table(header, rows_by_part(cells, row, means))


def counts_table(cells: Sequence[Mapping[str, Any]]) -> str:
    """Return how often each verdict met each truth, over all seeds of the verdict, in each part."""
    words, rows = ("yes", "no", "unclear"), []
    for part, chosen in (by_part(cells) or {MADE: cells}).items():
        counts = Counter((said_by_labels(cell), verdict) for cell in chosen for verdict in cell["verdicts"])
        rows += [
            [part, said, *(str(counts[said, word]) for word in words)] for said in ("yes", "no", NEITHER)
        ]
    return table(["part", "labels say", *(f"verdict {word}" for word in words)], rows)


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


def summary_table(cells: Sequence[Kept]) -> str:
    """Return for each part on how many sets verdicts are right, one number for each seed of the verdict."""
    groups = by_part(cells) or {MADE: list(cells)}
    rows = []
    for part, chosen in groups.items():
        said = Counter(map(said_by_labels, chosen))
        seeds = range(min(len(cell["verdicts"]) for cell in chosen))
        plain = [right(chosen, seed) for seed in seeds]
        unsure = [cell for cell in chosen if said_by_labels(cell) == NEITHER]
        yes, no = (
            [sum(cell["verdicts"][seed] == word for cell in unsure) for seed in seeds]
            for word in ("yes", "no")
        )
        columns = [plain, np.add(plain, yes).tolist(), np.subtract(plain, no).tolist()]
        shown = [", ".join(map(str, column)) for column in columns]
        rows.append([part, str(len(chosen)), *shown, str(said["yes"]), str(said["yes"] + said[NEITHER])])
    header = ["part", "sets", "right", "right if any verdict is where the labels say neither"]
    header += ["right if only 'unclear' is", "'always yes'", "'always yes' if any verdict is"]
    return table(header, rows)


def report(cells: Cells) -> str:
    """Return the tables."""
    found = list({cell["set"]: cell for cell in cells.values()}.values())
    if not found:
        return "Nothing has been measured."
    real = any(cell["part"] != MADE for cell in found)
    parts = [summary_table(found), *([set_table(found)] if real else []), counts_table(found)]
    chosen_on = [cell for cell in found if cell["part"] in (TUNING, MADE)]
    return "\n\n".join([*parts, *([margins_table(chosen_on)] if chosen_on else [])])


def main(given: list[str] | None = None) -> None:
    """Do what is missing, and print the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality.fusion_help", description=__doc__)
    add_common_options(parser)
    parser.add_argument("--made", action="store_true", help="on made data instead of a folder")
    parser.add_argument("--seeds", type=int, default=2, help="of the verdict (default: 2)")
    arguments = parser.parse_args(given)

    def pieces() -> list[Piece]:
        if arguments.made:
            return list(made_pieces(arguments.seeds))
        return [Piece(data.name, data, n_seeds=arguments.seeds) for data in chosen_sets(arguments)]

    print(report(resume(arguments, pieces, do).cells))


if __name__ == "__main__":
    main()
