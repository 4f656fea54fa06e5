"""Recurrent layers: one direction each, with the weights of every gate as inputs of their own."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from edgewright.core.errors import ShapeMismatch
from edgewright.core.numbers import Array, DType
from edgewright.ir.dims import Dim, Shape, element_count
from edgewright.ir.graph import Graph, Node
from edgewright.ir.op import Op, Port, Sample, given, register, scalar, structural
from edgewright.ir.traits import HtpPrecision, Roles
from edgewright.ir.types import TensorType

MOST_LSTM_INPUTS = 25
LAYER_NORM_EPSILON = 1e-8
# A sigmoid of this, or of its negative, is 1, or 0, to the last bit.
SATURATED = 50


class Direction(IntEnum):
    """The order in which the steps of a sequence are taken."""

    FORWARD = 0
    REVERSE = 1


def _ports(required: int, total: int) -> tuple[Port, ...]:
    return tuple(Port(f"in[{index}]", is_required=index < required) for index in range(total))


@dataclass(frozen=True, kw_only=True)
class Recurrent(Op):
    """A layer that carries a state from step to step; in[1] and in[4] are its first gate's weights."""

    # The HTP's table has Lstm in 8 bits; its states would carry the error of each step to the next.
    htp_precision = HtpPrecision.FLOAT

    direction: Direction = scalar(DType.UINT_32, Direction.FORWARD)
    time_major: bool = scalar(DType.BOOL_8, True)

    def weight_roles(self, inputs: Sequence[TensorType | None]) -> Roles:
        """Matrices are weights, everything else that is constant is a bias."""
        matrices = frozenset(
            place for place, kind in enumerate(inputs) if kind is not None and kind.rank == 2
        )
        return Roles(matrices, frozenset(range(len(inputs))) - matrices)

    def macs(self, inputs: Sequence[TensorType | None], outputs: Sequence[TensorType]) -> int:
        """One per step, sequence and weight."""
        x = inputs[0]
        assert x is not None
        weights = sum((element_count(t.shape) for t in inputs[1:] if t is not None and t.rank == 2), start=0)
        states = sum((element_count(t.shape) for t in self._states(inputs)), start=0)
        count = element_count(x.shape[:-1]) * (weights - states)
        return count if isinstance(count, int) else 0

    def _states(self, inputs: Sequence[TensorType | None]) -> list[TensorType]:
        """The inputs of rank 2 that are states, not weights."""
        del inputs
        return []

    def _check_weights(self, inputs: Sequence[TensorType | None], places: dict[int, Shape]) -> None:
        for index, wanted in places.items():
            found = given(inputs, index)
            if found is not None and not _fits(found.shape, wanted):
                raise ShapeMismatch(
                    f"input {index} is {found}, expected [{', '.join(str(d) for d in wanted)}]",
                    do="make the weights of all gates equal in shape, [units, width]",
                )

    def _steps(self, x: Array) -> Array:
        """The sequence with time first, in the order of the direction and the type to compute in."""
        wide = x.astype(_working(x.dtype), copy=False)
        timed = wide if self.time_major else np.swapaxes(wide, 0, 1)
        return timed[::-1] if self.direction == Direction.REVERSE else timed

    def _joined(self, states: list[Array], like: Array) -> Array:
        ordered = states[::-1] if self.direction == Direction.REVERSE else states
        stacked = np.stack(ordered) if ordered else like
        return stacked if self.time_major else np.swapaxes(stacked, 0, 1)


