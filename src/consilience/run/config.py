"""Settings of a run that are not part of a model: how much memory it may take, where checkpoints go.

`set_config` is for the whole process. `config_context` is only for a block: another thread, or another task
of an event loop, that works at the same time does not see it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from numbers import Integral
from pathlib import Path
from types import EllipsisType
from typing import Any

_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}
_AMOUNT = re.compile(r"(\d+(?:\.\d*)?|\.\d+)\s*([kmgt]?)(i?)(b?|bytes?)", re.IGNORECASE)

MemoryLimit = int | str | None
Folder = str | os.PathLike[str] | None


@dataclass(frozen=True)
class Config:
    """The settings of runs.

    Attributes
    ----------
    memory_limit : int or None
        Bytes that a fit may need at most, libraries and input included; None: the free memory.
    checkpoint_dir : Path or None
        Folder for checkpoints; None: none are written.
    """

    memory_limit: int | None = None
    checkpoint_dir: Path | None = None


_for_all = Config()
_here: ContextVar[dict[str, Any]] = ContextVar("consilience_config", default={})  # noqa: B039 - never changed


def get_config() -> Config:
    """Return the settings that are valid here and now.

    Examples
    --------
    >>> get_config()
    Config(memory_limit=None, checkpoint_dir=None)
    """
    return replace(_for_all, **_here.get())


def set_config(
    *, memory_limit: MemoryLimit | EllipsisType = ..., checkpoint_dir: Folder | EllipsisType = ...
) -> None:
    """Change settings of the whole process, wherever `config_context` does not set something else.

    Parameters
    ----------
    memory_limit, checkpoint_dir
        As for `config_context`.

    Examples
    --------
    >>> set_config(memory_limit="6 GiB")
    >>> get_config().memory_limit
    6442450944
    >>> set_config(memory_limit=None)
    """
    global _for_all
    _for_all = replace(_for_all, **_checked(memory_limit, checkpoint_dir))


@contextmanager
def config_context(
    *, memory_limit: MemoryLimit | EllipsisType = ..., checkpoint_dir: Folder | EllipsisType = ...
) -> Iterator[None]:
    """Change settings inside a block; settings that are not given stay as they are.

    Parameters
    ----------
    memory_limit : int or str or None
        What a fit may need at most, libraries and input included: bytes, or text such as ``"6 GiB"`` or
        ``"800 MB"``. A fit that would need more is refused before the work starts, with advice on what to
        change. None: the free memory of the machine decides.
    checkpoint_dir : str or path or None
        Folder, made if necessary, in which a fit keeps the results of its finished stages, until it is done.
        Started again after it was killed, the same fit goes on from there, with the same result. None: no
        checkpoints.

    See Also
    --------
    consilience.memory_estimate : What a fit will need.
    set_config : The same for the whole process.

    Examples
    --------
    >>> from consilience import SimilarityGraphFusion, config_context, make_multiview
    >>> views = make_multiview(100, n_clusters=3, separation=5.0, random_state=0).views
    >>> with config_context(memory_limit="2 GiB"):
    ...     labels = SimilarityGraphFusion(n_clusters=3, random_state=0).fit(views).labels_
    >>> with config_context(memory_limit="20 MiB"):
    ...     SimilarityGraphFusion(n_clusters=3).fit(views)
    Traceback (most recent call last):
    ...
    MemoryError: SimilarityGraphFusion on 100 samples and 4 views needs about ...
    """
    token = _here.set({**_here.get(), **_checked(memory_limit, checkpoint_dir)})
    try:
        yield
    finally:
        _here.reset(token)


def as_bytes(amount: Any, name: str = "memory_limit") -> int:
    """Return an amount of memory, a number or text, in bytes.

    Examples
    --------
    >>> as_bytes("6 GiB"), as_bytes("800MB"), as_bytes("1.5G"), as_bytes(1e9)
    (6442450944, 800000000, 1610612736, 1000000000)
    >>> as_bytes("plenty")
    Traceback (most recent call last):
    ...
    ValueError: memory_limit must be a positive number of bytes, or text such as '6 GiB' or '800 MB', got ...
    """
    wrong = f"{name} must be a positive number of bytes, or text such as '6 GiB' or '800 MB', got {amount!r}."
    n_bytes = 0.0
    if isinstance(amount, str):
        found = _AMOUNT.fullmatch(amount.strip())
        if found is None or (found[3] and not found[2]):
            raise ValueError(wrong)
        # As in most programs: "6G" and "6 GiB" are powers of 1024, "6 GB" of 1000.
        unit = 1000 if found[4] and not found[3] else 1024
        n_bytes = float(found[1]) * unit ** _POWERS[found[2].lower()]
    elif isinstance(amount, Integral | float) and not isinstance(amount, bool):
        n_bytes = float(amount)
    if not 1 <= n_bytes < float("inf"):
        raise ValueError(wrong)
    return int(n_bytes)


def _checked(memory_limit: Any, checkpoint_dir: Any) -> dict[str, Any]:
    """Return the settings that were given, checked."""
    given: dict[str, Any] = {}
    if memory_limit is not ...:
        given["memory_limit"] = None if memory_limit is None else as_bytes(memory_limit)
    if checkpoint_dir is not ...:
        if checkpoint_dir is not None and not isinstance(checkpoint_dir, str | os.PathLike):
            raise ValueError(f"checkpoint_dir must be a folder or None, got {checkpoint_dir!r}.")
        if checkpoint_dir is not None and not os.fspath(checkpoint_dir):
            raise ValueError("checkpoint_dir is empty; name a folder, or pass None.")
        given["checkpoint_dir"] = None if checkpoint_dir is None else Path(checkpoint_dir).absolute()
    return given
