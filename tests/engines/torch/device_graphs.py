"""Graphs whose eigenvectors are hard to find."""

import numpy as np
from scipy import sparse


def symmetric(upper):
    return sparse.csr_array(upper + upper.T)


def random_graph(n, degree, seed):
    rng = np.random.default_rng(seed)
    return symmetric(sparse.triu(sparse.random(n, n, degree / n, random_state=rng), 1))


def ring(n):
    rows = np.arange(n)
    return symmetric(sparse.csr_array((np.ones(n), (rows, (rows + 1) % n)), shape=(n, n)))


def planted(n, n_classes, crossing, k=6, seed=0):
    """Each sample has k edges to its own class, except for a share of them that go anywhere."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n)
    other = np.stack([rng.choice(np.flatnonzero(y == c), k) for c in y])
    far = rng.random((n, k)) < crossing
    other[far] = rng.integers(0, n, far.sum())
    weights = rng.random((n, k)) + 0.2
    half = sparse.csr_array((weights.ravel(), (np.repeat(np.arange(n), k), other.ravel())), shape=(n, n))
    return symmetric(half)


def copies(graph, number):
    return sparse.csr_array(sparse.block_diag([graph] * number))


def chained(graph, number, link):
    size = graph.shape[0]
    rows, n = size * np.arange(number - 1), size * number
    chain = sparse.csr_array((np.full(number - 1, link), (rows, rows + size)), shape=(n, n))
    return sparse.csr_array(copies(graph, number) + symmetric(chain))


def piece():
    return random_graph(60, 20, 9)


GRAPHS = {
    "classes": (lambda: planted(800, 8, 0.05), 7),
    "classes and more": (lambda: planted(800, 8, 0.05), 12),  # the last ones have no gap behind them
    "no classes": (lambda: planted(600, 1, 0.0), 10),
    "ring": (lambda: ring(400), 11),
    "identical components": (lambda: copies(piece(), 12), 20),
    "identical rings": (lambda: copies(ring(30), 15), 40),
    "nearly disconnected": (lambda: chained(piece(), 12, 1e-6), 13),
    "all but disconnected": (lambda: chained(piece(), 12, 1e-12), 13),
    "tiny gaps": (lambda: chained(piece(), 12, 1e-3), 13),
    "complete": (lambda: sparse.csr_array(np.ones((200, 200)) - np.eye(200)), 7),
    "complete bipartite": (lambda: sparse.csr_array(np.kron([[0, 1], [1, 0]], np.ones((90, 90)))), 5),
    "star": (lambda: symmetric(sparse.csr_array(np.outer(np.eye(200)[0], 1 - np.eye(200)[0]))), 4),
    "self-loops": (lambda: sparse.csr_array(random_graph(300, 20, 1) + sparse.eye(300)), 6),
}
