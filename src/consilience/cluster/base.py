"""What every multi-view clusterer shares: parameters, the way in, and the checks."""

from __future__ import annotations

import logging
import os
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeVar, dataclass_transform

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils import check_random_state

from .. import threads
from ..config import get_config
from ..neighbors import SEARCHES, resolve_metrics, takes_missing_cells
from ..views import Views
from ..warned import keep_warnings
from .checks import check_choice, check_count, is_positive_integer
from .expecting import expected_costs
from .prepared import PreparedViews, SharedViews, views_for
from .preparing import prepare_views
from .progress import Progress
from .remedies import require_memory
from .sizes import USUAL_CLUSTERS, FitSize, auto_neighbors

if TYPE_CHECKING:
    from .checkpoints import Checkpoints

logger = logging.getLogger(__name__)

SCALES = ("none", "auto", "standard")
Class = TypeVar("Class")


@dataclass_transform(kw_only_default=True, eq_default=False)
def estimator(cls: type[Class]) -> type[Class]:
    """Give a class a constructor of keywords, from its annotated attributes and those of its bases.

    So the parameters that all systems share are written once, and a system adds its own. scikit-learn reads
    them off the signature, as it does off a constructor written by hand.
    """
    return dataclass(kw_only=True, eq=False, repr=False)(cls)


