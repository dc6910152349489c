"""The smallest eigenvectors of a graph's Laplacian, normalised or not, and the largest of a sparse matrix.

A Laplacian's eigenvectors of eigenvalue 0 are known from the connected components; only the rest is solved
for, by ARPACK, many times faster on small neighbour graphs than dense or block solvers. As a single-vector
method it can miss copies of a multiple eigenvalue without reporting it. So after every answer it searches
once more, with the eigenvectors found before removed, and corrects the answer until nothing smaller remains.
Long thin graphs, on which ARPACK makes no progress, are solved with a sparse factorisation; the rest densely
if it is small. An answer that fails its checks is an error.

An engine may have a block method for the normalised Laplacians of many samples, to a residual that is small
enough for clustering.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from scipy import linalg, sparse
from scipy.sparse.csgraph import connected_components, reverse_cuthill_mckee
from scipy.sparse.linalg import LinearOperator, eigsh, splu

from .laplacian import NormalizedLaplacian

FloatArray = npt.NDArray[np.float64]

LARGE = 20_000  # samples: from about here on block methods are faster (see `docs/guide/scale.md`)
_TIGHT, _LOOSE = 1e-9, 1e-5  # tolerances up to `LARGE` samples, and of a block method beyond
_PATIENCE, _MAX_PRODUCTS = 400, 20_000  # products with a block: before a thin graph is suspected, and in all
_DENSE_FIRST, _DENSE_AT_ALL = 300, 5000  # samples up to which a dense solve is the fastest, or still possible
_SHIFT = 1e-6  # keeps the factorised Laplacian positive definite
_MAX_ENVELOPE = 30_000_000  # entries that a factorisation may fill: 240 MB
_MAX_PASSES = 10  # searches for missed copies before another method is tried
# Older SciPy draws new directions, when ARPACK has exhausted a Krylov space, from a generator of its own.
_TAKES_RNG = "rng" in inspect.signature(eigsh).parameters


class BlockMethod(Protocol):
    """A block method, which can be stopped and continued."""

    def run(self, max_products: int) -> bool:
        """Iterate to the tolerance, but at most this number of products; say whether it was reached."""

    def found(self) -> Any:
        """Return eigenvalues, vectors and residuals in their present state."""


StartBlock = Callable[[sparse.csr_array, "FloatArray", int, float, np.random.Generator], BlockMethod]
"""Starts a block method: matrix, known vectors of its largest eigenvalue, number wanted, tolerance, rng."""


class EigensolverError(np.linalg.LinAlgError):
    """No method found the eigenvectors to the wanted accuracy."""


def smallest_eigenvectors(
    laplacian: NormalizedLaplacian,
    n_vectors: int,
    *,
    components: npt.ArrayLike | None = None,
    tol: float | None = None,
    rng: np.random.Generator | None = None,
    start_block: StartBlock | None = None,
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
    tol : float, optional
        Largest residual norm accepted, so also the largest error of an eigenvalue; not below 1e-12. By
        default 1e-9, and 1e-5 where a block method solves.
    rng : Generator, optional
        Draws the start vectors; seeded with 0 by default.
    start_block : callable, optional
        Starts the method for more than `LARGE` samples; without it these are solved like others.

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
    if tol is not None and not tol > 0:
        raise ValueError(f"tol must be positive, got {tol!r}.")
    null = laplacian.null_space(components)[:, :n_vectors]
    part = slice(None) if laplacian.n_isolated == 0 else np.flatnonzero(~laplacian.isolated)
    n = laplacian.shape[0] - laplacian.n_isolated
    n_wanted = min(int(n_vectors), n) - null.shape[1]
    if n_wanted <= 0:
        return null
    adjacency = laplacian.adjacency
    if laplacian.n_isolated:
        adjacency = sparse.csr_array(adjacency[part][:, part])
    large = start_block is not None and n > LARGE and 10 * n_wanted < n
    problem = _Problem(adjacency, null[part], n_wanted, (_LOOSE if large else _TIGHT) if tol is None else tol)
    rng = np.random.default_rng(0) if rng is None else rng
    rest = (_solve_large(problem, rng, start_block) if large else _solve(problem, rng))[1]
    vectors = np.zeros((laplacian.shape[0], null.shape[1] + n_wanted))
    vectors[:, : null.shape[1]] = null
    vectors[part, null.shape[1] :] = rest
    return vectors


@dataclass(frozen=True, eq=False)
class Eigenpairs:
    """Eigenvalues (m,) and orthonormal eigenvectors (n, m), in the same order."""

    values: FloatArray
    vectors: FloatArray


def smallest_of_plain_laplacian(
    graph: sparse.csr_array, n_vectors: int, *, tol: float = 1e-11, rng: np.random.Generator | None = None
) -> Eigenpairs:
    r"""Return the smallest eigenpairs of :math:`L = D - S`, the Laplacian that is not normalised.

    Parameters
    ----------
    graph : csr_array of shape (n, n)
        Exactly symmetric, not negative. A sample without edges is a component of its own here.
    n_vectors : int
        How many, from 1 to n. Of more components than this, the first in the order of samples are taken.
    tol : float, default=1e-11
        Largest residual norm accepted, relative to the largest degree.
    rng : Generator, optional
        Draws the start vectors; seeded with 0 by default.

    Returns
    -------
    Eigenpairs
        Ascending. Eigenvalues that the components make 0 are exactly that.

    Raises
    ------
    EigensolverError
        If no method reaches `tol`.

    Examples
    --------
    >>> from scipy import sparse
    >>> pair_and_single = sparse.csr_array([[0.0, 2.0, 0.0], [2.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    >>> smallest_of_plain_laplacian(pair_and_single, 3).values
    array([0., 0., 4.])
    """
    n = graph.shape[0]
    n_components, component = connected_components(graph, directed=False)
    null = np.zeros((n, min(n_components, n_vectors)))
    rows = np.flatnonzero(component < n_vectors)
    null[rows, component[rows]] = 1.0
    null /= np.sqrt(null.sum(axis=0))
    n_wanted = n_vectors - null.shape[1]
    degrees = np.asarray(graph.sum(axis=1), dtype=np.float64).ravel()
    largest = degrees.max(initial=0.0)
    if n_wanted == 0 or largest == 0:
        return Eigenpairs(np.zeros(null.shape[1]), null)
    negative = sparse.csr_array((graph - sparse.diags(degrees)) / largest)
    problem = _Problem(negative, null, n_wanted, tol, top=0.0, bottom=-2.0)
    theta, vectors = _solve(problem, np.random.default_rng(0) if rng is None else rng)
    values = np.append(np.zeros(null.shape[1]), np.maximum(-theta, 0.0) * largest)
    return Eigenpairs(values, np.hstack([null, vectors]))


def largest_of_matrix(
    matrix: sparse.csr_array,
    n_vectors: int,
    *,
    factor: FloatArray | None = None,
    tol: float = 1e-9,
    rng: np.random.Generator | None = None,
) -> Eigenpairs:
    """Return the largest eigenpairs of a symmetric matrix M, or of M + F F', never formed.

    Parameters
    ----------
    matrix : csr_array of shape (n, n)
        M: exactly symmetric, all its eigenvalues in [-1, 1].
    n_vectors : int
        How many, from 1 to n.
    factor : ndarray of shape (n, few), default=None
        F, if there is one.
    tol : float, default=1e-9
        Largest residual norm accepted, as a part of ``1 + ||F||^2``.
    rng : Generator, optional
        Draws the start vectors; seeded with 0 by default.

    Returns
    -------
    Eigenpairs
        Descending.

    Raises
    ------
    EigensolverError
        If no method reaches `tol`.

    Examples
    --------
    >>> from scipy import sparse
    >>> largest_of_matrix(sparse.csr_array([[0.0, 0.5], [0.5, 0.0]]), 2).values.round(6)
    array([ 0.5, -0.5])
    """
    n = matrix.shape[0]
    factor = np.zeros((n, 0)) if factor is None else factor
    # All eigenvalues in [-1, 1]: the tolerance is a part of the largest.
    size = 1.0 + (float(np.linalg.norm(factor, 2)) ** 2 if factor.size else 0.0)
    scaled = sparse.csr_array(matrix / size)
    problem = _Problem(scaled, np.zeros((n, 0)), n_vectors, tol, factor=factor / np.sqrt(size))
    theta, vectors = _solve(problem, np.random.default_rng(0) if rng is None else rng)
    return Eigenpairs(theta * size, vectors)


@dataclass(frozen=True)
class _Problem:
    """Find the largest eigenvalues of M (+ F F') except `top`, whose eigenvectors `null` are known.

    All eigenvalues are in [bottom, top].
    """

    matrix: sparse.csr_array
    null: FloatArray
    n_wanted: int
    tol: float
    top: float = 1.0
    bottom: float = -1.0
    factor: FloatArray | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "tol", max(float(self.tol), 1e-12))

    def apply(self, x: FloatArray) -> FloatArray:
        """Return (M + F F') x."""
        image = self.matrix @ x
        return image if self.factor is None else image + self.factor @ (self.factor.T @ x)

    def toarray(self) -> FloatArray:
        """Return the matrix, dense."""
        dense = self.matrix.toarray()
        return np.asarray(dense if self.factor is None else dense + self.factor @ self.factor.T)


@dataclass(frozen=True)
class _Operator:
    """A positive definite, increasing function of the matrix, and the same function of an eigenvalue."""

    apply: Callable[[FloatArray], FloatArray]
    value: Callable[[FloatArray], FloatArray]


def _solve(problem: _Problem, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Return the wanted eigenvalues, descending, and vectors by the first method that passes its checks."""
    return _try(problem, _methods(problem, rng))


def _try(problem: _Problem, methods: Iterable[Callable[[], FloatArray]]) -> tuple[FloatArray, FloatArray]:
    best = np.inf
    for method in methods:
        try:
            theta, vectors, residual = _ritz(problem, method())
        except (RuntimeError, np.linalg.LinAlgError, MemoryError):  # of ARPACK, SuperLU and ours
            continue
        best = min(best, residual)
        if residual <= problem.tol:
            return theta, vectors
    raise _failure(problem, best)


def _failure(problem: _Problem, best: float) -> EigensolverError:
    return EigensolverError(
        f"No eigen-solver found {problem.n_wanted} eigenvectors of a graph of {problem.matrix.shape[0]} "
        f"samples to residuals of {problem.tol:g} (best: {best:g}). Raise n_neighbors or tol."
    )


def _solve_large(
    problem: _Problem, rng: np.random.Generator, start_block: Any
) -> tuple[FloatArray, FloatArray]:
    """Return the wanted eigenvalues, descending, and vectors by a block method, or those of a thin graph."""
    iteration: BlockMethod = start_block(problem.matrix, problem.null, problem.n_wanted, problem.tol, rng)
    if not iteration.run(_PATIENCE):
        if _envelope(problem.matrix) <= _MAX_ENVELOPE:
            with suppress(EigensolverError):
                return _solve_thin(problem, rng)
        iteration.run(_MAX_PRODUCTS)
    found = iteration.found()
    if not found.residuals.max() <= problem.tol:
        raise _failure(problem, float(found.residuals.max()))
    return found.values, found.vectors


def _solve_thin(problem: _Problem, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Return the wanted eigenvalues, descending, and vectors of a matrix that can be factorised."""
    # Eigenvalues of long thin graphs are so close that the residual must be much smaller.
    problem = replace(problem, tol=min(problem.tol, _TIGHT))
    width = max(2 * problem.n_wanted + 1, 40)
    return _try(problem, [lambda: _krylov(problem, _inverse(problem), width, 100, rng)])


def _methods(problem: _Problem, rng: np.random.Generator) -> Iterator[Callable[[], FloatArray]]:
    """Yield the methods in the order to try them, the expensive ones only where they are possible."""
    n, k = problem.matrix.shape[0], problem.n_wanted
    if n <= _DENSE_FIRST or (10 * k >= n and n <= _DENSE_AT_ALL) or 3 * k >= n:
        yield lambda: _dense(problem)
        yield lambda: _dense(problem, whole=True)
        return
    width = max(2 * k + 1, 40)
    yield lambda: _krylov(problem, _direct(problem), width, 100, rng)
    if _envelope(problem.matrix) <= _MAX_ENVELOPE:
        yield lambda: _krylov(problem, _inverse(problem), width, 100, rng)
    if n <= _DENSE_AT_ALL:
        yield lambda: _dense(problem)
    yield lambda: _krylov(problem, _direct(problem), min(n, 4 * width), 1000, rng)


def _direct(problem: _Problem) -> _Operator:
    # A spectrum like [1, 3]: then ARPACK's relative tolerance means the same for every eigenvalue.
    shift = (problem.top - problem.bottom) / 2 - problem.bottom
    return _Operator(lambda x: problem.apply(x) + shift * x, lambda theta: theta + shift)


def _inverse(problem: _Problem) -> _Operator:
    n, above = problem.matrix.shape[0], problem.top + _SHIFT
    shifted = sparse.csc_array(sparse.diags(np.full(n, above)) - problem.matrix)
    # Positive definite, so that no pivoting is needed and a symmetric order can keep the fill low.
    factors = splu(shifted, "MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    solve = factors.solve if problem.factor is None else _woodbury(factors.solve, problem.factor)
    return _Operator(solve, lambda theta: 1.0 / (above - theta))


def _woodbury(
    solve: Callable[[FloatArray], FloatArray], factor: FloatArray
) -> Callable[[FloatArray], FloatArray]:
    """Return a function that solves with A - F F', from one that solves with A."""
    image = solve(factor)
    core = linalg.lu_factor(np.eye(factor.shape[1]) - factor.T @ image)
    return lambda x: solve(x) + image @ linalg.lu_solve(core, image.T @ x)


def _envelope(matrix: sparse.csr_array) -> int:
    """Bound the entries of a Cholesky factor: small for long thin graphs, about n^2 / 3 for random ones."""
    rank = np.argsort(reverse_cuthill_mckee(matrix, symmetric_mode=True))
    length = np.diff(matrix.indptr)
    back = np.maximum.reduceat(np.repeat(rank, length) - rank[matrix.indices], matrix.indptr[:-1][length > 0])
    return int(np.maximum(back, 0).sum(dtype=np.int64))


def _dense(problem: _Problem, whole: bool = False) -> FloatArray:
    n = problem.matrix.shape[0]
    away = 1.5 * (problem.top - problem.bottom)  # known vectors go below all others
    matrix = problem.toarray() - away * (problem.null @ problem.null.T)
    if whole:  # slower, and more reliable
        return np.asarray(np.linalg.eigh(matrix)[1][:, n - problem.n_wanted :])
    vectors = linalg.eigh(matrix, subset_by_index=(n - problem.n_wanted, n - 1), overwrite_a=True)[1]
    if vectors.shape[1] < problem.n_wanted:  # it happens where many eigenvalues are equal
        raise np.linalg.LinAlgError("LAPACK returned fewer eigenvectors than it was asked for.")
    return np.asarray(vectors)


def _krylov(
    problem: _Problem, operator: _Operator, width: int, n_restarts: int, rng: np.random.Generator
) -> FloatArray:
    """Solve by ARPACK, and search again for missed eigenvectors until there are none."""

    def top(known: FloatArray, theta: FloatArray, k: int, tol: float) -> FloatArray:
        return _arpack(operator, known, operator.value(theta), k, (width, n_restarts, tol), rng)

    tops = np.full(problem.null.shape[1], problem.top)
    theta, vectors, _ = _ritz(problem, top(problem.null, tops, problem.n_wanted, problem.tol / 10))
    for _ in range(_MAX_PASSES):
        known, values = np.hstack([problem.null, vectors]), np.append(tops, theta)
        # A rough search decides most cases: only an eigenvalue near the last one found needs a fine search.
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
    image = problem.apply(basis)
    # Not SciPy's: its default driver lost nine digits on a small matrix with entries of 1e-12.
    theta, rotation = np.linalg.eigh(basis.T @ image)
    theta, rotation = theta[::-1][: problem.n_wanted], rotation[:, ::-1][:, : problem.n_wanted]
    vectors = basis @ rotation
    residual = np.linalg.norm(image @ rotation - vectors * theta, axis=0).max()
    return theta, vectors, float(residual)
