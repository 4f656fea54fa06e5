"""Removes ops that give back their input: reshapes to the same shape, casts to the same type, sums with 0."""

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from edgewright.ir.graph import Graph, Node
from edgewright.ir.op import Op
from edgewright.ir.types import TensorType
from edgewright.ops.cast import Cast
from edgewright.ops.elementwise import (
    ElementWiseAdd,
    ElementWiseDivide,
    ElementWiseMaximum,
    ElementWiseMinimum,
    ElementWiseMultiply,
    ElementWiseSubtract,
)
from edgewright.ops.rearrange import Concat, Reshape, Transpose
from edgewright.ops.rearrange_fill import Pad, Tile
from edgewright.ops.rearrange_slice import StridedSlice
from edgewright.passes.graph_pass import Refused, register_pass, rewrite_each

# Elements of a constant that are looked at: a factor of ones is small, weights are not.
LARGEST_NEUTRAL = 1 << 12
# The number that changes nothing, and the operands that may hold it.
NEUTRAL: dict[type[Op], tuple[float, tuple[int, ...]]] = {
    ElementWiseAdd: (0.0, (1, 0)),
    ElementWiseSubtract: (0.0, (1,)),
    ElementWiseMultiply: (1.0, (1, 0)),
    ElementWiseDivide: (1.0, (1,)),
    ElementWiseMaximum: (-math.inf, (1, 0)),
    ElementWiseMinimum: (math.inf, (1, 0)),
}


@register_pass()
def drop_identity(graph: Graph) -> int:
    """One value instead of two that are the same."""
    return rewrite_each(graph, _drop)


def _drop(graph: Graph, node: Node) -> bool:
    source = _find_returned_input(graph, node)
    if source is None or graph.types[source] != _forget_layout(graph, node, source):
        return False
    output = node.outputs[0]
    if output in graph.outputs:
        _keep_output_name(graph, node, source, output)
        return True
    graph.remove(node)
    graph.replace_uses(output, source)
    return True


def _find_returned_input(graph: Graph, node: Node) -> str | None:
    """The input that the node gives back as it is; None where it does something."""
    if type(node.op) in NEUTRAL:
        return _without_neutral(graph, node)
    is_idle = IDLE.get(type(node.op))
    return node.inputs[0] if is_idle is not None and is_idle(graph, node) else None


def _forget_layout(graph: Graph, node: Node, source: str) -> TensorType:
    """The output's type with the source's layout name: a reshape or transpose forgets it."""
    output = graph.types[node.outputs[0]]
    return replace(output, layout=graph.types[source].layout)


def _without_neutral(graph: Graph, node: Node) -> str | None:
    number, places = NEUTRAL[type(node.op)]
    for place in places:
        array = graph.constants.get(node.inputs[place])
        other = node.inputs[1 - place]
        if array is None or not 0 < array.size <= LARGEST_NEUTRAL or array.dtype.kind not in "fiu":
            continue
        if np.all(array == number) and other not in graph.constants:
            return other
    return None


def _is_whole_slice(graph: Graph, node: Node) -> bool:
    """Everything in order: no axis is cut, reversed, dropped or added."""
    op, shape = node.op, graph.types[node.inputs[0]].shape
    assert isinstance(op, StridedSlice)
    if graph.types[node.outputs[0]].shape != shape or op.shrink_axes or op.new_axes_mask:
        return False
    return all(step == 1 for _, _, step in op.ranges)


IDLE: dict[type[Op], Callable[[Graph, Node], bool]] = {
    Reshape: lambda graph, node: graph.types[node.inputs[0]].shape == graph.types[node.outputs[0]].shape,
    Transpose: lambda graph, node: list(node.op.perm) == sorted(node.op.perm),  # type: ignore[attr-defined]
    Concat: lambda graph, node: len(node.inputs) == 1,
    Cast: lambda graph, node: graph.types[node.inputs[0]].dtype == graph.types[node.outputs[0]].dtype,
    Pad: lambda graph, node: all(pair == (0, 0) for pair in node.op.pad_amount),  # type: ignore[attr-defined]
    Tile: lambda graph, node: math.prod(node.op.multiples) == 1,  # type: ignore[attr-defined]
    StridedSlice: _is_whole_slice,
}


def _keep_output_name(graph: Graph, node: Node, source: str, output: str) -> None:
    """The output keeps its name: the value before it takes that name."""
    if graph.producer(source) is None or source in graph.outputs:
        raise Refused("its output is a graph output and must be a tensor of its own")
    graph.remove(node)
    graph.outputs = [source if value == output else value for value in graph.outputs]
    graph.rename_value(source, output)
