"""Agree: which views are kept, and how much each view and row counts, from how far the views agree."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..agreement.reliability import LEAST_ROW_TRUST, ViewReliability, row_trust, view_reliability
from ..agreement.statistics import Agreement, agreement_from
from ..engines import Engine
from ..engines.protocol import Search
from ..engines.results import Neighbors, SearchReport
from ..io.stored import stored
from ..run.handles import HANDLE
from ..run.messages import Advice, Setting, warn
from .prepare import PreparedViews
from .search import search
from .structure import with_structure

logger = logging.getLogger(__name__)

Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Weighting:
    """How much views and rows shall count.

    Attributes
    ----------
    view_weights : ndarray of shape (number of active views,), or None
        Given by the user; None: by agreement, and views that agree with no other view are left out.
    rows_by_agreement : bool
        Whether rows that no other view confirms count less.
    selects : bool, default=False
        Whether views that agree with no other view are left out although the weights are given.
    """

    view_weights: NDArray[np.float64] | None
    rows_by_agreement: bool
    selects: bool = False

    @property
    def keeps_all(self) -> Setting:
        """The setting that leaves no view out."""
        return Setting("view_selection", "all") if self.selects else Setting("view_weights", "uniform")


@stored()
@dataclass(frozen=True, eq=False)
class ViewSelection:
    """Which of the views are kept, and how much each counts where.

    Attributes
    ----------
    kept : ndarray of bool of shape (v,)
        Which of the active views are kept.
    weights : ndarray of shape (number kept,)
        How much each of these counts.
    trust : trust, or None
        How much each row of each kept view counts; None: 1.
    only_for : ndarray of bool of shape (v,)
        Which are kept only for samples that no reliable view has seen.
    orphans : ndarray of bool of shape (n,)
        Which samples those are.
    lists : tuple of lists
        The neighbours in all active views as they were compared: ties do not depend on the order of samples.
    agreement : Agreement or None
        How far the active views agree; None if nothing was compared.
    reliability : ViewReliability or None
        How reliable each view is.
    reports : tuple of SearchReport
        How the neighbours of each active view were found.
    matched : ndarray of shape (number kept,), or None
        The share of each kept view's rows that belong to their sample; None if that was not looked at.
    """

    kept: Bools
    weights: NDArray[np.float64]
    trust: Any | None = field(repr=False, metadata=HANDLE)
    only_for: Bools
    orphans: Bools = field(repr=False)
    lists: tuple[Any, ...] = field(repr=False, metadata=HANDLE)
    agreement: Agreement | None = None
    reliability: ViewReliability | None = None
    reports: tuple[SearchReport, ...] = ()
    matched: NDArray[np.float64] | None = None


def agree(
    found: Sequence[Neighbors],
    views: PreparedViews,
    weighting: Weighting,
    first: Bools | None = None,
    *,
    engine: Engine,
) -> ViewSelection:
    """Compare the views by their neighbours, and say which are kept and how much they count.

    Parameters
    ----------
    found : sequence of Neighbors
        Each view's neighbours.
    views : PreparedViews
        The views.
    weighting : Weighting
        Which weights follow from agreement.
    first : ndarray of bool of shape (v,), default=None
        Views that are numbered before the others: those that are used, so that a view that is left out does
        not decide how their ties are broken. None: as they come.
    engine : Engine
        The engine that compares.

    Warns
    -----
    UserWarning
        If views are left out, or none can be preferred.
    """
    v, n = len(views), views.n_samples
    kept, only_for, orphans = np.ones(v, dtype=bool), np.zeros(v, dtype=bool), np.zeros(n, dtype=bool)
    lists, reports = [one.lists for one in found], tuple(one.report for one in found)
    by_agreement = weighting.view_weights is None
    selects = by_agreement or weighting.selects
    if not selects and not weighting.rows_by_agreement:
        assert weighting.view_weights is not None
        weights = weighting.view_weights
        return ViewSelection(kept, weights, None, only_for, orphans, tuple(lists), reports=reports)
    compared = tuple(
        engine.break_ties(views.points[i], one.lists, (n, number), one.report.search)
        for i, (one, number) in enumerate(zip(found, _numbers(v, first), strict=True))
    )
    agreement = agreement_from(engine.overlaps(engine.stack(compared), views.mask))
    structured = None
    if selects and v > 1:  # by agreement, so that views of noise must be told from others
        agreement, structured = with_structure(agreement, views, engine=engine)
    reliability = view_reliability(agreement, structured)
    logger.info("reliability of %s: %s", ", ".join(views.names), reliability.values.round(4))
    weights = np.ones(v) if weighting.view_weights is None else weighting.view_weights
    if selects:
        found_weights, only_for, orphans = _weights_by_agreement(reliability, views)
        _warn_about(agreement, reliability, views.names, int(orphans.sum()), weighting.keeps_all)
        kept = found_weights > 0
        weights = found_weights if by_agreement else weights
    trust = None
    if weighting.rows_by_agreement:
        chosen = [one for one, keep in zip(compared, kept, strict=True) if keep]
        trust = row_trust(chosen, agreement.only(kept), views.only(kept).mask, engine)
    if only_for.any():
        trust = engine.lower_trust(trust, int(kept.sum()), only_for[kept], ~orphans, LEAST_ROW_TRUST)
    return ViewSelection(
        kept, weights[kept], trust, only_for, orphans, compared, agreement, reliability, reports
    )


def _numbers(v: int, first: Bools | None) -> list[int]:
    """Return the numbers of views: as they come, or those named first."""
    order = np.arange(v) if first is None else np.argsort(~first, kind="stable")
    return np.argsort(order).tolist()


def select_views(views: PreparedViews, n_neighbors: int, how: Search, *, engine: Engine) -> ViewSelection:
    """Search each view's neighbours, compare the views by them, and say which are kept; all count alike.

    For systems that do not weigh views: the same views are kept as by SGF and DGF.

    Parameters
    ----------
    views : PreparedViews
        The views.
    n_neighbors : int
        Neighbours of each sample.
    how : {"auto", "exact", "approximate"}
        How they are found.
    engine : Engine
        The engine that searches and compares.
    """
    found = [search(i, views, n_neighbors, how, True, engine=engine) for i in range(len(views))]
    return agree(found, views, Weighting(np.ones(len(views)), False, selects=True), engine=engine)


def _weights_by_agreement(
    reliability: ViewReliability, views: PreparedViews
) -> tuple[NDArray[np.float64], Bools, Bools]:
    """Return the weights, which views are kept only for orphans, and which samples those are.

    A sample that only unreliable views have seen keeps these, with the least weight of the others.
    """
    relied_on = reliability.weights > 0
    seen = np.ones((views.n_samples, len(views)), dtype=bool) if views.mask is None else views.mask
    orphans = np.logical_not(seen[:, relied_on].any(axis=1))
    only_for = seen[orphans].any(axis=0) & (reliability.copy_of == np.arange(len(views)))
    least = reliability.weights[relied_on].min(initial=1.0)
    return np.where(only_for, least, reliability.weights), only_for, orphans


def _warn_about(
    agreement: Agreement,
    reliability: ViewReliability,
    view_names: Sequence[str],
    n_orphans: int,
    keeps_all: Setting,
) -> None:
    """Name the views that are left out, and say so if none can be preferred."""
    names, kept = np.array(view_names, dtype=object), reliability.weights > 0
    is_copy = reliability.copy_of != np.arange(len(names))
    for copy in np.flatnonzero(is_copy).tolist():
        original = reliability.copy_of[copy]
        warn(
            Advice(
                f"View {names[copy]!r} is a copy of {names[original]!r}, or nearly: they share "
                f"{agreement.shares[copy, original]:.0%} of their neighbours, beyond chance. "
                "It is left out; ",
                keeps_all,
                " keeps it.",
            )
        )
    at_odds = agreement.comparable & ~agreement.significant
    dropped = ~kept & ~is_copy
    if not reliability.any_agree and at_odds[np.ix_(kept, kept)].any():
        warn(_none_agree(names[kept].tolist(), bool(dropped.any())))
    if (dropped & (reliability.groups < 0)).any():
        without = names[dropped & (reliability.groups < 0)].tolist()
        warn(_left_out(without, n_orphans, keeps_all, structured=reliability.any_agree))
    groups = [names[reliability.groups == group].tolist() for group in range(reliability.groups.max() + 1)]
    if len(groups) > 1:
        listed = "; ".join(", ".join(map(repr, group)) for group in groups)
        chosen = names[kept & (reliability.groups >= 0)].tolist()
        what = "None can be preferred, so all count alike."
        if (dropped & (reliability.groups >= 0)).any():
            what = f"Only the largest group is kept ({', '.join(map(repr, chosen))})."
        warn(
            f"The views fall into {len(groups)} groups that agree among themselves but not with each other "
            f"({listed}): they show different clusterings. {what} Cluster each group on its own."
        )


def _none_agree(names: list[str], others_dropped: bool) -> str:
    """Return the warning that none of these views can be preferred."""
    of_all = "two" if len(names) == 2 else f"{len(names)}"
    which = f" that have structure of their own ({', '.join(map(repr, names))})" if others_dropped else ""
    fact = (
        f"The {of_all} views{which} agree about who is near whom no more than by chance: neither can be "
        "preferred, so both count alike."
        if len(names) == 2
        else f"No two of the {of_all} views{which} agree about who is near whom more than by chance: none "
        "can be preferred, so all count alike."
    )
    return (
        f"{fact} Are the rows of all views in the same order? Look at the clusters of each view alone, too: "
        "`labels_by_view()` has them, and the command writes them into labels.csv."
    )


def _left_out(names: list[str], n_orphans: int, keeps_all: Setting, *, structured: bool) -> str:
    shown = ", ".join(map(repr, names[:8])) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
    but = f", except for {n_orphans} samples that no other view has seen" if n_orphans else ""
    who, agree, they_are, them, have, their = (
        ("View", "agrees", "It is", "it", "has", "its")
        if len(names) == 1
        else ("The views", "agree", "They are", "them", "have", "their")
    )
    also = "" if structured else f", and {have} no structure of {their} own"
    return Advice(
        f"{who} {shown} {agree} with no other view about who is near whom, beyond chance{also}. {they_are} "
        f"left out{but}; ",
        keeps_all,
        f" keeps {them}.",
    )
