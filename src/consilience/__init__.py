"""Learn one graph from many views of the same samples, and see where the views disagree.

>>> from consilience import DistanceGraphFusion, load_digits_views
>>> views, y = load_digits_views(return_X_y=True)
>>> model = DistanceGraphFusion(n_clusters=10, random_state=0).fit(views)
>>> model.labels_.shape, model.view_contributions_.shape
((1797,), (6,))
"""

from importlib.metadata import version as _version

from .comparison import compare
from .datasets import ampute, load_digits_views, make_multiview
from .fusion import FusionResult, consistent_graph, fuse_graphs
from .graphs import EdgeSet
from .models import PAPER, DistanceGraphFusion, SimilarityGraphFusion
from .models.preparation import prepare_views
from .models.saving import load
from .run.config import config_context, get_config, set_config
from .stages.label import ClusterQRLabels, KMeansLabels, LeidenLabels
from .stages.memory import memory_estimate
from .stages.sizes import MemoryEstimate
from .views import GraphView, PerView, Views, graph_view, multiplex

__version__ = _version("consilience")

__all__ = [
    "PAPER",
    "ClusterQRLabels",
    "DistanceGraphFusion",
    "EdgeSet",
    "FusionResult",
    "GraphView",
    "KMeansLabels",
    "LeidenLabels",
    "MemoryEstimate",
    "PerView",
    "SimilarityGraphFusion",
    "Views",
    "__version__",
    "ampute",
    "compare",
    "config_context",
    "consistent_graph",
    "fuse_graphs",
    "get_config",
    "graph_view",
    "load",
    "load_digits_views",
    "make_multiview",
    "memory_estimate",
    "multiplex",
    "prepare_views",
    "set_config",
]
