"""Space for the numbers of a file that cannot be mapped: in memory, or on disk if memory is too small."""

from __future__ import annotations

import logging
import os
import tempfile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...run import memory
from ...run.config import get_config
from ...words import memory_size
from .errors import FileError, reason

logger = logging.getLogger(__name__)


def room_for(shape: tuple[int, int], dtype: Any, file: str) -> NDArray[Any]:
    """Return an array to be filled with the numbers of a file.

    In memory, unless it would take more than half of the free memory, or of the limit that is set: then in a
    mapped temporary file without a name. It is gone as soon as nothing holds the array any more, even if the
    process crashes.

    Parameters
    ----------
    shape : tuple of int
        Number of rows and columns.
    dtype : dtype
        Of the array.
    file : str
        The file that holds the numbers, for messages.
    """
    n_bytes = int(np.prod(shape, dtype=object)) * np.dtype(dtype).itemsize
    known = [amount for amount in (memory.available_bytes(), get_config().memory_limit) if amount is not None]
    if not known or n_bytes <= memory.SHARE * min(known):
        return np.empty(shape, dtype=dtype)
    folder = tempfile.gettempdir()
    logger.info("%s: its %s go to a temporary file in %s", file, memory_size(n_bytes), folder)
    try:
        with tempfile.TemporaryFile(dir=folder) as room:
            if hasattr(os, "posix_fallocate"):  # a full disk must be reported now, not by a crash later
                os.posix_fallocate(room.fileno(), 0, n_bytes)
            return np.memmap(room, dtype=dtype, mode="w+", shape=shape)
    except OSError as error:
        raise FileError(
            f"{file}: it takes {memory_size(n_bytes)}, more than half of the memory there is for it, and "
            f"there is no room in {folder} either ({error.strerror or reason(error)}); name a folder on a "
            "larger disk with TMPDIR"
        ) from None
