"""What `does_fusion_help` returns: a verdict, and all that it rests on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .verdict import Evidence


@dataclass(frozen=True, eq=False, repr=False)
class FusionHelp:
    """Whether fusing views helps. Rows are contenders, in the order of `names`; fusions come last.

    Attributes
    ----------
    names : tuple of str
        Each view, ``"concatenation"``, ``"average"``, ``"SGF"``, ``"DGF"``.
    kinds : tuple of str
        ``"view"``, ``"concatenation"``, ``"average"`` or ``"fusion"``.
    labels : ndarray of int of shape (m, n_samples)
        The clusters that each finds; -1 for a sample that a view has not seen.
    shown : ndarray of shape (m,)
        How far the clusters show in the graphs of the views that DGF keeps, beyond chance, on average over
        views and descriptions of their features: 1 if all edge weight lies inside clusters, 0 if no more than
        by chance.
    shown_resampled : ndarray of shape (m, n_resamples)
        The same for the clusters of every resample, in which fusions have low effort.
    stability : ndarray of shape (m,)
        How far clusters hold if a fifth of the samples is left out: mean adjusted Rand index of the clusters
        of resamples with those of all samples, fusions with low effort. It has no part in the verdict:
        clusters can be stable and mean nothing.
    resampled : ndarray of shape (m, n_resamples)
        The stability in every resample.
    agreement : ndarray of shape (m, m)
        Adjusted Rand index of the labels of each two, on the samples that both have seen.
    scores : dict of str to ndarray of shape (m,), or None
        NMI (by the larger entropy), ACC and ARI against the known classes, if these were given. They have no
        part in the verdict.
    verdict : {"yes", "no", "unclear"}
        Whether fusing helps.
    strength : {"strong", "weak"}
        How strong the evidence for that is.
    sentence : str
        The verdict with the numbers for it.
    evidence : Evidence
        These numbers.
    skipped : dict of str to str
        What could not be compared, and why.
    """

    names: tuple[str, ...]
    kinds: tuple[str, ...]
    labels: NDArray[np.intp]
    shown: NDArray[np.float64]
    shown_resampled: NDArray[np.float64]
    stability: NDArray[np.float64]
    resampled: NDArray[np.float64]
    agreement: NDArray[np.float64]
    scores: Mapping[str, NDArray[np.float64]] | None
    verdict: str
    strength: str
    sentence: str
    evidence: Evidence
    skipped: Mapping[str, str]

    def summary(self) -> str:
        """Return the sentence, a table of the contenders, and what was left out, as text."""
        fused = self.names.index(self.evidence.fused)
        columns = {
            "shown": self.shown,
            "stability": self.stability,
            f"agreement with {self.evidence.fused}": self.agreement[fused],
            **(self.scores or {}),
        }
        header = ["contender", *columns]
        rows = [
            [name, *("" if np.isnan(values[i]) else f"{values[i]:.3f}" for values in columns.values())]
            for i, name in enumerate(self.names)
        ]
        widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
        lines = [
            "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip()
            for row in (header, *rows)
        ]
        left_out = [f"{name}: left out. {reason}" for name, reason in self.skipped.items()]
        return "\n".join([self.sentence, "", *lines, *left_out])

    def __repr__(self) -> str:
        return f"<FusionHelp {self.verdict!r} ({self.strength} evidence)>\n{self.summary()}"
