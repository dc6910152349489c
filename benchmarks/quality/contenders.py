"""Who is compared: our defaults, the paper's fixed setting, every other system, and the best single view."""

from __future__ import annotations

from typing import Any

from consilience import PAPER
from consilience.models import systems

from ..scores import LEARN_ONCE
from .corruptions import CLEAN
from .data import METRICS

FUSIONS = ("DGF", "SGF")
PAPER_SETTING: dict[str, Any] = {"n_neighbors": 6, "beta": 1.0, "gamma": 1e4}
BEST_VIEW = "best view"  # chosen with the labels: what nobody has who clusters, and papers report
DENSE = (*LEARN_ONCE, "SNF")

# More samples than this take a dense system too long.
DENSE_LIMIT = 1100
SNF_CLEAN_LIMIT = 3000


def contenders() -> list[str]:
    """Return the names of all that are compared, in the order of the tables."""
    others = [name for name in systems() if name not in FUSIONS]
    return [*FUSIONS, *(f"paper {name}" for name in FUSIONS), BEST_VIEW, *others]


def estimator(name: str, n_clusters: int, data: str = "") -> Any:
    """Return a contender, on one thread, given no more than the number of clusters.

    Only the paper's fixed setting is also given the metric that the paper takes for the data set.
    """
    known = systems()
    if name == BEST_VIEW:
        return known["SC"](n_clusters=n_clusters, n_jobs=1, view=0)
    if not name.startswith("paper "):
        return known[name](n_clusters=n_clusters, n_jobs=1)
    metric = METRICS.get(data, "auto")
    kind = known[name.removeprefix("paper ")]
    return kind(n_clusters=n_clusters, n_jobs=1, metric=metric, **PAPER_SETTING, **PAPER)


def reason_to_skip(name: str, condition: str, n_samples: int, dense_limit: int | None = None) -> str:
    """Return why a contender is not run; empty if it is.

    `dense_limit` takes the place of all limits on the number of samples.
    """
    if name not in DENSE:
        return ""
    limit = SNF_CLEAN_LIMIT if name == "SNF" and condition == CLEAN else DENSE_LIMIT
    limit = limit if dense_limit is None else dense_limit
    return f"dense, and more than {limit} samples" if n_samples > limit else ""
