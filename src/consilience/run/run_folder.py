"""A folder that belongs to one run at a time, until the run ends in any way."""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

LOCK, OWN_LOCK = "lock", ".consilience-lock"

if sys.platform == "win32":
    import msvcrt

    def _try_lock(handle: int) -> None:
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _try_lock(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextmanager
def sole_use(folder: Path | None) -> Iterator[None]:
    """Have a folder to oneself inside the block; a ValueError if another process has it; None: nothing.

    Unlike a `RunFolder`, it has the name that the user gave it, and stays.
    """
    if folder is None:
        yield
        return
    folder.mkdir(parents=True, exist_ok=True)
    handle = _locked(folder, OWN_LOCK)
    if handle is None:
        raise ValueError(f"Another process is writing into {folder}; name another folder.")
    try:
        yield
    finally:
        with suppress(OSError):  # Windows does not remove open files
            (folder / OWN_LOCK).unlink()
        os.close(handle)


class RunFolder:
    """A folder that no other run has, made if necessary.

    The system releases the lock on it when the process ends, even by a crash. So a folder that no process has
    locked was left by a run that has ended, and the next run can go on from the files in it.

    Parameters
    ----------
    parent : Path
        The folder in which it is made; made if necessary.
    name : str
        Its name; if another run has it, the same with a number.

    Attributes
    ----------
    path : Path
        The folder.
    """

    _handle: int | None

    def __init__(self, parent: Path, name: str) -> None:
        try:
            parent.mkdir(parents=True, exist_ok=True)
            self.path, self._handle = next(
                (path, handle)
                for path in (parent / (name if i == 1 else f"{name}-{i}") for i in itertools.count(1))
                if (handle := _locked(path)) is not None
            )
        except OSError as error:
            reason = "it is a file" if parent.is_file() else error.strerror or str(error)
            raise type(error)(
                f"The folder for checkpoints, {parent}, cannot be written into: {reason}. Name another one."
            ) from None

    def release(self) -> None:
        """Release the folder; if it holds only the lock, remove it."""
        if self._handle is None:
            return
        handle, self._handle = self._handle, None
        if {entry.name for entry in self.path.iterdir()} == {LOCK}:
            with suppress(OSError):  # Windows does not remove open files
                (self.path / LOCK).unlink()
        os.close(handle)
        with suppress(OSError):
            if {entry.name for entry in self.path.iterdir()} <= {LOCK}:
                (self.path / LOCK).unlink(missing_ok=True)
                self.path.rmdir()


def _locked(path: Path, name: str = LOCK) -> int | None:
    """Return an open file whose lock is ours, or None if another run has it."""
    while True:
        path.mkdir(exist_ok=True)
        try:
            handle = os.open(path / name, os.O_RDWR | os.O_CREAT, 0o644)
        except FileNotFoundError:  # the run that had it has just removed it
            continue
        try:
            _try_lock(handle)
        except OSError:
            os.close(handle)
            return None
        with suppress(OSError):
            if os.path.samestat(os.fstat(handle), os.stat(path / name)):
                return handle
        os.close(handle)  # it was removed after it was opened
