"""Collects the ONNX nodes and constants that a program becomes."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

import numpy as np
import onnx
from onnx import helper

from edgewright.core.numbers import Array

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
    # Codes and shapes of the outputs, where nobody else can tell them.
    types: list[tuple[int, tuple[int, ...]]] = field(default_factory=list)


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

    def cut(self, outputs: Sequence[str], inputs: Sequence[str]) -> list[int] | None:
        """Keeps what the outputs need: the new place of each node, or None where something is missing."""
        known = {*inputs, *self.weights, *self._small, ""}
        makers = {name: index for index, node in enumerate(self.nodes) for name in node.outputs}
        kept: set[int] = set()
        left = [name for name in outputs if name not in known]
        while left:
            index = makers.get(left.pop())
            if index is None:
                return None
            if index not in kept:
                kept.add(index)
                left += [name for name in self.nodes[index].inputs if name not in known]
        return self._keep(kept)

    def keep_sound(self, inputs: Sequence[str]) -> list[int]:
        """Keeps the nodes whose inputs are all there: the new place of each node."""
        known = {*inputs, *self.weights, *self._small, ""}
        kept: set[int] = set()
        for index, node in enumerate(self.nodes):
            if known.issuperset(node.inputs):
                kept.add(index)
                known.update(node.outputs)
        return self._keep(kept)

    def sinks(self) -> list[str]:
        """Values that no node reads."""
        read = {name for node in self.nodes for name in node.inputs}
        return [name for node in self.nodes for name in node.outputs if name not in read]

    def _keep(self, kept: set[int]) -> list[int]:
        places = list(accumulate((index in kept for index in range(len(self.nodes))), initial=0))
        self.nodes = [self.nodes[index] for index in sorted(kept)]
        return places

    def model(
        self, inputs: Sequence[tuple[str, int, Sequence[int]]], outputs: Sequence[str]
    ) -> onnx.ModelProto:
        """The model; weights are declared as inputs, whose values are given beside it."""
        weights = [(name, _find_code(array), array.shape) for name, array in self.weights.items()]
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
            [_make_tensor(name, array) for name, array in self._small.items()],
            value_info=[
                helper.make_tensor_value_info(name, code, list(dims))
                for node in self.nodes
                for name, (code, dims) in zip(node.outputs, node.types, strict=False)
            ],
        )
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)])


def _find_code(array: Array) -> int:
    return int(helper.np_dtype_to_tensor_dtype(array.dtype))


def _make_tensor(name: str, array: Array) -> onnx.TensorProto:
    return onnx.TensorProto(
        name=name,
        data_type=_find_code(array),
        dims=array.shape,
        raw_data=np.ascontiguousarray(array).tobytes(),
    )
