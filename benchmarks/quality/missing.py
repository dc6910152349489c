"""What missing samples cost: scores with rows taken away, next to filling them in and leaving samples out.

`python -m benchmarks.quality.missing [--data FOLDER] [--out FILE]`: on every data set of a folder, with a
tenth, three tenths and half of the (sample, view) pairs missing at random (`ampute`), for DGF and SGF at
their defaults. Each is given the number of classes, and nothing else but where stated. The ways to deal with
what is missing:

- *as it is*: the views with their mask.
- *mean*: a missing row is the mean of those that the view has seen.
- *nearest*: a missing row is the mean of those of the 5 samples that are nearest among the ones that the view
  has seen. How near is the mean, over the views that have seen both, of the distance in units of the view's
  mean distance. In both a view is measured as it is when nothing is filled in: by the same metric.
- *dropped*: the samples that all views have seen are clustered. Every other one goes where most of its views
  say, each naming the cluster of the nearest of these samples; of equally many the first. No score if no more
  samples are left than clusters. *kept only* is the score over the samples left.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.metrics import pairwise_distances

from consilience import DistanceGraphFusion, SimilarityGraphFusion, Views, ampute
from consilience.metrics import nmi

from .data import add_common_options, find_sets, folder_given, load
from .results import Cells, Results, key, report_rest, run
from .tables import table

RATES = (0.1, 0.3, 0.5)
SYSTEMS = {"DGF": DistanceGraphFusion, "SGF": SimilarityGraphFusion}
WAYS = ("as it is", "mean", "nearest", "dropped", "kept only")
DONORS = 5
FEWER_SEEDS = {1000: 3, 2500: 2}  # for sets of more samples than this; not for the set of the targets
TARGET_SET, TARGETS = "UCI_Digits", {0.1: 1.0, 0.3: 4.0, 0.5: 10.0}  # points that may be lost
NONE = "–"


@dataclass(frozen=True)
class Piece:
    """One data set at one rate; 0 for complete data."""

    name: str
    path: Path
    rate: float
    n_seeds: int

    @property
    def key(self) -> str:
        """Return the name of its result."""
        return key("missing", self.name, self.rate, self.n_seeds)

    def __str__(self) -> str:
        return f"{self.name}, {self.rate:.0%} missing"


def pieces(paths: dict[str, Path], n_seeds: int) -> Iterator[Piece]:
    """Yield every data set at every rate that leaves each sample one view."""
    for name, path in paths.items():
        data = load(path)
        capped = [most for size, most in FEWER_SEEDS.items() if data.n_samples > size and name != TARGET_SET]
        seeds = min([n_seeds, *capped])
        bound = 1 - 1 / len(data.views)
        yield from (Piece(name, path, rate, seeds) for rate in (0.0, *RATES) if rate <= bound)


def measure(piece: Piece) -> Cells:
    """Return the scores of a piece, by system and way, one for each seed."""
    data = load(piece.path)
    scores: dict[str, list[float | None]] = {}
    for seed in range(piece.n_seeds):
        views = Views(list(data.views))
        if piece.rate:
            views = ampute(views, piece.rate, random_state=seed)
        for system, kind in SYSTEMS.items():
            model = kind(n_clusters=data.n_clusters, random_state=seed)
            for way, score in _score_ways(model, views, data.truth).items():
                scores.setdefault(f"{system} {way}", []).append(score)
    cell = {"set": data.name, "rate": piece.rate, "n_views": len(data.views), "n": data.n_samples, **scores}
    return {piece.key: cell}


def _score_ways(model: Any, views: Views, truth: NDArray[Any]) -> dict[str, float | None]:
    """Return the score of every way to deal with what is missing; of the first alone if nothing is."""
    found: dict[str, float | None] = {WAYS[0]: _score(truth, _labels(model, views))}
    if views.mask is None:
        return found
    metrics = model.metrics_
    between = [_distances(array, metric) for array, metric in zip(views.arrays, metrics, strict=True)]
    model.set_params(metric=metrics)
    for way, donors in (("mean", _everyone(views.mask)), ("nearest", _nearest(between, views.mask))):
        found[way] = _score(truth, _labels(model, _filled(views, donors)))
    kept = views.mask.all(axis=1)
    if kept.sum() > model.n_clusters:
        labels = np.full(len(truth), -1)
        labels[kept] = _labels(model, Views([array[kept] for array in views.arrays]))
        found["kept only"] = _score(truth[kept], labels[kept])
        found["dropped"] = _score(truth, _handed_on(labels, kept, between, views.mask))
    else:
        found["dropped"] = found["kept only"] = None
    return found


def _labels(model: Any, views: Views) -> NDArray[np.intp]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of scales and metrics, and of graphs in several parts
        labels: NDArray[np.intp] = model.fit(views).labels_
        return labels


def _score(truth: NDArray[Any], labels: NDArray[Any]) -> float:
    return 100 * float(nmi(truth, labels))


def _distances(array: Any, metric: str) -> NDArray[np.float32]:
    return pairwise_distances(array, metric=metric).astype(np.float32)


def _everyone(mask: NDArray[np.bool_]) -> list[Any]:
    """Return for each view the donors of each missing row: all samples that it has seen."""
    return [np.ones((int((~seen).sum()), int(seen.sum()))) for seen in mask.T]


def _nearest(between: Sequence[NDArray[np.float32]], mask: NDArray[np.bool_]) -> list[Any]:
    """Return for each view the donors of each missing row: the nearest that it has seen."""
    total, count = np.zeros_like(between[0]), np.zeros_like(between[0])
    for distances, seen in zip(between, mask.T, strict=True):
        both = np.outer(seen, seen)
        total[both] += distances[both] / distances[both].mean()
        count += both
    apart = np.where(count > 0, total / np.maximum(count, 1), np.inf)
    chosen = []
    for seen in mask.T:
        near = np.argsort(apart[np.ix_(~seen, seen)], axis=1, kind="stable")[:, :DONORS]
        donors = np.zeros((int((~seen).sum()), int(seen.sum())))
        np.put_along_axis(donors, near, 1.0, axis=1)
        donors[~np.isfinite(apart[np.ix_(~seen, seen)]).any(axis=1)] = 1.0  # who has nobody in common
        chosen.append(donors)
    return chosen


def _filled(views: Views, donors: Sequence[Any]) -> Views:
    """Return complete views in which a missing row is the mean of its donors' rows."""
    arrays = []
    for i, array in enumerate(views.arrays):
        dense = array.toarray() if sparse.issparse(array) else np.array(array)
        seen = views.mask[:, i]  # type: ignore[index]
        dense[~seen] = donors[i] @ dense[seen] / donors[i].sum(axis=1, keepdims=True)
        arrays.append(dense)
    return Views(arrays)


