"""What may be wrong with views, done to views that are right.

Each condition is a function: views, a random generator -> new views. Views are tuples of dense arrays or
sparse matrices, samples as rows, of which the first is "the first view". What is given is never changed.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from itertools import cycle, islice
from typing import Any

import numpy as np
from scipy import sparse

Arrays = tuple[Any, ...]
Corruption = Callable[[Arrays, np.random.Generator], Arrays]

NOISE_WIDTHS = (10, 50, 200)
SHARE = 0.3  # of the rows, in the conditions that spoil some of them
FACTOR = 1e6
HUGE = 1000.0


def clean(views: Arrays, rng: np.random.Generator) -> Arrays:
    """Leave the views as they are."""
    return views


def noise_views(views: Arrays, rng: np.random.Generator, per_view: int = 1) -> Arrays:
    """Append views of standard Gaussian features: `per_view` times as many as there are views.

    Their widths are 10, 50, 200, 10, 50, ...
    """
    n = views[0].shape[0]
    widths = islice(cycle(NOISE_WIDTHS), per_view * len(views))
    return (*views, *(rng.standard_normal((n, width)) for width in widths))


def noise_views_twice(views: Arrays, rng: np.random.Generator) -> Arrays:
    """As `noise_views`, with twice as many views of noise as there are views."""
    return noise_views(views, rng, per_view=2)


def copy_of_first(views: Arrays, rng: np.random.Generator) -> Arrays:
    """Append an exact copy of the first view."""
    return (*views, views[0].copy())


def copies_of_first(views: Arrays, rng: np.random.Generator) -> Arrays:
    """Append three exact copies of the first view, so that it is there four times."""
    return (*views, *(views[0].copy() for _ in range(3)))


def first_times_million(views: Arrays, rng: np.random.Generator) -> Arrays:
    """Multiply the first view by 1e6."""
    return (views[0] * FACTOR, *views[1:])


def huge_columns(views: Arrays, rng: np.random.Generator) -> Arrays:
    """Append two columns of Gaussian noise to the first view; a sparse view stays sparse.

    Their standard deviation is 1000 times the largest absolute entry of the view.
    """
    first = views[0]
    columns = HUGE * float(abs(first).max()) * rng.standard_normal((first.shape[0], 2))
    if sparse.issparse(first):
        return (sparse.csr_array(sparse.hstack([first, sparse.csr_array(columns)], format="csr")), *views[1:])
    return (np.hstack([first, columns.astype(first.dtype)]), *views[1:])


def shuffled_first(views: Arrays, rng: np.random.Generator) -> Arrays:
    """Permute all rows of the first view."""
    return (_permuted(views[0], rng, 1.0), *views[1:])


def without_first(views: Arrays, rng: np.random.Generator) -> Arrays:
    """Drop the first view: what is left when nobody is misled by it. A ValueError if it is the only one."""
    if len(views) < 2:
        raise ValueError("there is only one view")
    return views[1:]


def partly_shuffled_first(views: Arrays, rng: np.random.Generator) -> Arrays:
    """Permute 30 % of the rows of the first view, drawn at random, among themselves."""
    return (_permuted(views[0], rng, SHARE), *views[1:])


def partly_shuffled_all(views: Arrays, rng: np.random.Generator) -> Arrays:
    """Permute 30 % of the rows of every view among themselves, drawn for each view anew."""
    return tuple(_permuted(view, rng, SHARE) for view in views)


def _permuted(view: Any, rng: np.random.Generator, share: float) -> Any:
    n = view.shape[0]
    chosen = rng.choice(n, round(share * n), replace=False)  # in random order
    order = np.arange(n)
    order[np.sort(chosen)] = chosen
    return view[order]


CLEAN, SHUFFLED, WITHOUT = "clean", "shuffled view", "without it"
CONDITIONS: dict[str, Corruption] = {
    CLEAN: clean,
    "noise 1:1": noise_views,
    "noise 2:1": noise_views_twice,
    "copy": copy_of_first,
    "copies": copies_of_first,
    "times 1e6": first_times_million,
    "huge columns": huge_columns,
    SHUFFLED: shuffled_first,
    WITHOUT: without_first,
    "30 % shuffled in one": partly_shuffled_first,
    "30 % shuffled in all": partly_shuffled_all,
}


def corrupted(views: Arrays, name: str, condition: str) -> Arrays:
    """Return the views of a data set in a condition: the same for whoever asks, system and machine alike."""
    rng = np.random.default_rng(zlib.crc32(f"{name}/{condition}".encode()))
    return CONDITIONS[condition](views, rng)
