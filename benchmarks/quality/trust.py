"""To which power a row's probability to be matched is its trust: `python -m benchmarks.quality.trust`.

On every tuning set of three views or more, as it is and with 30 % of the rows shuffled in one view and in
every view, the views are fused with the trust in rows that several rules make of the same probabilities. A
rule is scored by the mean NMI of SGF and DGF in the default description, over the three conditions alike. It
is chosen with one set left out at a time, and scored on that set: what the choice itself is worth.
Validation sets are never opened. The rule of the library is "1 + unmatched".
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from consilience import Views
from consilience.datasets import corrupt
from consilience.engines import get_engine
from consilience.engines.matching import LEAST_TRUST
from consilience.fusion import Schedule
from consilience.fusion.edge_fusion import ConsistentFusion
from consilience.metrics import nmi
from consilience.stages import KMeansLabels, agree, connect, embed, prepare, search, trust
from consilience.stages.agree import Weighting
from consilience.stages.prepare import metrics_of_views
from consilience.stages.search import auto_neighbors
from consilience.stages.sequence import fuse_views

from .data import TUNING, Facts, add_common_options, chosen_sets, load
from .held_out import leave_one_out
from .results import Cells, key, resume
from .tables import number, table

Vector = NDArray[np.float64]
ENGINE, SEEDS = "numba", 2
CONDITIONS = ("clean", "shuffle-one-30", "shuffle-all-30")
# From the share of matched rows in each view to the power.
RULES: dict[str, Callable[[Vector], float]] = {
    "1": lambda shares: 1.0,
    "1 + unmatched": lambda shares: 1.0 + float((1.0 - shares).sum()),
    "1 / (mean share)^3": lambda shares: float(shares.mean()) ** -3,
    "2": lambda shares: 2.0,
    "4": lambda shares: 4.0,
}
OURS, BEFORE = "1 + unmatched", "by shared neighbours"


@dataclass(frozen=True)
class Piece:
    """One data set in one condition."""

    data: Facts
    condition: str

    @property
    def key(self) -> str:
        """Return the name of its result."""
        return key("trust", self.data.name, self.condition)

    def __str__(self) -> str:
        return f"{self.data.name}, {self.condition}"


def do(piece: Piece) -> Cells:
    """Return the mean NMI of SGF and DGF by every rule; none where no trust is learned."""
    data = load(piece.data.path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scores = scores_of(Views(list(data.views)), data.truth, data.n_clusters, piece.condition)
    cell = {**piece.data.header, "condition": piece.condition, "scores": scores}
    return {piece.key: cell}


def scores_of(views: Views, truth: NDArray[Any], n_clusters: int, condition: str) -> dict[str, float]:
    """Return the score of every rule on views spoiled in this way; empty if no trust is learned."""
    spoiled = corrupt(views, condition, random_state=0)
    return {
        name: float(np.mean([score(graph, truth, spoiled.scored, n_clusters) for graph in graphs]))
        for name, graphs in unified_graphs(spoiled.views, n_clusters).items()
    }


def unified_graphs(views: Views, n_clusters: int) -> dict[str, list[Any]]:
    """Return the unified graphs of SGF and DGF with the trust of every rule; none if no trust is learned."""
    engine, k = get_engine(ENGINE), auto_neighbors(views.n_samples, n_clusters)
    spaces = prepare(views, metrics_of_views("auto", views, "auto", engine), "auto", engine=engine)
    spaces = spaces.cached(engine)
    found = [search(i, spaces, k, "exact", True, engine=engine) for i in range(len(spaces))]
    before = agree(found, spaces, Weighting(None, rows_by_agreement=True), engine=engine)
    kept = spaces.only(before.kept)
    edges = connect(found, before, kept, engine=engine)
    learned = trust(found, before, edges, kept, n_clusters, k, True, engine=engine)
    if learned.matched is None:
        return {}
    likely = np.asarray(engine.fetch(learned.trust)) ** (1.0 / RULES[OURS](learned.matched))
    trusts = {BEFORE: before.trust}
    for name, rule in RULES.items():
        trusts[name] = engine.adopt(np.maximum(likely ** rule(learned.matched), LEAST_TRUST))
    all_kept = replace(before, kept=np.ones(len(kept), dtype=bool), only_for=before.only_for[before.kept])
    models = [ConsistentFusion(kind, 1.0, 100.0, Schedule()) for kind in ("similarity", "distance")]
    return {
        name: [
            engine.fetch(graph.handle)
            for graph, _ in fuse_views(
                kept, k, replace(all_kept, trust=one), models, "exact", True, engine=engine
            )
        ]
        for name, one in trusts.items()
    }


def score(graph: Any, truth: NDArray[Any], scored: NDArray[np.bool_], n_clusters: int) -> float:
    """Return the mean NMI of the clusters of a graph, in percent, on the samples that are scored."""
    engine, start = get_engine(ENGINE), np.random.RandomState(0)
    embedding = embed(engine.adopt(graph), n_clusters, start, engine=engine, warn_disconnected=False)
    labels = [
        KMeansLabels(n_init=10).assign(embedding, n_clusters, np.random.RandomState(seed), engine)
        for seed in range(SEEDS)
    ]
    return 100 * float(np.mean([nmi(truth[scored], one[scored]) for one in labels]))


def tables(cells: Cells) -> str:
    """Return the mean score of every rule by condition, and what is gained by choosing one on other sets."""
    cells = {name: cell for name, cell in cells.items() if cell["scores"]}
    if not cells:
        return "No trust is learned on these sets: it takes three views that agree.\n"
    names = list(next(iter(cells.values()))["scores"])
    conditions = [one for one in CONDITIONS if any(cell["condition"] == one for cell in cells.values())]
    rows, by_set = [], {}
    for name in names:
        means = []
        for condition in conditions:
            here = [cell["scores"][name] for cell in cells.values() if cell["condition"] == condition]
            means.append(number(float(np.mean(here)), 2))
        rows.append([name, *means])
        gains: dict[str, list[float]] = {}
        for cell in cells.values():
            gains.setdefault(cell["set"], []).append(cell["scores"][name] - cell["scores"][BEFORE])
        by_set[name] = {one: float(np.mean(found)) for one, found in gains.items()}
    text = table(["power", *conditions], rows)
    if len(by_set[BEFORE]) > 1:
        found = leave_one_out({name: gains for name, gains in by_set.items() if name != BEFORE})
        text += (
            f"\nGain over “{BEFORE}”, mean of the conditions: {OURS} {found.means[OURS]:+.2f}; best, "
            f"{' or '.join(found.best)}, {max(found.means.values()):+.2f}; chosen on the other sets and "
            f"scored on the one left out {found.honest:+.2f}.\n"
        )
    return text


def main(given: list[str] | None = None) -> None:
    """Run the study, or what is left of it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality.trust", description=__doc__)
    add_common_options(parser, parts=False)
    arguments = parser.parse_args(given)

    def pieces() -> list[Piece]:
        sets = [one for one in chosen_sets(arguments, TUNING) if one.n_views > 2]
        return [Piece(one, condition) for one in sets for condition in CONDITIONS]

    print(tables(resume(arguments, pieces, do).cells))


if __name__ == "__main__":
    main()
