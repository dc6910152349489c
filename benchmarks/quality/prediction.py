"""Whether new samples get the cluster that a fit on everything would give them.

`python -m benchmarks.quality.prediction [--data FOLDER] [--out FILE]`: for every data set of a folder, and
the bundled digits, fit on four fifths, predict the rest, and compare with a fit on all samples, clusters
matched on the four fifths. Once with all views of the new samples, once with half of those that the fit
keeps, at random (of an odd number the smaller half). Next to it the agreement of the two fits on the four
fifths, which is the most that can be asked for; how many samples of the fit keep their label when they come
again as new ones, also without the rule that a sample takes the label of one that is exactly the same; and
the time to predict a sample, in units of that to fit one. Shares are in percent, means over random splits.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import confusion_matrix

from consilience import DistanceGraphFusion, SimilarityGraphFusion, Views, load_digits_views
from consilience.engines.numba import NumbaEngine

from .data import Facts, add_common_options, chosen_sets, load
from .results import Cells, key, resume
from .tables import Kept, number, rows_by_part, table

METHODS: dict[str, Any] = {"dgf": DistanceGraphFusion, "sgf": SimilarityGraphFusion}
SHARES = ("new samples", "half of their views", "two fits", "same samples", "by vote")
TIME = "time"
DIGITS = "bundled digits"  # seen by everybody, so of no part


class VotesOnly(NumbaEngine):
    """Lets new samples that are exactly the same as some of the fit go by the vote, too."""

    def coinciding(self, edges: Any, parts: Any, n_views: int) -> NDArray[np.bool_]:
        """Mark no edge."""
        return np.zeros(self.n_edges(edges), dtype=bool)


@dataclass(frozen=True)
class Piece:
    """One data set; None: the bundled digits."""

    data: Facts | None
    method: str
    n_seeds: int

    @property
    def key(self) -> str:
        """Return the name of its result."""
        return key("prediction", self, self.method, self.n_seeds)

    def __str__(self) -> str:
        return DIGITS if self.data is None else self.data.name

    def read(self) -> tuple[Views, int]:
        """Return the views and the number of clusters; the rows of both are in random order."""
        if self.data is None:
            views = Views(load_digits_views(return_X_y=True)[0])
            return views[np.random.default_rng(0).permutation(len(views))], 10
        data = load(self.data.path)
        return Views(list(data.views)), data.n_clusters


def do(piece: Piece) -> Cells:
    """Return the figures of one data set, one for each split."""
    views, n_clusters = piece.read()
    model = METHODS[piece.method](n_clusters=n_clusters, random_state=0, n_jobs=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        whole = model.fit(views).labels_
        splits = [split(views, whole, model, seed) for seed in range(piece.n_seeds)]
    header = {"set": DIGITS, "part": ""} if piece.data is None else piece.data.header
    figures = {name: [one[i] for one in splits] for i, name in enumerate((*SHARES, TIME))}
    return {piece.key: {**header, "method": piece.method, **figures}}


def split(views: Views, whole: NDArray[Any], model: Any, seed: int) -> list[float]:
    """Return the figures of one split; the time of predicting is in units of the fit's, per sample."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(views))
    new, old = np.sort(order[: len(views) // 5]), np.sort(order[len(views) // 5 :])
    start = time.perf_counter()
    fitted = model.fit(views[old])
    middle = time.perf_counter()
    found = fitted.predict(views[new])
    end = time.perf_counter()
    match = matching(fitted.labels_, whole[old])
    again = fitted.predict(views[old])
    shares = [
        match[found] == whole[new],
        match[fitted.predict(halved(views[new], fitted.views_.kept, rng))] == whole[new],
        match[fitted.labels_] == whole[old],
        again == fitted.labels_,
        by_vote(fitted, views[old]) == fitted.labels_,
    ]
    return [
        *(100 * float(np.mean(one)) for one in shares),
        (end - middle) / len(new) * len(old) / (middle - start),
    ]


def halved(views: Views, kept: NDArray[np.bool_], rng: np.random.Generator) -> Views:
    """Hide half of the views that a fit keeps of each sample, at random, and all others."""
    ranks = np.where(kept, rng.random((len(views), views.n_views)), 1.0).argsort(axis=1).argsort(axis=1)
    return Views(views, mask=ranks < max(int(kept.sum()) // 2, 1))


def matching(labels: NDArray[Any], other: NDArray[Any]) -> NDArray[Any]:
    """Return, for each cluster of one fit, the cluster of the other that it is matched with."""
    c = int(max(labels.max(), other.max())) + 1
    counts = confusion_matrix(labels, other, labels=np.arange(c))
    return np.asarray(linear_sum_assignment(-counts)[1])


def by_vote(fitted: Any, views: Views) -> NDArray[Any]:
    """Predict without the rule for samples that are exactly the same."""
    return np.asarray(copy(fitted).set_params(engine=VotesOnly()).predict(views))


def report(cells: Cells) -> str:
    """Return a table for each method."""
    parts = []
    for method in METHODS:
        chosen = [cell for cell in cells.values() if cell["method"] == method]
        digits = [cell for cell in chosen if cell["set"] == DIGITS]
        rows = [_row(cell) for cell in digits] + rows_by_part(chosen, _row, _means)
        if rows:
            header = ["data", *SHARES, TIME]
            parts += [f"## {METHODS[method].__name__}: percent, and the time", table(header, rows)]
    return "\n\n".join(parts) or "Nothing has been measured."


def _row(cell: Kept) -> list[str]:
    return [cell["set"], *_means([cell])]


def _means(cells: Sequence[Kept]) -> list[str]:
    columns = [[float(np.mean(cell[name])) for cell in cells] for name in (*SHARES, TIME)]
    return [number(float(np.mean(one)), 2 if i == len(SHARES) else 1) for i, one in enumerate(columns)]


def main(given: list[str] | None = None) -> None:
    """Do what is missing, and print the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality.prediction", description=__doc__)
    add_common_options(parser)
    parser.add_argument("--seeds", type=int, default=3, help="random splits (default: 3)")
    parser.add_argument("--method", choices=list(METHODS), default="dgf")
    arguments = parser.parse_args(given)

    def pieces() -> list[Piece]:
        sets = [None, *chosen_sets(arguments)]
        return [Piece(data, arguments.method, arguments.seeds) for data in sets]

    print(report(resume(arguments, pieces, do).cells))


if __name__ == "__main__":
    main()
