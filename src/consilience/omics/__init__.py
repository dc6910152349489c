"""AnnData and MuData: views in, and a fit back in the layout of scanpy.

For people who work with cells. Reading them needs nothing but the object itself; `write` needs pandas, which
comes with AnnData: ``pip install 'consilience[h5mu]'``.
"""

from .clustering import cluster
from .representations import views_of
from .writing import write

__all__ = ["cluster", "views_of", "write"]
