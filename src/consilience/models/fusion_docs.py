"""The docstrings of SGF, DGF and the average, put together from what they share."""

_PARAMETERS = """
    Parameters
    ----------
    n_clusters : int or "auto", default=8
        Number of clusters. "auto": chosen by the eigengaps of the unified graph and the stability of its
        clusters under resampling, as `select_n_clusters` does; 1, with a warning, if nothing stands out. The
        curves are in `cluster_selection_`.
    max_clusters : int, default=None
        The largest number that ``n_clusters="auto"`` considers, at most a quarter of the samples; None: 20. A
        warning says if it is the one chosen. An error if the number of clusters is given.
    n_neighbors : int or "auto", default="auto"
        Neighbours per sample and view. "auto" is 0.6 n / n_clusters, but at least 6, at most 20 and
        below n; where n_clusters is "auto" itself, as for 8 clusters. The paper's tables use 6.
    metric : str, callable, or a sequence or dict of these, default="auto"
        One metric for all views, or one for each: "auto" (Gower for views with columns of categories, cosine
        for non-negative views with more than 80 % zeros, else Euclidean), "euclidean", "cosine", "gower",
        "nan_euclidean", another metric name of scikit-learn, a function of two rows that returns their
        distance, or "precomputed_distance", "precomputed_squared_distance", "precomputed_similarity",
        "graph_distance" (a sparse matrix in which an absent entry is no edge). A `GraphView` says itself what
        it is. Distances are squared before use, unless they say that they are. A dense matrix of similarities
        that is 0 on the diagonal and nowhere else is taken for distances, and refused; the diagonal is not
        used otherwise.
    scale : {"auto", "none", "standard"}, default="auto"
        "auto" rescales only what dominates a view, with a warning: a few features whose spread stands far
        apart from that of all others, or all of them if fewer than 10 carry the view; and takes counts by
        their square roots where the metric is cosine. Only for Euclidean, Manhattan and cosine distances.
        "standard" scales each feature to unit variance, "none" leaves all as they are.
    view_selection : {"auto", "all", "agreement"}, default="auto"
        Which views are kept. "agreement" leaves out a view whose neighbours are, beyond chance, those of no
        other view, with a warning, as well as copies of a view and the smaller of two groups that do not
        agree. "all" keeps all. "auto" is "agreement" where `view_weights` is, and "all" otherwise. Every
        system of the package can select views so.
    beta : float, default=1.0
        Penalty on inconsistency.
    gamma : float, default=100.0
        Penalty on two views that are inconsistent on the same edge.
    view_weights : "agreement", "uniform", None, array-like of shape (v,) or dict, default="agreement"
        How much each view counts (the paper's lambda). "agreement": by how far its neighbours are, beyond
        chance, those of the other views; a view that agrees with no other counts nothing and is left out (see
        `view_selection`). Of two views neither can be preferred: they count alike. "uniform", or None: all
        views count alike. Or numbers from 1e-9 to 1e9.
    row_weights : {"auto", "learned", "agreement", "uniform"}, default="auto"
        How much each row of a view counts, within its view, with three views or more. "agreement": less,
        where hardly any of the sample's neighbours are confirmed by another view. "learned": by how likely it
        is that the row belongs to its sample at all, from where its neighbours lie in the unified graph.
        "uniform": all alike. "auto": by `effort`.
    descriptions : {"auto", "confirmed", "default"}, default="auto"
        How features are compared, and with how many neighbours. "default": by `metric`, `scale` and
        `n_neighbors` alone. "confirmed": also as directions, logarithms and ranks, and with fewer neighbours,
        where the clusterings of the single views then agree; each description gives a unified graph, and
        the default has at least half of their mean. Only what is left to "auto" is changed; with more than
        20,000 samples nothing is. "auto": by `effort`. What was tried is in `descriptions_`.
    effort : {"low", "medium", "high"}, default="high"
        What the parameters that are "auto" stand for. "low": ``row_weights="agreement"`` and
        ``descriptions="default"``, the fastest. "medium": ``row_weights="learned"``, at most twice the time.
        "high": also ``descriptions="confirmed"``, some ten times the time with 2,000 samples, and that of
        "medium" with more than 20,000.
    missing : {"impute", "plain"}, default="impute"
        What is done where views have not seen samples. "plain": a view says nothing of the samples that it
        has not seen. "impute": also, a view that has seen fewer samples names fewer neighbours, and the
        unified graph is completed by what views can be expected to say and by common neighbours. The same if
        nothing is missing.
    solver : {"dca", "exact"}, default="dca"
        "dca" is the paper's scheme. "exact" goes on from where that ends, with the exact minimiser on every
        edge: the objective ends lower, mostly far lower with a large gamma, and much more of what a view
        alone says reaches its inconsistent part.
    tol : float, default=0.05
        The rounds end once one of them makes less than this share of the whole gain, after five at least.
    max_iter : int, default=100
        Cap on the number of rounds; with ``solver="exact"``, of the paper's and of the exact rounds each.
    assign_labels : {"kmeans", "cluster_qr", "leiden"} or LabelAssigner, default="kmeans"
        "kmeans" on the unit rows of the spectral embedding; "cluster_qr", a pivoted QR decomposition of it,
        which draws nothing at random; or "leiden", communities of the unified graph itself, by modularity
        (needs igraph: the extra ``leiden``). Or an object with settings of its own, such as
        ``KMeansLabels(n_init=10)`` or ``LeidenLabels(resolution=2.0)``. Leiden finds the number of clusters
        by its resolution; `n_clusters` is then only the width of `embedding_` ("auto": the number found, up
        to `max_clusters`).
    neighbor_search : {"auto", "exact", "approximate"}, default="auto"
        How neighbours are found. "exact" looks at all pairs. "approximate" looks for them in the regions
        around a sample, as far as it takes to find a share of them that is measured beforehand: 99 % up to
        10,000 samples, 98 % at 100,000, falling to 91 % at a million; by other metrics than Euclidean, cosine
        and correlation it is exact. "auto" is exact below 20,000 samples, and then approximate where that is
        estimated to cost less. What was done, and the recall on a sample, is in `neighbor_searches_`.
    row_order : {"content", "given"}, default="content"
        In which order samples without ids are fitted: of equally near neighbours the first is taken, and
        k-means begins with rows drawn by their place. "content": in an order that follows from a hash of the
        rows of all views, so that the rows may come in any order, and nothing can be learned from it. Views
        that are left out do not count for it with up to 20,000 samples: so they change nothing. Samples
        that no view tells apart are interchangeable and stay in the order of the rows. For more than 50
        million numbers in all views together, it is "given", to save the memory of a copy. "given": in the
        order of the rows. Samples with ids are fitted in the order of the ids in any case. What was done is
        in `row_order_`.
    engine : {"numba", "numpy"} or Engine, default="numba"
        The engine that does all heavy work on rows and edges; "numpy" is the slow, readable one.
    n_jobs : int, default=None
        Number of threads, for our own code and for BLAS and OpenMP. None: all cores.
    random_state : int, RandomState instance or None, default=None
        Seed of the eigen-solver's start and of k-means.
    verbose : bool, default=False
        Whether to draw a progress bar on standard error.
    callback : callable, default=None
        ``callback(iteration, info)`` after each round of the fusion; returning True stops it.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each sample, numbered by first appearance.
    graph_ : csr_array of shape (n_samples, n_samples)
        The unified graph, symmetric. With several descriptions, the mean of their graphs by their shares,
        each scaled by its degrees.
    n_clusters_ : int
        Number of clusters: as given, as chosen, or as Leiden found it.
    cluster_selection_ : ClusterSelection or None
        The candidates, their eigengaps and stability, and why one was chosen; None unless ``n_clusters`` is
        "auto" and ``assign_labels`` not "leiden".
    embedding_ : ndarray of shape (n_samples, n_clusters_)
        Spectral embedding, rows of unit length.
    eigenvalues_ : ndarray of shape (n_clusters_,)
        Smallest eigenvalues of the unified graph's normalised Laplacian.
    views_ : ViewTable
        One row for each view: whether it was kept or why not, weight, scale, contribution, reliability and
        inconsistent share.
    view_weights_ : ndarray of shape (v,)
        The resolved weights; 0 for a view left out.
    view_scales_ : ndarray of shape (v,)
        The paper's alpha: a scale, not a measure of trust.
    view_contributions_ : ndarray of shape (v,)
        Weight times scale, as shares: how much of the unified graph comes from each view.
    agreement_ : Agreement or None
        All that was found in comparing the views that say anything; None if nothing was compared.
    view_reliability_ : ndarray of shape (v,)
        Median agreement of each view with the others that are kept, copies not counted; 0 for a view that
        agrees with no other or says nothing, NaN if there is no other view, if there are too few samples,
        or if agreement is not used.
    row_reliability_ : ndarray of shape (n_samples, v)
        How much each row of a view counted, up to 1; NaN for a view left out or a sample not seen.
    matched_shares_ : ndarray of shape (v,), or None
        The share of each view's rows that belong to their sample, as far as the others can tell; NaN for a
        view left out. None unless ``row_weights`` is "learned", by itself or by `effort`, and three views are
        kept.
    descriptions_ : DescriptionTable or None
        The descriptions that were tried, how far the views confirm each, and its share of `graph_`; None for
        ``descriptions="default"``, by itself or by `effort`. With more than 20,000 samples it has one row.
    neighbor_searches_ : tuple of SearchReport, or None
        How the neighbours of each view were found, and what share of them; None for a view that says nothing.
    neighbors_ : tuple of ndarray of shape (n_samples, n_neighbors), or None
        Each view's neighbours of each sample, as they were compared; None for a view that says nothing.
    row_order_ : {"ids", "content", "given"}
        What the order followed from in which the samples were fitted. All attributes have the samples as they
        came.
    view_names_ : ndarray of str of shape (v,)
        Names of the views.
    sample_ids_ : ndarray of shape (n_samples,), or None
        Ids of the samples, if the data has any.
    data_fingerprint_ : str
        A hash of the views, to check whether other data are the same.
    params_ : dict
        The parameters that it was fitted with.
    warnings_ : tuple of str
        What the fit warned of.
    history_ : ndarray of shape (rounds + 1,)
        Objective at the start and after each round.
    n_iter_ : int
        Number of rounds.
    converged_ : bool
        Whether the stopping rule was met.
    edges_ : EdgeSet
        The edges that the views share.
    consistent_, inconsistent_ : ndarray of shape (n_edges, v)
        The two parts of each view's edge weights, each view's weights scaled to sum 1; as all of these, by
        the default description.
    fusion_ : FusionResult
        All that the fusion returned, for the views that were kept.
    predictor_ : Predictor
        Predicts the clusters of new samples.
    n_neighbors_ : int
        The number of neighbours used.
    metrics_ : tuple of str
        The metric used for each view.
    timings_ : dict of str to float
        Seconds per stage.
    n_features_in_ : int
        Number of features, all views together.
"""

