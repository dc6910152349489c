"""Settings: the parameters of a clusterer, resolved for the data and checked before any work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..engines import Engine
from ..run.advice import Advice, Setting
from ..run.parameter_checks import check_choice, check_count, is_positive_integer
from ..spaces import resolve_metrics, takes_missing_cells
from ..stages.label import LabelAssigner
from ..stages.sizes import USUAL_CLUSTERS, auto_neighbors
from ..views import Views

K = Setting("n_neighbors")


@dataclass(frozen=True)
class Settings:
    """The parameters of a clusterer, resolved for the data.

    Attributes
    ----------
    n_clusters : int
        Number of clusters; 1 until it is found.
    n_neighbors : int
        Neighbours per sample and view.
    metrics : tuple
        What each view is measured by.
    assigner : LabelAssigner
        Reads labels off an embedding or a graph.
    """

    n_clusters: int
    n_neighbors: int
    metrics: tuple[Any, ...]
    assigner: LabelAssigner


def check_n_samples(n_samples: int, n_clusters: int) -> None:
    """Raise a ValueError if there are too few samples for so many clusters."""
    if n_samples < 2:
        raise ValueError("There is 1 sample; clustering takes at least 2 (n_samples=1).")
    if n_clusters > n_samples:
        clusters = Setting("n_clusters", n_clusters)
        raise ValueError(
            Advice(f"There are fewer samples (n_samples={n_samples}) than clusters (", clusters, ").")
        )


def resolve_n_neighbors(n_neighbors: Any, n_samples: int, n_clusters: Any) -> int:
    """Return the number of neighbours per sample and view, or raise a ValueError if there cannot be so many.

    Examples
    --------
    >>> resolve_n_neighbors("auto", 2000, 10), resolve_n_neighbors(7, 2000, 10)
    (20, 7)
    """
    if isinstance(n_neighbors, str):
        check_choice("n_neighbors", n_neighbors, ("auto",), "an integer")
        return auto_neighbors(n_samples, USUAL_CLUSTERS if n_clusters == "auto" else n_clusters)
    if not is_positive_integer(n_neighbors):
        raise ValueError(Advice(K, f" must be 'auto' or a positive integer, got {n_neighbors!r}."))
    if n_neighbors >= n_samples:
        raise ValueError(
            Advice(
                Setting(K.parameter, n_neighbors),
                f" asks for more neighbours than there are other samples (n_samples={n_samples}); pass at "
                f"most {n_samples - 1}, or 'auto'.",
            )
        )
    return int(n_neighbors)


def metrics_of_views(metric: Any, views: Views, scale: str, engine: Engine) -> tuple[Any, ...]:
    """Return what each view is measured by, or raise a ValueError for a view that cannot be measured so."""
    metrics = resolve_metrics(
        metric,
        views.arrays,
        views.names,
        [None if encoding is None else encoding.kinds for encoding in views.encodings],
        views.graphs,
        engine=engine,
        seen=[rows if rows is None or rows.any() else None for rows in map(views.seen, views.names)],
        rescaled=[
            scale == "auto" and not square and encoding is None
            for square, encoding in zip(views.pairwise, views.encodings, strict=True)
        ],
    )
    for i, one in enumerate(metrics):
        if not takes_missing_cells(one):
            views.check_cells(i)
    return metrics


def check_max_clusters(max_clusters: Any, n_clusters: Any) -> None:
    """Raise a ValueError if the most clusters to consider is no count, or has no effect."""
    if max_clusters is None:
        return
    check_count("max_clusters", max_clusters)
    if n_clusters != "auto":
        raise ValueError(
            Advice(
                Setting("max_clusters", max_clusters),
                " has no effect with ",
                Setting("n_clusters", n_clusters),
                "; pass ",
                Setting("n_clusters", "auto"),
                " to have the number chosen, or leave ",
                Setting("max_clusters"),
                " out.",
            )
        )
