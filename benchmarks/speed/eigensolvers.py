"""Eigen-solvers for the spectral step next to each other: `python -m benchmarks.speed.eigensolvers [--n N]`.

Every solver finds the eigenvectors of the same normalised Laplacians: planted classes, many of them, some
very small, none at all, points in the plane, and a ring. Each runs in a process of its own that is ended when
its time is up. CPU seconds, since that is what a busy machine leaves alone; largest residual; and the sine of
the largest angle to a tight solution of the library's, where there is one. The variants that need pyamg are
left out, with that reason, where it is not installed.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import time
import warnings
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import LinearOperator, eigsh, lobpcg
from scipy.spatial import cKDTree

from consilience.engines import threads
from consilience.engines.numba.spectrum.filtered_iteration import FilteredIteration
from consilience.spectra import NormalizedLaplacian, smallest_eigenvectors

from .measure import Row, machine_facts

TOL = 1e-5
SECONDS = 240.0  # for one solver on one graph


def planted(sizes: np.ndarray, k: int, crossing: float, seed: int = 0) -> sparse.csr_array:
    """Return a graph in which each sample has k edges within its class, but for a share of them."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    n, order = len(y), np.argsort(y, kind="stable")
    first = np.concatenate([[0], np.cumsum(sizes)])
    other = order[first[y][:, None] + (rng.random((n, k)) * sizes[y][:, None]).astype(np.intp)]
    far = rng.random((n, k)) < crossing
    other[far] = rng.integers(0, n, far.sum())
    return _symmetric(other, rng.random((n, k)) + 0.2)


def in_the_plane(n: int, k: int) -> sparse.csr_array:
    """Return the neighbour graph of points in a square: eigenvalues near 0, without a gap."""
    x = np.random.default_rng(0).random((n, 2))
    distances, other = cKDTree(x).query(x, k + 1)
    return _symmetric(other[:, 1:], np.exp(-((distances[:, 1:] / np.median(distances)) ** 2) / 2))


def ring(n: int) -> sparse.csr_array:
    return _symmetric(((np.arange(n) + 1) % n)[:, None], np.ones((n, 1)))


def _symmetric(other: np.ndarray, weights: np.ndarray) -> sparse.csr_array:
    n, k = other.shape
    half = sparse.csr_array((weights.ravel(), (np.repeat(np.arange(n), k), other.ravel())), shape=(n, n))
    graph = sparse.csr_array(half + half.T)
    graph = sparse.csr_array(graph - sparse.diags(graph.diagonal()))
    graph.eliminate_zeros()
    return graph


