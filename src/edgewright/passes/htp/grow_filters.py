"""Adds rows and columns of zeros to filters that HTP computes wrongly with their stride."""

from dataclasses import replace

import numpy as np

from edgewright.core.numbers import Array, DType
from edgewright.ir.graph import Graph, Node
from edgewright.ir.types import TensorType
from edgewright.ops.conv import Conv2d, DepthWiseConv2d
from edgewright.ops.conv_transpose import TransposeConv2d
from edgewright.passes.graph_pass import register_pass, rewrite_each

WIDE = frozenset({DType.SFIXED_POINT_16, DType.UFIXED_POINT_16})
BYTES = frozenset({DType.SFIXED_POINT_8, DType.UFIXED_POINT_8})
# Places along the longer axis of filters that are wrong in channels that are left over, of which there are so
# many of so many, and places with which filters are right again.
LONG, LEFT_OVER, LANES, LONG_ENOUGH = range(8, 17), range(1, 5), 32, 17


Convolution = Conv2d | DepthWiseConv2d | TransposeConv2d


@register_pass(after=("widen_conv_1d",))
def grow_filters(graph: Graph) -> int:
    """The zeros lie behind, where paddings make room for them: every window begins where it began."""
    return rewrite_each(graph, _grow)


def _grow(graph: Graph, node: Node) -> bool:
    op = node.op
    if not isinstance(op, Convolution) or node.inputs[1] not in graph.constants:
        return False
    name = node.inputs[1]
    size = graph.constants[name].shape[:2]
    rows, columns = _count_zeros(graph, node, op, size)
    if not rows and not columns:
        return False
    kind, grown = _add_zeros(graph.types[name], graph.constants[name], rows, columns)
    graph.set_input(node, 1, graph.add_constant(graph.fresh_name(name), grown, kind, of=name))
    node.op = _fit_to_zeros(op, rows, columns)
    return True


def _fit_to_zeros(op: Convolution, rows: int, columns: int) -> Convolution:
    """The op whose results have the size that they had."""
    if isinstance(op, TransposeConv2d):
        below, beside = op.output_padding
        return replace(op, output_padding=(below - rows, beside - columns))
    (top, bottom), (left, right) = op.pad_amount
    below, beside = op.dilation
    return replace(op, pad_amount=((top, bottom + rows * below), (left, right + columns * beside)))


def _count_zeros(graph: Graph, node: Node, op: Convolution, size: tuple[int, ...]) -> tuple[int, int]:
    """Rows and columns that are added."""
    if isinstance(op, TransposeConv2d):
        rows, columns = (_count_places_out_of_reach(op, size, axis) for axis in (0, 1))
        return rows, columns
    if _is_wrong_in_8_bits(graph, node, op, size):
        return 0, LONG_ENOUGH - size[1]
    is_wrong = _is_wrong(op, size) or _is_wrong_in_16_bits(graph, node, op, size)
    return (1, 1) if is_wrong else (0, 0)


def _count_places_out_of_reach(op: TransposeConv2d, size: tuple[int, ...], axis: int) -> int:
    """Places at the end of an axis that no filter reaches, where HTP leaves noise (or ends with error 1002).

    It writes those that filters would reach whose size were the next multiple of the stride.
    """
    behind = op.pad_amount[axis][1]
    if not isinstance(behind, int):
        return 0
    out_of_reach = op.output_padding[axis] - behind
    return out_of_reach if out_of_reach > -size[axis] % op.stride[axis] else 0


def _is_wrong(op: Conv2d | DepthWiseConv2d, size: tuple[int, ...]) -> bool:
    """Seen on the emulator (2.51): noise as loud as the signal, in half precision and in 8 and 16 bits.

    9 x 9 with a stride of 2; one element with a stride, where the convolution is padded or depthwise.
    """
    if size == (9, 9):
        return op.stride == (2, 2)
    is_padded = any(pair != (0, 0) for pair in op.pad_amount)
    return size == (1, 1) and op.stride != (1, 1) and (is_padded or isinstance(op, DepthWiseConv2d))


def _is_wrong_in_8_bits(
    graph: Graph, node: Node, op: Conv2d | DepthWiseConv2d, size: tuple[int, ...]
) -> bool:
    """The last one to four channels, where so many are left of 32: noise as loud as the signal."""
    x = graph.types[node.inputs[0]]
    if x.dtype not in BYTES or not isinstance(op, DepthWiseConv2d) or op.stride != (2, 2):
        return False
    channels = graph.constants[node.inputs[1]].shape[-1]
    return max(size) in LONG and x.shape[-1] == channels and channels % LANES in LEFT_OVER


def _is_wrong_in_16_bits(
    graph: Graph, node: Node, op: Conv2d | DepthWiseConv2d, size: tuple[int, ...]
) -> bool:
    """One element for each channel: 0 where channels differ in scale, in up to 23 % of them.

    5 x 5 with a stride of 2: left of every fourth row the padding has its high byte twice, which is not zero.
    """
    if graph.types[node.inputs[0]].dtype not in WIDE or not isinstance(op, DepthWiseConv2d):
        return False
    return size == (1, 1) or (size == (5, 5) and op.stride == (2, 2) and any(op.pad_amount[1]))


def _add_zeros(kind: TensorType, filters: Array, rows: int, columns: int) -> tuple[TensorType, Array]:
    height, width, *others = filters.shape
    shape = (height + rows, width + columns, *others)
    zeros = np.zeros(shape, np.float32)
    grown = zeros.astype(filters.dtype) if kind.encoding is None else kind.encoding.encode(zeros, kind.dtype)
    grown[:height, :width] = filters
    return replace(kind, shape=shape), grown
