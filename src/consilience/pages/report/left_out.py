"""Which views were left out of the fusion, and why; whether any of those kept agree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ...agreement import view_reliability
from ...inspection.overview import Inspection
from ...inspection.subject import as_subject
from ...models.fusion import GraphFusion
from ...words import listed, quoted

Reason = Literal["disagrees", "apart", "constant", "silent", "copy"]
# The most serious first.
REASONS: tuple[Reason, ...] = ("disagrees", "apart", "constant", "silent", "copy")
_WHY = {
    "disagrees": ("it agrees", "they agree", "with no other view about who is near whom, beyond chance"),
    "apart": ("it agrees", "they agree", "with other views that were left out, but with none that was kept"),
    "constant": ("it says", "they say", "nothing, for all samples look the same"),
    # A model does not keep which samples such a view has seen.
    "silent": ("it says", "they say", "nothing, for samples are too few or all look the same"),
}


@dataclass(frozen=True)
class Absence:
    """Why a view was left out: the reason, and the view that it repeats if it is a copy."""

    reason: Reason
    original: int | None = None


def find_absences(model: GraphFusion, found: Inspection) -> dict[int, Absence]:
    """Return, for each view that was left out, why."""
    active = np.flatnonzero([one is not None for one in model.neighbors_])
    each = None if model.agreement_ is None else view_reliability(model.agreement_)
    absences = {}
    for i in np.flatnonzero(~found.views.kept).tolist():
        if i not in active or each is None:
            absences[i] = Absence("constant" if as_subject(model).seen.all() else "silent")
            continue
        place = int(np.searchsorted(active, i))
        original = int(each.copy_of[place])
        if original != place:
            absences[i] = Absence("copy", int(active[original]))
        else:
            absences[i] = Absence("apart" if each.groups[place] >= 0 else "disagrees")
    return absences


def why(absences: Sequence[Absence], names: Sequence[str], most: int = 6) -> str:
    """Say why views were left out for one reason: "it agrees with no other view ..."."""
    one = len(absences) == 1
    reason = absences[0].reason
    if reason == "copy":
        originals = sorted({absence.original for absence in absences if absence.original is not None})
        which = listed([quoted(names[i]) for i in originals], most, "view")
        return f"{'it is a copy' if one else 'they are copies'} of {which}, or nearly"
    singular, plural, rest = _WHY[reason]
    return f"{singular if one else plural} {rest}"
