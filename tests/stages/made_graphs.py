"""Graphs to embed and to cluster."""

import warnings

import numpy as np
from scipy import sparse


def quiet(function, *args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return function(*args, **kwargs)


def symmetric(upper):
    return sparse.csr_array(upper + upper.T)


def neighbor_graph(n, k, seed, n_blobs=1, spread=6.0):
    """Gaussian k-nearest-neighbour graph of blobs in 4 dimensions, and the blob of each sample."""
    rng = np.random.default_rng(seed)
    blob = np.arange(n) % n_blobs
    x = rng.normal(size=(n, 4)) + spread * rng.normal(size=(n_blobs, 4))[blob]
    d = ((x[:, None] - x[None]) ** 2).sum(axis=2)
    np.fill_diagonal(d, np.inf)
    near = np.argpartition(d, k, axis=1)[:, :k]
    w = np.exp(-np.take_along_axis(d, near, axis=1) / 2)
    return symmetric(
        sparse.csr_array((w.ravel(), (np.repeat(np.arange(n), k), near.ravel())), shape=(n, n)) / 2
    ), blob


def path(n):
    return symmetric(sparse.diags([np.ones(n - 1)], [1], shape=(n, n)))


def ring(n):
    rows = np.arange(n)
    return symmetric(sparse.csr_array((np.ones(n), (rows, (rows + 1) % n)), shape=(n, n)))


def star(n):
    return symmetric(
        sparse.csr_array((np.ones(n - 1), (np.zeros(n - 1, int), np.arange(1, n))), shape=(n, n))
    )


def copies(graph, number, link=0.0):
    """Copies of a graph, chained by edges of weight `link`."""
    size, n = graph.shape[0], graph.shape[0] * number
    rows = size * np.arange(number - 1)
    chain = sparse.csr_array((np.full(number - 1, link), (rows, rows + size)), shape=(n, n))
    return sparse.csr_array(sparse.block_diag([graph] * number)) + symmetric(chain)
