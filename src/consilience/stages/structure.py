"""Structure: whether a view says anything at all, on its own.

Views of noise are found by their agreement with others (`agree`). Where no two views agree, that is no help;
and the more of them there are, the stronger the evidence must be that any two agree. But if a view says
anything of its samples, it mostly says it in more than one feature. So its features are divided into two
halves at random, and these are compared like two views: halves of independent noise agree about who is near
whom no more than by chance. (Psychologists judge tests so: split-half reliability.)

It says that there is something, not that it is of use; rows that belong to other samples have it, too. And a
view without it may still be of use: one feature may say all. So it is no reason to leave a view out that
agrees with another, but one to ask for stronger evidence of that.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..agreement.statistics import LEVEL, Agreement, agreement_from
from ..engines import Engine
from ..spaces import Space
from .prepare import PreparedViews

N_NEIGHBORS = 10  # by which halves are compared
MOST_SAMPLES = 2000  # that are looked at: enough to find what a clustering could find
N_SPLITS = 5  # of the features: in one of them the few that matter may be on one side
_SEED = 0

Bools = NDArray[np.bool_]


def with_structure(agreement: Agreement, views: PreparedViews, *, engine: Engine) -> tuple[Agreement, Bools]:
    """Return the agreement as views with structure and without it are to be judged, and which have it.

    A view that agrees with another on the strictest terms, or whose features cannot be divided, counts as one
    with structure: only the others are looked at.

    Parameters
    ----------
    agreement : Agreement
        How far the views agree.
    views : PreparedViews
        The views.
    engine : Engine
        The engine that searches and compares.
    """
    strictly = agreement.judged_by(np.zeros(len(views), dtype=bool))
    found: Bools = np.array(strictly.significant.any(axis=1), dtype=bool)
    asked = np.flatnonzero(~found).tolist()
    for i in asked:
        found[i] = has_structure(views.spaces[i], LEVEL / len(asked), engine=engine)
    return agreement.judged_by(found), found


def has_structure(space: Space, level: float = LEVEL, *, engine: Engine) -> bool:
    """Say whether a view has structure; True if it cannot be asked, or has seen too few samples to answer.

    Parameters
    ----------
    space : Space
        The view.
    level : float, default=0.01
        The chance that a view of independent noise is said to have structure.
    engine : Engine
        The engine that searches and compares.

    Examples
    --------
    >>> import numpy as np
    >>> from consilience.engines import get_engine
    >>> from consilience.spaces import Space
    >>> rng = np.random.default_rng(0)
    >>> noise = rng.normal(size=(200, 20))
    >>> groups = noise + 3 * rng.normal(size=(4, 20))[rng.integers(0, 4, 200)]
    >>> engine = get_engine("numpy")
    >>> [has_structure(Space("x", rows, "euclidean"), engine=engine) for rows in (noise, groups)]
    [False, True]
    """
    if not space.is_divisible:
        return True
    rng = np.random.RandomState(_SEED)
    space = _some_samples(space, rng)
    if space.n_samples < 2:
        return True
    varying = np.flatnonzero(_varies(space.rows))
    if len(varying) < 2:  # constant features say nothing, and must not be a half
        return len(varying) == 1
    space = space.of_features(varying)
    for _ in range(N_SPLITS):
        halves = [space.of_features(half) for half in divide(space.rows.shape[1], rng)]
        if _may_agree(halves, level / N_SPLITS, engine):
            return True
    return False


def divide(n_features: int, rng: np.random.RandomState) -> list[NDArray[np.intp]]:
    """Return random halves of the features, each in ascending order.

    Examples
    --------
    >>> divide(5, np.random.RandomState(0))
    [array([0, 1, 2]), array([3, 4])]
    """
    return [np.sort(half) for half in np.array_split(rng.permutation(n_features), 2)]


def _some_samples(space: Space, rng: np.random.RandomState) -> Space:
    """Return the samples that a view has seen, or some of them."""
    members = np.arange(space.n_samples) if space.seen is None else np.flatnonzero(space.seen)
    if len(members) > MOST_SAMPLES:
        members = np.sort(rng.permutation(members)[:MOST_SAMPLES])
    return replace(space.of_samples(members).in_memory(), seen=None)


def _varies(rows: Any) -> Bools:
    """Return which columns have two different values; empty cells are none."""
    if sparse.issparse(rows):
        return np.asarray((rows.max(axis=0) - rows.min(axis=0)).toarray() > 0).ravel()
    return np.asarray(np.fmax.reduce(rows) > np.fmin.reduce(rows))


def _may_agree(halves: list[Space], level: float, engine: Engine) -> bool:
    """Return whether two views of the same samples agree about who is near whom; True if none can know."""
    k = min(N_NEIGHBORS, halves[0].n_samples - 1)
    if k < 1:
        return True
    points = [engine.place(space) for space in halves]
    if any(map(engine.is_constant, points)):
        return False
    lists = [engine.break_ties(one, engine.nearest(one, k).lists, (i,)) for i, one in enumerate(points)]
    found = agreement_from(engine.overlaps(engine.stack(lists), None), level)
    # Among very few samples not even the same view twice would be found to agree.
    return bool(found.significant[0, 1] or not found.comparable[0, 1])
