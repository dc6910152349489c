"""What every multi-view clusterer shares: parameters, the way in, and the checks."""

from __future__ import annotations

import logging
import os
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils import check_random_state

from ..engines import SEARCHES, Engine, get_engine
from ..run.checkpoint_files import digest_of
from ..run.checkpoints import Checkpoints
from ..run.config import get_config
from ..run.execution import Run
from ..run.messages import Advice, Setting, check_choice, check_count, keep_warnings, warn
from ..run.progress import PlannedStage
from ..stages.agree import ViewSelection, select_views
from ..stages.embed import SpectralEmbedding, embed
from ..stages.label import KMeansLabels, LabelAssigner, label, resolve_assigner
from ..stages.prepare import SCALES, PreparedViews, metrics_of_views
from ..stages.search import USUAL_CLUSTERS, resolve_n_neighbors
from ..stages.select import ClusterSelection, select, width_to_select
from ..stages.table import planned
from ..views import Views
from ..views.device_arrays import like_input
from .estimator import estimator
from .given import GivenViews, views_given

logger = logging.getLogger(__name__)

MAX_CLUSTERS = 20  # that "auto" considers, unless `max_clusters` says otherwise

_NO_MATTER = ("verbose", "callback", "n_jobs")  # these do not change the result


@dataclass(frozen=True)
class Settings:
    """The parameters of a clusterer, resolved for the data.

    Attributes
    ----------
    n_clusters : int
        Number of clusters; 1 until it is found.
    n_neighbors : int
        Neighbours per sample and view.
    metrics : tuple
        What each view is measured by.
    assigner : LabelAssigner
        Reads labels off an embedding or a graph.
    """

    n_clusters: int
    n_neighbors: int
    metrics: tuple[Any, ...]
    assigner: LabelAssigner


