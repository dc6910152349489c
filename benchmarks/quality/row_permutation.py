"""Rows in another order: what changes in the unified graph, and how far scores move, next to other seeds.

`python -m benchmarks.quality.row_permutation [--data FOLDER] [--out FILE]`: for every data set, SGF, DGF and
the average with default arguments, given the number of classes, are fitted to the samples in the order of the
file and in five random orders, with the same `random_state`. Samples have no ids: where they have, a fit is
made in the order of the ids, and rows may come in any order.

*Graphs.* The unified graphs are compared after undoing the permutation. See `permuted_fits` for what a tied
sample is, and for the fits in which ties are settled alike in all orders: these must have no other edge.

*Scores.* The standard deviation of NMI over the random orders (one seed), next to that over five seeds (one
order, the first random one), paired over data sets; also with ties settled alike. And the score in the
file's order less the mean over random ones: what a file that is sorted by class gives away.
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
from .permuted_fits import RecordingEngine, SettledEngine, Ties, difference, fit_in_order
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
    "The same, ties settled alike in all orders": ("settled", "seeds"),
    "NMI in the order of the file, against the mean over random orders": ("file", "orders' mean"),
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
    """Return scores in all orders and with all seeds, and how far the graphs differ from the first one."""
    data = load(piece.data.path, shuffle=False)
    arrays, n = data.views, data.n_samples
    orders = [np.random.default_rng(i).permutation(n) for i in range(piece.n_orders)]

    def model(engine: Any, seed: int = SEED) -> Any:
        kind = SYSTEMS[piece.system]
        return kind(n_clusters=data.n_clusters, random_state=seed, engine=engine, n_jobs=1)

    def score(fit: Any) -> float:
        return 100 * float(nmi(data.truth, fit.labels))

    recording = RecordingEngine()
    first = fit_in_order(model(recording), arrays, np.arange(n))
    ties = Ties.of(first, arrays)
    cell: dict[str, Any] = {**piece.data.header, "system": piece.system, "edges": first.graph.nnz // 2}
    cell |= {"tied": float(ties.tied.mean()), "file": score(first), "orders": [], "settled": []}
    cell |= {
        name: [] for name in ("differ", "elsewhere", "weight", "untied", "settled differ", "settled weight")
    }
    for order in orders:
        fit = fit_in_order(model(RecordingEngine()), arrays, order)
        apart = difference(first.graph, fit.graph, ties.tied)
        settled = fit_in_order(model(SettledEngine(recording, order)), arrays, order)
        rest = difference(first.graph, settled.graph, ties.tied)
        for name, value in (
            ("orders", score(fit)),
            ("settled", score(settled)),
            ("differ", apart.edges),
            ("elsewhere", apart.edges - apart.at_ties),
            ("weight", apart.weight),
            ("untied", ties.untied(fit)),
            ("settled differ", rest.edges),
            ("settled weight", rest.weight),
        ):
            cell[name].append(value)
    seeds = [fit_in_order(model("numba", seed), arrays, orders[0]) for seed in range(1, piece.n_orders)]
    cell["seeds"] = [cell["orders"][0], *map(score, seeds)]
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
        count = sum(sum(cell[name]) for cell in cells)
        return f"{'FAIL' if count else 'pass'}: {count}"

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
    "neighbours that an order names and another does not are equally near: others": _none("untied"),
    "ties settled alike, no edge differs: edges that do": _none("settled differ"),
    "scores move no more than with another seed": _no_more("orders", None),
    "scores move no more than with another seed, on sets without ties": _no_more("orders", False),
    "scores move no more than with another seed, on sets with ties": _no_more("orders", True),
    "scores move no more than with another seed, ties settled alike": _no_more("settled", None),
}


def _figure(cell: Kept, name: str) -> float:
    if name == "file":
        return float(cell["file"])
    if name == "orders' mean":
        return float(np.mean(cell["orders"]))
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
    """Return a row for each data set: how far graphs in random orders differ from that in the file's."""

    def row(cell: Kept) -> list[str]:
        return [cell["set"], *figures([cell])]

    def figures(chosen: Sequence[Kept]) -> list[str]:
        def average(values: Callable[[Kept], float]) -> float:
            return float(np.mean([values(cell) for cell in chosen]))

        return [
            f"{100 * average(lambda cell: cell['tied']):.1f}",
            f"{average(lambda cell: cell['edges']):.0f}",
            f"{100 * average(lambda cell: np.mean(cell['differ']) / cell['edges']):.3f}",
            f"{100 * average(lambda cell: np.mean(cell['elsewhere']) / cell['edges']):.3f}",
            f"{100 * average(lambda cell: np.mean(cell['weight'])):.3f}",
            str(sum(sum(cell["untied"]) for cell in chosen)),
            str(sum(sum(cell["settled differ"]) for cell in chosen)),
            f"{max(max(cell['settled weight']) for cell in chosen):.0e}",
        ]

    header = ["set", "tied samples %", "edges", "edges differ %", "elsewhere than at a tied sample %"]
    header += ["weight differs %", "neighbours without a tie", "ties settled alike: edges", "weight at most"]
    return table(header, rows_by_part(cells, row, figures))


def score_table(cells: Sequence[Kept]) -> str:
    """Return a row for each data set: scores in the file's order and others, and standard deviations."""
    names = ("file", "orders' mean", "orders", "settled", "seeds")

    def figures(chosen: Sequence[Kept]) -> list[str]:
        return [f"{np.mean([_figure(cell, name) for cell in chosen]):.2f}" for name in names]

    def row(cell: Kept) -> list[str]:
        return [cell["set"], f"{100 * cell['tied']:.1f}", *figures([cell])]

    header = ["set", "tied samples %", "file's order", "mean of orders", "sd over orders"]
    header += ["sd over orders, ties settled alike", "sd over seeds"]
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
