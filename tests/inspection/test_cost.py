"""What a diagnosis costs, next to the fit that it looks at."""

from __future__ import annotations

import time
import tracemalloc
import warnings

import pytest

from consilience import DistanceGraphFusion, make_multiview
from consilience.inspection import inspect


def seconds(work):
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


@pytest.mark.filterwarnings("ignore:View 'view_5' is dominated")
def test_less_than_half_of_the_fit(dataset):
    views, _ = dataset("UCI_Digits")
    model = DistanceGraphFusion(n_clusters=10, random_state=0)
    inspect(model.fit(views))  # what is compiled is compiled now
    fits, looks = [], []
    for _ in range(7):
        fits.append(seconds(lambda: model.fit(views)))
        looks.append(seconds(lambda: inspect(model)))
    # The least of several: a machine that does other things only adds to it.
    assert min(looks) < 0.5 * min(fits)


def peak(n):
    data = make_multiview(n, n_views=3, n_clusters=4, n_features=3, separation=5.0, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = DistanceGraphFusion(n_clusters=4, n_neighbors=10, random_state=0).fit(data.views)
    tracemalloc.start()
    inspect(model)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return most / model.edges_.n_edges


def test_memory_grows_with_the_edges():
    peak(500)  # what is loaded once
    small, large = peak(2000), peak(8000)
    assert large < 1.5 * small
    assert large < 400  # bytes per edge, three views
