"""Models that fuse views on shared edges into one graph: SGF and DGF (Algorithm 4), and the average."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from ..engines import Engine, get_engine
from ..engines.results import Neighbors
from ..fusion import FusionResult, Schedule
from ..fusion.alternation import Callback
from ..fusion.edge_fusion import AverageFusion, ConsistentFusion, EdgeFusion
from ..fusion.problem import check_penalty, check_view_weights
from ..graphs import EdgeSet
from ..run.execution import Run
from ..run.messages import Advice, Setting, check_choice, held_warnings, show_held
from ..run.progress import PlannedStage
from ..spaces.metric import auto_metrics
from ..stages.agree import ViewSelection, Weighting, agree
from ..stages.connect import connect
from ..stages.describe import DescribedViews, can_change, candidates, describe, redescribe
from ..stages.effort import DESCRIPTIONS, EFFORTS, ROW_WEIGHTINGS, learns_trust, redescribes
from ..stages.fuse import fuse
from ..stages.label import KMeansLabels
from ..stages.prepare import PreparedViews, expand
from ..stages.search import USUAL_CLUSTERS, search
from ..stages.sizes import MANY_SAMPLES, FitSize, view_sizes
from ..stages.sparsify import UnifiedGraph, sparsify
from ..stages.table import plan_of, require_memory
from ..stages.trust import trust
from ..stages.weigh import weigh
from ..views import Views
from ..views.device_arrays import like_input
from .base import MAX_CLUSTERS, MultiviewClusterer, Settings, cluster_graph
from .each_view import labels_by_view
from .estimator import estimator
from .fitted import DescribedResult, StageResults, ViewTable, make_view_table
from .fusion_docs import AVERAGE_DOC, DGF_DOC, SGF_DOC
from .given import ROW_ORDERS, GivenViews, RowOrder, forms_of, kind_of_order, views_given
from .prediction import EdgeModel, Predictor
from .queries import read_new_samples

PAPER: Mapping[str, Any] = MappingProxyType(
    {
        "scale": "none",
        "view_weights": "uniform",
        "row_weights": "uniform",
        "descriptions": "default",
        "effort": "low",
        "solver": "dca",
        "tol": 0.05,
        "max_iter": 100,
        "assign_labels": KMeansLabels(n_init=30),
        "neighbor_search": "exact",
        "row_order": "given",
        "engine": "numba",
    }
)
"""The settings of the paper's experiments. They stay the same when our defaults change.

Features as they are (`scale`) and in no other form (`descriptions`, `effort`), all views and rows counting
alike (`view_weights`, `row_weights`), the paper's `solver` with its stopping rule (`tol`, `max_iter`),
k-means with 30 restarts (`assign_labels`), exact neighbours (`neighbor_search`), rows in the order of the
file (`row_order`) and the default `engine`.

