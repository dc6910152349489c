"""Spectral clustering of all views side by side, as if they were one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ...engines import Engine
from ...engines.embedding import unit_rows
from ...run.execution import Run
from ...run.progress import PlannedStage
from ...spaces import Scaling, Space, is_precomputed, metric_label, resolve_metrics
from ...spaces.scaling import plan_rescaling
from ...stages.embed import embed
from ...stages.prepare import PreparedViews, prepare
from ...stages.table import planned
from ...views import Views
from ..base import MultiviewClusterer, Settings
from ..estimator import estimator
from ..given import GivenViews
from .labelling import label_rows
from .view_graphs import view_graph

_NAME = "all views together"  # in messages


def concatenate(arrays: Sequence[Any]) -> Any:
    """Return a new array with the features of all views side by side: CSR if a view is sparse, else dense.

    Examples
    --------
    >>> import numpy as np
    >>> concatenate([np.eye(2), np.full((2, 1), 5.0)])
    array([[1., 0., 5.],
           [0., 1., 5.]])
    """
    if any(sparse.issparse(array) for array in arrays):
        return sparse.csr_array(sparse.hstack([sparse.csr_array(array) for array in arrays], format="csr"))
    return np.concatenate(arrays, axis=1)


def scale_blocks(x: Any, widths: Sequence[int], factors: Sequence[float] | NDArray[Any]) -> None:
    """Multiply each block of so many columns by its factor, in place.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.ones((2, 3))
    >>> scale_blocks(x, [2, 1], [1.0, 10.0])
    >>> x[0]
    array([ 1.,  1., 10.])
    """
    by_column = np.repeat(np.asarray(factors), widths).astype(x.dtype)
    if sparse.issparse(x):
        x.data *= by_column[x.indices]
    else:
        x *= by_column


@estimator
class ConcatenatedSpectral(MultiviewClusterer):
    r"""Spectral clustering of the concatenated features: the other thing that every fusion has to beat.

    The features of all views are put side by side, each view multiplied by a factor of its own,

    .. math::

        x = (f_1 x_1, \ldots, f_v x_v),

    and clustered as one view (see `SingleViewSpectral`). With ``balance=True`` the factors make the views
    count alike: under the cosine metric, :math:`f_i^{-2}` is the view's mean squared row norm, so that each
    contributes the same to the inner products; under any other, it is the view's mean squared Euclidean
    distance over all pairs of samples (twice its total variance), so that each contributes the same to the
    squared distances. Nothing is centred: no distance of differences would change by it, others would lose
    their meaning (cosine, Bray-Curtis, Jaccard), and sparse views stay sparse. If a view is sparse, so is the
    concatenation, and dense views are stored in it entry by entry.

    It is a fair choice where all views are about equally informative; a view of noise spoils all distances,
    and views of different nature have to share one metric. The cost is that of one neighbour search in all d
    features, O(n^2 d), and one spectral clustering; memory is a copy of the data.

    Parameters
    ----------
    balance : bool, default=True
        Whether to make the views count alike; otherwise they are put side by side as they are, and the one
        with the largest numbers or the most features dominates.
    metric : str, default="auto"
        One metric for all views together, not precomputed; as in `SimilarityGraphFusion` otherwise. "auto"
        looks at the concatenation. A sequence or dict is taken only if it names the same metric throughout.
    n_clusters, n_neighbors, scale, assign_labels, neighbor_search, engine, n_jobs, random_state, verbose
        As in `SimilarityGraphFusion`; but ``scale`` is "none" by default, and ``"standard"`` comes before
        balancing. A number of clusters must be given, and `assign_labels` be k-means.
    view_selection : {"all", "agreement"}, default="all"
        "agreement" leaves out the views that SGF and DGF leave out by default, with a warning: those whose
        neighbours are, beyond chance, those of no other view, and copies.

    Attributes
    ----------
    labels_, graph_, embedding_, eigenvalues_, n_neighbors_, metrics_, view_names_, timings_, n_features_in_
        As in `SimilarityGraphFusion`. A view whose rows are all the same is left out.

    References
    ----------
    A. Y. Ng, M. I. Jordan, Y. Weiss, "On Spectral Clustering: Analysis and an Algorithm", Advances in Neural
    Information Processing Systems, 2002.

    Examples
    --------
    >>> from consilience import make_multiview
    >>> from consilience.models import ConcatenatedSpectral
    >>> from consilience.metrics import clustering_accuracy
    >>> sample = make_multiview(150, n_views=3, n_clusters=3, separation=4.0, random_state=0)
    >>> model = ConcatenatedSpectral(n_clusters=3, random_state=0).fit(sample.views)
    >>> clustering_accuracy(sample.y, model.labels_)
    1.0
    """

    balance: bool = True
    assign_labels: Any = "kmeans"

    def check_parameters(self, views: Views) -> None:
        """Check `balance`."""
        if not isinstance(self.balance, bool | np.bool_):
            raise ValueError(f"balance must be True or False, got {self.balance!r}.")

    def metrics_of(self, views: Views, engine: Engine) -> tuple[Any, ...]:
        """Return the one metric of all views together, once for each view."""
        each = super().metrics_of(views, engine)
        return (resolve_together(views, self.metric, each, engine),) * views.n_views

    def fit_stages(self, given: GivenViews, settings: Settings, run: Run) -> None:
        """Run the stages: one graph of the concatenated features, its embedding, labels."""
        metric, k = settings.metrics[0], settings.n_neighbors
        kept = self._kept(given, settings, run)
        views = run.stage(
            "prepare", given.prepare_by, prepare_together, metric, self.scale, bool(self.balance), kept
        )
        (self.graph_,) = run.each("search", view_graph, [repr(_NAME)], views, k, self.neighbor_search)
        found = run.stage(
            "embed", embed, run.engine.adopt(self.graph_), settings.n_clusters, run.random_state
        )
        self.eigenvalues_ = found.eigenvalues
        self.embedding_ = unit_rows(run.engine.fetch(found.vectors))
        self.labels_ = run.stage(
            "label", label_rows, self.embedding_, settings.n_clusters, settings.assigner, run.random_state
        )

    def _kept(self, given: GivenViews, settings: Settings, run: Run) -> tuple[bool, ...] | None:
        """Return which views are put side by side: those that `view_selection` keeps; None: all.

        They are compared one by one, each by its own metric, as by every other system.
        """
        if self.view_selection != "agreement":
            return None
        metrics = super().metrics_of(given.views, run.engine)
        alone = given.prepare(metrics, self.scale, engine=run.engine)
        return tuple(alone.expand(self.select_views(alone, settings, run).kept, False).tolist())

    def plan_stages(self, views: Views, settings: Settings, engine: Engine) -> Sequence[PlannedStage]:
        """Return the stages to come."""
        return planned("prepare", "search", "embed", "label")


def resolve_together(views: Views, metric: Any, each: Sequence[Any], engine: Engine) -> Any:
    """Return the metric of all views together, or raise a ValueError if they cannot be put side by side.

    Parameters
    ----------
    views : Views
        The views.
    metric : str, callable, sequence or mapping
        As the user gave it. "auto" is decided once for all, so it sees them all.
    each : sequence
        What each view is measured by alone.
    engine : Engine
        The engine that looks at the columns.
    """
    one = _one_metric(metric)
    if is_precomputed(one):
        raise ValueError(
            f"metric={one!r} says that the views are matrices between samples, which have no features "
            "to put side by side; use another system, such as SimilarityGraphFusion or AverageGraph, or "
            "pass the features."
        )
    for i, name in enumerate(views.names):
        if is_precomputed(each[i]) or views.encodings[i] is not None:
            what = "is a graph" if is_precomputed(each[i]) else "has columns that are no numbers"
            raise ValueError(
                f"View {name!r} {what}, and ConcatenatedSpectral puts numbers side by side; use another "
                "system, such as SimilarityGraphFusion or AverageGraph."
            )
        views.check_cells(i)
    together = concatenate(views.arrays) if one == "auto" else views.arrays[0]
    return resolve_metrics(one, [together], [_NAME], engine=engine)[0]


def _one_metric(given: Any) -> Any:
    if isinstance(given, str) or callable(given):
        return given
    # Their number and names were checked when they were resolved view by view.
    metrics = sorted(set(given.values() if isinstance(given, Mapping) else given), key=metric_label)
    if len(metrics) > 1:
        raise ValueError(
            "ConcatenatedSpectral measures all views together by one metric, got "
            f"{', '.join(repr(metric_label(metric)) for metric in metrics)}; pass one name."
        )
    return metrics[0]


def prepare_together(
    views: Views,
    metric: Any,
    scale: str,
    balance: bool,
    kept: tuple[bool, ...] | None = None,
    *,
    engine: Engine,
) -> PreparedViews:
    """Place all views side by side, as one.

    Parameters
    ----------
    views : Views
        The views.
    metric : str or callable
        What they are measured by together.
    scale : {"none", "auto", "standard"}
        Which features to rescale.
    balance : bool
        Whether to make the views count alike.
    kept : tuple of bool, default=None
        Which of the views; None: all.
    engine : Engine
        The engine that places them.
    """
    # Views are looked at one by one for whether they say anything, which is when their rows differ: even
    # rows that differ in length only turn a direction, once they stand next to others.
    alone = prepare(views, ("euclidean",) * views.n_views, scale, engine=engine)
    if kept is not None:
        alone = alone.only(np.array(kept)[alone.active])
    arrays = [views.arrays[i] for i in np.flatnonzero(alone.active)]
    if scale == "auto":
        arrays = [Scaling(plan_rescaling(array, metric, None, engine))(array) for array in arrays]
    x = concatenate(arrays)
    if scale == "standard":
        x = Scaling.standard(x, None, engine)(x)
    if balance:
        _balance(x, [array.shape[1] for array in arrays], metric, alone, engine)
    space = Space(_NAME, x, metric, sample_ids=views.sample_ids)
    points = engine.place(space)
    if engine.is_constant(points):
        raise ValueError(
            f"By the metric {metric_label(metric)!r} all samples look the same in all views "
            "together; use 'euclidean'."
        )
    return PreparedViews((space,), (points,), alone.active, None, views.n_samples, views.names)


def _balance(x: Any, widths: Sequence[int], metric: Any, alone: PreparedViews, engine: Engine) -> None:
    """Scale each view, in place, so that all contribute alike to what the metric measures."""
    if metric == "cosine":
        starts = np.concatenate([[0], np.cumsum(widths)[:-1]])
        size = np.add.reduceat(_column_squares(x), starts) / x.shape[0]
    else:
        size = np.array([engine.mean_over_pairs(points) for points in alone.points])
    # Differences whose squares cannot be distinguished from 0 are left as they are.
    scale_blocks(x, widths, 1.0 / np.sqrt(np.where(size > 0, size, 1.0)))


def _column_squares(x: Any) -> NDArray[np.float64]:
    """Return the sum of squares of each column."""
    if sparse.issparse(x):
        squares = x.data.astype(np.float64) ** 2
        return np.asarray(np.bincount(x.indices, weights=squares, minlength=x.shape[1]), dtype=np.float64)
    return np.asarray(np.einsum("ij,ij->j", x, x, dtype=np.float64))
