"""The interface of engines: everything that is done to rows and edges.

Stages call an engine and never use the inside of what it returns. A *handle* is an object of the engine, an
array or something on another device: only the engine that made it opens it. Scalars, v x v matrices, small
samples and labels are returned to the caller; anything larger comes by `fetch`, when it is needed. The types
of arguments and results say of which kind a handle is; whatever has another type is in the memory of this
process.

==================  =====================================================================================
handle              what it stands for
==================  =====================================================================================
Points              a view placed by the engine: rows and metric
Queries             new samples next to a placed view
Lists *             the nearest k samples of each sample, (n, k); its own number where there are fewer
Known               distances that a search has measured, for `measure`
Stacked             the lists of several views, ready to be compared
NeighborGraph       the neighbours of a view, ready for `votes`
Trust *             how much each row of each view counts, (n, v)
Edges *             the directed edges that the views share, row by row: an `EdgeSet`
Judged *            which view judges which edge, (v, n_edges) of bool; None: all views judge all edges
Values *            a number on each edge, (n_edges,)
Weights *           a number on each edge for each view, (v, n_edges); also trust on edges
State               the weights of a fusion, their inconsistent parts and the fused values
Marks               some of the edges from new samples, (n_edges,) of bool
Graph *             a sparse graph, (n, n); from `keep_largest` not symmetric, and of any shape
Vectors *           rows of an embedding, (n, m)
==================  =====================================================================================

Those with a star are fetched and adopted: an engine that adopts an array cannot know of which kind it is
until a function takes it. What is adopted may be kept without a copy. A handle may be in float32 where the
docstring does not say otherwise; `fetch` returns it as it is. Unless a docstring says that it overwrites an
argument, a function leaves its arguments as they are.

`numpy` is the readable engine, and all others are tested against it; `numba` is the default. Both work in the
memory of this process: their handles are arrays, `EdgeSet`, SciPy matrices and small objects.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..graphs import EdgeKernel, Moments
from ..spaces import Space
from ..spaces.scaling import Columns
from .results import Clusters, Matrix, Neighbors, Overlaps, Spectrum, Sums, Vector

Handle: TypeAlias = Any
# Kinds of handles: see the table above.
Points: TypeAlias = Any
Queries: TypeAlias = Any
Lists: TypeAlias = Any
Known: TypeAlias = Any
Stacked: TypeAlias = Any
NeighborGraph: TypeAlias = Any
Trust: TypeAlias = Any
Edges: TypeAlias = Any
Judged: TypeAlias = Any
Values: TypeAlias = Any
Weights: TypeAlias = Any
State: TypeAlias = Any
Marks: TypeAlias = Any
Graph: TypeAlias = Any
Vectors: TypeAlias = Any
Mask = NDArray[np.bool_]
Search = Literal["exact", "approximate", "auto"]
SEARCHES: tuple[Search, ...] = ("auto", "exact", "approximate")


def enough_for_subset(k: int, share: float) -> int:
    """Return how many neighbours to find so that a share of the samples hardly ever lacks one of its k.

    Of the K nearest of all samples about that share is in a subset; the number varies by chance.

    Examples
    --------
    >>> enough_for_subset(20, 0.8)
    42
    """
    return int(np.ceil((k + 3 * np.sqrt(k)) / share))


class Engine(ABC):
    """All heavy work on rows and edges. See the module for what handles are.

    A subclass has a `name`, and implements every abstract function. `consilience.testing.check_engine`
    compares each of them with the readable engine.
    """

    name: ClassVar[str]
    takes_device_arrays: ClassVar[bool] = False  # whether rows may be a `views.DeviceArray`, of a GPU

    # About the engine

    @abstractmethod
    def limit(self, n_jobs: int | None) -> AbstractContextManager[None]:
        """Use this number of threads inside the block; None leaves everything as it is."""

    @property
    @abstractmethod
    def n_threads(self) -> int:
        """How many threads it uses now."""

    def require(self, n_bytes: float, who: str) -> bool:
        """Say whether the engine has a memory of its own for its handles; a MemoryError if that is too small.

        Parameters
        ----------
        n_bytes : float
            What the work will hold at once.
        who : str
            The work, for the message.
        """
        return False

    @abstractmethod
    def fetch(self, handle: Handle) -> Any:
        """Return what a handle stands for, in the memory of this process.

        Lists, trust, values, weights, vectors and what is judged become arrays, edges an `EdgeSet`, graphs a
        SciPy csr_array. For engines that work in this memory that is the handle itself.
        """

    @abstractmethod
    def adopt(self, value: Any) -> Handle:
        """Return a handle for what `fetch` would return: the reverse, for checkpoints and own graphs."""

    # Rows: features and neighbours

    @abstractmethod
    def describe(self, rows: Any, seen: Mask | None) -> Columns:
        """Return range, mean, variance and zeros of the columns of a dense view, over the rows seen."""

    @abstractmethod
    def place(self, space: Space) -> Points:
        """Put a view into the memory of the engine, and return points.

        Raises a ValueError if the metric cannot measure it.
        """

    @abstractmethod
    def query(self, points: Points, rows: Any) -> Queries:
        """Put new samples next to a placed view, and return queries to search and to measure from.

        Parameters
        ----------
        points : points
            The view, placed.
        rows : ndarray or sparse matrix of shape (m, d)
            New samples by the same features, on the scale of the view. Of a view that is a matrix between
            samples: their distances or similarities to its n samples, (m, n).

        Returns
        -------
        queries
            The results for one new sample do not depend on the others. A sample of the view that comes again
            as a new one is measured exactly as in `measure`, and is at 0 from itself; but with cosine and
            correlation a row without direction is at 1 from every sample.
        """

    @abstractmethod
    def subset(self, points: Points, rows: NDArray[np.intp], n_samples: int) -> Points:
        """Return points of some of the n samples, ascending; nothing is placed again."""

    @abstractmethod
    def cached(self, points: Points) -> Points:
        """Return points that keep their answers, for fitting many models to the same views."""

    @abstractmethod
    def is_constant(self, points: Points) -> bool:
        """Say whether all samples look the same."""

    @abstractmethod
    def mean_over_pairs(self, points: Points) -> float:
        """Return the mean over all n^2 pairs, a sample and itself counting as 0.

        It is the mean of squared distances, or of similarities; for cosine and correlation, of the distances
        1 - cos themselves, not squared. So it has a closed form for these and for Euclidean distance.
        """

    @abstractmethod
    def nearest(self, points: Points, k: int, search: Search = "exact") -> Neighbors:
        """Return the k nearest of each sample, and how they were found.

        Distances that agree to twelve digits count as equal; of equal ones the lower number is nearer, or in
        sparse graphs the one whose ends share more neighbours. "auto" is exact where comparing all pairs
        costs less.
        """

    @abstractmethod
    def nearest_new(self, queries: Queries, k: int) -> Lists:
        """Return the lists of new samples: the k nearest placed ones; -1 where there are fewer."""

    @abstractmethod
    def break_ties(
        self, points: Points, lists: Lists, seed: Sequence[int], search: Search = "exact"
    ) -> Lists:
        """Return lists that do not depend on the order of the samples.

        Where the last two neighbours of many samples are equally near, the order of the samples decides which
        is named. It is the same in all views and would look like agreement: so the last ones are drawn at
        random among those that are equally near. Lists without many ties are returned as they are. `search`
        says how the lists were found: more neighbours are then found in the same way.
        """

    @abstractmethod
    def restrict(self, lists: Lists, samples: Mask) -> Lists:
        """Return lists in which only these samples (n,) have neighbours."""

    # Agreement: what lists have in common

    @abstractmethod
    def stack(self, lists: Sequence[Lists]) -> Stacked:
        """Return the lists of several views as one handle, ready to be compared."""

    @abstractmethod
    def overlaps(self, stacked: Stacked, mask: Mask | None) -> Overlaps:
        """Count what the lists of views have in common, and what is expected by chance.

        `mask` (n, v) says which view has seen which sample; None: all.
        """

    @abstractmethod
    def row_trust(
        self, stacked: Stacked, mask: Mask | None, votes: Matrix, expected: Matrix, units: Vector
    ) -> Trust:
        """Return how far each row of each view is confirmed by the lists of other views: trust (n, v).

        Parameters
        ----------
        stacked, mask
            As for `overlaps`.
        votes : ndarray of shape (v, v)
            The vote that each view (column) has on each (row).
        expected : ndarray of shape (v, v)
            How many neighbours two views share on average; symmetric.
        units : ndarray of shape (v,)
            The unit in which the confirmed neighbours of a view are counted; 0: the view's rows all count 1.

        Notes
        -----
        Counts t of confirmed neighbours, where e are expected, are taken for Poisson numbers whose rates come
        from a Gamma distribution of mean 1, fitted to all rows: the trust is (a + t) / (a + e).
        """

    @abstractmethod
    def matched_rows(
        self,
        lists: Sequence[Lists],
        vectors: Vectors,
        trust: Trust | None,
        mask: Mask | None,
        seed: int,
        copy_of: Sequence[int] | None = None,
    ) -> tuple[Trust, Vector]:
        """Return the trust in rows by where they lie, (n, v), and the share of matched rows in each view.

        Parameters
        ----------
        lists : sequence of lists
            The neighbours in each of at least two views.
        vectors : vectors
            An embedding of the samples, in rows of unit length.
        trust : trust or None
            The trust so far, by which neighbours count; None: 1.
        mask : ndarray of bool of shape (n, v), or None
            Which view has seen which sample; None: all.
        seed : int
            Pairs samples at random, for what chance would give.
        copy_of : sequence of int, or None
            The view that each view is a copy of, or its own number: copies do not vouch for each other, and
            are trusted as their originals. None: no view is a copy.

        Notes
        -----
        The model is that of `engines.matching`. Trust is within [0.01, 1], and 1 where a view has not seen a
        sample.
        """

    @abstractmethod
    def lower_trust(
        self, trust: Trust | None, n_views: int, columns: Mask, rows: Mask, level: float
    ) -> Trust:
        """Return trust that is `level` in these columns (v,) and rows (n,); None stands for 1 everywhere."""

    @abstractmethod
    def bounded(self, trust: Trust, least: float) -> Trust | None:
        """Return trust within [least, 1]; None if it is 1 everywhere."""

    @abstractmethod
    def confirmed(
        self, stacked: Stacked, view: int, others: Mask, rows: NDArray[np.intp], places: NDArray[np.intp]
    ) -> NDArray[np.int64]:
        """Count the neighbours that rows of a view share with other views at certain places.

        The neighbours of sample rows[j] in the view are compared with those of sample places[j] in the views
        that `others` (n, v) names for that place.
        """

    @abstractmethod
    def neighbor_graph(self, lists: Lists) -> NeighborGraph:
        """Return the graph of a view's neighbours, made symmetric, for `votes`."""

    @abstractmethod
    def votes(self, graph: NeighborGraph, members: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what a view's neighbours say about each sample's cluster, (n, c).

        `members` (n, c) are probabilities of the clusters. A vote is the probability that a walk of two steps
        on that graph ends in a cluster; walks that return to their start do not count. With few neighbours a
        vote is shrunk towards the share of the cluster.
        """

    # Edges: the values of the views on them

    @abstractmethod
    def unite(self, lists: Sequence[Lists], mask: Mask | None) -> Edges:
        """Return the edges that any of the lists names, each judged by the views that have seen both ends."""

    @abstractmethod
    def n_edges(self, edges: Edges) -> int:
        """Return how many edges there are."""

    @abstractmethod
    def judged(self, edges: Edges) -> Judged | None:
        """Return which view judges which edge: it has seen both ends. None: all judge all."""

    @abstractmethod
    def judged_shares(self, judged: Judged) -> Vector:
        """Return which share of the edges each view judges."""

    @abstractmethod
    def measure(self, points: Points, edges: Edges, known: Known | None = None) -> Values:
        """Return squared distances, or similarities, on the edges: values, 0 where an end was not seen.

        `known` is what a search in these points has measured; it is not measured again.
        """

    @abstractmethod
    def trust_on_edges(self, edges: Edges, trust: Trust, like: Weights) -> Weights:
        """Return the product of the trust at both ends, for each view, in the precision of other weights.

        0 where a view does not judge an edge.
        """

    @abstractmethod
    def moments(
        self, values: Values, judged: Judged | None, view: int, kernel: EdgeKernel | None = None
    ) -> Moments:
        """Return mean and deviation of values over the edges that a view judges.

        With a kernel: of the transformed values.
        """

    @abstractmethod
    def mean_root(
        self, values: Values, judged: Judged | None, view: int, kernel: EdgeKernel | None = None
    ) -> float:
        """Return the mean square root over the edges that a view judges, after a kernel; 1 if it is 0."""

    @abstractmethod
    def mean_positive(self, values: Values) -> float:
        """Return the mean of the values above 0; 1 if there are none."""

    @abstractmethod
    def mean(self, values: Values) -> float:
        """Return the mean of all values, in double precision; 1 if it is 0."""

    @abstractmethod
    def weigh(
        self,
        edges: Edges,
        n_views: int,
        parts: Iterable[tuple[Values, EdgeKernel]],
        double: bool = False,
    ) -> Weights:
        """Return weights from the values of each view and its kernel; 0 where a view does not judge.

        `parts` gives one view after the other, so that only one view's values are in memory. Many weights may
        be kept in single precision, unless `double` is set.
        """

    @abstractmethod
    def transform(self, values: Values, kernel: EdgeKernel) -> Values:
        """Return the values transformed by a kernel."""

    @abstractmethod
    def n_values(self, weights: Weights) -> int:
        """Return how many edges weights are on."""

    @abstractmethod
    def precision(self, weights: Weights) -> np.dtype[Any]:
        """Return the type of number that weights are kept as: float64 or float32."""

    @abstractmethod
    def totals(self, weights: Weights) -> Vector:
        """Return the sum of each view's weights, in double precision."""

    @abstractmethod
    def divide(self, weights: Weights, units: Vector) -> Weights:
        """Return weights with each view's row divided by a unit."""

    @abstractmethod
    def average(
        self,
        weights: Weights,
        judged: Judged | None,
        view_weights: Vector | None = None,
        trust: Weights | None = None,
    ) -> Values:
        """Return the mean over the views that judge each edge.

        It is weighted by views and by trust on edges if these are given: the sum of w x over the sum of w,
        with w the product of both, and 0 where a view does not judge. Of each edge, one w or more is above 0.
        """

    @abstractmethod
    def expected_average(
        self, weights: Weights, judged: Judged, view_weights: Vector, trust: Weights | None = None
    ) -> Values:
        """Return the weighted mean over all views, with expected values where a view does not judge.

        An expected value is the conditional mean of jointly normal values, with the means and covariances of
        the edges that two views both judge. `trust` weighs the views that do judge.
        """

    # Fusion: the passes over the edges of the paper's algorithms

    @abstractmethod
    def normalize(self, weights: Weights, judged: Judged | None, names: Sequence[str]) -> Weights:
        """Return weights that sum to 1 for each view; those given may be overwritten.

        With samples missing they have the mean 1 / n_edges over the edges that the view judges. Raises a
        ValueError that names the view whose weights are negative, not finite or all 0.
        """

    @abstractmethod
    def load(
        self, weights: Weights, judged: Judged | None, trust: Weights | None, view_weights: Vector
    ) -> State:
        """Take normalised weights, set the inconsistent parts E to 0, and return a state.

        On edge e view i counts ``view_weights[i]`` times its trust there; without trust that is 1 where it
        judges. Trust that is given is 0 exactly where a view does not judge.
        """

    @abstractmethod
    def start(self, state: State, scales: Vector) -> Sums:
        """Set the fused values to their closed form, where E is 0."""

    @abstractmethod
    def dca_round(self, state: State, scales: Vector, beta: float, gamma: float, steps: int) -> Sums:
        """Fused values from these scales and the current A, then `steps` DCA steps on A (Algorithm 2)."""

    @abstractmethod
    def exact_round(self, state: State, scales: Vector, beta: float, gamma: float) -> Sums:
        """Fused values from these scales and the current A, then the exact minimiser over A.

        The `Sums` have their `consistent_gram`.
        """

    @abstractmethod
    def fuse(self, state: State, scales: Vector) -> None:
        """Set only the fused values to their minimiser given A."""

    @abstractmethod
    def consistent(self, weights: Weights, inconsistent: Weights, scales: Vector) -> Weights:
        """Return each view's value on each edge, on the common scale: alpha_i A_i."""

    @abstractmethod
    def collect(self, state: State) -> tuple[Weights, Values]:
        """Return the inconsistent parts, weights, and the fused values. The state is not used after it."""

    # The unified graph, its eigenvectors and clusters

    @abstractmethod
    def impute(
        self, edges: Edges, values: Values, mask: Mask, view_weights: Vector, k: int
    ) -> tuple[Edges, Values]:
        """Complete the edges that views have not seen by common neighbours; return edges and values.

        With p the share of the views, by their weights, that judge an edge, its value s becomes
        p s + (1 - p) c T, where T is the weight of a walk of two steps between its ends on the unified graph
        and c a unit, by least squares. Samples that no view has seen both of are joined by c T, the k
        nearest.
        """

    @abstractmethod
    def symmetrize(self, edges: Edges, values: Values) -> Graph:
        """Return the graph (S + S') / 2 of values on edges, without stored zeros."""

    @abstractmethod
    def keep_largest(
        self, edges: Edges, values: Values, k: int, shape: tuple[int, int] | None = None
    ) -> Graph:
        """Return the graph of the k largest values of each row, as a matrix of a shape; None: (n, n).

        Of equal values (to twelve digits) those with the lower column are kept; values of 0 are stored if
        they are among the k largest.
        """

    @abstractmethod
    def sparsify(self, edges: Edges, values: Values, k: int) -> Graph:
        """Return the graph (S + S') / 2 of the k largest values of each row, without stored zeros."""

    @abstractmethod
    def mix(self, graphs: Sequence[Graph], shares: Vector) -> Graph:
        """Return the weighted sum of symmetric graphs, each divided on both sides by roots of its degrees.

        An isolated sample of a graph stays isolated in it.
        """

    @abstractmethod
    def leading_vectors(self, graph: Graph, n_vectors: int, tol: float | None, seed: int) -> Spectrum:
        """Return the eigenvectors of the normalised Laplacian for its smallest eigenvalues.

        Every copy of eigenvalue 0 is found. With more connected components than vectors, the largest
        components are represented. `tol` is the largest residual norm accepted; None: 1e-9, or 1e-5 for many
        samples. Raises an `EigensolverError` if no method reaches it.
        """

    @abstractmethod
    def n_rows(self, vectors: Vectors) -> int:
        """Return how many rows an embedding has."""

    @abstractmethod
    def take(self, vectors: Vectors, rows: NDArray[np.intp]) -> Matrix:
        """Return some rows of an embedding."""

    @abstractmethod
    def first_columns(self, vectors: Vectors, n_columns: int) -> Vectors:
        """Return the first columns of an embedding."""

    @abstractmethod
    def unit_rows(self, vectors: Vectors) -> Vectors:
        """Return rows of unit length; rows of zeros stay as they are."""

    @abstractmethod
    def kmeans(
        self,
        vectors: Vectors,
        n_clusters: int,
        *,
        n_init: int,
        max_iter: int,
        unit: bool,
        random_state: Any,
    ) -> Clusters:
        """Cluster the rows, scaled to unit length if `unit`; rows of zeros go to the nearest centre."""

    # New samples

    @abstractmethod
    def unite_new(self, lists: Sequence[Lists | None], asked: Mask, masks: Sequence[Mask | None]) -> Edges:
        """Return the edges from m new samples to those of a fit that any view names.

        Parameters
        ----------
        lists : sequence of (lists or None)
            For each view, those of the new samples that have it, in order; None if none has.
        asked : ndarray of bool of shape (m, v)
            Which new sample has which view.
        masks : sequence of (ndarray of bool of shape (n,), or None)
            Which samples of the fit each view has seen.
        """

    @abstractmethod
    def measure_new(self, queries: Queries, edges: Edges, asked: Mask) -> Values:
        """Return values on edges from new samples: `measure` for those that have the view, 0 for others."""

    @abstractmethod
    def trust_of_ends(self, edges: Edges, trust: Trust) -> Weights:
        """Return, for each view that judges an edge, the trust in the sample that it leads to; else 0."""

    @abstractmethod
    def coinciding(self, edges: Edges, parts: Sequence[tuple[int, Values]], n_views: int) -> Marks:
        """Mark edges on which all views that judge them are at distance 0; `parts` are views and values."""

    @abstractmethod
    def cluster_shares(
        self, edges: Edges, values: Values, same: Marks, labels: NDArray[np.intp], n_clusters: int, k: int
    ) -> Matrix:
        """Count the votes of the k strongest edges of each new sample for the clusters they lead to.

        Edges vote by their values. If a sample has edges marked in `same`, only these vote, with 1 each.
        Returns (m, n_clusters).
        """

    # Dense steps of comparison systems

    @abstractmethod
    def project_rows(self, values: NDArray[Any], indptr: NDArray[Any] | None = None) -> NDArray[np.float64]:
        """Return the nearest point of the probability simplex to each row, dense or in compressed rows."""

    @abstractmethod
    def strongest(self, matrix: NDArray[np.float64], k: int) -> tuple[NDArray[np.intp], Matrix]:
        """Return the columns of the k largest entries of each row, ascending, and these entries."""

    @abstractmethod
    def diffuse(self, matrix: Matrix, columns: NDArray[np.intp], weights: Matrix, out: Matrix) -> None:
        """Set `out` to S X S' + I for a symmetric X; row i of S has `weights[i]` at `columns[i]` (SNF)."""

    @abstractmethod
    def symmetrize_dense(self, matrix: Matrix) -> None:
        """Replace a dense matrix by the mean with its transpose, in place."""

    @abstractmethod
    def shrink_round(
        self,
        transitions: Matrix,
        dual: tuple[Matrix, Matrix],
        views: Sequence[tuple[Any, Matrix]],
        steps: tuple[float, float],
        penalty: float,
    ) -> tuple[float, float, float]:
        """Update the multipliers of a low-rank and sparse split, in place (RMSC).

        Parameters
        ----------
        transitions : ndarray of shape (n, n)
            P.
        dual : tuple of two ndarray of shape (n, n)
            The multiplier Z of P = Q before, overwritten by the next argument of the projection; and after.
        views : sequence of (csr_array, ndarray of shape (n, n))
            Each view's walk T_i and its multiplier Y_i, which is overwritten.
        steps : tuple of float
            mu of this round and of the next.
        penalty : float
            lambda.

        Returns
        -------
        tuple of float
            The largest row sum of ``|T_i - P - E_i|``, the largest entry of ``|P - Q|``, and the sum of all
            ``|E_i|``.
        """
