"""Pictures of what the functions of `consilience.inspection` return.

Each takes such data, never a model, and returns Matplotlib Axes: those given as `ax`, in your style, or those
of a new figure in a light style of ours. Nothing is shown or written; for that there are ``plt.show()`` and
``ax.figure.savefig(...)``. Colours can be distinguished with any colour vision. Matplotlib is needed only
when something is drawn: ``pip install 'consilience[plot]'``.
"""

from .bars import plot_contributions, plot_fusion_help
from .curves import plot_convergence, plot_eigengap, plot_sensitivity
from .maps import plot_affinity, plot_agreement, plot_cluster_conflicts, plot_sample_conflicts
from .points import plot_confidence, plot_embedding
from .selection import plot_cluster_selection

__all__ = [
    "plot_affinity",
    "plot_agreement",
    "plot_cluster_conflicts",
    "plot_cluster_selection",
    "plot_confidence",
    "plot_contributions",
    "plot_convergence",
    "plot_eigengap",
    "plot_embedding",
    "plot_fusion_help",
    "plot_sample_conflicts",
    "plot_sensitivity",
]
