"""What all figures share: how they are made and written, colours, rows of panels.

Matplotlib is an optional dependency, imported only by who draws. Nothing goes through pyplot, so there is no
state to leave behind; the style is ours whatever the user's settings are, and holds only while we draw.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH = 10.0  # inches: 960 pixels on the page
# Colours that are told apart whatever one's colour vision (Okabe and Ito).
BLUE, VERMILION, GREEN, ORANGE, SKY, PURPLE = "#0072B2", "#D55E00", "#009E73", "#E69F00", "#56B4E9", "#CC79A7"
INK, GREY, PALE = "#222222", "#767676", "#DDDDDD"
SYSTEM_COLOURS = {"SGF": BLUE, "DGF": VERMILION}
_STYLE: dict[Any, Any] = {
    "font.family": "DejaVu Sans",  # comes with Matplotlib: the same letters everywhere
    "font.size": 8.0,
    "axes.titlesize": 9.0,
    "axes.labelsize": 8.0,
    "axes.linewidth": 0.6,
    "axes.edgecolor": GREY,
    "axes.axisbelow": True,
    "grid.color": PALE,
    "grid.linewidth": 0.6,
    "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "legend.fontsize": 8.0,
    "legend.frameon": False,
    "svg.fonttype": "path",
    "svg.hashsalt": "consilience",  # names inside the file by content, not by chance
    "savefig.dpi": 150,
}


@contextmanager
def own_style() -> Iterator[None]:
    """Let Matplotlib's defaults and our style hold inside the block, whatever held before."""
    try:
        import matplotlib
    except ImportError:
        raise ValueError("Figures need matplotlib: pip install 'consilience[plot]'.") from None
    with matplotlib.rc_context():
        matplotlib.rcdefaults()  # all but the backend
        matplotlib.rcParams.update(_STYLE)
        yield


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


def whole_decades(values: Sequence[float]) -> tuple[float, float]:
    """Return limits of a logarithmic axis: powers of ten, so that at least two are labelled.

    Examples
    --------
    >>> whole_decades([0.04, 0.3])
    (0.01, 1.0)
    """
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return 10.0**low, 10.0 ** max(high, low + 1)


def plain(value: float) -> str:
    """Return a number as short as it can be, without powers of ten where people would not use them.

    Examples
    --------
    >>> plain(0.001), plain(20000.0), plain(1e-7)
    ('0.001', '20,000', '1e-07')
    """
    return f"{value:,.0f}" if value >= 1000 else f"{value:g}"


def log_axis(axis: Any, values: Sequence[float]) -> None:
    """Make one axis of a panel logarithmic, from a power of ten to a power of ten, in plain figures."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    name = axis.axis_name
    getattr(axis.axes, f"set_{name}scale")("log")
    low, high = whole_decades(values)
    getattr(axis.axes, f"set_{name}lim")(low * 0.85, high / 0.85)
    decades = round(math.log10(high / low))
    axis.set_major_locator(LogLocator(10, numticks=decades + 2 if decades < 5 else 4))
    axis.set_major_formatter(FuncFormatter(lambda value, _: plain(value)))
    axis.set_minor_formatter(NullFormatter())


def list_on_y(axes: Axes, names: Sequence[str]) -> None:
    """Put names on the vertical axis, the first on top, with a faint line for each."""
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y")
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)


def spread(index: int, count: int, room: float = 0.5) -> float:
    """Return a shift for the index-th of some marks that would lie on one line."""
    return 0.0 if count < 2 else room * (index / (count - 1) - 0.5)


def span(values: Sequence[float]) -> tuple[float, float]:
    """Return limits around values with some room."""
    low, high = float(np.min(values)), float(np.max(values))
    room = max(0.08 * (high - low), 0.5)
    return low - room, high + room
