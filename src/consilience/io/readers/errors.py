"""Messages about files that cannot be read."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ...run.messages import Advice, Setting
from ...words import memory_size

ID_COLUMN, BYTES_ALLOWED = Setting("id_column"), Setting("max_bytes")


class FileError(ValueError):
    """Something is wrong with a file: one line that says what, where, and what to do.

    Parameters
    ----------
    message : str
        The line. Characters that could break it or act on a terminal (a file may have any name) are escaped.

    Examples
    --------
    >>> from consilience.io.readers import FileError
    >>> print(FileError("a.csv, line 3: 'x' is no number"))
    a.csv, line 3: 'x' is no number
    """

    def __init__(self, message: str) -> None:
        super().__init__(Advice(*(_printable(part) for part in Advice(message).parts)))


def _printable(part: str | Setting) -> str | Setting:
    return part if isinstance(part, Setting) else "".join(c if c.isprintable() else _escaped(c) for c in part)


def _escaped(character: str) -> str:
    return " " if character in "\t\n" else character.encode("unicode_escape").decode("ascii")


def check_size(needed: int, max_bytes: int, place: str, what: str = "would take") -> None:
    """Refuse data that would take more memory than allowed, before the memory is taken."""
    if needed > max_bytes:
        raise FileError(
            Advice(
                f"{place}: it {what} {memory_size(needed)}, but ",
                BYTES_ALLOWED,
                f" allows {memory_size(max_bytes)}; raise ",
                BYTES_ALLOWED,
                " if you trust the file and have the memory",
            )
        )


def optional(module: str, file: str, what: str, extra: str = "files") -> Any:
    """Import a package of an extra, or say how to get it."""
    try:
        return import_module(module)
    except ImportError:
        package = module.partition(".")[0]
        raise FileError(f"{file}: {what} needs {package}: pip install 'consilience[{extra}]'") from None


def reason(error: BaseException) -> str:
    """Return the first line of another library's error, for the end of a message."""
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
