"""How much memory a fit will need in each stage, before anything is computed: from the table of stages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from numpy.typing import DTypeLike

from ..engines import threads
from ..run.config import get_config
from ..run.memory import available_bytes
from ..run.messages import check_choice, check_count
from ..words import memory_size
from .search import USUAL_CLUSTERS, auto_neighbors
from .sizes import FitSize, ViewSize
from .table import STAGES

SHARE = 0.9  # of the free memory
LITTLE = 256 << 20  # bytes that every machine has free
LIBRARIES = 320 << 20  # Python, NumPy, SciPy, scikit-learn, Numba, and the code that it has compiled
SYSTEMS: Mapping[str, Literal["fusion", "average"]] = {"SGF": "fusion", "DGF": "fusion", "Average": "average"}


@dataclass(frozen=True)
class MemoryEstimate:
    """What a fit will hold at most, in bytes.

    Attributes
    ----------
    stages : mapping of str to int
        The most that the process holds in each stage: libraries and input included, and nothing else that
        happens to be in the process.
    libraries, input : int
        What Python and the libraries take, and the views, before the fit. Views in files that are mapped into
        memory count as nothing: the system can use that memory for other things.
    size : FitSize
        The size of the fit that was estimated.
    """

    stages: Mapping[str, int]
    libraries: int
    input: int
    size: FitSize

    @property
    def peak(self) -> int:
        """The most that the process holds."""
        return max(self.stages.values())

    @property
    def peak_stage(self) -> str:
        """The stage that needs the most."""
        return max(self.stages, key=lambda stage: self.stages[stage])

    @property
    def added(self) -> int:
        """The most that the fit takes in addition to the libraries and the input."""
        return self.peak - self.libraries - self.input

    def __repr__(self) -> str:
        return f"MemoryEstimate(peak={memory_size(self.peak)!r}, peak_stage={self.peak_stage!r})"

    def __str__(self) -> str:
        lines = [("libraries", self.libraries), ("input", self.input), *self.stages.items()]
        return "\n".join(
            f"{name:10} {memory_size(n_bytes):>10}{'  <- peak' if name == self.peak_stage else ''}"
            for name, n_bytes in lines
        )


def estimate(size: FitSize) -> MemoryEstimate:
    """Return what a fit of a size will need."""
    before = LIBRARIES + size.n_input
    names = [stage.name for stage in STAGES]
    held = dict.fromkeys(names, 0.0)
    for first, stage in enumerate(STAGES):
        for one in stage.memory:
            last = len(names) if one.until == "end" else names.index(one.until) + 1
            for name in names[first:last]:
                held[name] += one.n_bytes(size)
    stages = {name: before + int(held[name]) for name in names if name != "select"}
    return MemoryEstimate(MappingProxyType(stages), LIBRARIES, size.n_input, size)


def require_memory(size: FitSize, who: str) -> None:
    """Raise a MemoryError if a fit needs more than the limit that is set, or than is free.

    Parameters
    ----------
    size : FitSize
        The size of the fit.
    who : str
        The name of the model, for the message.
    """
    needed, limit = estimate(size), get_config().memory_limit
    exceeded = limit if limit is not None and needed.peak > limit else None
    free = available_bytes() if exceeded is None and needed.added > LITTLE else None
    if exceeded is not None or (free is not None and needed.added > SHARE * free):
        from .memory_advice import refusal  # only now: it estimates fits of other sizes

        raise MemoryError(refusal(size, who, needed, exceeded, free))


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
    row_weights: Literal["agreement", "uniform"] = "agreement",
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
    n_neighbors, n_clusters, neighbor_search, row_weights, n_jobs
        As in `SimilarityGraphFusion`. For ``n_clusters="auto"`` give its `max_clusters`.
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
        weighs_rows=row_weights == "agreement",
        search=neighbor_search,
        n_threads=n_threads,
        missing=missing,
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
