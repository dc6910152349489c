"""The device that tensors are on: which one, its memory, and the way to it and back."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...words import memory_size
from .. import threads

try:
    import torch
except ImportError as error:  # pragma: no cover - the extra is installed where this is tested
    raise ImportError(
        "The engine 'torch' needs PyTorch, which is not installed: pip install 'consilience[gpu]'."
    ) from error

_NUMPY = {
    torch.float64: np.float64,
    torch.float32: np.float32,
    torch.int64: np.int64,
    torch.int32: np.int32,
    torch.bool: np.bool_,
}
_TOUCHED = 1 << 24  # bytes that one thread touches at once
_SHARE = 0.8  # of the free memory of a device: the rest is for what libraries take
_BLOCK_BYTES = {"cpu": 1 << 26, "cuda": 1 << 31}  # of temporary values between samples


@dataclass(frozen=True)
class Device:
    """A device, and what is kept on it.

    Attributes
    ----------
    where : torch.device
        The device.
    """

    where: torch.device

    @classmethod
    def of(cls, name: str) -> Device:
        """Return a device by its name; a ValueError if there is none.

        Examples
        --------
        >>> Device.of("cpu").where
        device(type='cpu')
        >>> Device.of("abacus")
        Traceback (most recent call last):
        ...
        ValueError: There is no device 'abacus'; use 'auto', 'cpu', 'cuda', or 'cuda:1' for the second GPU.
        """
        if name == "auto":
            name = "cuda" if torch.cuda.is_available() else "cpu"
        try:
            where = torch.device(name)
        except (RuntimeError, TypeError):
            where = None
        if where is None or where.type not in ("cpu", "cuda"):
            raise ValueError(
                f"There is no device {name!r}; use 'auto', 'cpu', 'cuda', or 'cuda:1' for the second GPU."
            )
        if where.type == "cuda":
            _check_gpu(where)
            try:
                own = torch.cuda.current_device() if where.index is None else where.index
                torch.cuda.mem_get_info(own)
            except RuntimeError as error:  # another process has all of it
                said = str(error).partition("\n")[0]
                raise ValueError(f"The device {name!r} cannot be used: {said}") from None
            where = torch.device("cuda", own)
        return cls(where)

    @property
    def is_gpu(self) -> bool:
        """Whether it is a GPU."""
        return self.where.type == "cuda"

    def put(self, array: Any, dtype: torch.dtype | None = None) -> torch.Tensor:
        """Return an array of this process, or a tensor from anywhere, as a tensor on the device."""
        if not isinstance(array, torch.Tensor):
            array = torch.from_numpy(_writeable(np.asarray(array)))
        return array.to(device=self.where, dtype=dtype)

    @staticmethod
    def get(tensor: torch.Tensor) -> NDArray[Any]:
        """Return a copy of a tensor as an array of this process, one that NumPy owns: SciPy asks for that."""
        copy: NDArray[Any] = np.empty(tuple(tensor.shape), dtype=_NUMPY[tensor.dtype])
        if tensor.is_cuda and copy.nbytes >= _TOUCHED:  # new memory is slow at first: by several threads
            flat = copy.reshape(-1).view(np.uint8)
            threads.for_ranges(lambda a, b: flat[a:b].fill(0), len(flat), _TOUCHED)
        torch.from_numpy(copy).copy_(tensor.detach())
        return copy

    def arange(self, n: int, dtype: torch.dtype = torch.int64) -> torch.Tensor:
        """Return 0 .. n - 1."""
        return torch.arange(n, dtype=dtype, device=self.where)

    def zeros(self, *shape: int, dtype: torch.dtype = torch.float64) -> torch.Tensor:
        """Return zeros."""
        return torch.zeros(shape, dtype=dtype, device=self.where)

    def blocks(self, n_rows: int, bytes_per_row: float) -> Iterator[tuple[int, int]]:
        """Yield ranges of rows whose temporary values fit into a part of the memory."""
        rows = max(1, int(self.block_bytes // max(bytes_per_row, 1)))
        for start in range(0, n_rows, rows):
            yield start, min(n_rows, start + rows)

    @property
    def block_bytes(self) -> int:
        """How many bytes the temporary values of a block may take.

        That follows from all memory of a device, not from what is free now: so a device gives the same bits.
        """
        return self.at_most(_BLOCK_BYTES[self.where.type], 1.0, 1 / 32)

    def at_most(self, number: int, n_bytes: float, share: float) -> int:
        """Return a number of things of so many bytes; fewer if they would take more than a share of a GPU."""
        total = self.total_bytes
        return number if total is None else max(1, min(number, int(share * total / n_bytes)))

    @cached_property
    def total_bytes(self) -> int | None:
        """All memory of a GPU; None on a CPU."""
        return int(torch.cuda.get_device_properties(self.where).total_memory) if self.is_gpu else None

    def free_bytes(self) -> int | None:
        """Return how much memory of a GPU is free; None on a CPU, whose memory others look after."""
        if not self.is_gpu:
            return None
        free, _ = torch.cuda.mem_get_info(self.where)
        kept = torch.cuda.memory_reserved(self.where) - torch.cuda.memory_allocated(self.where)
        return int(free + kept)

    def require(self, n_bytes: float, what: str, instead: str) -> None:
        """Raise a MemoryError if work needs more of the memory of a GPU than is free."""
        free = self.free_bytes()
        if free is not None and n_bytes > _SHARE * free:
            raise MemoryError(
                f"{what} needs about {memory_size(n_bytes)} on {self.where}, where {memory_size(free)} are "
                f"free. {instead}"
            )

    @contextmanager
    def as_written(self) -> Iterator[None]:
        """Keep PyTorch to the precision that is written here, whatever the caller has set around it.

        Inside `torch.autocast` products would be in half precision, and the proofs of the search wrong.
        """
        with torch.no_grad(), torch.autocast(self.where.type, enabled=False):
            yield

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Turn what PyTorch says about exhausted memory into one line."""
        try:
            yield
        except RuntimeError as error:
            if not _is_out_of_memory(error):
                raise
            free = self.free_bytes()
            traceback.clear_frames(error.__traceback__)  # which hold tensors, as long as the error is known
            torch.cuda.empty_cache()
            left = "" if free is None else f" ({memory_size(free)} were free)"
            raise MemoryError(
                f"The memory of {self.where} is used up{left}. Take fewer samples or views, end what else "
                "runs there, or use engine='numba'."
            ) from None


