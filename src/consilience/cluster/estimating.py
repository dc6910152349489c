"""How much memory a fit will need, stage by stage, before anything is computed.

The table `TERMS` is a model of what the stages allocate: each line is an array, or several that live and die
together, from the stage that makes it to the last one that holds it. `benchmarks/speed/memory.py` prints the
estimate beside what is measured; who changes a stage looks there, and corrects the lines.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from numpy.typing import DTypeLike

from .. import threads
from ..memory import in_units
from .checks import check_choice, check_count
from .sizes import USUAL_CLUSTERS, FitSize, ViewSize, auto_neighbors

STAGES = ("prepare", "neighbors", "agreement", "graph", "fusion", "sparsify", "spectral", "labels")
LIBRARIES = 320 << 20  # Python, NumPy, SciPy, scikit-learn, Numba, and the code that it has compiled
SYSTEMS: Mapping[str, Literal["fusion", "average"]] = {"SGF": "fusion", "DGF": "fusion", "Average": "average"}

_BUFFER = 2 << 20  # bytes of a block of the exact search, for each thread
_REGIONS = 67 << 20  # bytes of what the approximate search needs, however many samples there are


@dataclass(frozen=True)
class Term:
    """Something that takes memory.

    Attributes
    ----------
    what : str
        What it is.
    first, last : str
        The stages from which and up to which it is there; "end": it is part of the fitted model.
    n_bytes : callable
        Bytes, from the size of the fit.
    """

    what: str
    first: str
    last: str
    n_bytes: Callable[[FitSize], float]

    def is_there(self, stage: str) -> bool:
        """Say whether it is there in a stage."""
        last = len(STAGES) if self.last == "end" else STAGES.index(self.last)
        return STAGES.index(self.first) <= STAGES.index(stage) <= last


def _largest_view(size: FitSize, per_value: int) -> float:
    """Return bytes per number of the view that has most of them; matrices are searched as they are."""
    return per_value * max(
        (view.n_values(size.n_samples) for view in size.views if view.kind != "matrix"), default=0
    )


def _copies(size: FitSize) -> float:
    """Return what copies of the views take that are kept because rows are scaled."""
    return sum(view.n_bytes(size.n_samples) for view in size.views if view.kind == "scaled")


def _on_edges(size: FitSize, n_arrays: float = 1.0) -> float:
    """Return what arrays of a value per edge and view take."""
    return n_arrays * size.edge_bytes * size.n_edges * size.n_views


def _fusion(size: FitSize, n_arrays: float) -> float:
    """Return what arrays of a value per edge and view take if there is a fusion."""
    return _on_edges(size, n_arrays) if size.method == "fusion" else 0.0


def _trust(size: FitSize, n_arrays: float) -> float:
    """Return the same for how much rows count there."""
    return _fusion(size, n_arrays) if size.weighs_rows or size.missing else 0.0


def _is_fusion(size: FitSize) -> bool:
    return size.method == "fusion"


TERMS: Sequence[Term] = (
    Term("rows of unit length", "prepare", "end", _copies),
    Term("columns measured for scaling", "prepare", "prepare", lambda s: _largest_view(s, 1)),
    # The search. Of all pairs: a shifted copy of a view in double precision, and one in single precision.
    Term(
        "copies searched", "neighbors", "neighbors", lambda s: _largest_view(s, 12 if s.may_search_all else 4)
    ),
    Term("blocks of pairs", "neighbors", "neighbors", lambda s: _BUFFER * s.n_threads * s.may_search_all),
    Term("regions", "neighbors", "neighbors", lambda s: _REGIONS * s.may_search_some),
    Term("distances found", "neighbors", "graph", lambda s: 18.0 * s.n_listed * s.may_search_some),
    Term("neighbours", "neighbors", "graph", lambda s: 4.0 * s.n_listed),
    # Comparing views.
    Term("lists compared", "agreement", "agreement", lambda s: 4.0 * s.n_listed * _is_fusion(s)),
    Term("trust in rows", "agreement", "end", lambda s: 16.0 * s.n_samples * s.n_views * _is_fusion(s)),
    Term("neighbours, kept", "graph", "end", lambda s: 4.0 * s.n_listed * _is_fusion(s)),
    # The edges, and what each view brings onto them.
    Term("edges", "graph", "end", lambda s: 4.0 * s.n_edges + 8.0 * s.n_samples),
    Term("weights", "graph", "end", _on_edges),
    Term("distances of a view", "graph", "graph", lambda s: 24.0 * s.n_edges),
    Term("who judges which edge", "graph", "end", lambda s: 2.0 * s.missing * s.n_edges * s.n_views),
    # The fusion, in blocks of edges, and what comes of it.
    Term("blocks of edges", "fusion", "fusion", lambda s: _fusion(s, 2) + _trust(s, 1)),
    Term("inconsistent parts", "fusion", "end", lambda s: _fusion(s, 1)),
    Term("trust on edges", "fusion", "end", lambda s: _trust(s, 1)),
    Term("fused", "fusion", "end", lambda s: 2.0 * s.edge_bytes * s.n_edges),
    # The graph, and its spectrum.
    Term("graph", "sparsify", "end", lambda s: (s.edge_bytes + 4.0) * s.n_kept),
    Term("both directions", "sparsify", "sparsify", lambda s: 2.0 * (s.edge_bytes + 4.0) * s.n_kept),
    Term("normalised graph, twice", "spectral", "spectral", lambda s: 20.0 * s.n_kept),
    Term("blocks of vectors", "spectral", "spectral", lambda s: 48.0 * s.n_samples * max(s.n_vectors, 4)),
    Term("eigenvectors", "spectral", "end", lambda s: 8.0 * s.n_samples * s.n_vectors),
    Term("rows to cluster", "labels", "labels", lambda s: 24.0 * s.n_samples * s.n_vectors),
)


@dataclass(frozen=True)
class MemoryEstimate:
    """What a fit will hold at most, in bytes.

    Attributes
    ----------
    stages : mapping of str to int
        The most that the process holds in each stage: libraries and input included, and nothing else that
        happens to be in the process.
    libraries, input : int
        What Python and the libraries take, and the views, before anything is done. Views in files that are
        mapped into memory count as nothing: the system can take that memory back.
    size : FitSize
        What was estimated.
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
        """The stage in which that is."""
        return max(self.stages, key=lambda stage: self.stages[stage])

    @property
    def added(self) -> int:
        """The most that the fit takes in addition to the libraries and the input."""
        return self.peak - self.libraries - self.input

    def __repr__(self) -> str:
        return f"MemoryEstimate(peak={in_units(self.peak)!r}, peak_stage={self.peak_stage!r})"

    def __str__(self) -> str:
        lines = [("libraries", self.libraries), ("input", self.input), *self.stages.items()]
        return "\n".join(
            f"{name:10} {in_units(n_bytes):>10}{'  <- peak' if name == self.peak_stage else ''}"
            for name, n_bytes in lines
        )


def estimate(size: FitSize) -> MemoryEstimate:
    """Return what a fit of a size will need."""
    before = LIBRARIES + size.n_input
    stages = {
        stage: before + int(sum(term.n_bytes(size) for term in TERMS if term.is_there(stage)))
        for stage in STAGES
        if stage != "agreement" or size.method == "fusion"
    }
    return MemoryEstimate(MappingProxyType(stages), LIBRARIES, size.n_input, size)


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
        Number of features of each view; or only the number of views, and features are left out of account.
    n_neighbors, n_clusters, neighbor_search, row_weights, n_jobs
        As in `SimilarityGraphFusion`. For ``n_clusters="auto"`` give its `max_clusters`.
    system : {"SGF", "DGF", "Average"}, default="SGF"
        Who is fitted.
    dtype : dtype, default=float64
        Type of the features; all but float32 are converted to float64, and that is what is counted.
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
    consilience.config_context : Sets a limit that fits are held to.

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
    """Return what was given for each view, or one thing for all."""
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
