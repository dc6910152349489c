"""Placed views: features on the device, measured by Euclidean, cosine or correlation distance.

Views that are measured otherwise stay in the memory of this process: `host_points`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse

from ....run.messages import warn
from ....views import DeviceArray
from ...points.given import as_queries
from ...results import Neighbors, SearchReport
from ..device import Device
from ..search.exact import SPARE, best_listed
from ..search.exact import nearest as nearest_of_all
from ..search.region_table import FEWEST
from ..search.regions import FEWEST_SAMPLES, SHORTFALL, find_neighbors, sought_recall
from .dense_rows import DenseRows
from .sparse_rows import SparseRows

Tensor: TypeAlias = torch.Tensor
Rows = DenseRows | SparseRows

_WIDER = 6  # times as many of the neighbours in sketches of sparse rows are measured
_CHECKED = 400  # samples by whose true neighbours the recall in sketches is measured


class FeaturePoints:
    """Euclidean, cosine or correlation distance on features, dense or sparse.

    Parameters
    ----------
    rows : DenseRows or SparseRows
        The samples as they are compared.
    given : tuple of (dtype, metric)
        The type of number in which they were given, and how they are measured.
    name : str
        The view's name, for messages.
    """

    kind: Literal["distance"] = "distance"
    ranks_ties = False

    def __init__(self, rows: Any, given: tuple[Any, str], name: str = "view") -> None:
        self.rows, self.given, self.name = rows, given, name
        self.device: Device = rows.device

    @classmethod
    def of(cls, rows: Any, metric: str, device: Device, name: str = "view") -> FeaturePoints:
        """Put rows on the device.

        Examples
        --------
        >>> x = np.array([[0.0], [1.0], [3.0]])
        >>> FeaturePoints.of(x, "euclidean", Device.of("cpu")).nearest(1).lists.ravel()
        tensor([1, 0, 1], dtype=torch.int32)
        """
        return cls(_compared(rows, metric, device), (rows.dtype, metric), name)

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return len(self.rows)

    def nearest(self, k: int, search: str = "exact") -> Neighbors:
        """Return each sample's k nearest others, or most of them if the search is approximate."""
        if search == "exact" or (
            search == "auto" and self.n_samples < FEWEST_SAMPLES[self.device.where.type]
        ):
            return self._nearest_of_all(k)
        members = (~self.rows.blank).nonzero()[:, 0]
        if len(members) < max(4 * k, 2 * FEWEST + 2):
            return self._nearest_of_all(k)
        found = self._in_regions(members, k, may_decline=search == "auto")
        return self._nearest_of_all(k) if found is None else found

    def _nearest_of_all(self, k: int) -> Neighbors:
        """Return each sample's k nearest others, by comparing all pairs."""
        lists = nearest_of_all(self.rows, self.rows, k, own=True)
        return Neighbors(lists, SearchReport(pairs=self.n_samples - 1.0))

    def _in_regions(self, members: Tensor, k: int, may_decline: bool) -> Neighbors | None:
        """Return most of the nearest, among the samples with a direction; None if all pairs cost less."""
        rows, n = self.rows, len(members)
        sketched = isinstance(rows, SparseRows) and rows.is_sketched
        width = k if rows.is_searchable else min(_WIDER * k if sketched else k + SPARE, n - 1)
        found = find_neighbors(rows.searchable(members), width, self.device, may_decline=may_decline)
        if found is None:
            return None
        # Those without a direction are equally far from all others.
        lists = self.device.arange(k, torch.int32).repeat(len(rows), 1)
        lists += lists >= self.device.arange(len(rows))[:, None]
        for a, b in self.device.blocks(n, 64.0 * width):
            near = members[found.lists[a:b].long()]
            if rows.is_searchable:
                lists[members[a:b]] = near.int()
            else:
                lists[members[a:b]], _ = best_listed(rows, members[a:b], rows, near, k)
        report = replace(found.report, recall=self._recall(members, lists)) if sketched else found.report
        if report.recall < sought_recall(n) - SHORTFALL:
            if may_decline:  # sketches of these rows say too little
                return None
            self._warn(report, n)
        return Neighbors(lists, report)

    def _warn(self, report: SearchReport, n: int) -> None:
        """Warn that too few of the neighbours were found."""
        warn(
            f"View {self.name!r}: the approximate search found {100 * report.recall:.0f} % of the neighbours "
            f"of some samples, {100 * sought_recall(n):.0f} % were wanted. Pass neighbor_search='exact' to "
            "find all."
        )

    def _recall(self, members: Tensor, lists: Tensor) -> float:
        """Return the share of the true neighbours of some samples that are in their lists."""
        k, rng = lists.shape[1], np.random.default_rng(0)
        drawn = np.sort(rng.choice(len(members), min(len(members), _CHECKED), replace=False))
        some = members[self.device.put(drawn)]
        # With itself, there is one more.
        true = nearest_of_all(self.rows.reordered(some), self.rows, k + 1, own=False).long()
        reach = self.rows.apart(some, self.rows, true[:, -1])
        found = lists[some].long()
        each = some[:, None].expand_as(found)
        apart = self.rows.apart(each.reshape(-1), self.rows, found.reshape(-1)).view(found.shape)
        return float((apart <= reach[:, None] * (1 + 1e-11)).double().mean())

    def values(self, i: Tensor, j: Tensor) -> Tensor:
        """Return squared distances between samples i and j, pair by pair."""
        return self._measured(self.rows.apart(i, self.rows, j))

    def _measured(self, apart: Tensor) -> Tensor:
        """Turn squared differences of unit vectors, 2 (1 - cos), into squared cosine distances."""
        return (0.5 * apart).square_() if self.rows.is_unit else apart

    def mean_over_pairs(self) -> float:
        """Return the mean over all pairs of the squared distances, or of the cosine distances.

        The squared differences of all pairs of m rows sum to 2 m^2 times their total variance, and 1 - cos is
        half of the squared difference. Rows of zeros are at 1 from every other, at 0 from themselves.
        """
        rows, n = self.rows, self.n_samples
        if not rows.is_unit:
            return 2.0 * rows.total_variance()
        n_blank = int(rows.blank.sum())
        share = 1.0 - n_blank / n  # of the rows that have a direction
        among_others = share**2 * rows.total_variance() if share else 0.0
        return float(among_others + (n_blank / n) * (1.0 + share) - n_blank / n**2)

    def is_constant(self) -> bool:
        """Say whether all rows are the same, or under cosine point the same way."""
        return bool(self.rows.are_equal())

    def reordered(self, order: NDArray[np.intp]) -> FeaturePoints:
        """Return the points of the same samples in another order."""
        return FeaturePoints(self.rows.reordered(self.device.put(order)), self.given, self.name)

    def query(self, rows: Any) -> FeatureQueries:
        """Put new samples, with the same features, next to these."""
        dtype, metric = self.given
        if isinstance(rows, DeviceArray) and isinstance(self.rows, DenseRows):
            same = rows.as_type(dtype)
            if same.shape[1] == self.rows.n_columns and same.is_finite():  # otherwise it is said below
                return FeatureQueries(self, _compared(same, metric, self.device))
        like: Any = np.empty((0, self.rows.n_columns))
        if isinstance(self.rows, SparseRows):
            like = sparse.csr_array(like)
        return FeatureQueries(self, _compared(as_queries(rows, like, dtype), metric, self.device))


