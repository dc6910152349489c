"""Rows in another order: whether anything changes, and how far scores would move, next to other seeds.

`python -m benchmarks.quality.row_permutation [--data FOLDER] [--out FILE]`: for every data set, SGF, DGF and
the average with default arguments, given the number of classes, are fitted to the samples in the order of the
file and in five random orders, with the same `random_state`. Samples have no ids. By default
(`row_order="content"`) a fit is made in an order that follows from the content of the rows, and nothing may
change, but for samples that are the same in all views (`permuted_fits`). With `row_order="given"` the order
of the rows decides which of equally near neighbours are named.

*Scores.* The standard deviation of NMI over the random orders (one seed), by both, next to that over five
seeds (one order), paired over data sets. And by `row_order="given"` the score in the file's order less the
mean over random ones: what a file that is sorted by class gives away.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from consilience import DistanceGraphFusion, SimilarityGraphFusion
from consilience.comparison import ScoreTable
from consilience.comparison.statistics import mean_difference, win_tie_loss
from consilience.metrics import nmi
from consilience.models import AverageGraph

from .data import Facts, add_common_options, chosen_sets, family_of, load
from .permuted_fits import Fit, Order, difference, fit_in_order, n_copies, tied_samples
from .results import Cells, key, resume
from .tables import Kept, bold, by_part, number, rows_by_part, table

SYSTEMS: dict[str, Any] = {
    "DGF": DistanceGraphFusion,
    "SGF": SimilarityGraphFusion,
    "Average": AverageGraph,
}
SEED = 0  # of all fits but those that compare seeds
NEGLIGIBLE = 0.1  # points of NMI
MARGIN = 0.05  # points of NMI: standard deviations that differ by no more are the same
PAIRS = {
    "Standard deviation over orders, against that over seeds": ("orders", "seeds"),
    "The same, row_order='given'": ("given orders", "seeds"),
    "NMI in the order of the file, against the mean over random orders, row_order='given'": (
        "given file",
        "given orders' mean",
    ),
}


@dataclass(frozen=True)
class Piece:
    """One system on one data set."""

    data: Facts
    system: str
    n_orders: int

    @property
    def key(self) -> str:
        """Return the name of its result."""
        return key("row permutation", self.data.name, self.system, self.n_orders)

    def __str__(self) -> str:
        return f"{self.data.name}, {self.system}"


def measure(piece: Piece) -> Cells:
    """Return scores in all orders and with all seeds, and how far fits differ from the first."""
    data = load(piece.data.path, shuffle=False)
    arrays, n = data.views, data.n_samples
    orders = [np.random.default_rng(i).permutation(n) for i in range(piece.n_orders)]

    def fit(order: Order, seed: int = SEED, row_order: str = "content") -> Fit:
        kind = SYSTEMS[piece.system]
        chosen = {"n_clusters": data.n_clusters, "random_state": seed, "row_order": row_order, "n_jobs": 1}
        return fit_in_order(kind(**chosen), arrays, order)

    def score(fit: Fit) -> float:
        return 100 * float(nmi(data.truth, fit.labels))

    cell: dict[str, Any] = {**piece.data.header, "system": piece.system, "copies": n_copies(arrays)}
    for row_order, prefix in (("content", ""), ("given", "given ")):
        first = fit(np.arange(n), row_order=row_order)
        others = [fit(order, row_order=row_order) for order in orders]
        apart = [difference(first, other) for other in others]
        cell[f"{prefix}file"], cell[f"{prefix}orders"] = score(first), [score(other) for other in others]
        for name in ("labels", "edges", "weight"):
            cell[f"{prefix}{name}"] = [getattr(one, name) for one in apart]
    cell |= {"tied": float(tied_samples(first, arrays).mean()), "n_edges": first.graph.nnz // 2}
    cell["seeds"] = [cell["orders"][0], *(score(fit(orders[0], seed)) for seed in range(1, piece.n_orders))]
    return {piece.key: cell}


def report(cells: Cells) -> str:
    """Return all tables."""
    by_system = {system: [cell for cell in cells.values() if cell["system"] == system] for system in SYSTEMS}
    by_system = {system: found for system, found in by_system.items() if found}
    if not by_system:
        return "Nothing has been measured."
    parts = ["## What is claimed", claims_table(by_system)]
    for title, (one, other) in PAIRS.items():
        parts += [f"## {title}: points of NMI, paired over data sets", pair_table(by_system, one, other)]
    for system, found in by_system.items():
        parts += [f"## {system}: graphs", graph_table(found), f"## {system}: NMI", score_table(found)]
    return "\n\n".join(parts)


def claims_table(by_system: dict[str, list[Kept]]) -> str:
    """Say for each system whether what is claimed was found."""
    rows = [[title, *(find(found) for found in by_system.values())] for title, find in CLAIMS.items()]
    return table(["claim", *by_system], rows)


def _none(name: str) -> Callable[[Sequence[Kept]], str]:
    def find(cells: Sequence[Kept]) -> str:
        chosen = [cell for cell in cells if not cell["copies"]]
        count = sum(sum(cell[name]) for cell in chosen)
        return f"{'FAIL' if count else 'pass'}: {count}, {len(chosen)} sets"

    return find


def _no_more(name: str, ties: bool | None) -> Callable[[Sequence[Kept]], str]:
    def find(cells: Sequence[Kept]) -> str:
        chosen = [cell for cell in cells if ties is None or (cell["tied"] > 0) == ties]
        found = mean_difference(paired(chosen, name, "seeds"), name, "seeds")
        if found.difference is None or found.low is None or found.high is None:
            return "too few sets"
        # No interval is narrow enough to show that there is nothing; a tenth of a point is next to nothing.
        verdict = "FAIL" if found.low > 0 else "pass" if found.high <= NEGLIGIBLE else "open"
        return (
            f"{verdict}: {found.difference:+.2f} ({found.low:+.2f} to {found.high:+.2f}), {found.n_sets} sets"
        )

    return find


CLAIMS: dict[str, Callable[[Sequence[Kept]], str]] = {
    "without copies, no label differs: labels that do": _none("labels"),
    "without copies, no edge differs: edges that do": _none("edges"),
    "scores move no more than with another seed": _no_more("orders", None),
    "scores move no more than with another seed, row_order='given', on sets without ties": _no_more(
        "given orders", False
    ),
    "scores move no more than with another seed, row_order='given', on sets with ties": _no_more(
        "given orders", True
    ),
}


def _figure(cell: Kept, name: str) -> float:
    if name.endswith("file"):
        return float(cell[name])
    if name.endswith("' mean"):
        return float(np.mean(cell[name.removesuffix("' mean")]))
    return float(np.std(cell[name], ddof=1))


def paired(cells: Sequence[Kept], one: str, other: str) -> ScoreTable:
    """Return two figures of each data set side by side."""
    values = np.array([[[_figure(cell, name)] for name in (one, other)] for cell in cells])
    names = [cell["set"] for cell in cells]
    return ScoreTable((one, other), tuple(names), tuple(map(family_of, names)), values.reshape(-1, 2, 1))


def pair_table(by_system: dict[str, list[Kept]], one: str, other: str) -> str:
    """Return for each system and group of sets: both means, and their difference with its interval."""
    rows = []
    for system, found in by_system.items():
        groups = {"all": found, **by_part(found)}
        groups["without ties"] = [cell for cell in found if not cell["tied"]]
        groups["with ties"] = [cell for cell in found if cell["tied"]]
        for group, chosen in groups.items():
            if not chosen:
                continue
            scores = paired(chosen, one, other)
            apart, counts = mean_difference(scores, one, other), win_tie_loss(scores, other, MARGIN)[0]
            means = scores.by_family().means.mean(axis=0)
            figures = [number(value, 2, sign=True) for value in (apart.difference, apart.low, apart.high)]
            line = [system, group, str(len(chosen)), *(f"{value:.2f}" for value in means), *figures]
            row = [*line, f"{counts.wins} / {counts.ties} / {counts.losses}"]
            rows.append(bold(row) if group == "all" else row)
    header = ["system", "sets", "number", one, other, "difference", "95 % from", "to", "more / same / less"]
    return table(header, rows)


def graph_table(cells: Sequence[Kept]) -> str:
    """Return a row for each data set: how far fits in random orders differ from that in the file's."""

    def row(cell: Kept) -> list[str]:
        return [cell["set"], *figures([cell])]

    def figures(chosen: Sequence[Kept]) -> list[str]:
        def average(values: Callable[[Kept], float]) -> str:
            return f"{100 * float(np.mean([values(cell) for cell in chosen])):.3f}"

        return [
            average(lambda cell: cell["tied"]),
            str(sum(cell["copies"] for cell in chosen)),
            str(sum(sum(cell["labels"]) for cell in chosen)),
            str(sum(sum(cell["edges"]) for cell in chosen)),
            f"{max(max(cell['weight']) for cell in chosen):.0e}",
            average(lambda cell: np.mean(cell["given edges"]) / cell["n_edges"]),
            average(lambda cell: np.mean(cell["given weight"])),
        ]

    header = ["set", "tied samples %", "copies", "labels differ", "edges differ", "weight differs at most"]
    header += ["row_order='given': edges differ %", "weight differs %"]
    return table(header, rows_by_part(cells, row, figures))


