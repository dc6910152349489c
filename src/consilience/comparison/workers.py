"""Processes that do pieces of work, and are stopped when a fit takes too long or too much memory.

Each is a new interpreter, not a copy of this one: it does not run the caller's script again, works from a
notebook, and can be killed without harm to anybody.
"""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection, Listener, wait
from pathlib import Path
from typing import Any, Self

from ..words import memory_size
from .contenders import pickled
from .fitting import Event, Fitter, Piece, Task, failure

_LOOK = 0.1  # seconds between two looks at the limits
_START = 120.0  # seconds in which a process must be ready


@dataclass(frozen=True)
class Limits:
    """What one fit may take.

    Attributes
    ----------
    seconds : float or None
        Wall-clock time.
    n_bytes : int or None
        Memory of its process.
    """

    seconds: float | None = None
    n_bytes: int | None = None


Heard = Callable[[Piece, Event], None]


class Workers:
    """Some processes that do pieces of work.

    Parameters
    ----------
    n_workers : int
        How many.
    fitter : Fitter
        What does the work: each process gets a copy.
    limits : Limits
        Of one fit.
    """

    def __init__(self, n_workers: int, fitter: Fitter, limits: Limits) -> None:
        self.n_workers, self.limits = n_workers, limits
        self._key = secrets.token_bytes(32)
        self._payload = pickled(fitter)
        self._workers: list[_Worker] = []

    def __enter__(self) -> Self:
        # On this machine only; whoever connects must know the key.
        self._listener = Listener(("localhost", 0), authkey=self._key, backlog=self.n_workers)
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self._workers:
            worker.stop()
        self._listener.close()

    def run(self, pieces: Sequence[Piece], heard: Heard) -> None:
        """Do all pieces; `heard` is called with every event of every fit, in this process."""
        waiting = list(pieces)
        while waiting or self._n_busy:
            self._workers = [worker for worker in self._workers if not worker.ended]
            while waiting and len(self._workers) < min(self.n_workers, len(waiting) + self._n_busy):
                self._workers.append(_Worker(self._listener, self._payload, self._key))
            for worker in self._workers:
                if worker.piece is None and not worker.ended and waiting and worker.give(waiting[0]):
                    waiting.pop(0)
            self._wait()
            for worker in self._workers:
                piece = worker.piece
                if piece is None:
                    continue
                for event in (*worker.hear(), *worker.check(self.limits)):
                    heard(piece, event)
                if worker.ended and worker.left:
                    # It died, perhaps of what an earlier piece left behind: once more, in a new process.
                    waiting.insert(0, replace(piece, tasks=tuple(worker.left)))
                worker.rest()

    @property
    def _n_busy(self) -> int:
        return sum(worker.piece is not None for worker in self._workers)

    def _wait(self) -> None:
        """Wait until somebody has said something, or it is time to look at the limits."""
        busy = [worker.connection for worker in self._workers if worker.piece is not None]
        wait(busy, timeout=_LOOK)


