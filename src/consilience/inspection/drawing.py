"""What figures share: our style, colours, axes with plain figures and with names.

Matplotlib is an optional dependency, imported only when something is drawn. The style does not depend on the
user's settings, and holds only while we draw.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Colours that can be distinguished with any colour vision (Okabe and Ito).
BLUE, VERMILION, GREEN, ORANGE, SKY, PURPLE = "#0072B2", "#D55E00", "#009E73", "#E69F00", "#56B4E9", "#CC79A7"
YELLOW = "#F0E442"
INK, GREY, PALE = "#222222", "#767676", "#DDDDDD"
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
def own_style(*, keep: Sequence[str] = ()) -> Iterator[None]:
    """Use Matplotlib's defaults and our style inside the block, not the settings from before.

    Settings whose names begin with one of `keep` stay the user's.
    """
    try:
        import matplotlib
    except ImportError:
        raise ValueError("Figures need matplotlib: pip install 'consilience[plot]'.") from None
    kept = {name: matplotlib.rcParams[name] for name in matplotlib.rcParams if name.startswith(tuple(keep))}
    with matplotlib.rc_context():
        matplotlib.rcdefaults()  # all but the backend
        matplotlib.rcParams.update({**_STYLE, **kept})
        yield


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


def _tick(value: float, _: int) -> str:  # no lambda: a figure can be pickled
    return plain(value)


def log_axis(axis: Any, values: Sequence[float]) -> None:
    """Make one axis of a panel logarithmic, from a power of ten to a power of ten, in plain figures."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    name = axis.axis_name
    getattr(axis.axes, f"set_{name}scale")("log")
    low, high = whole_decades(values)
    getattr(axis.axes, f"set_{name}lim")(low * 0.85, high / 0.85)
    decades = round(math.log10(high / low))
    axis.set_major_locator(LogLocator(10, numticks=decades + 2 if decades < 5 else 4))
    axis.set_major_formatter(FuncFormatter(_tick))
    axis.set_minor_formatter(NullFormatter())


def list_on_y(axes: Axes, names: Sequence[str]) -> None:
    """Put names on the vertical axis, the first on top, with a faint line for each."""
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y")
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
