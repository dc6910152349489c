"""One clock for a comparison: how much is done, and how long the rest will take."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..run.progress import clock
from .data_sets import SetFacts
from .fitting import Piece, Task

_DENSE = ("SNF", "RMSC", "MVGL", "MCGC")  # whose time grows with the square of the samples


@dataclass(frozen=True)
class Step:
    """How far a comparison is.

    Attributes
    ----------
    done, total : int
        Number of fits.
    share : float
        Of the work, as far as it can be estimated.
    elapsed : float
        Seconds since it began.
    left : float or None
        Seconds that the rest will take, once something is done.
    text : str
        What has just ended, or begins.
    ended : bool
        Whether a system has ended on a data set.
    """

    done: int
    total: int
    share: float
    elapsed: float
    left: float | None
    text: str
    ended: bool = False

    def __str__(self) -> str:
        left = "" if self.left is None else f", about {clock(self.left)} left"
        return f"{self.done}/{self.total} fits, {clock(self.elapsed)}{left}: {self.text}"


Watch = Callable[[Step], None]


def _place(piece: Piece) -> Any:
    return piece.data, piece.contender, piece.condition, piece.oracle


class Pace:
    """What is done of a comparison.

    What a fit takes is guessed from the size of the data, and the guess for each system is corrected by what
    its fits have taken so far.

    Parameters
    ----------
    pieces : sequence of Piece
        What is to be done.
    sets : sequence of SetFacts
        The data sets.
    names : sequence of str
        The systems.
    n_workers : int
        How many pieces are done at the same time.
    watch : callable
        Is called with every step.
    """

    def __init__(
        self,
        pieces: list[Piece],
        sets: list[SetFacts],
        names: list[str],
        n_workers: int,
        watch: Watch,
    ) -> None:
        self.sets, self.names, self.n_workers = sets, names, n_workers
        self.watch = watch
        self.left = {_place(piece): len(piece.tasks) for piece in pieces}
        self.guess_left: dict[int, float] = defaultdict(float)  # by system
        for piece in pieces:
            self.guess_left[piece.contender] += self._guess(piece) * len(piece.tasks)
        self.total, self.done = sum(len(piece.tasks) for piece in pieces), 0
        self.began = time.monotonic()
        self.since: dict[Any, float] = {}
        self.taken: dict[int, list[float]] = defaultdict(lambda: [0.0, 0.0])  # guessed, measured

    def begin(self, piece: Piece, task: Task) -> None:
        """Note that a fit begins."""
        self.since[_place(piece)] = time.monotonic()
        self._report(piece, "", ended=False)

    def end(self, piece: Piece, task: Task, record: dict[str, Any]) -> None:
        """Note that a fit has ended."""
        self.done += 1
        place = _place(piece)
        began = self.since.pop(place, None)
        if began is not None:
            took = self.taken[piece.contender]
            took[0] += self._guess(piece)
            took[1] += time.monotonic() - began
        self.guess_left[piece.contender] = max(0.0, self.guess_left[piece.contender] - self._guess(piece))
        self.left[place] -= 1
        ended = not self.left[place]
        if ended:
            del self.left[place]
        reason = record.get("reason")
        self._report(piece, f" failed: {reason}" if reason else "", ended=ended)

    def _guess(self, piece: Piece) -> float:
        facts = self.sets[piece.data]
        n, v = facts.n_samples, max(facts.n_views, 1)
        square = 3e-7 * n * n * v if self.names[piece.contender] in _DENSE else 0.0
        return 0.02 + 1e-4 * n * v + square

    def _rest(self) -> float:
        """Return the seconds that what is left is expected to take, one after the other."""
        everything = [sum(each) for each in zip(*self.taken.values(), strict=True)] or [0.0, 0.0]
        overall = (everything[1] + 1.0) / (everything[0] + 1.0)
        total = 0.0
        for contender, guess in self.guess_left.items():
            guessed, measured = self.taken[contender]
            total += guess * (measured + overall) / (guessed + 1.0)
        return total if self.left else 0.0

    def _report(self, piece: Piece, ending: str, *, ended: bool) -> None:
        rest = self._rest() / max(1, min(self.n_workers, len(self.left)))
        elapsed = time.monotonic() - self.began
        share = elapsed / (elapsed + rest) if self.done else 0.0
        what = f"{self.names[piece.contender]} on {self.sets[piece.data].name}"
        if len(self.sets) == 1:
            what = self.names[piece.contender]
        if piece.condition != "clean":
            what += f", {piece.condition}{' (oracle)' if piece.oracle else ''}"
        left = rest if self.done else None
        self.watch(Step(self.done, self.total, share, elapsed, left, what + ending, ended))