@estimator
class MultiviewClusterer(ClusterMixin, BaseEstimator):
    """Base of all multi-view clusterers.

    A subclass, decorated with `estimator`, lists its own parameters with their defaults, and implements
    `fit_stages`: a list of stages, at the end of which it sets the fitted attributes, `labels_` among them.
    It may say what it is defined for (`takes_missing`, `takes_similarities`, `clusters_a_graph`), check its
    parameters (`check_parameters`) and plan its stages (`plan_stages`). ``docs/extend`` has an example.
    """

    n_clusters: int | Literal["auto"] = USUAL_CLUSTERS
    n_neighbors: int | Literal["auto"] = "auto"
    metric: Any = "auto"
    scale: str = "none"
    view_selection: Literal["auto", "all", "agreement"] = "all"
    neighbor_search: Literal["auto", "exact", "approximate"] = "auto"
    engine: Any = "numba"
    n_jobs: int | None = None
    random_state: Any = None
    verbose: bool = False

    takes_missing: ClassVar[bool] = False  # whether it is defined for samples that a view has not seen
    takes_similarities: ClassVar[bool] = True  # whether it is defined for views that are similarities
    clusters_a_graph: ClassVar[bool] = False  # whether it ends in one graph and clusters that
    selections: ClassVar[tuple[str, ...]] = ("all", "agreement")  # what `view_selection` may be
    resumes: ClassVar[bool] = False  # whether a fit that was killed goes on from what its stages returned

    def fit(self, X: Any, y: Any = None) -> Self:
        """Cluster the samples.

        Parameters
        ----------
        X : list, tuple, dict, Views, DataFrame, array or sparse matrix
            The views: several 2-D arrays, sparse matrices or DataFrames over the same samples (rows). A
            single 2-D array is one view.
        y : None
            Ignored; present because scikit-learn expects it.

        Returns
        -------
        self
            The fitted clusterer.
        """
        before = dict(self.__dict__)
        try:
            with keep_warnings() as kept:
                self._fit(GivenViews.of(X, self.metric))
            self.warnings_ = tuple(dict.fromkeys(str(one.text) for one in kept))
        except BaseException:
            # What an earlier fit found is still true; half of a failed one would not be.
            self.__dict__.clear()
            self.__dict__.update(before)
            raise
        return self

    def fit_predict(self, X: Any, y: Any = None, **kwargs: Any) -> Any:
        """Cluster the samples, and return the cluster of each.

        Parameters
        ----------
        X : as for `fit`
            The views.
        y : None
            Ignored.
        **kwargs
            Passed to `fit`.

        Returns
        -------
        ndarray of shape (n_samples,)
            `labels_`. If all views are tensors of PyTorch, or all arrays of CuPy: the same as one of these,
            on the device of the first view.
        """
        return like_input(views_given(X), super().fit_predict(X, y, **kwargs))

    def save(self, path: str | os.PathLike[str], *, force: bool = False) -> Path:
        """Write the fitted model to a file that `consilience.load` reads, here or on another machine.

        An open format without pickle: a ZIP archive of arrays and a description in JSON. The same fit
        always gives the same bytes. A `callback` is not kept, with a warning; a metric that is a function
        is refused.

        Parameters
        ----------
        path : str or path
            Where to write it, such as ``"fit.consilience"``.
        force : bool, default=False
            Whether to replace a file that exists.

        Returns
        -------
        Path
            The file.

        See Also
        --------
        consilience.load : Reads it.
        """
        from .saving import save  # only now: it imports all systems, and they import this module

        return save(self, path, force=force)

    def _fit(self, given: GivenViews) -> None:
        """Check everything, run the stages, and set what all clusterers have in common."""
        engine, views = get_engine(self.engine), given.views
        with engine.limit(self.n_jobs):
            settings = self._resolve(views, engine)
            run = self._new_run(given, settings, engine)
            try:
                self.data_fingerprint_ = given.fingerprint
                self.fit_stages(given, settings, run)
            except BaseException:
                if run.checkpoints is not None:
                    run.checkpoints.leave()
                raise
        self.n_neighbors_, self.metrics_ = settings.n_neighbors, settings.metrics
        if not self.clusters_a_graph:
            self.n_clusters_ = settings.n_clusters
        self.params_ = self.get_params(deep=False)
        self.n_features_in_ = views.shape[1]
        self.view_names_ = np.array(views.names, dtype=object)
        self.sample_ids_ = views.sample_ids
        self.timings_ = run.progress.seconds
        if views.n_views == 1 and views.feature_names[0] is not None:
            self.feature_names_in_ = np.asarray(views.feature_names[0], dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        if run.checkpoints is not None:
            run.checkpoints.remove()

    @abstractmethod
    def fit_stages(self, given: GivenViews, settings: Settings, run: Run) -> None:
        """Run the stages of the fit in order; set the fitted attributes."""

    def prepare_views(self, given: GivenViews, settings: Settings, run: Run) -> PreparedViews:
        """Run the first stages: place the views, and leave out those that `view_selection` does not keep."""
        views = run.stage("prepare", given.prepare, settings.metrics, self.scale)
        if self.view_selection != "agreement":
            return views
        engine = run.engine
        if given.shared is None:  # so that the system's own search for neighbours finds them known
            views = replace(views, points=tuple(engine.cached(one) for one in views.points))
        return views.only(self.select_views(views, settings, run).kept)

    def select_views(self, views: PreparedViews, settings: Settings, run: Run) -> ViewSelection:
        """Run the stage that compares the views by their neighbours."""
        return run.stage("agree", select_views, views, settings.n_neighbors, self.neighbor_search)

    def plan_stages(self, views: Views, settings: Settings, engine: Engine) -> Sequence[PlannedStage]:
        """Return the stages to come; raise a MemoryError if they would need too much."""
        return planned("prepare", "search", "learn", "label", search=views.n_views)

    def _new_run(self, given: GivenViews, settings: Settings, engine: Engine) -> Run:
        """Return what runs the stages, with checkpoints if they are asked for."""
        plan = self.plan_stages(given.views, settings, engine)
        if self.view_selection == "agreement":
            plan = _with_selection(plan)
        random_state = check_random_state(self.random_state)
        folder, checkpoints = get_config().checkpoint_dir, None
        name = type(self).__name__
        if folder is not None and not self.resumes:
            logger.info("%s has no stages to resume: no checkpoints are written", name)
        elif folder is not None:
            unseeded = self.random_state is None or self.random_state is np.random
            values = {key: one for key, one in self.get_params(deep=False).items() if key not in _NO_MATTER}
            values["random_state"] = None if unseeded else values["random_state"]
            values["engine"] = engine.name
            full_name = f"{type(self).__module__}.{type(self).__qualname__}"
            try:
                key = digest_of(full_name, {**values, "metrics_": settings.metrics}, given.fingerprint)
                checkpoints = Checkpoints(folder, key, name, random_state, unseeded)
            except ValueError as error:
                warn(f"No checkpoints are written: {error}", lasting=False)
        return Run(engine, plan, random_state, bool(self.verbose), checkpoints)

    def _resolve(self, views: Views, engine: Engine) -> Settings:
        """Return the resolved parameters, or raise a ValueError for the first that does not fit."""
        parameters = self.get_params(deep=False)
        c, n = self._resolve_n_clusters(), views.n_samples
        check_n_samples(n, c)
        check_choice("scale", self.scale, SCALES)
        check_choice("view_selection", self.view_selection, self.selections)
        check_choice("neighbor_search", self.neighbor_search, SEARCHES)
        k = resolve_n_neighbors(self.n_neighbors, n, self.n_clusters)
        metrics = self.metrics_of(views, engine)
        assigner = self._resolve_assigner(parameters.get("assign_labels", "kmeans"))
        check_max_clusters(parameters.get("max_clusters"), self.n_clusters)
        self._check_views(views, metrics)
        self.check_parameters(views)
        return Settings(c, k, metrics, assigner)

    def metrics_of(self, views: Views, engine: Engine) -> tuple[Any, ...]:
        """Return what each view is measured by."""
        return metrics_of_views(self.metric, views, self.scale, engine)

    def check_parameters(self, views: Views) -> None:
        """Raise a ValueError for the first parameter of a subclass that is wrong or does not fit the data."""

    def _resolve_assigner(self, given: Any) -> LabelAssigner:
        assigner = resolve_assigner(given)
        if not self.clusters_a_graph and not isinstance(assigner, KMeansLabels):
            raise ValueError(
                f"{type(self).__name__} reads its labels off an embedding of its own, by k-means; "
                f"assign_labels={given!r} needs a system that clusters one graph, such as "
                "SimilarityGraphFusion or DistanceGraphFusion."
            )
        assigner.check()
        return assigner

    def _resolve_n_clusters(self) -> int:
        """Return the number of clusters; 1 for "auto", until it is found."""
        c: Any = self.n_clusters
        if isinstance(c, str):
            check_choice("n_clusters", c, ("auto",), "an integer")
            if not self.clusters_a_graph:
                raise ValueError(
                    f"{type(self).__name__} needs the number of clusters to begin with, so n_clusters cannot "
                    "be 'auto'; use SimilarityGraphFusion or DistanceGraphFusion, or find it with "
                    "select_n_clusters on their graph_."
                )
            return 1
        check_count("n_clusters", c)
        return int(c)

    def _check_views(self, views: Views, metrics: tuple[Any, ...]) -> None:
        """Raise a ValueError if the system is not defined for such views."""
        system = type(self).__name__
        if views.mask is not None and not views.mask.all() and not self.takes_missing:
            incomplete = int(np.argmin(views.mask.all(axis=0)))
            raise ValueError(
                f"{system} is not defined for samples that a view has not seen, and view "
                f"{views.names[incomplete]!r} lacks {int((~views.mask[:, incomplete]).sum())}. Use "
                "SimilarityGraphFusion, DistanceGraphFusion, AverageGraph or SNF, or leave these samples out."
            )
        if "precomputed_similarity" in metrics and not self.takes_similarities:
            at_fault = views.names[metrics.index("precomputed_similarity")]
            raise ValueError(
                f"View {at_fault!r} holds similarities, and {system} needs distances; use "
                "SimilarityGraphFusion, or pass distances with metric='precomputed_distance'."
            )

    def keep_clusters(self, clusters: GraphClusters) -> None:
        """Set what is known of the clusters of a graph."""
        self.labels_, self.n_clusters_ = clusters.labels, clusters.n_clusters
        self.embedding_, self.eigenvalues_ = clusters.embedding.vectors, clusters.embedding.eigenvalues
        self.cluster_selection_ = clusters.selection

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "labels_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _with_selection(plan: Sequence[PlannedStage]) -> Sequence[PlannedStage]:
    """Return a plan with the stage that selects views after the first, unless it has that stage anyway.

    All later stages need what it found.
    """
    if any(stage.name == "agree" for stage in plan):
        return plan
    first, *rest = plan
    return first, *planned("agree"), *(replace(stage, needs=(*stage.needs, "agree")) for stage in rest)


@dataclass(frozen=True, eq=False)
class GraphClusters:
    """The clusters of a graph.

    Attributes
    ----------
    labels : ndarray of shape (n,)
        The cluster of each sample.
    n_clusters : int
        Number of clusters: as given, as chosen, or as the label assigner found it.
    embedding : SpectralEmbedding
        Its vectors are rows of unit length, as an array.
    selection : ClusterSelection or None
        Why this number, if it was chosen.
    """

    labels: NDArray[np.intp]
    n_clusters: int
    embedding: SpectralEmbedding
    selection: ClusterSelection | None = None


def cluster_graph(
    graph: Any,
    n_samples: int,
    n_clusters: int | Literal["auto"],
    max_clusters: int | None,
    assigner: LabelAssigner,
    run: Run,
) -> GraphClusters:
    """Cluster a graph that an engine holds.

    Parameters
    ----------
    graph : graph
        Symmetric, not negative.
    n_samples : int
        Number of samples.
    n_clusters : int or "auto"
        Number of clusters.
    max_clusters : int or None
        The largest number that "auto" considers; None: 20.
    assigner : LabelAssigner
        Reads labels off the embedding, or off the graph.
    run : Run
        Runs the stages.
    """
    engine, random_state = run.engine, run.random_state
    most = MAX_CLUSTERS if max_clusters is None else int(max_clusters)
    selection = None
    if assigner.needs == "graph":
        found = run.stage("label", label, graph, 1, assigner, random_state)
        c = found.n_clusters
        width = min(c, most) if n_clusters == "auto" else int(n_clusters)
        embedding = run.stage("embed", embed, graph, width, random_state, warn_disconnected=False)
    elif n_clusters == "auto":
        wide = run.stage("embed", embed, graph, width_to_select(most, n_samples), random_state)
        selection = run.stage("select", select, wide, most, random_state)
        c = selection.chosen
        embedding = wide.first(c, engine)
        found = run.stage("label", label, embedding, c, assigner, random_state)
    else:
        c = int(n_clusters)
        embedding = run.stage("embed", embed, graph, c, random_state)
        found = run.stage("label", label, embedding, c, assigner, random_state)
    rows = engine.fetch(engine.unit_rows(embedding.vectors))
    return GraphClusters(found.labels, c, replace(embedding, vectors=rows), selection)


def check_n_samples(n_samples: int, n_clusters: int) -> None:
    """Raise a ValueError if there are too few samples for so many clusters."""
    if n_samples < 2:
        raise ValueError("There is 1 sample; clustering takes at least 2 (n_samples=1).")
    if n_clusters > n_samples:
        clusters = Setting("n_clusters", n_clusters)
        raise ValueError(
            Advice(f"There are fewer samples (n_samples={n_samples}) than clusters (", clusters, ").")
        )


def check_max_clusters(max_clusters: Any, n_clusters: Any) -> None:
    """Raise a ValueError if the most clusters to consider is no count, or has no effect."""
    if max_clusters is None:
        return
    check_count("max_clusters", max_clusters)
    if n_clusters != "auto":
        raise ValueError(
            Advice(
                Setting("max_clusters", max_clusters),
                " has no effect with ",
                Setting("n_clusters", n_clusters),
                "; pass ",
                Setting("n_clusters", "auto"),
                " to have the number chosen, or leave ",
                Setting("max_clusters"),
                " out.",
            )
        )