class FeatureQueries:
    """New samples next to `FeaturePoints`."""

    kind: Literal["distance"] = "distance"

    def __init__(self, points: FeaturePoints, rows: Any) -> None:
        self.points, self.rows, self.device = points, rows, points.device

    @property
    def n_queries(self) -> int:
        """Number of new samples."""
        return len(self.rows)

    @property
    def n_samples(self) -> int:
        """Number of placed samples."""
        return self.points.n_samples

    def nearest(self, k: int) -> Tensor:
        """Return the k nearest placed samples for each new one; -1 where there are fewer."""
        found = nearest_of_all(self.rows, self.points.rows, min(k, self.n_samples), own=False)
        return filled_up(found, k)

    def values(self, i: Tensor, j: Tensor) -> Tensor:
        """Return squared distances between new samples i and placed ones j, pair by pair."""
        return self.points._measured(self.rows.apart(i, self.points.rows, j))


def filled_up(lists: Tensor, k: int) -> Tensor:
    """Return k columns: missing ones are -1."""
    return torch.nn.functional.pad(lists, (0, k - lists.shape[1]), value=-1)


def _compared(rows: Any, metric: str, device: Device) -> Rows:
    """Return rows on the device in the form in which they are compared."""
    if sparse.issparse(rows):
        return SparseRows.of(rows, metric == "cosine", device)
    return DenseRows.of(rows, metric != "euclidean", metric == "correlation", device)
