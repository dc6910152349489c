r"""What speaks for and against a sample's place in a view: evidence from clusters and from neighbours.

Each view is a graph of near neighbours. A walk of two steps from sample s in view i, not returning to s, ends
in cluster c with probability :math:`h_i(s, c)`; over the share :math:`p_c` of that cluster among all samples,

.. math:: L_i(s, c) = h_i(s, c) / p_c

estimates how much likelier it is to find a sample of cluster c there than any sample. What the *other* views
say of s is put together as independent witnesses would be,

.. math:: q_{-i}(s, c) \propto p_c \prod_{j \neq i} L_j(s, c)^\tau,

with one :math:`\tau` for all views, chosen so that the others predict each view as well as possible: they
are not independent, and their likelihoods only estimates. Clusters are those of the fit, made soft by the
same rule.

The neighbours of s in view i that other views name, too, are also counted: where views share more than
clusters, these say more.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from ..engines import Engine
from .subject import Bools, Floats, Index, Subject

_ROUNDS = 3  # in which the clusters are made soft
_POWERS = (0.5, 0.6, 0.7, 0.85, 1.0, 1.2)  # to choose tau from
_LOOKED_AT = 1000  # samples to choose it by, at least


@dataclass(frozen=True, eq=False)
class Evidence:
    """What every view says of every sample.

    Attributes
    ----------
    likelihoods : list of ndarray of shape (n, c)
        For each view, how much likelier each cluster is at a sample's place in it; 1 where nothing is seen.
    shares : ndarray of shape (c,)
        Share of each cluster.
    power : float
        The tau of the module.
    stacked : stacked
        Each view's neighbours, ready to be compared by the engine.
    width : int
        Neighbours per sample in them.
    witnesses : ndarray of bool of shape (n, v)
        Which views are witnesses about which sample: they were kept and have seen it.
    apart : ndarray of bool of shape (v, v)
        Which views are not copies of each other: only these are witnesses about each other's rows.
    engine : Engine
        The engine that counts.
    """

    likelihoods: list[Floats]
    shares: Floats
    power: float
    stacked: Any
    width: int
    witnesses: Bools
    apart: Bools
    engine: Engine

    def by_others(self, i: int) -> Floats:
        """Return what the other views say of each sample: probabilities of the clusters (n, c)."""
        return _combined(self, np.flatnonzero(self.apart[i]).tolist())

    def by_all(self) -> Floats:
        """Return what all views say of each sample: probabilities of the clusters (n, c)."""
        return _combined(self, range(len(self.likelihoods)))

    def n_others(self, i: int) -> NDArray[np.intp]:
        """Return how many other views are witnesses about each sample."""
        return np.asarray((self.witnesses & self.apart[i]).sum(axis=1))

    def n_confirmed(self, i: int, rows: NDArray[np.intp], places: NDArray[np.intp]) -> NDArray[np.int64]:
        """Count the neighbours of rows of a view that others name at these places."""
        return self.engine.confirmed(self.stacked, i, self.witnesses & self.apart[i], rows, places)


def gather_evidence(subject: Subject) -> Evidence:
    """Gather what every view says of every sample."""
    n, engine = subject.n_samples, subject.engine
    none = np.arange(n, dtype=np.int32)[:, None]
    given = [none if one is None else one for one in subject.lists]
    width = max(one.shape[1] for one in given)
    lists = [engine.adopt(_ascending(one, width)) for one in given]
    graphs = [engine.neighbor_graph(one) for one in lists]
    stacked = engine.stack(lists)
    labels = np.zeros(n, dtype=np.intp) if subject.labels is None else subject.labels
    members = np.eye(subject.n_clusters)[labels]
    witnesses, apart = subject.seen & subject.kept, ~subject.copies
    for _ in range(_ROUNDS):
        shares = members.mean(axis=0) + 1e-12
        likelihoods = [
            np.where(subject.seen[:, i, None], engine.votes(one, members) / shares, 1.0)
            for i, one in enumerate(graphs)
        ]
        evidence = Evidence(likelihoods, shares, 1.0, stacked, width, witnesses, apart, engine)
        members = evidence.by_all()
    return replace(evidence, power=_choose_power(evidence))


def _ascending(lists: Index, width: int) -> Index:
    """Return lists of a common length, ascending; filled up with a sample's own number: no neighbour."""
    own = np.arange(len(lists), dtype=lists.dtype)[:, None]
    filled = np.hstack([lists, np.repeat(own, width - lists.shape[1], axis=1)])
    return np.sort(filled, axis=1)


def _combined(evidence: Evidence, views: Any) -> Floats:
    """Return what these views say together, as far as they are witnesses."""
    total = np.tile(np.log(evidence.shares), (len(evidence.witnesses), 1))
    for j in views:
        logs = np.log(evidence.likelihoods[j])
        logs[~evidence.witnesses[:, j]] = 0.0
        total += evidence.power * logs
    return np.asarray(softmax(total, axis=1))


def _choose_power(evidence: Evidence) -> float:
    """Return the tau with which the others predict each view best, on some of the samples."""
    rows = slice(None, None, max(len(evidence.witnesses) // _LOOKED_AT, 1))
    seen, prior = evidence.witnesses[rows], np.log(evidence.shares)
    likelihoods = [one[rows] for one in evidence.likelihoods]
    logs = [np.where(seen[:, i, None], np.log(one), 0.0) for i, one in enumerate(likelihoods)]
    others = [sum((logs[j] for j in np.flatnonzero(one)), np.zeros_like(logs[0])) for one in evidence.apart]

    def log_likelihood(power: float) -> float:
        return sum(
            float(np.log((softmax(power * by_others + prior, axis=1) * own).sum(axis=1)).sum())
            for by_others, own in zip(others, likelihoods, strict=True)
        )

    return 1.0 if len(evidence.shares) == 1 else max(_POWERS, key=log_likelihood)
