"""Whether `does_fusion_help` is right: its verdicts next to what the labels say.

`python -m benchmarks.quality.fusion_help [--data FOLDER] [--made] [--out FILE]`: on every data set of a
folder, complete and with 10 % of the rows missing, or on made ones (`--made`). The labels say "yes" if DGF
has a mean NMI of more than three points above that of every single view, "no" if more than three below that
of one, each on the samples that the view has seen; otherwise the answer is not clear, and no verdict counts.
Where it is clear, a verdict is right if it is the same word: "unclear" is wrong. Fused and alone, views are
rescaled by the same rule, and each is fitted as a user would: DGF with its default effort.

No constant is chosen here. The rule was found on the tuning sets.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from consilience import DistanceGraphFusion, Views, make_multiview
from consilience.datasets import corrupt
from consilience.inspection import does_fusion_help
from consilience.inspection.fusion_help.verdict import Evidence
from consilience.metrics import nmi
from consilience.models import SharedViews, SingleViewSpectral

from .data import Facts, add_common_options, chosen_sets, family_of, load
from .results import Cells, key, resume
from .tables import Kept, by_part, mean, number, rows_by_part, table

CLEAR = 3.0  # points of NMI that fused and alone must differ by
SEEDS_OF_SCORES = 3
NEITHER, MADE = "neither", "made"
COMPLETE, MISSING = "clean", "missing-10"  # names of `corrupt`


@dataclass(frozen=True)
class Piece:
    """One data set, read from a file or made, and the seeds of the verdicts."""

    name: str
    data: Facts | None = None
    made: Mapping[str, Any] = field(default_factory=dict)
    n_seeds: int = 2
    case: str = COMPLETE

    @property
    def key(self) -> str:
        """Return the name of its result."""
        return key("fusion help", self.name, self.case, self.n_seeds)

    def __str__(self) -> str:
        return f"{self.name}, {self.case}"

    def read(self) -> tuple[Views, Any, int]:
        """Return views, classes and the number of clusters."""
        if self.data is not None:
            data = load(self.data.path)
            views = corrupt(Views(list(data.views)), self.case, random_state=0).views
            return views, data.truth, data.n_clusters
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
        for n, c, seed in ((200, 3, 20), (500, 6, 21)):
            made = {**kind, "n_samples": n, "n_clusters": c, "random_state": seed}
            yield Piece(str(made), made=made, n_seeds=n_seeds)


def do(piece: Piece) -> Cells:
    """Return what the labels say of a data set, and what is said without them."""
    views, truth, c = piece.read()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fused, alone = _scores(views, truth, c)
        found = [does_fusion_help(views, c, random_state=i, n_jobs=1) for i in range(piece.n_seeds)]
    header = {"set": piece.name, "part": MADE} if piece.data is None else piece.data.header
    best = int(np.argmin(np.subtract(fused, alone)))
    cell = {
        **header,
        "case": piece.case,
        "v": views.n_views,
        "fused": fused[best],
        "alone": alone[best],
        "verdicts": [one.verdict for one in found],
        "strengths": [one.strength for one in found],
        "sentence": found[0].sentence,
        "evidence": [_kept(one.evidence) for one in found],
    }
    return {piece.key: cell}


def _scores(views: Views, truth: Any, c: int) -> tuple[list[float], list[float]]:
    """Return the mean NMI of DGF and of each view alone, on the samples that the view has seen."""
    settings: dict[str, Any] = {"n_clusters": c, "scale": "auto", "n_jobs": 1}
    shared, seeds = SharedViews(views), range(SEEDS_OF_SCORES)
    fused = [DistanceGraphFusion(random_state=i, **settings).fit(shared).labels_ for i in seeds]
    of_fused, of_view = [], []
    for j, array in enumerate(views.arrays):
        seen = views.seen(j)
        rows = np.arange(len(truth)) if seen is None else np.flatnonzero(seen)
        one = SharedViews(Views([array[rows]]))
        alone = [SingleViewSpectral(view=0, random_state=i, **settings).fit(one).labels_ for i in seeds]
        of_fused.append(100 * _mean(nmi(truth[rows], labels[rows]) for labels in fused))
        of_view.append(100 * _mean(nmi(truth[rows], labels) for labels in alone))
    return of_fused, of_view


def _mean(values: Iterable[float]) -> float:
    return float(np.mean(list(values)))


def _kept(evidence: Evidence) -> dict[str, Any]:
    return {**vars(evidence), "reliability": evidence.reliability.tolist()}


def said_by_labels(cell: Mapping[str, Any]) -> str:
    """Return "yes", "no" or "neither"."""
    gain = cell["fused"] - cell["alone"]
    return "yes" if gain > CLEAR else "no" if gain < -CLEAR else NEITHER


def set_table(cells: Sequence[Kept]) -> str:
    """Return one row per data set."""
    header = ["set", "views", "DGF", "best view", "labels say", "verdict", "", "difference ± error", "shown"]
    header += ["other seeds"]

    def row(cell: Kept) -> list[str]:
        evidence, said = cell["evidence"][0], said_by_labels(cell)
        first, *others = (f"{a}, {b}" for a, b in zip(cell["verdicts"], cell["strengths"], strict=True))
        return [
            cell["set"],
            str(cell["v"]),
            f"{cell['fused']:.1f}",
            f"{cell['alone']:.1f}",
            said,
            first,
            "wrong" if said not in (NEITHER, cell["verdicts"][0]) else "",
            f"{evidence['gain']:+.3f} ± {evidence['error']:.3f}",
            f"{evidence['shown']:.2f}",
            "; ".join(others),
        ]

    def means(chosen: Sequence[Kept]) -> list[str]:
        scores = [number(mean(cell[name] for cell in chosen)) for name in ("fused", "alone")]
        return ["", *scores, *[""] * 6]

    return table(header, rows_by_part(cells, row, means))


def summary_table(cells: Sequence[Kept]) -> str:
    """Return for each part and case how many verdicts are right where labels are clear, over all seeds."""
    header = ["part", "case", "clear sets", "right", "by family", "'always yes'"]
    header += ["strong evidence", "weak evidence"]
    rows = []
    for part, of_part in (by_part(cells) or {MADE: list(cells)}).items():
        for case in dict.fromkeys(cell["case"] for cell in of_part):
            clear = [c for c in of_part if c["case"] == case and said_by_labels(c) != NEITHER]
            if clear:
                rows.append([part, case, str(len(clear)), *_counts(clear)])
    return table(header, rows)


def _counts(clear: Sequence[Kept]) -> list[str]:
    """Return shares of verdicts that are right: all, by family, always yes, by the strength of evidence."""
    hits: dict[str, list[bool]] = {"strong": [], "weak": []}
    families: dict[str, list[bool]] = {}
    for cell in clear:
        for verdict, strength in zip(cell["verdicts"], cell["strengths"], strict=True):
            is_right = verdict == said_by_labels(cell)
            hits[strength].append(is_right)
            families.setdefault(family_of(cell["set"]), []).append(is_right)
    everything = hits["strong"] + hits["weak"]
    yes = [said_by_labels(cell) == "yes" for cell in clear]
    by_family = f"{100 * _mean(map(_mean, families.values())):.0f} %"
    return [_share(everything), by_family, _share(yes), *map(_share, hits.values())]


def _share(hits: Sequence[bool]) -> str:
    return f"{sum(hits)} of {len(hits)}" + (f" ({100 * _mean(hits):.0f} %)" if hits else "")


def report(cells: Cells) -> str:
    """Return the tables."""
    found = list({(cell["set"], cell["case"]): cell for cell in cells.values()}.values())
    if not found:
        return "Nothing has been measured."
    parts = [summary_table(found)]
    if any(cell["part"] != MADE for cell in found):
        for case in dict.fromkeys(cell["case"] for cell in found):
            parts.append(f"{case}:\n\n{set_table([cell for cell in found if cell['case'] == case])}")
    return "\n\n".join(parts)


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
        cases, seeds = (COMPLETE, MISSING), arguments.seeds
        return [Piece(one.name, one, n_seeds=seeds, case=c) for one in chosen_sets(arguments) for c in cases]

    print(report(resume(arguments, pieces, do).cells))


if __name__ == "__main__":
    main()