@register
@dataclass(frozen=True, kw_only=True)
class Lstm(Recurrent):
    """Long short-term memory: states h and c, gates forget, cell, output and input.

    Inputs: x, Wxf, Wxc, Wxo, Whf, Whc, Who, bf, bc, bo, h, c, four layer norms (i, f, c, o), Wxi, Whi,
    peepholes (i, f, o), bi, projection weights and bias, reset. Without Wxi the input gate is 1 - forget.
    Outputs: h of every step, the last c, the last h.
    """

    inputs = _ports(10, MOST_LSTM_INPUTS)
    outputs = (Port("out[0]"), Port("out[1]"), Port("out[2]"))

    cell_clip_threshold: float = scalar(DType.FLOAT_32, 0.0)
    output_clip_threshold: float = scalar(DType.FLOAT_32, 0.0)
    input_gate_qscale: float | None = scalar(DType.FLOAT_32, None)
    forget_gate_qscale: float | None = scalar(DType.FLOAT_32, None)
    cell_gate_qscale: float | None = scalar(DType.FLOAT_32, None)
    output_gate_qscale: float | None = scalar(DType.FLOAT_32, None)
    hidden_state_offset: float | None = scalar(DType.FLOAT_32, None)
    hidden_state_qscale: float | None = scalar(DType.FLOAT_32, None)
    # Whether x and h have 8 bits of their own range in the products, as in a source that multiplies integers.
    # QNN cannot say so: an artifact has the more exact products.
    is_rounding: bool = structural(False)

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """The state of each step, and the last states."""
        x, forget, recurrent, projection = inputs[0], inputs[1], inputs[4], given(inputs, 22)
        if x.rank not in {2, 3} or forget.rank != 2 or recurrent.rank != 2:
            raise ShapeMismatch(
                f"x is {x} and the forget gate's weights are {forget} and {recurrent},"
                " expected 2 or 3 axes and matrices"
            )
        units, width, output = forget.shape[0], x.shape[-1], recurrent.shape[1]
        batch = x.shape[0] if x.rank == 2 or not self.time_major else x.shape[1]
        vectors = dict.fromkeys((7, 8, 9, 12, 13, 14, 15, 18, 19, 20, 21), (units,))
        matrices = {
            **dict.fromkeys((1, 2, 3, 16), (units, width)),
            **dict.fromkeys((4, 5, 6, 17), (units, output)),
        }
        states = {10: (batch, output), 11: (batch, units), 22: (output, units), 23: (output,)}
        self._check_weights(inputs, {**vectors, **matrices, **states})
        if projection is None and not _fits((units,), (output,)):
            raise ShapeMismatch(f"{units} units give {output} outputs without projection weights")
        return (
            x.with_shape((*x.shape[:-1], output)),
            TensorType((batch, units), x.dtype),
            TensorType((batch, output), x.dtype),
        )

    def compute(self, *inputs: Array) -> tuple[Array, ...]:
        """Step by step."""
        x = inputs[0] if inputs[0].ndim == 3 else np.expand_dims(inputs[0], 0 if self.time_major else 1)
        cell = _LstmCell(self, inputs)
        steps = self._steps(_rounded(x) if self.is_rounding else x)
        h = _state(given(inputs, 10), steps, inputs[4].shape[1])
        c = _state(given(inputs, 11), steps, inputs[1].shape[0])
        states = []
        for step in steps:
            h, c = cell.step(step, _rounded(h) if self.is_rounding else h, c)
            states.append(h)
        sequence = self._joined(states, np.zeros((0, *h.shape), h.dtype))
        found = sequence if inputs[0].ndim == 3 else h
        return tuple(array.astype(x.dtype) for array in (found, c, h))

    def _states(self, inputs: Sequence[TensorType | None]) -> list[TensorType]:
        return [t for t in (given(inputs, 10), given(inputs, 11)) if t is not None]

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """Both directions and layouts, coupled gates, peepholes, projection, norms, clipping."""
        x, batch_major = TensorType((5, 2, 3)), TensorType((2, 5, 3))
        states = (TensorType((2, 4)), TensorType((2, 4)))
        gate = _input_gate()
        yield Sample(
            "plain", cls(), (x, *_gates(), None, None, *[None] * 4, *gate[:2], None, None, None, gate[2])
        )
        yield Sample("coupled", cls(direction=Direction.REVERSE), (x, *_gates(), *states))
        peepholes = (TensorType((4,)),) * 3
        whole = (*_gates(), *states, *[None] * 4, *gate[:2], *peepholes, gate[2])
        yield Sample("peepholes", cls(time_major=False), (batch_major, *whole))
        yield Sample("reverse", cls(direction=Direction.REVERSE), (x, *whole))
        yield Sample("one_step", cls(), (TensorType((2, 3)), *whole))
        norms = (*_gates(), *states, *[TensorType((4,))] * 4, *gate[:2], *[None] * 3, gate[2])
        yield Sample("norms", cls(cell_clip_threshold=0.5), (x, *norms))
        hints = cls(
            output_clip_threshold=0.1,
            input_gate_qscale=0.1,
            forget_gate_qscale=0.1,
            cell_gate_qscale=0.1,
            output_gate_qscale=0.1,
            hidden_state_offset=0.0,
            hidden_state_qscale=0.1,
        )
        projected = (*_gates(2), TensorType((2, 2)), TensorType((2, 4)), *[None] * 4, *_input_gate(2)[:2])
        yield Sample(
            "projection",
            hints,
            (x, *projected, None, None, None, gate[2], TensorType((2, 4)), TensorType((2,)), np.array(True)),
        )


