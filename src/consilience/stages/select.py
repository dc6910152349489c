r"""How many clusters a graph has: eigengaps, and stability under resampling corrected for chance.

Both come from one spectral embedding. Let :math:`\lambda_1 \le \lambda_2 \le \dots \le \lambda_m` be the
eigenvalues of the normalised Laplacian that were computed. A number of clusters c has

- an eigengap, :math:`\lambda_{c+1} - \lambda_c`, taken relative to the mean of :math:`\lambda_m - \lambda_2`,
  the whole range, and :math:`\lambda_m - \lambda_c`, the rest of it: a gap counts more if the rest is
  small, since otherwise the first large step would hide the later ones, of small clusters;
- a stability: the samples are split at random into halves, k-means runs on each half, both answers are
  extended to all of these samples and compared by the adjusted Rand index; the mean over resamples;
- a null: the same on an embedding without structure. Eigenvectors of a random graph are like Gaussian ones.
  Few clusters are found again in anything: with two, the null is about 0.9, with ten about 0.1. The corrected
  stability is (stability - null) / (1 - null), not below 0.

The score is the relative gap times the corrected stability, and the best is chosen. Where no score reaches
`STANDS_OUT` and the corrected stability is below `STEADY` on average, nothing stands out: one cluster.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state

from ..engines import Engine, get_engine, threads
from ..io.stored import stored
from ..run.messages import Advice, Setting, check_count, warn
from .embed import SpectralEmbedding, embed
from .stability import null_stability, stability_of

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]

N_RESAMPLES = 6
# Chosen on synthetic data, with and without clusters, on other seeds than those of the study in the docs.
STANDS_OUT = 0.2
STEADY = 0.5
_FEWEST_EIGENVALUES = 21  # with few candidates the range of eigenvalues must still be known
_SAMPLES_PER_CLUSTER = 4  # at least, two in each half
_LARGEST_HALF, _ROWS_PER_CLUSTER = 300, 15  # more samples hardly change the stability, and take time
_CLOSE, _MOST_CLOSE = 0.8, 3  # share of the best score from which others are named, and how many
_CERTAIN = 0.01  # 1 - null is at least this, so that nothing is divided by 0


@stored()
@dataclass(frozen=True, eq=False)
class ClusterSelection:
    """How many clusters a graph has, and the evidence for each number.

    Attributes
    ----------
    n_clusters : ndarray of int of shape (m,)
        The candidates, from 2 up. Entry i of the arrays below belongs to candidate i.
    eigengaps : ndarray of shape (m,)
        Difference between eigenvalue c + 1 and eigenvalue c of the normalised Laplacian.
    relative_gaps : ndarray of shape (m,)
        The same as a share, from 0 to 1, of the mean of the range of eigenvalues and the rest of it.
    stability, stability_se : ndarray of shape (m,)
        Mean adjusted Rand index between the clusters that two halves of the samples give, over resamples, and
        its standard error.
    null : ndarray of shape (m,)
        The same for an embedding without structure.
    chosen : int
        The number chosen; 1 if nothing stands out.
    reason : str
        Why, in one sentence.
    """

    n_clusters: IntArray
    eigengaps: FloatArray
    relative_gaps: FloatArray
    stability: FloatArray
    stability_se: FloatArray
    null: FloatArray
    chosen: int
    reason: str

    @property
    def corrected_stability(self) -> FloatArray:
        """Stability beyond chance, from 0 (as without structure, or less) to 1."""
        return _beyond_chance(self.stability, self.null)

    @property
    def scores(self) -> FloatArray:
        """Relative gap times corrected stability."""
        return np.asarray(self.relative_gaps * self.corrected_stability)

    @property
    def by_eigengap(self) -> int:
        """The number with the largest eigengap, without regard to stability; 1 without candidates."""
        return int(self.n_clusters[np.argmax(self.eigengaps)]) if len(self.n_clusters) else 1

    @property
    def by_stability(self) -> int:
        """The largest number that is as stable beyond chance as the best, to a standard error; or 1."""
        if not len(self.n_clusters):
            return 1
        corrected = self.corrected_stability
        error = self.stability_se / np.maximum(1 - self.null, _CERTAIN)
        best = int(np.argmax(corrected))
        return int(self.n_clusters[np.flatnonzero(corrected >= corrected[best] - error[best])[-1]])


def select_n_clusters(
    graph: Any,
    max_clusters: int = 20,
    *,
    n_resamples: int = N_RESAMPLES,
    random_state: Any = None,
    engine: Any = "numba",
) -> ClusterSelection:
    """Find how many clusters a graph has, by eigengaps and by stability beyond chance.

    This is what ``n_clusters="auto"`` does. The candidates go from 2 to `max_clusters`, at most a quarter of
    the samples. A candidate's score is its eigengap, relative to the range of eigenvalues, times the
    stability of its clusters under resampling, corrected for that of a graph without structure; the best
    score wins. If nothing stands out, the answer is 1.

    Parameters
    ----------
    graph : sparse array or matrix of shape (n, n)
        Symmetric, non-negative weights.
    max_clusters : int, default=20
        The largest candidate.
    n_resamples : int, default=6
        How often the samples are split into halves, at least 2.
    random_state : int, RandomState or None
        Draws the halves, the starting centres and the null.
    engine : str or Engine, default="numba"
        The engine that computes.

    Returns
    -------
    ClusterSelection
        The same for a seed, with any number of threads.

    Warns
    -----
    UserWarning
        If the largest candidate is chosen, or nothing stands out.

    Examples
    --------
    >>> from consilience import DistanceGraphFusion, make_multiview
    >>> from consilience.stages import select_n_clusters
    >>> sample = make_multiview(300, n_clusters=4, random_state=0)
    >>> graph = DistanceGraphFusion(random_state=0).fit(sample.views).graph_
    >>> select_n_clusters(graph, random_state=0).chosen
    4
    """
    engine, state = get_engine(engine), check_random_state(random_state)
    width = width_to_select(max_clusters, graph.shape[0])
    embedding = embed(engine.adopt(graph), width, state, engine=engine)
    return select(embedding, max_clusters, state, engine=engine, n_resamples=n_resamples)


def width_to_select(max_clusters: int, n_samples: int) -> int:
    """Return how many eigenvectors are needed to choose up to this number of clusters."""
    check_count("max_clusters", max_clusters)
    return min(max(int(max_clusters) + 1, _FEWEST_EIGENVALUES), n_samples)


def select(
    embedding: SpectralEmbedding,
    max_clusters: int,
    random_state: np.random.RandomState,
    *,
    engine: Engine,
    n_resamples: int = N_RESAMPLES,
) -> ClusterSelection:
    """Choose the number of clusters from an embedding of more vectors than that; warn if it is uncertain."""
    check_count("max_clusters", max_clusters)
    check_count("n_resamples", n_resamples)
    if n_resamples < 2:
        raise ValueError(f"n_resamples must be at least 2, got {n_resamples!r}.")
    values = embedding.eigenvalues[np.isfinite(embedding.eigenvalues)]
    n = engine.n_rows(embedding.vectors)
    largest = max(min(int(max_clusters), len(values) - 1, n // _SAMPLES_PER_CLUSTER), 1)
    candidates = np.arange(2, largest + 1, dtype=np.intp)
    rng = np.random.default_rng(random_state.randint(np.iinfo(np.int32).max))
    size = min(n, 2 * max(_LARGEST_HALF, _ROWS_PER_CLUSTER * largest))
    with threads.libraries_on_one_thread():
        found = stability_of(
            lambda rows: engine.take(embedding.vectors, rows), n, candidates, size, int(n_resamples), rng
        )
        null = null_stability(largest, size, int(n_resamples))
    stability = found.mean(axis=1)
    gaps, relative = _gaps(values, candidates)
    chosen, reason = _choose(candidates, relative, stability, null, embedding.n_connected)
    if len(candidates) and chosen == 1:
        best = candidates[np.argmax(relative * _beyond_chance(stability, null))]
        choice = Setting("n_clusters", int(best))
        warn(Advice(f"{reason} Pass ", choice, ", for instance, to have clusters anyway."))
    elif len(candidates) and chosen == candidates[-1]:
        fact = f"The number of clusters chosen, {chosen}, is the largest candidate. "
        if chosen == max_clusters:
            warn(Advice(fact, "Pass a larger ", Setting("max_clusters"), " to look for more."))
        else:
            warn(Advice(fact, "Pass ", Setting("n_clusters"), " to have more."))
    return ClusterSelection(
        n_clusters=candidates,
        eigengaps=gaps,
        relative_gaps=relative,
        stability=stability,
        stability_se=found.std(axis=1, ddof=1) / np.sqrt(n_resamples),
        null=null,
        chosen=chosen,
        reason=reason,
    )


def _gaps(values: FloatArray, candidates: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return the eigengap after each candidate, as it is and relative to the range that it is in."""
    here, above = values[candidates - 1], values[candidates]
    gaps = above - here
    if not len(candidates):
        return gaps, gaps
    mean_range = ((values[-1] - values[1]) + (values[-1] - here)) / 2
    return gaps, np.divide(gaps, mean_range, out=np.zeros_like(gaps), where=mean_range > 0)


