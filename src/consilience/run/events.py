"""Progress events: long work reports how far it is; code that shows progress listens to it.

Work calls ``tick(done, total)`` as often as it likes. Without a listener the call only reads a variable.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Listener = Callable[[float], None]

_listener: ContextVar[Listener | None] = ContextVar("consilience_events", default=None)


def tick(done: float, total: float) -> None:
    """Report how much of the present stage, or of the part of it that `part` names, is done.

    Call it from the thread that runs the stage; from the threads of `threads.for_ranges` it has no effect.

    Examples
    --------
    >>> with listening(print):
    ...     tick(1, 2)
    0.5
    """
    listener = _listener.get()
    if listener is not None and total > 0:
        listener(min(max(done / total, 0.0), 1.0))


@contextmanager
def part(start: float, stop: float) -> Iterator[None]:
    """Let events inside the block run from one share of the stage to another.

    Examples
    --------
    >>> with listening(print):
    ...     with part(0.25, 0.75):
    ...         tick(1, 2)
    0.5
    """
    outer = _listener.get()
    if outer is None:
        yield
        return
    with listening(lambda share: outer(start + (stop - start) * share)):
        yield


@contextmanager
def listening(listener: Listener | None) -> Iterator[None]:
    """Give the shares reported inside the block to a function; None: to no function."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)