class _LstmCell:
    """One step of an Lstm; half precision is computed in single, as engines do."""

    def __init__(self, op: Lstm, inputs: Sequence[Array]) -> None:
        self._op = op
        self._inputs = [None if i is None else i.astype(_working(i.dtype), copy=False) for i in inputs] + [
            None
        ] * (MOST_LSTM_INPUTS - len(inputs))

    def step(self, x: Array, h: Array, c: Array) -> tuple[Array, Array]:
        forget = _sigmoid(self._gate(x, h, (1, 4, 7, 13), (19, c)))
        is_coupled = self._inputs[16] is None
        entry = 1 - forget if is_coupled else _sigmoid(self._gate(x, h, (16, 17, 21, 12), (18, c)))
        fresh = np.tanh(self._gate(x, h, (2, 5, 8, 14), None))
        cell = _clipped(forget * c + entry * fresh, self._op.cell_clip_threshold)
        output = _sigmoid(self._gate(x, h, (3, 6, 9, 15), (20, cell)))
        return self._projected(output * np.tanh(cell)), cell

    def _gate(
        self, x: Array, h: Array, places: tuple[int, int, int, int], peephole: tuple[int, Array] | None
    ) -> Array:
        weights, recurrent, bias, norm = (self._inputs[place] for place in places)
        assert weights is not None
        assert recurrent is not None
        total: Array = x @ weights.T + h @ recurrent.T
        if peephole is not None and self._inputs[peephole[0]] is not None:
            total = total + self._inputs[peephole[0]] * peephole[1]
        if norm is not None:
            centred = total - total.mean(-1, keepdims=True)
            total = norm * centred / np.sqrt(np.square(centred).mean(-1, keepdims=True) + LAYER_NORM_EPSILON)
        return total if bias is None else total + bias

    def _projected(self, h: Array) -> Array:
        weights, bias = self._inputs[22], self._inputs[23]
        if weights is None:
            return h
        result = h @ weights.T if bias is None else h @ weights.T + bias
        return _clipped(result, self._op.output_clip_threshold)


@register
@dataclass(frozen=True, kw_only=True)
class Gru(Recurrent):
    """Gated recurrent unit: state h, gates update, reset and new.

    Inputs: x, three input weights, three recurrent weights, three input biases, three recurrent biases, the
    first h [1, batch, units], reset. Outputs: h of every step, the last h [1, batch, units].
    """

    inputs = _ports(7, 15)
    outputs = (Port("out[0]"), Port("out[1]"))

    linear_before_reset: int = scalar(DType.UINT_32, 0)

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """The state of each step, and the last one."""
        x, update = inputs[0], inputs[1]
        if x.rank != 3 or update.rank != 2:
            raise ShapeMismatch(f"x is {x} and the update gate's weights are {update}, expected 3 and 2 axes")
        units, width, batch = update.shape[0], x.shape[2], x.shape[1 if self.time_major else 0]
        places = {
            **dict.fromkeys((1, 2, 3), (units, width)),
            **dict.fromkeys((4, 5, 6), (units, units)),
            **dict.fromkeys(range(7, 13), (units,)),
            13: (1, batch, units),
        }
        self._check_weights(inputs, places)
        return x.with_shape((*x.shape[:2], units)), TensorType((1, batch, units), x.dtype)

    def compute(self, *inputs: Array) -> tuple[Array, ...]:
        """Step by step."""
        steps, first = self._steps(inputs[0]), given(inputs, 13)
        h = _state(None if first is None else first[0], steps, inputs[1].shape[0])
        working = [None if i is None else i.astype(_working(i.dtype), copy=False) for i in inputs]
        states = []
        for step in steps:
            h = self._step(working, step, h)
            states.append(h)
        sequence = self._joined(states, np.zeros((0, *h.shape), h.dtype))
        return sequence.astype(inputs[0].dtype), h[None].astype(inputs[0].dtype)

    def _step(self, inputs: Sequence[Array | None], x: Array, h: Array) -> Array:
        update, reset, fresh = (_affine(x, inputs, gate, 7) for gate in (1, 2, 3))
        update = _sigmoid(update + _affine(h, inputs, 4, 10))
        reset = _sigmoid(reset + _affine(h, inputs, 5, 10))
        inner = (
            reset * _affine(h, inputs, 6, 10)
            if self.linear_before_reset
            else _affine(reset * h, inputs, 6, 10)
        )
        result: Array = (1 - update) * np.tanh(fresh + inner) + update * h
        return result

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """Both directions, layouts and places of the reset."""
        x = TensorType((5, 2, 3))
        weights = (*[TensorType((4, 3))] * 3, *[TensorType((4, 4))] * 3)
        biases, first = (TensorType((4,)),) * 6, TensorType((1, 2, 4))
        yield Sample("plain", cls(), (x, *weights))
        yield Sample("biases", cls(direction=Direction.REVERSE), (x, *weights, *biases, first))
        linear = cls(linear_before_reset=1, time_major=False)
        yield Sample("linear", linear, (TensorType((2, 5, 3)), *weights, *biases, first, np.array(True)))
        yield Sample("half_biases", cls(), (x, *weights, *biases[:3], None, None, None, first))


