"""What the steps of all recurrent layers have in common, and how they are written."""

from collections.abc import Iterator, Sequence

import numpy as np

from edgewright.core.numbers import Array, DType
from edgewright.ir.graph import Graph, Node
from edgewright.ir.op import Op
from edgewright.ir.types import TensorType
from edgewright.ops.activation import Sigmoid
from edgewright.ops.cast import Cast
from edgewright.ops.elementwise import ElementWiseAdd, ElementWiseMultiply, ElementWiseSubtract
from edgewright.ops.elementwise_unary import ElementWiseNeg
from edgewright.ops.matmul import FullyConnected, MatMul
from edgewright.ops.quant import Convert
from edgewright.ops.rearrange import Concat, Reshape, Transpose
from edgewright.ops.rearrange_slice import Split
from edgewright.ops.recurrent import Direction, Recurrent

MOST_INPUTS, MOST_OUTPUTS = 25, 3


class StepWriter:
    """Writes a layer that was taken out of its graph: a sequence in, steps, a sequence and states out.

    In half precision HTP computes an Add, or a product, and the Sigmoid or Tanh behind it as one op that is
    wrong by up to 0.007, but a Subtract and an activation as two exact ones. So all sums before activations
    are differences from something negated; the signs are in the weights. "" is a state that is zero.
    """

    def __init__(self, graph: Graph, node: Node) -> None:
        assert isinstance(node.op, Recurrent)
        self._graph, self._node, self._op = graph, node, node.op
        kind = graph.types[node.inputs[0]]
        self._dtype = kind.dtype if kind.dtype.is_float else DType.FLOAT_16
        self._shape = kind.static_shape()
        self._outputs = [*node.outputs, *[""] * (MOST_OUTPUTS - len(node.outputs))]
        self._kinds = {value: graph.types[value] for value in node.outputs if value}
        self._is_read = {v: bool(graph.consumers(v)) or v in graph.outputs for v in node.outputs}
        # What new values are called: reports name them, so the step is in it.
        self._layer = node.source or self._outputs[0] or node.name
        self._label = self._layer
        # No step may take the name of a result, which is defined last.
        graph.reserve(filter(None, node.outputs))
        graph.remove(node)
        self._inputs = [*node.inputs, *[""] * (MOST_INPUTS - len(node.inputs))]
        self._read: dict[str, str] = {}

    def write(self) -> None:
        """All steps, then the outputs under the names that they had."""
        raise NotImplementedError

    @property
    def _count(self) -> int:
        return 1 if len(self._shape) == 2 else self._shape[0 if self._op.time_major else 1]

    @property
    def _batch(self) -> int:
        return self._shape[0] if len(self._shape) == 2 or not self._op.time_major else self._shape[1]

    def _compute_input_shares(self, weights: str, bias: str) -> list[str]:
        """The input's share of each step's sums, in the order of the steps: one product for all of them."""
        x = self._take(0)
        if len(self._shape) == 3 and not self._op.time_major and 1 not in self._shape[:2]:
            x = self._emit(Transpose(perm=(1, 0, 2)), x)
        rows = self._emit(Reshape(shape=(self._count * self._batch, self._shape[-1])), x)
        places = tuple(self._batch * step for step in range(1, self._count))
        shares = self._split(self._connect(rows, weights, bias), 0, places)
        return shares[::-1] if self._op.direction == Direction.REVERSE else shares

    def _name_steps(self, parts: list[str]) -> Iterator[str]:
        """The parts one after the other; what is written meanwhile is called by the step."""
        for number, part in enumerate(parts, 1):
            self._label = f"{self._layer}_step{number}"
            yield part
        self._label = self._layer

    def _finish_sequence(self, states: list[str]) -> None:
        """The states of all steps as the layer's first output."""
        if not self._is_read.get(self._outputs[0]):
            return
        ordered = states[::-1] if self._op.direction == Direction.REVERSE else states
        axis = 0 if self._op.time_major else 1
        rows = self._emit(Concat(axis=axis), *ordered) if len(ordered) > 1 else ordered[0]
        self._finish_output(rows, 0)

    def _finish_output(self, value: str, place: int) -> None:
        """A value in the shape and type, and under the name, that readers of the layer know."""
        name = self._outputs[place]
        if not self._is_read.get(name):
            return
        kind = self._kinds[name]
        shape = Reshape(shape=kind.static_shape())
        if kind.dtype == self._dtype:
            self._emit(shape, value, output=name)
        elif kind.encoding is None:
            self._emit(Cast(dtype=kind.dtype), self._emit(shape, value), output=name)
        else:
            convert = Convert(dtype=kind.dtype, encoding=kind.encoding)
            self._add(convert, [self._emit(shape, value)], [name], [kind])

    def _take(self, place: int) -> str:
        """An input as a float; "" where it is left out."""
        value = self._inputs[place]
        kind = self._graph.types[value] if value else None
        if kind is None or kind.dtype == self._dtype:
            return value
        if value not in self._read:
            array = self._graph.constants.get(value)
            if array is not None:
                self._read[value] = self._add_constant(_decode(array, kind, self._dtype))
            elif kind.encoding is None:
                self._read[value] = self._emit(Cast(dtype=self._dtype), value)
            else:
                self._read[value] = self._emit(Convert(dtype=self._dtype, source=kind.encoding), value)
        return self._read[value]

    def _take_state(self, place: int, units: int) -> str:
        """A first state as [batch, units]; "" where it is zero."""
        state = self._take(place)
        array = self._graph.constants.get(state)
        if not state or (array is not None and not array.any()):
            return ""
        shape = (self._batch, units)
        is_flat = self._graph.types[state].static_shape() == shape
        return state if is_flat else self._emit(Reshape(shape=shape), state)

    def _stack(self, places: Sequence[int], signs: Sequence[int]) -> str:
        """Weights or biases of several gates as one value, with their signs; "" where all are left out."""
        values = [self._take(place) for place in places]
        like = next((value for value in values if value), "")
        if not like:
            return ""
        shape = self._graph.types[like].static_shape()
        given = [value or self._add_constant(np.zeros(shape, self._dtype.numpy)) for value in values]
        arrays = [self._graph.constants.get(value) for value in given]
        known = [
            np.multiply(a, s, dtype=a.dtype) for a, s in zip(arrays, signs, strict=True) if a is not None
        ]
        if len(known) == len(arrays):
            return self._add_constant(np.concatenate(known))
        signed = [v if s > 0 else self._emit(ElementWiseNeg(), v) for v, s in zip(given, signs, strict=True)]
        return signed[0] if len(signed) == 1 else self._emit(Concat(axis=0), *signed)

    def _connect(self, x: str, weights: str, bias: str = "") -> str:
        """The rows of ``x`` times the weights, plus the bias."""
        if weights in self._graph.constants and (not bias or bias in self._graph.constants):
            return self._emit(FullyConnected(), x, *filter(None, (weights, bias)))
        product = self._emit(MatMul(transpose_in1=True), x, weights)
        return self._emit(ElementWiseAdd(), product, bias) if bias else product

    def _split(self, x: str, axis: int, places: tuple[int, ...]) -> list[str]:
        if not places:
            return [x]
        names = [self._graph.fresh_name(self._label) for _ in range(len(places) + 1)]
        self._add(Split(axis=axis, split_index=places), [x], names)
        return names

    def _split_gates(self, x: str, *units: int) -> list[str]:
        """Parts of the last axis, by their widths."""
        places = np.cumsum(units)[:-1].tolist()
        return self._split(x, 1, tuple(places))

    def _open_gates(self, sums: str, count: int, units: int) -> list[str]:
        """Gates side by side, each between 0 and 1."""
        return self._split_gates(self._emit(Sigmoid(), sums), *[units] * count)

    def _subtract_from_one(self, value: str) -> str:
        if "1" not in self._read:
            self._read["1"] = self._add_constant(np.ones((1, 1), self._dtype.numpy))
        return self._subtract(self._read["1"], value)

    def _add_up(self, left: str, right: str) -> str:
        return self._emit(ElementWiseAdd(), left, right)

    def _subtract(self, left: str, right: str) -> str:
        return self._emit(ElementWiseSubtract(), left, right)

    def _multiply(self, left: str, right: str) -> str:
        return self._emit(ElementWiseMultiply(), left, right)

    def _emit(self, op: Op, *inputs: str, output: str = "") -> str:
        name = output or self._graph.fresh_name(self._label)
        self._add(op, list(inputs), [name])
        return name

    def _add(
        self, op: Op, inputs: list[str], outputs: list[str], types: list[TensorType] | None = None
    ) -> None:
        name = self._graph.fresh_name(self._node.name)
        self._graph.add(Node(name, op, inputs, outputs, self._node.source), types)

    def _add_constant(self, array: Array) -> str:
        return self._graph.add_constant(self._graph.fresh_name(f"{self._node.name}_weight"), array)


def _decode(array: Array, kind: TensorType, dtype: DType) -> Array:
    real = array if kind.encoding is None else kind.encoding.decode(array)
    return real.astype(dtype.numpy)
