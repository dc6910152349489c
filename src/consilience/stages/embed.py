"""Embed: eigenvectors of the graph's normalised Laplacian."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state

from ..engines import Engine, get_engine
from ..engines.results import Spectrum
from ..io.stored import stored
from ..run.handles import HANDLE
from ..run.messages import Advice, Setting, warn

FloatArray = npt.NDArray[np.float64]


@stored()
@dataclass(frozen=True, eq=False)
class SpectralEmbedding:
    """Eigenvectors of the normalised Laplacian for its smallest eigenvalues.

    Attributes
    ----------
    vectors : ndarray of shape (n, n_components)
        Orthonormal columns. Rows of samples that are isolated, or in a component too small to be
        represented, are 0. If fewer samples than components have an edge, the last columns are 0. Signs are
        fixed: the first of a vector's largest entries (to 1e-6) is positive.
    eigenvalues, residuals : ndarray of shape (n_components,)
        Ascending eigenvalues, and ``||L v - lambda v||`` of each; NaN for a column of zeros.
    n_connected, n_isolated : int
        Number of connected components (isolated samples not counted) and of isolated samples.
    """

    vectors: Any = field(repr=False, metadata=HANDLE)
    eigenvalues: FloatArray
    residuals: FloatArray
    n_connected: int
    n_isolated: int

    def first(self, n_components: int, engine: Engine) -> SpectralEmbedding:
        """Return the same with the first components only."""
        return replace(
            self,
            vectors=engine.first_columns(self.vectors, n_components),
            eigenvalues=self.eigenvalues[:n_components],
            residuals=self.residuals[:n_components],
        )


def embed(
    graph: Any,
    n_components: int,
    random_state: np.random.RandomState,
    *,
    engine: Engine,
    tol: float | None = None,
    warn_disconnected: bool = True,
) -> SpectralEmbedding:
    """Embed a graph that an engine holds; the vectors are a handle of it.

    Parameters
    ----------
    graph : graph
        Symmetric, non-negative weights.
    n_components : int
        Number of eigenvectors.
    random_state : RandomState
        Draws the start vectors.
    engine : Engine
        The engine that solves.
    tol, warn_disconnected
        As in `spectral_embedding`.
    """
    seed = random_state.randint(np.iinfo(np.int32).max)
    found = engine.leading_vectors(graph, n_components, tol, seed)
    if warn_disconnected:
        _warn_if_disconnected(found, n_components)
    return SpectralEmbedding(
        found.vectors, found.eigenvalues, found.residuals, found.n_connected, found.n_isolated
    )


def spectral_embedding(
    graph: Any,
    n_components: int,
    *,
    tol: float | None = None,
    warn_disconnected: bool = True,
    random_state: Any = None,
    engine: Any = "numba",
) -> SpectralEmbedding:
    r"""Return eigenvectors of :math:`L_{sym}` for its `n_components` smallest eigenvalues.

    Parameters
    ----------
    graph : sparse array or matrix of shape (n, n)
        Symmetric, non-negative weights.
    n_components : int
        Number of eigenvectors, from 1 to n. With more connected components than this, the largest
        components are represented and the other samples have rows of zeros.
    tol : float, optional
        Largest residual norm accepted, so also the largest error of an eigenvalue; not below 1e-12. By
        default 1e-9 up to 20,000 samples, and 1e-5 for more: there a block method in single precision solves
        (in double precision for a `tol` below 1e-6, at twice the cost), and asks for smaller residuals by
        itself where eigenvalues are close.
    warn_disconnected : bool, default=True
        Whether to warn about a graph that is not connected.
    random_state : int, RandomState or None
        Draws the start vectors. It matters only where the eigenvectors are not unique.
    engine : str or Engine, default="numba"
        The engine that computes.

    Returns
    -------
    SpectralEmbedding

    Raises
    ------
    ValueError
        For a bad graph or number of components.
    EigensolverError
        If no method reaches `tol`.

    Warns
    -----
    UserWarning
        If samples are isolated or the graph has several components.

    Examples
    --------
    >>> import numpy as np
    >>> path = np.diag([1.0, 1.0], 1) + np.diag([1.0, 1.0], -1)
    >>> spectral_embedding(path, 2).eigenvalues.round(6)
    array([0., 1.])
    """
    engine = get_engine(engine)
    given = graph if hasattr(graph, "shape") else np.asarray(graph)
    check_count_of("n_components", n_components, given.shape[0])
    with engine.limit(None):
        found = embed(
            engine.adopt(given),
            n_components,
            check_random_state(random_state),
            engine=engine,
            tol=tol,
            warn_disconnected=warn_disconnected,
        )
        return replace(found, vectors=engine.fetch(found.vectors))


def check_count_of(name: str, value: Any, n_samples: int) -> None:
    """Raise a ValueError unless this is an integer from 1 to the number of samples."""
    if isinstance(value, bool) or not isinstance(value, Integral) or not 1 <= int(value) <= n_samples:
        raise ValueError(
            f"{name} must be an integer from 1 to the number of samples, {n_samples}; got {value!r}."
        )


def _warn_if_disconnected(found: Spectrum, n_components: int) -> None:
    """Say once what the embedding of a disconnected graph leaves out, and what to do about it."""
    facts = []
    if found.n_connected > n_components:
        facts.append(
            f"has {found.n_connected} connected components, of which the {n_components} largest are "
            f"represented: {found.n_dropped} samples of the others only go to the nearest cluster"
        )
    elif found.n_connected > 1:
        facts.append(f"has {found.n_connected} connected components")
    if found.n_isolated:
        facts.append(f"has {found.n_isolated} isolated samples, which only go to the nearest cluster")
    if facts:
        too_many = found.n_connected > n_components or found.n_isolated
        why = " to connect it." if too_many else " if that is unexpected."
        warn(Advice(f"The graph {' and '.join(facts)}. Raise ", Setting("n_neighbors"), why))
