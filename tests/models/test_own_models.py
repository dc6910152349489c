"""Models, systems and engines that are not of this package: known by name, saved and loaded."""

import copy
import pickle
from dataclasses import dataclass

import numpy as np
import pytest
from tests.engines.names import HOST_ENGINES

import consilience
from consilience import DistanceGraphFusion, ampute, engines, make_multiview
from consilience.engines import engine_names, get_engine, register_engine
from consilience.engines.numpy import NumpyEngine
from consilience.fusion import ConsistentFusion, EdgeFusion, Schedule
from consilience.inspection import inspect
from consilience.io.stored import REGISTRY, stored
from consilience.models import AverageGraph, GraphFusion, estimator, register_system, registry, systems
from consilience.testing import assert_same_partition, check_multiview_estimator

pytestmark = pytest.mark.filterwarnings("ignore:The graph has .* connected components")
DATA = make_multiview(90, n_views=4, n_clusters=3, separation=4.0, random_state=0)


@dataclass(frozen=True)
class QuantileFusion(EdgeFusion):
    quantile: float = 0.5

    def combine(self, weights, counts):
        return np.nanquantile(np.where(counts > 0, weights, np.nan), self.quantile, axis=0)


@estimator
class QuantileGraph(GraphFusion):
    """A quantile over the views."""

    quantile: float = 0.5

    def edge_fusion(self):
        return QuantileFusion(self.quantile)


@pytest.fixture
def registered(monkeypatch):
    monkeypatch.setattr(registry, "_REGISTERED", {})
    monkeypatch.setitem(REGISTRY, "QuantileFusion", None)
    del REGISTRY["QuantileFusion"]
    stored()(QuantileFusion)
    register_system("Quantile", QuantileGraph)


def test_a_fusion_of_ones_own_passes_the_checks():
    check_multiview_estimator(QuantileGraph())


def test_its_parameter_counts():
    middle, lowest = (
        QuantileGraph(n_clusters=3, quantile=q, random_state=0).fit(DATA.views) for q in (0.5, 0.0)
    )
    assert_same_partition(middle.labels_, DATA.y)
    assert (middle.graph_ != lowest.graph_).nnz > 0
    assert QuantileGraph(quantile=0.3).get_params()["quantile"] == 0.3


def test_it_is_saved_loaded_and_predicts(registered, tmp_path):
    views = ampute(DATA.views, 0.2, random_state=0)
    model = QuantileGraph(n_clusters=3, random_state=0).fit(views)
    loaded = consilience.load(model.save(tmp_path / "own.consilience"))
    assert type(loaded) is QuantileGraph
    new = {name: view[:9] for name, view in DATA.views.items()}
    np.testing.assert_array_equal(loaded.predict(new), model.predict(new))
    np.testing.assert_array_equal(loaded.predict_proba(new), model.predict_proba(new))


def test_what_is_not_stored_is_named(monkeypatch, tmp_path):
    monkeypatch.setattr(registry, "_REGISTERED", {})
    model = QuantileGraph(n_clusters=3, random_state=0).fit(DATA.views)
    with pytest.raises(ValueError, match=r"QuantileGraph is not one of the systems .*register_system"):
        model.save(tmp_path / "own.consilience")
    register_system("Quantile", QuantileGraph)
    with pytest.raises(ValueError, match="QuantileFusion"):
        model.save(tmp_path / "own.consilience")
    assert not list(tmp_path.iterdir())


def test_a_file_of_a_system_that_is_not_known_here(registered, tmp_path, monkeypatch):
    path = QuantileGraph(n_clusters=3, random_state=0).fit(DATA.views).save(tmp_path / "own.consilience")
    monkeypatch.setattr(registry, "_REGISTERED", {})
    with pytest.raises(ValueError, match="QuantileGraph"):
        consilience.load(path)


def test_a_fit_of_ones_own_goes_on_from_checkpoints(registered, tmp_path, monkeypatch):
    expected = QuantileGraph(n_clusters=3, random_state=0).fit(DATA.views)
    with consilience.config_context(checkpoint_dir=tmp_path):
        with monkeypatch.context() as patched:
            patched.setattr("consilience.models.base.embed", None)
            with pytest.raises(TypeError):
                QuantileGraph(n_clusters=3, random_state=0).fit(DATA.views)
        monkeypatch.setattr(QuantileFusion, "combine", None)  # it is not called again
        model = QuantileGraph(n_clusters=3, random_state=0).fit(DATA.views)
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    assert (model.graph_ != expected.graph_).nnz == 0


