"""The smallest eigenvectors of a normalised Laplacian.

The eigenvectors of eigenvalue 0 are known from the connected components; only the rest is solved for, by
ARPACK, many times faster on neighbour graphs than dense or block solvers. As a single-vector method it can
miss copies of a multiple eigenvalue without a sign, so every answer is searched once more with what was found
taken out, and corrected until nothing smaller remains. Long thin graphs, on which ARPACK stalls, are solved
with a sparse factorisation; the rest densely if it is small. An answer that fails its checks is an error.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import linalg, sparse
from scipy.sparse.csgraph import reverse_cuthill_mckee
from scipy.sparse.linalg import LinearOperator, eigsh, splu

from .laplacian import NormalizedLaplacian

FloatArray = npt.NDArray[np.float64]

_DENSE_FIRST, _DENSE_AT_ALL = 300, 5000  # samples up to which a dense solve is the fastest, or bearable
_SHIFT = 1e-6  # keeps the factorised Laplacian positive definite
_MAX_ENVELOPE = 30_000_000  # entries that a factorisation may fill: 240 MB
_MAX_PASSES = 10  # searches for missed copies before another method is tried
# Older SciPy draws new directions, when ARPACK has exhausted a Krylov space, from a generator of its own.
_TAKES_RNG = "rng" in inspect.signature(eigsh).parameters


class EigensolverError(np.linalg.LinAlgError):
    """No method found the eigenvectors to the wanted accuracy."""


def smallest_eigenvectors(
    laplacian: NormalizedLaplacian,
    n_vectors: int,
    *,
    components: npt.ArrayLike | None = None,
    tol: float = 1e-9,
    rng: np.random.Generator | None = None,
) -> FloatArray:
    """Return orthonormal eigenvectors for the smallest eigenvalues, in ascending order.

    Parameters
    ----------
    laplacian : NormalizedLaplacian
        The operator.
    n_vectors : int
        How many. There are never more than samples that are not isolated.
    components : array-like of int, optional
        The components whose eigenvectors of eigenvalue 0 come first; all by default. Leave some out only if
        those kept already make up `n_vectors`.
    tol : float, default=1e-9
        Largest residual norm accepted, so also the largest error of an eigenvalue; not below 1e-12.
    rng : Generator, optional
        Draws the start vectors; seeded with 0 by default.

    Raises
    ------
    EigensolverError
        If no method reaches `tol`.

    Examples
    --------
    >>> laplacian = NormalizedLaplacian([[0, 1], [1, 0]])
    >>> smallest_eigenvectors(laplacian, 1).round(3)
    array([[0.707],
           [0.707]])
    """
    if not tol > 0:
        raise ValueError(f"tol must be positive, got {tol!r}.")
    null = laplacian.null_space(components)[:, :n_vectors]
    part = np.flatnonzero(~laplacian.isolated)
    n_wanted = min(int(n_vectors), len(part)) - null.shape[1]
    if n_wanted <= 0:
        return null
    adjacency = (
        sparse.csr_array(laplacian.adjacency[part][:, part]) if laplacian.n_isolated else laplacian.adjacency
    )
    problem = _Problem(adjacency, null[part], n_wanted, max(float(tol), 1e-12))
    rest = np.zeros((laplacian.shape[0], n_wanted))
    rest[part] = _solve(problem, np.random.default_rng(0) if rng is None else rng)
    return np.hstack([null, rest])


@dataclass(frozen=True)
class _Problem:
    """Find the largest eigenvalues of `adjacency` beside the known eigenvectors `null` of eigenvalue 1."""

    adjacency: sparse.csr_array
    null: FloatArray
    n_wanted: int
    tol: float


@dataclass(frozen=True)
class _Operator:
    """A positive definite, increasing function of the adjacency, and what it makes of an eigenvalue."""

    apply: Callable[[FloatArray], FloatArray]
    value: Callable[[FloatArray], FloatArray]


def _solve(problem: _Problem, rng: np.random.Generator) -> FloatArray:
    """Return the wanted eigenvectors by the first method whose result stands its checks."""
    best = np.inf
    for method in _methods(problem, rng):
        try:
            _, vectors, residual = _ritz(problem, method())
        except (RuntimeError, np.linalg.LinAlgError, MemoryError):  # of ARPACK, SuperLU and ours
            continue
        best = min(best, residual)
        if residual <= problem.tol:
            return vectors
    raise EigensolverError(
        f"No eigen-solver found {problem.n_wanted} eigenvectors of a graph of {problem.adjacency.shape[0]} "
        f"samples to residuals of {problem.tol:g} (best: {best:g}). Raise n_neighbors or tol."
    )


def _methods(problem: _Problem, rng: np.random.Generator) -> Iterator[Callable[[], FloatArray]]:
    """Yield the methods in the order to try them, the costly ones only where they can be afforded."""
    n, k = problem.adjacency.shape[0], problem.n_wanted
    if n <= _DENSE_FIRST or (10 * k >= n and n <= _DENSE_AT_ALL) or 3 * k >= n:
        yield lambda: _dense(problem)
        return
    width = max(2 * k + 1, 40)
    yield lambda: _krylov(problem, _direct(problem), width, 100, rng)
    if _envelope(problem.adjacency) <= _MAX_ENVELOPE:
        yield lambda: _krylov(problem, _inverse(problem), width, 100, rng)
    if n <= _DENSE_AT_ALL:
        yield lambda: _dense(problem)
    yield lambda: _krylov(problem, _direct(problem), min(n, 4 * width), 1000, rng)


def _direct(problem: _Problem) -> _Operator:
    # 2 I makes the spectrum [1, 3]: ARPACK's relative tolerance then means the same for every eigenvalue.
    return _Operator(lambda x: problem.adjacency @ x + 2.0 * x, lambda theta: theta + 2.0)


def _inverse(problem: _Problem) -> _Operator:
    n = problem.adjacency.shape[0]
    shifted = sparse.csc_array(sparse.diags(np.full(n, 1.0 + _SHIFT)) - problem.adjacency)
    # Positive definite, so that no pivoting is needed and a symmetric order can keep the fill low.
    factors = splu(shifted, "MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    return _Operator(factors.solve, lambda theta: 1.0 / (1.0 + _SHIFT - theta))


def _envelope(adjacency: sparse.csr_array) -> int:
    """Bound the entries of a Cholesky factor: small for long thin graphs, about n^2 / 3 for random ones."""
    rank = np.argsort(reverse_cuthill_mckee(adjacency, symmetric_mode=True))
    back = np.maximum.reduceat(
        np.repeat(rank, np.diff(adjacency.indptr)) - rank[adjacency.indices], adjacency.indptr[:-1]
    )
    return int(np.maximum(back, 0).sum(dtype=np.int64))


def _dense(problem: _Problem) -> FloatArray:
    n = problem.adjacency.shape[0]
    matrix = problem.adjacency.toarray() - 3.0 * (problem.null @ problem.null.T)  # known vectors go to -2
    return np.asarray(linalg.eigh(matrix, subset_by_index=(n - problem.n_wanted, n - 1), overwrite_a=True)[1])


def _krylov(
    problem: _Problem, operator: _Operator, width: int, n_restarts: int, rng: np.random.Generator
) -> FloatArray:
    """Solve by ARPACK, and search again for what it missed until there is nothing."""

    def top(known: FloatArray, theta: FloatArray, k: int, tol: float) -> FloatArray:
        return _arpack(operator, known, operator.value(theta), k, (width, n_restarts, tol), rng)

    ones = np.ones(problem.null.shape[1])
    theta, vectors, _ = _ritz(problem, top(problem.null, ones, problem.n_wanted, problem.tol / 10))
    for _ in range(_MAX_PASSES):
        known, values = np.hstack([problem.null, vectors]), np.append(ones, theta)
        # A rough search settles most cases: only an eigenvalue near the last one found needs a fine one.
        for tol in (1e-5, problem.tol / 10):
            rival = _ritz(problem, top(known, values, 1, tol))[0][0]
            if rival + 10 * tol <= theta[-1]:
                return vectors
            if rival > theta[-1] + problem.tol:  # a Rayleigh quotient: at least one copy was missed
                break
        else:
            return vectors
        more = top(known, values, problem.n_wanted, problem.tol / 10)
        theta, vectors, _ = _ritz(problem, np.hstack([vectors, more]))
    raise np.linalg.LinAlgError("Copies of a multiple eigenvalue are still missing.")


def _arpack(
    operator: _Operator,
    known: FloatArray,
    values: FloatArray,
    k: int,
    effort: tuple[int, int, float],
    rng: np.random.Generator,
) -> FloatArray:
    """Return the k leading eigenvectors of an operator, the known ones moved to eigenvalue 0."""
    n = len(known)
    start = rng.uniform(-1.0, 1.0, n)
    start -= known @ (known.T @ start)
    width, n_restarts, tol = effort
    extra: dict[str, Any] = {"rng": rng} if _TAKES_RNG else {}
    deflated = LinearOperator(
        (n, n), matvec=lambda x: operator.apply(x) - known @ (values * (known.T @ x)), dtype=np.float64
    )
    width = min(n, width if k > 1 else min(width, 160))
    return np.asarray(
        eigsh(deflated, k, which="LA", v0=start, ncv=width, maxiter=n_restarts, tol=tol, **extra)[1]
    )


def _ritz(problem: _Problem, basis: FloatArray) -> tuple[FloatArray, FloatArray, float]:
    """Return the best eigenvalues and vectors in the span of a basis, and their largest residual norm."""
    basis = np.asarray(linalg.qr(basis - problem.null @ (problem.null.T @ basis), mode="economic")[0])
    image = problem.adjacency @ basis
    theta, rotation = linalg.eigh(basis.T @ image)
    theta, rotation = theta[::-1][: problem.n_wanted], rotation[:, ::-1][:, : problem.n_wanted]
    vectors = basis @ rotation
    residual = np.linalg.norm(image @ rotation - vectors * theta, axis=0).max()
    return theta, vectors, float(residual)
