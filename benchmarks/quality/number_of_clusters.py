"""Whether `n_clusters="auto"` finds the number of clusters: on made data, and next to classes of real sets.

`python -m benchmarks.quality.number_of_clusters [--made] [--data FOLDER] [--out FILE]`: on every data set of
a folder, or on made ones (`--made`) of known number, over 50 seeds. The constants of the rule were chosen on
made data of other seeds (5000 and up); those reported here begin at 0. All systems get the same preparation.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from consilience import DistanceGraphFusion, make_multiview
from consilience.models import SNF, AverageGraph

from .data import Facts, add_common_options, chosen_sets, load
from .results import Cells, key, resume
from .tables import Kept, rows_by_part, table

SYSTEMS: dict[str, Any] = {"DGF": DistanceGraphFusion, "SNF": SNF, "Average": AverageGraph}
PREPARATION = {"scale": "auto", "view_selection": "agreement"}
WAYS = ("chosen", "eigengap", "stability")
SEEDS_PER_PIECE = 10
UNEQUAL = {3: [6, 3, 1], 5: [5, 4, 3, 2, 1], 8: [8, 7, 6, 5, 4, 3, 2, 1]}
# What differs from make_multiview's defaults: 500 samples, 4 views, 5 clusters, separation 3.
MADE: dict[str, dict[str, Any]] = {
    "defaults": {},
    "3 clusters, 300 samples": {"n_clusters": 3, "n_samples": 300},
    "8 clusters, 300 samples": {"n_clusters": 8, "n_samples": 300},
    "8 clusters, 1000 samples": {"n_clusters": 8, "n_samples": 1000},
    "2 clusters": {"n_clusters": 2},
    "15 clusters, 1000 samples, separation 4": {"n_clusters": 15, "n_samples": 1000, "separation": 4.0},
    "separation 4": {"separation": 4.0},
    "separation 2.5": {"separation": 2.5},
    "separation 2": {"separation": 2.0},
    "unequal (6:3:1), 3 clusters": {"n_clusters": 3, "weights": UNEQUAL[3]},
    "unequal (5:4:3:2:1)": {"weights": UNEQUAL[5]},
    "unequal (8:7:...:1), 8 clusters, 1000 samples": {
        "n_clusters": 8,
        "n_samples": 1000,
        "weights": UNEQUAL[8],
    },
    "unequal (8:7:...:1), 8 clusters, 500 samples": {"n_clusters": 8, "weights": UNEQUAL[8]},
    "one noise view": {"noise_views": 1},
    "2 views": {"n_views": 2},
    "10 % scrambled": {"scrambled": 0.1},
    "no clusters": {"n_clusters": 1},
    "no clusters, 2 features a view, 1000 samples": {"n_clusters": 1, "n_features": 2, "n_samples": 1000},
    "defaults, AverageGraph": {"system": "Average"},
    "defaults, SNF, 300 samples": {"system": "SNF", "n_samples": 300},
}


@dataclass(frozen=True)
class Piece:
    """One data set, read from a file, or made with some seeds."""

    name: str
    data: Facts | None = None
    made: Mapping[str, Any] = field(default_factory=dict)
    first: int = 0
    n_seeds: int = 1

    @property
    def key(self) -> str:
        """Return the name of its result."""
        return key("number of clusters", self.name, self.first, self.n_seeds)

    def __str__(self) -> str:
        return self.name if self.data is not None else f"{self.name}, from seed {self.first}"

    def read(self) -> Iterator[tuple[Any, int, int]]:
        """Return views, the true number of clusters and the seed, for each seed."""
        if self.data is not None:
            data = load(self.data.path)
            yield list(data.views), data.n_clusters, 0
            return
        for seed in range(self.first, self.first + self.n_seeds):
            settings = {name: value for name, value in self.made.items() if name != "system"}
            sample = make_multiview(**settings, random_state=seed)
            yield sample.views, int(sample.y.max()) + 1, seed


def made_pieces(n_seeds: int) -> list[Piece]:
    """Return made data, some seeds at a time."""
    return [
        Piece(name, made=made, first=first, n_seeds=min(SEEDS_PER_PIECE, n_seeds - first))
        for first in range(0, n_seeds, SEEDS_PER_PIECE)
        for name, made in MADE.items()
    ]


def do(piece: Piece) -> Cells:
    """Return what is chosen, and what eigengaps or stability alone would have chosen."""
    system = SYSTEMS[piece.made.get("system", "DGF")]
    header = {"set": piece.name, "part": ""} if piece.data is None else piece.data.header
    cell: dict[str, Any] = {**header, **{name: [] for name in (*WAYS, "score", "seconds")}}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for views, truth, seed in piece.read():
            began = time.perf_counter()
            model = system(n_clusters="auto", random_state=seed, n_jobs=1, **PREPARATION).fit(views)
            found = model.cluster_selection_
            cell["truth"], cell["n"] = truth, len(model.labels_)
            cell["chosen"].append(found.chosen)
            cell["eigengap"].append(found.by_eigengap)
            cell["stability"].append(found.by_stability)
            cell["score"].append(float(found.scores.max(initial=0.0)))
            cell["seconds"].append(time.perf_counter() - began)
    return {piece.key: cell}


def made_table(cells: Sequence[Mapping[str, Any]]) -> str:
    """Return one row per setting: how often the number is right, or almost, and by each part of the rule."""
    rows = []
    for name in dict.fromkeys(cell["set"] for cell in cells):
        of_it = [cell for cell in cells if cell["set"] == name]
        truth = of_it[0]["truth"]
        found = {by: np.array([x for cell in of_it for x in cell[by]]) for by in WAYS}
        near = {by: np.abs(values - truth) <= 1 for by, values in found.items()}
        wrong = np.unique(found["chosen"][~near["chosen"]], return_counts=True)
        others = ", ".join(f"{c} ({n})" for c, n in zip(*wrong, strict=True))
        exact = np.mean(found["chosen"] == truth)
        shares = [np.mean(near["chosen"]), exact, np.mean(near["eigengap"]), np.mean(near["stability"])]
        cells_of_row = [f"{100 * share:.0f} %" for share in shares]
        rows.append([name, str(len(found["chosen"])), str(truth), *cells_of_row, others])
    header = ["data", "seeds", "true", "within ±1", "exact", "eigengap alone ±1", "stability alone ±1"]
    return table([*header, "else (how often)"], rows)


def set_table(cells: Sequence[Kept]) -> str:
    """Return one row per real set, and on how many of each part a number is within 1 of the classes."""

    def row(cell: Kept) -> list[str]:
        numbers = [str(cell[by][0]) for by in WAYS]
        return [cell["set"], str(cell["n"]), str(cell["truth"]), *numbers, f"{cell['score'][0]:.2f}"]

    header = ["set", "samples", "classes", "chosen", "eigengap alone", "stability alone", "best score"]
    return table(header, rows_by_part(cells, row, _near, "within 1 of the classes, of {n} {part} sets"))


def _near(cells: Sequence[Kept]) -> list[str]:
    counts = [sum(abs(cell[by][0] - cell["truth"]) <= 1 for cell in cells) for by in WAYS]
    return ["", "", *map(str, counts), ""]


def report(cells: Cells) -> str:
    """Return the tables."""
    made, real = ([cell for cell in cells.values() if bool(cell["part"]) == is_real] for is_real in (0, 1))
    parts = [make(chosen) for make, chosen in ((made_table, made), (set_table, real)) if chosen]
    return "\n\n".join(parts) or "Nothing has been measured."


def main(given: list[str] | None = None) -> None:
    """Do what is missing, and print the tables."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.quality.number_of_clusters", description=__doc__
    )
    add_common_options(parser)
    parser.add_argument("--made", action="store_true", help="on made data instead of a folder")
    parser.add_argument("--seeds", type=int, default=50, help="of made data (default: 50)")
    arguments = parser.parse_args(given)

    def pieces() -> list[Piece]:
        if arguments.made:
            return made_pieces(arguments.seeds)
        return [Piece(data.name, data) for data in chosen_sets(arguments)]

    print(report(resume(arguments, pieces, do).cells))


if __name__ == "__main__":
    main()