def score_table(cells: Sequence[Kept]) -> str:
    """Return a row for each data set: scores in the file's order and others, and standard deviations."""
    names = ("file", "orders", "seeds", "given file", "given orders' mean", "given orders")

    def figures(chosen: Sequence[Kept]) -> list[str]:
        return [f"{np.mean([_figure(cell, name) for cell in chosen]):.2f}" for name in names]

    def row(cell: Kept) -> list[str]:
        return [cell["set"], f"{100 * cell['tied']:.1f}", *figures([cell])]

    header = [
        "set",
        "tied samples %",
        "NMI",
        "sd over orders",
        "sd over seeds",
        "row_order='given': file's order",
    ]
    header += ["mean of orders", "sd over orders"]
    return table(header, rows_by_part(cells, row, lambda chosen: ["", *figures(chosen)]))


def main(given: list[str] | None = None) -> None:
    """Do what is missing, and print the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality.row_permutation", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    add_common_options(parser)
    parser.add_argument("--orders", type=int, default=5, help="random orders, and seeds (default: 5)")
    arguments = parser.parse_args(given)

    def pieces() -> list[Piece]:
        sets = chosen_sets(arguments)
        return [Piece(data, system, arguments.orders) for data in sets for system in SYSTEMS]

    print(report(resume(arguments, pieces, measure).cells))


if __name__ == "__main__":
    main()
