"""Removing samples from views, to measure the effect of missing samples."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, svds
from sklearn.utils import check_random_state

from ..views import Views, as_views
from .synthetic import _count_missing, _real

PATTERNS = ("random", "not_at_random", "paired", "one_view")

Mask = NDArray[np.bool_]


def ampute(
    views: Any,
    rate: float,
    pattern: Literal["random", "not_at_random", "paired", "one_view"] = "random",
    *,
    random_state: int | np.random.RandomState | None = None,
) -> Views:
    """Remove samples from views; every sample stays in at least one of them.

    Parameters
    ----------
    views : list, tuple, mapping, array, sparse matrix, DataFrame or Views
        The views, two or more, as `Views` takes them.
    rate : float
        How much shall be missing; see `pattern`. Samples that are missing already count, and stay missing: if
        they are enough, nothing more is removed.
    pattern : {"random", "not_at_random", "paired", "one_view"}, default="random"
        "random": `rate` is the share of missing (sample, view) pairs among all n_samples * n_views, as in
        `make_multiview`. For each sample one of its views, chosen at random, is not touched; the missing
        pairs are drawn evenly from all others. With v views `rate` is at most (v - 1) / v.

        "not_at_random": the same, but a pair is more likely to be drawn if the sample is near one end of the
        view's first principal component: the chances are proportional to the ranks along it, 1 to n_samples.
        So a view misses more of a cluster that is near this end.

        "paired": `rate` is the share of samples, chosen at random, that are left in one of their views,
        chosen at random; the others keep all views. Measurements of different laboratories that have some
        samples in common are like this.

        "one_view": `rate` is the share of samples, chosen at random among those that other views have seen,
        that the last view misses; the other views keep all samples. An expensive measurement is like this.
    random_state : int, RandomState instance or None, default=None
        Pass an int for the same pairs every time. Pairs missing at one rate are missing at every larger one.

    Returns
    -------
    Views
        The same names, ids and samples in the same order; `mask` says what is missing. Shares are of whole
        numbers of pairs or samples, rounded to the nearest (halves to even).

    See Also
    --------
    make_multiview : Its `missing` is the same as "random" here, on synthetic data.

    Examples
    --------
    >>> from consilience.datasets import ampute, load_digits_views
    >>> views, y = load_digits_views(return_X_y=True)
    >>> mask = ampute(views, 0.3, random_state=0).mask
    >>> f"{1 - mask.mean():.2f}", int(mask.sum(axis=1).min())
    ('0.30', 1)
    >>> ampute(views, 0.5, "paired", random_state=0).mask.sum(axis=1)[:10]
    array([6, 1, 1, 6, 1, 1, 1, 6, 1, 1])
    """
    complete = as_views(views)
    n, v = complete.n_samples, complete.n_views
    if pattern not in PATTERNS:
        raise ValueError(f"Unknown pattern {pattern!r}; known: {', '.join(map(repr, PATTERNS))}.")
    if v < 2:
        raise ValueError("There is 1 view; samples can only be missing from one of several.")
    seen = np.ones((n, v), dtype=bool) if complete.mask is None else complete.mask
    rng = check_random_state(random_state)
    if pattern == "paired":
        mask = _leave_one(seen, round(_real(rate, "rate", 0.0, 1.0) * n), rng)
    elif pattern == "one_view":
        mask = _take_from_last(seen, round(_real(rate, "rate", 0.0, 1.0) * n), rng)
    else:
        # The same bound and the same message as for synthetic data with missing samples.
        n_missing = _count_missing(rate, n, v, "rate")
        chances = np.ones((n, v)) if pattern == "random" else _ranks_along_first_component(complete)
        mask = _take_pairs(seen, n_missing, chances, rng)
    return Views(complete, mask=mask)


def _take_pairs(seen: Mask, n_missing: int, chances: Any, rng: np.random.RandomState) -> Mask:
    """Remove pairs by these chances until this number is missing; each sample keeps one."""
    n, v = seen.shape
    spared = np.where(seen, rng.random_sample((n, v)), -1).argmax(axis=1)
    # The smallest of exponential times with these rates: a draw without replacement, by these chances.
    times = rng.standard_exponential((n, v)) / chances
    times[~seen] = 0  # missing already
    times[np.arange(n), spared] = np.inf
    mask = seen.copy()
    mask.ravel()[np.argsort(times, axis=None, kind="stable")[:n_missing]] = False
    return mask


def _leave_one(seen: Mask, n_incomplete: int, rng: np.random.RandomState) -> Mask:
    """Leave this number of samples in one view each, first those that are in only one."""
    n, v = seen.shape
    order = rng.permutation(n)
    left = np.where(seen, rng.random_sample((n, v)), -1).argmax(axis=1)
    order = order[np.argsort(seen[order].sum(axis=1) > 1, kind="stable")]
    chosen = order[:n_incomplete]
    mask = seen.copy()
    mask[chosen] = False
    mask[chosen, left[chosen]] = True
    return mask


def _take_from_last(seen: Mask, n_missing: int, rng: np.random.RandomState) -> Mask:
    """Remove samples from the last view until it misses this number."""
    order = rng.permutation(len(seen))
    elsewhere = seen[:, :-1].any(axis=1)
    if n_missing > elsewhere.sum():
        raise ValueError(
            f"The last view cannot miss {n_missing} of {len(seen)} samples: no other view has seen "
            f"{int((~elsewhere).sum())} of them. Lower rate."
        )
    # Samples that it misses already come first, samples that no other view has seen last.
    ranked = order[np.argsort(np.where(elsewhere, seen[:, -1], 2)[order], kind="stable")]
    mask = seen.copy()
    mask[ranked[:n_missing], -1] = False
    return mask


def _ranks_along_first_component(views: Views) -> NDArray[np.float64]:
    """Return the rank of each sample along each view's first principal component, from 1; (n, v)."""
    ranks = np.ones((views.n_samples, views.n_views))
    for i, array in enumerate(views.arrays):
        seen = views.seen(i)
        members = np.arange(views.n_samples) if seen is None else np.flatnonzero(seen)
        ranks[members, i] = np.argsort(np.argsort(_first_component(array[members]), kind="stable")) + 1.0
    return ranks


def _first_component(x: Any) -> NDArray[np.float64]:
    """Return the scores on the first principal component, the larger ones positive."""
    if min(x.shape) < 2:
        return np.asarray(x[:, [0]].toarray() if sparse.issparse(x) else x[:, 0], dtype=float).ravel()
    if not sparse.issparse(x):
        x = np.where(np.isfinite(x), x, 0.0)  # cells may be missing where the metric allows that
    mean, ones = np.asarray(x.mean(axis=0), dtype=float).ravel(), np.ones(x.shape[0])
    centred = LinearOperator(
        x.shape,
        matvec=lambda b: x @ b.ravel() - ones * (mean @ b.ravel()),
        rmatvec=lambda a: x.T @ a.ravel() - mean * a.sum(),
        dtype=np.float64,
    )
    start = np.random.RandomState(0).standard_normal(x.shape[1])
    if not (centred @ start).any():  # all samples look the same
        return np.zeros(x.shape[0])
    scores = svds(centred, k=1, v0=start[: min(x.shape)])[0][:, 0]
    return np.asarray(scores if scores[np.argmax(np.abs(scores))] > 0 else -scores)
