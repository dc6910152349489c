import numpy as np
import pytest
from scipy import sparse
from tests.engines.names import HOST_ENGINES

from consilience.engines import get_engine
from consilience.engines import numba as numba_engine
from consilience.spaces import Space, scaling
from consilience.spaces.scaling import Scaling, looks_like_counts, seems_counted, thinned


@pytest.fixture(params=HOST_ENGINES, scope="module")
def engine(request):
    return get_engine(request.param)


def plan_rescaling(x, metric, engine, seen=None):
    return scaling.plan_rescaling(x, metric, seen, engine)


def rescaled(x, plan):
    return Scaling(plan)(x)


def without_standing_apart(x, engine):
    return scaling._without_standing_apart(x, engine)


def normal(n=200, d=30, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def test_features_of_similar_spread_are_left_alone(engine):
    x = normal() * np.linspace(1, 4, 30)
    assert plan_rescaling(x, "euclidean", engine) is None
    assert rescaled(x, None) is x


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine"])
@pytest.mark.parametrize("n_huge", [1, 2, 5])
def test_features_that_stand_apart_are_rescaled_alone(engine, metric, n_huge):
    x = normal()
    x[:, 3 : 3 + n_huge] *= 1e4
    found = plan_rescaling(x, metric, engine)
    assert set(found.features) == set(range(3, 3 + n_huge)) and not found.all_features
    result = rescaled(x, found)
    np.testing.assert_array_equal(np.delete(result, found.features, 1), np.delete(x, found.features, 1))
    np.testing.assert_allclose(result[:, found.features].std(axis=0), 1, rtol=0.15)


def test_principal_components_are_left_alone(engine):
    x = normal(d=12) * 10.0 ** -np.arange(12)
    for metric in ("euclidean", "manhattan"):
        assert plan_rescaling(x, metric, engine) is None
    assert without_standing_apart(x, engine) is x
    assert plan_rescaling(x[:, ::-1], "euclidean", engine).all_features


def test_a_tiny_entry_makes_no_counts(engine):
    x = np.where(
        np.random.default_rng(0).random((100, 200)) < 0.1, np.random.default_rng(1).random((100, 200)), 0
    )
    for tiny in (1e-20, 5e-324):
        x[0, 0] = tiny
        assert plan_rescaling(x, "cosine", engine) is None
    plan_rescaling(1e-200 * counts(), "cosine", engine)  # squares that are 0 give no warning


def test_spread_over_orders_of_magnitude_everything_is_scaled(engine):
    x = normal(d=12) * 10.0 ** np.arange(12)
    found = plan_rescaling(x, "euclidean", engine)
    assert found.all_features and 1 <= found.n_effective < 1.1
    np.testing.assert_allclose(rescaled(x, found).std(axis=0), 1)


def test_what_words_do_is_left_alone_under_cosine(engine):
    counts = normal(d=50) ** 2 * 2.0 ** np.arange(50)
    assert plan_rescaling(counts, "euclidean", engine).all_features
    assert plan_rescaling(counts, "cosine", engine) is None


@pytest.mark.parametrize("metric", ["correlation", "jaccard", "seuclidean", "mahalanobis", "hamming"])
def test_other_metrics_are_left_alone(engine, metric):
    x = normal()
    x[:, 0] *= 1e6
    assert plan_rescaling(x, metric, engine) is None


@pytest.mark.parametrize("factor", [1e-6, 1.0, 1e6])
def test_the_unit_of_the_view_does_not_matter(engine, factor):
    x = normal(d=12) * 10.0 ** np.arange(12)
    one, other = (rescaled(a, plan_rescaling(a, "euclidean", engine)) for a in (x, factor * x))
    np.testing.assert_allclose(other, one, rtol=1e-12)


@pytest.mark.parametrize(("ratio", "scaled"), [(3.0, False), (6.0, True), (1e5, True)])
def test_two_features(engine, ratio, scaled):
    x = normal(d=2) * [ratio, 1]
    assert (plan_rescaling(x, "euclidean", engine) is not None) == scaled


def test_two_strange_columns_in_a_narrow_view(engine):
    x = normal(d=8)
    x[:, 6:] *= 1e3
    found = plan_rescaling(x, "euclidean", engine)
    np.testing.assert_array_equal(np.sort(found.features), [6, 7])
    assert not found.all_features


def test_numbers_too_large_are_left_to_others(engine):
    x = normal()
    x[:, 0] *= 1e200
    assert plan_rescaling(x, "euclidean", engine) is plan_rescaling(x, "cosine", engine) is None
    assert without_standing_apart(x, engine) is x


def test_constant_features_and_rounding_do_not_count(engine):
    x = normal()
    x[:, 0] = 1e6
    x[:, 1] = 1e6 * (1 + 1e-15 * x[:, 1])
    x[:, 2] = 0
    assert plan_rescaling(x, "euclidean", engine) is None
    x *= 10.0 ** np.arange(30.0)
    result = rescaled(x, plan_rescaling(x, "euclidean", engine))
    assert np.isfinite(result).all() and np.ptp(result[:, :3], axis=0).max() == 0


@pytest.mark.parametrize("d", [1, 2])
def test_constant_views(engine, d):
    assert plan_rescaling(np.ones((5, d)), "euclidean", engine) is None
    assert plan_rescaling(np.zeros((5, d)), "cosine", engine) is None


def test_sparse_and_dense_agree(engine):
    x = np.where(np.random.default_rng(1).random((100, 40)) < 0.2, normal(100, 40), 0)
    x[:, 5] *= 1e5
    for metric in ("euclidean", "cosine"):
        one, other = plan_rescaling(x, metric, engine), plan_rescaling(sparse.csr_array(x), metric, engine)
        np.testing.assert_array_equal(one.features, other.features)
        np.testing.assert_allclose(one.factors, other.factors, rtol=1e-10)
        scaled = rescaled(sparse.csr_array(x), other)
        assert isinstance(scaled, sparse.csr_array)
        np.testing.assert_allclose(scaled.toarray(), rescaled(x, one), rtol=1e-10)


def test_single_precision_stays(engine):
    x = normal().astype(np.float32)
    x[:, 0] *= 1e4
    assert rescaled(x, plan_rescaling(x, "euclidean", engine)).dtype == np.float32
    assert Scaling.standard(x, None, engine)(x).dtype == np.float32


def test_counts_are_recognised_next_to_columns_that_stand_apart(engine):
    rng = np.random.default_rng(2)
    counts = rng.poisson(0.05, size=(100, 200)).astype(float)
    strange = np.concatenate([counts, 1e5 * rng.normal(size=(100, 2))], axis=1)
    np.testing.assert_array_equal(without_standing_apart(strange, engine), counts)
    assert without_standing_apart(counts, engine) is counts


def counts(n=100, d=200, seed=2):
    return np.random.default_rng(seed).poisson(0.05, size=(n, d)).astype(float)


@pytest.mark.parametrize("unit", [1.0, 1e6, 0.1])
@pytest.mark.parametrize("make", [np.array, sparse.csr_array])
def test_counts_are_taken_by_their_square_roots_under_cosine(engine, unit, make):
    x = counts()
    result = rescaled(make(unit * x), plan_rescaling(make(unit * x), "cosine", engine))
    result = result if isinstance(result, np.ndarray) else result.toarray()
    np.testing.assert_allclose(result, np.sqrt(unit * x))
    assert plan_rescaling(x, "euclidean", engine) is None


def test_what_is_not_a_count_keeps_its_size(engine):
    x = counts()
    for other in (x * np.random.default_rng(0).uniform(1, 2, size=x.shape), (x > 0) * 1.0, x + 1):
        assert plan_rescaling(other, "cosine", engine) is None


def test_counts_next_to_columns_that_stand_apart(engine):
    x = counts()
    strange = np.concatenate([1e5 * np.random.default_rng(0).normal(size=(100, 2)), x], axis=1)
    for make in (np.array, sparse.csr_array):
        plan = plan_rescaling(make(strange), "cosine", engine)
        np.testing.assert_array_equal(np.sort(plan.features), [0, 1])
        result = rescaled(make(strange), plan)
        result = result if isinstance(result, np.ndarray) else result.toarray()
        np.testing.assert_allclose(result[:, 2:], np.sqrt(x))
        np.testing.assert_allclose((result[:, :2] ** 2).mean(axis=0), np.mean(result[:, 2:] ** 2))


# ---- large views, and rows that were not seen


def views_to_scale():
    rng = np.random.default_rng(7)
    x = rng.normal(size=(300, 12))
    x[:, 3] *= 1e4
    words = np.where(rng.random((300, 12)) < 0.85, 0, rng.integers(1, 5, size=(300, 12))).astype(float)
    spread = x * 10.0 ** rng.permuted(np.arange(12))
    return {"apart": x, "words": words, "spread": spread, "as it is": rng.normal(size=(300, 12))}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("name", views_to_scale())
def test_blocks_are_scaled_as_the_whole(monkeypatch, name, metric, dtype):
    x, engine = views_to_scale()[name].astype(dtype), get_engine("numba")
    for plan in (Scaling(plan_rescaling(x, metric, engine)), Scaling.standard(x, None, engine)):
        whole = plan(x)
        for entries in (100, 1 << 18):
            monkeypatch.setattr(numba_engine, "_ENTRIES", entries)
            in_blocks = numba_engine._scaled(Space(name, x, metric, plan))
            np.testing.assert_array_equal(in_blocks, whole)
            assert in_blocks.dtype == dtype and in_blocks.flags.c_contiguous


@pytest.mark.parametrize(("engine", "size"), [("numba", 0), ("numba", 1 << 22), ("numpy", None)])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("name", views_to_scale())
def test_rows_that_were_not_seen_say_nothing(monkeypatch, name, make, engine, size):
    """As if only the others were there, computed at once or in blocks."""
    if size is not None:
        monkeypatch.setattr(numba_engine, "MANY_ENTRIES", size)
    engine = get_engine(engine)
    x = views_to_scale()[name]
    seen = np.arange(300) % 3 > 0
    x[~seen] = 0
    for metric in ("euclidean", "cosine"):
        one = plan_rescaling(make(x), metric, engine, seen)
        other = plan_rescaling(make(x[seen]), metric, engine)
        assert (one is None) == (other is None)
        if one is not None:
            np.testing.assert_array_equal(one.features, other.features)
            np.testing.assert_allclose(one.factors, other.factors, rtol=1e-12)
    one, other = Scaling.standard(make(x), seen, engine), Scaling.standard(make(x[seen]), None, engine)
    np.testing.assert_allclose(one.factors, other.factors, rtol=1e-12)
    for rescaling in (False, True):
        counted = seems_counted(make(x), seen, engine, rescaled=rescaling)
        rows = make(x[seen])
        assert counted is looks_like_counts(without_standing_apart(rows, engine) if rescaling else rows)
        assert counted is (name == "words")


@pytest.mark.parametrize("share", [0.05, 0.1, 0.5])
def test_mostly_zeros_are_stored_without_them(monkeypatch, share):
    x = np.zeros((200, 10))
    x.flat[: int(share * x.size)] = 1
    for block in (30, 1 << 18):
        monkeypatch.setattr(scaling, "_BLOCK", block)
        assert sparse.issparse(thinned(x)) == (share < 0.1)
