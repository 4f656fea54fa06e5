"""Edits of a graph before it is written for the engine: ops of ONNX in the place of others."""

from collections.abc import Hashable, Iterable

from edgewright.backends.cpu.writer import ENGINE_OPSET
from edgewright.core.numbers import Array
from edgewright.ir.graph import Graph, Node
from edgewright.ir.op import Op
from edgewright.ir.types import TensorType
from edgewright.ops.source import SourceOp


def move_value(graph: Graph, value: str, moves: Iterable[Op]) -> str:
    """The value behind ops of one input each."""
    for op in moves:
        node = Node(graph.fresh_name(value), op, [value], [graph.fresh_name(value)])
        value = graph.add(node).outputs[0]
    return value


def add_source_op(
    graph: Graph,
    kind: str,
    inputs: list[str],
    types: list[TensorType],
    attributes: tuple[tuple[str, Hashable], ...] = (),
) -> list[str]:
    """The results of an op of ONNX."""
    op = SourceOp(
        package="ai.onnx", type=kind, version=ENGINE_OPSET, attributes=attributes, results=tuple(types)
    )
    outputs = [graph.fresh_name(kind) for _ in types]
    return graph.add(Node(graph.fresh_name(kind), op, inputs, outputs), types).outputs


def add_array(graph: Graph, array: Array) -> str:
    """A new constant."""
    return graph.add_constant(graph.fresh_name("array"), array)


def replace_value(graph: Graph, old: str, new: str) -> None:
    """Lets the readers of a value read another; a graph output keeps its name and its maker."""
    for node in graph.consumers(old):
        for place, value in enumerate(node.inputs):
            if value == old:
                graph.set_input(node, place, new)
