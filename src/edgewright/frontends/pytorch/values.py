"""A torch tensor as the walk through a program knows it: its type always, its value or its ONNX name."""

from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import ml_dtypes
import numpy as np

from edgewright.core.errors import LimitExceeded
from edgewright.core.numbers import Array, DType
from edgewright.core.optional import require

# torch's name of a type, ours.
TORCH_DTYPES: dict[str, DType] = {
    "float32": DType.FLOAT_32,
    "float64": DType.FLOAT_64,
    "float16": DType.FLOAT_16,
    "bfloat16": DType.BFLOAT_16,
    "int8": DType.INT_8,
    "int16": DType.INT_16,
    "int32": DType.INT_32,
    "int64": DType.INT_64,
    "uint8": DType.UINT_8,
    "uint16": DType.UINT_16,
    "uint32": DType.UINT_32,
    "uint64": DType.UINT_64,
    "bool": DType.BOOL_8,
}
LARGEST_REPEATED = 1 << 28
_births = count()
# Makes a view of a tensor from that tensor.
View = Callable[[Any], Any]


class Tensor:
    """A tensor of the program: known (``data``), computed at run time (``name``), or both.

    It is a box as a torch tensor is one: an in-place op changes what it holds. A view knows its parent and
    how it is made from it; ``seen`` is the version of the root that its content belongs to.
    """

    __slots__ = (
        "born",
        "data",
        "encoding",
        "how",
        "meta",
        "name",
        "parent",
        "path",
        "seen",
        "shared",
        "version",
        "was_changed",
    )

    def __init__(self, meta: Any, data: Any = None, name: str | None = None) -> None:
        self.meta = meta
        self.data = data
        self.name = name
        # Where the module keeps it, as in a state dict; "" for results.
        self.path = ""
        # Of a quantized tensor, which has real numbers here: scale, zero point and the type of the integers.
        self.encoding: tuple[float, int, str] | None = None
        self.parent: Tensor | None = None
        self.how: View | None = None
        self.version = 0
        self.seen = 0
        # Tensors that it may be, or that may be it, as data decide: changed in place, the others are unknown.
        self.shared: list[Tensor] = []
        self.was_changed = False
        # Its number among all tensors: older ones have smaller ones.
        self.born = next(_births)

    @property
    def root(self) -> "Tensor":
        """The tensor that it is a view of in the end."""
        found = self
        while found.parent is not None:
            found = found.parent
        return found

    @property
    def is_known(self) -> bool:
        """Whether its value is a constant."""
        return self.data is not None

    @property
    def shape(self) -> tuple[int, ...]:
        """Its dimensions."""
        return tuple(int(size) for size in self.meta.shape)

    @property
    def rank(self) -> int:
        """Number of dimensions."""
        return len(self.meta.shape)

    @property
    def count(self) -> int:
        """Number of elements."""
        return int(self.meta.numel())

    @property
    def dtype(self) -> Any:
        """Its torch type."""
        return self.meta.dtype

    def as_view_of(self, parent: "Tensor", how: View) -> "Tensor":
        """Marks it as a view, and gives it back."""
        self.parent, self.how = parent, how
        self.seen = parent.root.version
        return self


def as_array(data: Any) -> Array:
    """A torch tensor as an array that shares its memory where it can."""
    _check_written_out(data)
    plain = data.detach().cpu().contiguous()
    if name_dtype(plain.dtype) == "bfloat16":
        bits = plain.view(require("torch", to="read PyTorch models").int16)
        return np.asarray(bits.numpy().view(ml_dtypes.bfloat16))
    return np.asarray(plain.resolve_conj().numpy())


def as_tensor(torch: Any, array: Array) -> Any:
    """An array as a torch tensor of its own; numpy has no type for bfloat16 that torch knows."""
    if array.dtype == ml_dtypes.bfloat16:
        return torch.from_numpy(array.view(np.int16).copy()).view(torch.bfloat16)
    return torch.from_numpy(array.copy())


def _check_written_out(data: Any) -> None:
    """A stored tensor that repeats its elements can claim any size: it must stay small when written out."""
    size = data.numel() * data.element_size()
    if size > LARGEST_REPEATED and size > data.untyped_storage().nbytes():
        raise LimitExceeded(
            f"a tensor of {data.untyped_storage().nbytes()} stored bytes takes {size} written out, "
            f"at most {LARGEST_REPEATED} are allowed",
            do="check where the file comes from",
        )


def name_dtype(dtype: Any) -> str:
    """Torch's name of a type, without the module."""
    return str(dtype).removeprefix("torch.")


def list_boxes(value: Any) -> Iterator[Tensor]:
    """All tensors in an argument, lists and tuples included."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from list_boxes(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from list_boxes(item)


def replace_tensors(value: Any, change: Callable[[Tensor], Any]) -> Any:
    """The argument with each of its tensors changed."""
    if isinstance(value, Tensor):
        return change(value)
    if isinstance(value, list):
        return [replace_tensors(item, change) for item in value]
    if isinstance(value, tuple):
        return tuple(replace_tensors(item, change) for item in value)
    if isinstance(value, dict):
        return {key: replace_tensors(item, change) for key, item in value.items()}
    return value
