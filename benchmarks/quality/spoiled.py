"""How well misplaced rows are found, and how many flags are false: `python -m benchmarks.quality.spoiled`.

Planted data, the bundled digits, and every data set of CONSILIENCE_DATA (or --data) with three views or more.
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from benchmarks.quality.data import find_sets, load
from consilience import DistanceGraphFusion, load_digits_views, make_multiview
from consilience.inspection import sample_conflicts

Case = tuple[list[Any], Any, int]  # views, which rows are misplaced (n, v), number of clusters


def main() -> None:
    """Print a row per condition."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="folder of .mat and .npz files; otherwise CONSILIENCE_DATA")
    parser.add_argument("--sets", default="", help="some of the data sets, with commas between")
    parser.add_argument("--seeds", type=int, default=20, help="of planted data (default: 20)")
    options = parser.parse_args()
    print("| condition | AUC | false flags | found | estimated share |\n|---|---|---|---|---|")
    for name, cases in planted(options.seeds).items():
        show(name, cases)
    views, _ = load_digits_views(return_X_y=True)
    on_set("bundled digits", list(views.values()), 10)
    folder = options.data or os.environ.get("CONSILIENCE_DATA")
    if folder:
        for name, path in find_sets(Path(folder), options.sets).items():
            data = load(path)
            if len(data.views) >= 3:
                on_set(name, list(data.views), data.n_clusters)


def planted(n_seeds: int) -> dict[str, Iterator[Case]]:
    """Return planted data: clusters that views share and nothing else, rows drawn from other clusters."""

    def draw(n: int = 1000, n_views: int = 4, n_clusters: int = 5, **options: Any) -> Iterator[Case]:
        for seed in range(1000, 1000 + n_seeds):
            data = make_multiview(n, n_views=n_views, n_clusters=n_clusters, random_state=seed, **options)
            yield list(data.views.values()), data.scrambled, n_clusters

    one = [0.3, 0.0, 0.0, 0.0]
    usual = {
        f"planted, separation {separation}, {where}": draw(separation=separation, scrambled=scrambled)
        for separation in (3.8, 4.0, 4.2)
        for where, scrambled in (
            ("10 % in each view", 0.1),
            ("30 % in each view", 0.3),
            ("30 % in one view", one),
        )
    }
    # Other numbers of views and clusters, clusters of unequal sizes, views that hardly see them.
    other = {
        "8 views, 8 clusters": draw(2000, 8, 8, separation=4.0, scrambled=0.1),
        "8 views, 2 clusters": draw(2000, 8, 2, separation=4.0, scrambled=0.1),
        "3 views, 8 clusters": draw(2000, 3, 8, separation=5.0, scrambled=0.1),
        "3 views, 2 clusters": draw(1000, 3, 2, separation=4.0, scrambled=0.1),
        "clusters of sizes 8:4:2:1:1": draw(separation=4.2, scrambled=0.1, weights=[8, 4, 2, 1, 1]),
        "300 samples": draw(300, separation=4.2, scrambled=0.1),
        "separations 6, 6, 2, 2": draw(separation=[6, 6, 2, 2], scrambled=0.1),
        "separations 2, 4, 6, 8, 30 % in the first": draw(separation=[2, 4, 6, 8], scrambled=one),
    }
    return usual | {f"planted, {name}": cases for name, cases in other.items()}


def on_set(name: str, views: list[Any], n_clusters: int) -> None:
    """Print the rows of one data set: nothing shuffled, 30 % of each view in turn, 10 and 30 % of all."""
    v = len(views)
    show(f"{name}, nothing shuffled", [spoil(views, 0.0, [], n_clusters)])
    show(f"{name}, 30 % in one view", [spoil(views, 0.3, [i], n_clusters) for i in range(v)])
    for share in (0.1, 0.3):
        show(f"{name}, {share:.0%} in each view", [spoil(views, share, range(v), n_clusters)])


def spoil(views: list[Any], share: float, which: Any, n_clusters: int) -> Case:
    """Put some rows of some views in each other's place."""
    n = views[0].shape[0]
    rng, truth, spoiled = np.random.default_rng(77), np.zeros((n, len(views)), dtype=bool), list(views)
    for i in which:
        moved = rng.choice(n, round(share * n), replace=False)
        order = np.arange(n)
        order[moved] = np.roll(moved, 1)
        spoiled[i] = views[i][order]
        truth[moved, i] = True
    return spoiled, truth, n_clusters


def show(name: str, cases: Any) -> None:
    """Print a row: means over the cases."""
    areas, flags, false, found, real, shares = [], 0, 0, 0, 0, []
    for views, truth, n_clusters in cases:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = DistanceGraphFusion(n_clusters=n_clusters, random_state=0, n_jobs=1).fit(views)
        conflicts = sample_conflicts(model)
        if truth.any():
            areas.append(roc_auc_score(truth.ravel(), np.nan_to_num(conflicts.scores).ravel()))
            spoiled = truth.any(axis=0)
            shares.append(np.nanmean(conflicts.misplaced_shares[spoiled]))
        flags += int(conflicts.flagged.sum())
        false += int((conflicts.flagged & ~truth).sum())
        found += int((conflicts.flagged & truth).sum())
        real += int(truth.sum())
    cells = [
        f"{np.mean(areas):.3f}" if areas else "",
        f"{false} of {flags} ({false / flags:.1%})" if flags else "none",
        f"{found / real:.0%}" if real else "",
        f"{np.mean(shares):.2f}" if shares else "",
    ]
    print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
