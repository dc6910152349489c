"""Parameters and attributes of SGF and DGF, as both of their docstrings tell them."""

PARAMETERS = """
    Parameters
    ----------
    n_clusters : int or "auto", default=8
        Number of clusters. "auto": chosen by the eigengaps of the unified graph and the stability of its
        clusters under resampling, as `select_n_clusters` does; 1, with a warning, if nothing stands out. The
        curves are in `cluster_selection_`.
    max_clusters : int, default=20
        The largest number that "auto" considers, at most a quarter of the samples. A warning tells if it is
        the one chosen.
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
    beta : float, default=1.0
        What inconsistency costs.
    gamma : float, default=100.0
        What it costs that two views are inconsistent on the same edge.
    view_weights : "agreement", "uniform", None, array-like of shape (v,) or dict, default="agreement"
        How much each view counts (the paper's lambda). "agreement": by how far its neighbours are, beyond
        chance, those of the other views; a view that agrees with nobody is left out, with a warning, as are
        copies of a view and the smaller of two groups that do not agree. Of two views neither can be
        preferred: they count alike. "uniform", or None: all views count alike, and none is left out. Or
        numbers from 1e-9 to 1e9.
    row_weights : {"agreement", "uniform"}, default="agreement"
        How much each row of a view counts, within its view. "agreement", with three views or more: less,
        where hardly any of the sample's neighbours are confirmed by another view. "uniform": all alike.
    missing : {"complete", "plain"}, default="complete"
        What is done where views have not seen samples. "plain": they are left out there, and nothing else.
        "complete": also, a view that has seen fewer samples names fewer neighbours, and the unified graph is
        completed by what views can be expected to say and by common neighbours. The same if nothing is
        missing.
    solver : {"dca", "exact"}, default="dca"
        "dca" is the paper's scheme. "exact" goes on from where that ends, with the exact minimiser on every
        edge: the objective ends lower, mostly far lower with a large gamma, and much more of what a view
        alone says reaches its inconsistent part.
    tol : float, default=0.05
        The rounds end once one of them makes less than this share of the whole gain, after five at least.
    max_iter : int, default=100
        Cap on the number of rounds; with ``solver="exact"``, of the paper's and of the exact rounds each.
    assign_labels : {"kmeans", "cluster_qr", "leiden"}, default="kmeans"
        "kmeans" on the unit rows of the spectral embedding; "cluster_qr", a pivoted QR decomposition of it,
        which draws nothing at random; or "leiden", communities of the unified graph itself, by modularity
        (needs igraph: the extra ``leiden``). Leiden finds the number of clusters by `resolution`;
        `n_clusters` is then only the width of `embedding_` ("auto": the number found, up to `max_clusters`).
    resolution : float, default=1.0
        Of Leiden: the larger, the more clusters.
    n_init : int or "auto", default=30
        Restarts of k-means. "auto" is 30 below 5,000 samples, 20 below 10,000, 5 below 30,000, then 3.
    neighbor_search : {"auto", "exact", "approximate"}, default="auto"
        How neighbours are found. "exact" looks at all pairs. "approximate" looks for them in the regions
        around a sample, as far as it takes to find a share of them that is measured beforehand: 99 % up to
        10,000 samples, 98 % at 100,000, falling to 91 % at a million; by other metrics than Euclidean, cosine
        and correlation it is exact. "auto" is exact below 20,000 samples, and then approximate where that is
        estimated to cost less. What was done, and the recall on a sample, is in `neighbor_searches_`.
    backend : {"numba", "numpy"}, default="numba"
        Who does the passes over the edges; "numpy" is the slow, readable one.
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
        The unified graph, symmetric.
    n_clusters_ : int
        Number of clusters: as given, as chosen, or as Leiden found it.
    cluster_selection_ : ClusterSelection or None
        The candidates, their eigengaps and stability, and why one was chosen; None unless ``n_clusters`` is
        "auto" and ``assign_labels`` not "leiden".
    embedding_ : ndarray of shape (n_samples, n_clusters_)
        Spectral embedding, rows of unit length.
    eigenvalues_ : ndarray of shape (n_clusters_,)
        Smallest eigenvalues of the unified graph's normalised Laplacian.
    view_weights_ : ndarray of shape (v,)
        The resolved weights; 0 for a view left out.
    view_scales_ : ndarray of shape (v,)
        The paper's alpha: a scale, not a measure of trust.
    view_contributions_ : ndarray of shape (v,)
        Weight times scale, as shares: how much of the unified graph comes from each view.
    view_agreement_ : ndarray of shape (v, v)
        How far each two views agree about who is near whom, beyond chance: 0 for unrelated views, 1 for
        copies; NaN where there is nothing to compare, or nothing is to be weighed by agreement.
    agreement_ : Agreement or None
        All that was found in comparing the views that say anything; None if nothing was compared.
    view_reliability_ : ndarray of shape (v,)
        Median agreement of each view with the others that are heard, copies not counted; 0 for a view that
        agrees with nobody or says nothing, NaN if there is no other view, too few samples to tell, or
        nothing is to be weighed by agreement.
    row_reliability_ : ndarray of shape (n_samples, v)
        How much each row of a view counted, up to 1; NaN for a view left out or a sample not seen.
    neighbor_searches_ : tuple of SearchReport, or None
        How the neighbours of each view were found, and what share of them; None for a view that says nothing.
    neighbors_ : tuple of ndarray of shape (n_samples, n_neighbors), or None
        Each view's neighbours of each sample, as they were compared; None for a view that says nothing.
    view_names_ : ndarray of str of shape (v,)
        Names of the views.
    sample_ids_ : ndarray of shape (n_samples,), or None
        Ids of the samples, if the data has any.
    data_fingerprint_ : str
        A hash of the views, to tell whether other data are the same.
    params_ : dict
        The parameters that it was fitted with.
    warnings_ : tuple of str
        What the fit warned of.
    inconsistent_shares_ : ndarray of shape (v,)
        How much of each view's weight was found inconsistent; a view far above the others disagrees with
        them.
    history_ : ndarray of shape (rounds + 1,)
        Objective at the start and after each round.
    n_iter_ : int
        Number of rounds.
    converged_ : bool
        Whether the stopping rule was met.
    edges_ : EdgeSet
        The edges that the views share.
    consistent_, inconsistent_ : ndarray of shape (n_edges, v)
        The two parts of each view's edge weights, each view's weights scaled to sum 1.
    fusion_ : FusionResult
        All that the fusion returned, for the views that took part.
    n_neighbors_ : int
        The number of neighbours used.
    metrics_ : tuple of str
        The metric used for each view.
    timings_ : dict of str to float
        Seconds per stage.
    n_features_in_ : int
        Number of features, all views together.
"""
