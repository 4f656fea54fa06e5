"""Writes average pools that HTP computes wrongly as depthwise filters of equal weights.

The emulator (2.51) makes pools of 4 x 4, 6 x 6, ... places from smaller ones, whose integers have the
narrow range of the result, and breaks off for some sizes of images. Long windows of floats are often wrong,
and so is padding that is wide or uneven.
"""

from dataclasses import replace
from math import prod
from typing import cast

import numpy as np

from edgewright.core.numbers import Array, DType
from edgewright.ir.encodings import Encoding
from edgewright.ir.graph import Graph, Node
from edgewright.ir.types import TensorType
from edgewright.ops.conv import DepthWiseConv2d
from edgewright.ops.elementwise import ElementWiseMultiply
from edgewright.ops.pool import PoolAvg2d
from edgewright.ops.windows import Pair
from edgewright.passes.graph_pass import register_pass, rewrite_each

# What the library pads rightly: places in front and behind, around windows of these sizes.
AROUND: dict[tuple[Pair, Pair], int] = {((3, 3), (1, 1)): 1, ((3, 3), (2, 2)): 1, ((5, 5), (1, 1)): 2}
BEHIND = (((2, 2), (2, 2)), ((3, 3), (2, 2)))
# Larger ones are made of it; windows of floats that are longer are right only by chance.
SMALLEST_TILE, LONGEST = 2, 8
# The largest number of 8 bits with a sign; bits of a weight above one that evens out what does not count.
MOST, WHOLE_BITS = 127, 2


@register_pass(after=("pad_ceil_windows", "multiply_small_pools"))
def filter_pools(graph: Graph) -> int:
    """What does not count is evened out behind the filter, by a weight for each place."""
    return rewrite_each(graph, _filter)


def with_filtered_pools(graph: Graph) -> Graph:
    """A copy where there are such pools."""
    if not any(_is_filtered(graph, node) for node in graph.nodes):
        return graph
    filtered = graph.copy()
    filter_pools(filtered)
    return filtered


def _is_filtered(graph: Graph, node: Node) -> bool:
    if not isinstance(node.op, PoolAvg2d) or node.op.is_ceil():
        return False
    x, y = graph.types[node.inputs[0]], graph.types[node.outputs[0]]
    return x.is_static and y.is_static and _is_wrong(node.op, x)


def _is_wrong(op: PoolAvg2d, x: TensorType) -> bool:
    """Whether the library's results are others than the means."""
    if any(map(any, op.pad_amount)):
        return not _is_padded_rightly(op)
    if op.filter_size == x.shape[1:3]:
        return False
    is_even = all(side % 2 == 0 and side > SMALLEST_TILE for side in op.filter_size)
    is_tiled = is_even and op.stride == op.filter_size
    if not x.dtype.is_float:
        return is_tiled
    has_rest = any(n % side for n, side in zip(x.static_shape()[1:3], op.filter_size, strict=True))
    return max(op.filter_size) > LONGEST or (is_tiled and has_rest)


def _is_padded_rightly(op: PoolAvg2d) -> bool:
    kind, pads = (op.filter_size, op.stride), op.pad_amount
    around = AROUND.get(kind, 0)
    if around and pads == ((around, around),) * 2:
        return True
    return kind in BEHIND and all(before == 0 and after in {0, 1} for before, after in pads)


def _filter(graph: Graph, node: Node) -> bool:
    if not _is_filtered(graph, node):
        return False
    op, value, result = cast("PoolAvg2d", node.op), node.inputs[0], node.outputs[0]
    x, y = graph.types[value], graph.types[result]
    evened = None if op.count_pad_for_edges else _even_out(op, x)
    sums = result if evened is None else graph.fresh_name(result)
    graph.remove(node)
    weights = _add_weights(graph, node, x)
    depthwise = DepthWiseConv2d(stride=op.stride, pad_amount=op.pad_amount)
    graph.add(Node(node.name, depthwise, [value, weights], [sums], source=node.source), [replace(y)])
    if evened is not None:
        factors = _add_factors(graph, node, evened, y)
        name = graph.fresh_name(f"{node.name}_evened")
        graph.add(Node(name, ElementWiseMultiply(), [sums, factors], [result], source=node.source), [y])
    return True


def _even_out(op: PoolAvg2d, x: TensorType) -> Array | None:
    """What sums are multiplied with at each place, where that is not one everywhere."""
    inside = np.ones((1, *x.static_shape()[1:3], 1))
    (share,) = replace(op, count_pad_for_edges=True).compute(inside)
    return None if np.all(share == 1) else np.asarray(1 / share)


def _add_weights(graph: Graph, node: Node, x: TensorType) -> str:
    size = cast("PoolAvg2d", node.op).filter_size
    name, share = graph.fresh_name(f"{node.name}_weights"), 1 / prod(size)
    shape = (*size, 1, x.static_shape()[3])
    if x.encoding is None:
        return graph.add_constant(name, np.full(shape, share, x.dtype.numpy))
    kind = TensorType(shape, DType.SFIXED_POINT_8, None, Encoding((share / MOST,), (0,)))
    return graph.add_constant(name, np.full(shape, MOST, np.int8), kind)


def _add_factors(graph: Graph, node: Node, factors: Array, y: TensorType) -> str:
    """One is a whole number of steps, so that it changes nothing."""
    name = graph.fresh_name(f"{node.name}_factors")
    if y.encoding is None:
        return graph.add_constant(name, factors.astype(y.dtype.numpy))
    bits = y.encoding.bitwidth
    dtype = DType[f"UFIXED_POINT_{bits}"]
    whole = max(WHOLE_BITS, int(np.ceil(np.log2(factors.max() + 1))))
    encoding = Encoding((2.0 ** (whole - bits),), (0,), bitwidth=bits)
    kind = TensorType(factors.shape, dtype, None, encoding)
    return graph.add_constant(
        graph.fresh_name(name), encoding.encode(factors.astype(np.float32), dtype), kind
    )
