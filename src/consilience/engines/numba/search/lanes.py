"""Sixteen comparisons at once: which of 16 pairs are near, as the bits of a number.

Numba would compare one by one, or all without showing which: so the few instructions are written here as LLVM
code, for any processor.
"""

# Compiled functions are not annotated: Numba derives their types from the call.
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False

from __future__ import annotations

import numba as nb
from llvmlite import ir
from numba.core import cgutils
from numba.extending import intrinsic

LANES = 16


def _vector(builder, address):
    kind = ir.VectorType(ir.FloatType(), LANES)
    return builder.load(builder.inttoptr(address, kind.as_pointer()), align=4)


def spread(builder, value):
    """Return a vector of 16 times the same value."""
    kind = ir.VectorType(value.type, LANES)
    one = builder.insert_element(ir.Constant(kind, ir.Undefined), value, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(
        one, ir.Constant(kind, ir.Undefined), ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
    )


def _bits(builder, truth):
    return builder.zext(builder.bitcast(truth, ir.IntType(LANES)), ir.IntType(32))


@intrinsic
def bits_within(typingctx, products, squares, limit):
    """Return which of 16 values squares - 2 products are within a limit; both are given by their address."""
    signature = nb.types.uint32(nb.types.uintp, nb.types.uintp, nb.types.float32)

    def generate(context, builder, signature, arguments):
        products, squares, limit = arguments
        twice = _vector(builder, products)
        apart = builder.fsub(_vector(builder, squares), builder.fadd(twice, twice))
        return _bits(builder, builder.fcmp_ordered("<=", apart, spread(builder, limit)))

    return signature, generate


@intrinsic
def bits_near(typingctx, products, squares, limits, square, limit):
    """Return which of 16 values square + squares - 2 products are within a limit of one of the two ends."""
    address, single = nb.types.uintp, nb.types.float32
    signature = nb.types.uint32(address, address, address, single, single)

    def generate(context, builder, signature, arguments):
        products, squares, limits, square, limit = arguments
        twice = _vector(builder, products)
        sums = builder.fadd(_vector(builder, squares), spread(builder, square))
        apart = builder.fsub(sums, builder.fadd(twice, twice))
        one = builder.fcmp_ordered("<=", apart, spread(builder, limit))
        other = builder.fcmp_ordered("<=", apart, _vector(builder, limits))
        return _bits(builder, builder.or_(one, other))

    return signature, generate


@intrinsic
def lowest_bit(typingctx, bits):
    """Return the number of the lowest bit that is set."""

    def generate(context, builder, signature, arguments):
        return builder.zext(builder.cttz(arguments[0], cgutils.true_bit), ir.IntType(64))

    return nb.types.intp(nb.types.uint32), generate
