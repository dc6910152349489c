"""The study: every contender on every data set in every condition, as pieces of work that can be resumed."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from consilience import Views
from consilience.models import SharedViews

from .contenders import BEST_VIEW, reason_to_skip
from .corruptions import CLEAN, WITHOUT, corrupted
from .data import load
from .fits import measure
from .results import Cells, Results, key

N_TIMED = 3  # of the short fits to clean views, whose times are compared


@dataclass(frozen=True)
class Piece:
    """Some contenders on one data set in one condition."""

    path: Path
    condition: str
    names: tuple[str, ...]
    n_seeds: int

    def __str__(self) -> str:
        return f"{self.path.stem}, {self.condition}, {len(self.names)} systems"


@dataclass(frozen=True)
class Facts:
    """What is to be known of a data set before anything is run."""

    name: str
    path: Path
    n_samples: int
    n_views: int


def look_at(sets: Mapping[str, Path]) -> list[Facts]:
    """Return what is known of the data sets, the largest first; those that cannot be read are left out."""
    facts = []
    for name, path in sets.items():
        try:
            data = load(path)
        except ValueError as error:
            print(f"{name} is left out: {error}", file=sys.stderr)
        else:
            facts.append(Facts(name, path, data.n_samples, len(data.views)))
    return sorted(facts, key=lambda one: -one.n_samples)


def plan(
    sets: Sequence[Facts],
    conditions: Iterable[str],
    names: Sequence[str],
    results: Results,
    *,
    n_seeds: int = 10,
    n_corrupted_seeds: int = 5,
    dense_limit: int | None = None,
) -> tuple[list[Piece], Cells]:
    """Return what is left to do, and the cells that stay empty with their reasons.

    The best view, chosen with the labels, is a yardstick for clean data only.
    """
    pieces, empty = [], {}
    for condition in conditions:
        seeds = n_seeds if condition == CLEAN else n_corrupted_seeds
        for data in sets:
            wanted = []
            for name in names:
                if condition != CLEAN and name == BEST_VIEW:
                    continue
                reason = reason_to_skip(name, condition, data.n_samples, dense_limit)
                if condition == WITHOUT and data.n_views < 2:
                    reason = "there is only one view"
                cell = cell_key(data.name, condition, name, seeds)
                if reason:
                    empty[cell] = {**_header(data.name, condition, name, data), "reason": reason}
                elif not results.has(cell):
                    wanted.append(name)
            if wanted:
                pieces.append(Piece(data.path, condition, tuple(wanted), seeds))
    # What was measured under another limit stays.
    return pieces, {cell: content for cell, content in empty.items() if not results.has(cell)}


def do(piece: Piece) -> Cells:
    """Do a piece of work: the same corrupted views for all contenders."""
    data = load(piece.path)
    views = Views(list(corrupted(data.views, data.name, piece.condition)))
    shared = SharedViews(views)
    facts = Facts(data.name, piece.path, data.n_samples, len(data.views))
    cells = {}
    for name in piece.names:
        found = measure(
            name,
            views,
            shared,
            data.truth,
            data=data.name,
            n_seeds=piece.n_seeds,
            n_timed=N_TIMED if piece.condition == CLEAN else 1,
        )
        cell = cell_key(data.name, piece.condition, name, piece.n_seeds)
        cells[cell] = {**_header(data.name, piece.condition, name, facts), **found}
    return cells


def cell_key(data: str, condition: str, name: str, n_seeds: int) -> str:
    """Return the name of one cell of the tables."""
    return key(data, condition, name, f"{n_seeds} seeds")


def _header(data: str, condition: str, name: str, facts: Facts) -> dict[str, Any]:
    return {
        "set": data,
        "condition": condition,
        "system": name,
        "n_samples": facts.n_samples,
        "n_views": facts.n_views,
    }
