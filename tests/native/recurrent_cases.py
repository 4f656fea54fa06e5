"""Small recurrent networks of every kind, made from a table."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from edgewright.core.numbers import Array

WIDTH, UNITS = 6, 8
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
# What stands before the optional inputs of a layer: x, W and R.
REQUIRED = 3


@dataclass(frozen=True)
class Recurrent:
    """One layer with a small head: what it has, and the attributes of its node."""

    id: str
    op: str
    has_bias: bool = True
    has_states: bool = False
    has_peepholes: bool = False
    lengths: tuple[int, ...] = ()
    batch: int = 1
    steps: int = 5
    layers: int = 1
    attributes: dict[str, Any] = field(default_factory=dict)

    @property
    def directions(self) -> int:
        """How many ways the sequence is read."""
        return 2 if self.attributes.get("direction") == "bidirectional" else 1

    def model(self) -> onnx.ModelProto:
        """The layers, one product of the last one's sequence, and the last states."""
        return _Network(self).make()

    def feed(self, seed: int = 1) -> dict[str, Array]:
        """Random inputs."""
        random = np.random.default_rng(seed)
        return {
            item.name: random.normal(size=[d.dim_value for d in item.type.tensor_type.shape.dim]).astype("f4")
            for item in self.model().graph.input
        }


class _Network:
    def __init__(self, case: Recurrent) -> None:
        self._case = case
        self._random = np.random.default_rng(0)
        self._nodes: list[onnx.NodeProto] = []
        self._weights: list[onnx.TensorProto] = []
        self._inputs: dict[str, list[int]] = {"x": self._shape(WIDTH)}
        self._outputs: dict[str, list[int]] = {}

    def make(self) -> onnx.ModelProto:
        value, width = "x", WIDTH
        for layer in range(self._case.layers):
            value, width = self._add_layer(value, width, layer), self._case.directions * UNITS
        self._add("MatMul", [value, self._weight("head", width, 3)], "y", self._shape(3))
        tensors = [
            [
                helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape)
                for name, shape in each.items()
            ]
            for each in (self._inputs, self._outputs)
        ]
        graph = helper.make_graph(self._nodes, "recurrent", *tensors, self._weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)

    def _shape(self, width: int) -> list[int]:
        batch, steps = self._case.batch, self._case.steps
        return [batch, steps, width] if self._case.attributes.get("layout") else [steps, batch, width]

    def _add_layer(self, x: str, width: int, layer: int) -> str:
        case, rows = self._case, GATES[self._case.op] * UNITS
        count = case.directions
        inputs = [
            x,
            self._weight(f"w{layer}", count, rows, width),
            self._weight(f"r{layer}", count, rows, UNITS),
        ]
        inputs.append(self._weight(f"b{layer}", count, 2 * rows) if case.has_bias else "")
        inputs.append(self._constant(f"l{layer}", np.array(case.lengths, np.int32)) if case.lengths else "")
        names = ["h", "c"][: 2 if case.op == "LSTM" else 1]
        is_batch_first = bool(case.attributes.get("layout"))
        shape = [case.batch, count, UNITS] if is_batch_first else [count, case.batch, UNITS]
        if case.has_states:
            self._inputs |= {f"{name}{layer}": shape for name in names}
        inputs += [f"{name}{layer}" if case.has_states else "" for name in names]
        if case.has_peepholes:
            inputs.append(self._weight(f"p{layer}", count, 3 * UNITS))
        while len(inputs) > REQUIRED and not inputs[-1]:
            inputs.pop()
        outputs = [f"y{layer}", *(f"last_{name}{layer}" for name in names)]
        attributes = {"hidden_size": UNITS, **case.attributes}
        self._nodes.append(helper.make_node(case.op, inputs, outputs, f"layer{layer}", **attributes))
        if case.has_states:
            self._outputs |= dict.fromkeys(outputs[1:], shape)
        order = [0, 1, 2, 3] if is_batch_first else [0, 2, 1, 3]
        self._nodes.append(helper.make_node("Transpose", outputs[:1], [f"t{layer}"], perm=order))
        sizes = self._constant(f"s{layer}", np.array(self._shape(count * UNITS), np.int64))
        self._nodes.append(helper.make_node("Reshape", [f"t{layer}", sizes], [f"z{layer}"]))
        return f"z{layer}"

    def _add(self, op: str, inputs: list[str], output: str, shape: list[int]) -> None:
        self._nodes.append(helper.make_node(op, inputs, [output]))
        self._outputs[output] = shape

    def _weight(self, name: str, *shape: int) -> str:
        return self._constant(name, (self._random.normal(size=shape) * shape[-1] ** -0.5).astype(np.float32))

    def _constant(self, name: str, array: Array) -> str:
        self._weights.append(numpy_helper.from_array(array, name))
        return name


def _both_ways(op: str) -> Iterator[Recurrent]:
    for direction in ("forward", "reverse", "bidirectional"):
        yield Recurrent(f"{op}-{direction}", op, attributes={"direction": direction})
    everything = {"direction": "bidirectional"}
    yield Recurrent(f"{op}-states-batch", op, has_states=True, batch=3, attributes=everything)
    yield Recurrent(f"{op}-lengths", op, lengths=(5, 2, 3), batch=3, attributes=everything)
    yield Recurrent(f"{op}-no-bias", op, has_bias=False)
    yield Recurrent(f"{op}-batch-first", op, batch=2, has_states=True, attributes={"layout": 1})
    yield Recurrent(f"{op}-two-layers", op, layers=2)


def cases() -> Iterator[Recurrent]:
    """All of them."""
    for op in GATES:
        yield from _both_ways(op)
    linear = {"linear_before_reset": 1}
    yield Recurrent("GRU-linear", "GRU", attributes=linear)
    yield Recurrent("GRU-linear-no-bias", "GRU", has_bias=False, attributes=linear)
    yield Recurrent("GRU-linear-states", "GRU", has_states=True, batch=2, attributes=linear)
    yield Recurrent("GRU-relu", "GRU", attributes={"activations": ["Sigmoid", "Relu"]})
    yield Recurrent("GRU-clip", "GRU", attributes={"clip": 0.5})
    yield Recurrent("LSTM-peepholes", "LSTM", has_peepholes=True)
    yield Recurrent("LSTM-peepholes-states", "LSTM", has_peepholes=True, has_states=True, batch=2)
    yield Recurrent("LSTM-coupled", "LSTM", attributes={"input_forget": 1})
    yield Recurrent("LSTM-clip", "LSTM", attributes={"clip": 0.5})
    yield Recurrent("LSTM-hard", "LSTM", attributes={"activations": ["HardSigmoid", "Tanh", "Tanh"]})
    for name in ("Relu", "LeakyRelu", "Sigmoid", "HardSigmoid", "Affine", "ScaledTanh", "Elu", "Softsign"):
        yield Recurrent(f"RNN-{name.lower()}", "RNN", attributes={"activations": [name]})
