"""Files that are there as a whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

UNFINISHED = ".*.part*"  # how the files are named that are not in place yet, as a pattern of `glob`


def checked_path(path: str | os.PathLike[str], force: bool, example: str) -> Path:
    """Return the path if a file can be written there, or say in one line why not.

    Parameters
    ----------
    path : path-like
        Where a file is to be.
    force : bool
        Whether it may replace one.
    example : str
        How such a file might be named, for someone who has named a folder.

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
    """Give another name to write a file under; put it in its place by one renaming when the block ends well.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with put_in_place(Path(folder) / "note.txt") as scratch:
    ...         _ = scratch.write_text("all of it")
    ...     [path.name for path in Path(folder).iterdir()]
    ['note.txt']
    """
    # It ends like the target: some writers go by that.
    scratch = target.with_name(f".{secrets.token_hex(8)}.part{target.suffix}")
    try:
        yield scratch
        with scratch.open("rb+") as file:
            os.fsync(file.fileno())  # what it replaces must not be gone before this is there
        os.replace(scratch, target)
    except BaseException:
        scratch.unlink(missing_ok=True)
        raise
