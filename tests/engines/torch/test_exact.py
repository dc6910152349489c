"""The exact search on a device, next to sorting all pairs by definition."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

torch = pytest.importorskip("torch", reason="needs the extra 'gpu': consilience[gpu]")

from consilience.engines.numpy.points import _rounded
from consilience.engines.torch import device as devices
from consilience.engines.torch.device import Device
from consilience.engines.torch.points.dense_rows import DenseRows, unit_rows
from consilience.engines.torch.points.precise import leading_digits, times_power, tree_sum, whole_sums
from consilience.engines.torch.points.sparse_rows import SparseRows
from consilience.engines.torch.search import exact

CPU = Device.of("cpu")
FORMS = ("dense", "sparse")


def rows_of(x, form, cosine=False):
    if form == "sparse":
        return SparseRows.of(sparse.csr_array(x), cosine, CPU)
    return DenseRows.of(x, cosine, False, CPU)


def expected(x, k, queries=None, cosine=False):
    """Return the k nearest by (squared distance to twelve digits, number)."""
    x = np.asarray(x, dtype=np.float64)
    if cosine:
        x = unit_rows(torch.from_numpy(x), False)[0].numpy()
    pairs = np.array([((x - row) ** 2).sum(axis=1) for row in (x if queries is None else queries)])
    if cosine:
        blank = ~x.any(axis=1)
        pairs[blank | blank[:, None]] = 2.0
    if queries is None:
        np.fill_diagonal(pairs, np.inf)
    return np.argsort(_rounded(pairs), axis=1, kind="stable")[:, :k]


def far_outlier(rng):
    x = rng.normal(size=(300, 4))
    x[7] = 1e13
    return x


DATA = {
    "normal": lambda rng: rng.normal(size=(300, 9)),
    "many columns": lambda rng: rng.normal(size=(60, 700)),
    "ties": lambda rng: np.round(rng.normal(size=(300, 2))),
    "far from the origin": lambda rng: 1e9 + rng.integers(-20, 21, size=(300, 3)) / 16,
    "nearer than single precision": lambda rng: 1 + rng.integers(-99, 99, size=(300, 2)) * 2.0**-30,
    "an outlier": far_outlier,
    "all the same": lambda rng: np.full((100, 3), 0.3),
    "tiny": lambda rng: 1e-100 * rng.normal(size=(200, 3)),
    "huge": lambda rng: 1e150 * rng.normal(size=(200, 3)),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("tiny_blocks", [False, True])
def test_the_nearest_are_those_of_the_definition(form, name, tiny_blocks, monkeypatch):
    x = DATA[name](np.random.default_rng(0))
    if tiny_blocks:
        x = x[:40]
        monkeypatch.setitem(devices._BLOCK_BYTES, "cpu", 1)
        monkeypatch.setitem(exact._COLUMNS, "cpu", 23)
    rows = rows_of(x, form)
    for k in (1, 7, len(x) - 1):
        np.testing.assert_array_equal(exact.nearest(rows, rows, k, own=True), expected(x, k))


@pytest.mark.parametrize("form", FORMS)
def test_many_columns_are_looked_at_in_groups(form):
    x = np.random.default_rng(1).normal(size=(3000, 6))
    rows = rows_of(x, form)
    np.testing.assert_array_equal(exact.nearest(rows, rows, 5, own=True), expected(x, 5))


def test_rows_that_have_nothing_in_common_are_equally_far():
    rng = np.random.default_rng(2)
    x = np.where(rng.random((200, 80)) < 0.02, rng.random((200, 80)), 0.0)
    x[:5] = 0
    for form in FORMS:
        rows = rows_of(x, form, cosine=True)
        found = exact.nearest(rows, rows, 12, own=True).numpy()
        np.testing.assert_array_equal(found[:5], expected(x, 12, cosine=True)[:5])
        common = x @ x.T > 0
        for i, row in enumerate(found):
            apart = row[~common[i, row]]
            others = np.flatnonzero(~common[i] & (np.arange(200) != i))
            np.testing.assert_array_equal(apart, others[: len(apart)])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("distance", [0, 1e9, 1e20, 1e40, 1e130, 1e200])
def test_new_rows_anywhere(form, distance):
    rng = np.random.default_rng(3)
    x, queries = rng.integers(-4, 5, size=(90, 3)).astype(float), rng.normal(size=(8, 3)) + distance
    found = exact.nearest(rows_of(queries, form), rows_of(x, form), 90, own=False).numpy()
    with np.errstate(over="ignore"):
        pairs = ((queries[:, None] - x[None]) ** 2).sum(axis=2)
    got = np.take_along_axis(pairs, found, axis=1)
    np.testing.assert_allclose(got, np.sort(pairs, axis=1), rtol=1e-11)
    assert all(set(row) == set(range(90)) for row in found.tolist())
    if distance >= 1e20:
        np.testing.assert_array_equal(found, np.tile(np.arange(90), (8, 1)))


def test_coarser_products_are_not_trusted(monkeypatch):
    monkeypatch.setattr(torch, "get_float32_matmul_precision", lambda: "high")
    assert exact.first_precision() == torch.float64
    x = np.random.default_rng(4).normal(size=(100, 3))
    rows = rows_of(x, "dense")
    np.testing.assert_array_equal(exact.nearest(rows, rows, 5, own=True), expected(x, 5))


@pytest.mark.parametrize("form", FORMS)
def test_pairs_are_measured_alike_in_both_directions_and_in_any_block(form, monkeypatch):
    rng = np.random.default_rng(5)
    x = rng.normal(size=(40, 33)) * (rng.random((40, 33)) < 0.4)
    x[3] = 0
    rows, (i, j) = rows_of(x, form), torch.cartesian_prod(torch.arange(40), torch.arange(40)).T
    whole = rows.apart(i, rows, j)
    np.testing.assert_array_equal(whole, rows.apart(j, rows, i))
    np.testing.assert_allclose(whole, ((x[i] - x[j]) ** 2).sum(axis=1), rtol=1e-13)
    assert not whole[i == j].any()
    monkeypatch.setitem(devices._BLOCK_BYTES, "cpu", 1)
    np.testing.assert_array_equal(whole, rows.apart(i, rows, j))
    assert rows.apart(i[:0], rows, j[:0]).shape == (0,)


@pytest.mark.parametrize("form", FORMS)
def test_variance_and_equal_rows(form):
    x = np.random.default_rng(6).normal(size=(50, 6)) + 1e6
    rows = rows_of(x, form)
    assert rows.total_variance() == pytest.approx(x.var(axis=0).sum(), rel=1e-9)
    assert not rows.are_equal()
    assert rows_of(np.tile(x[:1], (9, 1)), form).are_equal()
    order = np.random.default_rng(7).permutation(50)
    other = rows.reordered(torch.from_numpy(order))
    np.testing.assert_array_equal(
        exact.nearest(other, other, 4, own=True), exact.nearest(*[rows_of(x[order], form)] * 2, 4, own=True)
    )


def test_rows_that_do_not_fit_come_in_blocks(monkeypatch):
    class Elsewhere(DenseRows):
        """Rows as if they were on another device than the search."""

        n_sent = 0

        def _sent(self, part):
            Elsewhere.n_sent += 1
            return part.clone()

    x = np.random.default_rng(8).normal(size=(80, 4))
    rows = Elsewhere.of(x, True, True, CPU)
    assert rows.is_unit
    plain = DenseRows.of(x, True, True, CPU)
    np.testing.assert_array_equal(
        exact.nearest(rows, rows, 5, own=True), exact.nearest(plain, plain, 5, own=True)
    )
    assert Elsewhere.n_sent > 0


def test_sums_do_not_depend_on_how_many_rows_there_are():
    x = torch.from_numpy(np.random.default_rng(9).normal(size=(50, 8193)))
    whole = tree_sum(x.clone())
    for width in (1, 3, 50):
        np.testing.assert_array_equal(tree_sum(x[:width].clone()), whole[:width])
    np.testing.assert_allclose(whole, x.sum(dim=1), rtol=1e-10)
    assert tree_sum(x[:, :0]).tolist() == [0.0] * 50


def test_sums_of_whole_numbers():
    rng = np.random.default_rng(10)
    owners = torch.from_numpy(rng.integers(0, 20, 500))
    terms = torch.from_numpy(rng.random(500) * 10.0 ** rng.integers(-300, 300, 20)[owners])
    counts = torch.bincount(owners, minlength=21)
    found = whole_sums(terms, owners, counts)
    np.testing.assert_allclose(found[:20], np.bincount(owners, weights=terms), rtol=1e-13)
    assert found[20] == 0
    order = torch.from_numpy(rng.permutation(500))
    np.testing.assert_array_equal(found, whole_sums(terms[order], owners[order], counts))
    terms[3] = torch.inf
    assert torch.isinf(whole_sums(terms, owners, counts)[owners[3]])


def test_digits_and_powers():
    values = torch.tensor([0.0, 1e-300, 1.0, 1.0 + 3e-13, 1e300, torch.inf], dtype=torch.float64)
    digits = leading_digits(values)
    assert (torch.diff(digits) >= 0).all() and digits[2] != digits[4]
    assert times_power(values[2:3], torch.tensor([-1060])).item() == 2.0**-1060
