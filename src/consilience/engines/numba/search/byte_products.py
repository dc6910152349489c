"""Products of rows of bytes, four times as many a second as of single precision, where the processor can.

The instruction VPDPBUSD (AVX-512 VNNI) multiplies 64 unsigned bytes with 64 signed ones and adds them up by
four. It needs 16 rows side by side, four columns at a time: a panel. Numba has no vectors of bytes, so the
innermost loop, 8 rows by one or two panels, is written here as LLVM code. `supported` says whether this
machine has the instruction; otherwise nothing of this is used or compiled.
"""

# Compiled functions are not annotated: Numba derives their types from the call.
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False

from __future__ import annotations

from functools import lru_cache
from typing import Any

import llvmlite.binding as llvm
import numba as nb
import numpy as np
from llvmlite import ir
from numba.extending import intrinsic
from numpy.typing import NDArray

from .lanes import spread

PANEL, GROUP = 16, 8  # rows of a panel, and of the other side


@lru_cache(maxsize=1)
def supported() -> bool:
    """Say whether the processor has the instruction, and Numba may use it."""
    if getattr(nb.config, "CPU_NAME", None) or getattr(nb.config, "CPU_FEATURES", None):
        return False  # Numba is set to compile for another processor
    features = llvm.get_host_cpu_features()
    return bool(features.get("avx512vnni") and features.get("avx512f") and features.get("avx512bw"))


def aligned_zeros(shape: tuple[int, ...]) -> NDArray[np.uint8]:
    """Return zeros that begin on a cache line."""
    size = int(np.prod(shape))
    memory = np.zeros(size + 64, dtype=np.uint8)
    offset = -memory.ctypes.data % 64
    return memory[offset : offset + size].reshape(shape)


_WORD, _FLOAT = ir.IntType(32), ir.FloatType()
_SUMS, _PRODUCTS = ir.VectorType(_WORD, PANEL), ir.VectorType(_FLOAT, PANEL)


def _at(builder, base, offset, kind):
    """Return a pointer to an address plus an offset in bytes."""
    return builder.inttoptr(builder.add(base, offset), kind.as_pointer())


def _add_up(builder, begin, depth, terms):
    """Repeat ``sums = terms(step, sums)`` for all steps below the depth; return the last sums.

    Sums are variables of the loop, so that they stay in registers.
    """
    before = builder.block
    body, end = builder.append_basic_block("body"), builder.append_basic_block("end")
    builder.branch(body)
    builder.position_at_end(body)
    step = builder.phi(depth.type)
    step.add_incoming(ir.Constant(depth.type, 0), before)
    sums = [builder.phi(_SUMS) for _ in begin]
    new = terms(step, sums)
    following = builder.add(step, ir.Constant(depth.type, 1))
    step.add_incoming(following, builder.block)
    for one, first, later in zip(sums, begin, new, strict=True):
        one.add_incoming(first, before)
        one.add_incoming(later, builder.block)
    builder.cbranch(builder.icmp_signed("<", following, depth), body, end)
    builder.position_at_end(end)
    return new


def _loop_over_panels(n_panels: int) -> Any:
    """Return an intrinsic that multiplies 8 rows with one or two panels: see `multiply_panels`."""
    blocks = [(r, p) for r in range(GROUP) for p in range(n_panels)]

    def generate(context, builder, signature, arguments):
        rows, stride, starts, panels, depth, out, width = arguments
        multiply_and_add = builder.module.declare_intrinsic(
            "llvm.x86.avx512.vpdpbusd.512", (), ir.FunctionType(_SUMS, [_SUMS] * 3)
        )

        def times(value, factor):
            return builder.mul(value, ir.Constant(depth.type, factor))

        def terms(step, sums):
            size = times(depth, 64)
            columns = [
                builder.load(
                    _at(builder, panels, builder.add(times(step, 64), times(size, p)), _SUMS), align=64
                )
                for p in range(n_panels)
            ]
            fours = [
                spread(
                    builder,
                    builder.load(
                        _at(builder, rows, builder.add(times(step, 4), times(stride, r)), _WORD), align=4
                    ),
                )
                for r in range(GROUP)
            ]
            return [
                builder.call(multiply_and_add, [sums[i], columns[p], fours[r]])
                for i, (r, p) in enumerate(blocks)
            ]

        first = [
            spread(
                builder, builder.load(_at(builder, starts, ir.Constant(depth.type, 4 * r), _WORD), align=4)
            )
            for r in range(GROUP)
        ]
        sums = _add_up(builder, [first[r] for r, _ in blocks], depth, terms)
        for (r, p), one in zip(blocks, sums, strict=True):
            place = builder.add(times(width, 4 * r), ir.Constant(depth.type, 4 * PANEL * p))
            builder.store(builder.sitofp(one, _PRODUCTS), _at(builder, out, place, _PRODUCTS), align=4)
        return context.get_dummy_value()

    @intrinsic
    def multiply(typingctx, rows, stride, starts, panels, depth, out, width):
        address, number = nb.types.uintp, nb.types.intp
        return nb.types.void(address, number, address, address, number, address, number), generate

    return multiply


_one_panel, _two_panels = _loop_over_panels(1), _loop_over_panels(2)


@nb.njit(nogil=True, cache=True)
def multiply_panels(rows, starts, panels, first, last, out):
    """Fill in the products of rows with the panels [first, last), as numbers in single precision.

    Parameters
    ----------
    rows : ndarray of int8 of shape (m, 4 * depth)
        m is a multiple of 8.
    starts : ndarray of int32 of shape (m,)
        The initial values of the sums: minus 128 times the sum of each row.
    panels : ndarray of uint8 of shape (n_panels, depth, 16, 4)
        Rows 16 p to 16 p + 15 as panel p, 128 added to each entry; it begins on a cache line.
    out : ndarray of float32 of shape (m, 16 * (last - first))
        Output.
    """
    depth, stride, width = panels.shape[1], rows.shape[1], out.shape[1]
    size = 64 * depth
    a, s, b, o = rows.ctypes.data, starts.ctypes.data, panels.ctypes.data, out.ctypes.data
    for p in range(first, last, 2):
        for r in range(0, len(rows), GROUP):
            row, start, panel = np.uintp(a + r * stride), np.uintp(s + 4 * r), np.uintp(b + p * size)
            place = np.uintp(o + 4 * (r * width + PANEL * (p - first)))
            if p + 1 < last:
                _two_panels(row, stride, start, panel, depth, place, width)
            else:
                _one_panel(row, stride, start, panel, depth, place, width)
