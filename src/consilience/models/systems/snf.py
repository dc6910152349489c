"""Similarity network fusion: the views' networks pass on to each other what they know."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...engines import Engine, get_engine
from ...graphs import EdgeSet
from ...run import memory
from ...run.execution import Run
from ...run.messages import check_count, check_number
from ...run.progress import PlannedStage
from ...stages.prepare import PreparedViews
from ...stages.table import planned
from ...views import Views
from ..base import MultiviewClusterer, Settings, cluster_graph
from ..estimator import estimator
from ..given import GivenViews

Floats = NDArray[np.float64]
Index = NDArray[np.intp]
Mask = NDArray[np.bool_]

_FUSION, _SPECTRAL = 3, 7  # n x n arrays held besides the v networks, and by spectral clustering alone
_PARTS = 4  # blocks of rows in which all pairs are looked at, so that temporary arrays stay small


@dataclass(frozen=True, eq=False)
class SimilarityNetwork:
    """What `similarity_network_fusion` found.

    Attributes
    ----------
    network : ndarray of shape (n, n)
        The fused network, symmetric, with a diagonal above 1/2; 0 for pairs that no view has seen.
    view_networks : tuple of ndarray of shape (n, n)
        The networks of the views after the last round, symmetric; 0 where a view has not seen a sample.
    n_iter : int
        Rounds made: none with one view.
    """

    network: Floats
    view_networks: tuple[Floats, ...]
    n_iter: int


def similarity_network_fusion(
    distances: Iterable[Floats],
    n_neighbors: int,
    n_iter: int = 20,
    mu: float = 0.5,
    *,
    mask: Mask | None = None,
    engine: Any = "numba",
) -> SimilarityNetwork:
    r"""Fuse several views' distances between the same samples into one network.

    Each view's network :math:`P_i` (see `affinity_network`) goes to
    :math:`S_i \frac{1}{v - 1} \sum_{j \neq i} P_j S_i' + I`, all of them at once, `n_iter` times; the rows of
    :math:`S_i` are those of the first :math:`P_i` with all but the `n_neighbors` largest entries set to 0,
    scaled to sum 1. The mean W of the networks, its rows scaled to sum 1, gives :math:`(W + W' + I) / 2`.

    With one view there is nothing to pass on, and its own network takes the place of the mean. What happens
    where views have not seen samples is said in `SNF`.

    Parameters
    ----------
    distances : iterable of ndarray of shape (n, n)
        Symmetric, non-negative, 0 on the diagonal. One array is looked at after the other.
    n_neighbors : int
        The number K of neighbours, below n; among the K largest entries of a row a sample itself may be.
    n_iter : int, default=20
        Number of rounds.
    mu : float, default=0.5
        Width of the affinities.
    mask : ndarray of bool of shape (n, v), default=None
        Which sample each view has seen, at least two of them; distances to others are not used. None: all
        have seen all.
    engine : str or Engine, default="numba"
        The engine that computes.

    Examples
    --------
    >>> import numpy as np
    >>> line = np.abs(np.subtract.outer([0.0, 1.0, 5.0, 6.0], [0.0, 1.0, 5.0, 6.0]))
    >>> similarity_network_fusion([line, line], n_neighbors=2).network.round(3)
    array([[1.026, 0.474, 0.   , 0.   ],
           [0.474, 1.026, 0.   , 0.   ],
           [0.   , 0.   , 1.026, 0.474],
           [0.   , 0.   , 0.474, 1.026]])
    """
    networks = [
        network_of_seen(each, None if mask is None else mask[:, i], n_neighbors, mu)
        for i, each in enumerate(distances)
    ]
    return fuse_networks(networks, n_neighbors, n_iter, mask, engine=get_engine(engine))


def network_of_seen(distances: Floats, seen: Mask | None, n_neighbors: int, mu: float = 0.5) -> Floats:
    """Return a view's own network of the samples that it has seen, 0 elsewhere; None: it has seen all.

    Examples
    --------
    >>> import numpy as np
    >>> line = np.abs(np.subtract.outer([0.0, 1.0, 3.0], [0.0, 1.0, 3.0]))
    >>> network_of_seen(line, np.array([True, False, True]), 1).round(3)
    array([[0.917, 0.   , 0.083],
           [0.   , 0.   , 0.   ],
           [0.083, 0.   , 0.917]])
    """
    if seen is None or seen.all():
        return affinity_network(distances, n_neighbors, mu)
    members = np.flatnonzero(seen)
    found = affinity_network(distances[np.ix_(members, members)], min(n_neighbors, len(members) - 1), mu)
    network = np.zeros((len(seen), len(seen)))
    network[np.ix_(members, members)] = found
    return network


def affinity_network(distances: Floats, n_neighbors: int, mu: float = 0.5) -> Floats:
    r"""Return a view's own network: normal densities of the distances, scaled and made symmetric.

    The deviation of the density between samples i and j is :math:`\mu \sigma_{ij}`,
    :math:`\sigma_{ij} = (\rho_i + \rho_j + d_{ij}) / 3`, with :math:`\rho_i` the mean distance of i to its
    `n_neighbors` nearest. Identical samples with as many twins have :math:`\sigma_{ij} = 0`; they get the
    least positive one of the view instead. Then the rows are scaled to sum 1, and the mean with the transpose
    is taken.
    """
    n, k = len(distances), n_neighbors
    scale = float(distances.max(initial=0.0)) or 1.0  # drops out again, and keeps everything finite
    reach = np.empty(n)  # the mean distance to the k nearest
    for rows in _parts(n):
        others = distances[rows][_off_diagonal(rows, n)].reshape(-1, n - 1) / scale
        reach[rows] = np.partition(others, k - 1, axis=1)[:, :k].mean(axis=1)
    network = np.empty((n, n))  # at first, three times sigma
    for rows in _parts(n):
        np.add(reach[rows, None], reach, out=network[rows])
        network[rows] += distances[rows] / scale
    _fill_zeros(network)
    for rows in _parts(n):
        exponent = distances[rows] / scale
        exponent /= network[rows]
        with np.errstate(over="ignore"):  # a tiny mu: no sample is near another
            exponent /= mu
            exponent *= exponent
        # A normal density (9 / 2 because of the 3) without its constant, which cancels next.
        network[rows] = np.exp(-4.5 * exponent) / network[rows]
    return _rows_to_one(network)


def _parts(n: int) -> Iterator[slice]:
    size = -(-n // _PARTS)
    return (slice(start, min(start + size, n)) for start in range(0, n, size))


def _off_diagonal(rows: slice, n: int) -> NDArray[np.bool_]:
    return np.asarray(np.arange(n) != np.arange(n)[rows, None])


def _fill_zeros(matrix: Floats) -> None:
    """Put the least positive number of a matrix in place of its zeros, or 1 if there is none."""
    if matrix.min() == 0:
        least = matrix.min(where=matrix > 0, initial=np.inf)
        matrix[matrix == 0] = least if np.isfinite(least) else 1.0
    np.maximum(matrix, 1e-300, out=matrix)  # whose inverse is a number


def _rows_to_one(network: Floats) -> Floats:
    """Scale the rows of a symmetric matrix to sum 1, and make it symmetric again; in place."""
    sums = network.sum(axis=1)
    half = 0.5 / np.where(sums > 0, sums, 1.0)  # 0 of a sample that no view has seen
    for rows in _parts(len(network)):
        network[rows] *= half[rows, None] + half
    return network


def fuse_networks(
    networks: list[Floats], k: int, n_iter: int, mask: Mask | None = None, *, engine: Engine
) -> SimilarityNetwork:
    """Fuse the networks of views, which are overwritten; `mask` (n, v): which sample each view has seen."""
    if mask is not None and not mask.all():
        return _fuse_incomplete(networks, k, n_iter, mask, engine)
    v, n = len(networks), len(networks[0])
    n_rounds = n_iter if v > 1 else 0
    neighbors = [_strongest(network, k, engine) for network in networks] if n_rounds else []
    total, others = np.zeros((n, n)), np.zeros((n, n))
    for _ in range(n_rounds):
        _add_up(networks, total)
        for network, (columns, weights) in zip(networks, neighbors, strict=True):
            np.subtract(total, network, out=others)
            others /= v - 1
            engine.diffuse(others, columns, weights, network)
    del others
    _add_up(networks, total)
    fused = _rows_to_one(total)
    fused[np.diag_indices(n)] += 0.5
    return SimilarityNetwork(fused, tuple(networks), n_rounds)


def _fuse_incomplete(
    networks: list[Floats], k: int, n_iter: int, mask: Mask, engine: Engine
) -> SimilarityNetwork:
    """Fuse the networks of views that have not seen all samples: every mean is over those that have."""
    v, n = len(networks), len(networks[0])
    n_rounds = n_iter if v > 1 else 0
    neighbors = [_strongest(network, k, engine) for network in networks] if n_rounds else []
    total, others = np.zeros((n, n)), np.zeros((n, n))
    for _ in range(n_rounds):
        _add_up(networks, total)
        for i, (network, (columns, weights)) in enumerate(zip(networks, neighbors, strict=True)):
            np.subtract(total, network, out=others)
            alone = _known_to_no_other(mask, i, columns, weights)
            others[alone], others[:, alone] = network[alone], network[:, alone]
            engine.diffuse(others, columns, weights, network)
            network[np.diag_indices(n)] -= 1.0  # the identity is no sum over views
            _divide_by_views(network, mask, less=1)
            network[np.diag_indices(n)] += mask[:, i]
    del others
    _add_up(networks, total)
    _divide_by_views(total, mask, less=0)
    fused = _rows_to_one(total)
    # A sample that only views that were left out have seen has no neighbours, and is none of its own.
    fused[np.diag_indices(n)] += 0.5 * mask.any(axis=1)
    return SimilarityNetwork(fused, tuple(networks), n_rounds)


def _known_to_no_other(mask: Mask, view: int, columns: Index, weights: Floats) -> Index:
    """Return the samples of a view whose neighbours in it no other view has seen."""
    elsewhere = mask.sum(axis=1) > mask[:, view]
    return np.flatnonzero(mask[:, view] & ~((weights > 0) & elsewhere[columns]).any(axis=1))


def _divide_by_views(matrix: Floats, mask: Mask, less: int) -> None:
    """Divide by the number of views that have seen each pair, less a number, but at least by 1; in place."""
    seen = mask.astype(np.float64)
    for rows in _parts(len(matrix)):
        n_views = seen[rows] @ seen.T
        n_views -= less
        matrix[rows] /= np.maximum(n_views, 1.0, out=n_views)


def _add_up(networks: list[Floats], total: Floats) -> None:
    np.copyto(total, networks[0])
    for network in networks[1:]:
        total += network


def _strongest(network: Floats, k: int, engine: Engine) -> tuple[Index, Floats]:
    """Return the columns of the k largest entries of each row, ascending, and these, scaled to sum 1."""
    columns, weights = engine.strongest(network, k)
    sums = weights.sum(axis=1, keepdims=True)
    return columns, weights / np.where(sums > 0, sums, 1.0)  # 0 of a sample that the view has not seen


def all_pairs(points: Any, n: int, engine: Engine) -> Floats:
    """Return the squared distances of all pairs of n samples, symmetric, 0 on the diagonal.

    Of distances that are not symmetric, which a user may bring, the mean of both directions.

    Examples
    --------
    >>> from consilience.spaces import Space
    >>> engine = get_engine("numba")
    >>> points = engine.place(Space("line", np.array([[0.0], [1.0], [3.0]]), "euclidean"))
    >>> all_pairs(points, 3, engine)
    array([[0., 1., 9.],
           [1., 0., 4.],
           [9., 4., 0.]])
    """
    squared = np.zeros((n, n))
    for rows in _parts(n):
        wanted = _off_diagonal(rows, n)
        counts = np.zeros(n, dtype=np.int64)
        counts[rows] = n - 1
        ends = np.broadcast_to(np.arange(n, dtype=np.int32), wanted.shape)[wanted]
        edges = EdgeSet(np.concatenate([[0], np.cumsum(counts)]), ends)
        squared[rows][wanted] = engine.fetch(engine.measure(points, engine.adopt(edges)))
    engine.symmetrize_dense(squared)
    return squared


@estimator
class SNF(MultiviewClusterer):
    r"""Similarity network fusion, and spectral clustering of the fused network.

    Each view gives a network of all pairs of samples, :math:`P_i`, and the part :math:`S_i` of it that links
    each sample to its K nearest. Nothing is minimised: the networks diffuse through each other's neighbours,

    .. math::

        P_i \leftarrow S_i \; \frac{1}{v - 1} \sum_{j \neq i} P_j \; S_i' + I,

    a number of times, so that links which several views support grow and others fade; their mean is clustered
    spectrally. Much used in medicine, for a few hundred patients with several kinds of measurements.

    A round takes O(v K n^2) time, and about v + 3 arrays of n x n numbers are held, at least 7. More than
    fits into half of the free memory is refused.

    The paper keeps the diagonal of the networks at 1/2; here, as in programs in use, I is added in each
    round. Those programs differ in details, such as the distances that they are given (see
    `squared_distances`), so expect similar results, not the same. Identical samples with K twins or more,
    between which the affinity would be infinite, are taken to be as near as the nearest others of their view.
    With one view there is nothing to pass on, and its network is clustered as it is.

    Samples may be missing from views. A view's network is then that of the samples that it has seen; in a
    round the sum runs over the networks that have a pair, and with m views that have seen a pair, what comes
    out for it is divided by :math:`m - 1` in place of :math:`v - 1`; the last mean is over these m. A pair
    that no view has seen has the similarity 0. The Python package snfpy does so, too, with these differences.
    Where :math:`m = 1` it divides by 0; here by 1, so that the pair gets what other views know of the
    neighbours of the two, and where they know none of the neighbours, what the view itself says of them. Its
    :math:`S_i` are not cut down to K neighbours where samples are missing, because its threshold is then not
    a number. It divides the last sum by v for all pairs, so that those which few views have seen lose. If all
    views have seen all samples, none of this has any effect.

    Parameters
    ----------
    n_iter : int, default=20
        Number of rounds.
    mu : float, default=0.5
        Width of the affinities; 0.3 to 0.8 is usual.
    squared_distances : bool, default=False
        Whether to use squared distances. The paper uses distances; the Python package snfpy is usually given
        squared Euclidean ones.
    n_neighbors : int or "auto", default="auto"
        The number K of neighbours. "auto" is 0.6 n / n_clusters, but at least 6, at most 20 and below n: 20,
        which is usual for SNF, from 33 samples per cluster on.
    n_clusters, metric, scale, assign_labels, neighbor_search, engine, n_jobs, random_state
        As in `SimilarityGraphFusion`, and so are `max_clusters` and `verbose`; but ``scale`` is "none" by
        default. Views that are similarities are refused.
    view_selection : {"all", "agreement"}, default="all"
        "agreement" leaves out the views that SGF and DGF leave out by default, with a warning: those whose
        neighbours are, beyond chance, those of no other view, and copies.

    Attributes
    ----------
    labels_, embedding_, eigenvalues_, n_neighbors_, metrics_, view_names_, timings_, n_features_in_
        As in `SimilarityGraphFusion`, and so are `n_clusters_` and `cluster_selection_`.
    graph_ : ndarray of shape (n_samples, n_samples)
        The fused network: dense, symmetric, with a diagonal, which the spectral clustering uses, too.

    References
    ----------
    B. Wang, A. M. Mezlini, F. Demir, M. Fiume, Z. Tu, M. Brudno, B. Haibe-Kains, A. Goldenberg, "Similarity
    Network Fusion for Aggregating Data Types on a Genomic Scale", Nature Methods, 2014.

    Examples
    --------
    >>> from consilience import make_multiview
    >>> from consilience.metrics import clustering_accuracy
    >>> from consilience.models import SNF
    >>> sample = make_multiview(120, n_views=3, n_clusters=3, random_state=0)
    >>> model = SNF(n_clusters=3, random_state=0).fit(sample.views)
    >>> clustering_accuracy(sample.y, model.labels_) > 0.9
    True
    """

    n_iter: int = 20
    mu: float = 0.5
    squared_distances: bool = False
    max_clusters: int | None = None
    assign_labels: Any = "kmeans"

    takes_missing: ClassVar[bool] = True
    takes_similarities: ClassVar[bool] = False
    clusters_a_graph: ClassVar[bool] = True

    def check_parameters(self, views: Views) -> None:
        """Check the number of rounds, the width and the kind of distances."""
        check_count("n_iter", self.n_iter)
        check_number("mu", self.mu, strictly=True)
        if not isinstance(self.squared_distances, bool | np.bool_):
            raise ValueError(f"squared_distances must be True or False, got {self.squared_distances!r}.")

    def plan_stages(self, views: Views, settings: Settings, engine: Engine) -> Sequence[PlannedStage]:
        """Return the stages to come; raise a MemoryError if the n x n arrays would need too much."""
        n, v = views.n_samples, views.n_views
        is_complete = views.mask is None or bool(views.mask.all())
        memory.require(
            8.0 * n * n * max(v + _FUSION + (not is_complete), _SPECTRAL),
            f"SNF on {n:,} samples and {v} views",
            "Use CoReg or SimilarityGraphFusion, whose memory grows with the number of edges.",
        )
        chosen = ["select"] * (self.n_clusters == "auto")
        return planned("prepare", "search", "learn", "embed", *chosen, "label", search=v)

    def fit_stages(self, given: GivenViews, settings: Settings, run: Run) -> None:
        """Run the stages: a network per view, their fusion, its embedding, labels."""
        k = settings.n_neighbors
        views = self.prepare_views(given, settings, run)
        names = [repr(name) for name in views.names]
        networks = list(run.each("search", self._network, names, views, k))
        self.graph_ = run.stage("learn", fuse_networks, networks, k, self.n_iter, views.mask).network
        del networks
        clusters = cluster_graph(
            run.engine.adopt(self.graph_),
            views.n_samples,
            self.n_clusters,
            self.max_clusters,
            settings.assigner,
            run,
        )
        self.keep_clusters(clusters)

    def _network(self, view: int, views: PreparedViews, k: int, *, engine: Engine) -> Floats:
        """Return a view's own network."""
        distances = all_pairs(views.points[view], views.n_samples, engine)  # 0 to samples not seen
        largest = distances.max()
        if not np.isfinite(largest) or largest == 0:
            size, advice = ("small", "up") if largest == 0 else ("large", "down")
            raise ValueError(
                f"The squared distances of view {views.names[view]!r} are too {size} for numbers; scale it "
                f"{advice}."
            )
        distances = distances if self.squared_distances else np.sqrt(distances, out=distances)
        return network_of_seen(distances, views.spaces[view].seen, k, self.mu)
