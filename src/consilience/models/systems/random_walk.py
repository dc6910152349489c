"""Random walks on samples: where they end, how often they are where, and the spectral embedding of a walk."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import eigh
from scipy.sparse.csgraph import connected_components

from ...engines import threads
from ...engines.embedding import signs, unit_rows
from ...run.messages import warn

Floats = NDArray[np.float64]

_ROUNDING = 1e-12  # transitions below this are no way from one sample to another
_WIDTH = 32  # states that are taken out of a chain at a time


class Walk(Protocol):
    """A random walk: transitions (n, n), stationary distribution (n,), and closed classes (n,)."""

    @property
    def transitions(self) -> Floats:
        """Probabilities of going from one sample to another: rows of sum 1."""

    @property
    def stationary(self) -> Floats:
        """What `stationary_distribution` gives."""

    @property
    def classes(self) -> NDArray[np.intp]:
        """What `closed_classes` gives."""


def closed_classes(transitions: Floats) -> NDArray[np.intp]:
    """Return which samples a random walk cannot leave together, numbered; -1 where it does not come back.

    Transitions below 1e-12 do not count: they are rounding.

    Examples
    --------
    >>> import numpy as np
    >>> closed_classes(np.array([[0.5, 0.5, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]))
    array([-1,  0,  1])
    """
    n = len(transitions)
    if transitions.min() > _ROUNDING:
        return np.zeros(n, dtype=np.intp)
    links = sparse.csr_array(transitions > _ROUNDING)
    count, member = connected_components(links, connection="strong")
    source = np.repeat(member, np.diff(links.indptr))
    closed = np.ones(count, dtype=bool)
    closed[source[source != member[links.indices]]] = False
    number = np.where(closed, np.cumsum(closed) - 1, -1)
    return number[member]


def stationary_distribution(transitions: Floats, classes: NDArray[np.intp] | None = None) -> Floats:
    """Return the stationary distribution of a random walk: the leading left eigenvector, of sum 1.

    It is unique if there is one closed class. Each of several gets the share of its samples among the samples
    of all; samples in none get 0. By elimination without subtractions (Grassmann, Taksar and Heyman, 1985),
    so that every entry, however small, is accurate to the last digits.

    Examples
    --------
    >>> import numpy as np
    >>> stationary_distribution(np.array([[0.5, 0.5], [1.0, 0.0]])).round(3)
    array([0.667, 0.333])
    """
    classes = closed_classes(transitions) if classes is None else classes
    result = np.zeros(len(transitions))
    for one in range(classes.max() + 1):
        inside = np.flatnonzero(classes == one)
        result[inside] = _solve_chain(transitions[np.ix_(inside, inside)]) * len(inside)
    return result / result.sum()


def _solve_chain(chain: Floats) -> Floats:
    """Return the stationary distribution of an irreducible chain, which is destroyed."""
    n = len(chain)
    for stop in range(n, 1, -_WIDTH):
        start = max(stop - _WIDTH, 1)
        for k in range(stop - 1, start - 1, -1):
            # Take state k out: a walk that came to it goes on to where it led. The floor keeps ratios finite.
            chain[:k, k] /= max(chain[k, :k].sum(), 1e-290)
            chain[start:k, :k] += np.outer(chain[start:k, k], chain[k, :k])
            chain[:start, start:k] += np.outer(chain[:start, k], chain[k, start:k])
        chain[:start, :start] += chain[:start, start:stop] @ chain[start:stop, :start]
    share = np.ones(n)
    for k in range(1, n):
        share[k] = share[:k] @ chain[:k, k]
        if share[k] > 1:
            share[: k + 1] /= share[k]
    return np.asarray(share / share.sum())


def walk_embedding(walk: Walk, n_components: int) -> tuple[Floats, Floats, Floats]:
    r"""Return eigenvalues and eigenvectors of the symmetrised walk, and the graph that it walks on.

    The graph has the weights :math:`G = (\Pi P + P'\Pi) / 2`, what passes between two samples per step, and
    the eigenvectors are those of :math:`\Pi^{-1/2} G \Pi^{-1/2}` of largest magnitude. With more closed
    classes than `n_components` the largest ones are represented, the others have rows of zeros. A sample that
    the walk leaves and never returns to gets the mean of the rows, scaled to unit length, that it goes to.

    Parameters
    ----------
    walk : Walk
        The transitions P, and :math:`\Pi` the diagonal matrix of their stationary distribution.
    n_components : int
        Number of eigenvectors.
    """
    transitions, share, classes = walk.transitions, walk.stationary, walk.classes
    graph = share[:, None] * transitions
    graph += graph.T.copy()
    graph /= 2
    recurrent = share > 0
    sizes = np.bincount(classes[recurrent])
    largest = np.argsort(-sizes, kind="stable")[:n_components]
    represented = recurrent & np.isin(classes, largest)
    root = np.sqrt(np.where(represented, share, np.inf))
    matrix = graph / root[:, None]
    matrix /= root
    with threads.libraries_on_one_thread():
        values, vectors = _largest_in_magnitude(matrix, n_components)
        vectors = vectors * signs(vectors)
        vectors[~represented] = 0.0
        if not recurrent.all():
            gone = ~recurrent
            arrival = transitions[np.ix_(gone, recurrent)] @ unit_rows(vectors[recurrent])
            stay = transitions[np.ix_(gone, gone)]
            vectors[gone] = np.linalg.solve(np.eye(len(stay)) - stay, arrival)
    if len(sizes) > n_components:
        warn(
            f"The random walk has {len(sizes)} closed classes, of which the {n_components} largest are "
            f"represented: {int(recurrent.sum() - represented.sum())} samples of the others only go to the "
            "nearest cluster. Raise n_neighbors to connect them.",
        )
    return values, vectors, graph


def _largest_in_magnitude(matrix: Floats, k: int) -> tuple[Floats, Floats]:
    """Return the k eigenvalues of largest magnitude, of equal ones the positive first, and their vectors."""
    n = len(matrix)
    if 2 * k >= n:
        values, vectors = eigh(matrix)
    else:
        ends = [eigh(matrix, subset_by_index=part) for part in ((0, k - 1), (n - k, n - 1))]
        values, vectors = np.concatenate([e[0] for e in ends]), np.hstack([e[1] for e in ends])
    order = np.lexsort((-values, -np.abs(values).round(10)))[:k]
    return values[order], vectors[:, order]
