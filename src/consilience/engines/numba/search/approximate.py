"""The approximate search: where it is asked for, or cheaper than comparing all pairs."""

from __future__ import annotations

import logging
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ....run.messages import warn
from ...points.protocol import Floats, Index
from ...results import Neighbors, SearchReport
from .copies import Copies
from .exact import Lists
from .regions import FEWEST, Regions, exact_sample, search_regions

logger = logging.getLogger(__name__)

SOUGHT = ((10_000, 0.99), (100_000, 0.98), (1_000_000, 0.91))  # samples, and the recall wanted for them
FEWEST_SAMPLES = 20_000  # from which on "auto" may use it: below, all pairs take seconds at most
_PER_ROOT = 1.4  # regions for the square root of the number of samples
_TO_CHOOSE, _TO_CHECK = 800, 400  # samples whose true neighbours decide on the effort, and on the recall
_SHORTFALL = 0.03  # how far the recall may be below the one wanted without a warning
_ROUNDING = 1e-11  # squared distances that differ by no more than this part are equal
_OVERHEAD = 2.0  # what a pair costs here, relative to a pair of the exact search


def sought_recall(n: int) -> float:
    """Return the recall wanted for n samples: less where each neighbour costs more.

    Examples
    --------
    >>> [round(sought_recall(n), 3) for n in (1000, 300_000, 5_000_000)]
    [0.99, 0.947, 0.91]
    """
    sizes, recalls = zip(*SOUGHT, strict=True)
    return float(np.interp(np.log(n), np.log(sizes), recalls))


class Features(Protocol):
    """Placed features, dense or sparse: the methods that a search needs."""

    x: Any
    blank: NDArray[np.bool_]
    name: str

    def nearest_of_all(self, k: int) -> Neighbors:
        """Return each sample's k nearest others, by comparing all pairs."""

    def searchable(self, rows: Index) -> Any:
        """Return some rows, all with a direction, as the approximate search takes them."""

    def reach(self, rows: Index, features: Any, places: Index, k: int) -> Floats:
        """Return how far the k-th nearest of some of the rows is, squared."""

    def measure_lists(self, rows: Index, order: Index, lists: Index, k: int) -> Lists:
        """Return each sample's k nearest of those listed by the approximate search, measured exactly."""

    def settle(self, found: Lists) -> None:
        """Correct the lists where many samples are equally far."""


def find_neighbors(points: Features, k: int, search: str) -> Neighbors:
    """Return most of each sample's k nearest others, or all of them if that is cheaper.

    Parameters
    ----------
    points : Features
        The view.
    k : int
        How many.
    search : {"auto", "approximate"}
        "auto": approximate only if the estimated cost is less than that of all pairs.

    Returns
    -------
    Neighbors
        With the distances that an approximate search has measured, to the last bit.
    """
    rows = np.flatnonzero(~points.blank).astype(np.int32)
    least = max(4 * k, 2 * FEWEST + 2)
    if len(rows) < least:
        return points.nearest_of_all(k)
    copies = Copies.among(points.x, rows)
    distinct = rows if copies is None else copies.first
    if len(distinct) >= least:
        found = _among_regions(points, distinct, k, may_decline=search == "auto")
    else:
        found = _among_all(points, distinct, k)
    if found is None:
        return points.nearest_of_all(k)
    lists, report = found
    lists = lists if copies is None else copies.spread(lists)
    points.settle(lists)
    return Neighbors(lists.nearest, report, lists)


def _among_all(points: Features, rows: Index, k: int) -> tuple[Lists, SearchReport]:
    """Compare all pairs of a few rows."""
    others = np.arange(len(rows) - 1, dtype=np.int32)
    places = np.arange(len(rows), dtype=np.int32)
    lists = points.measure_lists(rows, places, others + (others >= places[:, None]), k)
    return lists, SearchReport(pairs=len(rows) - 1.0)


def _among_regions(
    points: Features, rows: Index, k: int, may_decline: bool
) -> tuple[Lists, SearchReport] | None:
    """Search among rows that have a direction; None if comparing all pairs costs less."""
    features: Any = points.searchable(rows)
    n = len(features)
    # Always the same draw: neighbours depend neither on chance nor on the order of views.
    rng = np.random.default_rng(0)
    regions = Regions.among(features, min(n // 2, round(_PER_ROOT * np.sqrt(n))), rng)
    some, others = _drawn(n, rng)
    near = exact_sample(features, some, k)
    features.choose_precision(some, near[:, -1])
    effort = regions.least_effort(features, some, near, sought_recall(n))
    work = effort.pairs + len(regions)
    if may_decline and _OVERHEAD * work > n:
        logger.info(
            "view %r: exact search, because each sample would have to be compared with %.0f of %d",
            *(points.name, work, n),
        )
        return None
    order, lists = search_regions(features, k, regions, effort)
    found = points.measure_lists(rows, order, lists, k)
    recall = _recall(found, rows[others], points.reach(rows, features, others, k))
    logger.info(
        "view %r: approximate search, recall %.3f of %d neighbours on %d samples; each of %d samples was "
        "compared with about %.0f others",
        *(points.name, recall, k, len(others), n, work),
    )
    if recall < sought_recall(n) - _SHORTFALL:
        warn(
            f"View {points.name!r}: the approximate search found {100 * recall:.0f} % of the neighbours of "
            f"some samples, {100 * sought_recall(n):.0f} % were wanted. Pass neighbor_search='exact' to "
            "find all."
        )
    return found, SearchReport("approximate", recall, len(regions), work)


def _drawn(n: int, rng: np.random.Generator) -> tuple[Index, Index]:
    """Return some samples to choose the effort by, and others to measure the recall by."""
    drawn = rng.choice(n, min(n, _TO_CHOOSE + _TO_CHECK), replace=False).astype(np.int32)
    n_some = len(drawn) * _TO_CHOOSE // (_TO_CHOOSE + _TO_CHECK)
    return drawn[:n_some], drawn[n_some:]


def _recall(found: Lists, samples: Index, reach: Floats) -> float:
    """Return which share of the members of some lists are no farther than the true last ones.

    Any of equally far ones counts as right.
    """
    near = found.squares[samples] <= reach[:, None] * (1 + _ROUNDING)
    return float((near & (found.nearest[samples] != samples[:, None])).mean())
