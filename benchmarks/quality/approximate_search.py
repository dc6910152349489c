"""What approximate neighbours cost: recall and scores next to the exact search.

`python -m benchmarks.quality.approximate_search [--data FOLDER] [--out FILE]`: on every data set of a folder,
DGF and SGF with low effort, otherwise at their defaults, given the number of classes, with
``neighbor_search="exact"`` and ``"approximate"``. By default the search of sets of this size is exact; here
the approximate one is made to work on them.

- *recall*: the share of the true neighbours of all samples that were found, for the view with the lowest and
  as the mean over views. *Up to ties*: a neighbour that is as near as the last true one is as good as it.
- *NMI*: means over seeds of k-means, and the difference of those. The spread is that of the exact search from
  seed to seed, largest minus smallest: what a difference may be by chance.

Both searches see the same features, rescaled by the same rule.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from consilience import DistanceGraphFusion, SimilarityGraphFusion, Views
from consilience.engines import get_engine
from consilience.graphs import EdgeSet
from consilience.metrics import nmi
from consilience.models import SharedViews
from consilience.models.given import GivenViews

from .data import Facts, add_common_options, chosen_sets, load
from .results import Cells, key, resume
from .tables import Kept, by_part, rows_by_part, table

SYSTEMS: dict[str, Any] = {"DGF": DistanceGraphFusion, "SGF": SimilarityGraphFusion}
EFFORT = "low"  # descriptions are searched, too, but this is about neighbours
SEARCHES = ("exact", "approximate")
MOST_POINTS, LEAST_RECALL = 1.0, 0.95  # the targets: mean size of differences of NMI, and recall


@dataclass(frozen=True)
class Piece:
    """One data set."""

    data: Facts
    n_seeds: int

    @property
    def key(self) -> str:
        """Return the name of its result."""
        return key("approximate search", self.data.name, self.n_seeds)

    def __str__(self) -> str:
        return self.data.name


def measure(piece: Piece) -> Cells:
    """Return recall by view, and the scores of both systems with both searches, one for each seed."""
    data = load(piece.data.path)
    shared = SharedViews(Views(list(data.views)))  # so neighbours are looked for once
    cell = piece.data.header
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of scales and metrics, and of graphs in several parts
        for system, kind in SYSTEMS.items():
            models = {
                search: kind(n_clusters=data.n_clusters, neighbor_search=search, n_jobs=1, effort=EFFORT)
                for search in SEARCHES
            }
            for search, model in models.items():
                cell[f"{system} {search}"] = [
                    100 * float(nmi(data.truth, model.set_params(random_state=seed).fit(shared).labels_))
                    for seed in range(piece.n_seeds)
                ]
        found = models["approximate"]
        cell["k"], cell["metrics"] = found.n_neighbors_, [str(metric) for metric in found.metrics_]
        cell["reported"] = [None if one is None else one.recall for one in found.neighbor_searches_]
        cell["recall"], cell["up to ties"] = _recalls(shared, found)
    return {piece.key: cell}


def _recalls(shared: SharedViews, model: Any) -> tuple[list[float], list[float]]:
    """Return the recall of each view that says anything, by who is found and by how far those are."""
    engine, k = get_engine(model.engine), model.n_neighbors_
    prepared = GivenViews.of(shared, model.metric).prepare(model.metrics_, model.scale, engine=engine)
    strict, with_ties = [], []
    for points in prepared.points:
        true, found = (np.sort(engine.fetch(engine.nearest(points, k, one).lists)) for one in SEARCHES)
        strict.append(float((found[:, :, None] == true[:, None, :]).any(axis=1).mean()))
        starts = np.arange(0, true.size + 1, k, dtype=np.int64)
        far, own = (
            engine.fetch(engine.measure(points, engine.adopt(EdgeSet(starts, one.ravel())))).reshape(-1, k)
            for one in (true, found)
        )
        with_ties.append(float((own <= far.max(axis=1, keepdims=True) * (1 + 1e-11)).mean()))
    return strict, with_ties


def report(cells: Cells) -> str:
    """Return the tables: recall by set, scores by set, and the targets, each by part."""
    found = list(cells.values())
    if not found:
        return "Nothing has been measured."
    return "\n\n".join(
        [_recall_table(found), *(_score_table(found, system) for system in SYSTEMS), _targets(found)]
    )


def _recall_table(cells: Sequence[Kept]) -> str:
    def numbers(cell: Kept) -> list[float]:
        reported = [one for one in cell["reported"] if one is not None]
        found = [float(f(cell[name])) for name in ("recall", "up to ties") for f in (min, np.mean)]
        return [*found, min(reported, default=np.nan)]

    def row(cell: Kept) -> list[str]:
        metrics = ", ".join(sorted(set(cell["metrics"])))
        figures = [f"{value:.3f}" for value in numbers(cell)]
        return [cell["set"], f"{cell['n']}", metrics, f"{cell['k']}", *figures]

    def means(chosen: Sequence[Kept]) -> list[str]:
        return [
            "",
            "",
            "",
            *(f"{value:.3f}" for value in np.nanmean([numbers(cell) for cell in chosen], axis=0)),
        ]

    header = ["set", "n", "metric", "k", "recall, least", "mean", "up to ties, least", "mean"]
    return f"## Recall\n\n{table([*header, 'reported, least'], rows_by_part(cells, row, means))}"


def _difference(cell: Kept, system: str) -> float:
    return float(np.mean(cell[f"{system} approximate"]) - np.mean(cell[f"{system} exact"]))


def _score_table(cells: Sequence[Kept], system: str) -> str:
    def row(cell: Kept) -> list[str]:
        scores = [cell[f"{system} {search}"] for search in SEARCHES]
        spread = max(scores[0]) - min(scores[0])
        means = [f"{np.mean(one):.1f}" for one in scores]
        return [cell["set"], *means, f"{_difference(cell, system):+.2f}", "", f"{spread:.2f}"]

    def means(chosen: Sequence[Kept]) -> list[str]:
        scores = [np.mean([np.mean(cell[f"{system} {search}"]) for cell in chosen]) for search in SEARCHES]
        apart = [_difference(cell, system) for cell in chosen]
        return [
            *(f"{one:.1f}" for one in scores),
            f"{np.mean(apart):+.2f}",
            f"{np.mean(np.abs(apart)):.2f}",
            "",
        ]

    header = ["set", *SEARCHES, "difference", "mean size", "spread"]
    return f"## {system}: NMI in percent\n\n{table(header, rows_by_part(cells, row, means))}"


def _targets(cells: Sequence[Kept]) -> str:
    lines: dict[str, list[str]] = {}
    groups = by_part(cells)
    for chosen in groups.values():
        for system in SYSTEMS:
            apart = {cell["set"]: _difference(cell, system) for cell in chosen}
            size, worst = float(np.mean(np.abs(list(apart.values())))), min(apart, key=apart.__getitem__)
            title = f"{system}: mean size of differences at most {MOST_POINTS:g} point"
            lines.setdefault(title, []).append(f"{_verdict(size <= MOST_POINTS)}: {size:.2f}")
            lines.setdefault(f"{system}: worst set", []).append(f"{worst}: {apart[worst]:+.2f}")
        for name in ("recall", "up to ties"):
            least = min(min(cell[name]) for cell in chosen)
            title = f"{name} of every view of at least {LEAST_RECALL:g}"
            lines.setdefault(title, []).append(f"{_verdict(least >= LEAST_RECALL)}: {least:.3f}")
    return f"## Targets\n\n{table(['what', *groups], [[title, *found] for title, found in lines.items()])}"


def _verdict(met: bool) -> str:
    return "pass" if met else "FAIL"


def main(given: list[str] | None = None) -> None:
    """Run the study and print its tables."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.quality.approximate_search", description=__doc__
    )
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    add_common_options(parser)
    parser.add_argument("--seeds", type=int, default=3, help="fits per system and search (default: 3)")
    arguments = parser.parse_args(given)

    def pieces() -> list[Piece]:
        return [Piece(data, arguments.seeds) for data in chosen_sets(arguments)]

    print(report(resume(arguments, pieces, measure).cells))


if __name__ == "__main__":
    main()
