"""One contender on one set of views: scores of every seed, the seconds of a fit, what it warned of."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from consilience import Views
from consilience.metrics import ari, clustering_accuracy, nmi
from consilience.models import SharedViews
from consilience.models.systems.labelling import relabel
from consilience.stages import spectral_clustering

from ..scores import LEARN_ONCE
from .contenders import BEST_VIEW, estimator

SCORES = {"nmi": nmi, "acc": clustering_accuracy, "ari": ari}  # NMI: divided by the larger entropy
WARM_UP = 50  # samples in the fit that is not timed
SHORT = 1.0  # seconds: shorter fits may be timed several times
Labels = NDArray[np.intp]


def measure(
    name: str,
    views: Views,
    shared: SharedViews,
    truth: NDArray[Any],
    *,
    data: str = "",
    n_seeds: int = 10,
    n_timed: int = 1,
) -> dict[str, Any]:
    """Return scores in percent per seed, wall-clock and CPU seconds, and warnings; or the reason for none.

    Parameters
    ----------
    name : str
        The contender.
    views, shared : Views, SharedViews
        The same views: for the fit on the clock, and for all others, which share neighbours and distances.
    truth : ndarray of shape (n_samples,)
        Known classes.
    data : str, default=""
        Name of the data set.
    n_seeds : int, default=10
        The seeds are 0, 1, ...
    n_timed : int, default=1
        How often a short fit is timed; the least counts.
    """
    model = estimator(name, len(np.unique(truth)), data)
    try:
        if name == BEST_VIEW:
            return _best_view(model, views, shared, truth, n_seeds, n_timed)
        return _measure(model, name, views, shared, truth, n_seeds, n_timed)
    except Exception as error:  # a cell of the table, not the end of it
        return {"reason": f"{type(error).__name__}: {' '.join(str(error).split())}"}


def _measure(
    model: Any, name: str, views: Views, shared: SharedViews, truth: Any, n_seeds: int, n_timed: int
) -> dict[str, Any]:
    seconds = _timed_fit(model.set_params(random_state=0), views, n_timed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # those of one fit are kept
        labels = list(labels_of_seeds(model, name, shared, range(n_seeds)))
    scores = {key: [100 * float(score(truth, one)) for one in labels] for key, score in SCORES.items()}
    return {**scores, **seconds}


def _best_view(
    model: Any, views: Views, shared: SharedViews, truth: Any, n_seeds: int, n_timed: int
) -> dict[str, Any]:
    """Measure every view alone and return the best, with the seconds of all: what the choice takes."""
    alone = [
        _measure(model.set_params(view=i), BEST_VIEW, views, shared, truth, n_seeds, n_timed)
        for i in range(views.n_views)
    ]
    best = int(np.argmax([np.mean(one["nmi"]) for one in alone]))
    times = {key: sum(one[key] for one in alone) for key in ("seconds", "cpu_seconds")}
    return {**alone[best], **times, "view": best}


def _timed_fit(model: Any, views: Views, n_timed: int) -> dict[str, Any]:
    """Fit to views that nobody has looked at before, on the clock; keep the warnings of one fit."""
    _warm_up(model, views)
    wall = cpu = float("inf")
    for _ in range(n_timed):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            began, began_cpu = time.perf_counter(), time.process_time()
            model.fit(views)
            wall = min(wall, time.perf_counter() - began)
            cpu = min(cpu, time.process_time() - began_cpu)
        if wall > SHORT:
            break
    lines = [(str(one.message).splitlines() or [""])[0] for one in caught]
    return {
        "seconds": wall,
        "cpu_seconds": cpu,
        "n_warnings": len(lines),
        "warnings": list(dict.fromkeys(lines)),
    }


def _warm_up(model: Any, views: Views) -> None:
    """Fit to a few samples: loading and compiling code is no part of the time of a fit."""
    size = min(views.n_samples, max(WARM_UP, 2 * model.n_clusters))
    rows = np.linspace(0, views.n_samples - 1, size).astype(np.intp)
    with suppress(Exception), warnings.catch_warnings():  # what is wrong, the fit that counts will say
        warnings.simplefilter("ignore")
        clone(model).fit(views[rows])


def labels_of_seeds(model: Any, name: str, shared: SharedViews, seeds: Sequence[int]) -> Iterator[Labels]:
    """Yield the labels of every seed, given a model that was fitted with the first.

    What dense systems learn does not depend on the seed, and takes long: it is learned once, and only the
    last step is repeated. The others are fitted anew.
    """
    yield model.labels_
    for seed in seeds[1:]:
        if name in LEARN_ONCE:
            yield relabel(model, seed)
        elif name == "SNF":
            state = np.random.RandomState(seed)  # one for both steps, as in its fit
            yield spectral_clustering(model.graph_, model.n_clusters, random_state=state).labels
        else:
            yield clone(model).set_params(random_state=seed).fit(shared).labels_
