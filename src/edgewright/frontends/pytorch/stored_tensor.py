"""Tensors from stored bytes: sizes, strides and offsets are held against the bytes before anything reads."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from edgewright.core.errors import BadInput, Where

# torch's own limit on the number of dimensions of most kernels.
MOST_DIMS = 64
# No number of a tensor is larger, and neither is the product of its sizes: torch counts in 63 bits.
LARGEST_SIZE = 1 << 40


@dataclass(frozen=True)
class Layout:
    """Where a tensor's elements lie in its storage, in elements."""

    sizes: Sequence[Any]
    strides: Sequence[Any]
    offset: Any

    @property
    def is_plain(self) -> bool:
        """Whether all of it are numbers that a tensor can have: none is negative, none is absurd."""
        numbers = [*self.sizes, *self.strides, self.offset]
        are_whole = all(isinstance(n, int) and not isinstance(n, bool) for n in numbers)
        return (
            are_whole
            and all(0 <= n <= LARGEST_SIZE for n in numbers)
            and len(self.sizes) == len(self.strides) <= MOST_DIMS
            and prod(n or 1 for n in self.sizes) <= LARGEST_SIZE
        )

    @property
    def reach(self) -> int:
        """Number of elements up to the last one that is read."""
        if not prod(self.sizes):
            return 0
        last = sum((n - 1) * s for n, s in zip(self.sizes, self.strides, strict=True))
        return int(self.offset + last + 1)


def make_tensor(torch: Any, data: memoryview, dtype_name: str, layout: Layout, where: Where) -> Any:
    """The tensor that shares the bytes; they may be written to only if nobody else reads them."""
    dtype = getattr(torch, dtype_name, None) if dtype_name else None
    if not isinstance(dtype, torch.dtype):
        raise BadInput("a tensor has a type that torch does not know", where, do="save the model again")
    if not layout.is_plain:
        raise BadInput(
            f"a tensor has the sizes {_show(layout.sizes)}, the strides {_show(layout.strides)} and the "
            f"offset {layout.offset!r:.40}, expected as many strides as sizes, no number below 0 and "
            f"at most {LARGEST_SIZE} elements",
            where,
            do="save the model again",
        )
    if layout.reach * dtype.itemsize > len(data):
        raise BadInput(
            f"{len(data)} bytes are stored, expected at least {layout.reach * dtype.itemsize} for the sizes "
            f"{_show(layout.sizes)}",
            where,
            do="check that the file is complete, and save the model again",
        )
    if not layout.reach:
        return torch.empty(list(layout.sizes), dtype=dtype)
    if dtype == torch.bool:
        # A byte may be neither 0 nor 1, which torch must never see inside a bool.
        return _view(torch, data, torch.uint8, layout).ne(0)
    return _view(torch, data, dtype, layout)


def _view(torch: Any, data: memoryview, dtype: Any, layout: Layout) -> Any:
    whole = data[: len(data) // dtype.itemsize * dtype.itemsize]
    flat = torch.frombuffer(whole if not whole.readonly else bytearray(whole), dtype=dtype)
    if flat.data_ptr() % dtype.itemsize:
        flat = flat.clone()
    return torch.as_strided(flat, list(layout.sizes), list(layout.strides), layout.offset)


def _show(numbers: Sequence[Any]) -> str:
    return f"{[*numbers][:8]!r:.80}"