@dataclass(eq=False)
class _Worker:
    """One process, and what it is doing."""

    listener: Listener
    payload: bytes
    key: bytes
    piece: Piece | None = None
    left: list[Task] = field(default_factory=list)
    began: float | None = None
    ended: bool = False
    n_pieces: int = 0
    at_rest: int = 0  # bytes that it has before it does anything
    before: int = 0  # bytes that it had when the fit began

    def __post_init__(self) -> None:
        self.errors = tempfile.TemporaryFile()
        command = [sys.executable, "-m", "consilience.comparison.worker"]
        path = os.pathsep.join(
            [str(Path(__file__).parents[2]), *filter(None, [os.environ.get("PYTHONPATH")])]
        )
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,  # what systems print would run through the progress
            stderr=self.errors,
            env={**os.environ, "PYTHONPATH": path},
            start_new_session=True,  # so that what a system starts can be stopped with it
        )
        assert self.process.stdin is not None
        host, port = self.listener.address
        start = {"host": host, "port": port, "key": self.key.hex()}
        self.process.stdin.write(json.dumps(start).encode() + b"\n")
        self.process.stdin.flush()
        self.connection: Connection = self._accept()
        self.connection.send(sys.path)
        self.connection.send_bytes(self.payload)
        self._expect_ready()
        self.at_rest = self.before = resident_bytes(self.process.pid) or 0

    def _accept(self) -> Connection:
        """Wait for the process to connect, as long as it lives."""
        # The listener waits for ever, and a process that has died never comes.
        socket = getattr(getattr(self.listener, "_listener", None), "_socket", None)
        if socket is not None:
            socket.settimeout(0.5)
        end = time.monotonic() + _START
        while True:
            try:
                return self.listener.accept()
            except TimeoutError:
                if self.process.poll() is not None or time.monotonic() > end:
                    raise RuntimeError(f"A process could not be started: {self._last_words()}") from None

    def _expect_ready(self) -> None:
        try:
            self.connection.recv()
        except EOFError:
            self.process.wait()
            raise RuntimeError(f"A process could not be started: {self._last_words()}") from None

    def give(self, piece: Piece) -> bool:
        """Have a piece done; False if the process is gone."""
        try:
            self.connection.send(piece)
        except OSError:
            self.stop()
            return False
        self.piece, self.left, self.began = piece, list(piece.tasks), None
        self.n_pieces += 1
        return True

    def hear(self) -> Iterator[Event]:
        """Yield what the process has said since it was asked last."""
        gone = self.process.poll() is not None  # before: what it said last is still in the pipe
        try:
            while self.connection.poll():
                said: Event = self.connection.recv()
                if said.record is None:
                    self.began = time.monotonic()
                    self.before = resident_bytes(self.process.pid) or 0
                else:
                    self.began = None
                    self.left.remove(said.task)
                yield said
        except (EOFError, OSError):
            gone = True
        if gone and self.left:
            reason, first = self._why_it_died(), self.n_pieces == 1
            self.stop()
            if first:
                yield from self._fail(reason, again=True)

    def check(self, limits: Limits) -> Iterator[Event]:
        """Stop the process if the fit that it makes has passed a limit; yield what that means."""
        if self.piece is None or not self.left or self.ended or self.connection.poll():
            return
        since = None if self.began is None else time.monotonic() - self.began
        if since is not None and limits.seconds is not None and since > limits.seconds:
            yield from self._fail(
                f"Stopped after {limits.seconds:g} s, the limit.", {"seconds": limits.seconds}
            )
        elif limits.n_bytes is not None:
            # What earlier fits have left behind is not its own.
            used = (resident_bytes(self.process.pid) or 0) - self.before + self.at_rest
            if used > limits.n_bytes:
                reason = f"Stopped at {memory_size(limits.n_bytes)} of memory, the limit."
                yield from self._fail(reason, {"n_bytes": limits.n_bytes})

    def rest(self) -> None:
        """Note that the piece is done, if it is, or that nobody does it any more."""
        if not self.left or self.ended:
            self.piece = None

    def _fail(
        self, reason: str, limit: dict[str, Any] | None = None, *, again: bool = False
    ) -> Iterator[Event]:
        """End the process; all fits of its piece that are left have failed."""
        self.stop()
        left, self.left = self.left, []
        for task in left:
            yield Event(task, {**failure(reason, again=again), "limit": limit})

    def stop(self) -> None:
        """Kill the process and what it has started; it keeps nothing that could be lost."""
        if self.ended:
            return
        self.ended = True
        self.last_words = self._read_last_words()
        with suppress(OSError, AttributeError):  # Windows has no groups of processes
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.kill()
        self.process.wait()
        with suppress(OSError):
            self.connection.close()
        if self.process.stdin is not None:
            with suppress(OSError):
                self.process.stdin.close()
        self.errors.close()

    def _why_it_died(self) -> str:
        code = self.process.wait()
        if code < 0:
            how = f"Its process died of signal {-code}"
            return f"{how}, most often for lack of memory." if code == -9 else f"{how}."
        return f"Its process ended with {code}: {self._last_words()}"

    def _last_words(self) -> str:
        return self.last_words if self.ended else self._read_last_words()

    def _read_last_words(self) -> str:
        self.errors.seek(0)
        lines = self.errors.read().decode(errors="replace").splitlines()
        return next((line.strip() for line in reversed(lines) if line.strip(" ~^")), "it said nothing")


def resident_bytes(pid: int) -> int | None:
    """Return the memory that a process has, or None where the system does not tell.

    Examples
    --------
    >>> import os
    >>> (resident_bytes(os.getpid()) or 1 << 30) > 1 << 20
    True
    """
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        return next((1024 * int(line.split()[1]) for line in lines if line.startswith("VmRSS:")), None)
    except OSError:
        pass
    try:
        said = subprocess.run(
            ["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, text=True, check=False
        )
        return 1024 * int(said.stdout)
    except (OSError, ValueError):
        return None
