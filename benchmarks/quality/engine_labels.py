"""Whether other engines find the same clusters: labels and graphs next to those of `"numba"`.

`python -m benchmarks.quality.engine_labels [--engines torch] [--device cpu] [--data FOLDER] [--out FILE]`: on
every data set of a folder, DGF and SGF at their defaults with exact neighbours, given the number of classes,
by `"numba"` and by another engine, with the same seed. Other engines meet its numbers to rounding only. So:

- *ARI*: between the labels of both engines; 1 if they are the same.
- *other seeds*: the lowest ARI between the labels of `"numba"` with this seed and with other seeds. Where
  k-means has more than one answer, no two engines need to find the same.
- *edges*: how many edges the unified graph of one engine has and that of the other has not, of how many.
- *weights*: the largest relative difference of two weights of the same edge.

The goal is an ARI of 0.999 or more on every set but those on which other seeds differ by more than engines.

Fits by `"numba"` with other seeds are results of their own: with the same --out, they are made once for all
engines and devices.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from consilience import DistanceGraphFusion, SimilarityGraphFusion, Views
from consilience.engines import engine_names
from consilience.metrics import ari

from .data import DataSet, Facts, add_common_options, chosen_sets, load
from .results import Cells, key, resume
from .tables import NONE, Kept, rows_by_part, table

SYSTEMS: dict[str, Any] = {"DGF": DistanceGraphFusion, "SGF": SimilarityGraphFusion}
DEFAULT, SEED = "numba", 0
GOAL = 0.999
EFFORTS = ("low", "medium", "high")


@dataclass(frozen=True)
class Piece:
    """A system on a data set, by an engine; by the default one, with other seeds."""

    data: Facts
    system: str
    effort: str
    engine: str
    device: str = ""  # "": it has no choice of devices
    n_seeds: int = 0  # other seeds

    @property
    def key(self) -> str:
        """Return the name of its result."""
        how = (self.data.name, self.system, self.effort, self.engine, self.device, self.n_seeds)
        return key("engine labels", *how)

    def __str__(self) -> str:
        return f"{self.data.name}, {self.system}, {by(self.engine, self.device)}"


def by(engine: str, device: str) -> str:
    """Return an engine and its device, as tables name them."""
    return f"{engine} on {device}" if device else engine


def device_of(engine: str, device: str) -> str:
    """Return the device that an engine will use, "auto" resolved; "" if it has no choice."""
    if engine != "torch":
        return ""
    from consilience.engines.torch.device import Device

    return str(Device.of(device).where)


def pieces(sets: Sequence[Facts], devices: dict[str, str], effort: str, n_seeds: int) -> Iterator[Piece]:
    """Yield every system on every data set, the smallest first: by other engines, then with other seeds.

    `devices` are the engines, each with its device.
    """
    for data in sorted(sets, key=lambda one: one.n_samples):
        for system in SYSTEMS:
            for engine, where in devices.items():
                yield Piece(data, system, effort, engine, where)
            yield Piece(data, system, effort, DEFAULT, n_seeds=n_seeds)


def measure(piece: Piece) -> Cells:
    """Return how far labels, and the graph, are from those of the default engine."""
    data = load(piece.data.path)
    cell = piece.data.header | {
        "system": piece.system,
        "effort": piece.effort,
        "engine": piece.engine,
        "device": piece.device,
    }
    first, cell["seconds of the default"] = fit(data, piece, DEFAULT, SEED)
    if piece.engine == DEFAULT:
        seeds = range(SEED + 1, SEED + 1 + piece.n_seeds)
        others = [fit(data, piece, DEFAULT, seed)[0].labels_ for seed in seeds]
        cell["seeds"] = [float(ari(first.labels_, labels)) for labels in others]
        return {piece.key: cell}
    try:
        other, cell["seconds"] = fit(data, piece, _engine(piece), SEED)
    except Exception as error:  # of the engine that is judged: that is a result of the study
        text = str(error).splitlines() or [""]
        return {piece.key: {**cell, "reason": f"{type(error).__name__}: {text[0]}"}}
    cell["ari"] = float(ari(first.labels_, other.labels_))
    cell |= compare_graphs(first.graph_, other.graph_)
    return {piece.key: cell}


def _engine(piece: Piece) -> Any:
    if not piece.device:
        return piece.engine
    from consilience.engines.torch import TorchEngine

    return TorchEngine(device=piece.device)


def fit(data: DataSet, piece: Piece, engine: Any, seed: int) -> tuple[Any, float]:
    """Return a fitted model, and how long that took."""
    model = SYSTEMS[piece.system](
        n_clusters=data.n_clusters,
        neighbor_search="exact",
        effort=piece.effort,
        engine=engine,
        n_jobs=1,
        random_state=seed,
    )
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of scales and metrics, and of graphs in several parts
        model.fit(Views(list(data.views)))
    return model, time.perf_counter() - began


def compare_graphs(one: Any, other: Any) -> dict[str, Any]:
    """Count the edges of two symmetric graphs, and those of one alone; compare the weights of the others.

    Examples
    --------
    >>> path = sparse.csr_array([[0, 1.0, 0], [1.0, 0, 4.0], [0, 4.0, 0]])
    >>> fork = sparse.csr_array([[0, 0, 1.0], [0, 0, 5.0], [1.0, 5.0, 0]])
    >>> compare_graphs(path, fork)
    {'n_edges': 2, 'edges': 2, 'weights': 0.2}
    """
    (places, weights), (others, theirs) = _edges(one), _edges(other)
    common, mine, yours = np.intersect1d(places, others, assume_unique=True, return_indices=True)
    x, y = weights[mine], theirs[yours]
    apart = np.abs(x - y) / np.maximum(np.abs(x), np.abs(y))
    return {
        "n_edges": len(places),
        "edges": len(places) + len(others) - 2 * len(common),
        "weights": float(apart.max(initial=0.0)),
    }


def _edges(graph: Any) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the place and the weight of each edge of a symmetric graph."""
    upper = sparse.triu(graph, k=1, format="coo")
    there = upper.data != 0
    places = upper.row[there].astype(np.int64) * graph.shape[1] + upper.col[there]
    return places, upper.data[there].astype(np.float64)


