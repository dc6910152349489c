"""A space whose neighbours are found approximately where that pays: the door to the approximate search."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..warned import warn
from .copies import Copies
from .features import DenseSpace, SparseSpace
from .region_rows import Lists
from .regions import FEWEST, Regions, exact_sample, search_regions
from .remembering import RememberingSpace
from .spaces import CrossSpace, Edges, Floats, Index, SeenSpace, Space

logger = logging.getLogger(__name__)

SEARCHES = ("auto", "exact", "approximate")
SOUGHT = ((10_000, 0.99), (100_000, 0.98), (1_000_000, 0.91))  # samples, and the recall to seek among them
FEWEST_SAMPLES = 20_000  # from which on "auto" considers it: below, all pairs take seconds at most
_PER_ROOT = 1.4  # regions for the square root of the number of samples
_TO_CHOOSE, _TO_CHECK = 800, 400  # samples whose true neighbours decide on the effort, and on the recall
_SHORTFALL = 0.03  # how far the recall may stay behind what was sought without a warning
_ROUNDING = 1e-11  # squared distances that differ by no more than this part are equal
_OVERHEAD = 2.0  # what a pair costs here, beside a pair of the exact search


@dataclass(frozen=True)
class SearchReport:
    """How the neighbours of a view were found.

    Attributes
    ----------
    search : {"exact", "approximate"}
        How.
    recall : float
        The share of the true neighbours that were found, measured on a sample; 1 for the exact search.
    n_regions : int
        Number of regions that the samples were divided into; 0 for the exact search.
    pairs : float
        How many others each sample was compared with, about.
    """

    search: Literal["exact", "approximate"]
    recall: float
    n_regions: int
    pairs: float


def sought_recall(n: int) -> float:
    """Return the recall that is sought among n samples: less, where each neighbour costs more.

    Examples
    --------
    >>> [round(sought_recall(n), 3) for n in (1000, 300_000, 5_000_000)]
    [0.99, 0.947, 0.91]
    """
    sizes, recalls = zip(*SOUGHT, strict=True)
    return float(np.interp(np.log(n), np.log(sizes), recalls))


class ApproximateSpace:
    """Features whose neighbours are found approximately, if that is wished or pays.

    Everything else is answered by the space itself. Distances that the search has measured are not measured
    again on edges; they are the same to the last bit.

    Parameters
    ----------
    space : DenseSpace or SparseSpace
        The view.
    search : {"auto", "approximate"}
        "auto": only if it is estimated to cost less than to look at all pairs.
    name : str, default="view"
        For messages.

    Attributes
    ----------
    report : SearchReport or None
        How neighbours were found; None before the first search.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.random.default_rng(0).normal(size=(2000, 8))
    >>> space = ApproximateSpace(DenseSpace(x, cosine=False), "approximate")
    >>> space.nearest(5).shape, space.report.recall > 0.9
    ((2000, 5), True)
    """

    kind: Literal["distance"] = "distance"

    def __init__(
        self,
        space: DenseSpace | SparseSpace,
        search: Literal["auto", "approximate"],
        name: str = "view",
    ) -> None:
        self.space, self.search, self.name = space, search, name
        self.report: SearchReport | None = None
        self._known: Lists | None = None

    def nearest(self, k: int) -> Index:
        """Return each sample's k nearest others, or most of them."""
        n = self.space.x.shape[0]
        rows = np.flatnonzero(~self.space.blank).astype(np.int32)
        least = max(4 * k, 2 * FEWEST + 2)
        if len(rows) < least or (self.search == "auto" and n < FEWEST_SAMPLES):
            return self._exact(k, n)
        copies = Copies.among(self.space.x, rows)
        distinct = rows if copies is None else copies.first
        search = self._approximate if len(distinct) >= least else self._among_all
        found = search(distinct, k)
        if found is None:
            return self._exact(k, n)
        self._known = found if copies is None else copies.spread(found)
        self.space.settle(self._known)
        return self._known.nearest

    def _exact(self, k: int, n: int) -> Index:
        self.report = SearchReport("exact", 1.0, 0, n - 1.0)
        return self.space.nearest(k)

    def _among_all(self, rows: Index, k: int) -> Lists:
        """Look at all pairs of a few rows."""
        others = np.arange(len(rows) - 1, dtype=np.int32)
        places = np.arange(len(rows), dtype=np.int32)
        self.report = SearchReport("exact", 1.0, 0, len(rows) - 1.0)
        return self.space.measure(rows, places, others + (others >= places[:, None]), k)

    def _approximate(self, rows: Index, k: int) -> Lists | None:
        """Search among rows that have a direction; None if to look at all pairs costs less."""
        features: Any = self.space.searchable(rows)
        n = len(features)
        # Always the same draw: what is near does not depend on chance, nor on the order of views.
        rng = np.random.default_rng(0)
        regions = Regions.among(features, min(n // 2, round(_PER_ROOT * np.sqrt(n))), rng)
        some, others = _drawn(n, rng)
        near = exact_sample(features, some, k)
        features.choose_precision(some, near[:, -1])
        effort = regions.least_effort(features, some, near, sought_recall(n))
        work = effort.pairs + len(regions)
        if self.search == "auto" and _OVERHEAD * work > n:
            logger.info(
                "view %r: exact search, because %.0f of %d samples would have to be looked at each",
                *(self.name, work, n),
            )
            return None
        order, lists = search_regions(features, k, regions, effort)
        found = self.space.measure(rows, order, lists, k)
        recall = _recall(found, rows[others], self.space.reach(rows, features, others, k))
        self.report = SearchReport("approximate", recall, len(regions), work)
        logger.info(
            "view %r: approximate search, recall %.3f of %d neighbours on %d samples; each of %d samples was "
            "compared with about %.0f others",
            *(self.name, recall, k, len(others), n, work),
        )
        if recall < sought_recall(n) - _SHORTFALL:
            warn(
                f"View {self.name!r}: the approximate search found {100 * recall:.0f} % of the neighbours of "
                f"some samples, {100 * sought_recall(n):.0f} % were sought. Pass neighbor_search='exact' to "
                "find all."
            )
        return found

    def forget(self) -> None:
        """Let go of the distances that the search has measured."""
        self._known = None

    def on_edges(self, edges: Edges) -> Floats:
        """Return squared distances on the edges."""
        return self.space.on_edges(edges, known=self._known)

    def mean_over_pairs(self) -> float:
        """Return the mean over all pairs."""
        return self.space.mean_over_pairs()

    def is_constant(self) -> bool:
        """Say whether all samples look the same."""
        return self.space.is_constant()

    def permuted(self, order: NDArray[np.intp]) -> ApproximateSpace:
        """Return the space of the same samples in another order."""
        return ApproximateSpace(self.space.permuted(order), self.search, self.name)

    def beside(self, queries: Any) -> CrossSpace:
        """Set new samples beside those of the space; their neighbours are found exactly."""
        return self.space.beside(queries)


def _drawn(n: int, rng: np.random.Generator) -> tuple[Index, Index]:
    """Return some samples to choose the effort by, and others to measure the recall by."""
    drawn = rng.choice(n, min(n, _TO_CHOOSE + _TO_CHECK), replace=False).astype(np.int32)
    n_some = len(drawn) * _TO_CHOOSE // (_TO_CHOOSE + _TO_CHECK)
    return drawn[:n_some], drawn[n_some:]


def _recall(found: Lists, samples: Index, reach: Floats) -> float:
    """Return which share of the members of some lists are no farther than the true last ones.

    Of equally far ones any will do.
    """
    near = found.squares[samples] <= reach[:, None] * (1 + _ROUNDING)
    return float((near & (found.nearest[samples] != samples[:, None])).mean())


def searched(space: DenseSpace | SparseSpace, search: str, name: str = "view") -> Space:
    """Return the space with its neighbours found in this way."""
    if search == "exact":
        return space
    return ApproximateSpace(space, "auto" if search == "auto" else "approximate", name)


def search_report(space: Any) -> SearchReport:
    """Return how the neighbours of a space, or of what it is wrapped around, were found."""
    while not isinstance(space, ApproximateSpace) and hasattr(space, "space"):
        space = space.space
    report = space.report if isinstance(space, ApproximateSpace) else None
    return SearchReport("exact", 1.0, 0, np.nan) if report is None else report


def plain(space: Any) -> Any:
    """Return the space without what the search knows, and without memory of what it was asked."""
    if isinstance(space, SeenSpace):
        return SeenSpace(plain(space.space), space.seen, space.pairwise)
    return plain(space.space) if isinstance(space, ApproximateSpace | RememberingSpace) else space


def forget(space: Any) -> None:
    """Let go of what a search has measured, wherever it is kept."""
    while hasattr(space, "space") and not isinstance(space, RememberingSpace):
        if isinstance(space, ApproximateSpace):
            space.forget()
        space = space.space