_REFERENCE = """
    References
    ----------
    Y. Liang, D. Huang, C.-D. Wang, P. S. Yu, "Multi-view Graph Learning by Joint Modeling of Consistency
    and Inconsistency", IEEE Transactions on Neural Networks and Learning Systems, 2022.
"""

SGF_DOC = (
    r"""Multi-view clustering by similarity graph fusion (SGF).

    Each view's k nearest neighbours are found and united into shared edges; the squared distances on
    them are standardised per view and turned into Gaussian similarities; the similarities are split into
    a consistent and an inconsistent part and the consistent ones fused into one graph, by minimising

    .. math::

        \sum_i \lambda_i \|\alpha_i A_i - s\|^2
        + \sum_{i,j} B_{ij} \lambda_i \lambda_j \alpha_i \alpha_j (W_i - A_i)'(W_j - A_j);

    the k largest entries per row are kept, made symmetric, and clustered spectrally. The cost is that of
    the neighbour searches, O(v n^2 d) if they are exact, plus O(v n k) per round.
"""
    + _PARAMETERS
    + """
    See Also
    --------
    DistanceGraphFusion : Fuses distances instead of similarities.
    consilience.fuse_graphs : Fuses graphs that you have already.
"""
    + _REFERENCE
    + """
    Examples
    --------
    >>> from consilience import SimilarityGraphFusion, load_digits_views
    >>> from consilience.metrics import clustering_accuracy
    >>> views, y = load_digits_views(return_X_y=True)
    >>> model = SimilarityGraphFusion(n_clusters=10, random_state=0).fit(views)
    >>> clustering_accuracy(y, model.labels_) > 0.8
    True
    """
)

