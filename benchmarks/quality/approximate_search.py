"""What approximate neighbours cost: recall and scores next to the exact search.

`python -m benchmarks.quality.approximate_search [--data FOLDER] [--out FILE]`: on every data set of a folder,
DGF and SGF at their defaults, given the number of classes, with ``neighbor_search="exact"`` and
``"approximate"``. By default the search of sets of this size is exact; here the approximate one is made to
work on them.

- *recall*: the share of the true neighbours of all samples that were found, for the view with the lowest and
  as the mean over views. *Up to ties*: a neighbour that is as near as the last true one is as good as it.
- *NMI*: means over seeds of k-means, and the difference of those. The spread is that of the exact search from
  seed to seed, largest minus smallest: what a difference may be by chance.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from consilience import DistanceGraphFusion, SimilarityGraphFusion, Views
from consilience.engines import get_engine
from consilience.graphs import EdgeSet
from consilience.metrics import nmi
from consilience.models import SharedViews
from consilience.models.given import GivenViews

from .data import add_common_options, find_sets, folder_given, load
from .results import Cells, Results, key, report_rest, run
from .tables import table

SYSTEMS: dict[str, Any] = {"DGF": DistanceGraphFusion, "SGF": SimilarityGraphFusion}
SEARCHES = ("exact", "approximate")
MOST_POINTS, LEAST_RECALL = 1.0, 0.95  # the targets: mean size of differences of NMI, and recall


@dataclass(frozen=True)
class Piece:
    """One data set."""

    name: str
    path: Path
    n_seeds: int

    @property
    def key(self) -> str:
        """Return the name of its result."""
        return key("approximate search", self.name, self.n_seeds)

    def __str__(self) -> str:
        return self.name


def pieces(paths: dict[str, Path], n_seeds: int) -> Iterator[Piece]:
    """Yield every data set."""
    yield from (Piece(name, path, n_seeds) for name, path in paths.items())


def measure(piece: Piece) -> Cells:
    """Return recall by view, and the scores of both systems with both searches, one for each seed."""
    data = load(piece.path)
    shared = SharedViews(Views(list(data.views)))  # so neighbours are looked for once
    cell: dict[str, Any] = {"set": data.name, "n": data.n_samples, "n_views": len(data.views)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of scales and metrics, and of graphs in several parts
        for system, kind in SYSTEMS.items():
            models = {search: kind(n_clusters=data.n_clusters, neighbor_search=search) for search in SEARCHES}
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
    """Return the tables: recall by set, scores by set, and the targets."""
    rows = sorted(cells.values(), key=lambda cell: cell["set"])
    if not rows:
        return "Nothing has been measured."
    return "\n\n".join(
        [_recall_table(rows), *(_score_table(rows, system) for system in SYSTEMS), _targets(rows)]
    )


def _recall_table(rows: Sequence[dict[str, Any]]) -> str:
    lines = []
    for cell in rows:
        reported = [one for one in cell["reported"] if one is not None]
        numbers = [
            f"{function(cell[name]):.3f}" for name in ("recall", "up to ties") for function in (min, np.mean)
        ]
        metrics = ", ".join(sorted(set(cell["metrics"])))
        lines.append([cell["set"], f"{cell['n']}", metrics, f"{cell['k']}", *numbers, f"{min(reported):.3f}"])
    header = [
        "set",
        "n",
        "metric",
        "k",
        "recall, least",
        "mean",
        "up to ties, least",
        "mean",
        "reported, least",
    ]
    return f"## Recall\n\n{table(header, lines)}"


def _differences(rows: Sequence[dict[str, Any]], system: str) -> list[float]:
    return [float(np.mean(cell[f"{system} approximate"]) - np.mean(cell[f"{system} exact"])) for cell in rows]


def _score_table(rows: Sequence[dict[str, Any]], system: str) -> str:
    lines = []
    for cell, difference in zip(rows, _differences(rows, system), strict=True):
        scores = [cell[f"{system} {search}"] for search in SEARCHES]
        spread = max(scores[0]) - min(scores[0])
        lines.append(
            [cell["set"], *(f"{np.mean(one):.1f}" for one in scores), f"{difference:+.2f}", f"{spread:.2f}"]
        )
    all_of_them = _differences(rows, system)
    lines.append(["**mean**", "", "", f"{np.mean(all_of_them):+.2f}", ""])
    lines.append(["**mean size**", "", "", f"{np.mean(np.abs(all_of_them)):.2f}", ""])
    return f"## {system}: NMI in percent\n\n{table(['set', *SEARCHES, 'difference', 'spread'], lines)}"


def _targets(rows: Sequence[dict[str, Any]]) -> str:
    lines = []
    for system in SYSTEMS:
        found = _differences(rows, system)
        size, worst = float(np.mean(np.abs(found))), min(found)
        met = "pass" if size <= MOST_POINTS else "FAIL"
        lines.append(
            [f"{system}: mean size of differences at most {MOST_POINTS:g} point", f"{met}: {size:.2f}"]
        )
        lines.append([f"{system}: worst set", f"{rows[found.index(worst)]['set']}: {worst:+.2f}"])
    for name in ("recall", "up to ties"):
        least = min(min(cell[name]) for cell in rows)
        met = "pass" if least >= LEAST_RECALL else "FAIL"
        lines.append([f"{name} of every view of at least {LEAST_RECALL:g}", f"{met}: {least:.3f}"])
    return f"## Targets\n\n{table(['what', 'found'], lines)}"


def main(argv: Sequence[str] | None = None) -> None:
    """Run the study and print its tables."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.quality.approximate_search", description=__doc__
    )
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    add_common_options(parser)
    parser.add_argument("--seeds", type=int, default=3, help="fits per system and search (default: 3)")
    options = parser.parse_args(argv)
    results = Results(options.tables or options.out)
    if options.tables is None:
        todo = list(pieces(find_sets(folder_given(options.data), options.sets), options.seeds))
        left = [piece for piece in todo if not results.has(piece.key)]
        report_rest(
            run(left, measure, results, n_jobs=options.jobs, max_seconds=options.max_seconds), options.out
        )
    print(report(results.cells))


if __name__ == "__main__":
    main()
