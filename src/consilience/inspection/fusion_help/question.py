"""The question itself: whether fusing these views helps."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from ...agreement import view_reliability
from ...engines import get_engine
from ...metrics import ari, clustering_accuracy, nmi
from ...models.given import views_for
from ...run.messages import check_choice, is_positive_integer
from ...stages.effort import EFFORTS
from ...stages.prepare import SCALES, metrics_of_views
from ...stages.search import resolve_n_neighbors
from ...views import Views
from .agreement import common_ari, pairwise_ari
from .compared_views import ComparedViews, place_views
from .comparison import Comparison
from .contenders import NOT_SEEN, VIEW, Contender, contenders
from .resamples import draw_subsets, subset_size
from .result import FusionHelp
from .shown import Graphs, gain_over, graphs_of, mean_shown
from .verdict import gather, judge

logger = logging.getLogger(__name__)

SCORES = {"NMI": nmi, "ACC": clustering_accuracy, "ARI": ari}
# n_resamples="auto": so many samples in all, within these bounds; few samples need more resamples.
SAMPLES_IN_ALL, FEWEST_RESAMPLES, MOST_RESAMPLES = 10_000, 5, 10


def does_fusion_help(
    views: Any,
    n_clusters: int,
    *,
    y: ArrayLike | None = None,
    n_resamples: int | Literal["auto"] = "auto",
    n_neighbors: int | Literal["auto"] = "auto",
    metric: Any = "auto",
    scale: str = "auto",
    effort: Literal["low", "medium", "high"] = "high",
    random_state: Any = None,
    engine: Any = "numba",
    n_jobs: int | None = None,
) -> FusionHelp:
    """Say whether fusing these views gives better clusters than the best of them alone; no labels needed.

    Each view alone, all of them side by side, the average of their graphs, SGF and DGF are clustered by the
    same spectral step. Fusing helps if the views agree, beyond chance, about who is near whom, and the
    clusters of DGF show in the graphs of the views, in all descriptions of their features, better than those
    of any single view. It does not if no two views agree, if the clusters show no better, or if one view
    alone gives the same. All is done again on random subsets of four fifths of the samples, there with low
    effort. They tell how strong the evidence is: "strong" if the difference exceeds two standard errors,
    otherwise "weak".

    The guide says how far to trust it, with the verdicts on public data sets.

    Parameters
    ----------
    views : list, tuple, dict, Views, DataFrame
        Two views or more, as any clusterer takes them. Samples that a view has not seen are allowed: the view
        alone is judged on those that it has seen, and the concatenation is left out.
    n_clusters : int
        Number of clusters, at least 2.
    y : array-like of shape (n_samples,), default=None
        Known classes, for scores in the table. They have no part in the verdict.
    n_resamples : int or "auto", default="auto"
        Number of random subsets, at least 2. "auto" is 10,000 / n_samples, but at least 5 and at most 10.
    n_neighbors, metric, scale, engine, n_jobs
        As in `DistanceGraphFusion`; the same for every contender.
    effort : {"low", "medium", "high"}, default="high"
        That of SGF and DGF on all samples, as in `DistanceGraphFusion`: whether a fit of that effort helps.
    random_state : int, RandomState instance or None, default=None
        Draws the subsets, and all else that is random.

    Returns
    -------
    FusionHelp
        Verdict, sentence, evidence and all that was measured; its `summary` is a table.

    Raises
    ------
    ValueError
        If there is one view only, or if no contender could work with the data or the parameters.

    Examples
    --------
    >>> from consilience import make_multiview
    >>> from consilience.inspection import does_fusion_help
    >>> sample = make_multiview(200, n_views=3, n_clusters=4, separation=3.0, random_state=0)
    >>> does_fusion_help(sample.views, 4, random_state=0).verdict
    'yes'
    >>> one_good = make_multiview(200, n_views=1, noise_views=2, n_clusters=4, separation=6.0, random_state=0)
    >>> does_fusion_help(one_good.views, 4, random_state=0).verdict
    'no'
    """
    views = views_for(metric, views)
    n_resamples = _resolve_n_resamples(n_resamples, views.n_samples)
    _check(views, n_clusters)
    classes = None if y is None else _checked_classes(y, views.n_samples)
    seed = int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
    settings = {"metric": metric, "scale": scale, "effort": effort, "engine": engine, "n_jobs": n_jobs}
    engine = get_engine(engine)
    check_choice("scale", scale, SCALES)
    check_choice("effort", effort, EFFORTS)
    k = resolve_n_neighbors(n_neighbors, views.n_samples, n_clusters)
    with engine.limit(n_jobs):
        metrics = metrics_of_views(metric, views, scale, engine)
        compared = place_views(views, metrics, metric, scale, k, engine)
        subsets = draw_subsets(views.n_samples, n_resamples, seed)
        found, skipped = contenders(compared, subsets, n_clusters)
        _check_views_left(found, compared, skipped)
        comparison = Comparison(found, n_clusters, seed)
        clustered = comparison.clustered(compared)
        of_low, selection = np.stack([one.labels for one in clustered]), clustered[-1].selection
        assert selection is not None and selection.agreement is not None
        described = compared.described(views, selection.kept, metric, scale, fixed=n_neighbors != "auto")
        graphs = [graphs_of(one) for one in described]
        again = list(comparison.resampled(compared, subsets))
        labels = of_low if effort == "low" else comparison.with_effort(of_low, views, n_neighbors, settings)
    agreement = pairwise_ari(labels)
    # A fit asks for more where a view may be noise, because there may be many such. Here one test decides.
    plain = selection.agreement.judged_by(np.ones(len(selection.kept), dtype=bool))
    reliability = compared.prepared.expand(view_reliability(plain).values)
    complete = (labels != NOT_SEEN).all(axis=1)
    shown, *shown_resampled = (np.array([mean_shown(graphs, row) for row in one]) for one in (labels, *again))
    gains, *resampled_gains = (_gains(graphs, found, one) for one in (labels, *again))
    evidence = gather(found, shown, gains, np.array(resampled_gains), agreement, reliability, complete)
    verdict = judge(evidence)
    logger.info(verdict.sentence)
    resampled = np.array([list(map(common_ari, of_low, one)) for one in again]).T
    return FusionHelp(
        names=tuple(one.name for one in found),
        kinds=tuple(one.kind for one in found),
        labels=labels,
        stability=resampled.mean(axis=1),
        resampled=resampled,
        shown=shown,
        shown_resampled=np.stack(shown_resampled, axis=1),
        agreement=agreement,
        scores=None if classes is None else _scores(classes, labels),
        verdict=verdict.word,
        strength=verdict.strength,
        sentence=verdict.sentence,
        evidence=evidence,
        skipped=skipped,
    )


def _gains(
    graphs: Sequence[Graphs], found: Sequence[Contender], labels: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Return by how much the clusters of the last contender, a fusion, show better than each view's."""
    alone = [row for one, row in zip(found, labels, strict=True) if one.kind == VIEW]
    return np.array([gain_over(graphs, labels[-1], row) for row in alone])