def test_systems_have_names_of_their_own(registered):
    assert list(systems())[-1] == "Quantile" and systems()["Quantile"] is QuantileGraph
    register_system("Quantile", QuantileGraph)  # again: a module may be loaded twice

    @estimator
    class Another(AverageGraph):
        """Another."""

    for name, system, message in [
        ("DGF", Another, "There is a system 'DGF'"),
        ("dgf", Another, "There is a system 'DGF'"),
        ("Other", type("SNF", (Another,), {}), r"There is a system 'SNF' \(SNF\) already"),
        ("Other", dict, "A system is a subclass of MultiviewClusterer"),
        ("Other", Another(), "A system is a subclass of MultiviewClusterer"),
    ]:
        with pytest.raises(ValueError, match=message):
            register_system(name, system)
    assert "Other" not in systems()


def test_stored_classes_have_names_of_their_own():
    class EdgeSet:
        pass

    with pytest.raises(ValueError, match=r"There is a stored class 'EdgeSet' in consilience\.graphs; choose"):
        stored(attributes=("x",))(EdgeSet)


class Abacus(NumpyEngine):
    name = "abacus"


@pytest.fixture
def abacus(monkeypatch):
    monkeypatch.setitem(engines._ENGINES, "abacus", Abacus)
    register_engine("abacus", Abacus)


def test_an_engine_of_ones_own_has_a_name(abacus, tmp_path):
    assert engine_names()[-1] == "abacus" and isinstance(get_engine("abacus"), Abacus)
    by_name = DistanceGraphFusion(n_clusters=3, engine="abacus", random_state=0).fit(DATA.views)
    by_instance = DistanceGraphFusion(n_clusters=3, engine=Abacus(), random_state=0).fit(DATA.views)
    np.testing.assert_array_equal(by_name.labels_, by_instance.labels_)
    for model in (by_name, by_instance):
        loaded = consilience.load(model.save(tmp_path / "fit.consilience", force=True))
        assert loaded.engine == "abacus"
        new = {name: view[:5] for name, view in DATA.views.items()}
        np.testing.assert_array_equal(loaded.predict(new), model.predict(new))


def test_there_is_one_engine_of_each_name(abacus):
    assert get_engine("abacus") is get_engine("abacus") and get_engine("numba") is get_engine("numba")
    before = get_engine("abacus")
    register_engine("abacus", Abacus)
    assert get_engine("abacus") is not before


