"""Fast multi-view clustering by an ensemble of random view groups (Huang, Wang and Lai, 2023).

===========  ==========================  ====================================================
symbol       here                        what it is
===========  ==========================  ====================================================
M            `n_groups`                  view groups, and base clusterings
p            `n_anchors`                 anchors of a group, shared out among its views
K            `n_nearest_anchors`         anchors that a sample is linked to, shared out likewise
B            `anchor_graph`              similarities of samples and anchors: a bipartite graph
===========  ==========================  ====================================================
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ...engines import Engine, threads
from ...engines.embedding import unit_rows
from ...run.execution import Run
from ...run.messages import Advice, Setting, check_count, check_number, warn
from ...run.progress import PlannedStage
from ...spaces import is_precomputed, metric_label
from ...stages.table import planned
from ...views import Views
from ..base import MultiviewClusterer, Settings
from ..estimator import estimator
from ..given import GivenViews
from .anchors import anchor_graph, choose_anchors, picked_features
from .labelling import label_rows

Floats = NDArray[np.float64]
Index = NDArray[np.intp]

_METRICS = ("euclidean", "cosine")
_BASE_ROUNDS = 5  # rounds of k-means for a base clustering; few, so that base clusterings differ
_LARGEST_SEED = np.iinfo(np.int32).max


@dataclass(frozen=True, eq=False)
class ViewGroup:
    """Views that are drawn together, for one base clustering.

    Attributes
    ----------
    columns : dict of int to ndarray of int
        The features that are drawn, for each view of the group.
    n_clusters : int
        Clusters of the base clustering.
    seed : int
        Seed of what is drawn for it later: its anchors, and the start of k-means.
    """

    columns: dict[int, Index]
    n_clusters: int
    seed: int


def draw_groups(
    n_features: Sequence[int],
    n_groups: int,
    n_clusters: tuple[int, int],
    feature_share: tuple[float, float],
    random_state: np.random.RandomState,
) -> tuple[ViewGroup, ...]:
    """Draw view groups: how many views and which, what share of the features of each, how many clusters.

    Parameters
    ----------
    n_features : sequence of int
        Features of each view.
    n_groups : int
        Number of groups.
    n_clusters, feature_share : tuple of two numbers
        The least and the largest number of clusters, and share of a view's features: drawn evenly between.
    random_state : RandomState
        Draws everything.

    Examples
    --------
    >>> groups = draw_groups([4, 10], 3, (2, 4), (0.2, 0.8), np.random.RandomState(0))
    >>> [{view: columns.tolist() for view, columns in group.columns.items()} for group in groups]
    [{0: [0, 1, 2]}, {0: [1, 2, 3]}, {0: [0, 2], 1: [1, 5, 8]}]
    """
    groups = []
    for _ in range(n_groups):
        size = random_state.randint(1, len(n_features) + 1)
        members = np.sort(random_state.choice(len(n_features), size, replace=False))
        columns = {}
        for view in members.tolist():
            d = n_features[view]
            wanted = int(np.ceil(random_state.uniform(*feature_share) * d))
            columns[view] = np.sort(random_state.choice(d, max(1, min(wanted, d)), replace=False))
        c = int(random_state.randint(n_clusters[0], n_clusters[1] + 1))
        groups.append(ViewGroup(columns, c, int(random_state.randint(_LARGEST_SEED))))
    return tuple(groups)


@dataclass(frozen=True, eq=False)
class Cut:
    """What `transfer_cut` found.

    Attributes
    ----------
    vectors : ndarray of shape (n, c)
        A row for each sample; 0 for those that no vector represents.
    eigenvalues : ndarray of shape (c,)
        Of the normalised Laplacian of the second side, ascending; NaN for a column of zeros.
    n_components, n_lost : int
        Number of connected components, and of samples that no vector represents.
    """

    vectors: Floats
    eigenvalues: Floats
    n_components: int
    n_lost: int


def transfer_cut(graph: sparse.csr_array, n_vectors: int, seed: int = 0, *, engine: Engine) -> Cut:
    r"""Embed the samples of a bipartite graph spectrally, by way of its smaller side.

    The leading eigenvectors V of :math:`D_2^{-1/2} B' D_1^{-1} B D_2^{-1/2}`, with the degrees :math:`D_1` of
    the n samples and :math:`D_2` of the p anchors, give those of the whole graph of n + p nodes: for samples
    they are :math:`D_1^{-1} B D_2^{-1/2} V` up to a factor for each column. No matrix is larger than p x p.

    Parameters
    ----------
    graph : csr_array of shape (n, p)
        Similarities B of samples and anchors, not negative.
    n_vectors : int
        How many.
    seed : int, default=0
        Draws the eigen-solver's start vectors.
    engine : Engine
        The engine that solves.

    Examples
    --------
    >>> from consilience.engines import get_engine
    >>> blocks = sparse.csr_array([[1.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    >>> unit_rows(transfer_cut(blocks, 2, engine=get_engine("numba")).vectors).round(6)
    array([[1., 0.],
           [1., 0.],
           [0., 1.]])
    """
    n = graph.shape[0]
    if not graph.nnz:
        return Cut(np.zeros((n, n_vectors)), np.full(n_vectors, np.nan), 0, n)
    degrees = np.asarray(graph.sum(axis=1)).ravel()
    walk = sparse.csr_array(sparse.diags(_inverse(degrees)) @ graph)
    small = sparse.csr_array(graph.T @ walk)
    small = sparse.csr_array((small + small.T) / 2)
    found = engine.leading_vectors(engine.adopt(small), n_vectors, None, seed)
    scale = np.sqrt(_inverse(np.asarray(small.sum(axis=1)).ravel()))
    vectors = walk @ (scale[:, None] * engine.fetch(found.vectors))
    return Cut(vectors, found.eigenvalues, found.n_connected, int((~vectors.any(axis=1)).sum()))


def base_clustering(
    number: int,
    groups: Sequence[ViewGroup],
    views: Sequence[tuple[Any, str]],
    n_anchors: int,
    k: int,
    *,
    engine: Engine,
) -> Index:
    """Return the labels of one base clustering: early fusion, in one graph of samples and anchors.

    Parameters
    ----------
    number : int
        Which of the groups.
    groups : sequence of ViewGroup
        The view groups.
    views : sequence of (ndarray or csr_array, str)
        The features and the metric of each view.
    n_anchors, k : int
        Anchors, and nearest anchors, of a group: each view has its share, rounded up.
    engine : Engine
        The engine that solves.
    """
    group = groups[number]
    rng, v = np.random.default_rng(group.seed), len(group.columns)
    with threads.libraries_on_one_thread():
        graphs = []
        for view, columns in group.columns.items():
            array, metric = views[view]
            rows = picked_features(array, columns, metric)
            anchors = choose_anchors(rows, -(-min(n_anchors, rows.shape[0]) // v), metric, rng)
            graphs.append(anchor_graph(rows, anchors, -(-k // v), metric))
        together = sparse.csr_array(sparse.hstack(graphs, format="csr"))
        c = max(1, min(group.n_clusters, *together.shape))
        cut = transfer_cut(together, c, group.seed, engine=engine)
    start = np.random.RandomState(group.seed)
    found = engine.kmeans(
        engine.adopt(cut.vectors), c, n_init=1, max_iter=_BASE_ROUNDS, unit=True, random_state=start
    )
    return found.labels


def cluster_graph_of(labels: NDArray[Any]) -> sparse.csr_array:
    """Return the bipartite graph of samples and the clusters of all base clusterings (n, M): members are 1.

    Examples
    --------
    >>> cluster_graph_of(np.array([[0, 0], [0, 2], [1, 2]])).toarray()
    array([[1., 0., 1., 0.],
           [1., 0., 0., 1.],
           [0., 1., 0., 1.]])
    """
    n, m = labels.shape
    parts = [np.unique(column, return_inverse=True)[1] for column in labels.T]
    starts = np.cumsum([0] + [int(part.max()) + 1 for part in parts])
    columns = np.column_stack(parts) + starts[:-1]
    return sparse.csr_array(
        (np.ones(n * m), columns.ravel(), np.arange(0, n * m + 1, m)), shape=(n, int(starts[-1]))
    )


def _inverse(values: Floats) -> Floats:
    return np.divide(1.0, values, out=np.zeros_like(values), where=values > 0)


@estimator
class FastMICE(MultiviewClusterer):
    r"""Fast multi-view clustering by an ensemble of random view groups.

    A view group is a random number of random views, each with a random share of its features. In each of its
    views a few anchors are chosen, and every sample is linked to its nearest ones. The links of all views of
    the group stand side by side in one bipartite graph of samples and anchors (early fusion), which is cut
    into a random number of clusters: a base clustering. Many of these are fused late, in a second bipartite
    graph, of samples and the clusters that they belong to; cutting that gives the labels. Both cuts are
    spectral, by way of the smaller side of the graph:

    .. math::

        B' D_1^{-1} B \, v = (1 - \lambda) D_2 \, v, \qquad u = D_1^{-1} B v,

    with the degrees :math:`D_1` of samples and :math:`D_2` of anchors or clusters, and k-means on the rows of
    the u of least :math:`\lambda`.

    The authors do not tune it to data sets; the defaults are those of their program. It is made for many
    samples: time and memory grow with n, O(M n p d) and O(n (K + M)) besides a copy of a view, and with
    :math:`p^2` and :math:`(M c)^2` for the smaller sides of the graphs; nothing is n x n. All views are as
    likely to be drawn, so a view that misleads spoils the base clusterings that have it. Results vary from
    seed to seed; more groups make them steadier.

    In detail, as in the authors' program: a group has at most n anchors, which are shared out evenly among
    its views, rounded up, and so are the nearest anchors; anchors are the centres that five rounds of k-means
    find among ten times as many samples; the width of the Gaussian similarities is the mean distance to the
    nearest anchors, and each view's similarities of a sample have unit length.

    Where we differ from that program: the nearest anchors are found among all anchors of the view, not only
    among those near the nearest one. Anchors that no drawn sample is nearest to, such as copies, are left
    out. k-means on embeddings begins by k-means++, and the last one has the restarts of `assign_labels` (30),
    where theirs begins with random rows and has 5. Negative cosines count 0, and a sample whose drawn
    features are all 0 has no anchor by "cosine". With more connected components than clusters, the largest
    ones are represented.

    Parameters
    ----------
    n_groups : int, default=20
        Number of view groups and base clusterings (M).
    n_anchors : int, default=1000
        Anchors of a view group (p).
    n_nearest_anchors : int, default=5
        Anchors that a sample is linked to in a view group (K).
    feature_share : tuple of two floats, default=(0.2, 0.8)
        The least and the largest share of a view's features that is drawn, within (0, 1].
    base_clusters : tuple of two floats, default=(1.0, 2.0)
        The least and the largest number of clusters of a base clustering, as multiples of `n_clusters`.
    metric : str, sequence or dict, default="auto"
        "euclidean" or "cosine" for each view; "auto" is one of them. Other metrics and matrices between
        samples are refused: anchors need features.
    view_selection : {"all", "agreement"}, default="all"
        "agreement" leaves out the views that SGF and DGF leave out by default, with a warning: those whose
        neighbours are, beyond chance, those of no other view, and copies. Only this looks at `n_neighbors`
        and `neighbor_search`.
    n_clusters, n_neighbors, scale, assign_labels, neighbor_search, engine, n_jobs, random_state
        As in `SimilarityGraphFusion`, and so is `verbose`; but ``scale`` is "none" by default. A number of
        clusters must be given, and `assign_labels` be k-means: that of the last cut.

    Attributes
    ----------
    labels_, n_neighbors_, metrics_, view_names_, timings_, n_features_in_
        As in `SimilarityGraphFusion`.
    embedding_ : ndarray of shape (n_samples, n_clusters)
        The samples in the graph of samples and clusters, rows of unit length.
    eigenvalues_ : ndarray of shape (n_clusters,)
        Of the last cut, ascending: how much of each cluster is cut, 0 if nothing is.
    base_labels_ : ndarray of shape (n_samples, n_groups)
        The base clusterings.

    References
    ----------
    D. Huang, C.-D. Wang, J.-H. Lai, "Fast Multi-view Clustering via Ensembles: Towards Scalability,
    Superiority, and Simplicity", IEEE Transactions on Knowledge and Data Engineering, 2023.

    Z. Li, X.-M. Wu, S.-F. Chang, "Segmentation Using Superpixels: A Bipartite Graph Partitioning Approach",
    CVPR, 2012 (the transfer cut).

    Examples
    --------
    >>> from consilience import make_multiview
    >>> from consilience.metrics import ari
    >>> from consilience.models import FastMICE
    >>> sample = make_multiview(200, n_clusters=3, separation=3.0, random_state=0)
    >>> model = FastMICE(n_clusters=3, random_state=0).fit(sample.views)
    >>> float(ari(sample.y, model.labels_)) > 0.9
    True
    >>> model.base_labels_.shape
    (200, 20)
    """

    n_groups: int = 20
    n_anchors: int = 1000
    n_nearest_anchors: int = 5
    feature_share: tuple[float, float] = (0.2, 0.8)
    base_clusters: tuple[float, float] = (1.0, 2.0)
    assign_labels: Any = "kmeans"

    def metrics_of(self, views: Views, engine: Engine) -> tuple[Any, ...]:
        """Return what each view is measured by, or raise a ValueError for a view without features."""
        metrics = super().metrics_of(views, engine)
        for name, metric in zip(views.names, metrics, strict=True):
            if metric not in _METRICS:
                pairs = "is a graph or a matrix between samples"
                what = pairs if is_precomputed(metric) else f"is measured by {metric_label(metric)!r}"
                raise ValueError(
                    f"View {name!r} {what}, and FastMICE takes features, measured by 'euclidean' or "
                    "'cosine'; pass these, or use SimilarityGraphFusion or AverageGraph."
                )
        return metrics

    def check_parameters(self, views: Views) -> None:
        """Check the numbers of groups and anchors, and both ranges."""
        for name in ("n_groups", "n_anchors", "n_nearest_anchors"):
            check_count(name, getattr(self, name))
        _check_range("feature_share", self.feature_share, most=1.0)
        _check_range("base_clusters", self.base_clusters)

    def plan_stages(self, views: Views, settings: Settings, engine: Engine) -> Sequence[PlannedStage]:
        """Return the stages to come, with one part for each base clustering."""
        return planned("prepare", "learn", "embed", "label", learn=int(self.n_groups))

    def fit_stages(self, given: GivenViews, settings: Settings, run: Run) -> None:
        """Run the stages: base clusterings, the cut of the graph of samples and clusters, labels."""
        c = settings.n_clusters
        views = self.prepare_views(given, settings, run)
        features = [(space.scaling(space.rows), str(space.metric)) for space in views.spaces]
        least, most = (max(1, round(multiple * c)) for multiple in self.base_clusters)
        groups = draw_groups(
            [rows.shape[1] for rows, _ in features],
            int(self.n_groups),
            (least, most),
            self.feature_share,
            run.random_state,
        )
        names = [f"group {i + 1} of {len(groups)}" for i in range(len(groups))]
        p, k = int(self.n_anchors), int(self.n_nearest_anchors)
        self.base_labels_ = np.column_stack(run.each("learn", base_clustering, names, groups, features, p, k))
        seed = int(run.random_state.randint(_LARGEST_SEED))
        cut = run.stage("embed", transfer_cut, cluster_graph_of(self.base_labels_), c, seed)
        if cut.n_lost:
            warn(
                f"The graph has {cut.n_components} connected components, and {cut.n_lost} samples in those "
                "that no eigenvector represents only go to the nearest cluster. Raise n_groups to connect it."
            )
        self.eigenvalues_, self.embedding_ = cut.eigenvalues, unit_rows(cut.vectors)
        self.labels_ = run.stage("label", label_rows, self.embedding_, c, settings.assigner, run.random_state)


def _check_range(name: str, given: Any, most: float | None = None) -> None:
    """Raise a ValueError unless a parameter is two numbers above 0, ascending, and at most the largest."""
    try:
        low, high = given
    except (TypeError, ValueError):
        raise ValueError(
            Advice(Setting(name), f" must be two numbers, the least and the largest, got {given!r}.")
        ) from None
    for value in (low, high):
        check_number(name, value, strictly=True)
    if low > high or (most is not None and high > most):
        bound = "" if most is None else f" and at most {most:g}"
        raise ValueError(Advice(Setting(name), f" must be ascending{bound}, got {given!r}."))