def _scores(classes: NDArray[Any], labels: NDArray[np.intp]) -> dict[str, NDArray[np.float64]]:
    seen = labels != NOT_SEEN
    return {
        name: np.array([score(classes[rows], one[rows]) for one, rows in zip(labels, seen, strict=True)])
        for name, score in SCORES.items()
    }


def _checked_classes(y: ArrayLike, n_samples: int) -> NDArray[Any]:
    classes: NDArray[Any] = np.asarray(y)
    if classes.shape != (n_samples,):
        shape = f"{len(classes)} labels" if classes.ndim == 1 else f"an array of shape {classes.shape}"
        raise ValueError(f"y must hold one label for each of the {n_samples} samples, got {shape}.")
    ari(classes, np.zeros(n_samples))  # raises if they are no such labels
    return classes


def _check(views: Views, n_clusters: Any) -> None:
    """Raise a ValueError for views and parameters that the question cannot be asked of."""
    if views.n_views < 2:
        raise ValueError("There is 1 view; whether fusing helps can only be asked of two or more.")
    size = subset_size(views.n_samples)
    if not is_positive_integer(n_clusters) or not 2 <= n_clusters < size:
        raise ValueError(
            f"n_clusters must be an integer from 2 to {size - 1}, below the number of samples in a resample "
            f"({size} of {views.n_samples}); got {n_clusters!r}."
        )


def _resolve_n_resamples(n_resamples: Any, n_samples: int) -> int:
    if isinstance(n_resamples, str) and n_resamples == "auto":
        return int(np.clip(SAMPLES_IN_ALL // n_samples, FEWEST_RESAMPLES, MOST_RESAMPLES))
    if not is_positive_integer(n_resamples) or n_resamples < 2:
        raise ValueError(f"n_resamples must be 'auto' or an integer of at least 2, got {n_resamples!r}.")
    return int(n_resamples)


def _check_views_left(found: Sequence[Contender], views: ComparedViews, skipped: Mapping[str, str]) -> None:
    """Raise a ValueError if fewer than two views say anything, or none can be judged alone."""
    if int(views.prepared.active.sum()) < 2 or found[0].kind != VIEW:
        why = " ".join(f"{name!r}: {skipped[name]}" for name in views.names if name in skipped)
        raise ValueError(f"There are no two views to compare a fusion with. {why}")
