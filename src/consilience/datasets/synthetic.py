"""Synthetic views of the same clusters, with planted inconsistency, noise views and missing samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import pdist
from sklearn.utils import check_random_state

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False, repr=False)
class MultiviewSample:
    """Synthetic views together with the truth about them.

    Columns of `scrambled` and `mask` and entries of `centers` and `noise` are in the order of `views`.

    Attributes
    ----------
    views : dict of str to ndarray of shape (n_samples, n_features)
        `"view_0"`, `"view_1"`, ..., then `"noise_0"`, .... A missing sample is a row of NaN.
    y : ndarray of shape (n_samples,)
        The cluster of each sample, from 0.
    scrambled : ndarray of bool, shape (n_samples, n_views + noise_views)
        True where a view shows the sample as one of another cluster (also if the pair is missing).
    mask : ndarray of bool, shape (n_samples, n_views + noise_views), or None
        True where the sample is seen by the view; None if nothing is missing.
    centers : tuple of ndarray of shape (n_clusters, n_features)
        Centres of the clusters in each view; all zero in a noise view.
    noise : ndarray of bool, shape (n_views + noise_views,)
        True for the views without clusters.
    """

    views: dict[str, Floats]
    y: NDArray[np.int64]
    scrambled: Bools
    mask: Bools | None
    centers: tuple[Floats, ...]
    noise: Bools

    def __repr__(self) -> str:
        widths = ", ".join(f"{name}: {X.shape[1]}" for name, X in self.views.items())
        missing = 0.0 if self.mask is None else 1 - self.mask.mean()
        return (
            f"MultiviewSample(n_samples={self.y.size}, n_clusters={len(self.centers[0])}, "
            f"n_features={{{widths}}}, scrambled={self.scrambled.mean():.3g}, missing={missing:.3g})"
        )


def make_multiview(
    n_samples: int = 500,
    *,
    n_views: int = 4,
    n_clusters: int = 5,
    n_features: int | Sequence[int] = 10,
    separation: float | Sequence[float] = 3.0,
    weights: ArrayLike | None = None,
    scrambled: float | Sequence[float] = 0.0,
    noise_views: int = 0,
    missing: float = 0.0,
    shuffle: bool = True,
    random_state: int | np.random.RandomState | None = None,
) -> MultiviewSample:
    r"""Draw several views of the same Gaussian clusters, with errors in known places.

    In a view with :math:`d` features, a sample of cluster :math:`k` is drawn from
    :math:`\mathcal{N}(c_k, I_d)`: the standard deviation within a cluster is 1 along every feature. Views are
    independent given the clusters.

    Parameters
    ----------
    n_samples : int, default=500
        Number of samples, at least `n_clusters`.
    n_views : int, default=4
        Number of views that show the clusters.
    n_clusters : int, default=5
        Number of clusters.
    n_features : int or sequence of int, default=10
        Number of features, or one per view, noise views last.
    separation : float or sequence of float, default=3.0
        Mean Euclidean distance between two cluster centres, over all pairs of clusters; one number or one per
        view (without noise views). Centres are drawn from :math:`\mathcal{N}(0, I_d)`, shifted to mean 0, and
        scaled to meet it exactly. 0 means that all centres are equal. With one cluster it has no effect:
        the centre is 0.
    weights : array-like of shape (n_clusters,), default=None
        Cluster proportions, positive, in any unit; None for equal ones. Cluster sizes are the proportional
        shares of `n_samples` rounded down, and the rest goes one by one to the largest remainders.
    scrambled : float or sequence of float, default=0.0
        Planted inconsistency, from 0 to 1: in each view, this share of the samples, rounded to the nearest
        whole number (halves to even) and chosen at random, is drawn from the distribution of another
        cluster, each of the others being equally likely. One number or one per view (without noise views).
    noise_views : int, default=0
        Number of additional views without clusters: independent Gaussian features whose variance is the
        average variance of a feature of the other views, with the variance between clusters.
    missing : float, default=0.0
        Share of (sample, view) pairs that are missing among all `n_samples * (n_views + noise_views)`; their
        number is rounded to the nearest whole number (halves to even). For each sample one view that is
        not noise, chosen at random, always sees it; the missing pairs are drawn evenly from all others.
        With v views in all, at most (v - 1) / v, where each sample is seen once and noise views see nothing.
    shuffle : bool, default=True
        Put the samples in random order; otherwise they are ordered by cluster.
    random_state : int, RandomState instance or None, default=None
        Pass an int for the same data every time.

    Returns
    -------
    MultiviewSample
        `views`, `y` and the truth about the errors.

    Notes
    -----
    With the same seed, data that differ in `separation`, `scrambled` or `missing` alone share all the rest:
    the same clusters, the same noise within them, and the same centres and noise views up to scale; samples
    that are scrambled or missing at one share are so at every larger share.

    Examples
    --------
    >>> from consilience.datasets import make_multiview
    >>> data = make_multiview(200, n_views=3, scrambled=[0, 0, 0.2], noise_views=1, random_state=0)
    >>> data
    MultiviewSample(n_samples=200, n_clusters=5,
                    n_features={view_0: 10, view_1: 10, view_2: 10, noise_0: 10}, scrambled=0.05, missing=0)
    >>> data.scrambled.sum(axis=0).tolist()
    [0, 0, 40, 0]
    """
    n_clusters = _integer(n_clusters, "n_clusters", 1)
    n_samples = _integer(n_samples, "n_samples", n_clusters, "n_clusters")
    n_views = _integer(n_views, "n_views", 1)
    noise_views = _integer(noise_views, "noise_views", 0)
    n_all = n_views + noise_views
    widths = [_integer(d, "n_features", 1) for d in _per_view(n_features, n_all, "n_features")]
    distances = [_real(s, "separation", 0.0) for s in _per_view(separation, n_views, "separation")]
    shares = [_real(s, "scrambled", 0.0, 1.0) for s in _per_view(scrambled, n_views, "scrambled")]
    if n_clusters == 1 and any(shares):
        raise ValueError(f"scrambled must be 0 when n_clusters is 1, got {scrambled!r}.")
    n_missing = _count_missing(missing, n_samples, n_all)
    sizes = _cluster_sizes(n_samples, n_clusters, weights)
    rng = check_random_state(random_state)

    y = np.repeat(np.arange(n_clusters, dtype=np.int64), sizes)
    if shuffle:
        y = rng.permutation(y)
    centers = [_draw_centers(n_clusters, d, s, rng) for d, s in zip(widths[:n_views], distances, strict=True)]
    noises = [rng.standard_normal((n_samples, d)) for d in widths[:n_views]]
    shown = [_scramble(y, n_clusters, share, rng) for share in shares]
    views = {f"view_{v}": centers[v][shown[v]] + noises[v] for v in range(n_views)}

    deviation = np.sqrt(1 + np.mean([_variance_between(c, sizes) for c in centers]))
    for v, d in enumerate(widths[n_views:]):
        views[f"noise_{v}"] = deviation * rng.standard_normal((n_samples, d))
        centers.append(np.zeros((n_clusters, d)))
        shown.append(y)
    mask = _draw_mask(n_samples, n_views, n_all, n_missing, rng) if n_missing else None
    if mask is not None:
        for X, seen in zip(views.values(), mask.T, strict=True):
            X[~seen] = np.nan
    return MultiviewSample(
        views=views,
        y=y,
        scrambled=np.stack(shown, axis=1) != y[:, np.newaxis],
        mask=mask,
        centers=tuple(centers),
        noise=np.arange(n_all) >= n_views,
    )


def _draw_centers(n_clusters: int, n_features: int, separation: float, rng: np.random.RandomState) -> Floats:
    """Draw centres with mean 0 and mean distance `separation` between two of them."""
    centers = rng.standard_normal((n_clusters, n_features))
    centers -= centers.mean(axis=0)
    if n_clusters == 1:
        return centers
    return np.asarray(centers * (separation / pdist(centers).mean()))


def _scramble(
    y: NDArray[np.int64], n_clusters: int, share: float, rng: np.random.RandomState
) -> NDArray[np.int64]:
    """Return the cluster that each sample shows: its own, or for a share of them another one."""
    if n_clusters == 1:
        return y
    # Drawn for all samples, for any share, so that the share changes nothing that is drawn later.
    order = rng.permutation(y.size)
    steps = rng.randint(1, n_clusters, size=y.size)
    chosen = order[: round(share * y.size)]
    shown = y.copy()
    shown[chosen] = (y[chosen] + steps[chosen]) % n_clusters
    return shown


def _variance_between(centers: Floats, sizes: NDArray[np.int64]) -> float:
    """Variance of a feature that is due to the clusters, averaged over the features."""
    mean = np.average(centers, axis=0, weights=sizes)
    return float(np.average(np.mean((centers - mean) ** 2, axis=1), weights=sizes))


def _draw_mask(n_samples: int, n_views: int, n_all: int, n_missing: int, rng: np.random.RandomState) -> Bools:
    """Draw which view sees which sample; one of the first `n_views` views sees it in any case."""
    free = np.ones((n_samples, n_all), dtype=bool)
    free[np.arange(n_samples), rng.randint(n_views, size=n_samples)] = False
    mask = np.ones(n_samples * n_all, dtype=bool)
    mask[rng.permutation(np.flatnonzero(free))[:n_missing]] = False
    return mask.reshape(n_samples, n_all)


def _count_missing(missing: float, n_samples: int, n_all: int, name: str = "missing") -> int:
    n_missing = round(_real(missing, name, 0.0, 1.0) * n_samples * n_all)
    if n_missing > n_samples * (n_all - 1):
        raise ValueError(
            f"{name} must be at most {(n_all - 1) / n_all:.4g} with {n_all} views, so that every sample is "
            f"seen by one of them, got {missing!r}."
        )
    return n_missing


def _cluster_sizes(n_samples: int, n_clusters: int, weights: ArrayLike | None) -> NDArray[np.int64]:
    """Divide the samples in proportion to the weights; the rest goes to the largest remainders."""
    try:
        shares = np.ones(n_clusters) if weights is None else np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError):
        shares = np.empty(0)
    if shares.shape != (n_clusters,) or not np.all(np.isfinite(shares) & (shares > 0)):
        raise ValueError(f"weights must be {n_clusters} positive numbers, one per cluster, got {weights!r}.")
    exact = n_samples * shares / shares.sum()
    sizes: NDArray[np.int64] = np.floor(exact).astype(np.int64)
    order = np.argsort(sizes - exact, kind="stable")
    sizes[order[: n_samples - sizes.sum()]] += 1
    if not sizes.all():
        raise ValueError(
            f"weights must leave every cluster at least one of {n_samples} samples, got {weights!r}: "
            f"cluster {int(np.argmin(sizes))} would be empty."
        )
    return sizes


def _per_view(value: Any, n_views: int, name: str) -> list[Any]:
    """Repeat a single value for every view, or check that there is one per view."""
    if np.ndim(value) == 0:
        return [value] * n_views
    values = list(value)
    if len(values) != n_views:
        raise ValueError(f"{name} must be one value or one per view ({n_views}), got {len(values)} values.")
    return values


def _integer(value: object, name: str, low: int, low_name: str = "") -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < low:
        bound = f"{low_name} = {low}" if low_name else str(low)
        raise ValueError(f"{name} must be an integer of at least {bound}, got {value!r}.")
    return int(value)


def _real(value: Any, name: str, low: float, high: float = np.inf) -> float:
    is_number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    if not is_number or not np.isfinite(value) or not low <= value <= high:
        allowed = f"at least {low:g}" if high == np.inf else f"from {low:g} to {high:g}"
        raise ValueError(f"{name} must be a finite number {allowed}, got {value!r}.")
    return float(value)