GRAPHS: dict[str, tuple[Callable[[int], sparse.csr_array], int]] = {
    "20 classes": (lambda n: planted(np.full(20, n // 20), 10, 0.03), 20),
    "20 classes, blurred": (lambda n: planted(np.full(20, n // 20), 10, 0.6), 20),
    "200 classes": (lambda n: planted(np.full(200, n // 200), 10, 0.03), 200),
    "classes of 20 to n/2": (
        lambda n: planted(np.maximum(n * 0.5 ** np.arange(1, 20), 20).astype(int), 10, 0.03),
        20,
    ),
    "no classes": (lambda n: planted(np.full(1, n), 10, 0.0), 20),
    "points in the plane": (lambda n: in_the_plane(n, 10), 20),
    "ring": (ring, 19),  # not 20: that would be one of two copies
}

Solver = Callable[[NormalizedLaplacian, int], np.ndarray]


def ours(laplacian: NormalizedLaplacian, c: int) -> np.ndarray:
    return smallest_eigenvectors(laplacian, c, start_block=FilteredIteration)


def ours_tight(laplacian: NormalizedLaplacian, c: int) -> np.ndarray:
    return smallest_eigenvectors(laplacian, c, tol=1e-9, start_block=FilteredIteration)


def small_graphs_solver(laplacian: NormalizedLaplacian, c: int) -> np.ndarray:
    """Solve as for small graphs: by ARPACK to 1e-9, searched again, or by a factorisation if it stalls."""
    return smallest_eigenvectors(laplacian, c)


def arpack(laplacian: NormalizedLaplacian, c: int) -> np.ndarray:
    null, n = laplacian.null_space(), laplacian.shape[0]
    k = c - null.shape[1]
    matrix = laplacian.adjacency
    operator = LinearOperator(
        (n, n), matvec=lambda x: matrix @ x + 2 * x - 3 * (null @ (null.T @ x)), dtype=float
    )
    start = np.random.default_rng(0).uniform(-1, 1, n)
    found = eigsh(operator, k, which="LA", v0=start, ncv=max(2 * k + 1, 40), tol=TOL, maxiter=1000)
    return np.hstack([null, found[1][:, ::-1]])


def lobpcg_plain(laplacian: NormalizedLaplacian, c: int, preconditioner: Any = None) -> np.ndarray:
    null, n = laplacian.null_space(), laplacian.shape[0]
    matrix = sparse.csr_array(sparse.eye(n, format="csr") - laplacian.adjacency)
    start = np.random.default_rng(0).standard_normal((n, c - null.shape[1]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        found = lobpcg(matrix, start, M=preconditioner, Y=null, tol=TOL, maxiter=1000, largest=False)
    return np.hstack([null, found[1]])


def lobpcg_amg(laplacian: NormalizedLaplacian, c: int) -> np.ndarray:
    import pyamg

    n = laplacian.shape[0]
    shifted = sparse.csr_matrix(sparse.eye(n, format="csr") * (1 + 1e-6) - laplacian.adjacency)
    root = np.sqrt(laplacian.degrees)[:, None]  # the vector that is smooth here
    hierarchy = pyamg.smoothed_aggregation_solver(shifted, B=root)
    return lobpcg_plain(laplacian, c, hierarchy.aspreconditioner())


def multilevel(laplacian: NormalizedLaplacian, c: int) -> np.ndarray:
    """Solve by the library's iteration, but begun with what it finds on a graph of aggregates, and so on."""
    null = laplacian.null_space()
    start = _from_aggregates(laplacian, c - null.shape[1]).astype(np.float32)
    iteration = _Begun(laplacian.adjacency, null, c - null.shape[1], TOL, np.random.default_rng(0), start)
    iteration.run(20_000)
    return np.hstack([null, iteration.found().vectors])


class _Begun(FilteredIteration):
    """The iteration from a given block."""

    def __init__(self, *arguments: Any) -> None:
        self._start: np.ndarray | None = arguments[-1]
        super().__init__(*arguments[:-1])

    def _fill_up(self) -> None:
        if self._start is not None:
            self._block, self._start = np.ascontiguousarray(self._start[self._order, : self._width]), None
            self._image = np.empty_like(self._block)
            self._rayleigh_ritz()
        super()._fill_up()


def _from_aggregates(laplacian: NormalizedLaplacian, k: int) -> np.ndarray:
    """Return eigenvectors of the graph of aggregates, spread over their members.

    Each sample points to its heaviest neighbour; what hangs together by these is an aggregate. The normalised
    Laplacian of their graph is the Galerkin projection of the one given.
    """
    n, root = laplacian.shape[0], np.sqrt(laplacian.degrees)
    scale = sparse.diags(root)
    weights = sparse.csr_array(scale @ laplacian.adjacency @ scale)
    group = _aggregates(sparse.csr_array(laplacian.adjacency - sparse.diags(laplacian.adjacency.diagonal())))
    member = sparse.csr_array((np.ones(n), (np.arange(n), group)))
    coarse = NormalizedLaplacian(_symmetrised(member.T @ weights @ member))
    width = max(16, -(-(k + max(4, k // 5)) // 8) * 8)
    if coarse.shape[0] > 3000:
        start = _from_aggregates(coarse, k).astype(np.float32)
        rng = np.random.default_rng(0)
        iteration = _Begun(
            coarse.adjacency, coarse.null_space(), min(width, start.shape[1]), 1e-3, rng, start
        )
        iteration.run(200)
        vectors = iteration.found().vectors
    else:
        vectors = np.linalg.eigh(coarse.toarray())[1][:, coarse.n_connected :][:, :width]
    return vectors[group] * (root / np.sqrt(coarse.degrees)[group])[:, None]


def _aggregates(matrix: sparse.csr_array) -> np.ndarray:
    longest = np.repeat(np.maximum.reduceat(matrix.data, matrix.indptr[:-1]), np.diff(matrix.indptr))
    heaviest = np.flatnonzero(matrix.data == longest)
    rows = np.searchsorted(matrix.indptr, heaviest, side="right") - 1
    points = sparse.csr_array((np.ones(len(rows)), (rows, matrix.indices[heaviest])), shape=matrix.shape)
    return connected_components(points, directed=False)[1]


def _symmetrised(graph: sparse.csr_array) -> sparse.csr_array:
    return sparse.csr_array((graph + graph.T) / 2)


SOLVERS: dict[str, Solver] = {
    "ours, tol 1e-9": ours_tight,
    "ours (tol 1e-5)": ours,
    "ours, begun on aggregates": multilevel,
    "ARPACK, tol 1e-5": arpack,
    "ARPACK, tol 1e-9, searched again": small_graphs_solver,
    "LOBPCG, tol 1e-5": lobpcg_plain,
    "LOBPCG with AMG, tol 1e-5": lobpcg_amg,
}


def rows(n: int = 100_000, graphs: list[str] | None = None, seconds: float = SECONDS) -> Iterator[Row]:
    for kind, (make, c) in GRAPHS.items():
        if graphs and kind not in graphs:
            continue
        graph = make(n)
        reference = None
        for name, solver in SOLVERS.items():
            title = f"{kind}, n = {graph.shape[0]}, c = {c}: {name}"
            if solver is lobpcg_amg and find_spec("pyamg") is None:
                yield Row(title, None, "s", reason="pyamg is not installed")
                continue
            found = _in_time(solver, graph, c, seconds)
            if isinstance(found, str):
                yield Row(title, None, "s", reason=found)
                continue
            if solver is ours_tight:
                reference = found["vectors"]
            yield Row(title, found["seconds"], "CPU s", _quality(found, reference))


def _quality(found: dict[str, Any], reference: np.ndarray | None) -> str:
    text = f"residual {found['residual']:.0e}"
    if reference is not None and reference is not found["vectors"]:
        off = found["vectors"] - reference @ (reference.T @ found["vectors"])
        text += f", angle {np.linalg.norm(off, 2):.0e}"
    return text


def _in_time(solver: Solver, graph: sparse.csr_array, c: int, seconds: float) -> dict[str, Any] | str:
    """Return what a solver finds and takes, or why there is nothing."""
    receiver, sender = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("fork").Process(target=_solve, args=(solver, graph, c, sender))
    process.start()
    answer = receiver.recv() if receiver.poll(seconds) else f"more than {seconds:g} s"
    process.kill()
    process.join()
    return answer


def _solve(solver: Solver, graph: sparse.csr_array, c: int, sender: Any) -> None:
    with threads.limit(1):
        laplacian = NormalizedLaplacian(graph)
        smallest_eigenvectors(NormalizedLaplacian(ring(30_000)), 1)  # compiled, or loaded, outside the clock
        FilteredIteration(
            laplacian.adjacency, laplacian.null_space(), 1, TOL, np.random.default_rng(0)
        ).found()
        began = time.process_time()
        try:
            vectors = solver(laplacian, c)
        except Exception as error:
            sender.send(f"{type(error).__name__}: {error}")
            return
        taken = time.process_time() - began
        values = np.einsum("ij,ij->j", vectors, laplacian @ vectors)
        residual = np.linalg.norm(laplacian @ vectors - vectors * values, axis=0).max()
    sender.send({"seconds": taken, "residual": float(residual), "vectors": vectors})


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed.eigensolvers", description=__doc__)
    parser.add_argument("--n", type=int, default=100_000, help="samples (default: %(default)s)")
    parser.add_argument("--graph", action="append", choices=GRAPHS, help="only this graph; may be repeated")
    parser.add_argument(
        "--seconds", type=float, default=SECONDS, help="for one solver (default: %(default)s)"
    )
    parser.add_argument("--out", type=Path, help="also write the rows, with the machine's facts, as JSON")
    options = parser.parse_args()
    print(", ".join(f"{name} {value}" for name, value in machine_facts().items()))
    found = []
    for row in rows(options.n, options.graph, options.seconds):
        found.append(row)
        value = "" if row.value is None else f"{row.value:8.2f} {row.unit}"
        print(f"{row.name:<78} {value:>16}  {row.compared_with:<34} {row.verdict}", flush=True)
    if options.out is not None:
        options.out.write_text(json.dumps([row.as_dict() for row in found], indent=1))


if __name__ == "__main__":
    main()
