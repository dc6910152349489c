"""Curves: convergence, eigenvalues, sensitivity to a parameter."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from ..convergence import Convergence
from ..drawing import BLUE, GREY, ORANGE, VERMILION, log_axis
from ..health import GraphHealth
from ..sensitivity import Sensitivity
from .canvas import canvas, say, shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_DECADES = 100.0  # ratio of the largest to the smallest value from which on an axis is logarithmic


def plot_convergence(convergence: Convergence, ax: Axes | None = None) -> Axes:
    """Draw how the objective of the fusion fell, round by round.

    Parameters
    ----------
    convergence : Convergence
        What `convergence` returned.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; None: in a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from consilience import DistanceGraphFusion, make_multiview
    >>> from consilience.inspection import convergence
    >>> from consilience.inspection.plots import plot_convergence
    >>> data = make_multiview(200, n_clusters=3, separation=4.0, random_state=0)
    >>> model = DistanceGraphFusion(n_clusters=3, random_state=0).fit(data.views)
    >>> ax = plot_convergence(convergence(model))  # doctest: +SKIP
    """
    values = convergence.objective
    with canvas(ax, 5.0, 3.2) as axes:
        from matplotlib.ticker import MaxNLocator

        few = len(values) <= 40
        axes.plot(np.arange(len(values)), values, "o-" if few else "-", color=BLUE, markersize=4)
        positive = len(values) > 0 and float(np.min(values)) > 0
        if positive and np.max(values) / np.min(values) >= _DECADES:
            log_axis(axes.yaxis, list(values))
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.grid(axis="y")
        axes.set_xlabel("round")
        axes.set_ylabel("objective")
        rounds = "1 round" if convergence.n_iter == 1 else f"{convergence.n_iter} rounds"
        met = "stopping rule met" if convergence.converged else "stopped before the rule was met"
        axes.set_title(f"{met} after {rounds}" if convergence.converged else f"{met}, after {rounds}")
        return axes


def plot_eigengap(health: GraphHealth, ax: Axes | None = None) -> Axes:
    """Draw the smallest eigenvalues of the unified graph, and the gap behind the number of clusters.

    A graph with c clear clusters has c small eigenvalues and then a gap.

    Parameters
    ----------
    health : GraphHealth
        What `graph_health` returned.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; None: in a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from consilience import DistanceGraphFusion, make_multiview
    >>> from consilience.inspection import graph_health
    >>> from consilience.inspection.plots import plot_eigengap
    >>> data = make_multiview(200, n_clusters=3, separation=4.0, random_state=0)
    >>> model = DistanceGraphFusion(n_clusters=3, random_state=0).fit(data.views)
    >>> ax = plot_eigengap(graph_health(model))  # doctest: +SKIP
    """
    values, c = health.eigenvalues, health.n_clusters
    with canvas(ax, 5.0, 3.2) as axes:
        from matplotlib.ticker import MaxNLocator

        axes.set_xlabel("number of the eigenvalue")
        axes.set_ylabel("eigenvalue of the Laplacian")
        if len(values) == 0:
            axes.set_xticks([])
            axes.set_yticks([])
            say(axes, "no eigenvalues were computed")
            return axes
        numbers = np.arange(1, len(values) + 1)
        axes.plot(numbers[:c], values[:c], "o", color=BLUE, markersize=5)
        axes.plot(numbers[c:], values[c:], "o", color=GREY, markersize=5)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.grid(axis="y")
        if not np.isfinite(health.eigengap):
            axes.set_title(f"the gap behind {_clusters(c)} was not computed")
            return axes
        axes.axhspan(values[c - 1], values[c], color=BLUE, alpha=0.15, linewidth=0)
        axes.axvline(c + 0.5, color=BLUE, linewidth=0.8, linestyle=":")
        text = f"gap behind {_clusters(c)}: {health.eigengap:.3g}"
        largest = health.largest_gap
        if largest != c and largest > 1:
            gap = health.eigengaps[largest - 1]
            axes.axhspan(values[largest - 1], values[largest], color=ORANGE, alpha=0.25, linewidth=0)
            text += f"\nlargest: {gap:.3g}, behind {largest}"
        axes.set_title(text)
        return axes


def _clusters(count: int) -> str:
    return "1 cluster" if count == 1 else f"{count} clusters"


def plot_sensitivity(sensitivity: Sensitivity, ax: Axes | None = None) -> Axes:
    """Draw how the clusters change with a parameter.

    The axis is logarithmic if the values span two decades or more; values that are not numbers stand side by
    side.

    Parameters
    ----------
    sensitivity : Sensitivity
        What `sensitivity` returned.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; None: in a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        Agreement with the clusters of the fit, and a second line for the scores if there are any.

    Examples
    --------
    >>> from consilience import DistanceGraphFusion, make_multiview
    >>> from consilience.inspection import sensitivity
    >>> from consilience.inspection.plots import plot_sensitivity
    >>> data = make_multiview(200, n_clusters=3, separation=4.0, random_state=0)
    >>> model = DistanceGraphFusion(n_clusters=3, random_state=0).fit(data.views)
    >>> ax = plot_sensitivity(sensitivity(model, data.views, "gamma", [1, 100, 1e4]))  # doctest: +SKIP
    """
    values, kind = sensitivity.values, _kind_of_axis(sensitivity.values)
    places = np.arange(len(values)) if kind == "names" else np.array(values, dtype=np.float64)
    order = np.argsort(places, kind="stable")
    lines = [(sensitivity.agreement, "o-", BLUE, "ARI with the clusters of the fit")]
    if sensitivity.scores is not None:
        lines.append((sensitivity.scores, "s--", VERMILION, "NMI with the true labels"))
    with canvas(ax, 5.4, 3.3) as axes:
        for drawn, mark, colour, label in lines:
            axes.plot(places[order], drawn[order], mark, color=colour, markersize=5, label=label)
        if kind == "names":
            axes.set_xticks(places, [shown(value, 14) for value in values])
            axes.set_xlim(-0.5, len(values) - 0.5)
        elif kind == "log":
            log_axis(axes.xaxis, list(places))
        current = _place_of(sensitivity.current, values, kind)
        if current is not None:
            axes.axvline(current, color=GREY, linewidth=1.0, linestyle=":", label="the fit itself")
        lowest = min(float(np.nanmin(drawn, initial=0.0)) for drawn, *_ in lines)
        axes.set_ylim(lowest - 0.03 if lowest < 0 else 0.0, 1.05)
        axes.grid(axis="y")
        axes.set_xlabel(shown(sensitivity.parameter, 60))
        axes.set_title(f"the fit has {shown(f'{sensitivity.parameter} = {sensitivity.current!r}', 60)}")
        axes.legend(loc="best", frameon=False)
        return axes


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and bool(np.isfinite(float(value)))


def _kind_of_axis(values: Sequence[Any]) -> str:
    """Return "linear", "log", or "names" for values that no axis of numbers shows well.

    Examples
    --------
    >>> _kind_of_axis([5, 10, 20]), _kind_of_axis([0.01, 1, 100]), _kind_of_axis(["auto", 5])
    ('linear', 'log', 'names')
    >>> _kind_of_axis([0, 1, 1000])  # neither evenly nor by decades
    'names'
    """
    if not all(map(_is_number, values)):
        return "names"
    numbers = np.unique(np.array(values, dtype=np.float64))
    if numbers[0] > 0 and numbers[-1] / numbers[0] >= _DECADES:
        return "log"
    crowded = len(numbers) > 1 and (numbers[-1] - numbers[0]) / np.diff(numbers).min() >= _DECADES
    return "names" if crowded else "linear"


def _place_of(current: Any, values: Sequence[Any], kind: str) -> float | None:
    """Return where on the axis the fit itself is; None if it has no place there."""
    if kind != "names":
        fits = _is_number(current) and (kind == "linear" or current > 0)
        return float(current) if fits else None
    same = [i for i, value in enumerate(values) if value is current or repr(value) == repr(current)]
    return float(same[0]) if same else None
