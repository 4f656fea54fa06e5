"""Writes FullyConnected without keep_dims, which HTP does not know, and a reshape."""

from dataclasses import replace
from math import prod

from edgewright.ir.graph import Graph, Node
from edgewright.ir.types import TensorType
from edgewright.ops.matmul import FullyConnected
from edgewright.ops.rearrange import Reshape
from edgewright.passes.graph_pass import register_pass, rewrite_each


@register_pass()
def flatten_rows(graph: Graph) -> int:
    """[..., in] makes [rows, out], and that is reshaped."""
    return rewrite_each(graph, _flatten)


def _flatten(graph: Graph, node: Node) -> bool:
    if not isinstance(node.op, FullyConnected) or not node.op.keep_dims:
        return False
    x, result = graph.types[node.inputs[0]], graph.types[node.outputs[0]]
    if not (x.is_static and result.is_static):
        return False
    units, width = result.static_shape()[-1], x.static_shape()[-1]
    count = prod(result.static_shape()[:-1])
    rows = _flatten_input(graph, node, replace(x, shape=(count, width), layout=None))
    flat = graph.fresh_name(node.outputs[0])
    graph.remove(node)
    inputs = [rows, *node.inputs[1:]]
    rowwise = Node(node.name, FullyConnected(), inputs, [flat], node.source, (), node.notes)
    graph.add(rowwise, [replace(result, shape=(count, units), layout=None)])
    op = Reshape(shape=result.static_shape())
    graph.add(Node(graph.fresh_name(f"{node.name}_reshape"), op, [flat], [node.outputs[0]]), [result])
    return True


def _flatten_input(graph: Graph, node: Node, kind: TensorType) -> str:
    """Rows that stay several axes are mixed up where a transpose has made them (emulator, 2.51)."""
    rows = graph.fresh_name(node.inputs[0])
    name = graph.fresh_name(f"{node.name}_rows")
    graph.add(Node(name, Reshape(shape=kind.static_shape()), [node.inputs[0]], [rows], node.source), [kind])
    return rows
