"""The error about a file that cannot be read as a model."""

from __future__ import annotations


class ModelFileError(ValueError):
    """A file is not a model that this library can read: damaged, of another kind, or too new.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import consilience
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "notes.txt"
    ...     _ = file.write_text("Dear diary")
    ...     consilience.load(file)
    Traceback (most recent call last):
    ...
    consilience.io.model_files.errors.ModelFileError: ...notes.txt is not a model file, or it is cut off: ...
    """
