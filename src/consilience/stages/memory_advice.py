"""Why a fit that needs too much memory is refused: what to change, and what that saves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from ..run.messages import Advice, Setting
from ..words import memory_size
from .memory import with_samples
from .sizes import FitSize, MemoryEstimate
from .table import LIBRARIES, SHARE, estimate

FEWEST_NEIGHBORS = 5
WORTH = 0.02  # advice must save at least this share of what the fit and its data take
N_SHOWN = 3


@dataclass(frozen=True)
class Bound:
    """How much memory a fit may need.

    Attributes
    ----------
    allowed : float
        Bytes, at most.
    held : int
        What it has already: the libraries and its data.
    """

    allowed: float
    held: int = 0

    def needed(self, size: FitSize) -> int:
        """Return how much more a fit needs."""
        return estimate(size).peak - self.held

    def holds(self, size: FitSize) -> bool:
        """Say whether that is allowed."""
        return self.needed(size) <= self.allowed


@dataclass(frozen=True)
class Change:
    """A change that lowers the need for memory: what to do, and what is needed then."""

    what: str
    needed: int


def refusal(size: FitSize, who: str, needed: MemoryEstimate, limit: int | None, free: int | None) -> str:
    """Say why a fit is refused, and what to change.

    Parameters
    ----------
    size : FitSize
        The size of the fit.
    who : str
        The name of the model.
    needed : MemoryEstimate
        What it needs.
    limit : int or None
        The limit that is set and that it exceeds; None: it exceeds the free memory.
    free : int or None
        Free bytes.
    """
    if limit is not None:
        what = f"{memory_size(needed.peak)} of memory (libraries and data included), more than the limit of "
        return _refusal(size, who, needed, what + memory_size(limit), Bound(limit))
    assert free is not None
    what = f"{memory_size(needed.added)} of memory in addition to the data, and {memory_size(free)} are free"
    bound = Bound(SHARE * free, needed.libraries + needed.input)
    return _refusal(size, who, needed, what, bound)


def _refusal(size: FitSize, who: str, needed: MemoryEstimate, what: str, bound: Bound) -> str:
    views = f"{size.n_views} view{'s' * (size.n_views > 1)}"
    need = f"{who} on {size.n_samples:,} samples and {views} needs about {what}"
    if bound.allowed <= LIBRARIES - bound.held:
        return f"{need}; Python and the libraries alone take {memory_size(LIBRARIES)}. Raise the limit."
    advice = Advice.joined(
        "; ",
        [
            Advice(
                one.what,
                f": {memory_size(max(one.needed, 0))}",
                "" if one.needed <= bound.allowed else " (not enough alone)",
            )
            for one in cheapest(size, bound)
        ],
    )
    most = f"{need}; the most is needed in the stage {needed.peak_stage!r}. What would help: "
    return Advice(most, advice or "a higher limit", ".")


def cheapest(size: FitSize, bound: Bound, n: int = N_SHOWN) -> list[Change]:
    """Return the advice that is enough and changes the result least; if there is too little, the next best.

    Parameters
    ----------
    size : FitSize
        The fit that is too large.
    bound : Bound
        What it may need.
    n : int
        How many changes are wanted.
    """
    before = estimate(size)
    worth = WORTH * (before.peak - before.libraries)
    found = [Change(what, bound.needed(changed)) for what, changed in _changes(size, bound)]
    found = [one for one in found if bound.needed(size) - one.needed > worth]
    enough = [one for one in found if one.needed <= bound.allowed]
    others = sorted((one for one in found if one.needed > bound.allowed), key=lambda one: one.needed)
    return (enough + others)[:n]


def _changes(size: FitSize, bound: Bound) -> Iterator[tuple[str, FitSize]]:
    """Give changes of a fit, those that change its result least first."""
    mapped = tuple(replace(view, mapped=view.mapped or view.n_nonzero is None) for view in size.views)
    yield "memory-mapped features (numpy.load(file, mmap_mode='r'))", replace(size, views=mapped)
    yield Advice(Setting("n_jobs", 1)), replace(size, n_threads=1)
    if size.is_reordered:
        yield Advice(Setting("row_order", "given")), replace(size, row_order="given")
    single = tuple(replace(view, itemsize=min(view.itemsize, 4)) for view in size.views)
    yield "float32 features", replace(size, views=single)
    if size.may_search_all:
        yield Advice(Setting("neighbor_search", "approximate")), replace(size, search="approximate")
    yield from _less_effort(size)
    if size.weighs_rows and not size.missing:
        alike = replace(size, weighs_rows=False, learns_trust=False)
        yield Advice(Setting("row_weights", "uniform")), alike
    k = _largest(FEWEST_NEIGHBORS, size.n_neighbors - 1, lambda k: replace(size, n_neighbors=k), bound)
    if k is not None:
        yield Advice(Setting("n_neighbors", k)), replace(size, n_neighbors=k)
    c = _largest(2, size.n_vectors - 1, lambda c: replace(size, n_vectors=c), bound)
    if c is not None:
        yield Advice(Setting("n_clusters", c)), replace(size, n_vectors=c)
    some = _largest(
        min(1000, size.n_samples // 2), size.n_samples - 1, lambda m: with_samples(size, m), bound
    )
    if some is not None:
        some = _rounded(some)
        yield f"a fit to {some:,} of the samples, and predict for the others", with_samples(size, some)


def _less_effort(size: FitSize) -> Iterator[tuple[str, FitSize]]:
    """Give the change that leaves out other descriptions, and learning the trust in rows, if there is one."""
    if size.by_effort and (size.describes or size.learns_trust):
        yield Advice(Setting("effort", "low")), replace(size, describes=False, learns_trust=False)
    elif size.describes:
        yield Advice(Setting("descriptions", "default")), replace(size, describes=False)


def _largest(least: int, most: int, changed: Callable[[int], FitSize], bound: Bound) -> int | None:
    """Return the largest number with which the fit is within the bound; the least if there is none."""
    if least > most:
        return None
    low, high = least, most
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if bound.holds(changed(middle)) else (low, middle - 1)
    return low


def _rounded(number: int) -> int:
    """Round a number down to two digits."""
    step = 10 ** max(len(str(number)) - 2, 0)
    return number // step * step
