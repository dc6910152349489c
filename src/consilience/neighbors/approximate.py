"""A space whose neighbours are found approximately where that pays: the door to the approximate search."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..warned import warn
from .features import DenseSpace, SparseSpace
from .region_rows import Lists, Rows
from .regions import FEWEST, Regions, exact_sample, search_regions
from .remembering import RememberingSpace
from .spaces import CrossSpace, Edges, Floats, Index, SeenSpace, Space

logger = logging.getLogger(__name__)

SEARCHES = ("auto", "exact", "approximate")
SOUGHT, SOUGHT_AT_MOST = (100_000, 0.97), (1_000_000, 0.91)  # samples, and the recall to seek among them
FEWEST_SAMPLES = 20_000  # from which on "auto" considers it: below, all pairs take seconds at most
_PER_ROOT = 2.0  # regions for the square root of the number of samples
_TO_CHOOSE, _TO_CHECK = 800, 400  # samples whose true neighbours decide on the effort, and on the recall
_SHORTFALL = 0.03  # how far the recall may stay behind what was sought without a warning
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
    [0.97, 0.941, 0.91]
    """
    (few, high), (many, low) = SOUGHT, SOUGHT_AT_MOST
    share = np.clip(np.log(n / few) / np.log(many / few), 0.0, 1.0)
    return float(high + share * (low - high))


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
        few = self.search == "auto" and n < FEWEST_SAMPLES
        if few or len(rows) < max(4 * k, 2 * FEWEST + 2):
            return self._exact(k, n)
        found = self._approximate(self.space.searchable(rows), rows, k)
        return self._exact(k, n) if found is None else found

    def _exact(self, k: int, n: int) -> Index:
        self.report = SearchReport("exact", 1.0, 0, n - 1.0)
        return self.space.nearest(k)

    def _approximate(self, features: Rows, rows: Index, k: int) -> Index | None:
        """Search among the rows that have a direction; None if to look at all pairs costs less."""
        n = len(features)
        # Always the same draw: what is near does not depend on chance, nor on the order of views.
        rng = np.random.default_rng(0)
        regions = Regions.among(features, min(n // 2, round(_PER_ROOT * np.sqrt(n))), rng)
        drawn = rng.choice(n, min(n, _TO_CHOOSE + _TO_CHECK), replace=False).astype(np.int32)
        true = exact_sample(features, drawn, k)
        half = max(1, len(drawn) * _TO_CHOOSE // (_TO_CHOOSE + _TO_CHECK))
        effort = regions.least_effort(features, drawn[:half], true[:half], sought_recall(n))
        work = effort.pairs + len(regions)
        if self.search == "auto" and _OVERHEAD * work > n:
            logger.info(
                "view %r: exact search, because %.0f of %d samples would have to be looked at each",
                *(self.name, work, n),
            )
            return None
        order, lists = search_regions(features, k, regions, effort)
        self._known = self.space.measure(rows, order, lists, k)
        nearest = self._known.nearest
        recall = _recall(nearest[rows[drawn[half:]]], rows[true[half:]])
        self.report = SearchReport("approximate", recall, len(regions), work)
        logger.info(
            "view %r: approximate search, recall %.3f of %d neighbours on %d samples; each of %d samples was "
            "compared with about %.0f others",
            *(self.name, recall, k, len(drawn) - half, n, work),
        )
        if recall < sought_recall(n) - _SHORTFALL:
            warn(
                f"View {self.name!r}: the approximate search found {100 * recall:.0f} % of the neighbours of "
                f"some samples, {100 * sought_recall(n):.0f} % were sought. Pass neighbor_search='exact' to "
                "find all."
            )
        return nearest

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


def _recall(found: NDArray[Any], true: NDArray[Any]) -> float:
    """Return which share of the true members of lists are in the lists found."""
    return float((found[:, :, None] == true[:, None, :]).any(axis=1).mean())


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
