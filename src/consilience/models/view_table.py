"""One row for each view of a fit: whether it was kept, how much it counts, how far it agrees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..fusion import FusionResult
from ..io.stored import stored
from ..stages.agree import ViewSelection
from ..stages.prepare import PreparedViews, expand

KEPT = "kept"
Floats = NDArray[np.float64]


@stored()
@dataclass(frozen=True, eq=False, repr=False)
class ViewTable:
    """What the fit did with each view. Columns have one entry per view, in the order of the data.

    Attributes
    ----------
    name : tuple of str
        Names of the views.
    status : tuple of str
        ``"kept"``, or why a view was left out.
    weight : ndarray of shape (v,)
        How much each view counts (the paper's lambda); 0 for a view left out.
    scale : ndarray of shape (v,)
        The factor that brings a view to the common scale (the paper's alpha): no measure of trust. 0 for a
        view left out, NaN for models that have none.
    contribution : ndarray of shape (v,)
        Share of the unified graph that comes from each view; they sum to 1.
    reliability : ndarray of shape (v,)
        Median agreement with the other kept views, copies not counted; 0 for a view that agrees with no
        other, NaN if there is nothing to compare, or agreement is not used.
    inconsistent_share : ndarray of shape (v,)
        How much of a view's own weight the others do not confirm; NaN for a view left out.

    Examples
    --------
    >>> from consilience import DistanceGraphFusion, make_multiview
    >>> data = make_multiview(200, n_views=2, noise_views=1, n_clusters=3, separation=4.0, random_state=0)
    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     model = DistanceGraphFusion(n_clusters=3, random_state=0).fit(data.views)
    >>> model.views_.status
    ('kept', 'kept', 'agrees with no other view')
    """

    name: tuple[str, ...]
    status: tuple[str, ...]
    weight: Floats
    scale: Floats
    contribution: Floats
    reliability: Floats
    inconsistent_share: Floats

    @property
    def kept(self) -> NDArray[np.bool_]:
        """Which views were kept."""
        return self.weight > 0

    def __len__(self) -> int:
        return len(self.name)

    def __getitem__(self, view: int | str) -> dict[str, Any]:
        """Return the row of a view, by its number or its name."""
        if isinstance(view, str) and view not in self.name:
            raise KeyError(f"no view {view!r}: the views are {', '.join(map(repr, self.name))}")
        i = self.name.index(view) if isinstance(view, str) else view
        return {field.name: getattr(self, field.name)[i] for field in fields(self)}

    def to_frame(self) -> Any:
        """Return a pandas DataFrame, indexed by the names; needs pandas."""
        import pandas as pd  # type: ignore[import-untyped,unused-ignore]

        columns = {field.name: getattr(self, field.name) for field in fields(self)}
        return pd.DataFrame(columns).set_index("name")

    def __repr__(self) -> str:
        columns = [field.name for field in fields(self)]
        rows = [[_shown(self[i][column]) for column in columns] for i in range(len(self))]
        header = [column.replace("_", " ") for column in columns]
        widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
        return "\n".join(
            "  ".join(
                cell.ljust(width) if i < 2 else cell.rjust(width)
                for i, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in (header, *rows)
        )


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return value
    return "" if np.isnan(value) else f"{value:.3f}"


def make_view_table(
    names: Sequence[str],
    everything: PreparedViews,
    selection: ViewSelection,
    weights: Floats,
    fusion: FusionResult | None,
) -> ViewTable:
    """Put the table together.

    Parameters
    ----------
    names : sequence of str
        All views.
    everything : PreparedViews
        Those that say anything.
    selection : ViewSelection
        Those that were kept.
    weights : ndarray of shape (number kept,)
        How much each of these counts.
    fusion : FusionResult or None
        What a fusion found, on arrays; None: there are no scales.
    """
    kept = everything.expand(selection.kept, False)
    none = np.full(len(weights), np.nan)
    reliability = none if selection.reliability is None else selection.reliability.values
    return ViewTable(
        name=tuple(names),
        status=_statuses(names, everything, selection),
        weight=expand(weights, kept, 0.0),
        scale=expand(none if fusion is None else fusion.view_scales, kept, 0.0),
        contribution=expand(
            weights / weights.sum() if fusion is None else fusion.view_contributions, kept, 0.0
        ),
        reliability=(
            np.full(len(names), np.nan) if selection.reliability is None else everything.expand(reliability)
        ),
        inconsistent_share=expand(none if fusion is None else fusion.inconsistent_shares, kept, np.nan),
    )


def _statuses(names: Sequence[str], everything: PreparedViews, selection: ViewSelection) -> tuple[str, ...]:
    """Say of each view that it was kept, or why not."""
    statuses = ["says nothing: all samples look the same"] * len(names)
    found = selection.reliability
    for i, number in enumerate(np.flatnonzero(everything.active).tolist()):
        if selection.only_for[i]:
            statuses[number] = f"kept for {int(selection.orphans.sum())} samples that no other view has seen"
        elif selection.kept[i]:
            statuses[number] = KEPT
        elif found is not None and found.copy_of[i] != i:
            statuses[number] = f"copy of {everything.names[found.copy_of[i]]!r}"
        elif found is not None and found.groups[i] >= 0:
            statuses[number] = "agrees with the smaller group"
        else:
            statuses[number] = "agrees with no other view"
    return tuple(statuses)
