"""What a fit is said to need, and refusing what would need too much."""

import re

import numpy as np
import pytest
from scipy import sparse

from consilience import (
    DistanceGraphFusion,
    SimilarityGraphFusion,
    Views,
    config_context,
    make_multiview,
    memory,
    memory_estimate,
)
from consilience.cluster import AverageGraph
from consilience.cluster.estimating import LIBRARIES, STAGES, TERMS, estimate, with_samples
from consilience.cluster.expecting import expected_costs
from consilience.cluster.remedies import Bound, cheapest
from consilience.cluster.sizes import FitSize, ViewSize, is_mapped, view_sizes
from consilience.neighbors.features import DenseSpace

pytestmark = pytest.mark.filterwarnings("ignore:The graph has .* connected components")
MILLION = {"n_samples": 10**6, "views": [64, 32, 128], "n_neighbors": 10, "n_clusters": 20}
FITTED = {"SGF": SimilarityGraphFusion, "DGF": DistanceGraphFusion, "Average": AverageGraph}


@pytest.fixture(scope="module")
def sample():
    return make_multiview(300, n_clusters=3, separation=5.0, random_state=0)


def of(**changed):
    return memory_estimate(**{**MILLION, **changed})


def test_every_term_is_of_stages_that_there_are():
    for term in TERMS:
        assert term.first in STAGES and term.last in (*STAGES, "end"), term.what
        assert term.is_there(term.first) and not (term.last == "end" and not term.is_there("labels"))


def test_the_peak_is_that_of_the_largest_stage():
    told = of()
    assert told.peak == told.stages[told.peak_stage] == max(told.stages.values())
    assert set(told.stages) == set(STAGES)
    assert told.libraries == LIBRARIES and told.input == 8 * 10**6 * 224
    assert told.added == told.peak - told.libraries - told.input > 0
    table = str(told).splitlines()
    assert len(table) == 2 + len(STAGES) and sum("peak" in line for line in table) == 1
    assert repr(told).startswith("MemoryEstimate(peak='") and "\n" not in repr(told)


@pytest.mark.parametrize(
    "more",
    [
        {"n_samples": 2 * 10**6},
        {"views": [64, 32, 128, 64]},
        {"n_neighbors": 20},
        {"n_clusters": 400},
        {"metric": "cosine"},
        {"missing": True},
    ],
)
def test_more_of_anything_needs_more(more):
    assert of(**more).peak > of().peak


@pytest.mark.parametrize(
    "less", [{"dtype": np.float32}, {"mapped": True}, {"system": "Average"}, {"row_weights": "uniform"}]
)
def test_what_needs_less(less):
    assert of(**less).peak < of().peak


def test_how_many_views_there_are_is_enough_if_features_are_not_to_count():
    told = memory_estimate(10**6, 3, 10, 20)
    assert told.input == 0 and told.stages["fusion"] == of(mapped=True).stages["fusion"]


def test_sparse_views_count_what_they_store():
    dense, stored = of(views=[10_000]), of(views=[10_000], n_nonzero=[10**8])
    assert stored.input == pytest.approx(12 * 10**8, rel=0.01)
    assert dense.input == 8 * 10**10


def test_the_exact_search_has_a_buffer_for_each_thread():
    few, many = (of(n_samples=50_000, n_jobs=n, neighbor_search="exact") for n in (1, 64))
    assert many.stages["neighbors"] - few.stages["neighbors"] == 63 * (2 << 20)


@pytest.mark.parametrize(
    "bad",
    [
        {"system": "SNF"},
        {"n_samples": 0},
        {"n_clusters": -1},
        {"mapped": [True]},
        {"views": 0},
        {"n_nonzero": [1, 2]},
    ],
)
def test_what_cannot_be_estimated_is_refused(bad):
    with pytest.raises(ValueError):
        of(**bad)


@pytest.mark.parametrize("system", FITTED)
def test_a_fit_is_of_the_size_that_the_function_is_told(system, sample):
    views = Views([array.astype(np.float32) for array in sample.views.values()])
    model = FITTED[system](n_clusters=3, n_neighbors=7, n_jobs=1)
    model._check_parameters(views)
    told = memory_estimate(
        300,
        [array.shape[1] for array in views.arrays],
        n_neighbors=7,
        n_clusters=3,
        dtype=np.float32,
        system=system,
        n_jobs=1,
    )
    size = model._size(views)
    assert estimate(size).stages == {
        stage: n_bytes + (size.n_threads - 1) * (2 << 20) * (stage == "neighbors")
        for stage, n_bytes in told.stages.items()
    }


