"""Gives a 16-bit clamp an encoding that ends where it clamps, and converts that to the one it had.

HTP computes such a clamp and the sum or product before it as one op that saturates and clamps no further.
"""

from edgewright.core.numbers import DType
from edgewright.ir.encodings import Encoding
from edgewright.ir.graph import Graph, Node
from edgewright.ir.types import TensorType
from edgewright.ops.activation import ReluMinMax
from edgewright.ops.quant import Convert
from edgewright.passes.graph_pass import register_pass, rewrite_each

WIDE = frozenset({DType.UFIXED_POINT_16, DType.SFIXED_POINT_16})
MOST_STEPS = 0xFFFF


@register_pass()
def tighten_clamps(graph: Graph) -> int:
    """Only where the encoding goes beyond the limits."""
    return rewrite_each(graph, _tighten)


def _tighten(graph: Graph, node: Node) -> bool:
    if not isinstance(node.op, ReluMinMax):
        return False
    result = graph.types[node.outputs[0]]
    tight = _fit_encoding(node.op, result)
    if tight is None:
        return False
    name, clamped = node.outputs[0], graph.fresh_name(node.outputs[0])
    inner = TensorType(result.shape, DType.UFIXED_POINT_16, result.layout, tight)
    graph.remove(node)
    graph.add(Node(node.name, node.op, node.inputs, [clamped], node.source, (), node.notes), [inner])
    op = Convert(dtype=result.dtype, encoding=result.encoding, source=tight)
    graph.add(Node(graph.fresh_name(f"{node.name}_convert"), op, [clamped], [name]), [result])
    return True


def _fit_encoding(op: ReluMinMax, result: TensorType) -> Encoding | None:
    """The encoding between the limits; None where the result's own goes no further."""
    encoding = result.encoding
    if encoding is None or encoding.axis is not None or result.dtype not in WIDE:
        return None
    (scale,), (offset,) = encoding.scales, encoding.offsets
    first = 0 if result.dtype == DType.UFIXED_POINT_16 else -(MOST_STEPS + 1) // 2
    ends = [scale * (offset + first), scale * (offset + first + MOST_STEPS)]
    low, high = max(ends[0], op.min_value), min(ends[1], op.max_value)
    is_tight = low - ends[0] <= scale and ends[1] - high <= scale
    if is_tight or low >= high:
        return None
    step = (high - low) / MOST_STEPS
    return Encoding((step,), (round(low / step),), None, 16)