def report(cells: Cells) -> str:
    """Return a table of targets, and one for each system, engine and device."""
    found = list(cells.values())
    seeds = {
        (cell["set"], cell["system"], cell["effort"]): min(cell["seeds"]) for cell in found if "seeds" in cell
    }
    groups: dict[str, list[Kept]] = {}
    for cell in found:
        if cell["engine"] != DEFAULT:
            lowest = seeds.get((cell["set"], cell["system"], cell["effort"]))
            groups.setdefault(_title(cell), []).append({**cell, "lowest": lowest})
    if not groups:
        return "Nothing has been measured."
    titles = sorted(groups)
    parts = [f"## The goal: an ARI of {GOAL:g}, or other seeds differ by more", _goals(groups, titles)]
    for title in titles:
        parts += [f"## {title}", _table(groups[title])]
        parts += [f"{cell['set']}: {cell['reason']}" for cell in groups[title] if "reason" in cell]
    return "\n\n".join(parts)


def _title(cell: Kept) -> str:
    return f"{cell['system']}, effort {cell['effort']}: {by(cell['engine'], cell['device'])}"


def verdict(cell: Kept) -> str:
    """Say whether the goal is met on a set: "pass", "seeds" where these differ by more, or "FAIL"."""
    if "reason" in cell:
        return "FAIL"
    if cell["ari"] >= GOAL:
        return "pass"
    if cell["lowest"] is None:
        return "open"  # other seeds have not been tried yet
    return "seeds" if cell["lowest"] < cell["ari"] else "FAIL"


def _goals(groups: dict[str, list[Kept]], titles: Sequence[str]) -> str:
    def row(title: str) -> list[str]:
        by_verdict: dict[str, list[str]] = {}
        for cell in groups[title]:
            by_verdict.setdefault(verdict(cell), []).append(cell["set"])
        n_passed = len(by_verdict.pop("pass", []))
        names = (", ".join(sorted(by_verdict.get(one, []))) or NONE for one in ("seeds", "FAIL", "open"))
        return [title, f"{n_passed} of {len(groups[title])}", *names]

    header = ["fits", "sets that pass", "seeds differ by more", "FAIL", "open"]
    return table(header, [row(title) for title in titles])


def _table(cells: Sequence[Kept]) -> str:
    def row(cell: Kept) -> list[str]:
        edges = f"{cell['edges']:,} of {cell['n_edges']:,}" if "edges" in cell else NONE
        numbers = [_shown(cell.get("ari")), _shown(cell["lowest"]), edges, _small(cell.get("weights"))]
        return [cell["set"], f"{cell['n']:,}", *numbers, verdict(cell)]

    def worst(chosen: list[Kept]) -> list[str]:
        lowest = [
            min((cell[name] for cell in chosen if cell.get(name) is not None), default=None)
            for name in ("ari", "lowest")
        ]
        most = [
            max((cell[name] for cell in chosen if name in cell), default=None)
            for name in ("edges", "weights")
        ]
        edges = NONE if most[0] is None else f"{most[0]:,}"
        return ["", *map(_shown, lowest), edges, _small(most[1]), ""]

    header = ["set", "n", "ARI", "other seeds", "edges", "weights", "goal"]
    return table(header, rows_by_part(cells, row, worst, "worst of {n} {part} sets"))


def _shown(value: float | None) -> str:
    """Return an ARI; 1 only if the labels are the same."""
    if value is None:
        return NONE
    return "1" if value == 1 else f"{min(value, 0.9999):.4f}"


def _small(value: float | None) -> str:
    return NONE if value is None else f"{value:.0e}" if value else "0"


def main(given: list[str] | None = None) -> None:
    """Run the study and print its tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality.engine_labels", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    add_common_options(parser)
    others = [name for name in engine_names() if name != DEFAULT]
    add = parser.add_argument
    add("--engines", nargs="+", default=["torch"], choices=others, help="(default: torch)")
    add("--device", default="auto", help="of torch: auto, cpu, cuda, or cuda:1 (default: auto)")
    add("--effort", default="high", choices=EFFORTS, help="(default: high)")
    add("--seeds", type=int, default=5, help="other seeds (default: 5)")
    arguments = parser.parse_args(given)

    devices = {}
    if arguments.tables is None:
        try:
            devices = {name: device_of(name, arguments.device) for name in arguments.engines}
        except (ImportError, ValueError) as error:  # no PyTorch, or no such device
            parser.exit(2, f"{error}\n")

    def all_pieces() -> Iterator[Piece]:
        return pieces(chosen_sets(arguments), devices, arguments.effort, arguments.seeds)

    print(report(resume(arguments, all_pieces, measure).cells))


if __name__ == "__main__":
    main()
