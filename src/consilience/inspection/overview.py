"""All diagnostics of a fit at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .clusters import ClusterConflicts, by_cluster
from .confidence import SampleConfidence, sample_confidence
from .convergence import Convergence, convergence
from .health import GraphHealth, graph_health
from .pairs import PairConflicts, conflicting_pairs
from .samples import SampleConflicts, sample_conflicts
from .subject import as_subject
from .views import AgreementMatrix, ViewSummary, agreement_matrix, view_summary


@dataclass(frozen=True, eq=False)
class Inspection:
    """All diagnostics of a fit.

    Attributes
    ----------
    labels : ndarray of shape (n,), or None
        The clusters.
    sample_names : ndarray of shape (n,)
        Ids of the samples, or their numbers.
    views : ViewSummary
        What each view contributed.
    agreement : AgreementMatrix
        How far each two views agree.
    samples : SampleConflicts
        Which rows of which view contradict the others.
    clusters : ClusterConflicts or None
        How each view sees each cluster.
    pairs : PairConflicts
        The pairs of samples on which the views differ most.
    confidence : SampleConfidence or None
        How sure the cluster of each sample is.
    health : GraphHealth
        The unified graph.
    convergence : Convergence
        How the fusion went.
    """

    labels: NDArray[np.intp] | None
    sample_names: NDArray[Any]
    views: ViewSummary
    agreement: AgreementMatrix
    samples: SampleConflicts
    clusters: ClusterConflicts | None
    pairs: PairConflicts
    confidence: SampleConfidence | None
    health: GraphHealth
    convergence: Convergence

    @property
    def none_agree(self) -> bool:
        """Whether no two of the views kept agree beyond chance, though they could be compared."""
        kept = self.views.kept
        both = np.outer(kept, kept) & ~np.eye(len(kept), dtype=bool)
        compared = both & np.isfinite(self.agreement.shares)
        return bool(compared.any() and not (compared & self.agreement.significant).any())


def inspect(
    fitted: Any,
    *,
    fdr: float = 0.05,
    n_pairs: int = 100,
    labels: ArrayLike | None = None,
    sample_names: ArrayLike | None = None,
    random_state: int = 0,
) -> Inspection:
    """Compute all diagnostics of a fit.

    Parameters
    ----------
    fitted : SimilarityGraphFusion, DistanceGraphFusion or FusionResult
        A fitted model, or what `fuse_graphs` returned.
    fdr : float, default=0.05
        Share of false flags to allow among the flagged rows of each view; see `sample_conflicts`.
    n_pairs : int, default=100
        How many conflicting pairs to keep.
    labels : array-like of shape (n,), default=None
        Clusters, for a `FusionResult`.
    sample_names : array-like of shape (n,), default=None
        Names of the samples; None: the ids of the data, or their numbers.
    random_state : int, default=0
        Draws the random places that rows are put at, to see how misplaced rows look.

    Returns
    -------
    Inspection

    Examples
    --------
    >>> from consilience import DistanceGraphFusion, load_digits_views
    >>> from consilience.inspection import inspect
    >>> views, _ = load_digits_views(return_X_y=True)
    >>> found = inspect(DistanceGraphFusion(n_clusters=10, random_state=0).fit(views))
    >>> found.samples.n_flagged
    array([0, 0, 0, 0, 0, 0])
    """
    subject = as_subject(fitted, labels, sample_names)
    conflicts = sample_conflicts(subject, fdr=fdr, random_state=random_state)
    return Inspection(
        labels=subject.labels,
        sample_names=subject.sample_names,
        views=view_summary(subject),
        agreement=agreement_matrix(subject),
        samples=conflicts,
        clusters=None if subject.labels is None else by_cluster(subject, conflicts),
        pairs=conflicting_pairs(subject, n_pairs=n_pairs),
        confidence=None if subject.model is None else sample_confidence(subject),
        health=graph_health(subject),
        convergence=convergence(subject),
    )