What the paper chooses per data set is not in it: `n_neighbors` (6 in its tables), `metric`, `beta` and
`gamma`. Use as ``DistanceGraphFusion(n_clusters=7, n_neighbors=6, beta=0.01, gamma=1e-4, **PAPER)``.
"""

Floats = NDArray[np.floating[Any]]
WEIGHTINGS = ("agreement", "uniform")


@estimator
class GraphFusion(MultiviewClusterer):
    """Base of the models that fuse views on shared edges into one graph, cluster it, and predict.

    A subclass says how what the views say of an edge becomes one similarity: it implements `edge_fusion`.
    """

    max_clusters: int | None = None
    view_selection: Literal["auto", "all", "agreement"] = "auto"
    view_weights: ArrayLike | Mapping[str, float] | Literal["agreement", "uniform"] | None = "uniform"
    row_weights: Literal["auto", "learned", "agreement", "uniform"] = "uniform"
    descriptions: Literal["auto", "confirmed", "default"] = "auto"
    effort: Literal["low", "medium", "high"] = "low"
    missing: Literal["impute", "plain"] = "impute"
    assign_labels: Any = "kmeans"
    row_order: Literal["content", "given"] = "content"

    takes_missing: ClassVar[bool] = True
    clusters_a_graph: ClassVar[bool] = True
    selections: ClassVar[tuple[str, ...]] = ("auto", "all", "agreement")
    resumes: ClassVar[bool] = True

    def edge_fusion(self) -> EdgeFusion:
        """Return the model that fuses what the views say of each edge, from the parameters."""
        raise NotImplementedError(
            f"{type(self).__name__} must implement `edge_fusion`: return an EdgeFusion."
        )

    def fit_stages(self, given: GivenViews, settings: Settings, run: Run) -> None:
        """Run the stages: neighbours, shared edges, their weights, the fusion, one graph, labels."""
        k, impute, fusion = settings.n_neighbors, self.missing == "impute", self.edge_fusion()
        order, spaces, neighbors, selection = self._compare_in_order(given, settings, run)
        views = spaces.only(selection.kept)
        edges = run.stage("connect", connect, neighbors, selection, views)
        if self._learns_trust:
            c = USUAL_CLUSTERS if self.n_clusters == "auto" else settings.n_clusters
            selection = run.stage("trust", trust, neighbors, selection, edges, views, c, k, impute)
        weights = run.stage("weigh", weigh, neighbors, selection, edges, views, fusion)
        del neighbors  # and with them the distances that the searches have measured
        fused = run.stage("fuse", fuse, weights, edges, selection, views, fusion, impute)
        graph = run.stage("sparsify", sparsify, fused, edges, views, k, impute)
        del edges, weights
        fused = fused.without_edges()
        described = None
        if self._redescribes:
            described = self._redescribe(graph, given.views, settings, views, selection, run)
            graph = described.graph
        clusters = cluster_graph(
            graph.handle, spaces.n_samples, self.n_clusters, self.max_clusters, settings.assigner, run
        )
        stages = StageResults(given, spaces, selection, fused, graph, clusters, order, described)
        self._keep(stages, settings, run.engine)

    def _compare_in_order(
        self, given: GivenViews, settings: Settings, run: Run
    ) -> tuple[RowOrder, PreparedViews, tuple[Neighbors, ...], ViewSelection]:
        """Compare the views in the order in which the fit is made.

        That follows from the views that are used: those that are left out must not even decide how ties are
        settled. So if some are, the views are compared once more, in the order that follows from the others.
        If then others are used, as may happen on the border of chance, it stays at what was found first.
        """
        order = given.row_order(self.row_order)
        with held_warnings() as held:
            found = self._compare_views(given.in_order(order), settings, run)
        used = found[0].only(found[2].kept).active
        if order.kind == "content" and not used.all() and found[0].n_samples <= MANY_SAMPLES:
            other = given.row_order(self.row_order, used)
            with held_warnings() as held_again:
                again = self._compare_views(given.in_order(other), settings, run, used)
            if np.array_equal(again[0].only(again[2].kept).active, used):
                order, found, held = other, again, held_again
        show_held(held)
        return order, *found

    def _compare_views(
        self, given: GivenViews, settings: Settings, run: Run, used: NDArray[np.bool_] | None = None
    ) -> tuple[PreparedViews, tuple[Neighbors, ...], ViewSelection]:
        """Run the first stages: the views as they are compared, their neighbours, and which are kept.

        `used` are the views whose numbers come first, if that is known.
        """
        spaces = run.stage("prepare", given.prepare, settings.metrics, self.scale)
        if self._redescribes and spaces.n_samples <= MANY_SAMPLES:
            spaces = spaces.cached(run.engine)
        names, impute = [repr(name) for name in spaces.names], self.missing == "impute"
        neighbors = run.each(
            "search", search, names, spaces, settings.n_neighbors, self.neighbor_search, impute
        )
        first = None if used is None else used[spaces.active]
        return spaces, neighbors, run.stage("agree", agree, neighbors, spaces, self._weighting(spaces), first)

    @property
    def _learns_trust(self) -> bool:
        """Whether the trust in rows is learned together with the clusters."""
        return learns_trust(self.row_weights, self.effort)

    @property
    def _redescribes(self) -> bool:
        """Whether other descriptions of the features are tried."""
        return redescribes(self.descriptions, self.effort)

    def _redescribe(
        self,
        graph: UnifiedGraph,
        given: Views,
        settings: Settings,
        views: PreparedViews,
        selection: ViewSelection,
        run: Run,
    ) -> DescribedResult:
        """Find out which descriptions the views confirm, and fuse the views in these, too."""
        c = USUAL_CLUSTERS if self.n_clusters == "auto" else settings.n_clusters
        there = DescribedViews(views, can_change(given, views, self.metric, self.scale), run.engine)
        tried = candidates(there, settings.n_neighbors, fixed=self.n_neighbors != "auto")
        table = run.stage("describe", describe, there, selection, tried, c)
        mixed = run.stage(
            "redescribe",
            redescribe,
            graph,
            table,
            there,
            selection,
            self.edge_fusion().for_descriptions(),
            self.neighbor_search,
            self.missing == "impute",
        )
        spaces = tuple(there[table.name[number]].spaces for number in table.others)
        return DescribedResult(table, mixed.graph, mixed.fused, spaces)

    def _keep(self, stages: StageResults, settings: Settings, engine: Engine) -> None:
        """Set the fitted attributes from what the stages returned."""
        spaces, selection, fused = stages.spaces, stages.selection, stages.fused
        found = stages.found(engine)
        self.keep_clusters(found.clusters)
        self.graph_, self.neighbors_, self.row_reliability_ = (
            found.graph,
            found.neighbors,
            found.row_reliability,
        )
        self.views_ = make_view_table(
            stages.given.views.names, spaces, selection, fused.view_weights, found.fusion
        )
        self.agreement_, self.row_order_ = selection.agreement, stages.order.kind
        self.neighbor_searches_ = spaces.for_all(selection.reports)
        if found.fusion is not None:
            self.fusion_ = found.fusion
        self.descriptions_ = stages.described.table if stages.described is not None else None
        self.matched_shares_ = (
            None
            if selection.matched is None
            else spaces.only(selection.kept).expand(selection.matched, np.nan)
        )
        order, views = stages.order.places, spaces.only(selection.kept)
        default = Predictor(
            forms=forms_of(stages.given.views, settings.metrics),
            numbers=tuple(np.flatnonzero(views.active).tolist()),
            spaces=views.spaces,
            models=(EdgeModel(fused.kernels, fused.units, fused.learned),),
            trust=None if selection.trust is None else engine.fetch(selection.trust),
            labels=self.labels_ if order is None else self.labels_[order],
            n_neighbors=settings.n_neighbors,
            order=order,
        )
        self.predictor_ = default if stages.described is None else stages.described.predictor(default)

    def _weighting(self, views: PreparedViews) -> Weighting:
        """Return how much views and rows are to count, from the parameters."""
        by_rows = self.row_weights != "uniform"
        if isinstance(self.view_weights, str) and self.view_weights == "agreement":
            return Weighting(None, by_rows)
        selects = self.view_selection == "agreement"
        return Weighting(self._given_weights(views.all_names)[views.active], by_rows, selects)

    def _given_weights(self, names: Sequence[str]) -> NDArray[np.float64]:
        """Return the weights that the user gave, or 1 for each view."""
        given: Any = self.view_weights
        if isinstance(given, str):
            check_choice("view_weights", given, WEIGHTINGS, "one number per view")
            given = None
        elif isinstance(given, Mapping):
            if set(given) != set(names):
                raise ValueError(
                    f"view_weights names the views {', '.join(map(repr, given))}, the data has "
                    f"{', '.join(map(repr, names))}; give one weight for each."
                )
            given = [given[name] for name in names]
        return check_view_weights(given, names)

    def check_parameters(self, views: Views) -> None:
        """Check weights, missing samples and the parameters of the fusion."""
        check_choice("missing", self.missing, ("impute", "plain"))
        check_choice("row_weights", self.row_weights, ROW_WEIGHTINGS)
        check_choice("descriptions", self.descriptions, DESCRIPTIONS)
        check_choice("effort", self.effort, EFFORTS)
        if self.descriptions == "confirmed" and self.n_neighbors != "auto":
            chosen = auto_metrics(self.metric, views.names)
            if self.scale != "auto" or not any(chosen):
                raise ValueError(
                    Advice(
                        Setting("descriptions", "confirmed"),
                        " has nothing to choose from: the number of neighbours is given, and so is how all "
                        "views are compared. Leave ",
                        Setting("n_neighbors"),
                        ", or ",
                        Setting("metric"),
                        " and ",
                        Setting("scale"),
                        ", to 'auto', or pass ",
                        Setting("descriptions", "default"),
                        ".",
                    )
                )
        check_choice("row_order", self.row_order, ROW_ORDERS)
        by_agreement = isinstance(self.view_weights, str) and self.view_weights == "agreement"
        if self.view_selection == "all" and by_agreement:
            raise ValueError(
                "view_weights='agreement' gives no weight to views that agree with no other and leaves them "
                "out; with view_selection='all' pass view_weights='uniform', or numbers."
            )
        self._given_weights(views.names)
        self.edge_fusion()

    def plan_stages(self, views: Views, settings: Settings, engine: Engine) -> Sequence[PlannedStage]:
        """Return the stages, each with its estimated cost; raise a MemoryError if they need too much."""
        selects = self.n_clusters == "auto" and settings.assigner.needs == "embedding"
        most = MAX_CLUSTERS if self.max_clusters is None else int(self.max_clusters)
        size = FitSize(
            n_samples=views.n_samples,
            views=view_sizes(views, settings.metrics),
            n_neighbors=settings.n_neighbors,
            n_vectors=most if self.n_clusters == "auto" else settings.n_clusters,
            method="fusion" if isinstance(self.edge_fusion(), ConsistentFusion) else "average",
            weighs_rows=self.row_weights != "uniform",
            search=self.neighbor_search,
            n_threads=engine.n_threads,
            missing=views.mask is not None and not views.mask.all(),
            learns_trust=self._learns_trust,
            describes=self._redescribes,
            by_effort=self.row_weights == self.descriptions == "auto",
            row_order="content" if kind_of_order(views, self.row_order) == "content" else "given",
        )
        require_memory(size, type(self).__name__, engine)
        return plan_of(size, selects=selects)

    def predict(self, X: Any) -> Any:
        """Return the cluster of each of some new samples.

        Parameters
        ----------
        X : dict, Views, list, DataFrame, array, AnnData or MuData
            New samples with any of the views of the fit: by name, or a list of all of them in order, with
            None for those that are not there. A sample may lack views that others have, in the same ways as
            at fit. A view that is a matrix between samples has a row per new sample, of its distances or
            similarities to the samples of the fit.

        Returns
        -------
        ndarray of shape (n_new,)
            Clusters, as in `labels_`; for tensors of PyTorch or arrays of CuPy the same kind.

        See Also
        --------
        predict_proba : How sure that is.

        Examples
        --------
        >>> from consilience import DistanceGraphFusion, load_digits_views
        >>> views, _ = load_digits_views(return_X_y=True)
        >>> old = {name: array[:1500] for name, array in views.items()}
        >>> new = {name: views[name][1500:] for name in list(views)[:2]}
        >>> model = DistanceGraphFusion(n_clusters=10, random_state=0).fit(old)
        >>> model.predict(new).shape
        (297,)
        """
        return like_input(views_given(X), self._probabilities(X).argmax(axis=1))

    def predict_proba(self, X: Any) -> Any:
        """Return how much of the weight of a new sample's edges leads to each cluster.

        A sample that is the same as some of the fit in every view that it has takes what these have.

        Parameters
        ----------
        X : as for `predict`
            New samples.

        Returns
        -------
        ndarray of shape (n_new, number of clusters)
            Rows sum to 1. For tensors of PyTorch or arrays of CuPy the same kind.
        """
        return like_input(views_given(X), self._probabilities(X))

    def _probabilities(self, X: Any) -> Floats:
        check_is_fitted(self)
        engine = get_engine(self.engine)
        new = read_new_samples(self, X, self.predictor_.forms)
        with engine.limit(self.n_jobs):
            return self.predictor_.probabilities(new, engine)

    def labels_by_view(self) -> dict[str, NDArray[np.intp]]:
        """Return the clusters that each view has alone.

        Where two views do not agree, nobody can know which is right: then each alone may be worth more than
        both together, and the fit warns. Each view is clustered anew, in its default description, by its
        graph of the `n_neighbors_` nearest neighbours; nothing is fused.

        Returns
        -------
        dict of str to ndarray of shape (n_samples,)
            For each view that was kept: as many clusters as the fit has, numbered by first appearance; -1
            for samples that the view has not seen.

        See Also
        --------
        consilience.inspection.does_fusion_help : Whether the views are better together than one alone.

        Examples
        --------
        >>> import warnings
        >>> import numpy as np
        >>> from consilience import DistanceGraphFusion, make_multiview
        >>> data = make_multiview(200, n_views=2, n_clusters=3, separation=8.0, random_state=0)
        >>> first, second = data.views.values()
        >>> shuffled = second[np.random.default_rng(0).permutation(200)]
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")  # that the views do not agree
        ...     model = DistanceGraphFusion(n_clusters=3, random_state=0).fit([first, shuffled])
        >>> from consilience.metrics import ari
        >>> {name: ari(data.y, labels) > 0.9 for name, labels in model.labels_by_view().items()}
        {'view_0': True, 'view_1': False}
        """
        check_is_fitted(self)
        engine = get_engine(self.engine)
        with engine.limit(self.n_jobs):
            return labels_by_view(self.predictor_, int(self.n_clusters_), self.neighbor_search, engine)

    def report(
        self,
        path: str | Path,
        views: Any = None,
        y: Any = None,
        *,
        fdr: float = 0.05,
        title: str | None = None,
        sample_names: ArrayLike | None = None,
        force: bool = False,
    ) -> Path:
        """Write a page about the fit: the clusters, how sure they are, which view disagrees where.

        One self-contained HTML file that any browser can show.

        Parameters
        ----------
        path : str or Path
            Where to write it, such as ``"report.html"``.
        views : as for `fit`, default=None
            The data, to say whether fusing helps: each view is then clustered alone, too, which takes about
            as long as some fits. None leaves that out.
        y : array-like of shape (n_samples,), default=None
            True labels, to score the clusters against.
        fdr : float, default=0.05
            Share of false flags to allow among the rows that are said to contradict the other views.
        title : str, default=None
            Title of the page.
        sample_names : array-like of shape (n_samples,), default=None
            Names of the samples; None: the ids of the data, or their numbers.
        force : bool, default=False
            Whether to overwrite a file that exists.

        Returns
        -------
        Path
            The file.

        See Also
        --------
        consilience.inspection.inspect : The same as data.
        """
        from ..pages.report import write_report  # only now: pages are loaded when one is asked for

        return write_report(
            path, self, views=views, y=y, fdr=fdr, title=title, sample_names=sample_names, force=force
        )

    @property
    def view_weights_(self) -> NDArray[np.float64]:
        """The resolved weights (the paper's lambda), one per view; 0 for a view left out."""
        return self._view_table().weight

    @property
    def view_scales_(self) -> NDArray[np.float64]:
        """The paper's alpha: the scale at which each view enters, not a measure of trust."""
        return self._view_table().scale

    @property
    def view_contributions_(self) -> NDArray[np.float64]:
        """Each view's share of the unified graph, summing to 1; 0 for a view left out."""
        return self._view_table().contribution

    @property
    def view_reliability_(self) -> NDArray[np.float64]:
        """How far each view agrees with the others; 0: with no other, NaN: nothing to compare."""
        return self._view_table().reliability

    def _view_table(self) -> ViewTable:
        check_is_fitted(self, "views_")
        return self.views_

    def _result(self) -> FusionResult:
        check_is_fitted(self)
        if not hasattr(self, "fusion_"):
            raise AttributeError(
                f"{type(self).__name__} does not keep consistent and inconsistent parts: its fusion has none."
            )
        return self.fusion_

    @property
    def history_(self) -> NDArray[np.float64]:
        """The objective at the start and after each round."""
        return self._result().history

    @property
    def n_iter_(self) -> int:
        """Number of rounds."""
        return self._result().n_iter

    @property
    def converged_(self) -> bool:
        """Whether the stopping rule was met."""
        return self._result().converged

    @property
    def edges_(self) -> EdgeSet:
        """The edges that the views share."""
        edges = self._result().edges
        assert edges is not None
        return edges

    @property
    def consistent_(self) -> Floats:
        """The consistent parts, of shape (n_edges, v); NaN for a view left out."""
        return expand(self._result().consistent, self._view_table().kept, np.nan)

    @property
    def inconsistent_(self) -> Floats:
        """The inconsistent parts, of shape (n_edges, v); NaN for a view left out."""
        return expand(self._result().inconsistent, self._view_table().kept, np.nan)


@estimator
class SimilarityGraphFusion(GraphFusion):  # noqa: D101 - it has one, put together
    __doc__ = SGF_DOC

    scale: str = "auto"
    view_weights: ArrayLike | Mapping[str, float] | Literal["agreement", "uniform"] | None = "agreement"
    row_weights: Literal["auto", "learned", "agreement", "uniform"] = "auto"
    effort: Literal["low", "medium", "high"] = "high"
    beta: float = 1.0
    gamma: float = 100.0
    solver: Literal["dca", "exact"] = "dca"
    tol: float = 0.05
    max_iter: int = 100
    callback: Callback | None = None

    def edge_fusion(self) -> ConsistentFusion:
        """Return the fusion of similarities."""
        return _consistent_fusion("similarity", self)


@estimator
class DistanceGraphFusion(GraphFusion):  # noqa: D101 - it has one, put together
    __doc__ = DGF_DOC

    scale: str = "auto"
    view_weights: ArrayLike | Mapping[str, float] | Literal["agreement", "uniform"] | None = "agreement"
    row_weights: Literal["auto", "learned", "agreement", "uniform"] = "auto"
    effort: Literal["low", "medium", "high"] = "high"
    beta: float = 1.0
    gamma: float = 100.0
    solver: Literal["dca", "exact"] = "dca"
    tol: float = 0.05
    max_iter: int = 100
    callback: Callback | None = None

    def edge_fusion(self) -> ConsistentFusion:
        """Return the fusion of distances."""
        return _consistent_fusion("distance", self)


def _consistent_fusion(kind: Literal["similarity", "distance"], model: Any) -> ConsistentFusion:
    """Return the paper's model with the parameters of SGF or DGF, checked."""
    beta, gamma = check_penalty("beta", model.beta), check_penalty("gamma", model.gamma)
    schedule = Schedule(solver=model.solver, tol=model.tol, max_iter=model.max_iter, callback=model.callback)
    return ConsistentFusion(kind, beta, gamma, schedule)


@estimator
class AverageGraph(GraphFusion):  # noqa: D101 - it has one, put together
    __doc__ = AVERAGE_DOC

    def edge_fusion(self) -> AverageFusion:
        """Return the average."""
        return AverageFusion()

    @property
    def view_weights_(self) -> NDArray[np.float64]:
        """Each view's share of the mean; 0 for a view left out."""
        return self._view_table().contribution
