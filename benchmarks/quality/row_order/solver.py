r"""A representative of the methods that stack graphs into a tensor and make it low-rank by the t-SVD.

Written from the equations of two papers, not from the authors' programs:

- Xie, Tao, Zhang, Liu, Zhang, Qu: On unifying multi-view self-representations for clustering by tensor
  multi-rank minimization. IJCV 2018 (t-SVD-MSC): the tensor nuclear norm, the rotation, how labels are read.
- Wu, Lin, Zha: Essential tensor learning for multi-view spectral clustering. IEEE TIP 2019 (ETLMSC): the
  model on transition matrices, and the schedule of its solver.

======  ==================  ==========================================================================
paper   here                meaning
======  ==================  ==========================================================================
P       transitions         (v, n, n): each view's similarities, rows divided by their sums
Z       low_rank            the part of P that is kept
E       error               the part that is put aside, P = Z + E
Y       multiplier          of that constraint
λ       weight              of the error
μ       step                of the augmented Lagrangian; doubled in each round
======  ==================  ==========================================================================

.. math:: \min_{Z, E} \|Z\|_\circledast + \lambda \|E\|_{2,1} \quad \text{subject to} \quad P = Z + E

The columns of E that the norm adds up are those of all views, one below the other. The tensor nuclear norm
adds up the singular values of slices, *after a discrete Fourier transform along one mode*. Which one is
`along`:

- "samples": the tensor is rotated to n x v x n, the transform runs along the rows of all the graphs, and a
  slice is an n x v matrix for each frequency. This is the published way.
- "none": the same rotation and the same slices, but no transform: an n x v matrix for each sample.
- "views": no rotation. The transform runs along the v views, and a slice is an n x n matrix.

Only the first depends on the order in which the samples stand.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.spatial.distance import pdist, squareform
from sklearn.cluster import KMeans

Floats = NDArray[np.float64]

ALONG = ("samples", "none", "views")
FIRST_STEP, GROWTH, LARGEST_STEP = 1e-2, 2.0, 1e10  # as in ETLMSC
_SMALLEST = np.finfo(np.float64).tiny


@dataclass(frozen=True, eq=False)
class Decomposition:
    """What the solver returns.

    Attributes
    ----------
    low_rank, error : ndarray of shape (v, n, n)
        The two parts.
    n_rounds : int
        How many rounds it took.
    gap : float
        The largest entry by which the parts miss the whole, or changed in the last round.
    """

    low_rank: Floats
    error: Floats
    n_rounds: int
    gap: float


def transition_matrices(features: Sequence[NDArray[Any]]) -> Floats:
    """Return the transition matrices of all views, (v, n, n).

    The similarity is Gaussian, its width the median distance of two samples, as in both papers.

    Examples
    --------
    >>> transition_matrices([np.array([[0.0], [0.0], [5.0]])]).round(2)[0]
    array([[0.38, 0.38, 0.23],
           [0.38, 0.38, 0.23],
           [0.27, 0.27, 0.45]])
    """
    found = []
    for x in features:
        distances = pdist(np.asarray(x, dtype=np.float64))
        width = np.median(distances)
        similarities = squareform(np.exp(-((distances / width) ** 2) / 2)) + np.eye(len(x))
        found.append(similarities / similarities.sum(axis=1, keepdims=True))
    return np.stack(found)


def error_weight(n_views: int, n_samples: int, along: str, strength: float = 1.0) -> float:
    r"""Return the weight :math:`\lambda` of the error.

    For the rotated tensor it is :math:`1/\sqrt{n}`, the rule of robust principal component analysis. ETLMSC's
    released weight for BBCSport, 0.04 with n = 544, is 0.93 of that. Slices of the tensor that is not rotated
    have n singular values in place of v; so the weight is larger by :math:`\sqrt{n/v}`, and the same share of
    the singular values can be kept.

    Examples
    --------
    >>> error_weight(4, 100, "samples"), error_weight(4, 100, "views"), error_weight(4, 100, "none", 2.0)
    (0.1, 0.5, 0.2)
    """
    n_values = n_samples if along == "views" else n_views
    return strength * float(np.sqrt(n_values / (n_views * n_samples)))


def shrink(tensor: Floats, threshold: float, along: str) -> Floats:
    r"""Return the proximal point of the tensor nuclear norm: singular values of all slices less a threshold.

    .. math:: \arg\min_Z \tau \|Z\|_\circledast + \tfrac{1}{2} \|Z - A\|^2

    Parameters
    ----------
    tensor : ndarray of shape (v, n, n)
        A.
    threshold : float
        :math:`\tau`.
    along : {"samples", "none", "views"}
        What the Fourier transform runs along.

    Examples
    --------
    >>> ones = np.ones((2, 3, 3))
    >>> bool(np.allclose(shrink(ones, 0.0, "samples"), ones)), shrink(ones, 9.0, "samples").any()
    (True, np.False_)
    """
    slices = _slices(tensor, along)
    small = threshold / np.sqrt(_length(tensor, along))  # the transform here is unitary
    if along == "views":
        shrunk = np.stack([_with_smaller_values(_real_if_it_is(one), small) for one in slices])
    else:
        shrunk = _with_smaller_values(slices, small)
    return _from_slices(shrunk, tensor, along)


def nuclear_norm(tensor: Floats, along: str) -> float:
    r"""Return the tensor nuclear norm: the singular values of all slices, divided by :math:`\sqrt{n_3}`.

    With the Fourier transform as it is usually written, not unitary, this is the factor :math:`1/n_3`.

    Examples
    --------
    >>> round(nuclear_norm(np.ones((2, 4, 4)), "samples") ** 2, 6)  # one slice, all of its entries 1
    8.0
    """
    values = np.linalg.svd(_slices(tensor, along, whole=True), compute_uv=False)
    return float(values.sum()) / float(np.sqrt(_length(tensor, along)))


def shrink_columns(tensor: Floats, threshold: float) -> Floats:
    r"""Return the proximal point of :math:`\tau \|E\|_{2,1}`: each column shorter by a threshold.

    Examples
    --------
    >>> shrink_columns(np.array([[[3.0, 0.3], [4.0, 0.4]]]), 1.0).round(3)
    array([[[2.4, 0. ],
            [3.2, 0. ]]])
    """
    lengths = np.sqrt(np.einsum("vij,vij->j", tensor, tensor))
    return tensor * (np.maximum(lengths - threshold, 0.0) / np.maximum(lengths, _SMALLEST))


def decompose(
    transitions: Floats, weight: float, along: str = "samples", *, tol: float = 1e-6, max_rounds: int = 200
) -> Decomposition:
    """Split transition matrices into a low-rank part and an error, by the augmented Lagrangian.

    Parameters
    ----------
    transitions : ndarray of shape (v, n, n)
        P.
    weight : float
        Of the error; see `error_weight`.
    along : {"samples", "none", "views"}, default="samples"
        What the Fourier transform runs along.
    tol : float, default=1e-6
        Largest entry of what is missing, or changed in a round, at the end.
    max_rounds : int, default=200
        Most rounds.

    Examples
    --------
    >>> found = decompose(np.full((2, 4, 4), 0.25), 0.5)
    >>> found.low_rank.round(3)[0, 0].tolist(), found.gap < 1e-6
    ([0.25, 0.25, 0.25, 0.25], True)
    """
    low_rank, error, multiplier = (np.zeros_like(transitions) for _ in range(3))
    step, gap = FIRST_STEP, np.inf
    for n_rounds in range(1, max_rounds + 1):  # noqa: B007 - its last value is returned
        before = low_rank, error
        low_rank = shrink(transitions - error + multiplier / step, 1 / step, along)
        error = shrink_columns(transitions - low_rank + multiplier / step, weight / step)
        missing = transitions - low_rank - error
        multiplier = multiplier + step * missing
        changes = (missing, low_rank - before[0], error - before[1])
        gap = max(float(np.abs(one).max()) for one in changes)
        if gap < tol:
            break
        step = min(step * GROWTH, LARGEST_STEP)
    return Decomposition(low_rank, error, n_rounds, gap)


def spectral_labels(tensor: Floats, n_clusters: int, seed: int = 0) -> NDArray[np.int32]:
    """Cluster on the mean graph of a tensor: absolute values, made symmetric, then spectral clustering.

    Examples
    --------
    >>> two = np.kron(np.eye(2), np.ones((3, 3)))
    >>> labels = spectral_labels(np.stack([two, two]), 2)
    >>> len(set(labels[:3])), len(set(labels[3:])), len(set(labels))
    (1, 1, 2)
    """
    graph = np.abs(tensor).mean(axis=0)
    graph = (graph + graph.T) / 2
    roots = 1 / np.sqrt(np.maximum(graph.sum(axis=1), _SMALLEST))
    n = len(graph)
    _, vectors = eigh(roots[:, None] * graph * roots, subset_by_index=[n - n_clusters, n - 1])
    rows = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), _SMALLEST)
    return KMeans(n_clusters, n_init=20, random_state=seed).fit(rows).labels_


def cluster(
    transitions: Floats,
    n_clusters: int,
    order: NDArray[np.intp] | None = None,
    *,
    along: str = "samples",
    strength: float = 1.0,
) -> NDArray[np.int32]:
    """Cluster samples that stand in a given order, and return their labels in the order of `transitions`.

    Parameters
    ----------
    transitions : ndarray of shape (v, n, n)
        The transition matrices of all views.
    n_clusters : int
        Number of clusters.
    order : ndarray of int of shape (n,), default=None
        The order in which the solver gets the samples; None: as they are. If a method is sound, it changes
        nothing.
    along : {"samples", "none", "views"}, default="samples"
        What the Fourier transform runs along.
    strength : float, default=1.0
        Factor of `error_weight`.

    Examples
    --------
    >>> two = np.kron(np.eye(2), np.full((3, 3), 1 / 3))
    >>> labels = cluster(np.stack([two, two]), 2, np.array([5, 1, 3, 0, 2, 4]))
    >>> len(set(labels[:3])), len(set(labels[3:])), len(set(labels))
    (1, 1, 2)
    """
    v, n, _ = transitions.shape
    order = np.arange(n) if order is None else order
    standing = transitions[:, order[:, None], order]
    found = decompose(standing, error_weight(v, n, along, strength), along)
    # Only the decomposition sees the order: the random starts of k-means are those of the rows as they were.
    back = np.argsort(order)
    return spectral_labels(found.low_rank[:, back[:, None], back], n_clusters)


def _length(tensor: Floats, along: str) -> int:
    """Return the length of the mode that is transformed, or that numbers the slices."""
    if along not in ALONG:
        raise ValueError(f"along must be one of {', '.join(map(repr, ALONG))}, got {along!r}.")
    return tensor.shape[0 if along == "views" else 1]


def _slices(tensor: Floats, along: str, *, whole: bool = False) -> NDArray[Any]:
    """Return the slices whose singular values count: (v, n) for each row, or (n, n) for each view.

    Of two frequencies whose slices are conjugate only one is returned, unless the `whole` is asked for.
    """
    transform = np.fft.fft if whole else np.fft.rfft
    if along == "views":
        return transform(tensor, axis=0, norm="ortho")
    rows = tensor if along == "none" else transform(tensor, axis=1, norm="ortho")
    return rows.transpose(1, 0, 2)


def _from_slices(slices: NDArray[Any], like: Floats, along: str) -> Floats:
    """Undo `_slices`."""
    if along == "views":
        return np.fft.irfft(slices, n=len(like), axis=0, norm="ortho")
    rows = slices.transpose(1, 0, 2)
    return rows if along == "none" else np.fft.irfft(rows, n=like.shape[1], axis=1, norm="ortho")


def _with_smaller_values(slices: NDArray[Any], threshold: float) -> NDArray[Any]:
    """Subtract a threshold from the singular values of each slice.

    By the eigenvalues of the small Gram matrices, v x v for n frequencies: n singular value decompositions of
    n x v matrices would take most of the time.
    """
    turned = slices.conj().swapaxes(-1, -2)
    squares, vectors = np.linalg.eigh(slices @ turned)
    values = np.sqrt(np.maximum(squares, 0.0))
    factors = np.maximum(values - threshold, 0.0) / np.maximum(values, _SMALLEST)
    smaller = (vectors * factors[..., None, :]) @ vectors.conj().swapaxes(-1, -2)
    return smaller @ slices


def _real_if_it_is(matrix: NDArray[Any]) -> NDArray[Any]:
    """Return a matrix without an imaginary part that is 0: its decomposition takes a quarter of the time."""
    return matrix if matrix.imag.any() else matrix.real
