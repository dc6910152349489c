"""AnnData and MuData: reading views, and writing a fit back in the layout of scanpy.

For people who work with cells. Reading needs only the object itself; `write` needs pandas, which comes with
AnnData: ``pip install 'consilience[h5mu]'``.
"""

from .clustering import cluster
from .representations import views_of
from .writing import write

__all__ = ["cluster", "views_of", "write"]
