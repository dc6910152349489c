"""How much memory a fit will need in each stage, before anything is computed: from the table of stages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import DTypeLike

from ..engines import threads
from ..run.messages import check_choice, check_count
from .effort import DESCRIPTIONS, EFFORTS, ROW_WEIGHTINGS, learns_trust, redescribes
from .search import USUAL_CLUSTERS, auto_neighbors
from .sizes import FitSize, MemoryEstimate, ViewSize
from .table import estimate

SYSTEMS: Mapping[str, Literal["fusion", "average"]] = {"SGF": "fusion", "DGF": "fusion", "Average": "average"}


def memory_estimate(
    n_samples: int,
    views: int | Sequence[int],
    n_neighbors: int | Literal["auto"] = "auto",
    n_clusters: int = USUAL_CLUSTERS,
    *,
    system: str = "SGF",
    dtype: DTypeLike = np.float64,
    n_nonzero: int | Sequence[int | None] | None = None,
    mapped: bool | Sequence[bool] = False,
    metric: str = "euclidean",
    neighbor_search: str = "auto",
    row_weights: Literal["auto", "learned", "agreement", "uniform"] = "auto",
    descriptions: Literal["auto", "confirmed", "default"] = "auto",
    effort: Literal["low", "medium", "high"] | None = None,
    row_order: Literal["content", "given"] = "content",
    missing: bool = False,
    n_jobs: int | None = None,
) -> MemoryEstimate:
    """Return how much memory a fit will need, without data.

    Parameters
    ----------
    n_samples : int
        Number of samples.
    views : sequence of int, or int
        Number of features of each view; or only the number of views, and features are not counted.
    n_neighbors, n_clusters, neighbor_search, row_weights, descriptions, row_order, n_jobs
        As in `SimilarityGraphFusion`; ``row_order="given"`` for samples with ids. For ``n_clusters="auto"``
        give its `max_clusters`.
    effort : {"low", "medium", "high"} or None, default=None
        As there; None: the default of the system, "low" for "Average" and "high" for the others.
    system : {"SGF", "DGF", "Average"}, default="SGF"
        The model that is fitted.
    dtype : dtype, default=float64
        Type of the features; all types except float32 are converted to float64 and counted as that.
    n_nonzero : int or sequence of (int or None), default=None
        Stored entries of sparse views; None: dense.
    mapped : bool or sequence of bool, default=False
        Whether views are mapped from files.
    metric : str, default="euclidean"
        Of all views: "cosine" and "correlation" make a copy of the features.
    missing : bool, default=False
        Whether views lack samples.

    Returns
    -------
    MemoryEstimate
        Print it for a table.

    See Also
    --------
    consilience.config_context : Sets a limit for fits.

    Examples
    --------
    >>> from consilience import memory_estimate
    >>> needed = memory_estimate(1_000_000, [64, 32, 128], n_neighbors=10, n_clusters=20, dtype="float32")
    >>> needed.input
    896000000
    >>> needed.peak == needed.stages[needed.peak_stage] > needed.input
    True
    >>> needed.peak < 2 * memory_estimate(500_000, [64, 32, 128], n_neighbors=10, n_clusters=20).peak
    True
    """
    check_count("n_samples", n_samples)
    check_count("n_clusters", n_clusters)
    check_choice("system", system, tuple(SYSTEMS))
    check_choice("row_order", row_order, ("content", "given"))
    check_choice("row_weights", row_weights, ROW_WEIGHTINGS)
    check_choice("descriptions", descriptions, DESCRIPTIONS)
    if effort is None:
        effort = "low" if SYSTEMS[system] == "average" else "high"
    check_choice("effort", effort, EFFORTS)
    if isinstance(views, int | np.integer):
        check_count("views", views)
        views = [0] * int(views)
    dimensions = list(views)
    itemsize = 4 if np.dtype(dtype) == np.float32 else 8
    kind: Literal["plain", "scaled"] = "scaled" if metric in ("cosine", "correlation") else "plain"
    sizes = tuple(
        ViewSize(int(d), itemsize, None if stored is None else int(stored), bool(in_file), kind)
        for d, stored, in_file in zip(
            dimensions, _per_view(n_nonzero, dimensions), _per_view(mapped, dimensions), strict=True
        )
    )
    k = auto_neighbors(n_samples, n_clusters) if n_neighbors == "auto" else int(n_neighbors)
    with threads.limit(n_jobs):
        n_threads = threads.count()
    size = FitSize(
        n_samples=int(n_samples),
        views=sizes,
        n_neighbors=k,
        n_vectors=int(n_clusters),
        method=SYSTEMS[system],
        weighs_rows=row_weights != "uniform",
        search=neighbor_search,
        n_threads=n_threads,
        missing=missing,
        learns_trust=learns_trust(row_weights, effort),
        describes=redescribes(descriptions, effort),
        by_effort=row_weights == descriptions == "auto",
        row_order=row_order,
    )
    return estimate(size)


def _per_view(given: Any, dimensions: Sequence[int]) -> list[Any]:
    """Return one value for each view; a single value is for all."""
    each = list(given) if isinstance(given, Sequence) else [given] * len(dimensions)
    if len(each) != len(dimensions):
        raise ValueError(f"There are {len(dimensions)} views, and {len(each)} values were given for them.")
    return each


def with_samples(size: FitSize, n_samples: int) -> FitSize:
    """Return the size of the same fit to some of the samples."""
    share = n_samples / size.n_samples
    views = tuple(
        replace(
            view,
            n_features=n_samples if view.kind == "matrix" else view.n_features,
            n_nonzero=None if view.n_nonzero is None else round(share * view.n_nonzero),
        )
        for view in size.views
    )
    return replace(size, n_samples=n_samples, views=views)
