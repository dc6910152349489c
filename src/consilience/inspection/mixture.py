r"""Which rows are misplaced: a mixture of rows at their place and rows put at random places.

How a misplaced row looks needs no model: put rows at random places and look. With x what is measured of
a row (`evidence`), :math:`f_1` its density for such rows and :math:`f_0` for rows at their place, what is
seen is :math:`f = (1 - \pi) f_0 + \pi f_1`. The ratio :math:`f_0 / f_1 = e^{a + b'x}` is fitted by logistic
regression of the rows seen, weighted by how far they are at their place, against the rows put at random; then
the weights and :math:`\pi` are estimated again, until they settle (expectation and maximisation).

Two kinds of rows can be separated in their mixture only if one of them is rare where the other is. Hence
what is expected of the slopes beforehand: what speaks against a place makes rows at their place rarer, faster
than the evidence says (estimated likelihoods are nearer to chance than true ones), and never more slowly.

That the *others* are mistaken about the cluster of a sample has its own place in it: with probability
:math:`1 - t`, in which case the row is as likely as `otherwise` says.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .subject import Floats

_ROUNDS = 200
_SETTLED = 5e-3
_RIDGE = 1.0  # how strongly slopes are drawn to what is expected: little, and only where data say little
_LEAST, _MOST = 1e-4, 1 - 1e-4


@dataclass(frozen=True, eq=False)
class Slopes:
    """What is expected of the slopes b: about which value each is, and the largest that it can have."""

    expected: Floats
    most: Floats


@dataclass(frozen=True, eq=False)
class Separation:
    """Rows at their place and misplaced ones, separated as far as possible.

    Attributes
    ----------
    share : float
        Share of misplaced rows.
    centre, spread : ndarray of shape (d,)
        What is measured is taken relative to these.
    slopes : ndarray of shape (d + 1,)
        The a and b of the module.
    """

    share: float
    centre: Floats
    spread: Floats
    slopes: Floats

    def sound(self, seen: Floats, trusted: Floats, otherwise: Floats) -> Floats:
        """Return the probability that each row is at its place."""
        direct, mistaken = self._parts(_design(seen, self.centre, self.spread), trusted, otherwise)
        return (direct + mistaken) / (self.share + direct + mistaken)

    def _parts(self, design: Floats, trusted: Floats, otherwise: Floats) -> tuple[Floats, Floats]:
        """Return how likely rows at their place are, relative to a random place: directly, or otherwise."""
        ratio = np.exp(np.clip(design @ self.slopes, -30, 30))
        return (1 - self.share) * trusted * ratio, (1 - self.share) * otherwise


def separate(
    seen: Floats,
    misplaced: Floats,
    trusted: Floats,
    otherwise: Floats,
    start: float,
    most: float,
    prior: Slopes,
) -> Separation:
    """Separate rows at their place from misplaced ones.

    Parameters
    ----------
    seen : ndarray of shape (n, d)
        What is measured of the rows.
    misplaced : ndarray of shape (m, d)
        The same of rows put at random places.
    trusted : ndarray of shape (n,)
        The t of the module: how far the others can be believed about the sample.
    otherwise : ndarray of shape (n,)
        How much likelier the row is if they are mistaken than at a random place, times the chance of that.
    start : float
        A first guess of the share of misplaced rows.
    most : float
        The largest that it can be: rows that look misplaced are no more than these.
    prior : Slopes
        What is expected of the slopes.
    """
    centre, spread = misplaced.mean(axis=0), misplaced.std(axis=0)
    A, B = _design(seen, centre, spread), _design(misplaced, centre, spread)
    found = Separation(
        float(np.clip(start, 0.01, max(min(most, 0.9), 0.01))), centre, spread, np.zeros(A.shape[1])
    )
    sound = at_place = np.full(len(A), 1 - found.share)
    fitted = found.slopes
    scaled = Slopes(
        prior.expected * spread, np.where(spread > 1e-9, prior.most * np.maximum(spread, 1e-9), np.inf)
    )
    for _ in range(_ROUNDS):
        fitted = _improved(A, B, at_place, fitted, scaled)
        slopes = fitted.copy()
        slopes[0] -= np.log(max(at_place.sum(), 1e-9) / len(B))  # as many of either kind
        found = replace(found, slopes=slopes)
        direct, mistaken = found._parts(A, trusted, otherwise)
        total = found.share + direct + mistaken
        before, sound, at_place = sound, (direct + mistaken) / total, direct / total
        last = found.share
        found = replace(found, share=float(np.clip(1 - sound.mean(), _LEAST, min(most, _MOST))))
        if abs(found.share - last) < _SETTLED / 50 and np.abs(sound - before).max() < _SETTLED:
            break
    return found


def _design(x: Floats, centre: Floats, spread: Floats) -> Floats:
    """Return what is measured, standardised, after a column of ones; 0 where it does not vary."""
    scaled = np.where(spread > 1e-9, (x - centre) / np.maximum(spread, 1e-9), 0.0)
    return np.column_stack([np.ones(len(x)), scaled])


def _improved(A: Floats, B: Floats, weights: Floats, slopes: Floats, prior: Slopes) -> Floats:
    """Take a Newton step of the logistic regression of rows A, weighted, against rows B."""
    expected, most = np.concatenate([[0.0], prior.expected]), np.concatenate([[np.inf], prior.most])
    ridge = np.full(len(slopes), _RIDGE)
    ridge[0] = 0.0
    p = 1 / (1 + np.exp(-np.clip(A @ slopes, -30, 30)))
    r = 1 / (1 + np.exp(-np.clip(B @ slopes, -30, 30)))
    gradient = (weights * (1 - p)) @ A - r @ B - ridge * (slopes - expected)
    hessian = (A * (weights * p * (1 - p))[:, None]).T @ A + (B * (r * (1 - r))[:, None]).T @ B
    hessian += np.diag(ridge + 1e-9)
    step = np.linalg.solve(hessian, gradient)
    bound = slopes + step > most
    if bound.any():  # these go to their bound, the others as far as is best then
        step[bound] = (most - slopes)[bound]
        free = ~bound
        pull = gradient[free] - hessian[np.ix_(free, bound)] @ step[bound]
        step[free] = np.linalg.solve(hessian[np.ix_(free, free)], pull)
    return slopes + step
