"""What is to be reproduced, and the searches over parameters that most experiments share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from ..models import systems
from .definitions import Grid, Paper, PaperSystem
from .store import Store, Work
from .work import LEARN_ONCE

# Seconds of a fit of 2000 samples in 6 views, and how they grow with the samples: for guesses at the time.
_SECONDS = {"RMSC": (35.0, 3), "MVGL": (12.0, 2), "MCGC": (5.0, 2), "CoReg": (6.0, 1)}
_USUAL = (0.3, 1)


@dataclass(frozen=True)
class Plan:
    """What is to be reproduced.

    Parameters
    ----------
    paper : Paper
        The definitions.
    sets : tuple of str
        The data sets at hand.
    grid : Grid
        Values of tuned parameters.
    seeds : tuple of int
        One for each run.
    n_repeats : int
        Of what is timed.
    """

    paper: Paper
    sets: tuple[str, ...]
    grid: Grid
    seeds: tuple[int, ...]
    n_repeats: int

    def arguments(self, system: str, **changes: Any) -> dict[str, Any]:
        """Return what a system is given besides its tuned parameters."""
        return {**self.paper.experiments.arguments, **self.paper.systems[system].fixed, **changes}

    def points(self, data: str, system: PaperSystem) -> list[dict[str, Any]]:
        """Return the points of the grid of a system: all that could become its row."""
        if system.rule == "best_view":
            return [{"view": i} for i in range(self.paper.sets[data].n_views)]
        return [
            dict(zip(system.tuned, values, strict=True))
            for values in product(self.grid.values, repeat=len(system.tuned))
        ]

    def grid_work(self, data: str, name: str) -> list[Work]:
        """Return the search over the grid: in pieces of a few points, one run for each.

        Where runs cost nothing next to the fit, or there is nothing to search, all runs are done at once.
        """
        points = self.points(data, self.paper.systems[name])
        if issubclass(systems()[name], LEARN_ONCE) or len(points) == 1:
            return [self.fits(data, name, [point], self.seeds) for point in points]
        size = 1 if name in _SECONDS else len(self.grid.values)
        return [
            self.fits(data, name, points[i : i + size], self.seeds[:1]) for i in range(0, len(points), size)
        ]

    def fits(
        self, data: str, name: str, points: Sequence[Mapping[str, Any]], seeds: Sequence[int], **changes: Any
    ) -> Work:
        """Return the work of fitting a system at some points with some seeds."""
        arguments = {
            "system": name,
            "arguments": self.arguments(name, **changes),
            "points": [dict(point) for point in points],
            "seeds": list(seeds),
        }
        cost = len(points) * (self.seconds(data, name) + 0.1 * len(seeds))
        return Work("fits", data, arguments, cost)

    def seconds(self, data: str, name: str) -> float:
        """Return a guess at the time of one fit."""
        size = self.paper.sets[data]
        seconds, power = _SECONDS.get(name, _USUAL)
        return float(seconds * (size.n_samples / 2000) ** power * size.n_views / 6)

    def best(self, store: Store, data: str, name: str) -> dict[str, Any]:
        """Return the point with the highest mean score in the search; of equal ones the first."""
        rows = [row for work in self.grid_work(data, name) for row in store.get(work)]

        def score(point: Mapping[str, Any]) -> float:
            here = [row for row in rows if all(row[key] == value for key, value in point.items())]
            found = [row[self.grid.select_by] for row in here if self.grid.select_by in row]
            return float(np.mean(found)) if found else -np.inf

        return max(self.points(data, self.paper.systems[name]), key=score)

    def runs_at_best(self, store: Store, data: str, name: str) -> Work:
        """Return the work of all runs at the best point."""
        return self.fits(data, name, [self.best(store, data, name)], self.seeds)
