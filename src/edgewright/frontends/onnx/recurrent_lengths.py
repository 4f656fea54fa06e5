"""Sequences that end before the tensor does: masks by length, for lengths that only exist at run time."""

from functools import cached_property

import numpy as np
import onnx

from edgewright.core.errors import ShapeMismatch
from edgewright.core.numbers import DType
from edgewright.frontends.onnx.counting import count_along
from edgewright.frontends.onnx.recurrent_layer import Layer
from edgewright.ops.cast import Cast
from edgewright.ops.elementwise import (
    ElementWiseAdd,
    ElementWiseEqual,
    ElementWiseGreater,
    ElementWiseGreaterEqual,
    ElementWiseLess,
    ElementWiseSelect,
)
from edgewright.ops.rearrange import Concat
from edgewright.ops.reduce import ReduceSum


class Lengths:
    """The lengths of a layer's sequences, compared with the place of each step."""

    def __init__(self, layer: Layer) -> None:
        self._ctx, self._layer = layer.ctx, layer
        self._time, self._batch = layer.time_axis, 1 - layer.time_axis
        if self._ctx.rank(layer.lengths) != 1:
            raise ShapeMismatch(f"sequence_lens is {self._ctx.type(layer.lengths)}, expected one axis")

    def turned(self, sequence: str) -> str:
        """Each sequence turned around within its length."""
        node = onnx.helper.make_node(
            "ReverseSequence", ["x", "lengths"], ["y"], time_axis=self._time, batch_axis=self._batch
        )
        lengths = self._ctx.emit(Cast(dtype=DType.INT_64), self._layer.lengths)
        return self._ctx.translate(node, [sequence, lengths])[0]

    def cut(self, sequence: str) -> str:
        """Zero after the end."""
        inside = self._ctx.emit(ElementWiseLess(), self._steps, self._ends)
        return self._ctx.emit(ElementWiseSelect(), inside, sequence, self._ctx.add_scalar(0, sequence))

    def last(self, sequence: str) -> str:
        """The state at the last step of each sequence; zero for an empty one."""
        ctx = self._ctx
        at = ctx.emit(ElementWiseAdd(), self._ends, ctx.add_scalar(-1, self._ends))
        is_last = ctx.emit(ElementWiseEqual(), self._steps, at)
        only = ctx.emit(ElementWiseSelect(), is_last, sequence, ctx.add_scalar(0, sequence))
        return ctx.emit(ReduceSum(axes=(self._time,)), only)

    def keep_cell(self, cell: str) -> str:
        """The last cell; zero for an empty sequence, as its last state is."""
        ctx = self._ctx
        lengths = ctx.reshape(self._ends, (ctx.shape(self._layer.lengths)[0], 1))
        is_some = ctx.emit(ElementWiseGreater(), lengths, ctx.add_scalar(0, lengths))
        return ctx.emit(ElementWiseSelect(), is_some, cell, ctx.add_scalar(0, cell))

    def frozen(self, x: str, weights: list[str], gates: dict[int, float]) -> tuple[str, list[str]]:
        """One more input, 1 after the end, whose weights hold the gates open or shut so that c stays."""
        ctx = self._ctx
        outside = ctx.emit(ElementWiseGreaterEqual(), self._steps, self._ends)
        column = ctx.emit(Cast(dtype=ctx.dtype(x)), outside)
        wider = []
        for gate, value in enumerate(weights):
            extra = np.full((self._layer.units, 1), gates.get(gate, 0.0), ctx.dtype(value).numpy)
            known = ctx.graph.constants.get(value)
            wider.append(
                ctx.emit(Concat(axis=1), value, ctx.add_constant(extra))
                if known is None
                else ctx.add_constant(np.concatenate([known, extra], axis=1))
            )
        return ctx.emit(Concat(axis=2), x, column), wider

    @cached_property
    def _ends(self) -> str:
        shape = [1, 1, 1]
        count = self._ctx.shape(self._layer.lengths)[0]
        dims = (*shape[: self._batch], count, *shape[self._batch + 1 :])
        return self._ctx.reshape(self._ctx.emit(Cast(dtype=DType.INT_32), self._layer.lengths), dims)

    @cached_property
    def _steps(self) -> str:
        """The place of each step, along the axis of time."""
        places = count_along(self._ctx, self._layer.x, self._time)
        count = self._ctx.shape(self._layer.x)[self._time]
        return self._ctx.reshape(places, (1, count, 1) if self._time else (count, 1, 1))
