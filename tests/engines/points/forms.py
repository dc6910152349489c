"""Views in every form, and what is near in them by definition: for the tests of this folder."""

import numpy as np
import pytest
from hypothesis import strategies as st
from scipy import sparse

from consilience.spaces import is_precomputed, metric_names

BOOLEAN = {
    "dice", "jaccard", "kulsinski", "matching", "rogerstanimoto", "russellrao", "sokalmichener",
    "sokalsneath", "yule",
}  # fmt: skip
OTHER = [
    name
    for name in metric_names()
    if name not in ("auto", "euclidean", "cosine", "gower") and not is_precomputed(name)
]
BOTH = pytest.mark.parametrize("metric", ["euclidean", "cosine"])


def with_long_indices(csr):
    # The constructor would choose the narrowest type again.
    csr.indices, csr.indptr = csr.indices.astype(np.int64), csr.indptr.astype(np.int64)
    return csr


FORMS = {
    "dense": np.ascontiguousarray,
    "dense float32": lambda x: x.astype(np.float32),
    "csr_array": sparse.csr_array,
    "csr_matrix": sparse.csr_matrix,
    "csr int64": lambda x: with_long_indices(sparse.csr_array(x)),
    "csr float32": lambda x: sparse.csr_array(x.astype(np.float32)),
}
DOUBLE = ("dense", "csr_array")
every_form = pytest.mark.parametrize("form", FORMS)
double_forms = pytest.mark.parametrize("form", DOUBLE)


def dense(array):
    """What a form holds, in float64."""
    return np.asarray(array.toarray() if sparse.issparse(array) else array, dtype=np.float64)


def unit_rows(x):
    largest = np.abs(x).max(axis=1, keepdims=True)
    scaled = x / np.where(largest == 0, 1, largest)
    length = np.sqrt((scaled**2).sum(axis=1, keepdims=True))
    return scaled / np.where(length == 0, 1, length)


def squared_differences(x):
    return np.array([((x - row) ** 2).sum(axis=1) for row in x])


def keys(array, metric):
    """All pairs by definition: squared Euclidean distances, or twice the cosine distances."""
    x = dense(array)
    if metric == "euclidean":
        return squared_differences(x)
    found = squared_differences(unit_rows(x))
    blank = ~x.any(axis=1)
    found[blank | blank[:, None]] = 2.0
    np.fill_diagonal(found, 0)
    return found


def smallest(pairs, k):
    """The k smallest of each row by (value, index), itself left out."""
    pairs = pairs.copy()
    np.fill_diagonal(pairs, np.inf)
    return np.argsort(pairs, axis=1, kind="stable")[:, :k]


def assert_as_near(found, pairs, k, tolerance=1e-12):
    """The answer is right up to rounding: k others, as near as the k nearest."""
    assert found.shape == (len(pairs), k)
    assert all(len(set(row) - {i}) == k for i, row in enumerate(found.tolist()))
    expected = np.take_along_axis(pairs, smallest(pairs, k), axis=1)
    np.testing.assert_allclose(np.take_along_axis(pairs, found, axis=1), expected, rtol=tolerance, atol=0)


@st.composite
def sizes(draw, most=300):
    """Number of samples, features and neighbours; often few neighbours, sometimes all."""
    n = draw(st.integers(2, most))
    k = draw(st.one_of(st.integers(1, min(n - 1, 12)), st.integers(1, n - 1), st.just(n - 1)))
    return n, draw(st.integers(1, 50)), k


seeds = st.integers(0, 2**32 - 1)


def data_for(metric, n=40):
    rng = np.random.default_rng(15)
    if metric in BOOLEAN:
        x = rng.random((n, 8)) < 0.4
        x[:, 0] |= ~x.any(axis=1)  # between two rows of zeros some of them are 0 / 0
        return x
    return rng.uniform(0.1, 1.5, size=(n, 2 if metric == "haversine" else 4))


def symmetric(n, seed, largest=9):
    upper = np.triu(np.random.default_rng(seed).integers(0, largest + 1, size=(n, n)), 1)
    return (upper + upper.T).astype(float)


def assert_mean_over_pairs(view, pairs, rtol=1e-12):
    """The mean of these pairs by definition, a sample's with itself counted as 0."""
    pairs = pairs.copy()
    np.fill_diagonal(pairs, 0)
    np.testing.assert_allclose(view.mean_over_pairs(), pairs.mean(), rtol=rtol)


KINDS = ("numeric", "categorical", "ordinal")


def gower(x, kinds, y=None):
    """Gower's distances of all pairs, by definition."""
    y = x if y is None else y
    total, common = np.zeros((2, len(x), len(y)))
    for f, kind in enumerate(kinds):
        a, b = x[:, f, None], y[None, :, f]
        known = ~np.isnan(a) & ~np.isnan(b)
        if kind == "categorical":
            apart = (a != b).astype(float)
        else:
            values = y[~np.isnan(y[:, f]), f]
            span = np.ptp(values) if len(values) else 0
            apart = np.abs(a - b) / span if span > 0 else np.zeros(known.shape)
        total += np.where(known, apart, 0)
        common += known
    return np.divide(total, common, out=np.ones_like(total), where=common > 0)


def mixed(rng, n, d, empty=0.2):
    """Random columns of all kinds, with empty cells."""
    kinds = tuple(rng.choice(KINDS, size=d).tolist())
    x = np.empty((n, d))
    for f, kind in enumerate(kinds):
        x[:, f] = rng.normal(size=n) if kind == "numeric" else rng.integers(0, 4, size=n)
    x[rng.random((n, d)) < empty] = np.nan
    return x, kinds


NUMBA = pytest.mark.parametrize("engine", ["numba"])  # where only the compiled engine has what is tested
