"""Sums and roundings that have the same bits for any number of rows, and in every run.

PyTorch's own sum of a row depends on how many rows there are. A sample that comes again as a new one must be
measured exactly as before: so sums here are made of elementwise steps only, or of whole numbers.
"""

from __future__ import annotations

from typing import TypeAlias

import torch

Tensor: TypeAlias = torch.Tensor

_DROPPED = 12  # bits of the 53 of a number, so that 41 are compared: about twelve digits
_BIAS = 1023  # of the exponent of a number in double precision


def tree_sum(x: Tensor) -> Tensor:
    """Return the sum of each row of x (n, d), which is overwritten.

    Examples
    --------
    >>> tree_sum(torch.tensor([[1.0, 2.0, 4.0], [0.0, 1.0, 0.0]]))
    tensor([7., 1.])
    """
    width = x.shape[1]
    if not width:
        return x.new_zeros(len(x))
    while width > 1:
        half = width // 2
        if width % 2:
            x[:, 0] += x[:, width - 1]
        x[:, :half] += x[:, half : 2 * half]
        width = half
    return x[:, 0].clone()


def leading_digits(values: Tensor) -> Tensor:
    """Return whole numbers in the order of values (not negative, double): equal if twelve digits are.

    Examples
    --------
    >>> values = torch.tensor([1.0, 1.0 + 1e-14, 1.0 + 1e-11], dtype=torch.float64)
    >>> one, same, other = leading_digits(values)
    >>> bool(one == same), bool(one < other)
    (True, True)
    """
    # The bits of positive numbers are in the order of the numbers; a carry goes into the exponent.
    return (values.contiguous().view(torch.int64) + (1 << (_DROPPED - 1))) >> _DROPPED


def times_power(x: Tensor, exponents: Tensor) -> Tensor:
    """Return x times two to the power of whole numbers, without rounding, in double precision.

    Examples
    --------
    >>> times_power(torch.tensor([3.0]).double(), torch.tensor([-1]))
    tensor([1.5000], dtype=torch.float64)
    """
    first = exponents.long() // 2  # in two steps, because the power itself may be no number
    return x * _power(first) * _power(exponents - first)


def _power(exponents: Tensor) -> Tensor:
    bits = (exponents.long().clamp(1 - _BIAS, _BIAS) + _BIAS) << 52
    return bits.view(torch.float64)


def whole_sums(terms: Tensor, owners: Tensor, counts: Tensor) -> Tensor:
    """Return the sum of the terms of each owner, in any order: of whole numbers, in a unit for each sum.

    Parameters
    ----------
    terms : tensor of float64 of shape (t,)
        Not negative; infinity makes a sum infinite.
    owners : tensor of int64 of shape (t,)
        Whose term each is.
    counts : tensor of int64 of shape (n,)
        A bound of the number of terms of each owner, which decides on the unit.

    Examples
    --------
    >>> whole_sums(torch.tensor([0.5, 4.0, 1.5]).double(), torch.tensor([1, 0, 1]), torch.tensor([1, 2, 0]))
    tensor([4., 2., 0.], dtype=torch.float64)
    """
    largest = terms.new_zeros(len(counts)).scatter_reduce_(0, owners, terms, "amax")  # the same in any order
    is_number = torch.isfinite(largest)
    _, exponents = torch.frexp(torch.where(is_number, largest, 1.0))
    _, sizes = torch.frexp(counts.clamp(min=1).double())
    shifts = 62 - sizes.long() - exponents.long()  # the largest becomes 2^62 / count, or less
    scaled = torch.where(torch.isfinite(terms), terms, 0.0)
    whole = times_power(scaled, shifts[owners]).round_().long()
    sums = torch.zeros_like(counts).index_add_(0, owners, whole)
    return torch.where(is_number, times_power(sums.double(), -shifts), torch.inf)
