"""How the unified graph is shared out among descriptions: `python -m benchmarks.quality.descriptions`.

On every tuning set, SGF of low effort is fitted in each description that is tried (four forms of the
features, three numbers of neighbours), and the graphs are mixed by several rules, from how far the views
confirm each description. A rule is scored by the NMI that it gains over the default description. It is chosen
with one family of sets left out at a time, and scored on that family: what the choice itself is worth.
Validation sets are never opened. The rule of the library is "better half, default 1/2".
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from consilience import Views
from consilience.engines import get_engine
from consilience.fusion import Schedule
from consilience.fusion.edge_fusion import ConsistentFusion
from consilience.metrics import nmi
from consilience.spaces.descriptions import can_be_described
from consilience.stages import KMeansLabels, agree, connect, embed, fuse, prepare, search, sparsify, weigh
from consilience.stages.agree import Weighting
from consilience.stages.describe import DescribedViews, DescriptionTable, candidates, describe, redescribe
from consilience.stages.prepare import metrics_of_views
from consilience.stages.search import auto_neighbors

from .data import TUNING, Facts, add_common_options, chosen_sets, family_of, load
from .held_out import leave_one_out
from .results import Cells, key, resume
from .tables import number, table

Vector = NDArray[np.float64]
Rule = Callable[[Vector], Vector]
ENGINE = "numba"
SEEDS = 2
OURS, NONE = "better half, default 1/2", "default only"


def _best(part: float, default: float = 0.5) -> Rule:
    """Return the rule that the default has a share, and the best part of all share the rest alike."""

    def shares(confirmation: Vector) -> Vector:
        found, n_best = np.zeros(len(confirmation)), max(1, round(part * len(confirmation)))
        found[np.argsort(-confirmation, kind="stable")[:n_best]] = (1 - default) / n_best
        found[0] += default
        return found

    return shares


def _power(power: float, default: float = 0.5) -> Rule:
    """Return the rule that all share the rest by a power of their confirmation."""

    def shares(confirmation: Vector) -> Vector:
        weights = np.maximum(confirmation, 1e-3) ** power
        found = (1 - default) * weights / weights.sum()
        found[0] += default
        return found

    return shares


RULES: dict[str, Rule] = {
    NONE: _best(0, 1.0),
    "best alone": _best(0, 0.0),
    "best, default 1/2": _best(0),
    "best fourth, default 1/2": _best(1 / 4),
    "best third, default 1/2": _best(1 / 3),
    OURS: _best(1 / 2),
    "best two thirds, default 1/2": _best(2 / 3),
    "all alike, default 1/2": _best(1),
    "better half, default 1/3": _best(1 / 2, 1 / 3),
    "better half, default 2/3": _best(1 / 2, 2 / 3),
    "better half, default as any": _best(1 / 2, 0.0),
    "all by power 4, default 1/2": _power(4.0),
    "all by power 8, default 1/2": _power(8.0),
}


@dataclass(frozen=True)
class Piece:
    """One data set."""

    data: Facts

    @property
    def key(self) -> str:
        """Return the name of its result."""
        return key("descriptions", self.data.name)

    def __str__(self) -> str:
        return self.data.name


def do(piece: Piece) -> Cells:
    """Return the NMI that every rule gains over the default description."""
    data = load(piece.data.path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        confirmation, graphs = described_graphs(Views(list(data.views)), data.n_clusters)
        scores = {name: score(rule(confirmation), graphs, data) for name, rule in RULES.items()}
    gains = {name: found - scores[NONE] for name, found in scores.items()}
    return {piece.key: {**piece.data.header, "confirmation": confirmation.tolist(), "gains": gains}}


def described_graphs(views: Views, n_clusters: int) -> tuple[Vector, list[sparse.csr_array]]:
    """Return how far each description is confirmed, and its unified graph, scaled by its degrees."""
    engine, k = get_engine(ENGINE), auto_neighbors(views.n_samples, n_clusters)
    fusion = ConsistentFusion("similarity", 1.0, 100.0, Schedule())
    spaces = prepare(views, metrics_of_views("auto", views, "auto", engine), "auto", engine=engine)
    spaces = spaces.cached(engine)
    found = [search(i, spaces, k, "exact", True, engine=engine) for i in range(len(spaces))]
    selection = agree(found, spaces, Weighting(None, rows_by_agreement=True), engine=engine)
    kept = spaces.only(selection.kept)
    edges = connect(found, selection, kept, engine=engine)
    weights = weigh(found, selection, edges, kept, fusion, engine=engine)
    fused = fuse(weights, edges, selection, kept, fusion, True, engine=engine)
    graph = sparsify(fused, edges, kept, k, True, engine=engine)
    numbers = np.flatnonzero(kept.active).tolist()
    can_change = [
        can_be_described(views, i, space.metric, space.rows)
        for i, space in zip(numbers, kept.spaces, strict=True)
    ]
    there = DescribedViews(kept, can_change, engine)
    table_ = describe(there, selection, candidates(there, k, fixed=False), n_clusters, engine=engine)
    only = np.eye(len(table_))
    graphs = [engine.fetch(engine.mix([graph.handle], np.ones(1)))]
    for i in range(1, len(table_)):
        alone = DescriptionTable(table_.name, table_.n_neighbors, table_.confirmation, only[i])
        mixed = redescribe(graph, alone, there, selection, (fusion,), "exact", True, engine=engine).graph
        graphs.append(engine.fetch(mixed.handle))
    return table_.confirmation, graphs


def score(shares: Vector, graphs: list[sparse.csr_array], data: Any) -> float:
    """Return the mean NMI of the clusters of a mean of graphs, in percent."""
    engine, c = get_engine(ENGINE), data.n_clusters
    graph = sum(share * graph for share, graph in zip(shares, graphs, strict=True) if share > 0)
    graph = sparse.csr_array(graph)
    graph.eliminate_zeros()
    start = np.random.RandomState(0)
    embedding = embed(engine.adopt(graph), c, start, engine=engine, warn_disconnected=False)
    found = [
        nmi(data.truth, KMeansLabels(n_init=10).assign(embedding, c, np.random.RandomState(i), engine))
        for i in range(SEEDS)
    ]
    return 100 * float(np.mean(found))


def tables(cells: Cells) -> str:
    """Return what every rule gains, and what is gained by choosing one on other families of sets."""
    gains: dict[str, dict[str, list[float]]] = {}
    for cell in cells.values():
        for name, gain in cell["gains"].items():
            gains.setdefault(name, {}).setdefault(family_of(cell["set"]), []).append(gain)
    by_family = {
        name: {family: float(np.mean(some)) for family, some in families.items()}
        for name, families in gains.items()
    }
    rows = [
        [name, number(float(np.mean(list(found.values()))), 2, sign=True), number(min(found.values()), 1)]
        for name, found in by_family.items()
    ]
    text = table(["rule", "gain, mean over families", "worst family"], rows)
    if len(next(iter(by_family.values()))) > 1:
        honest = leave_one_out(by_family).honest
        text += f"\nChosen on the other families, scored on the one left out: {honest:+.2f}.\n"
    return text


def main(given: list[str] | None = None) -> None:
    """Run the study, or what is left of it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality.descriptions", description=__doc__)
    add_common_options(parser, parts=False)
    arguments = parser.parse_args(given)
    results = resume(arguments, lambda: [Piece(one) for one in chosen_sets(arguments, TUNING)], do)
    print(tables(results.cells))


if __name__ == "__main__":
    main()
