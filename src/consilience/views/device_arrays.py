"""Arrays of other libraries: taken as they are where they lie, and results given back as the same kind.

Tensors of PyTorch and arrays of CuPy and JAX in the memory of this process are NumPy arrays by another name:
nothing is copied. Those on a GPU become a `DeviceArray`, which an engine that works there takes without a
copy through this memory; everything else asks for `in_memory`, once.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..io.stored import stored_as_array

Tensor: TypeAlias = Any  # of PyTorch, which may not be there

_HOST_MEMORY = (1, 3, 11)  # device types of DLPack: of this process, pinned for CUDA, pinned for ROCm
_BLOCK = 1 << 22  # entries that are worked on together, so that no large temporary is made
_HALVES = ("float16", "bfloat16")  # types of which NumPy does not know both


class DeviceArray:
    """A dense view on a device, with what checks and preparation ask of an array.

    It is not copied: do not change the numbers while models or shared views use it.

    Parameters
    ----------
    tensor : torch.Tensor of shape (n, d)
        The numbers.
    """

    ndim = 2

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor

    @classmethod
    def of(cls, name: str, raw: Any) -> DeviceArray:
        """Take an array of a device by DLPack; nothing is copied.

        Parameters
        ----------
        name : str
            The view's name, for messages.
        raw : array
            A tensor of PyTorch, an array of CuPy or of JAX, ...
        """
        try:
            import torch
        except ImportError:
            raise ValueError(
                f"view {name!r} is on a GPU, and PyTorch, which takes it there, is not installed: pip "
                "install 'consilience[gpu]', or pass a copy in the memory of this process (array.get(), "
                "tensor.cpu())"
            ) from None
        tensor = raw.detach() if isinstance(raw, torch.Tensor) else torch.from_dlpack(raw)
        if tensor.is_cuda:  # it may still be computed, on a stream that nobody else waits for
            torch.cuda.current_stream(tensor.device).synchronize()
        return cls(tensor)

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of rows and of columns."""
        return tuple(self.tensor.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of its numbers, as NumPy calls it."""
        name = str(self.tensor.dtype).removeprefix("torch.")
        return np.dtype(np.float32 if name in _HALVES else name)

    @property
    def size(self) -> int:
        """How many numbers there are."""
        return int(self.tensor.numel())

    @property
    def nbytes(self) -> int:
        """Bytes of all numbers."""
        return self.size * self.dtype.itemsize

    def __len__(self) -> int:
        return int(self.tensor.shape[0])

    def __getitem__(self, places: Any) -> DeviceArray:
        """Return some rows, or by a pair ``[:, columns]`` some columns; on the device."""
        chosen = places if isinstance(places, tuple) else (places,)
        sent = tuple(self.sent(one) if isinstance(one, np.ndarray) else one for one in chosen)
        return DeviceArray(self.tensor[sent])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return self.here if dtype is None else self.here.astype(dtype, copy=False)

    def __repr__(self) -> str:
        return f"DeviceArray({self.shape[0]} x {self.shape[1]} {self.dtype} on {self.tensor.device})"

    @cached_property
    def here(self) -> NDArray[Any]:
        """A copy in the memory of this process, which is kept."""
        return self.fetched()

    def fetched(self) -> NDArray[Any]:
        """Return a copy in the memory of this process."""
        found: NDArray[Any] = self.tensor.cpu().to(_same(self.tensor, self.dtype)).numpy()
        return found

    def __getstate__(self) -> dict[str, Any]:
        return {"tensor": self.tensor}

    def as_type(self, dtype: np.dtype[Any] | type) -> DeviceArray:
        """Return the same numbers as another type, in rows that lie one after another."""
        return DeviceArray(self.tensor.to(_same(self.tensor, np.dtype(dtype))).contiguous())

    def is_finite(self) -> bool:
        """Say whether the sum is finite: then no entry is NaN or infinite."""
        torch = _torch()
        return bool(torch.isfinite(self.tensor.sum()))

    def has_infinite(self) -> bool:
        """Say whether any entry is infinite."""
        return bool(self.tensor.isinf().any())

    def empty_rows(self) -> NDArray[np.bool_]:
        """Say which rows are nothing but NaN."""
        found: NDArray[np.bool_] = self.tensor.isnan().all(dim=1).cpu().numpy()
        return found

    def hidden(self, seen: NDArray[np.bool_]) -> DeviceArray:
        """Return a copy in which the rows that are not seen are zeros."""
        return DeviceArray(_torch().where(self.sent(seen)[:, None], self.tensor, 0.0))

    def n_nonzero(self) -> int:
        """Count the entries that are not 0."""
        return int(self.tensor.count_nonzero())

    def range(self) -> tuple[float, float]:
        """Return the least and the largest entry."""
        least, largest = self.tensor.aminmax()
        return float(least), float(largest)

    def rescaled(
        self,
        center: NDArray[np.float64] | None,
        factors: NDArray[np.float64],
        roots_but: NDArray[np.intp] | None = None,
    ) -> DeviceArray:
        """Return the entries minus a center, times factors, computed in double precision, as their own type.

        `roots_but`: take square roots first, except of these columns.
        """
        torch, x = _torch(), self.tensor
        out, start = torch.empty_like(x), 0
        shift = None if center is None else self.sent(center)
        times = self.sent(factors)
        alone = torch.zeros(x.shape[1], dtype=torch.bool, device=x.device)
        if roots_but is not None:
            alone[self.sent(roots_but)] = True
        for part in self.blocks():
            stop = start + len(part)
            if roots_but is not None:
                part = torch.where(alone, part, torch.where(alone, 0, part).sqrt())
            part = part.double()
            out[start:stop], start = (part if shift is None else part - shift) * times, stop
        return DeviceArray(out)

    def blocks(self) -> Iterator[Tensor]:
        """Yield consecutive rows, some at a time."""
        step = max(1, _BLOCK // self.shape[1])
        for start in range(0, len(self), step):
            yield self.tensor[start : start + step]

    def sent(self, values: NDArray[Any]) -> Tensor:
        """Return a small array as a tensor on the same device."""
        return _torch().from_numpy(np.array(values)).to(self.tensor.device)


def is_foreign(raw: Any) -> bool:
    """Say whether this is an array of another library that can be taken by DLPack.

    Examples
    --------
    >>> is_foreign(np.zeros(3)), is_foreign([1.0])
    (False, False)
    """
    return hasattr(raw, "__dlpack__") and not isinstance(raw, np.ndarray | np.generic)


def read_foreign(name: str, raw: Any) -> Any:
    """Return an array of another library: where it is in this memory as one of NumPy, without a copy.

    Parameters
    ----------
    name : str
        The view's name, for messages.
    raw : array
        For which `is_foreign` holds. Sparse tensors become CSR matrices, of this memory.
    """
    layout = str(getattr(raw, "layout", ""))
    if layout.startswith("torch.sparse"):
        return _from_sparse(raw)
    if is_on_device(raw):
        return DeviceArray.of(name, raw)
    if hasattr(raw, "detach"):  # a tensor of PyTorch, perhaps the output of a model that is being trained
        raw = raw.detach()
        raw = raw.float() if str(raw.dtype).removeprefix("torch.") in _HALVES else raw
        raw = raw.resolve_conj().resolve_neg()
    return np.asarray(raw) if hasattr(raw, "__array__") else np.from_dlpack(raw)


def is_on_device(raw: Any) -> bool:
    """Say whether an array of another library is not in the memory of this process."""
    return int(raw.__dlpack_device__()[0]) not in _HOST_MEMORY


def _from_sparse(raw: Any) -> sparse.csr_array:
    """Return a sparse tensor as a matrix in the memory of this process."""
    coo = raw.detach().cpu().to_sparse_coo().coalesce()
    return sparse.coo_array((coo.values().numpy(), tuple(coo.indices().numpy())), tuple(coo.shape)).tocsr()


def in_memory(array: Any) -> Any:
    """Return an array in the memory of this process: itself, or a copy of what is on a device.

    Examples
    --------
    >>> x = np.ones((2, 2))
    >>> in_memory(x) is x
    True
    """
    return array.here if isinstance(array, DeviceArray) else array


stored_as_array(DeviceArray, in_memory)


def like_input(given: list[Any], found: NDArray[Any]) -> Any:
    """Return a result as the kind of array that all of the views given are, on the device of the first.

    An array of NumPy, unless all are tensors of PyTorch or all arrays of CuPy.

    Examples
    --------
    >>> like_input([np.zeros(2)], np.arange(2))
    array([0, 1])
    """
    libraries = {type(one).__module__.partition(".")[0] for one in given}
    if libraries == {"torch"}:
        return _torch().from_numpy(np.ascontiguousarray(found)).to(given[0].device)
    if libraries == {"cupy"}:
        with given[0].device:
            return sys.modules["cupy"].asarray(found)
    return found


def _torch() -> Any:
    """Return PyTorch, which is loaded: there are tensors."""
    return sys.modules["torch"]


def _same(tensor: Tensor, dtype: np.dtype[Any]) -> Any:
    """Return what PyTorch calls a type of NumPy."""
    return getattr(_torch(), dtype.name)