@estimator
class MultiviewClusterer(ClusterMixin, BaseEstimator):
    """Base of all multi-view clusterers.

    A subclass, decorated with `estimator`, lists its own parameters with their defaults, says how many stages
    its fit has, and implements `_fit_views`, which sets the fitted attributes, `labels_` among them.
    """

    n_clusters: int | Literal["auto"] = USUAL_CLUSTERS
    n_neighbors: int | Literal["auto"] = "auto"
    metric: Any = "auto"
    scale: str = "none"
    neighbor_search: Literal["auto", "exact", "approximate"] = "auto"
    n_jobs: int | None = None
    random_state: Any = None
    verbose: bool = False

    _ends_with_graph: ClassVar[bool] = False  # whether it comes to one graph and clusters that, in any way
    _takes_missing: ClassVar[bool] = False  # whether it is defined for samples that a view has not seen
    _takes_similarities: ClassVar[bool] = True  # whether it is defined for views that are similarities
    _resumes: ClassVar[bool] = False  # whether its stages can go on from a checkpoint

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
            self._fit(X)
        except BaseException:
            # What an earlier fit found is still true; half of a failed one would not be.
            self.__dict__.clear()
            self.__dict__.update(before)
            raise
        return self

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
        from .saving import save  # only now: it knows all systems, and they this module

        return save(self, path, force=force)

    def _fit(self, X: Any) -> None:
        shared = X if isinstance(X, SharedViews) else None
        views = views_for(self.metric, X if shared is None else shared.views)
        if shared is not None and views is not shared.views:
            shared = shared.known_as(views)
        with keep_warnings() as told:
            progress = self._fit_checked(views, shared)
        self.warnings_ = tuple(dict.fromkeys(one.text for one in told))
        self.params_ = self.get_params(deep=False)
        self.n_features_in_ = views.shape[1]
        self.view_names_ = np.array(views.names, dtype=object)
        self.sample_ids_ = views.sample_ids
        self.data_fingerprint_ = views.fingerprint() if shared is None else shared.fingerprint
        self.timings_ = progress.seconds
        if views.n_views == 1 and views.feature_names[0] is not None:
            self.feature_names_in_ = np.asarray(views.feature_names[0], dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        if progress.checkpoints is not None:
            progress.checkpoints.remove()

    def _fit_checked(self, views: Views, shared: SharedViews | None) -> Progress:
        """Check the parameters, then fit; return what was timed."""
        self._check_parameters(views)
        with threads.limit(self.n_jobs):
            expected = self._look_ahead(views)
            random_state = check_random_state(self.random_state)
            checkpoints = self._open_checkpoints(views, shared, random_state)
            progress = Progress(self._n_stages(views), bool(self.verbose), expected, checkpoints)
            try:
                with progress.stage("prepare"):
                    prepared = self._prepare(views) if shared is None else shared.prepared_for(self)
                self._fit_views(
                    prepared, random_state if checkpoints is None else checkpoints.random_state, progress
                )
            except BaseException:
                if checkpoints is not None:
                    checkpoints.leave()
                raise
        return progress

    def _look_ahead(self, views: Views) -> Sequence[tuple[str, float]]:
        """Raise a MemoryError if the fit would need too much; return what share of the work each stage is."""
        size = self._size(views)
        if size is None:
            return ()
        require_memory(size, type(self).__name__)
        return expected_costs(size)

    def _open_checkpoints(
        self, views: Views, shared: SharedViews | None, random_state: np.random.RandomState
    ) -> Checkpoints | None:
        """Return where stages keep what they find, if that is asked for."""
        folder = get_config().checkpoint_dir
        if folder is None:
            return None
        if not self._resumes:
            logger.info("%s has no stages to resume: no checkpoints are written", type(self).__name__)
            return None
        from .checkpoints import open_checkpoints  # only now: it knows all classes that a file may hold

        fingerprint = views.fingerprint() if shared is None else shared.fingerprint
        return open_checkpoints(folder, self, fingerprint, random_state)

    def _size(self, views: Views) -> FitSize | None:
        """Return how large the fit is, if its need of memory and time can be told from that."""
        return None

    @abstractmethod
    def _fit_views(
        self, prepared: PreparedViews, random_state: np.random.RandomState, progress: Progress
    ) -> None:
        """Fit on the views that take part; set the fitted attributes."""

    @abstractmethod
    def _n_stages(self, views: Views) -> int:
        """Return how many stages the fit reports."""

    def _check_parameters(self, views: Views) -> None:
        """Raise a ValueError for the first parameter that does not fit the data."""
        n = views.n_samples
        c = self._resolve_n_clusters()
        if n < 2:
            raise ValueError("There is 1 sample; clustering takes at least 2 (n_samples=1).")
        if c > n:
            raise ValueError(f"There are fewer samples (n_samples={n}) than clusters (n_clusters={c}).")
        check_choice("scale", self.scale, SCALES)
        check_choice("neighbor_search", self.neighbor_search, SEARCHES)
        self.n_neighbors_ = self._resolve_n_neighbors(n)
        kinds = [None if encoding is None else encoding.kinds for encoding in views.encodings]
        seen = [rows if rows is None or rows.any() else None for rows in map(views.seen, views.names)]
        rescaled = [
            self.scale == "auto" and not square and encoding is None
            for square, encoding in zip(views.pairwise, views.encodings, strict=True)
        ]
        self.metrics_ = resolve_metrics(
            self.metric, views.arrays, views.names, kinds, views.graphs, seen=seen, rescaled=rescaled
        )
        for i, metric in enumerate(self.metrics_):
            if not takes_missing_cells(metric):
                views.check_cells(i)
        self._check_views(views)

    def _check_views(self, views: Views) -> None:
        """Raise a ValueError if the system is not defined for such views."""
        system = type(self).__name__
        if views.mask is not None and not views.mask.all() and not self._takes_missing:
            incomplete = int(np.argmin(views.mask.all(axis=0)))
            raise ValueError(
                f"{system} is not defined for samples that a view has not seen, and view "
                f"{views.names[incomplete]!r} lacks {int((~views.mask[:, incomplete]).sum())}. Use "
                "SimilarityGraphFusion, DistanceGraphFusion or AverageGraph, or leave these samples out."
            )
        if "precomputed_similarity" in self.metrics_ and not self._takes_similarities:
            at_fault = views.names[self.metrics_.index("precomputed_similarity")]
            raise ValueError(
                f"View {at_fault!r} holds similarities, and {system} needs distances; use "
                "SimilarityGraphFusion, or pass distances with metric='precomputed_distance'."
            )

    def _resolve_n_clusters(self) -> int:
        """Return the number of clusters, for "auto" one to begin with; keep it in `n_clusters_`."""
        c: Any = self.n_clusters
        if isinstance(c, str):
            check_choice("n_clusters", c, ("auto",), "an integer")
            if not self._ends_with_graph:
                raise ValueError(
                    f"{type(self).__name__} needs the number of clusters to begin with, so n_clusters cannot "
                    "be 'auto'; use SimilarityGraphFusion or DistanceGraphFusion, or find it with "
                    "select_n_clusters on their graph_."
                )
            self.n_clusters_ = 1  # until it is found
        else:
            check_count("n_clusters", c)
            self.n_clusters_ = int(c)
        return self.n_clusters_

    def _resolve_n_neighbors(self, n: int) -> int:
        k = self.n_neighbors
        if isinstance(k, str):
            check_choice("n_neighbors", k, ("auto",), "an integer")
            return auto_neighbors(n, USUAL_CLUSTERS if self.n_clusters == "auto" else self.n_clusters)
        if not is_positive_integer(k):
            raise ValueError(f"n_neighbors must be 'auto' or a positive integer, got {k!r}.")
        if k >= n:
            raise ValueError(
                f"n_neighbors={k} asks for more neighbours than there are other samples "
                f"(n_samples={n}); pass at most {n - 1}, or 'auto'."
            )
        return int(k)

    def _preparation(self) -> Any:
        """Return all that `_prepare` depends on beside the views."""
        return self.metrics_, self.scale, self.neighbor_search

    def _prepare(self, views: Views) -> PreparedViews:
        """Make a space of each view, leaving out those that say nothing."""
        return prepare_views(views, self.metrics_, self.scale, self.neighbor_search)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "labels_")  # a parameter such as `lambda_` is no sign of a fit

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
