"""Recurrent layers written out step by step: for activations and clipping that QNN's own ops do not have."""

from collections.abc import Callable, Sequence

import numpy as np
import onnx

from edgewright.frontends.onnx.cutting import cut_parts
from edgewright.frontends.onnx.recurrent_layer import Activation, Layer
from edgewright.ir.op import Op
from edgewright.ops.activation import Relu, ReluMinMax, Sigmoid, Tanh
from edgewright.ops.elementwise import ElementWiseAdd, ElementWiseMultiply, ElementWiseSubtract
from edgewright.ops.matmul import FullyConnected, MatMul
from edgewright.ops.rearrange import Concat

# A longer layer is left as it is: thousands of nodes help nobody.
MOST_STEPS = 512
PLAIN: dict[str, Op] = {"relu": Relu(), "sigmoid": Sigmoid(), "tanh": Tanh()}
ONNX_NAMES = {
    "leakyrelu": "LeakyRelu",
    "thresholdedrelu": "ThresholdedRelu",
    "hardsigmoid": "HardSigmoid",
    "elu": "Elu",
    "softsign": "Softsign",
    "softplus": "Softplus",
}
# Gets the input's part of the gates' sums and the states; returns the new states.
Step = Callable[[str, list[str]], list[str]]


def can_unroll(layer: Layer) -> bool:
    """Whether the number of steps is known and small, and lengths do not freeze a hidden state."""
    count = layer.ctx.shape(layer.x)[layer.time_axis]
    return isinstance(count, int) and 0 < count <= MOST_STEPS and not (layer.lengths and layer.gates == 4)


def emit_lstm_steps(
    layer: Layer, index: int, x: str, is_reverse: bool, peepholes: list[str], first: tuple[str, str]
) -> tuple[str, str, str]:
    """All h, the last h and the last c."""
    maths, (f, g, h_act) = _Maths(layer), layer.activations[index]
    recurrent, is_coupled = maths.stacked(layer.recurrent[index]), bool(layer.node.attr("input_forget", 0))

    def step(sums: str, states: list[str]) -> list[str]:
        h, c = states
        total = maths.add(sums, maths.connected(h, recurrent))
        entry, output, forget, fresh = cut_parts(layer.ctx, total, 1, 4)
        entry = maths.activated(f, maths.looking(entry, peepholes[0], c))
        forget = (
            maths.rest(entry) if is_coupled else maths.activated(f, maths.looking(forget, peepholes[2], c))
        )
        cell = maths.add(maths.times(forget, c), maths.times(entry, maths.activated(g, fresh)))
        output = maths.activated(f, maths.looking(output, peepholes[1], cell))
        return [maths.times(output, maths.shaped(h_act, cell)), cell]

    biases = maths.biases(index, range(4), range(4))
    sequence, (last, cell) = maths.run((x, is_reverse), index, biases, step, list(first))
    return sequence, last, cell


def emit_gru_steps(layer: Layer, index: int, x: str, is_reverse: bool, first: str) -> tuple[str, str, str]:
    """All h and the last one."""
    maths, (f, g) = _Maths(layer), layer.activations[index]
    is_linear = bool(layer.node.attr("linear_before_reset", 0))
    gates, last_gate = layer.recurrent[index], layer.recurrent[index][2]
    both, inner_bias = maths.stacked(gates[:2]), layer.biases[index][5] if is_linear else ""

    def step(sums: str, states: list[str]) -> list[str]:
        (h,) = states
        update, reset, fresh = cut_parts(layer.ctx, sums, 1, 3)
        update_h, reset_h = cut_parts(layer.ctx, maths.connected(h, both), 1, 2)
        update = maths.activated(f, maths.add(update, update_h))
        reset = maths.activated(f, maths.add(reset, reset_h))
        if is_linear:
            inner = maths.times(reset, maths.add(maths.connected(h, last_gate), inner_bias))
        else:
            inner = maths.connected(maths.times(reset, h), last_gate)
        fresh = maths.activated(g, maths.add(fresh, inner))
        return [maths.add(maths.times(maths.rest(update), fresh), maths.times(update, h))]

    biases = maths.biases(index, range(3), range(2 if is_linear else 3))
    sequence, (last,) = maths.run((x, is_reverse), index, biases, step, [first])
    return sequence, last, ""


def emit_rnn_steps(layer: Layer, index: int, x: str, is_reverse: bool, first: str) -> tuple[str, str, str]:
    """All h and the last one."""
    maths, (f,) = _Maths(layer), layer.activations[index]
    recurrent = layer.recurrent[index][0]

    def step(sums: str, states: list[str]) -> list[str]:
        return [maths.activated(f, maths.add(sums, maths.connected(states[0], recurrent)))]

    biases = maths.biases(index, range(1), range(1))
    sequence, (last,) = maths.run((x, is_reverse), index, biases, step, [first])
    return sequence, last, ""


