"""The stages of a fit, one module each, and the table of them."""

from .agree import ViewSelection, Weighting, agree
from .connect import SharedEdges, connect
from .describe import Description, DescriptionTable, describe, redescribe
from .embed import SpectralEmbedding, embed, spectral_embedding
from .fuse import fuse
from .label import (
    ClusterQRLabels,
    KMeansLabels,
    LabelAssigner,
    LeidenLabels,
    assign_cluster_qr,
    assign_kmeans,
    canonical_labels,
    label,
    spectral_clustering,
)
from .prepare import PreparedViews, prepare
from .search import nearest_neighbors, search
from .select import ClusterSelection, select, select_n_clusters
from .sparsify import UnifiedGraph, sparsify
from .table import STAGES, Stage
from .trust import trust
from .weigh import EdgeWeights, weigh

__all__ = [
    "STAGES",
    "ClusterQRLabels",
    "ClusterSelection",
    "Description",
    "DescriptionTable",
    "EdgeWeights",
    "KMeansLabels",
    "LabelAssigner",
    "LeidenLabels",
    "PreparedViews",
    "SharedEdges",
    "SpectralEmbedding",
    "Stage",
    "UnifiedGraph",
    "ViewSelection",
    "Weighting",
    "agree",
    "assign_cluster_qr",
    "assign_kmeans",
    "canonical_labels",
    "connect",
    "describe",
    "embed",
    "fuse",
    "label",
    "nearest_neighbors",
    "prepare",
    "redescribe",
    "search",
    "select",
    "select_n_clusters",
    "sparsify",
    "spectral_clustering",
    "spectral_embedding",
    "trust",
    "weigh",
]
