"""How well misplaced rows are found, and how many flags are false: `python -m benchmarks.quality.spoiled`.

Planted data, the bundled digits, and every data set of a folder with three views or more: nothing shuffled,
30 % of the rows of each view in turn, 10 and 30 % of the rows of all views.

- *AUC*: of the score of each row of each view, misplaced or not.
- *false flags*: how many of the rows that are flagged (at a false discovery rate of 5 %) are in their place.
- *found*: the share of the misplaced rows that are flagged.
- *estimated share*: of misplaced rows in the views that have any.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from consilience import DistanceGraphFusion, Views, load_digits_views, make_multiview
from consilience.datasets import corrupt
from consilience.datasets.spoiling import shuffle_one
from consilience.inspection import sample_conflicts

from .data import Facts, add_common_options, chosen_sets, load
from .results import Cells, key, resume
from .tables import NONE, Kept, bold, by_part, mean, number, table

Case = tuple[Any, NDArray[np.bool_], int]  # views, which rows are misplaced (n, v), number of clusters
PLANTED, DIGITS = "planted", "bundled digits"
CONDITIONS = ("nothing shuffled", "30 % in one view", "10 % in each view", "30 % in each view")
SEEDS_PER_PIECE = 5
RULE = "Data sets of three views or more: of two that differ, neither can be preferred."
HEADER = ["condition", "AUC", "false flags", "found", "estimated share"]


@dataclass(frozen=True)
class Piece:
    """Some seeds of planted data, or a data set in one condition; without a file the bundled digits."""

    name: str
    condition: str
    data: Facts | None = None
    seeds: tuple[int, ...] = ()

    @property
    def key(self) -> str:
        """Return the name of its result."""
        return key("spoiled", self.name, self.condition, self.seeds)

    def __str__(self) -> str:
        return f"{self.name}, {self.condition}"

    def cases(self) -> Iterator[Case]:
        """Yield spoiled views, each with its truth."""
        if self.name == PLANTED:
            yield from planted()[self.condition](self.seeds)
        elif self.data is None:
            views = Views(load_digits_views(return_X_y=True)[0])
            yield from on_set(views[np.random.default_rng(0).permutation(len(views))], self.condition, 10)
        else:
            data = load(self.data.path)
            yield from on_set(Views(list(data.views)), self.condition, data.n_clusters)


def planted() -> dict[str, Callable[[Sequence[int]], Iterator[Case]]]:
    """Return planted data: clusters that views share and nothing else, rows drawn from other clusters."""

    def draw(n: int = 1000, n_views: int = 4, n_clusters: int = 5, **options: Any) -> Any:
        def cases(seeds: Sequence[int]) -> Iterator[Case]:
            for seed in seeds:
                data = make_multiview(n, n_views=n_views, n_clusters=n_clusters, random_state=seed, **options)
                yield data.views, data.scrambled, n_clusters

        return cases

    one = [0.3, 0.0, 0.0, 0.0]
    usual = {
        f"separation {separation}, {where}": draw(separation=separation, scrambled=scrambled)
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
    return usual | other


def on_set(views: Views, condition: str, n_clusters: int) -> Iterator[Case]:
    """Yield a data set in a condition; with one view shuffled, each in turn."""
    if condition == "30 % in one view":
        for i in range(views.n_views):
            spoiled, rows = shuffle_one(views, i, np.random.default_rng([77, i]), share=0.3)
            yield spoiled, rows, n_clusters
        return
    named = {"10 % in each view": "shuffle-all-10", "30 % in each view": "shuffle-all-30"}
    corrupted = corrupt(views, named.get(condition, "clean"), random_state=0)
    yield corrupted.views, corrupted.rows, n_clusters


def do(piece: Piece) -> Cells:
    """Return what was found in each case of a piece."""
    cell: dict[str, Any] = {"set": piece.name, "part": "", "condition": piece.condition}
    cell |= {} if piece.data is None else piece.data.header
    cell |= {name: [] for name in ("auc", "share", "flags", "false", "found", "real")}
    for views, truth, n_clusters in piece.cases():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = DistanceGraphFusion(n_clusters=n_clusters, random_state=0, n_jobs=1).fit(views)
        conflicts = sample_conflicts(model)
        flagged = conflicts.flagged
        if truth.any():
            cell["auc"].append(float(roc_auc_score(truth.ravel(), np.nan_to_num(conflicts.scores).ravel())))
            shares = conflicts.misplaced_shares[truth.any(axis=0)]
            known = shares[~np.isnan(shares)]  # not of views that are left out as a whole
            cell["share"].append(float(known.mean()) if len(known) else None)
        counts = {"flags": flagged, "false": flagged & ~truth, "found": flagged & truth, "real": truth}
        for name, marked in counts.items():
            cell[name].append(int(marked.sum()))
    return {piece.key: cell}


def figures(cells: Sequence[Kept]) -> list[str]:
    """Return the texts of a row: means over the results, each the mean of its cases; flags are added up."""
    auc, share = (mean(mean(cell[name]) for cell in cells) for name in ("auc", "share"))
    found = mean(sum(cell["found"]) / sum(cell["real"]) for cell in cells if sum(cell["real"]))
    false, flags = (sum(sum(cell[name]) for cell in cells) for name in ("false", "flags"))
    return [
        number(auc, 3),
        f"{false} of {flags} ({false / flags:.1%})" if flags else "none",
        NONE if found is None else f"{found:.0%}",
        number(share, 2),
    ]


def report(cells: Cells) -> str:
    """Return the tables: planted data, then data sets, and after each part a row for each condition."""
    by_name: dict[str, dict[str, list[Kept]]] = {}
    for cell in cells.values():
        by_name.setdefault(cell["set"], {}).setdefault(cell["condition"], []).append(cell)
    parts = []
    if PLANTED in by_name:
        rows: list[Any] = [[name, *figures(chosen)] for name, chosen in by_name[PLANTED].items()]
        parts += ["## Planted data", table(HEADER, rows)]
    rows = [[f"{DIGITS}, {name}", *figures(chosen)] for name, chosen in by_name.get(DIGITS, {}).items()]
    for part, chosen in by_part(cells.values()).items():
        for name in dict.fromkeys(cell["set"] for cell in chosen):
            rows += [[f"{name}, {where}", *figures(found)] for where, found in by_name[name].items()]
        for where in CONDITIONS:
            found = [cell for cell in chosen if cell["condition"] == where]
            if found:
                rows.append(bold([f"{len(found)} {part} sets, {where}", *figures(found)]))
    if rows and set(by_name) - {PLANTED}:
        parts += ["## Data sets", RULE, table(HEADER, rows)]
    return "\n\n".join(parts) or "Nothing has been measured."


def main(given: list[str] | None = None) -> None:
    """Do what is missing, and print the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality.spoiled", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    add_common_options(parser)
    parser.add_argument("--seeds", type=int, default=20, help="of planted data; 0: none (default: 20)")
    arguments = parser.parse_args(given)

    def pieces() -> Iterator[Piece]:
        sets = [data for data in chosen_sets(arguments) if data.n_views >= 3]
        for data in sets:
            yield from (Piece(data.name, where, data) for where in CONDITIONS)
        yield from (Piece(DIGITS, where) for where in CONDITIONS)
        seeds = range(1000, 1000 + arguments.seeds)
        for first in range(0, arguments.seeds, SEEDS_PER_PIECE):
            few = tuple(seeds[first : first + SEEDS_PER_PIECE])
            yield from (Piece(PLANTED, name, seeds=few) for name in planted())

    print(report(resume(arguments, pieces, do).cells))


if __name__ == "__main__":
    main()
