"""What missing samples cost: scores with rows taken away, next to filling them in and leaving samples out.

`python -m benchmarks.quality.missing [--data FOLDER] [--out FILE]`: `consilience.compare` shows what systems
lose with rows missing at random; this study shows what it does not: higher rates, other patterns
(`consilience.datasets.ampute`), and other ways to deal with what is missing, for DGF and SGF with low effort
(trust and descriptions are another matter), otherwise at their defaults, given the number of classes:

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
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.metrics import pairwise_distances

from consilience import DistanceGraphFusion, SimilarityGraphFusion, Views, ampute
from consilience.metrics import nmi

from .data import Facts, add_common_options, chosen_sets, load
from .results import Cells, key, resume
from .tables import Kept, by_part, mean, number, rows_by_part, table

# Pattern and rate. "paired": so many samples are left in one view; "one_view": the last one misses so many.
CASES: tuple[tuple[Any, float], ...] = (
    ("random", 0.1),
    ("random", 0.3),
    ("random", 0.5),
    ("not_at_random", 0.3),
    ("one_view", 0.5),
    ("paired", 0.5),
)
SYSTEMS: dict[str, Any] = {"DGF": DistanceGraphFusion, "SGF": SimilarityGraphFusion}
EFFORT = "low"
WAYS = ("as it is", "mean", "nearest", "dropped", "kept only")
COLUMNS = ("complete", *WAYS)
DONORS = 5
MOST_SAMPLES = 3000  # all distances are held, and sparse views are filled in
FEWER_SEEDS, MANY_SAMPLES = 1, 1000
RULE = (
    f"Sets of two views or more and at most {MOST_SAMPLES:,} samples; {FEWER_SEEDS} seed for those of more "
    f"than {MANY_SAMPLES:,}."
)


@dataclass(frozen=True)
class Piece:
    """One data set in one case."""

    data: Facts
    pattern: Any
    rate: float
    n_seeds: int

    @property
    def key(self) -> str:
        """Return the name of its result."""
        return key("missing", self.data.name, self.pattern, self.rate, self.n_seeds)

    def __str__(self) -> str:
        return f"{self.data.name}, {case_name(self.pattern, self.rate)}"


def case_name(pattern: str, rate: float) -> str:
    """Return a pattern with its rate, as tables name it."""
    return f"{rate:.0%} {pattern.replace('_', ' ')}"


def pieces(sets: Sequence[Facts], n_seeds: int) -> Iterator[Piece]:
    """Yield every data set in every case that leaves each sample one view."""
    for data in sets:
        seeds = min(n_seeds, FEWER_SEEDS) if data.n_samples > MANY_SAMPLES else n_seeds
        if data.n_samples > MOST_SAMPLES or data.n_views < 2:
            continue
        for pattern, rate in CASES:
            if pattern not in ("random", "not_at_random") or rate <= 1 - 1 / data.n_views:
                yield Piece(data, pattern, rate, seeds)


def measure(piece: Piece) -> Cells:
    """Return the scores of a piece, by system and way, one for each seed."""
    data = load(piece.data.path)
    complete = Views(list(data.views))
    scores: dict[str, list[float | None]] = {}
    for seed in range(piece.n_seeds):
        views = ampute(complete, piece.rate, piece.pattern, random_state=seed)
        for system, kind in SYSTEMS.items():
            model = kind(n_clusters=data.n_clusters, random_state=seed, n_jobs=1, effort=EFFORT)
            whole = _score(data.truth, _labels(model, complete))
            scores.setdefault(f"{system} complete", []).append(whole)
            for way, score in _score_ways(model, views, data.truth).items():
                scores.setdefault(f"{system} {way}", []).append(score)
    return {piece.key: {**piece.data.header, "pattern": piece.pattern, "rate": piece.rate, **scores}}


def _score_ways(model: Any, views: Views, truth: NDArray[Any]) -> dict[str, float | None]:
    """Return the score of every way to deal with what is missing."""
    assert views.mask is not None
    found: dict[str, float | None] = {WAYS[0]: _score(truth, _labels(model, views))}
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
    """Return the tables: the means of both parts in every case, then every set in every case."""
    if not cells:
        return "Nothing has been measured."
    by_case = {
        (pattern, rate): [one for one in cells.values() if (one["pattern"], one["rate"]) == (pattern, rate)]
        for pattern, rate in CASES
    }
    parts = [f"NMI in percent, means over seeds. {RULE}"]
    for system in SYSTEMS:
        rows = [
            [case_name(*case), part, f"{len(chosen)}", *_means(chosen, system)]
            for case, found in by_case.items()
            for part, chosen in by_part(found).items()
        ]
        parts += [f"## {system}: means over sets", table(["missing", "part", "sets", *COLUMNS], rows)]
    for case, found in by_case.items():
        if found:
            parts += [f"## {name}, {case_name(*case)}\n\n{_case_table(found, name)}" for name in SYSTEMS]
    return "\n\n".join(parts)


def _case_table(cells: Sequence[Kept], system: str) -> str:
    def row(cell: Kept) -> list[str]:
        return [
            cell["set"],
            f"{cell['n_views']}",
            *(number(mean(cell[f"{system} {way}"])) for way in COLUMNS),
        ]

    return table(
        ["set", "views", *COLUMNS], rows_by_part(cells, row, lambda chosen: ["", *_means(chosen, system)])
    )


def _means(cells: Sequence[Kept], system: str) -> list[str]:
    """Return the mean of each column over its sets, with their number where it has not all."""
    texts = []
    for way in COLUMNS:
        values = [value for cell in cells if (value := mean(cell[f"{system} {way}"])) is not None]
        short = f" ({len(values)} sets)" if len(values) < len(cells) else ""
        texts.append(number(mean(values)) + short)
    return texts


def main(given: list[str] | None = None) -> None:
    """Run the study and print its tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality.missing", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    add_common_options(parser)
    parser.add_argument("--seeds", type=int, default=2, help="masks and fits per cell (default: 2)")
    arguments = parser.parse_args(given)
    results = resume(arguments, lambda: pieces(chosen_sets(arguments), arguments.seeds), measure)
    print(report(results.cells))


if __name__ == "__main__":
    main()
