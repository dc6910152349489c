r"""An order of the samples that follows from what the views hold of them, and not from where they came.

Each sample has a key of 64 bits, a hash of its rows in all views; sorted by key, samples are in the same
order however they came. The order is as good as a random one. It is no sort by values, which would put like
samples next to each other, and so tell what looks only at places something about clusters.

A row of features is hashed by :math:`\sum_j h(x_j) r_j` modulo :math:`2^{64}`, with a well-mixed hash h of
numbers, :math:`h(0) = 0`, and an odd multiplier for each column. So entries that are not stored add nothing,
and the sum of a sparse row is that of the dense one. In a matrix between samples, columns are samples, too,
and have no place: there the multiplier is made from the key of the sample at the other end. Keys are refined
in rounds until no more samples can be told apart, as colours are in the test of Weisfeiler and Leman.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .device_arrays import DeviceArray

if TYPE_CHECKING:
    from .container import Views

Keys = NDArray[np.uint64]

MOST_NUMBERS = 50_000_000
"""Numbers in all views together up to which a fit is made in this order: beyond, a copy of them in another
order would take more than 400 MB, and raise the most that a fit needs by much."""

_BLOCK = 1 << 15  # numbers hashed at a time: they stay in the cache
_MOST_ROUNDS = 10  # in graphs that are met, samples that ten rounds do not tell apart are interchangeable
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # bits without a pattern
_UNSEEN = np.uint64(0xD6E8FEB86659FD93)  # in place of a row that a view does not have
_STORED_ZERO = np.uint64(0xA0761D6478BD642F)  # an edge of length 0 is an edge
_FACTORS = np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53)  # of MurmurHash3
_SHIFT = np.uint64(33)
_MOVED = (1 << 31) - 1  # what is left of 64 bits that move so far to the right


def content_order(views: Views, used: NDArray[np.bool_] | None = None) -> NDArray[np.intp]:
    """Return the numbers of the samples in the order of their keys.

    Samples that are the same in all views are interchangeable, and stay in the order in which they came.

    Parameters
    ----------
    views : Views
        The views.
    used : ndarray of bool, default=None
        Which of them count; None: all.

    Returns
    -------
    ndarray of shape (n,)
        Which sample is at each place.

    Examples
    --------
    >>> import numpy as np
    >>> from consilience.views import Views
    >>> rows = np.arange(12.0).reshape(6, 2)
    >>> shuffled = rows[[3, 1, 5, 0, 4, 2]]
    >>> np.array_equal(rows[content_order(Views(rows))], shuffled[content_order(Views(shuffled))])
    True
    """
    return np.argsort(content_keys(views, used), kind="stable")


def n_numbers(views: Views) -> int:
    """Return how many numbers all views hold together.

    Examples
    --------
    >>> from consilience.views import Views
    >>> n_numbers(Views([[[1.0, 2.0], [3.0, 4.0]], [[5.0], [6.0]]]))
    6
    """
    return sum(int(array.nnz if sparse.issparse(array) else array.size) for array in views.resident_arrays)


def content_keys(views: Views, used: NDArray[np.bool_] | None = None) -> Keys:
    """Return a hash of each sample: the same for the same rows, in any order and from any kind of matrix.

    Examples
    --------
    >>> from scipy import sparse
    >>> from consilience.views import Views
    >>> rows = [[0.0, 2.0], [-0.0, 2.0], [1.0, 0.0]]
    >>> first, second, third = content_keys(Views(rows)).tolist()
    >>> first == second, first == third
    (True, False)
    >>> content_keys(Views(sparse.csr_array(rows))).tolist() == [first, second, third]
    True
    """
    keys = np.zeros(views.n_samples, dtype=np.uint64)
    counted = range(views.n_views) if used is None else np.flatnonzero(used).tolist()
    for i in counted:
        if not views.pairwise[i]:
            keys = _joined(keys, row_hashes(views.resident_arrays[i]), views.seen(i))
    return _refined(keys, views, [i for i in counted if views.pairwise[i]])


def row_hashes(array: Any) -> Keys:
    """Return a hash of each row of features: the same from any kind of array that holds the same numbers.

    Examples
    --------
    >>> hashes = row_hashes(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]))
    >>> bool(hashes[0] == hashes[2]), bool(hashes[0] == hashes[1])
    (True, False)
    """
    return _sums(array, _multipliers(np.arange(1, array.shape[1] + 1, dtype=np.uint64)), square=False)[0]


def _refined(keys: Keys, views: Views, matrices: Sequence[int]) -> Keys:
    """Tell more samples apart, by what the matrices between samples say of each and the others."""
    n_known = len(np.unique(keys))
    for _ in range(_MOST_ROUNDS if matrices else 0):
        if n_known == len(keys):
            break
        multipliers, before = _multipliers(keys), n_known
        for i in matrices:
            leaving, arriving = _sums(views.arrays[i], multipliers, square=True)
            keys = _joined(_joined(keys, leaving, views.seen(i)), arriving, None)
        n_known = len(np.unique(keys))
        if n_known == before:
            break
    return keys


def _joined(keys: Keys, hashes: Keys, seen: NDArray[np.bool_] | None) -> Keys:
    """Return keys that also depend on what one more view holds of each sample."""
    if seen is not None:
        hashes = np.where(seen, hashes, _UNSEEN)
    return _mixed(keys + hashes + _GOLDEN)


def _multipliers(of: Keys) -> Keys:
    """Return a hash of each number that is odd, so that no bit of what it multiplies is lost."""
    return _mixed(of * _GOLDEN) | np.uint64(1)


def _sums(array: Any, multipliers: Keys, square: bool) -> tuple[Keys, Keys]:
    """Return the sums of the hashed entries times the multipliers of their columns, over each row.

    And over each column times those of their rows, if the array is square: a matrix between samples. Its
    diagonal, which a fit does not use, is left out.
    """
    if isinstance(array, DeviceArray):  # no matrix between samples: these are in this memory
        return _device_sums(array, multipliers), np.empty(0, dtype=np.uint64)
    sums = _sparse_sums if sparse.issparse(array) else _dense_sums
    return sums(array, multipliers, square)


def _device_sums(array: DeviceArray, multipliers: Keys) -> Keys:
    """Return the same sums over rows, computed where the array is: signed numbers have the same bits."""
    times, parts = array.sent(multipliers.view(np.int64)), []
    for block in array.blocks():
        own = block.double() + 0.0  # -0.0 becomes 0.0
        bits = own.masked_fill(own.isnan(), np.nan).view(times.dtype)
        bits = bits ^ ((bits >> int(_SHIFT)) & _MOVED)
        for factor in _FACTORS:
            bits = bits * int(factor.view(np.int64))
            bits = bits ^ ((bits >> int(_SHIFT)) & _MOVED)
        parts.append((bits * times).sum(dim=1).cpu().numpy())
    return np.concatenate(parts).view(np.uint64)


def _dense_sums(array: NDArray[Any], multipliers: Keys, square: bool) -> tuple[Keys, Keys]:
    n, d = array.shape
    over_rows, over_columns = np.zeros(n, dtype=np.uint64), np.zeros(d, dtype=np.uint64)
    step = max(1, _BLOCK // max(d, 1))
    for start in range(0, n, step):
        here = slice(start, start + step)
        hashed = _hashed(array[here])
        if square:
            own = np.arange(start, start + len(hashed))
            hashed[own - start, own] = 0
            over_columns += multipliers[here] @ hashed
        over_rows[here] = hashed @ multipliers
    return over_rows, over_columns


def _sparse_sums(array: Any, multipliers: Keys, square: bool) -> tuple[Keys, Keys]:
    n, d = array.shape
    over_rows, over_columns = np.zeros(n, dtype=np.uint64), np.zeros(d, dtype=np.uint64)
    for first, last in _blocks_of_rows(array.indptr):
        entries = slice(array.indptr[first], array.indptr[last])
        columns, hashed = array.indices[entries], _hashed(array.data[entries])
        counts = np.diff(array.indptr[first : last + 1])
        if square:
            hashed[hashed == 0] = _STORED_ZERO
            rows = np.repeat(np.arange(first, last), counts)
            hashed[rows == columns] = 0
            np.add.at(over_columns, columns, hashed * multipliers[rows])
        # What is added up wraps around, and so does the difference of two such sums: it is exact.
        so_far = np.concatenate([[np.uint64(0)], np.cumsum(hashed * multipliers[columns])])
        ends = np.cumsum(counts)
        over_rows[first:last] = so_far[ends] - so_far[ends - counts]
    return over_rows, over_columns


def _blocks_of_rows(indptr: NDArray[Any]) -> Iterator[tuple[int, int]]:
    """Cut the rows of a sparse matrix into blocks of about as many entries each."""
    n, n_blocks = len(indptr) - 1, 1 + int(indptr[-1]) // _BLOCK
    cuts = np.searchsorted(indptr, np.linspace(0, int(indptr[-1]), n_blocks + 1)[1:-1])
    bounds = np.unique(np.concatenate([[0], cuts, [n]])).tolist()
    return pairwise(bounds)


def _hashed(numbers: NDArray[Any]) -> Keys:
    """Return a hash of each number, in an array of its own: 0 for 0, and the same for all NaN."""
    own = np.add(numbers, 0.0, dtype=np.float64)  # -0.0 becomes 0.0
    empty = np.isnan(own)
    if empty.any():
        own[empty] = np.nan
    return _mixed(own.view(np.uint64))


def _mixed(bits: Keys) -> Keys:
    """Spread all bits of each number over all of its bits, in place: the finaliser of MurmurHash3."""
    bits ^= bits >> _SHIFT
    for factor in _FACTORS:
        bits *= factor
        bits ^= bits >> _SHIFT
    return bits