def _beyond_chance(stability: FloatArray, null: FloatArray) -> FloatArray:
    return np.asarray(np.clip((stability - null) / np.maximum(1 - null, _CERTAIN), 0.0, 1.0))


def _choose(
    candidates: IntArray,
    relative: FloatArray,
    stability: FloatArray,
    null: FloatArray,
    n_connected: int,
) -> tuple[int, str]:
    """Return the number of clusters and why."""
    if not len(candidates):
        return 1, "1 cluster: there are too few samples, or too few candidates, to look for more."
    if n_connected > candidates[-1]:
        largest = int(candidates[-1])
        return largest, (
            f"{largest} clusters: the graph falls into {n_connected} connected components, more than any "
            "candidate, so the largest was taken."
        )
    corrected = _beyond_chance(stability, null)
    scores = relative * corrected
    best = int(np.argmax(scores))
    c = int(candidates[best])
    if scores[best] < STANDS_OUT and corrected.mean() < STEADY:
        return 1, (
            f"1 cluster: no number from 2 to {candidates[-1]} stands out from what a graph without structure "
            f"shows (the best, {c}, scores {scores[best]:.2f})."
        )
    order = np.argsort(-scores, kind="stable")[1:]
    close = [str(candidates[i]) for i in order if scores[i] > _CLOSE * scores[best]][:_MOST_CLOSE]
    rivals = f"; almost as good: {', '.join(close)}" if close else ""
    return c, (
        f"{c} clusters: the step behind eigenvalue {c} is {100 * relative[best]:.0f} % of the range it "
        f"stands in, and halves of the samples agree on the clusters to {stability[best]:.2f}, where "
        f"{null[best]:.2f} is usual without structure{rivals}."
    )
