"""The main part of the paper: the model, its solver, and fusion of given graphs."""

from .alternation import RoundInfo, Schedule, fuse_new_edges, learn_consistent_graph
from .edge_fusion import AverageFusion, ConsistentFusion, EdgeFusion, Fused, Learned
from .functional import consistent_graph, fuse_graphs
from .problem import FusionProblem, objective, pose
from .result import FusionResult
from .simplex import minimize_on_simplex, project_to_simplex

__all__ = [
    "AverageFusion",
    "ConsistentFusion",
    "EdgeFusion",
    "Fused",
    "FusionProblem",
    "FusionResult",
    "Learned",
    "RoundInfo",
    "Schedule",
    "consistent_graph",
    "fuse_graphs",
    "fuse_new_edges",
    "learn_consistent_graph",
    "minimize_on_simplex",
    "objective",
    "pose",
    "project_to_simplex",
]
