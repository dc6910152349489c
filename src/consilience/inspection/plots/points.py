"""Samples one by one: where they are, and how sure their clusters are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..confidence import SampleConfidence
from ..drawing import GREY, list_on_y
from .canvas import COLOURS, MARKERS, Floats, canvas, clusters_of, colour_bar, ink, shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MANY = 20_000  # points from which on a file holds them as a picture
_ROWS = 15  # of a legend
_DOTS = 300  # samples of a cluster that are drawn, at most
Measure = Literal["lowest", "silhouette", "margin", "neighbor_agreement"]


def plot_embedding(
    points: ArrayLike,
    labels: ArrayLike | None = None,
    *,
    values: ArrayLike | None = None,
    name: str = "value",
    ax: Axes | None = None,
) -> Axes:
    """Draw the samples as points, coloured by cluster or by a value.

    Parameters
    ----------
    points : array-like of shape (n, 2) or (n, d)
        Where the samples are. Of more than two dimensions, such as ``model.embedding_``, the two principal
        components are drawn; with many clusters a layout of your choice, such as t-SNE, shows more.
    labels : array-like of shape (n,), default=None
        The clusters. Beyond eight, colours come again with another marker.
    values : array-like of shape (n,), default=None
        A value for each sample, such as its largest conflict, or its confidence; NaN is a grey cross. Give
        either labels or values.
    name : str, default="value"
        What the values are.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; None: in a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from consilience import DistanceGraphFusion, make_multiview
    >>> from consilience.inspection import sample_confidence
    >>> from consilience.inspection.plots import plot_embedding
    >>> data = make_multiview(200, n_clusters=3, separation=4.0, random_state=0)
    >>> model = DistanceGraphFusion(n_clusters=3, random_state=0).fit(data.views)
    >>> ax = plot_embedding(model.embedding_, model.labels_)  # doctest: +SKIP
    >>> sure = sample_confidence(model).lowest
    >>> ax = plot_embedding(model.embedding_, values=sure, name="confidence")  # doctest: +SKIP
    """
    if (labels is None) == (values is None):
        raise ValueError("Give either labels or values: points have one colour each.")
    given = np.asarray(points, dtype=np.float64)
    where = _flat(given)
    n = len(where)
    style: dict[str, Any] = {
        "s": float(np.clip(20_000 / max(n, 1), 4, 28)),
        "alpha": 0.85,
        "linewidths": 0.0,
        "rasterized": n > _MANY,
    }
    with canvas(ax, 5.8, 4.4) as axes:
        if labels is not None:
            _by_cluster(axes, where, *clusters_of(labels, n), style)
        else:
            _by_value(axes, where, np.asarray(values, dtype=np.float64), name, style)
        flat = given.shape[1] > 2
        axes.set_xlabel("first principal component" if flat else "first coordinate")
        axes.set_ylabel("second principal component" if flat else "second coordinate")
        axes.set_xticks([])
        axes.set_yticks([])
        return axes


def _flat(points: Floats) -> Floats:
    """Return points in two dimensions: as they are, or their principal components."""
    if points.ndim != 2 or points.shape[1] == 0:
        raise ValueError(f"points has shape {points.shape}; it must have a row for each sample.")
    if not np.isfinite(points).all():
        raise ValueError("points has values that are not finite: a sample without a place cannot be drawn.")
    if points.shape[1] == 1:
        return np.column_stack([points, np.zeros(len(points))])
    if points.shape[1] == 2 or len(points) == 0:
        return points[:, :2]
    centred = points - points.mean(axis=0)
    _, axes = np.linalg.eigh(centred.T @ centred)
    chosen = axes[:, [-1, -2]]
    # An axis may point either way: the entry that is largest is made positive, so that pictures repeat.
    return np.asarray(centred @ (chosen * np.sign(chosen[np.abs(chosen).argmax(axis=0), [0, 1]])))


def _by_cluster(
    axes: Axes, where: Floats, names: list[str], numbers: NDArray[np.intp], style: dict[str, Any]
) -> None:
    for i, name in enumerate(names):
        rows = where[numbers == i]
        colour, marker = COLOURS[i % len(COLOURS)], MARKERS[i // len(COLOURS) % len(MARKERS)]
        axes.scatter(rows[:, 0], rows[:, 1], color=colour, marker=marker, label=shown(name, 16), **style)
    legend = axes.legend(
        title="cluster",
        loc="center left",
        bbox_to_anchor=(1.0, 0.5),
        ncols=-(-len(names) // _ROWS),
        handletextpad=0.2,
        columnspacing=0.8,
        frameon=False,
    )
    for handle in legend.legend_handles:
        assert handle is not None
        handle.set(sizes=[26], alpha=1.0)


def _by_value(axes: Axes, where: Floats, values: Floats, name: str, style: dict[str, Any]) -> None:
    if values.shape != (len(where),):
        raise ValueError(
            f"values has shape {values.shape}; there must be one for each of {len(where)} samples."
        )
    known = np.flatnonzero(np.isfinite(values))
    if len(known) < len(values):
        rest = where[~np.isfinite(values)]
        crosses = {**style, "marker": "x", "linewidths": 0.7, "color": GREY}
        axes.scatter(rest[:, 0], rest[:, 1], label="no value", **crosses)
        axes.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), borderaxespad=0.2, frameon=False)
    order = known[np.argsort(values[known], kind="stable")]  # the largest on top
    drawn = axes.scatter(where[order, 0], where[order, 1], c=values[order], cmap="viridis", **style)
    if len(order):
        drawn.set_alpha(None)  # the scale next to it is not transparent either
        colour_bar(axes, drawn, shown(name, 40))


def plot_confidence(
    confidence: SampleConfidence, labels: ArrayLike, ax: Axes | None = None, *, measure: Measure = "lowest"
) -> Axes:
    """Draw how sure the clusters of the samples are, cluster by cluster.

    Parameters
    ----------
    confidence : SampleConfidence
        What `sample_confidence` returned.
    labels : array-like of shape (n,)
        The clusters.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; None: in a new figure.
    measure : {"lowest", "silhouette", "margin", "neighbor_agreement"}, default="lowest"
        Which of the three to draw, or the lowest of them.

    Returns
    -------
    matplotlib.axes.Axes
        For each cluster a box from the first to the third quartile with the median, whiskers from the 5th to
        the 95th percentile, and dots: all samples, or 300 of them.

    Examples
    --------
    >>> from consilience import DistanceGraphFusion, make_multiview
    >>> from consilience.inspection import sample_confidence
    >>> from consilience.inspection.plots import plot_confidence
    >>> data = make_multiview(200, n_clusters=3, separation=4.0, random_state=0)
    >>> model = DistanceGraphFusion(n_clusters=3, random_state=0).fit(data.views)
    >>> ax = plot_confidence(sample_confidence(model), model.labels_)  # doctest: +SKIP
    """
    axis_titles = {
        "lowest": "confidence: the lowest of silhouette,\nmargin and agreement of neighbours",
        "silhouette": "silhouette in the embedding",
        "margin": "margin to the next cluster",
        "neighbor_agreement": "share of a sample's weight within its cluster",
    }
    if measure not in axis_titles:
        raise ValueError(f"measure must be one of {', '.join(map(repr, axis_titles))}; got {measure!r}.")
    values = np.asarray(getattr(confidence, measure))
    names, numbers = clusters_of(labels, len(values))
    sizes = np.bincount(numbers, minlength=len(names))
    with canvas(ax, 6.0, float(np.clip(0.24 * len(names) + 1.1, 1.9, 12.0))) as axes:
        list_on_y(axes, [f"{shown(name)} ({size:,})" for name, size in zip(names, sizes, strict=True)])
        axes.grid(visible=False)
        rng = np.random.default_rng(0)  # for the places of dots across their row only
        for i in range(len(names)):
            _box(axes, values[numbers == i], i, rng)
        axes.set_xlim(
            -1.03 if measure == "silhouette" and np.nanmin(values, initial=0.0) < 0 else -0.03, 1.03
        )
        axes.set_ylabel("cluster (samples)")
        axes.set_xlabel(axis_titles[measure])
        return axes


def _box(axes: Axes, values: Floats, row: int, rng: np.random.Generator) -> None:
    known = values[np.isfinite(values)]
    if len(known) == 0:
        axes.text(0.0, row, "no value", va="center", color=GREY, style="italic")
        return
    colour = COLOURS[0]
    dots = known if len(known) <= _DOTS else rng.choice(known, _DOTS, replace=False)
    across = row + rng.uniform(-0.3, 0.3, len(dots))
    axes.scatter(dots, across, s=3, color=colour, alpha=0.35, linewidths=0)
    low, first, median, third, high = np.quantile(known, [0.05, 0.25, 0.5, 0.75, 0.95])
    axes.hlines(row, low, high, color=ink(), linewidth=0.8)
    axes.barh(row, third - first, 0.5, left=first, facecolor="none", edgecolor=ink(), linewidth=0.8)
    axes.vlines(median, row - 0.25, row + 0.25, color=ink(), linewidth=2)