class _Maths:
    """Arithmetic on values of a layer; "" stands for nothing to add."""

    def __init__(self, layer: Layer) -> None:
        self._layer, self._ctx = layer, layer.ctx

    def run(
        self, sequence: tuple[str, bool], index: int, biases: list[str], step: Step, first: Sequence[str]
    ) -> tuple[str, list[str]]:
        """All steps one after the other: the sequence of the first state, and the last states."""
        x, is_reverse = sequence
        ctx, layer = self._ctx, self._layer
        timed = ctx.transpose(x, (1, 0, 2)) if layer.time_axis else x
        sums = self.connected(
            timed, self.stacked(layer.weights[index]), self.stacked(biases) if biases else ""
        )
        count, batch, width = ctx.shape(sums)
        slices = [ctx.reshape(part, (batch, width)) for part in cut_parts(ctx, sums, 0, int(count))]
        states, found = [value or self._nothing() for value in first], []
        for part in reversed(slices) if is_reverse else slices:
            states = step(part, states)
            found.append(ctx.reshape(states[0], (1, *ctx.shape(states[0]))))
        ordered = found[::-1] if is_reverse else found
        joined = ctx.emit(Concat(axis=0), *ordered) if len(ordered) > 1 else ordered[0]
        return ctx.transpose(joined, (1, 0, 2)) if layer.time_axis else joined, states

    def biases(self, index: int, own: range, recurrent: range) -> list[str]:
        """For each gate the sum of the biases that stand outside of all products."""
        found = self._layer.biases[index]
        if not found[0]:
            return []
        gates = self._layer.gates
        return [self.add(found[gate], found[gates + gate] if gate in recurrent else "") for gate in own]

    def stacked(self, values: Sequence[str]) -> str:
        """The parts of all gates as one; views of one array come back as that array's rows."""
        if len(values) == 1:
            return values[0]
        arrays = [self._ctx.graph.constants.get(value) for value in values]
        if all(array is not None for array in arrays):
            return self._ctx.add_constant(np.concatenate([array for array in arrays if array is not None]))
        return self._ctx.emit(Concat(axis=0), *values)

    def connected(self, x: str, weights: str, bias: str = "") -> str:
        """X times transposed weights, plus a bias."""
        is_layer = weights in self._ctx.graph.constants and (not bias or bias in self._ctx.graph.constants)
        op: Op = FullyConnected(keep_dims=self._ctx.rank(x) > 2) if is_layer else MatMul(transpose_in1=True)
        return self._ctx.emit(op, x, weights, *([bias] if bias else []))

    def add(self, left: str, right: str) -> str:
        return self._ctx.emit(ElementWiseAdd(), left, right) if right else left

    def times(self, left: str, right: str) -> str:
        return self._ctx.emit(ElementWiseMultiply(), left, right)

    def rest(self, value: str) -> str:
        """What is missing to 1."""
        return self._ctx.emit(ElementWiseSubtract(), self._ctx.add_scalar(1, value), value)

    def looking(self, gate: str, peephole: str, cell: str) -> str:
        return self.add(gate, self.times(peephole, cell)) if peephole else gate

    def activated(self, activation: Activation, value: str) -> str:
        """The activation of a clipped sum."""
        clip = self._layer.clip
        if clip:
            value = self._ctx.emit(ReluMinMax(min_value=-clip, max_value=clip), value)
        return self.shaped(activation, value)

    def shaped(self, activation: Activation, value: str) -> str:
        """The activation of a value as it is."""
        name, alpha, beta = activation.name, activation.alpha, activation.beta
        if name in PLAIN:
            return self._ctx.emit(PLAIN[name], value)
        if name == "affine":
            return self.add(self._scale_value(value, alpha), self._ctx.add_scalar(beta or 0.0, value))
        if name == "scaledtanh":
            return self._scale_value(self._ctx.emit(Tanh(), self._scale_value(value, beta)), alpha)
        node = onnx.helper.make_node(ONNX_NAMES[name], ["x"], ["y"], alpha=alpha, beta=beta)
        return self._ctx.translate(node, [value])[0]

    def _scale_value(self, value: str, factor: float | None) -> str:
        return self.times(value, self._ctx.add_scalar(1.0 if factor is None else factor, value))

    def _nothing(self) -> str:
        return self._ctx.add_constant(np.zeros((1, self._layer.units), self._ctx.dtype(self._layer.x).numpy))
