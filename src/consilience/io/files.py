"""Files that are written completely or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

UNFINISHED = ".*.part*"  # names of files that are not in place yet, as a pattern of `glob`


def checked_path(path: str | os.PathLike[str], force: bool, example: str) -> Path:
    """Return the path if a file can be written there, or say in one line why not.

    Parameters
    ----------
    path : path-like
        Where the file will be.
    force : bool
        Whether it may replace a file.
    example : str
        An example of a file name, for the message to a user who has named a folder.

    Raises
    ------
    IsADirectoryError, FileNotFoundError, PermissionError, FileExistsError
        If it cannot.
    """
    target = Path(path)
    if target.is_dir():
        raise IsADirectoryError(f"{target} is a folder; name a file, such as {target / example}.")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"There is no folder {target.parent} to write {target.name} into.")
    if not os.access(target.parent, os.W_OK | os.X_OK):
        raise PermissionError(f"The folder {target.parent} cannot be written into.")
    if target.exists() and not force:
        raise FileExistsError(f"{target} exists; pass force=True to replace it.")
    return target


@contextmanager
def put_in_place(target: Path) -> Iterator[Path]:
    """Give another name to write a file under; rename it when the block ends without an error.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with put_in_place(Path(folder) / "note.txt") as scratch:
    ...         _ = scratch.write_text("all of it")
    ...     [path.name for path in Path(folder).iterdir()]
    ['note.txt']
    """
    # It ends like the target: some writers choose the format by the ending.
    scratch = target.with_name(f".{secrets.token_hex(8)}.part{target.suffix}")
    try:
        yield scratch
        with scratch.open("rb+") as file:
            os.fsync(file.fileno())  # the new file must be on disk before it replaces the old one
        os.replace(scratch, target)
    except BaseException:
        scratch.unlink(missing_ok=True)
        raise
