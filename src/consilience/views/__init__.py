"""The only door through which data enters.

Everything downstream may rely on what `Views` promises: every view has the same samples in the same order,
holds finite float64 or float32 numbers, and is a C-contiguous array or a canonical CSR matrix.
"""

from .container import Views, as_views
from .tables import ViewTypeError

__all__ = ["ViewTypeError", "Views", "as_views"]
