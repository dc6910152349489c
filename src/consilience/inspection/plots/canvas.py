"""Where plots are drawn, and what several of them share: names, colours of clusters, maps with holes."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..drawing import BLUE, GREEN, GREY, INK, ORANGE, PALE, PURPLE, SKY, VERMILION, YELLOW, own_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]

COLOURS = (BLUE, ORANGE, GREEN, PURPLE, SKY, VERMILION, INK, YELLOW)
MARKERS = "os^DvPX*"  # the next one, whenever the colours are used up
# People who need letters that are not in our font have set one that has them.
_FONTS = ("font.family", "font.sans-serif", "font.serif", "font.monospace", "axes.unicode_minus")
_LINES = 3  # of a name
_UPRIGHT, _SLANTED = 7, 29  # letters of a name below a column, from which on it is slanted, or cut
_DARK = 0.45  # luminance below which white letters read better


@contextmanager
def canvas(ax: Axes | None, width: float, height: float) -> Iterator[Axes]:
    """Give axes to draw on: the user's, in the user's style, or those of a new figure in ours.

    The new figure is one of pyplot's, so that a notebook shows it; if drawing fails it is closed.
    """
    if ax is not None:
        yield ax
        return
    with own_style(keep=_FONTS):
        from matplotlib import pyplot

        figure = pyplot.figure(figsize=(width, height), layout="constrained")
        try:
            axes = figure.add_subplot()
            settle(axes)
            yield axes
        except BaseException:
            pyplot.close(figure)
            raise
    _keep_background(figure)


def settle(axes: Axes) -> None:
    """Write the style of the moment into the axes: ticks are made later, when another one may hold."""
    import matplotlib

    rcParams: Any = matplotlib.rcParams
    for axis in ("x", "y"):
        axes.tick_params(
            axis=axis,
            color=rcParams[f"{axis}tick.color"],
            labelcolor=rcParams["text.color"],
            labelsize=rcParams[f"{axis}tick.labelsize"],
            width=rcParams[f"{axis}tick.major.width"],
            length=rcParams[f"{axis}tick.major.size"],
            direction=rcParams[f"{axis}tick.direction"],
            grid_color=rcParams["grid.color"],
            grid_linewidth=rcParams["grid.linewidth"],
            grid_linestyle=rcParams["grid.linestyle"],
        )


def _keep_background(figure: Figure) -> None:
    """Keep a light figure light where the user's settings make saved files dark."""
    from matplotlib import rcParams
    from matplotlib.patches import Rectangle

    if rcParams["savefig.facecolor"] not in ("auto", "white", "w"):
        # Beyond the borders, which would be half dark otherwise.
        paper = Rectangle((-1, -1), 3, 3, transform=figure.transFigure, color="white", zorder=-100)
        paper.set_in_layout(False)
        figure.add_artist(paper)


def ink() -> str:
    """Return the colour of text in the style of the moment: ours, or the user's on the user's axes."""
    from matplotlib import rcParams

    return str(rcParams["text.color"])


def shown(name: object, width: int = 22) -> str:
    r"""Return a name as it can be shown: in lines of some width, at most three, and never as a formula.

    Examples
    --------
    >>> shown("a view with a name of several words", 20)
    'a view with a name\nof several words'
    >>> print(shown("counts_of_words_in_bodies", 15), shown("$x$"))
    counts_of_
    words_in_bodies \$x\$
    """
    lines = _wrapped(" ".join(str(name).split()), width)
    if len(lines) > _LINES:
        lines = [*lines[: _LINES - 1], lines[_LINES - 1][: width - 1] + "…"]
    return "\n".join(lines).replace("$", r"\$")


def _wrapped(text: str, width: int) -> list[str]:
    """Return lines of a text, broken at spaces and behind signs that join words; within words if need be."""
    lines = [""]
    for piece in re.split(r"(?<=[_./])(?=\S)|(?<=\s)(?=\S)", text):
        for part in textwrap.wrap(piece, width, drop_whitespace=False):
            if len((lines[-1] + part).rstrip()) > width:
                lines.append("")
            lines[-1] += part
    return [line.rstrip() for line in lines]


def name_columns(axes: Axes, names: Sequence[object]) -> None:
    """Put names below the columns of a map, slanted if they would touch."""
    slanted = len(names) > 1 and max(len(str(name)) for name in names) > _UPRIGHT
    axes.set_xticks(
        range(len(names)),
        [shown(_cut(str(name)), _SLANTED + 9) if slanted else shown(name) for name in names],
    )
    axes.tick_params(axis="x", length=0)
    if slanted:  # from its right end each name rises to its column
        for label in axes.get_xticklabels():
            label.set(rotation=40, ha="right", va="top", rotation_mode="anchor")


def _cut(name: str) -> str:
    """Return a name that fits on one slanted line: without the middle if it is long, as ends say more."""
    half = (_SLANTED - 1) // 2
    return name if len(name) <= _SLANTED else f"{name[:half].rstrip()}…{name[-half:].lstrip()}"


def name_rows(axes: Axes, names: Sequence[object]) -> None:
    """Put names next to the rows of a map."""
    axes.set_yticks(range(len(names)), [shown(name) for name in names])
    axes.tick_params(axis="y", length=0)


def draw_map(axes: Axes, values: Floats, **options: Any) -> Any:
    """Draw a matrix as a map of colours; what is NaN shows hatched."""
    image = axes.imshow(values, **{"aspect": "auto", "cmap": "viridis", **options})
    if np.isnan(values).any():
        axes.patch.set(facecolor=PALE, edgecolor=GREY, hatch="/////", linewidth=0)
    return image


def write_cells(axes: Axes, image: Any, texts: NDArray[Any], size: float | str = "small") -> None:
    """Write a text into each cell of a map, dark on light colours and light on dark ones."""
    values = np.ma.filled(image.get_array(), np.nan)
    colours = image.cmap(image.norm(np.nan_to_num(values)))
    luminance = np.where(np.isnan(values), 1.0, colours[..., :3] @ [0.2126, 0.7152, 0.0722])
    for (i, j), text in np.ndenumerate(texts):
        if text:
            colour = "white" if luminance[i, j] < _DARK else INK
            axes.text(j, i, text, ha="center", va="center", color=colour, fontsize=size)


def colour_bar(axes: Axes, image: Any, label: str) -> None:
    """Draw the scale of a map next to it."""
    bar = axes.figure.colorbar(image, ax=axes, shrink=0.8, pad=0.02, aspect=25)
    settle(bar.ax)
    bar.set_label(label)
    bar.outline.set_visible(False)


def clusters_of(labels: ArrayLike, n: int) -> tuple[list[str], NDArray[np.intp]]:
    """Return the names of clusters, in order, and the number of each sample's; or say what is wrong."""
    given = np.asarray(labels)
    if given.shape != (n,):
        raise ValueError(f"labels has shape {given.shape}; there must be one label for each of {n} samples.")
    names, numbers = np.unique(given, return_inverse=True)
    return [str(name) for name in names], numbers.astype(np.intp)


def say(axes: Axes, text: str) -> None:
    """Write into empty axes why they are empty."""
    axes.text(0.5, 0.5, text, transform=axes.transAxes, ha="center", va="center", color=GREY)
