r"""Sample by sample: how much of its place in the unified graph each view brought.

On an edge, the unified similarity is a mean of what the views say. Where similarities were fused it is the
mean of :math:`\alpha_i A_{ie}` with the weights :math:`\lambda_i \tau_{ie}`, so :math:`\lambda_i \tau_{ie}
\alpha_i A_{ie}` is the part of view i. Where distances were fused, it is the geometric mean, with the same
weights, of the similarities :math:`\exp(-\alpha_i A_{ie} / 2\sigma)` that the views would give alone; these
take the place of :math:`\alpha_i A_{ie}`. (Distances themselves cannot be used: a view that says "as near as
possible" brings the distance 0, and would seem to have no part.) The parts of a view on all edges from a
sample, as a share of those of all views, are what it contributed there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..fusion import FusionResult
from .subject import Floats, as_subject


@dataclass(frozen=True, eq=False)
class SampleContributions:
    """How much each view brought to the edges of each sample.

    Attributes
    ----------
    names : tuple of str
        All views, also those left out.
    sample_names : ndarray of shape (n,)
        Ids of the samples, or their numbers.
    shares : ndarray of shape (n, v)
        They sum to 1 for each sample, NaN aside: NaN where the view has not seen the sample, 0 for a view
        left out. All 0 for a sample to which no kept view says anything.
    """

    names: tuple[str, ...]
    sample_names: NDArray[Any]
    shares: Floats


def sample_contributions(fitted: Any) -> SampleContributions:
    """Say how much each view contributed to the place of each sample in the unified graph.

    Parameters
    ----------
    fitted : SimilarityGraphFusion, DistanceGraphFusion or FusionResult
        A fitted model, or what `fuse_graphs` returned.

    Returns
    -------
    SampleContributions

    See Also
    --------
    view_summary : The contributions of the views to the graph as a whole.
    sample_conflicts : Which rows contradict the other views, with probabilities.

    Examples
    --------
    A view of which a part of the rows are in the wrong order brings less there:

    >>> from consilience import SimilarityGraphFusion, make_multiview
    >>> from consilience.inspection import sample_contributions
    >>> data = make_multiview(300, n_clusters=3, separation=4.0, scrambled=[0.2, 0, 0, 0], random_state=0)
    >>> model = SimilarityGraphFusion(n_clusters=3, random_state=0).fit(data.views)
    >>> shares = sample_contributions(model).shares
    >>> wrong = data.scrambled[:, 0]
    >>> bool(shares[wrong, 0].mean() < 0.8 * shares[~wrong, 0].mean())
    True
    """
    subject = as_subject(fitted)
    fusion = subject.fusion
    assert fusion.edges is not None
    n, v = subject.n_samples, len(fusion.view_names)
    # Of the edges that any view proposed, those that the unified graph has.
    kept = np.flatnonzero(fusion.edges.take(subject.graph))
    rows = fusion.edges.rows[kept]
    sums = np.empty((n, v))
    for i in range(v):
        sums[:, i] = np.bincount(rows, weights=_parts(fusion, i)[kept], minlength=n)
    total = sums.sum(axis=1, keepdims=True)
    shares = np.divide(sums, total, out=np.zeros((n, v)), where=total > 0)
    shares[~subject.seen[:, subject.kept]] = np.nan
    return SampleContributions(subject.names, subject.sample_names, subject.expand(shares, 0.0))


def _parts(fusion: FusionResult, i: int) -> Floats:
    """Return what a view brings to each edge."""
    consistent = np.subtract(fusion.weights_by_view[i], fusion.inconsistent_by_view[i], dtype=np.float64)
    parts = np.maximum(consistent, 0.0) * fusion.view_scales[i]
    if fusion.kind == "distance":
        width = 2 * float(fusion.fused.mean(dtype=np.float64)) or 1.0
        parts = np.exp(-parts / width)
    counts: Any = fusion.view_weights[i]
    if fusion.trust_by_view is not None:
        counts = counts * fusion.trust_by_view[i]
    elif fusion.seen_by_view is not None:
        counts = counts * fusion.seen_by_view[i]
    return np.asarray(parts * counts)
