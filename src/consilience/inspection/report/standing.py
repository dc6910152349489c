"""How the views stand: which of them took no part, and why; whether any of them agree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ...cluster.fusion import GraphFusion
from ...neighbors import view_reliability
from ..overview import Inspection
from ..subject import as_subject
from .wording import listed, quoted

Reason = Literal["stranger", "apart", "constant", "silent", "copy"]
# In the order in which they should worry a reader.
REASONS: tuple[Reason, ...] = ("stranger", "apart", "constant", "silent", "copy")
_WHY = {
    "stranger": ("it agrees", "they agree", "with no other view about who is near whom, beyond chance"),
    "apart": ("it agrees", "they agree", "with other views that were left out, but with none that took part"),
    "constant": ("it says", "they say", "nothing, for all samples look the same"),
    # A model does not keep which samples such a view has seen.
    "silent": ("it says", "they say", "nothing, for samples are too few or all look the same"),
}


@dataclass(frozen=True)
class Absence:
    """Why a view took no part: the reason, and the view that it repeats if it is a copy."""

    reason: Reason
    original: int | None = None


def find_absences(model: GraphFusion, found: Inspection) -> dict[int, Absence]:
    """Return why each view took no part that did not."""
    told = np.flatnonzero([one is not None for one in model.neighbors_])
    each = None if model.agreement_ is None else view_reliability(model.agreement_)
    absences = {}
    for i in np.flatnonzero(~found.views.heard).tolist():
        if i not in told or each is None:
            absences[i] = Absence("constant" if as_subject(model).seen.all() else "silent")
            continue
        place = int(np.searchsorted(told, i))
        original = int(each.copy_of[place])
        if original != place:
            absences[i] = Absence("copy", int(told[original]))
        else:
            absences[i] = Absence("apart" if each.groups[place] >= 0 else "stranger")
    return absences


def why(absences: Sequence[Absence], names: Sequence[str], most: int = 6) -> str:
    """Say why views took no part that did so for one reason: "it agrees with no other view ..."."""
    one = len(absences) == 1
    reason = absences[0].reason
    if reason == "copy":
        originals = sorted({absence.original for absence in absences if absence.original is not None})
        which = listed([quoted(names[i]) for i in originals], most, "view")
        return f"{'it is a copy' if one else 'they are copies'} of {which}, or nearly"
    singular, plural, rest = _WHY[reason]
    return f"{singular if one else plural} {rest}"


def none_agree(found: Inspection) -> bool:
    """Say whether no two of the views that took part agree beyond chance, though they could be compared."""
    heard = found.views.heard
    both = np.outer(heard, heard) & ~np.eye(len(heard), dtype=bool)
    compared = both & np.isfinite(found.agreement.shares)
    return bool(compared.any() and not (compared & found.agreement.significant).any())
