"""The figures of all experiments, by name, and writing them as PNG and SVG."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..inspection.drawing import own_style
from ..io.files import put_in_place
from .definitions import Paper
from .graph_figures import draw_affinity, draw_convergence, draw_sensitivity
from .rows import Row
from .score_figures import draw_2019, draw_scores, draw_untuned
from .time_figures import draw_complexity, draw_eigengaps, draw_times

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_DRAW: dict[str, Callable[[Sequence[Row], Paper], dict[str, Figure]]] = {
    "scores": draw_scores,
    "times": draw_times,
    "sensitivity": draw_sensitivity,
    "convergence": draw_convergence,
    "complexity": draw_complexity,
    "affinity": draw_affinity,
    "no-tuning": draw_untuned,
    "2019": draw_2019,
    "eigengaps": draw_eigengaps,
}
# The author and the date of a file would make two files of the same figure differ.
_METADATA = {".svg": {"Date": None, "Creator": None}, ".png": {"Software": None}}


def draw(name: str, rows: Sequence[Row], paper: Paper, note: str = "") -> dict[str, Figure]:
    """Draw the figures of an experiment.

    Parameters
    ----------
    name : str
        The experiment.
    rows : sequence of dict
        Its table.
    paper : Paper
        The definitions.
    note : str, default=""
        Written small into the corner of each.

    Returns
    -------
    dict of str to Figure
        The names of the files, without ending, and what is to go into them. Empty if no row has a result.

    Raises
    ------
    ValueError
        If Matplotlib is not installed.
    """
    with own_style():
        drawn = _DRAW[name](rows, paper)
        if note:
            for figure in drawn.values():  # as a label of the whole figure, which the layout makes room for
                figure.supxlabel(note, x=0.99, ha="right", fontsize=6, color="0.4")
        return drawn


def save(figure: Figure, folder: Path, stem: str) -> None:
    """Write a figure as ``stem.png`` and ``stem.svg``: the same bytes whenever it is the same figure.

    The folder is made if it is not there.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with own_style():
        for ending, metadata in _METADATA.items():
            with put_in_place(folder / f"{stem}{ending}") as scratch:
                figure.savefig(scratch, metadata=metadata)
