"""Back ends: who does the passes over the edges.

A back end is a module with these functions and nothing else that others may rely on:

``load(weights, view_weights, seen, trust, dtype) -> State``
    Take the edge weights (v, n_edges), scaled, 0 where unseen; set E = 0. On edge e view i counts
    ``view_weights[i]`` times ``trust[i, e]``. With `trust` None that is 1 where seen, and with `seen` None
    every view has seen every edge; a `trust` that is given is 0 exactly where unseen.
``start(state, scales) -> Sums``
    Set the fused vector to its closed form, E being 0.
``dca_round(state, scales, beta, gamma, steps) -> Sums``
    Fused vector from these scales and the current A, then `steps` DCA steps on A.
``exact_round(state, scales, beta, gamma) -> Sums``
    Fused vector from these scales and the current A, then the exact minimiser over A; the `Sums` have
    their `consistent_gram`.
``fuse(state, scales) -> None``
    Only the fused vector.
``collect(state) -> (inconsistent, fused)``
    The arrays, as NumPy: (v, n_edges) and (n_edges,).

`numpy` is the readable one, and the oracle for the others; `numba` is the default. A new back end is a
new module and a line in `_BACKENDS`; ``tests/backends`` runs over all of them.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from .sums import Sums

__all__ = ["Sums", "backend_names", "get_backend"]

_BACKENDS = {"numpy": ".edges_numpy", "numba": ".edges_numba"}


def backend_names() -> tuple[str, ...]:
    """Return the names that `get_backend` knows."""
    return tuple(_BACKENDS)


def get_backend(name: str) -> Any:
    """Return the back-end module of this name.

    Examples
    --------
    >>> get_backend("numpy").__name__
    'consilience.backends.edges_numpy'
    """
    if not isinstance(name, str) or name not in _BACKENDS:
        raise ValueError(f"Unknown backend {name!r}; known back ends: {', '.join(map(repr, _BACKENDS))}.")
    return import_module(_BACKENDS[name], __package__)
