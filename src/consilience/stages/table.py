"""The table of stages: what each is called, what it needs and returns, and what it costs in time and memory.

Progress, the time left, `memory_estimate`, the refusal of a fit that needs too much memory, checkpoints and
`timings_` read this table. A new stage is one new entry.

Seconds are rough, on one core of a machine of 2024, and only their shares matter: the speed is learned from
the stages that are done. A line of memory is an array, or several that are made and removed together, from
the stage that makes it to the last one that holds it; `benchmarks/speed/memory.py` prints the estimate next
to the measured values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from ..engines import Engine
from ..run.config import get_config
from ..run.memory import available_bytes
from ..run.progress import PlannedStage
from .sizes import FitSize, MemoryEstimate

LIBRARIES = 320 << 20  # Python, NumPy, SciPy, scikit-learn, Numba, and the code that it has compiled
SHARE = 0.9  # of the free memory
LITTLE = 256 << 20  # bytes that every machine has free
_BUFFER = 2 << 20  # bytes of a block of the exact search, for each thread
_REGIONS = 67 << 20  # bytes that the approximate search needs for any number of samples
_N_INIT = 3  # restarts of k-means on many samples, for the time left


@dataclass(frozen=True)
class Memory:
    """Something that takes memory from a stage on.

    Attributes
    ----------
    what : str
        What it is.
    until : str
        The last stage that holds it; "end": it is part of the fitted model.
    n_bytes : callable
        Bytes, from the size of the fit.
    """

    what: str
    until: str
    n_bytes: Callable[[FitSize], float]


@dataclass(frozen=True)
class Stage:
    """A stage of a fit.

    Attributes
    ----------
    name : str
        Its name: that of its module, in `timings_`, in the progress and in checkpoints.
    what : str
        What it does, in words.
    returns : str
        What it returns.
    needs : tuple of str
        The stages whose results it takes. The last stage needs everything that the fitted model keeps.
    seconds : callable
        What each of its parts costs, from the size of the fit.
    memory : tuple of Memory
        What it allocates.
    """

    name: str
    what: str
    returns: str
    needs: tuple[str, ...]
    seconds: Callable[[FitSize], Sequence[float]]
    memory: tuple[Memory, ...]


def _n_values(size: FitSize) -> list[int]:
    """Return how many numbers each view holds."""
    return [view.n_values(size.n_samples) for view in size.views]


def _largest_view(size: FitSize, per_value: int) -> float:
    """Return bytes per number of the view that has most of them; matrices are searched as they are."""
    return per_value * max(
        (view.n_values(size.n_samples) for view in size.views if view.kind != "matrix"), default=0
    )


def _copies(size: FitSize) -> float:
    """Return the size of the copies of views that are kept because rows are scaled."""
    return sum(view.n_bytes(size.n_samples) for view in size.views if view.kind == "scaled")


def _reordered(size: FitSize) -> float:
    """Return the size of the copies of all views in the order of the fit, or 0 if it is that of the rows."""
    return size.is_reordered * sum(view.n_bytes(size.n_samples) for view in size.views)


def _on_edges(size: FitSize, n_arrays: float = 1.0) -> float:
    """Return the size of arrays with a value per edge and view."""
    return n_arrays * size.edge_bytes * size.n_edges * size.n_views


def _fusion(size: FitSize, n_arrays: float) -> float:
    """Return the same, or 0 without a fusion."""
    return _on_edges(size, n_arrays) if size.is_fusion else 0.0


def _trust(size: FitSize, n_arrays: float) -> float:
    """Return the same for the trust in rows on edges."""
    return _fusion(size, n_arrays) if size.weighs_rows or size.missing else 0.0


def _moved_results(size: FitSize) -> float:
    """Return what is held twice while the results of a fit in another order are put back."""
    on_edges = _fusion(size, 2) + _trust(size, 1) + (16.0 + size.edge_bytes) * size.n_edges * size.is_fusion
    return size.is_reordered * (on_edges + (size.edge_bytes + 16.0) * size.n_kept)


def _redescribed(size: FitSize) -> float:
    """Return the size of the views in three other descriptions, which are in double precision."""
    n = size.n_samples
    copies = 3.0 * sum(view.n_bytes(n, 8) for view in size.views if view.kind != "matrix")
    return size.tries_descriptions * copies


def _search_seconds(size: FitSize) -> list[float]:
    n = size.n_samples
    if size.may_search_some:
        return [2.5e-5 * n * (1 + view.n_features / 100) for view in size.views]
    return [6e-11 * n * (stored + 60 * n) for stored in _n_values(size)]


STAGES: tuple[Stage, ...] = (
    Stage(
        "prepare",
        "features on a common scale, placed by the engine",
        "PreparedViews",
        (),
        lambda s: [5e-9 * sum(_n_values(s))],
        (
            Memory("views in the order of the fit", "end", _reordered),
            Memory("rows of unit length", "end", _copies),
            Memory("columns measured for scaling", "prepare", lambda s: _largest_view(s, 1)),
        ),
    ),
    Stage(
        "search",
        "neighbours in each view",
        "Neighbors, one for each view",
        ("prepare",),
        _search_seconds,
        (
            # Of all pairs: a shifted copy of a view in double precision, and one in single precision.
            Memory("copies searched", "search", lambda s: _largest_view(s, 12 if s.may_search_all else 4)),
            Memory("blocks of pairs", "search", lambda s: _BUFFER * s.n_threads * s.may_search_all),
            Memory("regions", "search", lambda s: _REGIONS * s.may_search_some),
            Memory("distances found", "weigh", lambda s: 18.0 * s.n_listed * s.may_search_some),
            Memory("neighbours", "weigh", lambda s: 4.0 * s.n_listed),
        ),
    ),
    Stage(
        "agree",
        "which views are kept, and how much each view and row counts",
        "ViewSelection",
        ("prepare", "search"),
        lambda s: [1.5e-7 * s.n_listed * s.is_fusion],
        (
            Memory("lists compared", "agree", lambda s: 4.0 * s.n_listed * s.is_fusion),
            Memory("trust in rows", "end", lambda s: 16.0 * s.n_samples * s.n_views * s.is_fusion),
        ),
    ),
    Stage(
        "connect",
        "the edges that the kept views share",
        "SharedEdges",
        ("search", "agree"),
        lambda s: [2e-8 * s.n_listed],
        (
            Memory("neighbours, kept", "end", lambda s: 4.0 * s.n_listed * s.is_fusion),
            Memory("edges", "end", lambda s: 4.0 * s.n_edges + 8.0 * s.n_samples),
            Memory("which view judges which edge", "end", lambda s: 2.0 * s.missing * s.n_edges * s.n_views),
        ),
    ),
    Stage(
        "trust",
        "which rows belong to their sample",
        "ViewSelection",
        ("search", "agree", "connect"),
        lambda s: [s.learns_trust * (6e-8 * s.n_edges * s.n_views + 1.5e-6 * s.n_samples * s.n_vectors)],
        (
            Memory("weights, averaged", "trust", lambda s: s.learns_trust * _on_edges(s, 2)),
            Memory("graph, averaged", "trust", lambda s: s.learns_trust * 24.0 * s.n_kept),
            Memory(
                "vectors, averaged",
                "trust",
                lambda s: s.learns_trust * 8.0 * s.n_samples * s.n_vectors * (6 + s.n_views),
            ),
        ),
    ),
    Stage(
        "weigh",
        "what each view says about the edges",
        "EdgeWeights",
        ("prepare", "search", "agree", "connect", "trust"),
        lambda s: [2.5e-9 * s.n_edges * sum(_n_values(s)) / s.n_samples],
        (
            Memory("weights", "end", _on_edges),
            Memory("distances of a view", "weigh", lambda s: 24.0 * s.n_edges),
        ),
    ),
    Stage(
        "fuse",
        "one similarity for each edge",
        "Fused",
        ("agree", "connect", "trust", "weigh"),
        lambda s: [(2.4e-7 if s.is_fusion else 2e-8) * s.n_edges * s.n_views],
        (
            Memory("blocks of edges", "fuse", lambda s: _fusion(s, 2) + _trust(s, 1)),
            Memory("inconsistent parts", "end", lambda s: _fusion(s, 1)),
            Memory("trust on edges", "end", lambda s: _trust(s, 1)),
            Memory("fused", "end", lambda s: 2.0 * s.edge_bytes * s.n_edges),
        ),
    ),
    Stage(
        "sparsify",
        "the strongest edges, in both directions",
        "UnifiedGraph",
        ("agree", "connect", "fuse"),
        lambda s: [1e-7 * s.n_kept],
        (
            Memory("graph", "end", lambda s: (s.edge_bytes + 4.0) * s.n_kept),
            Memory("both directions", "sparsify", lambda s: 2.0 * (s.edge_bytes + 4.0) * s.n_kept),
        ),
    ),
    Stage(
        "describe",
        "how features are compared, by what the views confirm",
        "DescriptionTable",
        ("prepare", "agree", "trust"),
        lambda s: [s.tries_descriptions * 0.5 * s.n_views],
        (Memory("views in other descriptions", "end", _redescribed),),
    ),
    Stage(
        "redescribe",
        "the same from other descriptions",
        "Redescribed",
        ("prepare", "agree", "trust", "sparsify", "describe"),
        lambda s: [s.tries_descriptions * (3 * sum(_search_seconds(s)) + 2e-6 * s.n_edges * s.n_views)],
        (
            Memory("weights of a description", "redescribe", lambda s: s.tries_descriptions * _fusion(s, 4)),
            Memory(
                "graphs", "redescribe", lambda s: s.tries_descriptions * 11 * (s.edge_bytes + 4.0) * s.n_kept
            ),
            Memory("graph, mixed", "end", lambda s: s.tries_descriptions * 3 * 12.0 * s.n_kept),
        ),
    ),
    Stage(
        "embed",
        "eigenvectors of the unified graph",
        "SpectralEmbedding",
        ("sparsify", "redescribe"),
        lambda s: [1.5e-6 * s.n_samples * s.n_vectors],
        (
            Memory("normalised graph, twice", "embed", lambda s: 20.0 * s.n_kept),
            Memory("blocks of vectors", "embed", lambda s: 48.0 * s.n_samples * max(s.n_vectors, 4)),
            Memory("eigenvectors", "end", lambda s: 8.0 * s.n_samples * s.n_vectors),
        ),
    ),
    Stage(
        "select",
        "the number of clusters, if it is not given",
        "ClusterSelection",
        ("embed",),
        lambda s: [0.1],
        (),
    ),
    Stage(
        "label",
        "the cluster of each sample",
        "Partition",
        ("prepare", "agree", "trust", "fuse", "sparsify", "describe", "redescribe", "embed", "select"),
        lambda s: [4e-7 * _N_INIT * s.n_samples * s.n_vectors],
        (
            Memory("rows to cluster", "label", lambda s: 24.0 * s.n_samples * s.n_vectors),
            Memory("results in the order of the rows", "label", _moved_results),
        ),
    ),
)
"""The stages of a model that fuses views on shared edges, in order."""

OTHER_STAGES: tuple[Stage, ...] = (
    Stage(
        "learn", "what a comparison system makes of the views", "its own", ("search",), lambda s: [0.0], ()
    ),
    Stage("choose", "the view that is taken", "its number", ("label",), lambda s: [0.0], ()),
)
"""Stages that only comparison systems have. Their time is not known; each checks its own memory."""


def plan_of(size: FitSize, *, selects: bool = False) -> tuple[PlannedStage, ...]:
    """Return the stages that a fit will have, for a run.

    Examples
    --------
    >>> from consilience.stages.sizes import FitSize, ViewSize
    >>> [stage.name for stage in plan_of(FitSize(1000, (ViewSize(64), ViewSize(32)), 10, 5))]
    ['prepare', 'search', 'agree', 'connect', 'weigh', 'fuse', 'sparsify', 'embed', 'label']
    """
    left_out = _not_run(size) | (set() if selects else {"select"})
    return tuple(
        PlannedStage(
            stage.name, tuple(stage.seconds(size)), tuple(one for one in stage.needs if one not in left_out)
        )
        for stage in STAGES
        if stage.name not in left_out
    )


def _not_run(size: FitSize) -> set[str]:
    """Return the stages that a fit does not have."""
    trust = set() if size.learns_trust else {"trust"}
    return trust if size.describes else trust | {"describe", "redescribe"}


def planned(*names: str, **parts: int) -> tuple[PlannedStage, ...]:
    """Return stages of the table by name, for systems whose time is not known.

    Parameters
    ----------
    *names : str
        The stages, in order.
    **parts : int
        How many parts a stage has, such as one search for each view; 1 if it is not named.

    Examples
    --------
    >>> [len(stage.seconds) for stage in planned("prepare", "search", "learn", "label", search=3)]
    [1, 3, 1, 1]
    """
    table = {stage.name: stage for stage in (*STAGES, *OTHER_STAGES)}
    return tuple(
        PlannedStage(
            name, (0.0,) * parts.get(name, 1), tuple(one for one in table[name].needs if one in names)
        )
        for name in names
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
    left_out = _not_run(size) | {"select"}
    stages = {name: before + int(held[name]) for name in names if name not in left_out}
    return MemoryEstimate(MappingProxyType(stages), LIBRARIES, size.n_input, size)


def require_memory(size: FitSize, who: str, engine: Engine) -> None:
    """Raise a MemoryError if a fit needs more than the limit that is set, or than is free.

    Parameters
    ----------
    size : FitSize
        The size of the fit.
    who : str
        The name of the model, for the message.
    engine : Engine
        The engine of the fit, which may have a memory of its own.
    """
    needed, limit = estimate(size), get_config().memory_limit
    # Features that do not fit there come in blocks, so that only what the fit adds must have room.
    elsewhere = engine.require(needed.added, f"{who} on {size.n_samples:,} samples and {_n_views(size)}")
    exceeded = limit if limit is not None and needed.peak > limit else None
    asks = exceeded is None and not elsewhere and needed.added > LITTLE
    free = available_bytes() if asks else None
    if exceeded is not None or (free is not None and needed.added > SHARE * free):
        from .memory_advice import refusal  # only now: it estimates fits of other sizes

        raise MemoryError(refusal(size, who, needed, exceeded, free))


def _n_views(size: FitSize) -> str:
    return f"{size.n_views} view{'s' * (size.n_views > 1)}"
