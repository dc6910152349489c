"""Processes that do pieces of work, and are stopped when a fit takes too long or too much memory.

Each is a new interpreter, not a copy of this one: it does not run the caller's script again, works from a
notebook, and can be killed without harm to anybody.
"""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, Listener, wait
from pathlib import Path
from typing import Any, Self

from ..words import memory_size
from .fitting import Event, Fitter, Piece, Task, failure

_LOOK = 0.1  # seconds between two looks at the limits
_START = 120.0  # seconds in which a process must be ready

try:
    import cloudpickle
except ImportError:  # joblib, which scikit-learn needs, used to bring its own
    from joblib.externals import cloudpickle


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
        self._payload = cloudpickle.dumps(fitter)
        self._workers: list[_Worker] = []

    def __enter__(self) -> Self:
        self._listener = Listener(None, authkey=self._key, backlog=self.n_workers)
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self._workers:
            worker.stop()
        self._listener.close()

    def run(self, pieces: Sequence[Piece], heard: Heard) -> None:
        """Do all pieces; `heard` is called with every event of every fit, in this process."""
        waiting = list(pieces)
        while waiting or any(worker.piece is not None for worker in self._workers):
            self._workers = [worker for worker in self._workers if worker.alive]
            while waiting and len(self._workers) < min(self.n_workers, len(waiting) + self._n_busy):
                self._workers.append(_Worker(self._listener, self._payload, self._key))
            for worker in self._workers:
                if worker.piece is None and waiting:
                    worker.give(waiting.pop(0))
            for worker in self._ready():
                for event in worker.hear():
                    assert worker.piece is not None
                    heard(worker.piece, event)
                worker.rest()
            for worker in self._workers:
                for event in worker.check(self.limits):
                    assert worker.piece is not None
                    heard(worker.piece, event)
                worker.rest()

    @property
    def _n_busy(self) -> int:
        return sum(worker.piece is not None for worker in self._workers)

    def _ready(self) -> list[_Worker]:
        busy = [worker for worker in self._workers if worker.piece is not None]
        ready = wait([worker.connection for worker in busy], timeout=_LOOK)
        return [worker for worker in busy if worker.connection in ready]


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
        )
        assert self.process.stdin is not None
        address = self.listener.address
        written = address if isinstance(address, str) else ":".join(map(str, address))
        self.process.stdin.write(f"{os.getpid()} {written} {self.key.hex()}\n".encode())
        self.process.stdin.flush()
        self.connection: Connection = self._accept()
        self.connection.send(sys.path)
        self.connection.send_bytes(self.payload)
        self._expect_ready()

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

    @property
    def alive(self) -> bool:
        return not self.ended

    def give(self, piece: Piece) -> None:
        """Have a piece done."""
        self.piece, self.left, self.began = piece, list(piece.tasks), None
        self.connection.send(piece)

    def hear(self) -> Iterator[Event]:
        """Yield what the process has said since it was asked last."""
        try:
            while self.connection.poll():
                said: Event = self.connection.recv()
                if said.record is None:
                    self.began = time.monotonic()
                    continue
                self.began = None
                self.left.remove(said.task)
                yield said
        except (EOFError, OSError):
            yield from self._fail(self._why_it_died())

    def check(self, limits: Limits) -> Iterator[Event]:
        """Stop the process if the fit that it makes has passed a limit; yield what that means."""
        if self.piece is None or not self.left or self.ended:
            return
        since = None if self.began is None else time.monotonic() - self.began
        if since is not None and limits.seconds is not None and since > limits.seconds:
            yield from self._fail(
                f"Stopped after {limits.seconds:g} s, the limit.", {"seconds": limits.seconds}
            )
        elif limits.n_bytes is not None and (resident_bytes(self.process.pid) or 0) > limits.n_bytes:
            reason = f"Stopped at {memory_size(limits.n_bytes)} of memory, the limit."
            yield from self._fail(reason, {"n_bytes": limits.n_bytes})

    def rest(self) -> None:
        """Note that the piece is done, if it is."""
        if self.piece is not None and not self.left:
            self.piece = None

    def _fail(self, reason: str, limit: dict[str, Any] | None = None) -> Iterator[Event]:
        """End the process; all fits of its piece that are left have failed."""
        self.stop()
        left, self.left = self.left, []
        for task in left:
            yield Event(task, {**failure(reason), "limit": limit})

    def stop(self) -> None:
        """Kill the process; it keeps nothing that could be lost."""
        self.ended = True
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
