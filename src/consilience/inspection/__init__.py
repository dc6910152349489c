"""Where the views agree, where they do not, and whether fusing them helped.

Functions that return data, from a fitted model or a `FusionResult`; `plots` draws the same data with
Matplotlib, and `report` writes it as one page.
"""

from .clusters import ClusterConflicts, cluster_conflicts
from .confidence import SampleConfidence, sample_confidence
from .contributions import SampleContributions, sample_contributions
from .convergence import Convergence, convergence
from .fusion_help import FusionHelp, does_fusion_help
from .health import GraphHealth, graph_health
from .overview import Inspection, inspect
from .pairs import PairConflicts, conflicting_pairs
from .samples import SampleConflicts, sample_conflicts
from .sensitivity import Sensitivity, sensitivity
from .views import AgreementMatrix, ViewSummary, agreement_matrix, view_summary

__all__ = [
    "AgreementMatrix",
    "ClusterConflicts",
    "Convergence",
    "FusionHelp",
    "GraphHealth",
    "Inspection",
    "PairConflicts",
    "SampleConfidence",
    "SampleConflicts",
    "SampleContributions",
    "Sensitivity",
    "ViewSummary",
    "agreement_matrix",
    "cluster_conflicts",
    "conflicting_pairs",
    "convergence",
    "does_fusion_help",
    "graph_health",
    "inspect",
    "sample_confidence",
    "sample_conflicts",
    "sample_contributions",
    "sensitivity",
    "view_summary",
]
