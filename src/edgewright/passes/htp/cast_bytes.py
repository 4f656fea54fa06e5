"""Casts bytes to floats by way of wider integers: HTP's library makes 1 of each that is not 0."""

from edgewright.core.numbers import DType
from edgewright.ir.graph import Graph, Node
from edgewright.ops.cast import Cast
from edgewright.ops.rearrange import Transpose
from edgewright.passes.graph_pass import register_pass, rewrite_each


@register_pass()
def cast_bytes(graph: Graph) -> int:
    """Pictures are often given as bytes, in another layout: bytes are cast first, as HTP transposes none."""
    return rewrite_each(graph, _cast_before_transpose) + rewrite_each(graph, _cast_in_two_steps)


def _cast_before_transpose(graph: Graph, node: Node) -> bool:
    x, y = node.inputs[0], node.outputs[0]
    readers = graph.consumers(y)
    if not isinstance(node.op, Transpose) or graph.types[x].dtype != DType.UINT_8 or y in graph.outputs:
        return False
    if len(readers) != 1 or not isinstance(readers[0].op, Cast):
        return False
    (cast,) = readers
    result, before = graph.types[cast.outputs[0]], graph.types[x]
    if result.encoding is not None:
        return False
    graph.remove(cast)
    graph.remove(node)
    early = graph.fresh_name(y)
    kind = type(before)(before.shape, result.dtype, before.layout)
    graph.add(Node(cast.name, cast.op, [x], [early], cast.source), [kind])
    graph.add(Node(node.name, node.op, [early], cast.outputs, node.source), [result])
    return True


def _cast_in_two_steps(graph: Graph, node: Node) -> bool:
    x = node.inputs[0]
    is_byte = isinstance(node.op, Cast) and graph.types[x].dtype == DType.UINT_8
    if not is_byte or graph.types[node.outputs[0]].dtype != DType.FLOAT_32:
        return False
    kind = graph.types[x].with_dtype(DType.INT_32)
    wide = graph.fresh_name(f"{x}_wide")
    graph.add(Node(graph.fresh_name(f"{node.name}_wide"), Cast(dtype=DType.INT_32), [x], [wide]), [kind])
    graph.set_input(node, 0, wide)
    return True
