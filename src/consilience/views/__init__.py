"""Reading and checking data: all data enter the library through this package.

Everything downstream may rely on what `Views` promises: every view has the same samples in the same order, is
a C-contiguous array or a canonical CSR matrix of float64 or float32 numbers, none of them infinite, and zero
where its mask says that a sample was not seen. Empty cells are NaN: code that does not accept them calls
`check_cells`. Features that came as an array on a GPU stay there, as a `DeviceArray` among the
`resident_arrays`, of which the same holds.
"""

from .container import Views, as_views
from .device_arrays import DeviceArray, in_memory
from .encoding import Encoding
from .graphs import GraphView, graph_view
from .multiplex import multiplex
from .per_view import PerView
from .tables import ViewTypeError

__all__ = [
    "DeviceArray",
    "Encoding",
    "GraphView",
    "PerView",
    "ViewTypeError",
    "Views",
    "as_views",
    "graph_view",
    "in_memory",
    "multiplex",
]