def has_idle_gates(graph: Graph, node: Node) -> bool:
    """Whether a Gru is a plain recurrent network: no gate reads anything, biases keep them at 0 and 1."""
    known = [_find_constant(graph, node, place) for place in (1, 2, 4, 5)]
    is_biased = any(node.inputs[10:12])
    if is_biased or any(array is None or array.any() for array in known):
        return False
    update, reset = (_find_constant(graph, node, place) for place in (7, 8))
    is_shut = update is not None and bool((update <= -SATURATED).all())
    return is_shut and reset is not None and bool((reset >= SATURATED).all())


def _find_constant(graph: Graph, node: Node, place: int) -> Array | None:
    name = given(node.inputs, place)
    array = graph.constants.get(name) if name else None
    encoding = graph.types[name].encoding if name else None
    return array if array is None or encoding is None else encoding.decode(array)


def _affine(x: Array, inputs: Sequence[Array | None], place: int, biases: int) -> Array:
    """One product of a Gru: weights at ``place``, their bias counted from ``biases``."""
    weights, bias = inputs[place], given(inputs, biases + (place - 1) % 3)
    assert weights is not None
    product: Array = x @ weights.T
    return product if bias is None else product + bias


def _fits(found: Shape, wanted: Shape) -> bool:
    return len(found) == len(wanted) and all(_same(a, b) for a, b in zip(found, wanted, strict=True))


def _same(left: Dim, right: Dim) -> bool:
    return left == right or not (isinstance(left, int) and isinstance(right, int))


def _working(dtype: np.dtype[np.generic]) -> np.dtype[np.generic]:
    """The type to compute in: single precision at least."""
    return np.promote_types(dtype, np.float32) if dtype.kind == "f" else np.dtype(np.float32)


def _state(first: Array | None, steps: Array, units: int) -> Array:
    if first is None:
        return np.zeros((steps.shape[1], units), steps.dtype)
    return first.astype(steps.dtype, copy=False)


def _sigmoid(x: Array) -> Array:
    result: Array = 0.5 * (1 + np.tanh(0.5 * x))
    return result


def _rounded(x: Array) -> Array:
    """The nearest numbers that 8 bits between the extremes can hold, as DynamicQuantizeLinear has them."""
    low, high = min(x.min(initial=0), 0), max(x.max(initial=0), 0)
    scale = np.float32((high - low) / 255)
    if not scale:
        return x
    zero = np.rint(-low / scale)
    result: Array = (np.clip(np.rint(x / scale) + zero, 0, 255) - zero) * scale
    return result


def _clipped(x: Array, threshold: float) -> Array:
    return np.clip(x, -threshold, threshold) if threshold > 0 else x


def _gates(output: int = 4) -> tuple[TensorType, ...]:
    """Types of in[1] to in[9] for 4 units and inputs of width 3."""
    return (*[TensorType((4, 3))] * 3, *[TensorType((4, output))] * 3, *[TensorType((4,))] * 3)


def _input_gate(output: int = 4) -> tuple[TensorType, TensorType, TensorType]:
    return TensorType((4, 3)), TensorType((4, output)), TensorType((4,))