DGF_DOC = (
    """Multi-view clustering by distance graph fusion (DGF).

    As `SimilarityGraphFusion`, but what is fused are the standardised squared distances themselves; the
    Gaussian kernel is applied to the fused distances.
"""
    + _PARAMETERS
    + """
    See Also
    --------
    SimilarityGraphFusion : Fuses similarities instead of distances.
    consilience.fuse_graphs : Fuses graphs that you have already.
"""
    + _REFERENCE
    + """
    Examples
    --------
    >>> from consilience import DistanceGraphFusion, load_digits_views
    >>> from consilience.metrics import clustering_accuracy
    >>> views, y = load_digits_views(return_X_y=True)
    >>> model = DistanceGraphFusion(n_clusters=10, random_state=0).fit(views)
    >>> clustering_accuracy(y, model.labels_) > 0.75
    True
    """
)

AVERAGE_DOC = r"""Multi-view clustering on the mean of the views' similarity graphs; nothing is learned.

    Each view's similarities :math:`W_i` on the shared edges are made as in `SimilarityGraphFusion` and
    divided by their mean. Their average, the minimiser of

    .. math::

        \sum_i \|W_i - S\|^2,

    takes the place of the fused graph, and the rest is the same. An honest baseline: a fusion that does not
    beat it has learned nothing. No publication is followed.

    Besides the neighbour searches, O(v n^2 d), and one eigen-solve, time and memory are O(v^2 n k): the edges
    of all views together, at most v n k, times the views.

    Parameters
    ----------
    n_clusters, n_neighbors, metric, scale, assign_labels, neighbor_search, engine, n_jobs, random_state
        As in `SimilarityGraphFusion`, and so are `max_clusters`, `missing`, `row_order` and `verbose`; but
        ``scale`` is "none" by default.
    view_selection, view_weights, row_weights, descriptions, effort
        As in `SimilarityGraphFusion`, but weights are "uniform" and the effort is "low" by default.
        ``view_selection="agreement"`` leaves out the views that SGF and DGF leave out;
        ``view_weights="agreement"`` also weighs the mean.

    Attributes
    ----------
    labels_, graph_, embedding_, eigenvalues_, n_neighbors_, metrics_, view_names_, timings_, n_features_in_
        As in `SimilarityGraphFusion`, and so are `n_clusters_`, `cluster_selection_`, `views_`, `neighbors_`,
        `neighbor_searches_`, `agreement_`, `row_reliability_`, `matched_shares_`, `descriptions_`,
        `row_order_` and `predictor_`.
    view_weights_ : ndarray of shape (v,)
        Each view's share of the mean; 0 for a view left out.

    Examples
    --------
    >>> from consilience import load_digits_views
    >>> from consilience.models import AverageGraph
    >>> views, y = load_digits_views(return_X_y=True)
    >>> AverageGraph(n_clusters=10, random_state=0).fit(views).labels_.shape
    (1797,)
    """
