"""Figures of the learned graphs: sensitivity to the parameters, convergence, and affinity matrices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..inspection.drawing import GREY, INK, plain
from .definitions import Paper
from .drawing import WIDTH, colour_of, new_figure, new_panels
from .rows import Row, in_order, known, set_title, system_title

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Surface = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]
_FEW = 5  # values of a parameter up to which a map has room for numbers


def draw_sensitivity(rows: Sequence[Row], paper: Paper) -> dict[str, Figure]:
    """Draw NMI over the grid, as surfaces like the paper's and as heat maps."""
    metric = paper.experiments.grid.select_by
    sets = in_order(known(rows, metric), "set")
    if not sets:
        return {}
    surfaces = {
        (data, name): _surface([row for row in rows if (row["set"], row["system"]) == (data, name)], metric)
        for data in sets
        for name in in_order(rows, "system")
    }
    return {
        "sensitivity-surface": _surfaces(surfaces, sets, paper, metric),
        "sensitivity-heatmap": _heat_maps(surfaces, sets, paper, metric),
    }


def _surface(rows: Sequence[Row], metric: str) -> Surface:
    """Return the exponents of beta and of gamma, and the score for each pair; NaN where there is none."""
    betas, gammas = (sorted({row[name] for row in rows}) for name in ("beta", "gamma"))
    scores = np.full((len(betas), len(gammas)), np.nan)
    for row in known(rows, metric):
        scores[betas.index(row["beta"]), gammas.index(row["gamma"])] = row[metric]
    return np.log10(betas), np.log10(gammas), scores


def _surfaces(
    surfaces: dict[tuple[str, str], Surface], sets: Sequence[str], paper: Paper, metric: str
) -> Figure:
    from mpl_toolkits import mplot3d  # noqa: F401 - importing it makes the projection known

    per_row = 4 if len(surfaces) > 2 else 2
    n_rows = math.ceil(len(surfaces) / per_row)
    width, height = WIDTH * per_row / 4, 2.35 * n_rows
    figure = new_figure(width, height, layout="none")
    figure.subplots_adjust(
        left=0.0, right=0.97, bottom=0.3 / height, top=1 - 0.12 / height, wspace=0.1, hspace=0.1
    )
    for number, ((data, name), (betas, gammas, scores)) in enumerate(surfaces.items(), 1):
        panel: Any = figure.add_subplot(n_rows, per_row, number, projection="3d")
        low, high = _limits([surfaces[key] for key in surfaces if key[0] == data])
        top = _round_up(high)
        b, g = np.meshgrid(betas, gammas, indexing="ij")
        panel.plot_surface(
            b,
            g,
            scores,
            cmap="viridis",
            vmin=low,
            vmax=high,
            rcount=50,
            ccount=50,
            edgecolor=INK,
            linewidth=0.25,
        )
        panel.set_zlim(0, top)
        panel.set_zticks(np.linspace(0, top, 3))
        for axis, exponents in (("x", betas), ("y", gammas)):
            getattr(panel, f"set_{axis}ticks")(_some(exponents))
        panel.set_xlabel(r"$\log_{10}\beta$", labelpad=-8)
        panel.set_ylabel(r"$\log_{10}\gamma$", labelpad=-8)
        panel.text2D(0.9, 0.84, metric, transform=panel.transAxes, ha="center")
        panel.tick_params(labelsize=7, pad=-3)
        panel.set_box_aspect((1, 1, 0.72), zoom=1.0)
        panel.view_init(elev=24, azim=-55)
        panel.set_title(f"{set_title(paper, data)}  {system_title(paper, name)}", fontweight="bold", y=0.97)
    return figure


def _limits(surfaces: Sequence[Surface]) -> tuple[float, float]:
    """Return the lowest and highest score; not the same, so that there is a scale of colours between them."""
    scores = np.concatenate([one[2].ravel() for one in surfaces])
    low, high = float(np.nanmin(scores)), float(np.nanmax(scores))
    return low, max(high, low + 0.1)


def _round_up(value: float) -> float:
    """Return the next number that is good for the end of an axis.

    Examples
    --------
    >>> _round_up(15.2), _round_up(78.9)
    (20.0, 80.0)
    """
    return 10.0 * max(math.ceil(value / 10), 1)


