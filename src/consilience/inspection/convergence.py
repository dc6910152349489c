"""How the fusion went."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .subject import Floats, as_subject


@dataclass(frozen=True, eq=False)
class Convergence:
    """How the objective fell, round by round.

    Attributes
    ----------
    objective : ndarray of shape (rounds + 1,)
        Its value at the start and after each round.
    converged : bool
        Whether the stopping rule was met.
    status : str
        Why it ended.
    """

    objective: Floats
    converged: bool
    status: str

    @property
    def n_iter(self) -> int:
        """Number of rounds."""
        return len(self.objective) - 1

    @property
    def gains(self) -> Floats:
        """Share of the whole gain that each round made."""
        whole = self.objective[0] - self.objective[-1]
        falls = -np.diff(self.objective)
        return np.asarray(falls / whole if whole > 0 else np.zeros(len(falls)))


def convergence(fitted: Any) -> Convergence:
    """Say how the fusion went.

    Parameters
    ----------
    fitted : SimilarityGraphFusion, DistanceGraphFusion or FusionResult
        A fitted model, or what `fuse_graphs` returned.

    Returns
    -------
    Convergence

    Examples
    --------
    >>> from consilience import DistanceGraphFusion, make_multiview
    >>> from consilience.inspection import convergence
    >>> data = make_multiview(200, n_clusters=3, separation=4.0, random_state=0)
    >>> went = convergence(DistanceGraphFusion(n_clusters=3, random_state=0).fit(data.views))
    >>> went.converged, bool((went.gains >= 0).all())
    (True, True)
    """
    fusion = as_subject(fitted).fusion
    return Convergence(fusion.history, fusion.converged, fusion.status)
