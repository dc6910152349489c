"""Products of rows of bytes, four times as many a second as of single precision, where the processor can.

The instruction VPDPBUSD (AVX-512 VNNI) multiplies 64 unsigned bytes with 64 signed ones and adds them up by
four. It wants 16 rows side by side, four columns at a time: a panel. Numba has no vectors of bytes, so the
innermost loop, 8 rows by one or two panels, is put together here as LLVM code. `supported` says whether this
machine has the instruction; where not, nothing of this is used or compiled.
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

PANEL, GROUP = 16, 8  # rows of a panel, and of the other side


@lru_cache(maxsize=1)
def supported() -> bool:
    """Say whether the processor has the instruction, and Numba may use it."""
    features = llvm.get_host_cpu_features()
    return bool(features.get("avx512vnni") and features.get("avx512f") and features.get("avx512bw"))


def aligned_zeros(shape: tuple[int, ...]) -> NDArray[np.uint8]:
    """Return zeros that begin on a cache line."""
    size = int(np.prod(shape))
    memory = np.zeros(size + 64, dtype=np.uint8)
    offset = -memory.ctypes.data % 64
    return memory[offset : offset + size].reshape(shape)


def _loop_over_panels(n_panels: int) -> Any:
    """Return an intrinsic that multiplies 8 rows with one or two panels."""

    @intrinsic
    def multiply(typingctx, rows, stride, starts, panels, depth, out, width):
        address, number = nb.types.uintp, nb.types.intp
        signature = nb.types.void(address, number, address, address, number, address, number)

        def generate(context, builder, signature, arguments):
            rows, stride, starts, panels, depth, out, width = arguments
            word = ir.IntType(32)
            ints, floats = ir.VectorType(word, PANEL), ir.VectorType(ir.FloatType(), PANEL)
            index = depth.type
            dot = builder.module.declare_intrinsic(
                "llvm.x86.avx512.vpdpbusd.512", (), ir.FunctionType(ints, [ints] * 3)
            )
            undefined = ir.Constant(ints, ir.Undefined)
            zeros = ir.Constant(ints, [0] * PANEL)

            def at(base, offset, kind):
                return builder.inttoptr(builder.add(base, offset), kind.as_pointer())

            def spread(value):
                one = builder.insert_element(undefined, value, ir.Constant(word, 0))
                return builder.shuffle_vector(one, undefined, zeros)

            def constant(value):
                return ir.Constant(index, value)

            before = builder.block
            begin = [spread(builder.load(at(starts, constant(4 * r), word), align=4)) for r in range(GROUP)]
            body, end = builder.append_basic_block("body"), builder.append_basic_block("end")
            builder.branch(body)
            builder.position_at_end(body)
            step = builder.phi(index)
            step.add_incoming(constant(0), before)
            sums = [[builder.phi(ints) for _ in range(n_panels)] for _ in range(GROUP)]
            for r in range(GROUP):
                for p in range(n_panels):
                    sums[r][p].add_incoming(begin[r], before)
            offset = builder.mul(step, constant(64))
            size = builder.mul(depth, constant(64))
            columns = []
            for p in range(n_panels):
                place = builder.add(offset, builder.mul(size, constant(p)))
                columns.append(builder.load(at(panels, place, ints), align=64))
            four = builder.mul(step, constant(4))
            new = []
            for r in range(GROUP):
                place = builder.add(four, builder.mul(stride, constant(r)))
                value = spread(builder.load(at(rows, place, word), align=4))
                new.append([builder.call(dot, [sums[r][p], columns[p], value]) for p in range(n_panels)])
            following = builder.add(step, constant(1))
            here = builder.block
            step.add_incoming(following, here)
            for r in range(GROUP):
                for p in range(n_panels):
                    sums[r][p].add_incoming(new[r][p], here)
            builder.cbranch(builder.icmp_signed("<", following, depth), body, end)
            builder.position_at_end(end)
            for r in range(GROUP):
                for p in range(n_panels):
                    place = builder.add(builder.mul(width, constant(4 * r)), constant(4 * PANEL * p))
                    builder.store(builder.sitofp(new[r][p], floats), at(out, place, floats), align=4)
            return context.get_dummy_value()

        return signature, generate

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
        What the sums begin with: minus 128 times the sum of each row.
    panels : ndarray of uint8 of shape (n_panels, depth, 16, 4)
        Rows 16 p to 16 p + 15 as panel p, 128 added to each entry; it begins on a cache line.
    out : ndarray of float32 of shape (m, 16 * (last - first))
        Output.
    """
    depth, stride, width = panels.shape[1], rows.shape[1], out.shape[1]
    size = 64 * depth
    a, s, b, o = rows.ctypes.data, starts.ctypes.data, panels.ctypes.data, out.ctypes.data
    for p in range(first, last, 2):
        column = o + 4 * 16 * (p - first)
        for r in range(0, len(rows), 8):
            if p + 1 < last:
                _two_panels(
                    np.uintp(a + r * stride),
                    stride,
                    np.uintp(s + 4 * r),
                    np.uintp(b + p * size),
                    depth,
                    np.uintp(column + 4 * r * width),
                    width,
                )
            else:
                _one_panel(
                    np.uintp(a + r * stride),
                    stride,
                    np.uintp(s + 4 * r),
                    np.uintp(b + p * size),
                    depth,
                    np.uintp(column + 4 * r * width),
                    width,
                )
