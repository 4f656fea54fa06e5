"""What a translation of an ATen op may use: ONNX nodes, constants, and the types that torch infers."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from edgewright.config.spelling import advise_cut
from edgewright.core.errors import UnsupportedOp
from edgewright.core.numbers import Array
from edgewright.frontends.pytorch.values import TORCH_DTYPES, Tensor, as_array, name_dtype
from edgewright.frontends.pytorch.writer import Writer

RANDOM_ADVICE = "call model.eval() before the model is traced or exported, or make the noise an input of it"


def find_onnx_code(dtype: Any) -> int:
    """ONNX's code of a torch type."""
    from onnx import helper

    named = name_dtype(dtype)
    if named not in TORCH_DTYPES:
        raise UnsupportedOp(
            f"a tensor has the type {named}, expected one of {', '.join(TORCH_DTYPES)}",
            do=advise_cut("change the type in the source model"),
        )
    return int(helper.np_dtype_to_tensor_dtype(TORCH_DTYPES[named].numpy))


class Context:
    """One op's way into the model under construction."""

    def __init__(self, torch: Any) -> None:
        self.torch = torch
        self.writer = Writer()
        # The results of the op that is being translated, as torch foresees them.
        self.out: list[Any] = []
        self.op = ""

    def add(self, op: str, *inputs: Any, **attributes: Any) -> str:
        """Adds a node of one output; inputs are tensors, names, arrays or None."""
        return self.writer.add(op, [self.value(item) for item in inputs], **attributes)[0]

    def add_all(self, op: str, *inputs: Any, outputs: int, **attributes: Any) -> list[str]:
        """Adds a node of several outputs."""
        return self.writer.add(op, [self.value(item) for item in inputs], outputs, **attributes)

    def value(self, item: Any, dtype: Any = None) -> str:
        """The ONNX name of a tensor, in another type where one is asked for; numbers become constants."""
        if item is None:
            return ""
        if isinstance(item, str):
            return item
        if isinstance(item, Tensor):
            return self._tensor(item, dtype)
        if isinstance(item, np.ndarray):
            return self.writer.constant(item)
        if isinstance(item, list | tuple):
            return self.ints(item)
        if isinstance(item, bool | int | float):
            kind = dtype if dtype is not None else self.torch.tensor(item).dtype
            return self.scalar(item, kind)
        raise self.refused(f"an argument is {type(item).__name__}, expected a tensor or a number")

    def scalar(self, number: float, dtype: Any) -> str:
        """A constant without dimensions."""
        return self.writer.constant(as_array(self.torch.tensor(number, dtype=dtype)))

    def constant(self, data: Any, hint: str) -> str:
        """A tensor that was made from weights, as a constant."""
        return self.writer.constant(as_array(data), hint)

    def ints(self, numbers: Sequence[int]) -> str:
        """A constant vector of integers."""
        return self.writer.constant(np.array([self.number(n) for n in numbers], np.int64))

    def number(self, item: Any) -> int:
        """An integer that must be known."""
        if isinstance(item, Tensor):
            if item.data is None:
                raise self.refused("a size or an index is computed from the input's data")
            return int(item.data)
        return int(item)

    def array(self, item: Tensor) -> Array:
        """The value of a tensor that must be known."""
        if item.data is None:
            raise self.refused("an argument is computed from the input's data, expected a constant")
        return as_array(item.data)

    def empty(self) -> str:
        """A result without elements."""
        meta = self.out[0]
        return self.writer.constant(as_array(self.torch.empty(tuple(meta.shape), dtype=meta.dtype)))

    def cast(self, name: str, dtype: Any) -> str:
        """A value in another type."""
        return self.add("Cast", name, to=find_onnx_code(dtype))

    def reshape(self, value: Any, shape: Sequence[int]) -> str:
        """The value in another shape."""
        return self.add("Reshape", value, self.ints(shape), allowzero=1)

    def transpose(self, value: Any, order: Sequence[int]) -> str:
        """The value with its axes in another order; itself where that changes nothing."""
        if list(order) == list(range(len(order))):
            return self.value(value)
        return self.add("Transpose", value, perm=list(order))

    def squeeze(self, value: Any, axes: Sequence[int]) -> str:
        """The value without some axes of length 1."""
        return self.add("Squeeze", value, self.ints(axes)) if axes else self.value(value)

    def unsqueeze(self, value: Any, axes: Sequence[int]) -> str:
        """The value with new axes of length 1."""
        return self.add("Unsqueeze", value, self.ints(axes)) if axes else self.value(value)

    def slice(self, value: Any, axis: int, start: int, end: int, step: int = 1) -> str:
        """A part of the value along one axis."""
        return self.add(
            "Slice", value, self.ints([start]), self.ints([end]), self.ints([axis]), self.ints([step])
        )

    def as_vector(self, item: Tensor) -> Tensor:
        """A single number as a vector of one element: ONNX has no axes for what torch calls axis 0 of it."""
        return Tensor(item.meta.reshape(1), name=self.reshape(item, [1]))

    def refused(self, reason: str, do: str = "") -> UnsupportedOp:
        """The error for an op that cannot be translated as it is called."""
        return UnsupportedOp(
            f"PyTorch op '{self.op}' is not supported here: {reason}",
            do=do or advise_cut(),
        )

    def refuse_random(self) -> UnsupportedOp:
        """The error for an op whose results are not the same twice."""
        return self.refused("its results are random", do=RANDOM_ADVICE)

    def _tensor(self, item: Tensor, dtype: Any) -> str:
        if item.data is not None and dtype is not None and item.dtype != dtype:
            return self.writer.constant(as_array(item.data.to(dtype)))
        if item.name is None and item.data is None:
            raise self.refused("it reads a result that the op before it has only in training")
        if item.name is None:
            find_onnx_code(item.dtype)
            item.name = self.writer.constant(as_array(item.data), item.path)
        if dtype is None or item.dtype == dtype:
            return item.name
        return self.cast(item.name, dtype)
