"""What rewrites ask of a graph: who made a value, which number a constant is, and taking a match out."""

import math
from collections.abc import Iterator
from typing import TypeVar

import numpy as np

from edgewright.core.numbers import Array
from edgewright.ir.dims import Dim
from edgewright.ir.graph import Graph, Node
from edgewright.ir.op import Op
from edgewright.ops.elementwise import ElementWiseMultiply, ElementWisePower

# Exporters write constants such as 1/6 in the precision of the model.
NEAR = 1e-4
O = TypeVar("O", bound=Op)  # noqa: E741 - a type variable


def number_of(graph: Graph, value: str) -> float | None:
    """The number that a constant of one element holds."""
    array = graph.constants.get(value)
    return float(array.reshape(-1)[0]) if array is not None and array.size == 1 else None


def is_number(graph: Graph, value: str, number: float, tolerance: float = NEAR) -> bool:
    """Whether a value is that number, as far as the model's precision can tell."""
    constant = number_of(graph, value)
    return constant is not None and math.isclose(constant, number, rel_tol=tolerance, abs_tol=0.0)


def find_maker(graph: Graph, value: str, *kinds: type[Op]) -> Node | None:
    """The node that makes a value, if its op is of one of the kinds."""
    node = graph.producer(value)
    return node if node is not None and isinstance(node.op, kinds) else None


def find_op(graph: Graph, value: str, kind: type[O]) -> O | None:
    """The op that makes a value, if it is of the kind."""
    node = graph.producer(value)
    return node.op if node is not None and isinstance(node.op, kind) else None


def swap_operands(node: Node | None) -> Iterator[tuple[str, str]]:
    """The operands of a commutative op, both ways round."""
    if node is not None:
        yield node.inputs[0], node.inputs[1]
        yield node.inputs[1], node.inputs[0]


def find_squared(graph: Graph, value: str) -> str:
    """The x of x * x, or of x to the power of 2; "" where a value is no square."""
    node = graph.producer(value)
    if node is None:
        return ""
    if isinstance(node.op, ElementWiseMultiply) and node.inputs[0] == node.inputs[1]:
        return node.inputs[0]
    is_power = isinstance(node.op, ElementWisePower) and number_of(graph, node.inputs[1]) == 2
    return node.inputs[0] if is_power else ""


def read_channel_vector(graph: Graph, value: str, rank: int, channels: Dim) -> Array | None:
    """A constant that has one number for each channel of the last axis (or one for all) as a vector."""
    array = graph.constants.get(value)
    if array is None or array.ndim > rank or not isinstance(channels, int):
        return None
    is_vector = array.size == channels and array.shape[-1:] == (channels,)
    return np.broadcast_to(array.reshape(-1), (channels,)) if is_vector or array.size == 1 else None


def take_over(graph: Graph, node: Node, op: Op, inputs: list[str]) -> None:
    """Lets a node do the work of its whole match: another op, the inputs of the match."""
    types, old = graph.output_types(node), list(node.inputs)
    graph.remove(node)
    graph.add(Node(node.name, op, inputs, node.outputs, node.source, (), node.notes), types)
    drop_unread(graph, *old)


def drop_reader(graph: Graph, node: Node, reader: Node) -> Node:
    """Takes a reader out that has nothing left to do; the node before it makes its output."""
    outputs, types = list(reader.outputs), graph.output_types(reader)
    graph.remove(reader)
    graph.remove(node)
    heir = Node(node.name, node.op, node.inputs, outputs, node.source, node.subgraphs, node.notes)
    graph.add(heir, types)
    for value in reader.inputs:
        drop_unread_constant(graph, value)
    return heir


def drop_unread_constant(graph: Graph, name: str) -> None:
    """Forgets a constant when nobody reads it."""
    if name in graph.constants and not graph.consumers(name) and name not in graph.outputs:
        graph.drop_constant(name)


def drop_unread(graph: Graph, *values: str) -> None:
    """Takes out the nodes behind values that nobody reads any more."""
    pending = list(values)
    while pending:
        node = graph.producer(pending.pop())
        if node is None or any(graph.consumers(v) or v in graph.outputs for v in node.outputs if v):
            continue
        graph.remove(node)
        pending.extend(node.inputs)
