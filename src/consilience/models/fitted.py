"""What a fit keeps: the results of its stages, in the order in which samples came, and a table of views."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..engines import Engine, threads
from ..fusion import Fused, FusionResult
from ..graphs import EdgeSet
from ..io.stored import stored
from ..spaces import Space
from ..spaces.descriptions import Transform
from ..stages.agree import ViewSelection
from ..stages.describe import DescriptionTable
from ..stages.label import canonical_labels
from ..stages.prepare import PreparedViews, expand
from ..stages.sparsify import UnifiedGraph
from .base import GraphClusters
from .given import GivenViews, Order, RowOrder
from .prediction import EdgeModel, OtherDescription, Predictor

_EDGES_MOVED = 1 << 18  # at a time


@dataclass(frozen=True, eq=False)
class DescribedResult:
    """What was found with other descriptions of the features.

    Attributes
    ----------
    table : DescriptionTable
        The descriptions that were tried.
    graph : UnifiedGraph
        The weighted mean of their unified graphs.
    fused : tuple of (tuple of Fused)
        What each of the fusions learned in each of `table.others`.
    spaces : tuple of (tuple of Space)
        The kept views in each of these.
    """

    table: DescriptionTable
    graph: UnifiedGraph
    fused: tuple[tuple[Fused, ...], ...]
    spaces: tuple[tuple[Space, ...], ...]

    def predictor(self, default: Predictor) -> Predictor:
        """Return a predictor by all descriptions, from the one by the default."""
        table = self.table
        others = tuple(
            OtherDescription(
                tuple(one.scaling if isinstance(one.scaling, Transform) else None for one in spaces),
                tuple(EdgeModel(one.kernels, one.units, one.learned) for one in fused),
                table.n_neighbors[number],
                float(table.share[number]),
            )
            for number, fused, spaces in zip(table.others, self.fused, self.spaces, strict=True)
        )
        return replace(default, others=others)


@dataclass(frozen=True, eq=False)
class StageResults:
    """What the stages of a fusion returned.

    Attributes
    ----------
    given : GivenViews
        The data, with the samples as they came.
    spaces : PreparedViews
        The views that say anything.
    selection : ViewSelection
        Which of them are kept.
    fused : Fused
        What the fusion made of them.
    graph : UnifiedGraph
        The unified graph.
    clusters : GraphClusters
        Its clusters.
    order : RowOrder
        The order of the samples in all of the others.
    described : DescribedResult or None
        What other descriptions of the features gave; None if none were tried.
    """

    given: GivenViews
    spaces: PreparedViews
    selection: ViewSelection
    fused: Fused
    graph: UnifiedGraph
    clusters: GraphClusters
    order: RowOrder
    described: DescribedResult | None = None

    def found(self, engine: Engine) -> FoundGraph:
        """Return what was found about the samples, fetched, in the order in which they came."""
        result = self.fused.result
        found = FoundGraph(
            self.clusters,
            engine.fetch(self.graph.handle),
            # Of views left out, too: it is what they disagree on.
            self.spaces.for_all([engine.fetch(one) for one in self.selection.lists]),
            self._row_reliability(engine),
            None if result is None else result.fetched(engine),
        )
        places = self.order.places
        return found if places is None else in_original_order(found, places)

    def _row_reliability(self, engine: Engine) -> NDArray[Any]:
        """Return how much each row of each view counts; NaN where it is left out or has not seen a sample."""
        views, trust = self.spaces.only(self.selection.kept), self.selection.trust
        rows = np.ones((views.n_samples, len(views))) if trust is None else engine.fetch(trust)
        return views.expand(rows if views.mask is None else np.where(views.mask, rows, np.nan), np.nan)


@dataclass(frozen=True, eq=False)
class FoundGraph:
    """What a fit found about its samples.

    Attributes
    ----------
    clusters : GraphClusters
        The clusters of the unified graph.
    graph : csr_array of shape (n, n)
        The unified graph.
    neighbors : tuple of (ndarray of shape (n, k), or None)
        The neighbours in each view; None for a view that says nothing.
    row_reliability : ndarray of shape (n, v)
        How much each row of each view counts.
    fusion : FusionResult or None
        What a consistent fusion found.
    """

    clusters: GraphClusters
    graph: sparse.csr_array
    neighbors: tuple[NDArray[Any] | None, ...]
    row_reliability: NDArray[Any]
    fusion: FusionResult | None


def in_original_order(found: FoundGraph, order: Order) -> FoundGraph:
    """Return the same with the samples in the order in which they came.

    Parameters
    ----------
    found : FoundGraph
        With the samples in another order.
    order : ndarray of shape (n,)
        Which sample, as they came, is at each place of that order.
    """
    places = np.empty_like(order)
    places[order] = np.arange(len(order))
    graph, moved = found.graph, _moved_edges(found.graph.indptr, found.graph.indices, order, places)
    embedding = found.clusters.embedding
    return FoundGraph(
        replace(
            found.clusters,
            labels=canonical_labels(found.clusters.labels[places]),
            embedding=replace(embedding, vectors=embedding.vectors[places]),
        ),
        sparse.csr_array((graph.data[moved.data], moved.indices, moved.indptr), shape=graph.shape),
        tuple(
            None if one is None else np.asarray(order.astype(one.dtype)[one][places])
            for one in found.neighbors
        ),
        found.row_reliability[places],
        None if found.fusion is None else _moved_fusion(found.fusion, order, places),
    )


def _moved_edges(
    indptr: NDArray[Any], indices: NDArray[Any], order: Order, places: Order
) -> sparse.csr_array:
    """Return edges between the samples as they came, sorted; each holds the number that it had."""
    n = len(order)
    edges = sparse.csr_array((np.arange(len(indices)), indices, indptr), shape=(n, n))[places]
    ends = order.astype(indices.dtype)[edges.indices]
    edges = sparse.csr_array((edges.data, ends, edges.indptr), shape=(n, n))
    edges.sort_indices()  # within each row, which is much faster than to sort all edges
    return edges


def _moved_fusion(result: FusionResult, order: Order, places: Order) -> FusionResult:
    """Return a fusion on edges between the samples as they came."""
    assert result.edges is not None
    old = result.edges
    edges = _moved_edges(old.indptr, old.indices, order, places)

    def moved(values: Any) -> Any:
        """Return the values on the edges as they are now, moved by several threads."""
        if values is None:
            return None
        there = np.empty_like(values)

        def move(first: int, last: int) -> None:
            np.take(values, edges.data[first:last], axis=-1, out=there[..., first:last], mode="clip")

        threads.for_ranges(move, len(edges.data), _EDGES_MOVED)
        return there

    return replace(
        result,
        fused=moved(result.fused),
        weights_by_view=moved(result.weights_by_view),
        inconsistent_by_view=moved(result.inconsistent_by_view),
        seen_by_view=moved(result.seen_by_view),
        trust_by_view=moved(result.trust_by_view),
        edges=EdgeSet(
            edges.indptr.astype(old.indptr.dtype), edges.indices.astype(old.indices.dtype), moved(old.seen)
        ),
    )


KEPT = "kept"
Floats = NDArray[np.float64]


@stored()
@dataclass(frozen=True, eq=False, repr=False)
class ViewTable:
    """What the fit did with each view. Columns have one entry per view, in the order of the data.

    Attributes
    ----------
    name : tuple of str
        Names of the views.
    status : tuple of str
        ``"kept"``, or why a view was left out.
    weight : ndarray of shape (v,)
        How much each view counts (the paper's lambda); 0 for a view left out.
    scale : ndarray of shape (v,)
        The factor that brings a view to the common scale (the paper's alpha): no measure of trust. 0 for a
        view left out, NaN for models that have none.
    contribution : ndarray of shape (v,)
        Share of the unified graph that comes from each view; they sum to 1.
    reliability : ndarray of shape (v,)
        Median agreement with the other kept views, copies not counted; 0 for a view that agrees with no
        other, NaN if there is nothing to compare, or agreement is not used.
    inconsistent_share : ndarray of shape (v,)
        How much of a view's own weight the others do not confirm; NaN for a view left out.

    Examples
    --------
    >>> from consilience import DistanceGraphFusion, make_multiview
    >>> data = make_multiview(200, n_views=2, noise_views=1, n_clusters=3, separation=4.0, random_state=0)
    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     model = DistanceGraphFusion(n_clusters=3, random_state=0).fit(data.views)
    >>> model.views_.status
    ('kept', 'kept', 'agrees with no other view')
    """

    name: tuple[str, ...]
    status: tuple[str, ...]
    weight: Floats
    scale: Floats
    contribution: Floats
    reliability: Floats
    inconsistent_share: Floats

    @property
    def kept(self) -> NDArray[np.bool_]:
        """Which views were kept."""
        return self.weight > 0

    def __len__(self) -> int:
        return len(self.name)

    def __getitem__(self, view: int | str) -> dict[str, Any]:
        """Return the row of a view, by its number or its name."""
        if isinstance(view, str) and view not in self.name:
            raise KeyError(f"no view {view!r}: the views are {', '.join(map(repr, self.name))}")
        i = self.name.index(view) if isinstance(view, str) else view
        return {field.name: getattr(self, field.name)[i] for field in fields(self)}

    def to_frame(self) -> Any:
        """Return a pandas DataFrame, indexed by the names; needs pandas."""
        import pandas as pd  # type: ignore[import-untyped,unused-ignore]

        columns = {field.name: getattr(self, field.name) for field in fields(self)}
        return pd.DataFrame(columns).set_index("name")

    def __repr__(self) -> str:
        columns = [field.name for field in fields(self)]
        rows = [[_shown(self[i][column]) for column in columns] for i in range(len(self))]
        header = [column.replace("_", " ") for column in columns]
        widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
        return "\n".join(
            "  ".join(
                cell.ljust(width) if i < 2 else cell.rjust(width)
                for i, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in (header, *rows)
        )


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return value
    return "" if np.isnan(value) else f"{value:.3f}"


def make_view_table(
    names: Sequence[str],
    everything: PreparedViews,
    selection: ViewSelection,
    weights: Floats,
    fusion: FusionResult | None,
) -> ViewTable:
    """Put the table together.

    Parameters
    ----------
    names : sequence of str
        All views.
    everything : PreparedViews
        Those that say anything.
    selection : ViewSelection
        Those that were kept.
    weights : ndarray of shape (number kept,)
        How much each of these counts.
    fusion : FusionResult or None
        What a fusion found, on arrays; None: there are no scales.
    """
    kept = everything.expand(selection.kept, False)
    none = np.full(len(weights), np.nan)
    reliability = none if selection.reliability is None else selection.reliability.values
    return ViewTable(
        name=tuple(names),
        status=_statuses(names, everything, selection),
        weight=expand(weights, kept, 0.0),
        scale=expand(none if fusion is None else fusion.view_scales, kept, 0.0),
        contribution=expand(
            weights / weights.sum() if fusion is None else fusion.view_contributions, kept, 0.0
        ),
        reliability=(
            np.full(len(names), np.nan) if selection.reliability is None else everything.expand(reliability)
        ),
        inconsistent_share=expand(none if fusion is None else fusion.inconsistent_shares, kept, np.nan),
    )


def _statuses(names: Sequence[str], everything: PreparedViews, selection: ViewSelection) -> tuple[str, ...]:
    """Say of each view that it was kept, or why not."""
    statuses = ["says nothing: all samples look the same"] * len(names)
    found = selection.reliability
    for i, number in enumerate(np.flatnonzero(everything.active).tolist()):
        if selection.only_for[i]:
            statuses[number] = f"kept for {int(selection.orphans.sum())} samples that no other view has seen"
        elif selection.kept[i]:
            statuses[number] = KEPT
        elif found is not None and found.copy_of[i] != i:
            statuses[number] = f"copy of {everything.names[found.copy_of[i]]!r}"
        elif found is not None and found.groups[i] >= 0:
            statuses[number] = "agrees with the smaller group"
        else:
            statuses[number] = "agrees with no other view"
    return tuple(statuses)
