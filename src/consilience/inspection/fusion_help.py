"""Whether fusing views helps, told without labels."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from ..cluster.checks import is_positive_integer
from ..cluster.prepared import views_for
from ..metrics import accuracy, ari, nmi
from ..neighbors import is_precomputed
from ..views import Views
from .helping.agreeing import pairwise_ari
from .helping.contenders import NOBODY, VIEW, Contender, contenders
from .helping.held_out import held_out
from .helping.measuring import Measure
from .helping.ready import Ready, make_ready
from .helping.result import FusionHelp
from .helping.structureless import without_structure
from .helping.subsets import Rows, draw_subsets, subset_size
from .helping.verdict import gather, judge

logger = logging.getLogger(__name__)

SCORES = {"NMI": nmi, "ACC": accuracy, "ARI": ari}
# n_resamples="auto": so many samples in all, within these bounds; few samples need more resamples.
SAMPLES_IN_ALL, FEWEST_RESAMPLES, MOST_RESAMPLES = 10_000, 5, 10
NULL_SHARE = 0.2  # of the resamples, of views without structure: they need only tell what means nothing


def does_fusion_help(
    views: Any,
    n_clusters: int,
    *,
    y: ArrayLike | None = None,
    n_resamples: int | Literal["auto"] = "auto",
    n_neighbors: int | Literal["auto"] = "auto",
    metric: Any = "auto",
    scale: str = "auto",
    random_state: Any = None,
    n_jobs: int | None = None,
) -> FusionHelp:
    """Say whether fusing these views gives better clusters than the best of them alone; no labels needed.

    Each view alone, all of them side by side, the average of their graphs, SGF and DGF are clustered by the
    same spectral step, on all samples and again on random subsets of four fifths of them. Fusing helps if the
    views agree, beyond chance, about who is near whom, and either a fusion of all views but one shows better
    in the one held out than any single view does, or the fused clusters hold in the subsets no less than
    those of the most stable view. It does not if no two views agree, if the fused clusters hold less, or if
    one view alone gives the same.

    How far to trust it is told in the guide, with the verdicts on 16 public data sets.

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
    n_neighbors, metric, scale, n_jobs
        As in `DistanceGraphFusion`; the same for every contender.
    random_state : int, RandomState instance or None, default=None
        Draws the subsets, the views without structure, and all else that is random.

    Returns
    -------
    FusionHelp
        Verdict, sentence, evidence and all that was measured; its `summary` is a table.

    Raises
    ------
    ValueError
        If there is one view only, or if data or parameters are such that nobody could work with them.

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
    told = {"n_clusters": n_clusters, "n_neighbors": n_neighbors, "metric": metric, "scale": scale}
    ready = make_ready(views, {**told, "n_jobs": n_jobs})
    subsets = draw_subsets(views.n_samples, n_resamples, seed)
    found, skipped = contenders(ready, subsets, n_clusters)
    _check_views_left(found, ready, skipped)

    measure = Measure(found, n_clusters, seed, n_jobs)
    labels, fused = measure.labels(ready)
    resampled = measure.stability(ready, labels, subsets)
    null = _null_stability(measure, views, ready, scale, subsets[: max(1, round(NULL_SHARE * n_resamples))])
    agreement = pairwise_ari(labels)
    witnesses = held_out(measure, ready, labels, fused.view_weights_ > 0)
    complete = (labels != NOBODY).all(axis=1)
    evidence = gather(found, resampled, null, agreement, fused.view_reliability_, complete, witnesses)
    verdict, sentence = judge(evidence)
    logger.info(sentence)
    return FusionHelp(
        names=tuple(one.name for one in found),
        kinds=tuple(one.kind for one in found),
        labels=labels,
        stability=resampled.mean(axis=1),
        resampled=resampled,
        null_stability=null,
        agreement=agreement,
        scores=None if classes is None else _scores(classes, labels),
        verdict=verdict,
        sentence=sentence,
        evidence=evidence,
        skipped=skipped,
    )


def _null_stability(
    measure: Measure, views: Views, ready: Ready, scale: str, subsets: Sequence[Rows]
) -> NDArray[np.float64]:
    """Return the stability of every contender on views without structure."""
    square = [name for name, metric in zip(views.names, ready.metrics, strict=True) if is_precomputed(metric)]
    shaken = without_structure(Views(views, pairwise=square) if square else views, measure.seed)
    parameters = {
        "n_clusters": measure.n_clusters,
        "n_neighbors": ready.n_neighbors,
        "metric": list(ready.metrics),
        "scale": scale,
        "n_jobs": measure.n_jobs,
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # these are nobody's data
        bare = make_ready(shaken, parameters, ready.metric_together)
    logger.info("views without structure")
    labels, _ = measure.labels(bare)
    return np.asarray(measure.stability(bare, labels, subsets).mean(axis=1))


def _scores(classes: NDArray[Any], labels: NDArray[np.intp]) -> dict[str, NDArray[np.float64]]:
    seen = labels != NOBODY
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
    """Raise a ValueError for what the question cannot be asked of."""
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


def _check_views_left(found: Sequence[Contender], ready: Ready, skipped: Mapping[str, str]) -> None:
    """Raise a ValueError if fewer than two views say anything, or none can be judged alone."""
    if int(ready.prepared.taking_part.sum()) < 2 or found[0].kind != VIEW:
        told = " ".join(f"{name!r}: {skipped[name]}" for name in ready.names if name in skipped)
        raise ValueError(f"There are no two views to compare a fusion with. {told}")
