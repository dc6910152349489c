"""Locks for compiled code: many threads put pairs into the same lists, and hardly ever into the same list.

A list is locked while it is changed, for some tens of nanoseconds. A thread that finds it locked does not
wait, since the one that holds it may have lost its core for milliseconds: it puts the pair aside and comes
back. Lists share locks, far fewer than there are lists, each on a cache line of its own. Numba has no such
instructions for processors: the two that are needed are written here as LLVM code.
"""

# Compiled functions are not annotated: Numba derives their types from the call.
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False
# mypy: disable-error-code="call-arg"

from __future__ import annotations

import numba as nb
import numpy as np
from llvmlite import ir
from numba.extending import intrinsic
from numpy.typing import NDArray

_N_LOCKS, _LINE = 1024, 64  # a power of two, and the bytes between two of them
_WORD = ir.IntType(32)


def unlocked() -> NDArray[np.int32]:
    """Return locks that nobody holds."""
    return np.zeros(_N_LOCKS * _LINE // 4, dtype=np.int32)


@intrinsic
def _exchanged(typingctx, address):
    """Set a word to 1, and return what it was."""

    def generate(context, builder, signature, arguments):
        word = builder.inttoptr(arguments[0], _WORD.as_pointer())
        return builder.atomic_rmw("xchg", word, ir.Constant(_WORD, 1), "acquire")

    return nb.types.int32(nb.types.uintp), generate


@intrinsic
def _cleared(typingctx, address):
    """Set a word to 0, after all that was written before."""

    def generate(context, builder, signature, arguments):
        word = builder.inttoptr(arguments[0], _WORD.as_pointer())
        builder.store_atomic(ir.Constant(_WORD, 0), word, "release", 4)
        return ir.Constant(_WORD, 0)

    return nb.types.int32(nb.types.uintp), generate


@nb.njit(inline="always")
def lock_of(locks, i):
    """Return the lock of list i."""
    return nb.uintp(locks.ctypes.data) + nb.uintp(_LINE * (i & (_N_LOCKS - 1)))


@nb.njit(inline="always")
def locked(lock):
    """Keep others from the lists of a lock, and return True; False if another thread holds it."""
    return _exchanged(lock) == 0


@nb.njit(inline="always")
def unlock(lock):
    """Let others change the lists."""
    _cleared(lock)
