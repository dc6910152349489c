"""Every engine through every function of the seam, next to the readable one, on random and on real data."""

import numpy as np
import pytest
from scipy import sparse
from tests.engines.names import ENGINES, HOST_ENGINES

from consilience import Views, ampute, load_digits_views
from consilience.engines import Engine, get_engine
from consilience.engines.numba import NumbaEngine
from consilience.models import AverageGraph, DistanceGraphFusion, SimilarityGraphFusion, systems
from consilience.spaces import Space
from consilience.testing import EngineProblem, check_engine, engine_checks, random_problems
from consilience.testing.engines.trial import Trial

CHECKS = {check.name: check for check in engine_checks()}
PROBLEMS = {problem.name: problem for problem in random_problems()}


@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS.keys())
@pytest.mark.parametrize("check", CHECKS.values(), ids=CHECKS.keys())
@pytest.mark.parametrize("name", ENGINES)
def test_on_random_problems(name, check, problem):
    check.run(Trial(get_engine(name), problem))


def test_every_function_of_the_seam_is_checked():
    covered = {function for check in CHECKS.values() for function in check.covers}
    assert covered == Engine.__abstractmethods__


def real_problem(name, arrays, metrics, n=160, k=8, missing=0.0):
    """Take some samples of real views; the last nine are new ones."""
    rng = np.random.default_rng(0)
    rows = np.sort(rng.permutation(arrays[0].shape[0])[: n + 9])
    arrays = [sparse.csr_array(x)[rows] if sparse.issparse(x) else np.asarray(x)[rows] for x in arrays]
    old, new = [x[:n] for x in arrays], tuple(x[n:] for x in arrays)
    seen = [None] * len(old)
    if missing:
        views = ampute(old, missing, random_state=0)
        seen = [views.seen(i) for i in range(views.n_views)]
    spaces = tuple(
        Space(f"{name}_{i}", x, metric, seen=one)
        for i, (x, metric, one) in enumerate(zip(old, metrics, seen, strict=True))
    )
    return EngineProblem(name, spaces, k, new, n_clusters=5)


@pytest.mark.parametrize("missing", [0.0, 0.3], ids=["complete", "missing samples"])
@pytest.mark.parametrize("name", ENGINES)
def test_on_digits(name, missing):
    views, _ = load_digits_views(return_X_y=True)
    arrays = list(views.values())[:3]
    problem = real_problem("digits", arrays, ["euclidean", "cosine", "manhattan"], missing=missing)
    check_engine(get_engine(name), problems=[problem])


@pytest.mark.long
@pytest.mark.parametrize("missing", [0.0, 0.3], ids=["complete", "missing samples"])
@pytest.mark.parametrize(
    ("data", "metric"), [("3Sources", "cosine"), ("MSRC_v1", "euclidean"), ("BBCSport", "euclidean")]
)
@pytest.mark.parametrize("name", ENGINES)
def test_on_data_sets(name, data, metric, missing, dataset):
    arrays, _ = dataset(data)
    arrays = [x if sparse.issparse(x) else np.asarray(x, dtype=np.float64) for x in arrays]
    problem = real_problem(data, arrays[:3], [metric] * min(3, len(arrays)), n=120, missing=missing)
    check_engine(get_engine(name), problems=[problem])


@pytest.mark.parametrize("missing", [0.0, 0.25], ids=["complete", "missing samples"])
@pytest.mark.parametrize("system", [SimilarityGraphFusion, DistanceGraphFusion, AverageGraph])
def test_models_find_the_same_by_every_engine(system, missing):
    views, _ = load_digits_views(return_X_y=True)
    names = ("fourier", "profiles", "karhunen", "zernike")  # no two of which are nearly copies
    few = Views({name: views[name][:250] for name in names})
    few = ampute(few, missing, random_state=0) if missing else few
    fast = system(n_clusters=5, random_state=0).fit(few)
    readable = system(n_clusters=5, random_state=0, engine="numpy").fit(few)
    np.testing.assert_array_equal(fast.labels_, readable.labels_)
    np.testing.assert_allclose(fast.graph_.toarray(), readable.graph_.toarray(), atol=1e-12)
    np.testing.assert_allclose(fast.views_.weight, readable.views_.weight, rtol=1e-9)
    new = {name: views[name][250:300] for name in names}
    np.testing.assert_allclose(fast.predict_proba(new), readable.predict_proba(new), atol=1e-9)


@pytest.mark.parametrize("name", [name for name in systems() if name not in ("SGF", "DGF", "Average")])
def test_systems_find_the_same_by_every_engine(name):
    views, _ = load_digits_views(return_X_y=True)
    few = {key: array[:120] for key, array in list(views.items())[:3]}
    labels = [
        systems()[name](n_clusters=4, random_state=0, engine=one).fit(few).labels_ for one in HOST_ENGINES
    ]
    np.testing.assert_array_equal(*labels)


def test_a_wrong_engine_is_found_out():
    class Careless(NumbaEngine):
        name = "careless"

        def totals(self, weights):
            return super().totals(weights) * (1 + 1e-6)

    with pytest.raises(AssertionError, match="totals") as failed:
        check_engine(Careless())
    assert any("weights_are_made" in note for note in failed.value.__notes__)


def test_get_engine():
    engine = NumbaEngine()
    assert get_engine(engine) is engine and get_engine("numpy").name == "numpy"
    for nonsense in ("abacus", 3, None, NumbaEngine):
        with pytest.raises(ValueError, match="Unknown engine"):
            get_engine(nonsense)
