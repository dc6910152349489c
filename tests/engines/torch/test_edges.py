"""Shared edges on a device and the values on them, against the readable engine."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra 'gpu': consilience[gpu]")

from consilience.engines import get_engine
from consilience.engines.torch import device as devices
from consilience.engines.torch import edges as passes
from consilience.engines.torch.device import Device
from consilience.engines.torch.handles import DeviceEdges
from consilience.graphs import EdgeKernel, EdgeSet, Moments

CPU, ORACLE = Device.of("cpu"), get_engine("numpy")
KERNELS = (
    EdgeKernel(),
    EdgeKernel(typical=0.3),
    EdgeKernel(moments=Moments(-1, 0.2, 0.5)),
    EdgeKernel(moments=Moments(0, 0.4, 0.0), width=2.0),
    EdgeKernel(moments=Moments(0, 0.0, 0.0)),
    EdgeKernel(typical=1.0, moments=Moments(1, 0.5, 0.1), width=0.7),
)


@pytest.fixture(params=[1 << 26, 1000], ids=["one block", "many blocks"], autouse=True)
def blocks(request, monkeypatch):
    """Do all work in one block, then in many."""
    monkeypatch.setitem(devices._BLOCK_BYTES, "cpu", request.param)


def random_lists(seed=0, n=80, widths=(5, 3, 6)):
    """Return lists with own numbers and repetitions, and a mask."""
    rng = np.random.default_rng(seed)
    lists = [rng.integers(n, size=(n, k)).astype(np.int32) for k in widths]
    for one in lists:
        one[7] = 7
    return lists, rng.random((n, len(widths))) < 0.7


def united(lists, mask):
    return passes.unite([CPU.put(one) for one in lists], mask, CPU)


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("widths", [(5, 3, 6), (4,), (0, 2), (0,)])
def test_lists_are_united(missing, widths):
    lists, mask = random_lists(widths=widths)
    mask = mask if missing else None
    found, expected = united(lists, mask), EdgeSet.union(lists, mask)
    assert found.get() == expected
    assert (found.indptr.dtype, found.indices.dtype) == (torch.int64, torch.int32)
    judged = passes.judged(found)
    assert (judged is None) == (ORACLE.judged(expected) is None)
    if judged is not None and expected.n_edges:
        np.testing.assert_array_equal(passes.judged_shares(judged), ORACLE.judged_shares(expected.seen))


def test_a_mask_of_samples_without_edges_judges_all():
    lists = [np.array([[1], [0], [2]], dtype=np.int32)]
    found = united(lists, np.array([[True], [True], [False]]))
    assert found.seen is not None and passes.judged(found) is None
    assert united(lists, np.ones((3, 1), dtype=bool)).seen is None


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("missing", [False, True])
def test_trust_on_edges_is_the_product_of_both_ends(dtype, missing):
    lists, mask = random_lists()
    edges = EdgeSet.union(lists, mask if missing else None)
    trust = np.random.default_rng(1).random((80, 3))
    like = torch.zeros((3, edges.n_edges), dtype=dtype)
    found = passes.trust_on_edges(DeviceEdges.put(edges, CPU), CPU.put(trust), like)
    expected = ORACLE.trust_on_edges(edges, trust, like.numpy())
    assert found.dtype == dtype
    np.testing.assert_array_equal(found.numpy(), expected)


@pytest.mark.parametrize("kernel", KERNELS, ids=range(len(KERNELS)))
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_kernel_gives_what_it_gives_for_arrays(kernel, dtype):
    rng = np.random.default_rng(2)
    values, seen = rng.gamma(1.0, size=200).astype(dtype), rng.random(200) < 0.6
    rtol = 1e-15 if dtype == np.float64 else 1e-6
    for there in (None, seen):
        found = passes.apply(kernel, CPU.put(values), None if there is None else CPU.put(there))
        expected = kernel(values, there)
        assert found.numpy().dtype == expected.dtype
        np.testing.assert_allclose(found.numpy(), expected, rtol=rtol, atol=rtol / 10)
    np.testing.assert_array_equal(
        passes.transform(CPU.put(values), kernel), passes.apply(kernel, CPU.put(values))
    )


@pytest.mark.parametrize("exponent", [-1024, -1022, -3, 0, 5, 1023, 1073])
@pytest.mark.parametrize("value", [5e-324, 1e-310, 1e-300, 0.3, 1e300])
def test_powers_of_two_are_those_of_numpy(exponent, value):
    values = np.array([value, 0.0, value / 3])
    with np.errstate(over="ignore"):
        expected = np.ldexp(values, exponent)
    np.testing.assert_array_equal(passes._ldexp(CPU.put(values), exponent).numpy(), expected)


@pytest.mark.parametrize("kernel", [None, *KERNELS], ids=range(len(KERNELS) + 1))
@pytest.mark.parametrize("unit", [1.0, 1e-300, 1e300])
@pytest.mark.parametrize("missing", [False, True])
def test_moments_and_means(kernel, unit, missing):
    rng = np.random.default_rng(3)
    values, judged = rng.random(300) * unit, rng.random((2, 300)) < 0.5
    judged = judged if missing else None
    mine, marks = CPU.put(values), None if judged is None else CPU.put(judged)
    with np.errstate(over="ignore"):
        expected = ORACLE.moments(values, judged, 1, kernel)
        root = ORACLE.mean_root(values, judged, 1, kernel)
    found = passes.moments(mine, marks, 1, kernel)
    assert found.exponent == expected.exponent
    assert (found.mean, found.deviation) == pytest.approx((expected.mean, expected.deviation), rel=1e-12)
    assert passes.mean_root(mine, marks, 1, kernel) == pytest.approx(root, rel=1e-13)
    assert passes.mean(mine) == pytest.approx(ORACLE.mean(values), rel=1e-13)


def test_means_of_nothing_and_of_zeros_are_1():
    values, none = CPU.zeros(5), torch.zeros((1, 5), dtype=torch.bool)
    assert passes.moments(values, none, 0) == Moments(0, 1.0, 0.0)
    assert passes.moments(values, None, 0) == ORACLE.moments(values.numpy(), None, 0)
    assert passes.mean_root(values, none, 0) == passes.mean_root(values, None, 0) == 1.0
    assert passes.mean(values) == passes.mean_positive(values) == 1.0
    assert passes.mean_positive(torch.tensor([-1.0, 2.0, 0.0, 4.0])) == 3.0


@pytest.mark.parametrize("missing", [False, True])
def test_weights_of_all_views_and_their_precision(missing, monkeypatch):
    lists, mask = random_lists()
    edges = EdgeSet.union(lists, mask if missing else None)
    values = np.random.default_rng(4).random((3, edges.n_edges))
    parts = list(zip(values, KERNELS[1:4], strict=True))
    mine = [(CPU.put(row), kernel) for row, kernel in parts]
    expected = ORACLE.weigh(edges, 3, parts)
    placed = DeviceEdges.put(edges, CPU)
    double = passes.weigh(placed, 3, iter(mine))
    assert double.dtype == torch.float64
    np.testing.assert_allclose(double, expected, rtol=1e-14)
    monkeypatch.setattr(passes, "MANY_VALUES", values.size - 1)
    single = passes.weigh(placed, 3, iter(mine))
    assert single.dtype == torch.float32
    np.testing.assert_array_equal(single, double.float())
    assert passes.weigh(placed, 3, iter(mine), torch.float64).dtype == torch.float64
