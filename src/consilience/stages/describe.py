r"""Describe: how features are compared, and with how many neighbours, by what the other views confirm.

A description is a form of the features (`spaces.descriptions`) and a number of neighbours. Which of them
shows the clusters cannot be seen in one view alone. But nuisances differ from view to view, and clusters do
not: so a description is good if the clusterings of the single views, each made on its own, agree. For the
labels a and b of two views,

.. math:: \frac{I(a; b) - \mathrm{E}\,I}{\max(H(a), H(b)) - \mathrm{E}\,I}

is the information that they share, less what is expected by chance for clusters of these sizes (the adjusted
mutual information of Vinh, Epps and Bailey, 2010): 0 for unrelated views and 1 for the same clustering. The
*confirmation* of a description is the mean over all pairs of kept views. It is found on some of the samples.

The confirmation is no proof. So the default description keeps half of the weight, whatever is found; the
better half of all candidates (the default among them) share the rest alike. Each description that has a share
gives a unified graph, and the graph that is clustered is their weighted mean, each scaled by its degrees. For
the same reason the others are fused on similarities and on distances, half and half, whatever the model.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import adjusted_mutual_info_score

from ..engines import Engine
from ..engines.protocol import Search
from ..fusion.edge_fusion import EdgeFusion, Fused
from ..io.stored import require, stored
from ..run.messages import collected_warnings
from ..spaces.descriptions import DEFAULT, OTHERS, can_be_described, described
from ..spaces.metric import auto_metrics
from ..views import Views
from .agree import ViewSelection
from .prepare import PreparedViews
from .search import auto_neighbors, search
from .sequence import cluster_view, fuse_views
from .sizes import MANY_SAMPLES
from .sparsify import UnifiedGraph

logger = logging.getLogger(__name__)

FEW_NEIGHBORS = (6, 10)  # numbers of neighbours that are tried next to the one of "auto"
DEFAULT_SHARE = 0.5
_SAMPLES, _PER_CLUSTER = 500, 8  # samples on which confirmations are found: at least so many, and per cluster
_TOLERANCE, _RESTARTS = 1e-3, 3  # of the eigenvectors, and of k-means: for each view alone
_SEED = 0  # draws the samples: whatever the seed of the fit, descriptions are chosen alike

Labels = NDArray[np.intp]


@dataclass(frozen=True)
class Description:
    """A form of the features and a number of neighbours.

    Attributes
    ----------
    name : {"default", "direction", "log", "rank"}
        The form; views that have no other are described by default.
    n_neighbors : int
        Neighbours of each sample in each view.
    """

    name: str
    n_neighbors: int

    def __str__(self) -> str:
        return f"{self.name}, {self.n_neighbors} neighbours"


def _check(table: DescriptionTable) -> None:
    one = (table.name, table.n_neighbors, table.confirmation, table.share)
    require(len({len(column) for column in one}) == 1 and len(table.name) > 0, "its columns do not fit")
    require(all(type(k) is int and k >= 1 for k in table.n_neighbors), "no numbers of neighbours")


@stored(check=_check)
@dataclass(frozen=True, eq=False)
class DescriptionTable:
    """The descriptions that were tried, the default first.

    Attributes
    ----------
    name : tuple of str
        Their forms.
    n_neighbors : tuple of int
        Their numbers of neighbours.
    confirmation : ndarray
        How far the single views agree about the clusters if they are described so: 0 as by chance, 1 fully;
        NaN if nothing was compared.
    share : ndarray
        How much of the unified graph comes from each; they sum to 1.
    """

    name: tuple[str, ...]
    n_neighbors: tuple[int, ...]
    confirmation: NDArray[np.float64]
    share: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.name)

    def __getitem__(self, i: int) -> Description:
        return Description(self.name[i], self.n_neighbors[i])

    def __str__(self) -> str:
        lines = [f"{'features':10} {'neighbours':>10} {'confirmed':>9} {'share':>6}"]
        rows = zip(self.name, self.n_neighbors, self.confirmation, self.share, strict=True)
        return "\n".join(lines + [f"{a:10} {k:>10} {c:>9.2f} {s:>6.0%}" for a, k, c, s in rows])

    @property
    def others(self) -> list[int]:
        """Which descriptions except the default have a share."""
        return [i for i in range(1, len(self)) if self.share[i] > 0]


class DescribedViews:
    """The kept views in each form of their features, placed when they are first asked for.

    Parameters
    ----------
    views : PreparedViews
        The kept views, described by default.
    can_change : sequence of bool
        Which of them have other forms.
    engine : Engine
        The engine that places them.
    """

    def __init__(self, views: PreparedViews, can_change: Sequence[bool], engine: Engine) -> None:
        self.views, self.can_change, self.engine = views, tuple(can_change), engine
        self._made: dict[str, PreparedViews] = {DEFAULT: views}

    @property
    def names(self) -> tuple[str, ...]:
        """The forms there are."""
        return (DEFAULT, *OTHERS) if any(self.can_change) else (DEFAULT,)

    def __getitem__(self, name: str) -> PreparedViews:
        if name not in self._made:
            self._made[name] = self._make(name)
        return self._made[name]

    def only(self, names: Sequence[str]) -> None:
        """Forget all forms but these."""
        self._made = {name: made for name, made in self._made.items() if name in (DEFAULT, *names)}

    def _make(self, name: str) -> PreparedViews:
        spaces, points = list(self.views.spaces), list(self.views.points)
        for i, changes in enumerate(self.can_change):
            if changes:
                space = described(spaces[i], name)
                placed = self.engine.place(space)
                if not self.engine.is_constant(placed):
                    spaces[i], points[i] = space, self.engine.cached(placed)
        return replace(self.views, spaces=tuple(spaces), points=tuple(points))


@stored()
@dataclass(frozen=True, eq=False)
class Redescribed:
    """The views fused in several descriptions.

    Attributes
    ----------
    graph : UnifiedGraph
        The weighted mean of the unified graphs.
    fused : tuple of (tuple of Fused)
        What each of the fusions learned in each of `DescriptionTable.others`, for new samples.
    """

    graph: UnifiedGraph
    fused: tuple[tuple[Fused, ...], ...]


def can_change(given: Views, views: PreparedViews, metric: Any, scale: str) -> list[bool]:
    """Say which of the prepared views have other forms: those whose metric and scale a rule chose.

    Parameters
    ----------
    given : Views
        All views.
    views : PreparedViews
        Some of them.
    metric, scale
        As the user gave them.
    """
    chosen = auto_metrics(metric, given.names) if scale == "auto" else (False,) * given.n_views
    return [
        chosen[i] and can_be_described(given, i, space.metric, space.rows)
        for i, space in zip(np.flatnonzero(views.active).tolist(), views.spaces, strict=True)
    ]


def candidates(views: DescribedViews, n_neighbors: int, fixed: bool) -> list[Description]:
    """Return the descriptions to try, the default first.

    Parameters
    ----------
    views : DescribedViews
        The kept views.
    n_neighbors : int
        Neighbours of each sample.
    fixed : bool
        Whether that number was given: then no other is tried.
    """
    if views.views.n_samples > MANY_SAMPLES:
        return [Description(DEFAULT, n_neighbors)]
    few = () if fixed else tuple(k for k in FEW_NEIGHBORS if k < n_neighbors)
    return [Description(name, k) for name in views.names for k in (n_neighbors, *few)]


def describe(
    views: DescribedViews,
    selection: ViewSelection,
    tried: Sequence[Description],
    n_clusters: int,
    *,
    engine: Engine,
) -> DescriptionTable:
    """Find how far the views confirm each description, and share out the unified graph.

    Parameters
    ----------
    views : DescribedViews
        The kept views.
    selection : ViewSelection
        Which views are kept for all samples.
    tried : sequence of Description
        The descriptions, the default first.
    n_clusters : int
        Number of clusters.
    engine : Engine
        The engine that computes.
    """
    names = tuple(one.name for one in tried)
    ks = tuple(one.n_neighbors for one in tried)
    compared = ~selection.only_for[selection.kept]
    n, share = views.views.n_samples, np.zeros(len(tried))
    share[0] = DEFAULT_SHARE
    if len(tried) == 1 or compared.sum() < 2 or n_clusters < 2:
        share[0] = 1.0
        return DescriptionTable(names, ks, np.full(len(tried), np.nan), share)
    rows = np.random.RandomState(_SEED).permutation(n)[: max(_SAMPLES, _PER_CLUSTER * n_clusters)]
    rows = np.sort(rows)
    whole = ks[0]
    confirmation = np.empty(len(tried))
    for i, one in enumerate(tried):
        if one.n_neighbors == whole:  # of each form the first: the fewer neighbours are among these
            part = _some_samples(views[one.name].only(compared), rows, engine)
        k = auto_neighbors(len(rows), n_clusters) if one.n_neighbors == whole else one.n_neighbors
        with engine.limit(1):  # for so few samples, to start threads takes longer than the work
            confirmation[i] = _confirmation(part, min(k, len(rows) - 1), n_clusters, engine)
    better = np.argsort(-confirmation, kind="stable")[: (len(tried) + 1) // 2]
    share[better] += (1 - DEFAULT_SHARE) / len(better)
    table = DescriptionTable(names, ks, confirmation, share)
    views.only([names[i] for i in table.others])
    logger.info("descriptions:\n%s", table)
    return table


def redescribe(
    graph: UnifiedGraph,
    table: DescriptionTable,
    views: DescribedViews,
    selection: ViewSelection,
    fusions: Sequence[EdgeFusion],
    how: Search,
    impute: bool,
    *,
    engine: Engine,
) -> Redescribed:
    """Fuse the views in every description that has a share, and mix the graphs.

    Parameters
    ----------
    graph : UnifiedGraph
        That of the default description.
    table : DescriptionTable
        The descriptions.
    views : DescribedViews
        The kept views.
    selection : ViewSelection
        How much views and rows count: the same in all descriptions.
    fusions : sequence of EdgeFusion
        The models; each has the same part of a description's share.
    how : {"auto", "exact", "approximate"}
        How neighbours are found.
    impute : bool
        Whether to complete the graph where views lack samples.
    engine : Engine
        The engine that computes.
    """
    if not table.others:
        return Redescribed(graph, ())
    kept = replace(
        selection,
        kept=np.ones(len(views.views), dtype=bool),
        weights=selection.weights.copy(),  # so that a fit that was resumed shares the same arrays
        only_for=selection.only_for[selection.kept],
    )
    if any(table.name[number] == DEFAULT for number in table.others):
        # Fewer neighbours are the first of these: also in a fit that was resumed and has not searched.
        for i in range(len(views.views)):
            search(i, views.views, table.n_neighbors[0], how, impute, engine=engine)
    graphs, learned = [graph.handle], []
    for number in table.others:
        with collected_warnings():  # what is to be said, the default description has said
            found = fuse_views(
                views[table.name[number]],
                table.n_neighbors[number],
                kept,
                fusions,
                how,
                impute,
                engine=engine,
            )
        graphs.extend(mine.handle for mine, _ in found)
        learned.append(tuple(replace(fused.without_edges(), result=None) for _, fused in found))
    parts = np.repeat(table.share[table.others] / len(fusions), len(fusions))
    shares = np.concatenate([table.share[:1], parts])
    return Redescribed(UnifiedGraph(engine.mix(graphs, shares)), tuple(learned))


def _some_samples(views: PreparedViews, rows: Labels, engine: Engine) -> PreparedViews:
    """Return some samples of the views, placed anew; points keep their answers."""
    if len(rows) == views.n_samples:
        return views.cached(engine)
    spaces = tuple(space.of_samples(rows) for space in views.spaces)
    return replace(
        views,
        spaces=spaces,
        points=tuple(engine.cached(engine.place(space)) for space in spaces),
        mask=None if views.mask is None else views.mask[rows],
        n_samples=len(rows),
    )


def _confirmation(views: PreparedViews, n_neighbors: int, n_clusters: int, engine: Engine) -> float:
    """Return how far the clusterings of the single views agree."""
    one_view = np.eye(len(views), dtype=bool)
    found = [
        cluster_view(views.only(one), n_neighbors, n_clusters, _TOLERANCE, _RESTARTS, engine=engine)
        for one in one_view
    ]
    shared = []
    for i, j in combinations(range(len(views)), 2):
        both = slice(None) if views.mask is None else views.mask[:, i] & views.mask[:, j]
        shared.append(shared_information(found[i][both], found[j][both]))
    return float(np.mean(shared))


def shared_information(one: Labels, other: Labels) -> float:
    """Return how much two clusterings of the same samples tell of each other, beyond chance.

    Examples
    --------
    >>> a = np.repeat([0, 1, 2], 50)
    >>> shared_information(a, (a + 1) % 3), abs(round(shared_information(a, np.arange(150) % 3), 2))
    (1.0, 0.01)
    """
    if min(len(np.unique(one)), len(np.unique(other))) < 2:  # one cluster tells nothing
        return 0.0
    return float(adjusted_mutual_info_score(one, other, average_method="max"))