def _handed_on(labels: Any, kept: Any, between: Sequence[Any], mask: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Give every other sample the label that most of its views say, each by the nearest sample kept."""
    votes = np.zeros((len(labels), labels.max() + 1))
    for distances, seen in zip(between, mask.T, strict=True):
        asked = np.flatnonzero(seen & ~kept)
        nearest = distances[np.ix_(asked, np.flatnonzero(kept))].argmin(axis=1)
        votes[asked, labels[kept][nearest]] += 1
    return np.where(kept, labels, votes.argmax(axis=1))


def report(cells: Cells) -> str:
    """Return the tables: every set at every rate, the means, and the targets."""
    by_place = {(one["set"], one["rate"]): one for one in cells.values()}
    sets = sorted({name for name, _ in by_place})
    parts = []
    for system in SYSTEMS:
        rows = []
        for rate in RATES:
            rows += [_row(by_place, name, rate, system) for name in sets if (name, rate) in by_place]
            rows.append(_mean_row(by_place, sets, rate, system))
        header = ["set, views", "missing", "complete", *WAYS]
        parts.append(f"## {system}: NMI in percent, means over seeds\n\n{table(header, rows)}")
    if (TARGET_SET, 0.0) in by_place:
        parts.append(_targets(by_place))
    return "\n\n".join(parts)


def _mean(cell: dict[str, Any], name: str) -> float | None:
    scores = [one for one in cell.get(name, []) if one is not None]
    return float(np.mean(scores)) if scores else None


def _row(by_place: Any, name: str, rate: float, system: str) -> list[str]:
    cell = by_place[name, rate]
    values = [_mean(by_place[name, 0.0], f"{system} as it is"), *(_mean(cell, f"{system} {w}") for w in WAYS)]
    return [f"{name}, {cell['n_views']}", f"{rate:.0%}", *map(_number, values)]


def _mean_row(by_place: Any, sets: Sequence[str], rate: float, system: str) -> list[str]:
    """Return the means over the sets that every way but dropping was run on, and of dropping over its own."""
    there = [name for name in sets if (name, rate) in by_place]
    columns = [[_mean(by_place[name, 0.0], f"{system} as it is") for name in there]]
    columns += [[_mean(by_place[name, rate], f"{system} {way}") for name in there] for way in WAYS]
    means = []
    for column in columns:
        values = [value for value in column if value is not None]
        short = f" ({len(values)} sets)" if len(values) < len(there) else ""
        means.append(_number(float(np.mean(values)) if values else None) + short)
    return [f"**mean of {len(there)} sets**", f"{rate:.0%}", *means]


def _targets(by_place: Any) -> str:
    rows = []
    for system in SYSTEMS:
        complete = _mean(by_place[TARGET_SET, 0.0], f"{system} as it is")
        for rate, allowed in TARGETS.items():
            cell = by_place.get((TARGET_SET, rate), {})
            reached, rivals = (
                _mean(cell, f"{system} as it is"),
                [_mean(cell, f"{system} {w}") for w in WAYS[1:4]],
            )
            if complete is None or reached is None:
                continue
            ahead = [NONE if one is None else f"{reached - one:+.1f}" for one in rivals]
            met = "pass" if complete - reached <= allowed else "FAIL"
            rows.append([system, f"{rate:.0%}", f"{met}: {complete - reached:.1f} of {allowed:g}", *ahead])
    header = ["system", "missing", "points lost", *(f"against {way}" for way in WAYS[1:4])]
    return f"## Targets on {TARGET_SET}\n\n{table(header, rows)}"


def _number(value: float | None) -> str:
    return NONE if value is None else f"{value:.1f}"


def main(argv: Sequence[str] | None = None) -> None:
    """Run the study and print its tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality.missing", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    add_common_options(parser)
    parser.add_argument("--seeds", type=int, default=5, help="masks and fits per cell (default: 5)")
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