def test_what_views_are(tmp_path):
    np.save(tmp_path / "x.npy", np.random.default_rng(0).normal(size=(40, 6)))
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    stored = (
        sparse.random_array((40, 9), density=0.5, format="csr", rng=0)
        if hasattr(sparse, "random_array")
        else None
    )
    assert is_mapped(mapped) and is_mapped(mapped[3:]) and is_mapped(np.asarray(mapped))
    assert not is_mapped(np.array(mapped))
    views = Views([mapped, np.eye(40, dtype=np.float32), *([] if stored is None else [stored])])
    sizes = view_sizes(views, ["euclidean", "precomputed_similarity", "cosine"][: views.n_views])
    assert sizes[1] == ViewSize(40, 4, kind="matrix") and sizes[0].n_features == 6
    if stored is not None:
        assert sizes[2] == ViewSize(9, 8, stored.nnz, kind="scaled")


@pytest.mark.parametrize("system", FITTED)
def test_a_limit_below_the_estimate_is_refused_at_once_and_one_above_is_not(system, sample, monkeypatch):
    model = FITTED[system](n_clusters=3, random_state=0)
    views = Views(sample.views)
    model._check_parameters(views)
    needed = estimate(model._size(views)).peak
    with config_context(memory_limit=needed + 1):
        model.fit(views)
    before = model.labels_
    monkeypatch.delattr(DenseSpace, "nearest")  # nothing is searched
    monkeypatch.delattr(DenseSpace, "is_constant")  # nothing is even prepared
    with config_context(memory_limit=needed - 1):
        with pytest.raises(
            MemoryError, match=r"needs about .* more than the limit of .* What would help: "
        ) as told:
            model.fit(views)
    assert "\n" not in str(told.value) and model.labels_ is before


def test_what_is_not_free_is_refused(sample, monkeypatch):
    monkeypatch.setattr(memory, "available_bytes", lambda: 1000)
    with pytest.raises(MemoryError, match=r"of memory beside the data, and 1\.0 KiB are free"):
        SimilarityGraphFusion(n_clusters=3).fit(sample.views)
    monkeypatch.setattr(memory, "available_bytes", lambda: None)
    SimilarityGraphFusion(n_clusters=3, random_state=0).fit(sample.views)


def test_a_limit_that_not_even_the_libraries_keep(sample):
    with config_context(memory_limit="20 MiB"):
        with pytest.raises(MemoryError, match=r"libraries alone take 320 MiB\. Raise the limit\.$"):
            SimilarityGraphFusion(n_clusters=3).fit(sample.views)


def limited(share, **changed):
    size = of(**changed).size
    bound = Bound(share * estimate(size).peak)
    return size, bound, cheapest(size, bound)


@pytest.mark.parametrize("share", [0.95, 0.8, 0.6, 0.4])
@pytest.mark.parametrize("changed", [{}, {"dtype": np.float32}, {"views": [2000] * 2}, {"n_clusters": 300}])
def test_three_remedies_those_that_suffice_first(share, changed):
    size, bound, found = limited(share, **changed)
    assert len(found) == 3
    assert all(one.needed < bound.needed(size) for one in found)
    enough = [one.needed <= bound.allowed for one in found]
    assert enough == sorted(enough, reverse=True) and enough[0]  # fewer samples always suffice


def test_what_remedies_promise_is_what_is_needed_then():
    size, bound, found = limited(0.7, views=[2000, 1000])
    in_file = next(one for one in found if one.what.startswith("memory-mapped"))
    assert in_file.needed == of(views=[2000, 1000], mapped=True).peak
    some = next(one for one in found if one.what.startswith("a fit to"))
    n = int(re.search(r"[\d,]+", some.what)[0].replace(",", ""))
    assert some.needed == estimate(with_samples(size, n)).peak <= bound.allowed
    assert estimate(with_samples(size, int(1.1 * n))).peak > bound.allowed  # and no more than need be


def test_the_number_of_neighbours_that_is_advised_is_the_largest_that_suffices():
    _, bound, found = limited(0.85, mapped=True, row_weights="uniform")
    k = int(next(one.what for one in found if one.what.startswith("n_neighbors")).split("=")[1])
    assert of(mapped=True, row_weights="uniform", n_neighbors=k).peak <= bound.allowed
    assert of(mapped=True, row_weights="uniform", n_neighbors=k + 1).peak > bound.allowed


def test_every_stage_of_a_fit_is_expected_and_none_else(sample):
    for model in (SimilarityGraphFusion, AverageGraph):
        fitted = model(n_clusters=3, random_state=0).fit(sample.views)
        expected = expected_costs(fitted._size(Views(sample.views)))
        assert {stage for stage, _ in expected} == set(fitted.timings_)
        assert sum(stage == "neighbors" for stage, _ in expected) == len(sample.views)
        assert all(cost > 0 for _, cost in expected)
    assert expected_costs(FitSize(10**6, (ViewSize(64),), 10, 20, search="approximate"))
