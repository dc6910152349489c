"""Who is listened to: weights for views and rows from how far the views agree."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..neighbors import (
    Agreement,
    ViewReliability,
    fair_lists,
    row_reliability,
    view_agreement,
    view_reliability,
)
from ..neighbors.reliability import LEAST_TRUST
from ..warned import warn
from .prepared import PreparedViews

logger = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class Hearing:
    """Which of the views that take part are heard, and where.

    Attributes
    ----------
    heard : ndarray of bool of shape (v,)
        Which of them have a say.
    needed : ndarray of bool of shape (v,)
        Which are heard only because there are samples that no view has seen which is relied on.
    lost : ndarray of bool of shape (n,)
        Which samples these are.
    """

    heard: NDArray[np.bool_]
    needed: NDArray[np.bool_]
    lost: NDArray[np.bool_]

    @classmethod
    def of_all(cls, n_views: int, n_samples: int) -> Hearing:
        """Hear every view everywhere."""
        return cls(
            np.ones(n_views, dtype=bool), np.zeros(n_views, dtype=bool), np.zeros(n_samples, dtype=bool)
        )

    def views(self, prepared: PreparedViews) -> PreparedViews:
        """Return the views that are heard."""
        return prepared if self.heard.all() else prepared.only(self.heard)

    def lists(self, neighbors: Sequence[NDArray[np.int32]]) -> list[NDArray[np.int32]]:
        """Return their neighbours, in views that are only needed those of the samples they are needed for."""
        own = np.arange(len(self.lost), dtype=np.int32)[:, None]
        return [
            np.where(self.lost[:, None], one, own) if needed else one
            for one, heard, needed in zip(neighbors, self.heard, self.needed, strict=True)
            if heard
        ]


@dataclass(frozen=True, eq=False)
class JudgedViews:
    """What the views that take part say about each other.

    Attributes
    ----------
    between : Agreement
        How far each two of them agree.
    each : ViewReliability
        How far each can be relied on.
    lists : list of ndarray of shape (n, k)
        Their neighbours, without regard to the order of the samples.
    lost : ndarray of bool of shape (n,)
        Which samples only views have seen that are not relied on.
    needed : ndarray of bool of shape (v,)
        Which views those are. They are heard on these samples, and on no others.
    """

    between: Agreement
    each: ViewReliability
    lists: list[NDArray[Any]]
    lost: NDArray[np.bool_]
    needed: NDArray[np.bool_]

    @property
    def weights(self) -> NDArray[np.float64]:
        """How much each view counts: one that is only needed as the least of the others."""
        relied_on = self.each.weights > 0
        return np.where(self.needed, self.each.weights[relied_on].min(initial=1.0), self.each.weights)

    def rows(self, heard: NDArray[np.bool_], mask: Any) -> NDArray[np.float64]:
        """Return how much each row of the views that are heard should count."""
        lists = [one for one, kept in zip(self.lists, heard, strict=True) if kept]
        return row_reliability(lists, self.between.only(heard), mask)

    @property
    def hearing(self) -> Hearing:
        """Who is heard, and where."""
        return Hearing(self.weights > 0, self.needed, self.lost)

    def doubted(self, rows: NDArray[np.float64], heard: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return the trust in rows, next to none in what views that are only needed say of other samples."""
        return np.where(self.needed[heard] & ~self.lost[:, None], LEAST_TRUST, rows)


def judge_views(neighbors: Sequence[NDArray[np.int32]], prepared: PreparedViews) -> JudgedViews:
    """Compare the views that take part by their neighbours."""
    lists = fair_lists(prepared.spaces, neighbors)
    between = view_agreement(lists, prepared.mask)
    each = view_reliability(between)
    logger.info("reliability of %s: %s", ", ".join(prepared.names), each.values.round(4))
    seen = np.ones((prepared.n_samples, len(lists)), dtype=bool) if prepared.mask is None else prepared.mask
    lost = np.logical_not(seen[:, each.weights > 0].any(axis=1))
    needed = seen[lost].any(axis=0) & (each.copy_of == np.arange(len(lists)))
    return JudgedViews(between, each, lists, lost, needed)


def warn_about(judged: JudgedViews, prepared: PreparedViews) -> None:
    """Name the views that are not heard, and say so if none can be preferred."""
    names, each, heard = np.array(prepared.names, dtype=object), judged.each, judged.each.weights > 0
    is_copy = each.copy_of != np.arange(len(names))
    for copy in np.flatnonzero(is_copy).tolist():
        original = each.copy_of[copy]
        warn(
            f"View {names[copy]!r} is a copy of {names[original]!r}, or nearly: they share "
            f"{judged.between.shares[copy, original]:.0%} of their neighbours, beyond chance. It is left "
            "out; view_weights='uniform' keeps it."
        )
    at_odds = judged.between.comparable & ~judged.between.significant
    if not each.any_agree and at_odds[np.ix_(heard, heard)].any():
        warn(_none_agree(int(heard.sum())))
    silenced = ~heard & ~is_copy
    if (silenced & (each.groups < 0)).any():
        warn(_left_out(names[silenced & (each.groups < 0)].tolist(), int(judged.lost.sum())))
    groups = [names[each.groups == group].tolist() for group in range(each.groups.max() + 1)]
    if len(groups) > 1:
        told = "; ".join(", ".join(map(repr, group)) for group in groups)
        kept = names[heard & (each.groups >= 0)].tolist()
        what = "None can be preferred, so all count alike."
        if (silenced & (each.groups >= 0)).any():
            what = f"Only the largest group is heard ({', '.join(map(repr, kept))})."
        warn(
            f"The views fall into {len(groups)} groups that agree among themselves but not with each other "
            f"({told}): they tell different stories. {what} Cluster each group on its own."
        )


def _none_agree(v: int) -> str:
    told = (
        "The two views agree about who is near whom no more than by chance: neither can be preferred, so "
        "both count alike."
        if v == 2
        else f"No two of the {v} views agree about who is near whom more than by chance: none can be "
        "preferred, so all count alike."
    )
    return told + " Are the rows of all views in the same order?"


def _left_out(names: list[str], n_lost: int) -> str:
    shown = ", ".join(map(repr, names[:8])) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
    but = f", but for {n_lost} samples that no other view has seen" if n_lost else ""
    who, agree, they_are, them = (
        ("View", "agrees", "It is", "it") if len(names) == 1 else ("The views", "agree", "They are", "them")
    )
    return (
        f"{who} {shown} {agree} with no other view about who is near whom, beyond chance. {they_are} left "
        f"out{but}; view_weights='uniform' keeps {them}."
    )