def _some(values: NDArray[np.float64]) -> list[float]:
    """Return ends and middle, if there are more than a few."""
    return [float(value) for value in (values if len(values) <= _FEW else values[[0, len(values) // 2, -1]])]


def _heat_maps(
    surfaces: dict[tuple[str, str], Surface], sets: Sequence[str], paper: Paper, metric: str
) -> Figure:
    per_row = 2 if len(sets) > 1 else 1  # sets; each has a panel per system and a scale of its own
    systems = list(dict.fromkeys(name for _, name in surfaces))
    n_rows = math.ceil(len(sets) / per_row)
    figure = new_figure(WIDTH * per_row / 2, 2.55 * n_rows + 0.2)
    grid = figure.subplots(n_rows, per_row * len(systems), squeeze=False)
    for number, data in enumerate(sets):
        row, column = divmod(number, per_row)
        panels = grid[row, column * len(systems) : (column + 1) * len(systems)]
        here = [surfaces[data, name] for name in systems]
        low, high = _limits(here)
        for panel, name, surface in zip(panels, systems, here, strict=True):
            drawn = _heat_map(panel, surface, low, high, paper)
            worst, best = np.nanmin(surface[2]), np.nanmax(surface[2])
            panel.set_title(
                f"{set_title(paper, data)}  {system_title(paper, name)}\n{worst:.1f} to {best:.1f}",
                fontsize=8.5,
            )
        figure.colorbar(
            drawn, ax=list(panels), shrink=0.8, pad=0.02, label=metric if column + 1 == per_row else ""
        )
    for spare in grid.flat[len(sets) * len(systems) :]:
        spare.remove()
    return figure


def _heat_map(panel: Axes, surface: Surface, low: float, high: float, paper: Paper) -> Any:
    betas, gammas, scores = surface
    drawn = panel.imshow(scores.T, origin="lower", cmap="viridis", vmin=low, vmax=high, interpolation="none")
    # Text and marks must show on the darkest and on the lightest cell.
    if max(scores.shape) <= _FEW:
        for (i, j), value in np.ndenumerate(scores):
            if math.isfinite(value):
                dark = value < (low + high) / 2
                panel.text(
                    i, j, f"{value:.0f}", ha="center", va="center", color="white" if dark else INK, fontsize=7
                )
    else:
        i, j = np.unravel_index(np.nanargmax(scores), scores.shape)
        panel.plot(i, j, "o", color=INK, markerfacecolor="none", markersize=8, markeredgewidth=1.6)
        point = paper.experiments.no_tuning.point
        untuned = np.log10([point.beta, point.gamma])
        place = [
            np.flatnonzero(np.isclose(one, at)) for one, at in zip((betas, gammas), untuned, strict=True)
        ]
        if all(len(one) for one in place):
            panel.plot(place[0][0], place[1][0], "x", color="white", markersize=6, markeredgewidth=3)
            panel.plot(place[0][0], place[1][0], "x", color="#B00000", markersize=6, markeredgewidth=1.6)
    for axis, exponents, name in (("x", betas, "beta"), ("y", gammas, "gamma")):
        step = 1 if len(exponents) <= _FEW else 5 if len(exponents) % 5 == 1 else 2
        places = range(0, len(exponents), step)
        getattr(panel, f"set_{axis}ticks")(places, [f"{exponents[i]:g}" for i in places])
        getattr(panel, f"set_{axis}label")(rf"$\log_{{10}}\{name}$")
    return drawn


def draw_convergence(rows: Sequence[Row], paper: Paper) -> dict[str, Figure]:
    """Draw the objective round by round, relative to its start: one panel per set and point."""
    rows = known(rows, "objective")
    if not rows:
        return {}
    points = list(dict.fromkeys((row["beta"], row["gamma"]) for row in rows))
    sets = in_order(rows, "set")
    columns = len(points) * (2 if len(sets) > 1 else 1)
    figure, panels = new_panels(
        len(sets) * len(points), columns, 1.75, width=WIDTH * min(columns, 4) / 4 + (0 if columns > 2 else 1)
    )
    lowest, last = 1.0, max(row["round"] for row in rows)
    for number, panel in enumerate(panels):
        data, (beta, gamma) = sets[number // len(points)], points[number % len(points)]
        here = [row for row in rows if (row["set"], row["beta"], row["gamma"]) == (data, beta, gamma)]
        for name in in_order(here, "system"):
            lowest = min(lowest, _curves(panel, [row for row in here if row["system"] == name], name))
        panel.set_title(
            rf"{set_title(paper, data)}   $\beta$ = {plain(beta)}, $\gamma$ = {plain(gamma)}", fontsize=8.5
        )
        panel.grid(axis="y")
        if number % columns == 0:
            panel.set_ylabel("objective / start")
    for panel in panels:
        panel.set_xlim(-1, last + 1)
        if lowest < 0.05:
            panel.set_yscale("log")
        else:
            panel.set_ylim(0, 1.05)
    figure.supxlabel("round", fontsize=8)
    _legend_of_curves(figure, in_order(rows, "system"), paper)
    return {"convergence": figure}


def _curves(panel: Axes, rows: Sequence[Row], system: str) -> float:
    """Draw the paper's steps, and the exact ones from where they part; return the lowest value."""
    found = {solver: [row for row in rows if row["solver"] == solver] for solver in in_order(rows, "solver")}
    lowest, shared = 1.0, 0
    width = 2.4 if system == "SGF" else 1.1  # two curves on one another show as two
    for solver, here in found.items():
        values = np.array([row["objective"] for row in here])
        values = values / values[0]
        lowest = min(lowest, float(values.min()))
        first = shared if solver == "exact" else 0
        if first < len(values):
            line = "--" if solver == "exact" else "-"
            rounds = np.arange(len(values))
            panel.plot(rounds[first:], values[first:], line, color=colour_of(system), linewidth=width)
        if solver == "dca":
            stop = here[0]["stopped_at"]
            if stop < len(values):  # else it would have gone on for longer
                panel.plot(stop, values[stop], "o", color=colour_of(system), markersize=3 + 1.5 * width)
            shared = len(values) - 1
    return lowest


def _legend_of_curves(figure: Figure, systems: Sequence[str], paper: Paper) -> None:
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], color=colour_of(name)) for name in systems]
    texts = [system_title(paper, name) for name in systems]
    handles += [
        Line2D([], [], color=INK),
        Line2D([], [], color=INK, linestyle="--"),
        Line2D([], [], color=INK, linestyle="", marker="o", markersize=5),
    ]
    texts += ["the paper's steps", "then exact steps", "the stopping rule ends here"]
    n_columns = len(texts) if figure.get_figwidth() >= WIDTH else 3
    figure.legend(handles, texts, loc="outside upper center", ncols=n_columns)


def draw_affinity(rows: Sequence[Row], paper: Paper) -> dict[str, Figure]:
    """Draw graphs as pictures, samples in order of their classes; below, which samples share a cluster."""
    if not rows:
        return {}
    figure = new_figure(WIDTH, WIDTH / len(rows) * 2 + 0.75)
    grid = figure.subplots(2, len(rows), squeeze=False)
    for (above, below), row in zip(grid.T, rows, strict=True):
        pixels = np.array(row["pixels"])
        size = len(pixels)
        # Few pixels hold most of the weight: the square root lets the weak ones show.
        top = np.quantile(pixels[pixels > 0], 0.99) if (pixels > 0).any() else 1.0
        above.imshow(
            np.sqrt(np.minimum(pixels / top, 1)), cmap="viridis", vmin=0, vmax=1, interpolation="none"
        )
        below.imshow(
            _together(np.array(row["labels"]), size), cmap="viridis", vmin=0, vmax=1, interpolation="none"
        )
        title = row["title"]
        if title in paper.systems:
            title = f"learned by {system_title(paper, title)}"
        above.set_title(title, fontweight="bold")
        above.set_xlabel(f"{100 * row['weight_between_classes']:.1f} % between classes")
        scores = [f"{name} {row[name]:.1f}" for name in ("ACC", "ARI", "NMI", "purity")]
        below.set_xlabel(f"{'  '.join(scores[:2])}\n{'  '.join(scores[2:])}")
        borders = _borders(np.array(row["truth"]), size)
        for panel in (above, below):
            panel.set_xticks(borders, [""] * len(borders))
            panel.set_yticks(borders, [""] * len(borders))
            panel.tick_params(length=2.5, color=GREY)
    grid[0, 0].set_ylabel("affinity, by class")
    grid[1, 0].set_ylabel("in one cluster, by class")
    return {"affinity": figure}


def _together(labels: NDArray[np.intp], size: int) -> NDArray[np.float64]:
    """Return a picture of which samples share a cluster: each pixel the share of pairs in its block."""
    places = np.arange(len(labels)) * size // len(labels)
    members = np.zeros((size, labels.max() + 1))
    np.add.at(members, (places, labels), 1.0)
    members /= members.sum(axis=1, keepdims=True)
    return members @ members.T


def _borders(truth: NDArray[np.intp], size: int) -> list[float]:
    """Return where, in pixels, a class ends and the next begins."""
    return [float(place * size / len(truth) - 0.5) for place in np.flatnonzero(np.diff(truth)) + 1]
