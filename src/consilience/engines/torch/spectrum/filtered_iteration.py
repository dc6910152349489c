r"""The largest eigenvectors of a large sparse matrix by Chebyshev-filtered subspace iteration, on a device.

A block of some more vectors than are wanted is multiplied by a polynomial of the matrix that is small on the
unwanted part of the spectrum, :math:`[a, b]`, and grows as fast as a polynomial can above it; then the best
eigenvectors in its span are taken (Rayleigh-Ritz), which also show better where the unwanted part ends, and
so on. `a` is a bound by a short Lanczos run, `b` the least eigenvalue that the block has shown: it is never
above the true one with that number. The degree is the one needed to reach the tolerance at the rate that the
interval promises, but not more than single precision allows. The block begins at random, so that every copy
of a multiple eigenvalue is in it.

Vectors that are done while others are not are locked: removed from the block, and kept out of it. Otherwise
they would limit the degree.

Blocks are on the device; matrices of the size of the block, eigenvalues and residuals are in the memory of
this process. The engine `numba` iterates in the same way.

Y. Zhou, Y. Saad, M. L. Tiago, J. R. Chelikowsky, "Self-consistent-field calculations using Chebyshev-filtered
subspace iteration", Journal of Computational Physics, 2006.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import linalg

from ....run.progress import tick
from ... import threads
from ..device import Device
from ..handles import DeviceGraph
from .block_product import BlockProduct, columns_inner, inner, remove, squared_residuals, turned

Tensor: TypeAlias = torch.Tensor
FloatArray = NDArray[np.float64]

_LANCZOS_STEPS = 12
_FIRST_DEGREES = (8, 10)  # before the eigenvalues are known well enough to compute the degree
_LARGEST_DEGREE = 60
_SPREAD = 1e4  # growth of one direction relative to another that single precision allows
_SAFETY = 0.3  # part of the tolerance that is the aim
_ANGLE = 0.01  # largest residual as a part of the distance to the eigenvalues beyond the block
_FLOOR = {torch.float32: 1e-6, torch.float64: 1e-12}  # residuals that can always be reached
_SINGLE = _FLOOR[torch.float32]  # the least tolerance for single precision
_COPIES, _AWAY = 1e-6, 10.0  # difference of eigenvalues that are copies; see `FilteredIteration._aim`
_FARTHER = 3.0  # times as far as the end of the block is what a residual comes from; see there, too
_STEP_DOWN = 0.1  # of the lower bound, if it turns out to be too high
_NO_DIRECTION = 1e-6  # of the Gram matrix of unit columns: an eigenvalue that is only rounding


@dataclass(frozen=True, eq=False)
class Found:
    """Eigenvalues (m,), descending, and residual norms (m,); orthonormal vectors (n, m) on the device."""

    values: FloatArray
    vectors: Any
    residuals: FloatArray


class FilteredIteration:
    """The iteration, which can be stopped and continued.

    Parameters
    ----------
    matrix : DeviceGraph of shape (n, n)
        Symmetric, in double precision, eigenvalues in [-1, 1].
    known : tensor of shape (n, q)
        Orthonormal eigenvectors of eigenvalue 1, which are not searched again.
    n_wanted : int
        How many eigenvectors, at most half of the samples.
    tol : float
        Largest residual norm. Below 1e-6 the work is done in double precision.
    seed : int
        Draws the first block.

    Attributes
    ----------
    n_products : int
        Products of the matrix with the block so far.
    """

    def __init__(self, matrix: DeviceGraph, known: Tensor, n_wanted: int, tol: float, seed: int) -> None:
        self._null, self._tol, self._n_wanted = known, tol, int(n_wanted)
        self._device = Device(known.device)
        self._draw = torch.Generator(known.device)
        self._draw.manual_seed(int(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0]))
        self._real = torch.float32 if tol >= _SINGLE else torch.float64
        self.n_products = 0
        self._width = min(block_width(self._n_wanted), len(known) - known.shape[1])
        self._product = BlockProduct(matrix)
        self._known = known.to(self._real)  # locked vectors follow
        self._known_values = np.ones(known.shape[1])
        self._low = self._lower_bound()
        self._n_rounds, self._high, self._margin = 0, -np.inf, 0.0
        self._theta = self._residuals = np.empty(0)
        self._block = self._image = known.new_empty(len(known), 0, dtype=self._real)
        self._fill_up()

    @property
    def _n_left(self) -> int:
        """How many wanted vectors are not locked."""
        return self._n_wanted + self._null.shape[1] - self._known.shape[1]

    @property
    def target(self) -> float:
        """The residual norm to reach.

        The tolerance, or less where eigenvalues are so close that it would allow vectors that are unrelated
        to those wanted.
        """
        distance = self._theta[self._n_left - 1] - self._high
        if distance < _COPIES:  # any vectors for the same eigenvalue will do
            return self._tol
        return min(self._tol, max(_ANGLE * distance, _FLOOR[self._real]))

    def run(self, max_products: int) -> bool:
        """Iterate to the target, but at most this number of products; say whether it was reached."""
        while (largest := self._residuals[: self._n_left].max()) > self.target:
            # Residuals shrink by a factor that stays about the same: progress is measured in logarithms.
            tick(max(-np.log(largest), 0.0), -np.log(self.target))
            if self.n_products >= max_products:
                return False
            self._lock()
            self._aim()
            self._filter(self._degree())
            self._rayleigh_ritz()
            self._fill_up()
        return True

    def found(self) -> Found:
        """Return the wanted vectors in their present state."""
        q = self._null.shape[1]
        values = np.append(self._known_values[q:], self._theta)
        by_value = np.argsort(-values, kind="stable")[: self._n_wanted]
        vectors = self._null.new_empty(len(self._null), len(by_value))
        n_locked = len(values) - len(self._theta)
        for column, place in enumerate(by_value.tolist()):
            locked = place < n_locked
            vectors[:, column] = self._known[:, q + place] if locked else self._block[:, place - n_locked]
        remove(vectors, self._null)
        # Orthonormal up to the rounding of single precision: now in double precision.
        factor = linalg.cholesky(inner(vectors, vectors))
        vectors = turned(vectors, linalg.solve_triangular(factor, np.eye(len(factor))))
        image = self._product(vectors)
        theta = columns_inner(vectors, image)
        residuals = squared_residuals(vectors, image, theta).sqrt_()
        return Found(Device.get(theta), vectors, Device.get(residuals))

    def _growth(self, value: float) -> float:
        """Return the logarithm of the factor that one degree of the filter gives an eigenvalue."""
        return float(np.arccosh(max((value - self._centre) / self._half, 1.0)))

    def _aim(self) -> None:
        """Set centre and half of the length of the part of the spectrum to damp."""
        high, last = self._high, float(self._theta[self._n_left - 1])
        largest = float(self._residuals[: self._n_left].max())
        if last - high < _COPIES:
            # The block ends within copies of one eigenvalue. That must not be the end of the interval: the
            # residual shows that the vectors that disturb them are farther away.
            self._margin = max(self._margin, _AWAY * min(largest, 0.01))
            high = last - self._margin
        elif largest > _FARTHER * (last - high):
            # The same, but the copies still differ. A vector that disturbs one by a part e from the distance
            # g makes its residual e g and its value too small by e^2 g.
            away = min(float(self._residuals[-1]) ** 2 / (last - float(self._theta[-1])), 0.1)
            high = min(high, last - away)
        self._centre, self._half = (high + self._low) / 2, max((high - self._low) / 2, 1e-3)

    def _degree(self) -> int:
        """Return the degree that should be enough, as far as the precision allows it."""
        last = self._n_left - 1
        needed = np.log(max(self._residuals[: last + 1].max() / (_SAFETY * self.target), 2.0))
        enough = needed / max(self._growth(self._theta[last]), 1e-6)
        spread = self._growth(self._theta[0]) - self._growth(self._theta[-1])
        allowed = np.log(_SPREAD) / max(spread, 1e-6)
        rounds = self._n_rounds
        most = _FIRST_DEGREES[rounds] if rounds < len(_FIRST_DEGREES) else _LARGEST_DEGREE
        self._n_rounds += 1
        return int(max(2, min(np.ceil(enough), allowed, most)))

    def _filter(self, degree: int) -> None:
        """Replace the block by a Chebyshev polynomial of the matrix times it, scaled to keep its size."""
        centre, half = self._centre, self._half
        top = float(self._theta[0]) if self._n_rounds > len(_FIRST_DEGREES) else 1.0
        sigma = first = half / max(top - centre, half)
        before, now = self._block, self._image
        now.mul_(sigma / half).add_(before, alpha=-sigma * centre / half)
        # Known vectors grow in the block, from rounding: they are removed often enough.
        ahead = self._growth(self._known_values.max(initial=-1.0)) - self._growth(top)
        often = int(np.log(_SPREAD) / ahead) if ahead > 0 else degree
        for step in range(2, degree + 1):
            after = 1 / (2 / first - sigma)
            self._product.combine(now, before, 2 * after / half, -2 * after * centre / half, -sigma * after)
            before, now, sigma = now, before, after
            if step % max(often, 1) == 0:
                remove(before, self._known)
                remove(now, self._known)
        self.n_products += degree - 1
        remove(now, self._known)
        self._block = now

    def _rayleigh_ritz(self) -> None:
        """Turn the block into the best eigenvectors in its span, without those that are only rounding."""
        self._image = self._product(self._block)
        self.n_products += 1
        gram, small = inner(self._block, self._block), inner(self._block, self._image)
        unit = 1 / np.sqrt(np.maximum(np.diag(gram), 1e-30))
        # On one BLAS thread: a busy machine makes more of them slow, and their number changes last digits.
        with threads.libraries_on_one_thread():
            share, directions = np.linalg.eigh(gram * unit * unit[:, None])
            kept = share > _NO_DIRECTION
            basis = unit[:, None] * directions[:, kept] / np.sqrt(share[kept])
            theta, rotation = np.linalg.eigh(basis.T @ (small + small.T) @ basis / 2)
            turn = (basis @ rotation)[:, ::-1]
        self._theta = theta[::-1].copy()
        self._block, self._image = turned(self._block, turn), turned(self._image, turn)
        theta_there = self._device.put(self._theta)
        self._residuals = Device.get(squared_residuals(self._block, self._image, theta_there).sqrt_())

    def _fill_up(self) -> None:
        """Give the block its whole width again, with random vectors, and check the interval."""
        missing = self._width - (self._known.shape[1] - self._null.shape[1]) - self._block.shape[1]
        if missing > 0:
            new = self._random(missing) / np.sqrt(len(self._block))
            self._block = torch.cat([self._block, new], dim=1)
            remove(self._block, self._known)
            self._rayleigh_ritz()
        last = float(self._theta[-1])
        if last < (self._high + self._low) / 2:  # something below the interval grew: it begins too high
            self._low = max(-1.0, min(self._low, last) - _STEP_DOWN)
        self._high = max(self._high, last)

    def _random(self, n_columns: int) -> Tensor:
        """Return a block of normal random numbers."""
        shape = self._product.n_rows, n_columns
        return torch.randn(shape, generator=self._draw, dtype=self._real, device=self._device.where)

    def _lock(self) -> None:
        """Remove the leading vectors that are done from the block."""
        done = self._residuals[: self._n_left] <= _SAFETY * self.target
        n_done = int(done.argmin()) if not done.all() else 0
        if n_done == 0:
            return
        self._known = torch.cat([self._known, self._block[:, :n_done]], dim=1)
        self._known_values = np.append(self._known_values, self._theta[:n_done])
        self._block, self._image = (x[:, n_done:].contiguous() for x in (self._block, self._image))
        self._theta, self._residuals = self._theta[n_done:], self._residuals[n_done:]

    def _lower_bound(self) -> float:
        """Return a number hardly ever above the least eigenvalue, by a few steps of Lanczos' method."""
        now = self._random(1)
        now /= float(np.sqrt(inner(now, now)[0, 0]))
        before, beta = torch.zeros_like(now), 0.0
        diagonal, off_diagonal = [], []
        for _ in range(_LANCZOS_STEPS):
            self._product.combine(now, before, 1.0, 0.0, -beta)
            diagonal.append(float(inner(now, before)[0, 0]))
            before.add_(now, alpha=-diagonal[-1])
            beta = float(np.sqrt(inner(before, before)[0, 0]))
            if beta < 1e-5:  # the Krylov space is exhausted
                break
            off_diagonal.append(beta)
            before /= beta
            before, now = now, before
        size = len(diagonal)
        values, vectors = linalg.eigh_tridiagonal(diagonal, off_diagonal[: size - 1])
        slack = off_diagonal[-1] * abs(vectors[-1, 0]) if len(off_diagonal) == size else 0.0
        return max(-1.0, float(values[0]) - slack)


def block_width(n_wanted: int) -> int:
    """Return how many vectors a block has.

    Some more than wanted: with more it converges faster, but a product costs more. A part of what is read
    from the memory at once would cost as much as the whole.

    Examples
    --------
    >>> block_width(10), block_width(50)
    (16, 64)
    """
    return -(-(n_wanted + max(4, n_wanted // 5)) // 16) * 16
