"""All that a report is about, in one place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ...inspection.clusters import ClusterConflicts
from ...inspection.confidence import SampleConfidence
from ...inspection.fusion_help.result import FusionHelp
from ...inspection.overview import Inspection
from ...inspection.subject import Floats
from ...models.fusion import GraphFusion
from ...stages.describe import DescriptionTable
from ...stages.label import resolve_assigner
from ...stages.select import ClusterSelection
from ...words import clipped, distinct
from .left_out import Absence, find_absences
from .sample_map import Index, SampleMap, bin_samples, draw_map

UNSURE = 0.25  # confidence below which a sample is called unsure: the lowest quarter of the scale


@dataclass(frozen=True, eq=False)
class ReportContent:
    """All that a report is about.

    Attributes
    ----------
    model : SimilarityGraphFusion or DistanceGraphFusion
        The fitted model.
    found : Inspection
        What was found in it.
    fusion_help : FusionHelp, str or None
        Whether fusing helps, or why that cannot be said; None if it was not asked.
    scores : dict of str to float, or None
        Scores against known labels.
    title : str
        Of the page.
    notes : sequence of str
        Warnings of the fit.
    command : str or None
        The shell command that made it.
    """

    model: GraphFusion
    found: Inspection
    fusion_help: FusionHelp | str | None
    scores: Mapping[str, float] | None
    title: str
    notes: Sequence[str]
    command: str | None

    @property
    def labels(self) -> NDArray[np.intp]:
        """The cluster of each sample."""
        assert self.found.labels is not None
        return self.found.labels

    @property
    def clusters(self) -> ClusterConflicts:
        """How each view sees each cluster."""
        assert self.found.clusters is not None
        return self.found.clusters

    @property
    def confidence(self) -> SampleConfidence:
        """How sure each sample is."""
        assert self.found.confidence is not None
        return self.found.confidence

    @cached_property
    def lowest(self) -> Floats:
        """The confidence of each sample: the lowest of the three measures."""
        return self.confidence.lowest

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return len(self.labels)

    @property
    def n_clusters(self) -> int:
        """Number of clusters that have samples."""
        return len(self.clusters.sizes)

    @property
    def selection(self) -> ClusterSelection | None:
        """What the number of clusters was chosen by; None if it was given, or Leiden found it."""
        return self.model.cluster_selection_

    @property
    def number_was(self) -> str:
        """How the number of clusters came about: "asked for", "chosen" or "found"."""
        if resolve_assigner(self.model.params_["assign_labels"]).needs == "graph":
            return "found"
        return "asked for" if self.selection is None else "chosen"

    @property
    def n_views(self) -> int:
        """Number of views."""
        return len(self.found.views.names)

    @cached_property
    def view_names(self) -> list[str]:
        """Names of the views, none too long, no two alike."""
        return distinct(self.found.views.names)

    @cached_property
    def kept(self) -> list[int]:
        """The views that were kept."""
        return np.flatnonzero(self.found.views.kept).tolist()

    @cached_property
    def absences(self) -> dict[int, Absence]:
        """For each view that was left out, why."""
        return find_absences(self.model, self.found)

    @cached_property
    def labels_by_view(self) -> Mapping[str, NDArray[np.intp]]:
        """The clusters of each view alone, if no two views agree; otherwise none."""
        return self.model.labels_by_view() if self.none_agree else {}

    @cached_property
    def none_agree(self) -> bool:
        """Whether no two of the views that were kept agree beyond chance."""
        return self.found.none_agree

    @cached_property
    def misplaced(self) -> Floats:
        """Estimated share of misplaced rows in each view; NaN for one that contradicts all others."""
        shares = self.found.samples.misplaced_shares.copy()
        reasons = ("disagrees", "apart")
        contradicting = [i for i, absence in self.absences.items() if absence.reason in reasons]
        shares[range(len(shares)) if self.none_agree else contradicting] = np.nan
        return shares

    @property
    def descriptions(self) -> DescriptionTable | None:
        """The descriptions that were tried; None if none were, or for a model of an older version."""
        return getattr(self.model, "descriptions_", None)

    @property
    def matched(self) -> Floats | None:
        """The share of matched rows in each view; None if it was not learned."""
        return getattr(self.model, "matched_shares_", None)

    @cached_property
    def distrusts(self) -> bool:
        """Whether some rows counted less than others of their view."""
        return bool((self.model.row_reliability_ < 1).any())

    def name(self, sample: int) -> str:
        """Return the name of a sample, not too long."""
        names = self.found.sample_names
        return clipped(names[sample])

    @cached_property
    def judged(self) -> NDArray[np.intp]:
        """How many rows of each view could be compared with the others."""
        return np.asarray(np.isfinite(self.found.samples.scores).sum(axis=0))

    @cached_property
    def worst_scores(self) -> Floats:
        """The largest score of each sample over the views; NaN if no view's row could be compared."""
        scores = self.found.samples.scores
        worst = np.where(np.isfinite(scores), scores, -1.0).max(axis=1)
        return np.asarray(np.where(worst < 0, np.nan, worst))

    @cached_property
    def map(self) -> SampleMap:
        """The samples that are drawn, and where."""
        flagged = np.asarray(self.found.samples.flagged.any(axis=1))
        return draw_map(self.model, self.clusters.sizes, flagged, self.worst_scores)

    @cached_property
    def bins(self) -> list[Index]:
        """Bins of samples for charts that cannot show each, in the order of the charts."""
        return bin_samples(self.labels, self.clusters.sizes, self.worst_scores)

    def by_cluster(self, values: Floats, quantile: float = 0.5) -> Floats:
        """Return a quantile of values of the samples in each cluster."""
        order = np.argsort(self.labels, kind="stable")
        parts = np.split(values[order], np.cumsum(self.clusters.sizes)[:-1])
        return np.array([np.quantile(part, quantile) if len(part) else np.nan for part in parts])
