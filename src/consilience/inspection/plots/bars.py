"""Bars and dots by name: what each view contributed, how far the clusters of each contender show."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np

from ..drawing import BLUE, GREY, ORANGE, VERMILION, list_on_y
from ..fusion_help.result import FusionHelp
from ..views import ViewSummary
from .canvas import canvas, ink, shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_THICK = 0.36
_KINDS = {"view": BLUE, "fusion": VERMILION}  # all others are grey


def plot_contributions(summary: ViewSummary, ax: Axes | None = None) -> Axes:
    """Draw what each view contributed to the unified graph, and how much of its own weight is inconsistent.

    Parameters
    ----------
    summary : ViewSummary
        What `view_summary` returned.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; None: in a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        Two bars for each view that was kept; a view left out is named as such.

    Examples
    --------
    >>> from consilience import DistanceGraphFusion, make_multiview
    >>> from consilience.inspection import view_summary
    >>> from consilience.inspection.plots import plot_contributions
    >>> data = make_multiview(200, n_clusters=3, separation=4.0, random_state=0)
    >>> model = DistanceGraphFusion(n_clusters=3, random_state=0).fit(data.views)
    >>> ax = plot_contributions(view_summary(model))  # doctest: +SKIP
    """
    v = len(summary.names)
    with canvas(ax, 6.0, 0.45 * v + 1.2) as axes:
        list_on_y(axes, [shown(name, 30) for name in summary.names])
        axes.grid(visible=False)
        rows = np.flatnonzero(summary.kept)
        for values, shift, colour, label in (
            (summary.contributions, -0.5, BLUE, "contribution to the unified graph"),
            (summary.inconsistent_shares, 0.5, ORANGE, "own weight found inconsistent"),
        ):
            shares = 100 * values[rows]
            bars = axes.barh(rows + shift * _THICK, shares, _THICK, color=colour, label=label)
            texts = axes.bar_label(bars, [_percent(share) for share in shares], padding=3, fontsize="small")
            for text in texts:  # readable on the dotted line
                text.set_bbox({"facecolor": axes.get_facecolor(), "edgecolor": "none", "pad": 0.5})
        for row in np.flatnonzero(~summary.kept).tolist():
            axes.text(
                0.01,
                row,
                "left out",
                transform=axes.get_yaxis_transform(),
                va="center",
                color=GREY,
                style="italic",
            )
        if len(rows) > 1:
            axes.axvline(100 / len(rows), color=GREY, linewidth=0.8, linestyle=":", zorder=0)
        drawn = np.concatenate([summary.contributions[rows], summary.inconsistent_shares[rows], [0.01]])
        axes.set_xlim(0, 115 * float(np.nanmax(drawn)))
        axes.set_xlabel("%  (dotted: an equal contribution)" if len(rows) > 1 else "%")
        _legend_above(axes, 1)
        return axes


def _percent(value: float) -> str:
    """Return a number of per cent in few figures.

    Examples
    --------
    >>> _percent(16.62), _percent(0.0312), _percent(1e-9), _percent(np.nan)
    ('16.6', '0.031', '0', '?')
    """
    if np.isnan(value):
        return "?"
    return f"{value:.1f}" if value >= 1 else f"{value:.2g}" if value >= 0.001 else "0"


def _legend_above(axes: Axes, columns: int, handles: Any = None) -> None:
    axes.legend(
        handles=handles,
        loc="lower left",
        bbox_to_anchor=(0.0, 1.0),
        ncols=columns,
        borderaxespad=0.2,
        handlelength=1.2,
        columnspacing=1.4,
        frameon=False,
    )


def _letters_across(axes: Axes) -> int:
    """Return how many letters fit side by side above axes, roughly."""
    from matplotlib import rcParams

    points = axes.get_window_extent().width * 72 / axes.figure.dpi
    return int(np.clip(0.9 * points / (0.55 * rcParams["font.size"]), 30, 78))


def plot_fusion_help(help: FusionHelp, ax: Axes | None = None) -> Axes:
    """Draw how far the clusters of each view and of each way of fusing show, with the verdict above.

    Parameters
    ----------
    help : FusionHelp
        What `does_fusion_help` returned.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; None: in a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        A dot for each contender, small ones for its resamples, and a diamond for its NMI if classes were
        given.

    Examples
    --------
    >>> from consilience import make_multiview
    >>> from consilience.inspection import does_fusion_help
    >>> from consilience.inspection.plots import plot_fusion_help
    >>> data = make_multiview(150, n_views=2, n_clusters=3, separation=3.0, random_state=0)
    >>> ax = plot_fusion_help(does_fusion_help(data.views, 3, n_resamples=3))  # doctest: +SKIP
    """
    m = len(help.names)
    with canvas(ax, 7.0, 0.3 * m + 1.7) as axes:
        from matplotlib.lines import Line2D

        list_on_y(axes, [shown(name, 30) for name in help.names])
        style: dict[str, Any] = {"linestyle": "", "zorder": 3}
        for row, kind in enumerate(help.kinds):
            colour = _KINDS.get(kind, GREY)
            resampled = help.shown_resampled[row]
            axes.plot(
                resampled, np.full(len(resampled), row), "o", color=colour, markersize=3, alpha=0.35, **style
            )
            axes.plot(help.shown[row], row, "o", color=colour, markersize=7, **style)
        rows = np.arange(m)
        hollow: dict[str, Any] = {"color": ink(), "markerfacecolor": "none", "markersize": 6, **style}
        if help.scores is not None:
            axes.plot(help.scores["NMI"], rows, "D", **hollow)
        handles = [
            Line2D([], [], marker="o", color=BLUE, linestyle="", label="view"),
            Line2D([], [], marker="o", color=VERMILION, linestyle="", label="fusion"),
        ]
        if help.scores is not None:
            handles.append(Line2D([], [], marker="D", label="NMI with the classes", **hollow))
        axes.set_xlim(min(0.0, float(np.nanmin(help.shown_resampled, initial=0.0)) - 0.03), 1.03)
        axes.set_xlabel(
            "shown: edge weight of the views inside clusters,\nbeyond chance (small dots: of resamples)"
        )
        _legend_above(axes, 2, handles)
        sentence = "\n".join(textwrap.wrap(help.sentence, _letters_across(axes))).replace("$", r"\$")
        axes.set_title(sentence, loc="left", fontsize="medium", pad=34)
        return axes
