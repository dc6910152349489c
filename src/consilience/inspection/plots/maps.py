"""Maps of colours: graphs, agreement of views, conflicts of samples and of clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..clusters import ClusterConflicts
from ..drawing import PALE, VERMILION
from ..samples import SampleConflicts
from ..views import AgreementMatrix
from .binning import apart, mean_of_blocks, mean_of_graph, middles_and_ends
from .canvas import (
    canvas,
    clusters_of,
    colour_bar,
    draw_map,
    name_columns,
    name_rows,
    shown,
    write_cells,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_BRIGHTEST = 0.99  # quantile of the weights from which on all colours are the same
_LEAST_APART = 0.032  # of an axis, between the labels of two clusters
_MOST_NUMBERS = 16  # rows or columns up to which a map has room for numbers
_MOST_MARKED = 60  # flagged rows that are marked one by one
_MOSTLY = 0.9  # of the neighbours of a cluster; if fewer are in it, the map says where the others are
_ABOVE: Any = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points", "fontsize": "small"}


def plot_affinity(graph: Any, labels: ArrayLike, ax: Axes | None = None, *, max_bins: int = 400) -> Axes:
    """Draw a graph as a matrix, its samples ordered by cluster.

    Parameters
    ----------
    graph : sparse array or matrix of shape (n, n)
        The graph, such as ``model.graph_``. It is never made dense.
    labels : array-like of shape (n,)
        The clusters, or any other labels to order the samples by.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; None: in a new figure.
    max_bins : int, default=400
        With more samples than this each cell is the mean of a block of pairs, and the axis says so.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from consilience import DistanceGraphFusion, make_multiview
    >>> from consilience.inspection.plots import plot_affinity
    >>> data = make_multiview(200, n_clusters=3, separation=4.0, random_state=0)
    >>> model = DistanceGraphFusion(n_clusters=3, random_state=0).fit(data.views)
    >>> ax = plot_affinity(model.graph_, model.labels_)  # doctest: +SKIP
    """
    if len(graph.shape) != 2 or graph.shape[0] != graph.shape[1]:
        raise ValueError(f"graph has shape {graph.shape}; a graph is a square matrix.")
    _check_positive("max_bins", max_bins)
    n = graph.shape[0]
    names, numbers = clusters_of(labels, n)
    order = np.argsort(numbers, kind="stable")
    cells = mean_of_graph(graph, order, max_bins)
    there = cells[cells > 0]
    with canvas(ax, 5.4, 4.6) as axes:
        from matplotlib.colors import PowerNorm

        # Few cells hold most of the weight: the square root lets the weak ones show.
        norm = PowerNorm(0.5, vmin=0.0, vmax=float(np.quantile(there, _BRIGHTEST)) if len(there) else 1.0)
        image = draw_map(axes, cells, norm=norm, aspect="equal")
        middles, ends = middles_and_ends(numbers, order, len(cells))
        for end in ends:
            axes.axhline(end, color="white", linewidth=0.4, alpha=0.7)
            axes.axvline(end, color="white", linewidth=0.4, alpha=0.7)
        chosen = apart(middles, _LEAST_APART * len(cells))
        axes.set_xticks(middles[chosen], [shown(names[i], 8) for i in chosen])
        axes.set_yticks(middles[chosen], [shown(names[i], 8) for i in chosen])
        axes.tick_params(length=2)
        axes.set_xlabel(f"samples by cluster{_blocks(n, len(cells))}")
        axes.set_ylabel("samples by cluster")
        colour_bar(axes, image, "mean weight" if n > len(cells) else "weight")
        return axes


def _blocks(n: int, count: int) -> str:
    """Say that samples are put together, if they are."""
    return f"\n({n:,} in {count:,} blocks: means)" if n > count else ""


def _check_positive(name: str, value: int) -> None:
    if value < 1:
        raise ValueError(f"{name} must be at least 1, got {value!r}.")


def plot_agreement(agreement: AgreementMatrix, ax: Axes | None = None) -> Axes:
    """Draw how far each two views agree about who is near whom, beyond chance.

    Numbers in brackets are no more than chance explains. What cannot be compared is hatched.

    Parameters
    ----------
    agreement : AgreementMatrix
        What `agreement_matrix` returned.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; None: in a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from consilience import DistanceGraphFusion, make_multiview
    >>> from consilience.inspection import agreement_matrix
    >>> from consilience.inspection.plots import plot_agreement
    >>> data = make_multiview(200, n_clusters=3, separation=4.0, random_state=0)
    >>> model = DistanceGraphFusion(n_clusters=3, random_state=0).fit(data.views)
    >>> ax = plot_agreement(agreement_matrix(model))  # doctest: +SKIP
    """
    v = len(agreement.names)
    other = ~np.eye(v, dtype=bool)
    values = np.where(other, agreement.shares, np.nan)
    top = np.nanmax(values) if np.isfinite(values).any() else 0.0
    numbers = v <= _MOST_NUMBERS
    chance = np.isfinite(values) & ~agreement.significant
    side = float(np.clip(0.55 * v, 2.4, 8.0))
    with canvas(ax, side + 1.8, side + 1.0) as axes:
        # The views themselves agree fully: that would leave no colours for what there is to see.
        image = draw_map(axes, values, vmin=0.0, vmax=max(float(top), 0.01), aspect="equal")
        texts = np.full((v, v), "", dtype=object)
        for i, j in np.argwhere(np.isfinite(values)):
            number = f"{max(values[i, j], 0.0):.2f}" if numbers else "o"
            texts[i, j] = (f"({number})" if numbers else number) if chance[i, j] else number * numbers
        write_cells(axes, image, texts, "small")
        for i in range(v):  # over the hatching, which stands for what is not known
            axes.fill_between([i - 0.5, i + 0.5], i - 0.5, i + 0.5, color=PALE, linewidth=0)
        name_columns(axes, agreement.names)
        name_rows(axes, agreement.names)
        axes.set_title("neighbours in common, beyond chance")
        if chance.any():
            axes.set_xlabel("in brackets: no more than chance" if numbers else "o: no more than chance")
        if np.isfinite(values).any():
            colour_bar(axes, image, "share")
        return axes


def plot_sample_conflicts(
    conflicts: SampleConflicts,
    labels: ArrayLike | None = None,
    ax: Axes | None = None,
    *,
    max_rows: int = 400,
) -> Axes:
    """Draw which rows of which view contradict the others: samples down, views across.

    Samples are ordered by cluster, and within it by their largest score. Rows that are flagged are marked if
    they are few; how many they are is written below each view. What no view could judge is hatched.

    Parameters
    ----------
    conflicts : SampleConflicts
        What `sample_conflicts` returned.
    labels : array-like of shape (n,), default=None
        The clusters; None: all samples are one.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; None: in a new figure.
    max_rows : int, default=400
        With more samples than this each row is the mean of successive ones, and the axis says so.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from consilience import DistanceGraphFusion, make_multiview
    >>> from consilience.inspection import sample_conflicts
    >>> from consilience.inspection.plots import plot_sample_conflicts
    >>> data = make_multiview(300, n_clusters=3, separation=4.0, scrambled=[0.1, 0, 0, 0], random_state=0)
    >>> model = DistanceGraphFusion(n_clusters=3, random_state=0).fit(data.views)
    >>> ax = plot_sample_conflicts(sample_conflicts(model), model.labels_)  # doctest: +SKIP
    """
    _check_positive("max_rows", max_rows)
    n, v = conflicts.scores.shape
    names, numbers = clusters_of(np.zeros(n, np.intp) if labels is None else labels, n)
    largest = np.nan_to_num(conflicts.scores, nan=-1.0).max(axis=1)
    order = np.lexsort((-largest, numbers))
    cells = mean_of_blocks(conflicts.scores[order], max_rows)
    with canvas(ax, float(np.clip(0.75 * v + 2.0, 3.4, 10.0)), 5.2) as axes:
        image = draw_map(axes, cells, vmin=0.0, vmax=1.0, interpolation="nearest")
        middles, ends = middles_and_ends(numbers, order, len(cells))
        for end in ends:
            axes.axhline(end, color="white", linewidth=0.4, alpha=0.7)
        for column in range(1, v):
            axes.axvline(column - 0.5, color="white", linewidth=0.8)
        _mark_flagged(axes, conflicts.flagged[order], len(cells))
        for column, count in enumerate(conflicts.n_flagged):
            axes.annotate(f"{count:,}", (column, 1), (0, 3), ha="center", **_ABOVE)
        axes.set_title(f"rows flagged, at a false discovery rate of {100 * conflicts.fdr:g} %", pad=16)
        name_columns(axes, conflicts.names)
        chosen = [] if labels is None else apart(middles, _LEAST_APART * len(cells))
        axes.set_yticks(middles[chosen], [shown(names[i], 12) for i in chosen])
        axes.tick_params(axis="y", length=0)
        order_text = "samples" if labels is None else "samples by cluster, then by score"
        axes.set_ylabel(f"{order_text}{_blocks(n, len(cells))}")
        colour_bar(axes, image, "probability that the row is misplaced")
        return axes


def _mark_flagged(axes: Axes, flagged: NDArray[np.bool_], count: int) -> None:
    """Mark the rows that are flagged, if there is room to distinguish them."""
    rows, columns = np.nonzero(flagged)
    if 0 < len(rows) <= _MOST_MARKED:
        axes.scatter(
            columns + 0.5,
            (rows + 0.5) * count / len(flagged) - 0.5,
            marker="<",
            s=22,
            color=VERMILION,
            edgecolors="white",
            linewidths=0.5,
            clip_on=False,
            zorder=3,
        )


def plot_cluster_conflicts(
    conflicts: ClusterConflicts, ax: Axes | None = None, *, show: Literal["scores", "cohesion"] = "scores"
) -> Axes:
    """Draw how each view sees each cluster: clusters down, views across.

    Parameters
    ----------
    conflicts : ClusterConflicts
        What `cluster_conflicts` returned.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; None: in a new figure.
    show : {"scores", "cohesion"}, default="scores"
        The mean probability that the view's rows are misplaced; or the share of neighbours that are in the
        same cluster, with the other cluster that has most of the rest.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from consilience import DistanceGraphFusion, make_multiview
    >>> from consilience.inspection import cluster_conflicts
    >>> from consilience.inspection.plots import plot_cluster_conflicts
    >>> data = make_multiview(200, n_clusters=3, separation=[4, 4, 2, 4], random_state=0)
    >>> model = DistanceGraphFusion(n_clusters=3, random_state=0).fit(data.views)
    >>> ax = plot_cluster_conflicts(cluster_conflicts(model), show="cohesion")  # doctest: +SKIP
    """
    if show not in ("scores", "cohesion"):
        raise ValueError(f"show must be 'scores' or 'cohesion', got {show!r}.")
    values = conflicts.scores if show == "scores" else conflicts.cohesion
    c, v = values.shape
    height = float(np.clip(0.26 * c + 1.5, 2.4, 12.0))
    with canvas(ax, float(np.clip(0.85 * v + 2.2, 3.6, 12.0)), height) as axes:
        # Bright is what to look at: rows that are misplaced, clusters that are not seen.
        colours = "viridis" if show == "scores" else "viridis_r"
        image = draw_map(axes, values, vmin=0.0, vmax=1.0, cmap=colours)
        if c <= 3 * _MOST_NUMBERS and v <= _MOST_NUMBERS:
            write_cells(axes, image, _cell_texts(conflicts, values, show), "small" if c <= 30 else "x-small")
        name_columns(axes, conflicts.names)
        name_rows(axes, [f"{i} ({size:,})" for i, size in enumerate(conflicts.sizes)])
        axes.set_ylabel("cluster (samples)")
        if show == "scores":
            axes.set_title("mean probability that a row is misplaced")
        else:
            axes.set_title(
                "share of neighbours in the cluster\n→ the other cluster that has most of the rest"
            )
        colour_bar(axes, image, "")
        return axes


def _cell_texts(conflicts: ClusterConflicts, values: NDArray[np.float64], show: str) -> NDArray[Any]:
    texts = np.full(values.shape, "", dtype=object)
    for i, j in np.argwhere(np.isfinite(values)):
        mixed = conflicts.mixed_up_with[i, j]
        texts[i, j] = f"{values[i, j]:.2f}"
        if show == "cohesion" and mixed >= 0 and values[i, j] < _MOSTLY:
            texts[i, j] += f" →{mixed}"
    return texts