def _is_out_of_memory(error: RuntimeError) -> bool:
    """Say whether the memory of a device was exhausted: libraries of CUDA say so in their own words."""
    if isinstance(error, torch.OutOfMemoryError):
        return True
    return any(words in str(error) for words in ("out of memory", "ALLOC_FAILED"))


def precision_of(dtype: object) -> torch.dtype | None:
    """Return the precision of weights by its name; None for "auto"; a ValueError if there is none.

    Examples
    --------
    >>> precision_of("float32"), precision_of("auto")
    (torch.float32, None)
    >>> precision_of("float16")
    Traceback (most recent call last):
    ...
    ValueError: dtype must be 'auto', 'float32' or 'float64', got 'float16'; ...
    """
    if isinstance(dtype, str) and dtype == "auto":
        return None
    for name in ("float32", "float64"):
        if dtype == name or dtype is getattr(torch, name) or dtype is getattr(np, name):
            return getattr(torch, name)
    raise ValueError(
        f"dtype must be 'auto', 'float32' or 'float64', got {dtype!r}; less than single precision is not "
        "enough for the weights of a fusion."
    )


def _check_gpu(where: torch.device) -> None:
    """Raise a ValueError if there is no such GPU."""
    if not torch.cuda.is_available():
        built = "" if torch.version.cuda or torch.version.hip else ", which was built without CUDA"
        raise ValueError(
            f"There is no GPU that PyTorch {torch.__version__}{built} can use; device='cpu' works without."
        )
    count = torch.cuda.device_count()
    if where.index is not None and where.index >= count:
        have = "is 1 GPU, 'cuda:0'" if count == 1 else f"are {count} GPUs, 'cuda:0' to 'cuda:{count - 1}'"
        raise ValueError(f"There {have}; there is no {str(where)!r}.")


def _writeable(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array that PyTorch takes without a warning: it cannot know of arrays that are only read."""
    return array if array.flags.writeable and array.flags.c_contiguous else np.array(array, order="C")
