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
from .base import USUAL_CLUSTERS, auto_neighbors
from .checks import check_choice, check_count
from .sizes import FitSize, ViewSize

STAGES = ("prepare", "neighbors", "agreement", "graph", "fusion", "sparsify", "spectral", "labels")
LIBRARIES = 320 << 20  # Python, NumPy, SciPy, scikit-learn, Numba, and the code that it has compiled
SYSTEMS: Mapping[str, Literal["fusion", "average"]] = {"SGF": "fusion", "DGF": "fusion", "Average": "average"}

_EDGE = 8  # bytes of a value on an edge
_BUFFER = 2 << 20  # bytes of a block of the exact search, for each thread


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


def _fusion(size: FitSize, per_value: float) -> float:
    """Return bytes per edge and view if there is a fusion."""
    return per_value * size.n_edges * size.n_views if size.method == "fusion" else 0.0


def _trust(size: FitSize, per_value: float) -> float:
    """Return bytes per edge and view for how much rows count there."""
    return _fusion(size, per_value) if size.weighs_rows or size.missing else 0.0


TERMS: Sequence[Term] = (
    Term("rows of unit length", "prepare", "end", _copies),
    Term("columns measured for scaling", "prepare", "prepare", lambda s: _largest_view(s, 1)),
    # The search: a shifted copy of a view in double precision, and one in single precision.
    Term("copies that are searched", "neighbors", "neighbors", lambda s: _largest_view(s, 12)),
    Term("blocks of distances", "neighbors", "neighbors", lambda s: _BUFFER * s.n_threads),
    Term("neighbours", "neighbors", "graph", lambda s: 4 * s.n_listed),
    # Comparing views.
    Term("lists compared", "agreement", "agreement", lambda s: 4 * s.n_listed * (s.method == "fusion")),
    Term(
        "trust in rows", "agreement", "end", lambda s: 16 * s.n_samples * s.n_views * (s.method == "fusion")
    ),
    Term("neighbours, kept", "graph", "end", lambda s: 4 * s.n_listed * (s.method == "fusion")),
    # The edges: what each view brings onto them, first one by one.
    Term("edges", "graph", "end", lambda s: 4 * s.n_edges + 8 * s.n_samples),
    Term("weights", "graph", "sparsify", lambda s: _EDGE * s.n_edges * s.n_views),
    Term("weights, one by one", "graph", "graph", lambda s: _EDGE * s.n_edges * (s.n_views + 2)),
    # The fusion.
    Term("both parts of the weights", "fusion", "end", lambda s: _fusion(s, 2 * _EDGE)),
    Term("fused", "fusion", "end", lambda s: _EDGE * s.n_edges),
    Term("trust on edges", "fusion", "end", lambda s: _trust(s, _EDGE)),
    Term("blocks of edges", "fusion", "fusion", lambda s: _fusion(s, 3 * _EDGE) + 12 * s.n_edges),
    Term("blocks of trust", "fusion", "fusion", lambda s: _trust(s, 2 * _EDGE)),
    Term("who judges which edge", "graph", "end", lambda s: s.missing * 2.0 * s.n_edges * s.n_views),
    # The graph, and its spectrum.
    Term("graph", "sparsify", "end", lambda s: (_EDGE + 4) * s.n_kept),
    Term("graph in both directions", "sparsify", "sparsify", lambda s: 2 * (_EDGE + 4) * s.n_kept),
    Term("normalised graph", "spectral", "spectral", lambda s: (_EDGE + 4) * s.n_kept),
    Term("Krylov vectors", "spectral", "spectral", lambda s: 48.0 * s.n_samples * max(s.n_vectors, 4)),
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
    n_features: int | Sequence[int],
    *,
    n_neighbors: int | Literal["auto"] = "auto",
    n_clusters: int = USUAL_CLUSTERS,
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
    n_features : int or sequence of int
        Number of features of each view; one number is one view.
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
    >>> needed.peak_stage
    'fusion'
    >>> needed.peak < 2 * memory_estimate(500_000, [64, 32, 128], n_neighbors=10, n_clusters=20).peak
    True
    """
    check_count("n_samples", n_samples)
    check_count("n_clusters", n_clusters)
    check_choice("system", system, tuple(SYSTEMS))
    dimensions = [n_features] if isinstance(n_features, int | np.integer) else list(n_features)
    itemsize = 4 if np.dtype(dtype) == np.float32 else 8
    kind: Literal["plain", "scaled"] = "scaled" if metric in ("cosine", "correlation") else "plain"
    views = tuple(
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
        views=views,
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