def test_what_an_engine_holds_is_neither_pickled_nor_copied(abacus):
    class Held(Abacus):
        """Points belong to one instance, and stay there."""

        def place(self, space):
            return Points(super().place(space), self)

        def query(self, points, rows):
            assert points.owner is self
            return super().query(points.inside, rows)

        def nearest(self, points, k, search="exact"):
            assert points.owner is self
            return super().nearest(points.inside, k, search)

        def measure(self, points, edges, known=None):
            assert points.owner is self
            return super().measure(points.inside, edges, known)

        def is_constant(self, points):
            return super().is_constant(points.inside)

        def break_ties(self, points, lists, seed, search="exact"):
            return super().break_ties(points.inside, lists, seed, search)

    class Points:
        def __init__(self, inside, owner):
            self.inside, self.owner = inside, owner

        def __reduce__(self):
            raise AssertionError("points are pickled or copied")

    register_engine("abacus", Held)
    made = {"n_clusters": 3, "descriptions": "default", "random_state": 0}  # without `Engine.cached`
    model = DistanceGraphFusion(**made, engine="abacus").fit(DATA.views)
    new = {name: view[:5] for name, view in DATA.views.items()}
    expected = model.predict(new)
    for other in (model, copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(other.predict(new), expected)
    np.testing.assert_array_equal(model.set_params(engine=Held()).predict(new), expected)


def test_engines_have_names_of_their_own(abacus):
    register_engine("abacus", Abacus)
    with pytest.raises(ValueError, match="There is an engine 'numba' in this package"):
        register_engine("numba", Abacus)
    with pytest.raises(ValueError, match="An engine has a name"):
        register_engine("", Abacus)
    with pytest.raises(ValueError, match="something to make it"):
        register_engine("mine", Abacus())
    with pytest.raises(
        ValueError, match=r"Unknown engine 'mine'; known: 'numba', 'numpy', 'torch', 'abacus', or"
    ):
        DistanceGraphFusion(engine="mine").fit(DATA.views)
    nameless = type("Nameless", (NumpyEngine,), {"name": None})
    register_engine("abacus", nameless)
    for engine in ("abacus", nameless()):
        with pytest.raises(ValueError, match="Nameless needs a class attribute `name`"):
            DistanceGraphFusion(engine=engine).fit(DATA.views)
    register_engine("abacus", dict)
    with pytest.raises(ValueError, match="The engine 'abacus' must be an instance of Engine"):
        get_engine("abacus")
    with pytest.raises(ValueError, match="Unknown engine"):
        get_engine(Abacus)


def missing_some():
    return ampute(DATA.views, 0.3, random_state=1)


def test_what_is_missing_is_completed_before_it_is_combined():
    """The weighted mean, as a combination of one's own, is the average of this package; the median is not."""

    class Mean(EdgeFusion):
        def combine(self, weights, counts):
            return np.average(weights, axis=0, weights=counts)

    @estimator
    class MeanGraph(GraphFusion):
        """The mean."""

        def edge_fusion(self):
            return Mean()

    for settings in ({}, {"missing": "plain"}, {"row_weights": "agreement"}):
        mean, ours, median = (
            model(n_clusters=3, random_state=0, **settings).fit(missing_some()).graph_
            for model in (MeanGraph, AverageGraph, QuantileGraph)
        )
        np.testing.assert_allclose(mean.toarray(), ours.toarray(), atol=1e-12)
        assert abs(median - ours).max() > 1e-3


@pytest.mark.parametrize("engine", HOST_ENGINES)
@pytest.mark.parametrize(
    ("combined", "message"),
    [
        (lambda w: w.mean(axis=1), r"Odd\.combine must return one number for each of the [\d,]+ edges, got"),
        (lambda w: w.mean(axis=0)[:-1], "must return one number for each"),
        (lambda w: np.append(w.mean(axis=0), 1.0), "must return one number for each"),
        (lambda w: w, "must return one number for each"),
        (lambda w: w[0].astype(str), "must return one number for each"),
        (lambda w: np.where(w[0] > 1, np.nan, w[0]), "the first is nan, of an edge with the weights"),
        (lambda w: -w.mean(axis=0), "finite numbers that are not negative"),
        (lambda w: w[0] / 0.0, "finite numbers that are not negative"),
    ],
)
def test_what_a_combination_returns_is_checked(engine, combined, message):
    class Odd(EdgeFusion):
        def combine(self, weights, counts):
            with np.errstate(divide="ignore", invalid="ignore"):
                return combined(weights)

    @estimator
    class OddGraph(GraphFusion):
        """Odd."""

        def edge_fusion(self):
            return Odd()

    with pytest.raises(ValueError, match=message):
        OddGraph(n_clusters=3, engine=engine).fit(DATA.views)


def test_values_for_other_edges_are_refused():
    engine, edges = get_engine("numba"), get_engine("numba").unite([np.array([[1], [0], [1]])], None)
    with pytest.raises(ValueError, match="There are 2 values for 3 edges"):
        engine.sparsify(edges, np.ones(2), 1)


def test_what_a_model_lacks_is_said():
    @estimator
    class Empty(GraphFusion):
        """Nothing."""

    with pytest.raises(NotImplementedError, match="Empty must implement `edge_fusion`"):
        Empty(n_clusters=3).fit(DATA.views)
    model = QuantileGraph(n_clusters=3, random_state=0).fit(DATA.views)
    for name in ("consistent_", "inconsistent_", "history_", "n_iter_", "edges_"):
        assert not hasattr(model, name)
    with pytest.raises(AttributeError, match="QuantileGraph does not keep consistent and inconsistent parts"):
        _ = model.consistent_
    with pytest.raises(TypeError, match=r"not QuantileGraph: it does not keep what is consistent"):
        inspect(model)


def test_models_with_parts_of_their_own_are_inspected(tmp_path):
    class Same(EdgeFusion):
        """SGF under another name."""

        def fuse(self, *given):
            return ConsistentFusion("similarity", 1.0, 100.0, Schedule()).fuse(*given)

    @estimator
    class SameGraph(GraphFusion):
        """SGF under another name."""

        def edge_fusion(self):
            return Same()

    model = SameGraph(n_clusters=3, random_state=0).fit(DATA.views)
    assert inspect(model).samples.scores.shape == (90, 4)
    assert model.consistent_.shape == model.inconsistent_.shape == (model.edges_.n_edges, 4)
    assert model.report(tmp_path / "report.html").exists()
