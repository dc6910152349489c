import numpy as np
import pytest
from scipy import sparse

torch = pytest.importorskip("torch", reason="needs the extra 'gpu': consilience[gpu]")

from tests.engines.torch.device_graphs import GRAPHS, planted, ring

from consilience.engines.torch import device as device_module
from consilience.engines.torch.device import Device
from consilience.engines.torch.handles import DeviceGraph
from consilience.engines.torch.spectrum import filtered_iteration as module
from consilience.engines.torch.spectrum.block_product import (
    BlockProduct,
    columns_inner,
    inner,
    remove,
    squared_residuals,
    turned,
)
from consilience.engines.torch.spectrum.filtered_iteration import FilteredIteration
from consilience.spectra import NormalizedLaplacian

CPU = Device.of("cpu")


def started(operator, n_wanted, tol=1e-5, seed=0):
    return FilteredIteration(
        DeviceGraph.put(operator.adjacency, CPU), CPU.put(operator.null_space()), n_wanted, tol, seed
    )


@pytest.mark.parametrize("tol", [1e-5, 1e-10])
@pytest.mark.parametrize("name", GRAPHS)
def test_hard_graphs_agree_with_a_dense_solver(name, tol):
    make, n_wanted = GRAPHS[name]
    operator = NormalizedLaplacian(make())
    iteration = started(operator, n_wanted, tol)
    assert iteration.run(1500)
    found = iteration.found()
    values, basis = np.linalg.eigh(operator.adjacency.toarray())
    values, basis = values[::-1], basis[:, ::-1]
    q, vectors = operator.n_connected, Device.get(found.vectors)
    np.testing.assert_allclose(found.values, values[q : q + n_wanted], atol=tol)
    residuals = np.linalg.norm(operator.adjacency @ vectors - vectors * found.values, axis=0)
    np.testing.assert_allclose(found.residuals, residuals, atol=1e-12)
    assert residuals.max() <= tol
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(n_wanted), atol=1e-12)
    np.testing.assert_allclose(operator.null_space().T @ vectors, 0, atol=1e-12)
    gap = values[q + n_wanted - 1] - values[q + n_wanted]
    if gap > 100 * tol:
        inside = basis[:, : q + n_wanted]
        outside = np.linalg.norm(vectors - inside @ (inside.T @ vectors), 2)
        assert outside <= 2 * np.sqrt(n_wanted) * tol / gap


@pytest.mark.parametrize("tol", [1e-5, 1e-10])
def test_copies_at_the_end_of_the_block_do_not_take_long_from_any_start(tol):
    operator = NormalizedLaplacian(GRAPHS["identical rings"][0]())
    for seed in range(6):
        assert started(operator, 40, tol, seed).run(400)


def test_the_same_seed_gives_the_same_bits_and_blocks_give_the_same_vectors(monkeypatch):
    operator = NormalizedLaplacian(planted(800, 8, 0.05))
    runs = [started(operator, 7, seed=seed) for seed in (1, 1, 2, 10**30)]
    for run in runs:
        assert run.run(100)
    one, again, other, _ = (run.found().vectors for run in runs)
    assert torch.equal(one, again)
    assert not torch.equal(one, other)
    monkeypatch.setitem(device_module._BLOCK_BYTES, "cpu", 20_000)
    run = started(operator, 7, seed=1)
    assert run.run(100)
    assert torch.linalg.matrix_norm(run.found().vectors.T @ one).item() == pytest.approx(np.sqrt(7), abs=1e-4)


def test_it_can_be_stopped_and_taken_up_again():
    operator = NormalizedLaplacian(ring(600))
    one, two = started(operator, 5), started(operator, 5)
    assert not one.run(30)
    assert one.run(20_000)
    assert two.run(20_000)
    assert one.n_products == two.n_products
    assert torch.equal(one.found().vectors, two.found().vectors)


def test_a_lower_bound_that_is_none_is_lowered(monkeypatch):
    monkeypatch.setattr(FilteredIteration, "_lower_bound", lambda self: -0.1)
    operator = NormalizedLaplacian(planted(300, 3, 0.05))
    iteration = started(operator, 12)
    assert iteration.run(2000)
    assert iteration._low < -0.1


def test_directions_that_are_lost_are_drawn_anew(monkeypatch):
    monkeypatch.setattr(module, "_NO_DIRECTION", 0.2)
    operator = NormalizedLaplacian(planted(800, 8, 0.05))
    iteration = started(operator, 7)
    assert iteration.run(2000)
    values = np.linalg.eigvalsh(operator.adjacency.toarray())[::-1][1:8]
    np.testing.assert_allclose(iteration.found().values, values, atol=1e-5)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("block_bytes", [1 << 26, 500])
def test_products_of_blocks(dtype, block_bytes, monkeypatch):
    monkeypatch.setitem(device_module._BLOCK_BYTES, "cpu", block_bytes)
    rng, close = np.random.default_rng(0), {"rtol": 1e-5 if dtype == torch.float32 else 1e-12, "atol": 1e-4}
    n = 9000 if block_bytes > 500 else 300  # more than one part, or many blocks
    x, y = (CPU.put(rng.normal(size=(n, m)), dtype) for m in (5, 3))
    a, b = Device.get(x).astype(float), Device.get(y).astype(float)
    np.testing.assert_allclose(inner(x, y), a.T @ b, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(columns_inner(x, x), (a * a).sum(axis=0), rtol=1e-12)
    theta = rng.random(5)
    expected = ((2 * a - a * theta) ** 2).sum(axis=0)
    np.testing.assert_allclose(squared_residuals(x, 2 * x, CPU.put(theta)), expected, rtol=1e-6)
    np.testing.assert_allclose(turned(x, np.ones((5, 2))), a @ np.ones((5, 2)), **close)
    basis = CPU.put(np.linalg.qr(rng.normal(size=(n, 4)))[0], dtype)
    remove(x, basis)
    np.testing.assert_allclose(inner(basis, x), 0, atol=close["atol"])
    before = x.clone()
    remove(x, basis[:, :0])
    assert torch.equal(x, before)
    graph = sparse.random(n, n, 4 / n, random_state=rng, format="csr")
    product, out = BlockProduct(DeviceGraph.put(graph, CPU)), y.clone()
    product.combine(y, out, 2.0, 3.0, -0.5)
    np.testing.assert_allclose(out, 2 * graph @ b + 2.5 * b, **close)
    assert product(y).dtype == dtype
