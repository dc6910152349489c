"""Whether new samples get the cluster that a fit on everything would give them.

`python -m benchmarks.quality.prediction`: for every data set of CONSILIENCE_DATA (or --data), and the bundled
digits, fit on four fifths, predict the rest, and compare with a fit on all samples, clusters matched on the
four fifths. Once with all views of the new samples, once with half of them, at random (of an odd number the
smaller half). Next to it the agreement of the two fits on the four fifths, which is the most that can be
asked for; how many samples of the fit keep their label when they come again as new ones, also without the
rule that a sample takes the label of one that is exactly the same; and the time to predict a sample, in
units of that to fit one.
"""

from __future__ import annotations

import argparse
import time
import warnings
from copy import copy
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import confusion_matrix

from benchmarks.quality.data import find_sets, folder_given, load
from consilience import DistanceGraphFusion, SimilarityGraphFusion, Views, load_digits_views
from consilience.engines.numba import NumbaEngine

METHODS = {"dgf": DistanceGraphFusion, "sgf": SimilarityGraphFusion}
HEADER = "| data | new samples | half of their views | two fits | same samples | by vote | time |"


class VotesOnly(NumbaEngine):
    """Lets new samples that are exactly the same as some of the fit go by the vote, too."""

    def coinciding(self, edges: Any, parts: Any, n_views: int) -> NDArray[np.bool_]:
        """Mark no edge."""
        return np.zeros(self.n_edges(edges), dtype=bool)


def main() -> None:
    """Print a row per data set."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="folder of .mat and .npz files; otherwise CONSILIENCE_DATA")
    parser.add_argument("--sets", default="", help="some of the data sets, with commas between")
    parser.add_argument("--seeds", type=int, default=5, help="random splits (default: 5)")
    parser.add_argument("--method", choices=list(METHODS), default="dgf")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"{HEADER}\n|---|---|---|---|---|---|---|")
    method = METHODS[options.method]
    show("bundled digits", Views(load_digits_views(return_X_y=True)[0]), 10, method, options.seeds)
    for name, path in find_sets(folder_given(options.data), options.sets).items():
        data = load(path)
        show(name, Views(list(data.views)), data.n_clusters, method, options.seeds)


def show(name: str, views: Views, n_clusters: int, method: Any, n_seeds: int) -> None:
    """Print the row of one data set: means over the splits."""
    model = method(n_clusters=n_clusters, random_state=0)
    whole = model.fit(views).labels_
    rows = np.array([split(views, whole, model, seed) for seed in range(n_seeds)])
    shares = [f"{100 * share:.1f}" for share in rows[:, :5].mean(axis=0)]
    print(f"| {name} | {' | '.join(shares)} | {rows[:, 5].mean():.2f} |", flush=True)


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
    return [
        np.mean(match[found] == whole[new]),
        np.mean(match[fitted.predict(halved(views[new], rng))] == whole[new]),
        np.mean(match[fitted.labels_] == whole[old]),
        np.mean(again == fitted.labels_),
        np.mean(by_vote(fitted, views[old]) == fitted.labels_),
        (end - middle) / len(new) / ((middle - start) / len(old)),
    ]


def halved(views: Views, rng: np.random.Generator) -> Views:
    """Hide half of the views of each sample, at random."""
    v = views.n_views
    ranks = rng.random((len(views), v)).argsort(axis=1)
    return Views(views, mask=ranks < max(v // 2, 1))


def matching(labels: NDArray[Any], other: NDArray[Any]) -> NDArray[Any]:
    """Return, for each cluster of one fit, the cluster of the other that it is matched with."""
    c = int(max(labels.max(), other.max())) + 1
    table = confusion_matrix(labels, other, labels=np.arange(c))
    return np.asarray(linear_sum_assignment(-table)[1])


def by_vote(fitted: Any, views: Views) -> NDArray[Any]:
    """Predict without the rule for samples that are exactly the same."""
    return np.asarray(copy(fitted).set_params(engine=VotesOnly()).predict(views))


if __name__ == "__main__":
    main()
