"""Writes out clamps whose output could hold values beyond the bounds."""

from dataclasses import replace

import numpy as np

from edgewright.core.numbers import Array
from edgewright.ir.graph import Graph, Node
from edgewright.ir.op import Op
from edgewright.ir.traits import Range
from edgewright.ir.types import TensorType
from edgewright.ops.activation import ReluMinMax
from edgewright.ops.elementwise import ElementWiseMaximum, ElementWiseMinimum
from edgewright.ops.quant import Convert
from edgewright.passes.graph_pass import register_pass, rewrite_each


@register_pass()
def keep_clamps(graph: Graph) -> int:
    """HTP drops a clamp behind a convolution, a sum or a product: the output's encoding clips alone.

    So the encoding ends at the bounds, what has zero outside of its bounds is clamped once more, and a
    Convert leads to the encoding that the output shall have.
    """
    return rewrite_each(graph, _keep)


def _keep(graph: Graph, node: Node) -> bool:
    if not node.op.is_clamp or not np.isfinite(node.op.value_range()).all():
        return False
    name, bounds = node.outputs[0], node.op.value_range()
    result = graph.types[name]
    if result.encoding is None or not _is_beyond(result, bounds):
        return False
    graph.remove(node)
    last, around_zero = graph.fresh_name(name), (min(bounds[0], 0.0), max(bounds[1], 0.0))
    narrow = _narrow(result, around_zero)
    clamp = ReluMinMax(min_value=around_zero[0], max_value=around_zero[1])
    graph.add(replace(node, op=clamp, outputs=[last]), [narrow])
    if bounds != around_zero:
        last = _clamp_again(graph, node, last, bounds)
    op = Convert(dtype=result.dtype, encoding=result.encoding, source=narrow.encoding)
    graph.add(Node(graph.fresh_name(f"{node.name}_convert"), op, [last], [name]), [result])
    return True


def _is_beyond(stored: TensorType, bounds: Range) -> bool:
    """Whether a stored number stands for a value outside of the bounds by more than a step."""
    if stored.encoding is None or len(stored.encoding.scales) != 1:
        return False
    (scale,), (offset,) = stored.encoding.scales, stored.encoding.offsets
    low, high = ((limit + offset) * scale for limit in stored.encoding.limits(stored.dtype))
    return low < bounds[0] - scale or high > bounds[1] + scale


def _narrow(stored: TensorType, bounds: Range) -> TensorType:
    """All steps between bounds with zero among them, which every encoding holds."""
    assert stored.encoding is not None
    low, high = bounds
    first, last = stored.encoding.limits(stored.dtype)
    scale = (high - low) / (last - first) or stored.encoding.scales[0]
    encoding = replace(stored.encoding, scales=(scale,), offsets=(round(low / scale) - first,))
    return replace(stored, encoding=encoding)


def _clamp_again(graph: Graph, node: Node, value: str, bounds: Range) -> str:
    stored = graph.types[value]
    assert stored.encoding is not None
    op: Op = ElementWiseMaximum() if bounds[0] > 0 else ElementWiseMinimum()
    nearest: Array = np.array([bounds[0] if bounds[0] > 0 else bounds[1]], np.float32)
    bound, result = graph.fresh_name(f"{node.name}_bound"), graph.fresh_name(value)
    kind = replace(stored, shape=(1,), layout=None)
    graph.add_constant(bound, stored.encoding.encode(nearest, stored.dtype), kind)
    graph.add(Node(graph.fresh_name(f"{node.name}_again"), op, [value, bound], [result]), [stored])
    return result
