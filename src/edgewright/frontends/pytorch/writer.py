"""Collects the ONNX nodes and constants that a program becomes."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from onnx import helper

from edgewright.core.numbers import Array

__all__ = ["OPSET", "Writer", "Written"]

OPSET = 23
# Larger constants stay arrays beside the model: protobuf would copy them, and holds 2 GB at most.
SMALL = 1024


@dataclass
class Written:
    """A node under construction."""

    op: str
    inputs: list[str]
    outputs: list[str]
    attributes: dict[str, Any] = field(default_factory=dict)
    label: str = ""


class Writer:
    """Nodes in an order that can run, small constants, weights as arrays."""

    def __init__(self) -> None:
        self.nodes: list[Written] = []
        self.weights: dict[str, Array] = {}
        self.label = "value"
        self._small: dict[str, Array] = {}
        self._known: dict[tuple[bytes, str, tuple[int, ...]], str] = {}
        self._used: set[str] = set()
        self._last: dict[str, int] = {}

    def free(self, hint: str) -> str:
        """A name that nothing has yet, and that is now taken."""
        name = hint or "value"
        while name in self._used:
            self._last[hint] = self._last.get(hint, 0) + 1
            name = f"{hint or 'value'}_{self._last[hint]}"
        self._used.add(name)
        return name

    def add(self, op: str, inputs: Sequence[str], outputs: int = 1, **attributes: Any) -> list[str]:
        """Adds a node and returns the names of its outputs."""
        names = [self.free(f"{self.label}/{op}") for _ in range(outputs)]
        self.nodes.append(Written(op, list(inputs), names, attributes, self.label))
        return list(names)

    def constant(self, array: Array, hint: str = "") -> str:
        """The name of a constant; equal small ones are kept once."""
        is_small = array.size <= SMALL
        key = (array.tobytes(), array.dtype.str, array.shape) if is_small and not hint else None
        if key is not None and key in self._known:
            return self._known[key]
        name = self.free(hint or f"{self.label}/constant")
        (self._small if is_small else self.weights)[name] = array
        if key is not None:
            self._known[key] = name
        return name

    def rename(self, old: str, new: str, since: int) -> str:
        """Gives a value made since then another name where it can have it; returns the name it has."""
        maker = next((n for n in reversed(self.nodes[since:]) if old in n.outputs), None)
        if maker is None:
            return old
        name = self.free(new)
        maker.outputs = [name if item == old else item for item in maker.outputs]
        for node in self.nodes[since:]:
            node.inputs = [name if item == old else item for item in node.inputs]
        self._used.discard(old)
        return name

    def model(
        self, inputs: Sequence[tuple[str, int, Sequence[int]]], outputs: Sequence[str]
    ) -> onnx.ModelProto:
        """The model; weights are declared as inputs, whose values are given beside it."""
        weights = [(name, _code(array), array.shape) for name, array in self.weights.items()]
        declared = [
            helper.make_tensor_value_info(n, code, list(dims)) for n, code, dims in (*inputs, *weights)
        ]
        nodes = [
            helper.make_node(n.op, n.inputs, n.outputs, name=n.outputs[0], **n.attributes) for n in self.nodes
        ]
        graph = helper.make_graph(
            nodes,
            "torch",
            declared,
            [onnx.ValueInfoProto(name=name) for name in outputs],
            [_stored(name, array) for name, array in self._small.items()],
        )
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)])


def _code(array: Array) -> int:
    return int(helper.np_dtype_to_tensor_dtype(array.dtype))


def _stored(name: str, array: Array) -> onnx.TensorProto:
    return onnx.TensorProto(
        name=name, data_type=_code(array), dims=array.shape, raw_data=np.ascontiguousarray(array).tobytes()
    )
