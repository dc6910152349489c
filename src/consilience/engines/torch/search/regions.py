"""The approximate search on a device: neighbours of a row, searched only in the regions around it.

The rows are divided into regions, each around a centre, and each row is compared with those of the regions
near it. How many regions that are is not a setting but follows from the recall that is wanted: the neighbours
of a few rows are found exactly first, and then the least effort that would find that share of them. The
recall is measured on other rows afterwards; if it is too low, the search begins again with more effort.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import torch

from ...results import SearchReport
from ..device import Device
from .copies import Copies
from .region_search import SPARE, exact_lists, measured, search_regions
from .region_table import FEWEST, Effort, Regions

Tensor: TypeAlias = torch.Tensor

logger = logging.getLogger(__name__)

# Samples, and the recall wanted for them: more than on a CPU, where each neighbour costs more.
SOUGHT = ((10_000, 0.99), (100_000, 0.98), (1_000_000, 0.955), (10_000_000, 0.91))
FEWEST_SAMPLES = {"cpu": 20_000, "cuda": 200_000}  # from which on "auto" may use it
SHORTFALL = 0.03  # how far the recall may be below the one wanted without a warning
_PER_ROOT = 1.4  # regions for the square root of the number of samples
_TO_CHOOSE, _TO_CHECK = 1600, 800  # samples whose true neighbours decide on the effort, and on the recall
_MARGIN = 0.2  # part of the neighbours that may be missed that is kept for chance, when the effort is chosen
_ATTEMPTS = 4  # each with half of the misses of the one before
_ROUNDING = 1e-11  # squared distances that differ by no more than this part are equal
_OVERHEAD = 2.0  # what a pair costs here, relative to a pair of the exact search


@dataclass(frozen=True, eq=False)
class Found:
    """What a search found.

    Attributes
    ----------
    lists : tensor of int32 of shape (n, k)
        The neighbours of each row, the nearest first; of equally near ones the lower number.
    squares : tensor of float64 of shape (n, k)
        Their squared distances, measured by differences.
    report : SearchReport
        How they were found.
    """

    lists: Tensor
    squares: Tensor
    report: SearchReport


def sought_recall(n: int) -> float:
    """Return the recall wanted for n samples: less where each neighbour costs more.

    Examples
    --------
    >>> [round(sought_recall(n), 3) for n in (1000, 300_000, 5_000_000)]
    [0.99, 0.968, 0.924]
    """
    sizes, recalls = zip(*SOUGHT, strict=True)
    return float(np.interp(np.log(n), np.log(sizes), recalls))


def approximate_neighbors(
    rows: Tensor, k: int, device: Device, recall: float | None = None, seed: int = 0
) -> tuple[Tensor, SearchReport]:
    """Return most of each row's k nearest others, and how they were found.

    Parameters
    ----------
    rows : tensor of float32 or float64 of shape (n, d)
        On the device. Distances are Euclidean.
    k : int
        How many, less than n.
    device : Device
        The device.
    recall : float, default=None
        The share of the neighbours that must be found; None: `sought_recall`.
    seed : int, default=0
        Draws the samples that centres and effort are chosen by, and those that the recall is measured on.

    Returns
    -------
    tuple of (tensor of int32 of shape (n, k), SearchReport)
        The lists, each ascending by distance, without the row itself. For a few rows the search is exact.
    """
    found = find_neighbors(rows, k, device, recall, seed)
    assert found is not None  # only a search that may decline does
    return found.lists, found.report


def find_neighbors(
    rows: Tensor,
    k: int,
    device: Device,
    recall: float | None = None,
    seed: int = 0,
    *,
    may_decline: bool = False,
) -> Found | None:
    """Return what `approximate_neighbors` does, with distances.

    With `may_decline`: None if comparing all pairs is expected to cost less.
    """
    least = max(4 * k, 2 * FEWEST + 2)
    copies = Copies.among(rows, device) if len(rows) >= least else None
    distinct = rows if copies is None else rows[copies.first]
    if len(distinct) >= least:
        found = _among_regions(distinct, k, device, recall, seed, may_decline)
    else:
        found = _among_all(distinct, min(k, len(distinct) - 1), device)
    if copies is None or found is None:
        return found
    return Found(*copies.spread(found.lists, found.squares, k, device), found.report)


def _among_all(rows: Tensor, k: int, device: Device) -> Found:
    """Compare all pairs of a few rows."""
    n = len(rows)
    every = device.arange(n)
    others = device.arange(n - 1).expand(n, -1)
    others = others + (others >= every[:, None])
    lists, squares = measured(rows, every, others.int(), device)
    return Found(lists[:, :k], squares[:, :k], SearchReport(pairs=n - 1.0))


def _among_regions(
    rows: Tensor, k: int, device: Device, recall: float | None, seed: int, may_decline: bool
) -> Found | None:
    """Search among many rows; None if comparing all pairs costs less."""
    n = len(rows)
    sought = sought_recall(n) if recall is None else recall
    rng = np.random.default_rng(seed)
    regions = Regions.among(rows, min(n // 2, round(_PER_ROOT * np.sqrt(n))), rng, device)
    drawn = device.put(rng.choice(n, min(n, _TO_CHOOSE + _TO_CHECK), replace=False))
    n_some = len(drawn) * _TO_CHOOSE // (_TO_CHOOSE + _TO_CHECK)
    true, reach = measured(rows, drawn, exact_lists(rows, drawn, k + SPARE, regions, device), device)
    wanted = sought + _MARGIN * (1 - sought)
    found: Found | None = None
    for _ in range(_ATTEMPTS):
        effort = regions.least_effort(rows, drawn[:n_some], true[:n_some, :k], wanted, device)
        work = effort.pairs + len(regions)
        if may_decline and _OVERHEAD * work > n:
            logger.info("exact search: each sample would have to be compared with %.0f of %d", work, n)
            return None
        found = None  # of the attempt before: its memory is needed
        lists, squares = search_regions(rows, k, regions, effort, device)
        near = squares[drawn[n_some:]] <= reach[n_some:, k - 1 : k] * (1 + _ROUNDING)
        share = float(near.double().mean())
        _log(share, k, len(drawn) - n_some, n, work, effort)
        found = Found(lists, squares, SearchReport("approximate", share, len(regions), work))
        del lists, squares
        if share >= sought:
            break
        wanted = 1 - (1 - wanted) / 2
    return found


def _log(recall: float, k: int, n_checked: int, n: int, work: float, effort: Effort) -> None:
    """Say what a search found and what it cost."""
    logger.info(
        "approximate search, recall %.3f (%.3f expected) of %d neighbours on %d samples; each of %d was "
        "compared with about %.0f others",
        *(recall, effort.recall, k, n_checked, n, work),
    )
