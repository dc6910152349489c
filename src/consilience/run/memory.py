"""How much memory is free, and refusing work that needs more before it begins."""

from __future__ import annotations

import os
from pathlib import Path

from ..words import memory_size
from .config import get_config

SHARE = 0.5  # of the free memory; the rest is for the views, for copies that libraries make, and for others


def available_bytes() -> int | None:
    """Return how many bytes this process could still take, or None where the system does not report it.

    The free memory of the machine, or the rest of the limit of the control group that the process is in.

    Examples
    --------
    >>> free = available_bytes()
    >>> free is None or free > 0
    True
    """
    known = [free for free in (_free_on_machine(), _free_in_group()) if free is not None]
    return max(min(known), 1) if known else None


def require(n_bytes: float, what: str, instead: str) -> None:
    """Raise a MemoryError if work needs more than half of the memory that is free, or than the limit set.

    Parameters
    ----------
    n_bytes : float
        The estimate.
    what : str
        The work, for the message: the subject of "needs about".
    instead : str
        What to do about it: a sentence.

    Examples
    --------
    >>> require(1e18, "A matrix of 350,000,000 x 350,000,000", "Take fewer samples.")
    Traceback (most recent call last):
    ...
    MemoryError: A matrix of 350,000,000 x 350,000,000 needs about 888 PiB of memory, ...
    """
    limit = get_config().memory_limit
    if limit is not None and n_bytes > limit:
        raise MemoryError(
            f"{what} needs about {memory_size(n_bytes)} of memory, more than the limit of "
            f"{memory_size(limit)}. {instead}"
        )
    free = available_bytes()
    if free is not None and n_bytes > SHARE * free:
        raise MemoryError(
            f"{what} needs about {memory_size(n_bytes)} of memory, more than half of the "
            f"{memory_size(free)} that are free. {instead}"
        )


def _free_on_machine() -> int | None:
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return 1024 * int(line.split()[1])
    except (OSError, ValueError, IndexError):
        pass
    try:  # on other systems: all the memory of the machine
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return None


def _free_in_group() -> int | None:
    group = Path("/sys/fs/cgroup")
    try:
        return int((group / "memory.max").read_text()) - int((group / "memory.current").read_text())
    except (OSError, ValueError):  # no such limit, or none at all ("max")
        return None
