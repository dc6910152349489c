"""What the figures of the paper share: how they are made, colours of systems, rows of panels.

Nothing goes through pyplot, so there is no state to leave behind.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..inspection.drawing import BLUE, GREY, VERMILION

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH = 10.0  # inches: 960 pixels on the page
SYSTEM_COLOURS = {"SGF": BLUE, "DGF": VERMILION}


def new_figure(width: float, height: float, **options: Any) -> Figure:
    """Return an empty figure, in inches, that no window manager knows of."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), **{"layout": "constrained", **options})


def new_panels(
    count: int, columns: int, height: float, *, width: float = WIDTH, **options: Any
) -> tuple[Figure, list[Axes]]:
    """Return a figure with this many panels in rows of at most `columns`; `height` is that of one panel.

    A row that is not full leaves its places empty: panels keep their width.
    """
    n_rows = math.ceil(count / columns)
    figure = new_figure(width, n_rows * height + 0.4)
    grid = figure.subplots(n_rows, columns, squeeze=False, **options)
    for spare in grid.flat[count:]:
        spare.remove()
    return figure, list(grid.flat[:count])


def colour_of(system: str) -> str:
    """Return a system's colour: SGF and DGF stand out, the others are grey."""
    return SYSTEM_COLOURS.get(system, GREY)


def spread(index: int, count: int, room: float = 0.5) -> float:
    """Return a shift for the index-th of some marks that would lie on one line."""
    return 0.0 if count < 2 else room * (index / (count - 1) - 0.5)


def span(values: Sequence[float]) -> tuple[float, float]:
    """Return limits around values with some room."""
    low, high = float(np.min(values)), float(np.max(values))
    room = max(0.08 * (high - low), 0.5)
    return low - room, high + room
