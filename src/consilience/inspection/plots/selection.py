"""The curves by which the number of clusters was chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...stages.select import ClusterSelection
from ..drawing import BLUE, GREY, ORANGE
from .canvas import canvas, say

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_cluster_selection(selection: ClusterSelection, ax: Axes | None = None) -> Axes:
    """Draw eigengaps and stability of each number of clusters, and mark the number chosen.

    Bars are eigengaps, as shares of the range they stand in; the line is the stability with its standard
    error, the dotted one that of a graph without structure.

    Parameters
    ----------
    selection : ClusterSelection
        What `select_n_clusters` returned, or a model's `cluster_selection_`.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; None: in a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from consilience import DistanceGraphFusion, make_multiview
    >>> from consilience.inspection.plots import plot_cluster_selection
    >>> data = make_multiview(200, n_clusters=3, separation=4.0, random_state=0)
    >>> model = DistanceGraphFusion(n_clusters="auto", random_state=0).fit(data.views)
    >>> ax = plot_cluster_selection(model.cluster_selection_)  # doctest: +SKIP
    """
    numbers, chosen = selection.n_clusters, selection.chosen
    with canvas(ax, 5.4, 3.4) as axes:
        from matplotlib.ticker import MaxNLocator

        axes.set_xlabel("number of clusters")
        if len(numbers) == 0:
            axes.set_xticks([])
            axes.set_yticks([])
            say(axes, "too few samples to look for clusters")
            return axes
        colours = [BLUE if c == chosen else GREY for c in numbers]
        axes.bar(numbers, selection.relative_gaps, color=colours, alpha=0.5, width=0.6, label="eigengap")
        low, high = (selection.stability + sign * selection.stability_se for sign in (-1, 1))
        axes.fill_between(numbers, low, high, color=BLUE, alpha=0.2, linewidth=0)
        axes.plot(numbers, selection.stability, "o-", color=BLUE, markersize=4, label="stability")
        axes.plot(numbers, selection.null, ":", color=ORANGE, label="stability without structure")
        if chosen in numbers:
            axes.axvline(chosen, color=BLUE, linewidth=0.8, linestyle="--", zorder=0)
        lowest = float(np.min(low))
        axes.set_ylim(min(0.0, lowest), 1.05)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.grid(axis="y")
        axes.set_title("nothing stands out: 1 cluster" if chosen == 1 else f"{chosen} clusters chosen")
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncol=3, frameon=False)
        return axes
