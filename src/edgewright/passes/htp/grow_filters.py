"""Adds a row and a column of zeros to filters that HTP computes wrongly with their stride."""

from dataclasses import replace

import numpy as np

from edgewright.core.numbers import Array, DType
from edgewright.ir.graph import Graph, Node
from edgewright.ir.types import TensorType
from edgewright.ops.conv import Conv2d, DepthWiseConv2d
from edgewright.passes.graph_pass import register_pass, rewrite_each

WIDE = frozenset({DType.SFIXED_POINT_16, DType.UFIXED_POINT_16})


@register_pass(after=("widen_conv_1d",))
def grow_filters(graph: Graph) -> int:
    """The zeros lie behind, where the padding grows with them: every window begins where it began."""
    return rewrite_each(graph, _grow)


def _grow(graph: Graph, node: Node) -> bool:
    op = node.op
    if not isinstance(op, Conv2d | DepthWiseConv2d) or node.inputs[1] not in graph.constants:
        return False
    name = node.inputs[1]
    size = graph.constants[name].shape[:2]
    if not _is_wrong(op, size) and not _is_wrong_in_16_bits(graph, node, op, size):
        return False
    kind, grown = _add_zeros(graph.types[name], graph.constants[name])
    graph.set_input(node, 1, graph.add_constant(graph.fresh_name(name), grown, kind, of=name))
    (top, bottom), (left, right) = op.pad_amount
    below, beside = op.dilation
    node.op = replace(op, pad_amount=((top, bottom + below), (left, right + beside)))
    return True


def _is_wrong(op: Conv2d | DepthWiseConv2d, size: tuple[int, ...]) -> bool:
    """Seen on the emulator (2.51): noise as loud as the signal, in half precision and in 8 and 16 bits.

    9 x 9 with a stride of 2; one element with a stride, where the convolution is padded or depthwise.
    """
    if size == (9, 9):
        return op.stride == (2, 2)
    is_padded = any(pair != (0, 0) for pair in op.pad_amount)
    return size == (1, 1) and op.stride != (1, 1) and (is_padded or isinstance(op, DepthWiseConv2d))


def _is_wrong_in_16_bits(
    graph: Graph, node: Node, op: Conv2d | DepthWiseConv2d, size: tuple[int, ...]
) -> bool:
    """One element for each channel: 0 where channels differ in scale, in up to 23 % of them.

    5 x 5 with a stride of 2: left of every fourth row the padding has its high byte twice, which is not zero.
    """
    if graph.types[node.inputs[0]].dtype not in WIDE or not isinstance(op, DepthWiseConv2d):
        return False
    return size == (1, 1) or (size == (5, 5) and op.stride == (2, 2) and any(op.pad_amount[1]))


def _add_zeros(kind: TensorType, filters: Array) -> tuple[TensorType, Array]:
    height, width, *rest = filters.shape
    shape = (height + 1, width + 1, *rest)
    zeros = np.zeros(shape, np.float32)
    grown = zeros.astype(filters.dtype) if kind.encoding is None else kind.encoding.encode(zeros, kind.dtype)
    grown[:height, :width] = filters
    return replace(kind, shape=shape), grown
