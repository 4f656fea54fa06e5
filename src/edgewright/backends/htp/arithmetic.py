"""Which nodes of a fixed-point graph HTP rounds in its own way, and how they are written for the engine."""

from collections.abc import Callable
from typing import cast

import numpy as np

from edgewright.backends.cpu.sums import IntegerProduct, Step, SumForm
from edgewright.backends.htp.conversions import convert_values
from edgewright.backends.htp.element_sums import bend_values, move_values, multiply_values, negate_values
from edgewright.backends.htp.gated_sums import cut_gated, gate_sums, is_gated, pass_gated
from edgewright.backends.htp.mean_sums import average_axes, average_places
from edgewright.backends.htp.requantize import (
    COARSE_BITS,
    FINE_BITS,
    Multiplier,
    added_bias,
    away_from_zero,
    cut_sums,
    is_byte,
    multiplier,
    shift_down,
    sum_weights,
)
from edgewright.core.numbers import Array, DType
from edgewright.ir.encodings import Encoding
from edgewright.ir.graph import Graph, Node
from edgewright.ir.op import Op, given
from edgewright.ir.types import TensorType
from edgewright.ops.activation import HardSwish, Prelu
from edgewright.ops.conv import Conv2d, DepthWiseConv2d
from edgewright.ops.conv_transpose import TransposeConv2d
from edgewright.ops.elementwise import (
    ElementWiseAdd,
    ElementWiseMaximum,
    ElementWiseMinimum,
    ElementWiseMultiply,
    ElementWiseSubtract,
)
from edgewright.ops.elementwise_unary import ElementWiseNeg
from edgewright.ops.matmul import FullyConnected, MatMul
from edgewright.ops.pool import PoolAvg2d
from edgewright.ops.quant import Convert
from edgewright.ops.reduce import ReduceMean
from edgewright.ops.reduce_softmax import Softmax
from edgewright.ops.reference import fills_gaps
from edgewright.ops.windows import Geometry

WEIGHTS = frozenset({DType.SFIXED_POINT_4, DType.SFIXED_POINT_8})
# Offsets of a sum's operands are added in these units.
OFFSET_UNIT = 256
PAIR = 2
FEWEST_CHANNELS, MOST_PLACES = 16, 25
# Places of a kernel along an axis from which on sums are rounded in the ordinary way.
LONG = 64
POINT = Geometry((1, 1), ((0, 0), (0, 0)), (1, 1))


def htp_sums(graph: Graph, node: Node) -> SumForm | None:
    """The form of a node of 8 bits; None where it is not known, or ordinary rounding does the same."""
    is_moved = node.op.keeps_encoding and not fills_gaps(node.op)
    rule = RULES.get(type(node.op), move_values if is_moved else None)
    if rule is None or not (rule is convert_values or _is_plain(graph, node)):
        return None
    return rule(graph, node)


def has_coarse_sums(graph: Graph, node: Node) -> bool:
    """Whether a node is a sum of products that HTP cuts before it rounds it."""
    is_product = RULES.get(type(node.op)) in (_convolution, _fully_connected)
    return is_product and not _is_fine(graph, node) and htp_sums(graph, node) is not None


def _is_fine(graph: Graph, node: Node) -> bool:
    """Whether sums are multiplied whole: those of strides, where a kernel has more than one place."""
    op, places = node.op, graph.types[node.inputs[1]].shape[:2]
    return isinstance(op, DepthWiseConv2d) and max(op.stride) > 1 and places != (1, 1)


def _is_plain(graph: Graph, node: Node) -> bool:
    """Whether activations have 8 bits and one encoding with a zero point that is one of their integers."""
    values = [value for value in (*node.inputs, *node.outputs) if value and value not in graph.constants]
    return all(is_byte(graph.types[value]) for value in values)


def _convolution(graph: Graph, node: Node) -> SumForm | None:
    if isinstance(node.op, Conv2d) and _is_long(node.op, graph.types[node.inputs[1]]):
        return None
    return _product(graph, node, -1, is_fine=_is_fine(graph, node))


def _is_long(op: Conv2d, weights: TensorType) -> bool:
    """Whether a kernel has more places, strides taken out of it, than HTP's product unit takes."""
    sizes = zip(weights.shape[:2], op.stride, strict=True)
    return any(isinstance(size, int) and -(-size // stride) >= LONG for size, stride in sizes)


def _fully_connected(graph: Graph, node: Node) -> SumForm | None:
    return _product(graph, node, 0, is_fine=False)


def _product(graph: Graph, node: Node, axis: int, *, is_fine: bool) -> SumForm | None:
    """A sum of products with symmetric weights; their channels lie along an axis."""
    weights = graph.types[node.inputs[1]]
    bias = _stored_bias(graph, node)
    if (
        node.inputs[1] not in graph.constants
        or weights.dtype not in WEIGHTS
        or weights.encoding is None
        or weights.encoding.block_axis is not None
        or any(weights.encoding.offsets)
        or bias is None
    ):
        return None
    encodings = [graph.types[value].encoding for value in (node.inputs[0], node.outputs[0])]
    (x, y), stored = encodings, graph.constants[node.inputs[1]]
    assert x is not None
    assert y is not None
    scales = np.broadcast_to(np.asarray(weights.encoding.scales), stored.shape[axis])
    factor = multiplier(x.scales[0], scales, y.scales[0], FINE_BITS if is_fine else COARSE_BITS)
    if factor is None:
        return None
    is_bent = not is_fine and is_gated(graph, node)
    unit = cut_gated(factor, y.offsets[0]) if is_bent else np.ones_like(factor.cut) if is_fine else factor.cut
    if is_bent:
        steps = gate_sums(factor, unit, scales * x.scales[0])
    else:
        steps = _round_whole(factor, y.offsets[0]) if is_fine else cut_sums(factor.value / factor.cut)
    if _is_matrix(graph, node):
        added = _added(graph, node, bias) if bias.size else np.zeros(unit.shape)
        matrix = stored.reshape(-1, stored.shape[-1]).astype(np.int8)
        units, added = unit.astype(np.float32), (added * unit).astype(np.float32)
        window = _window(graph, node)
        is_plain = stored.shape[:2] == (1, 1) and window == POINT
        return SumForm({}, {}, steps, IntegerProduct(matrix, units, added, None if is_plain else window))
    shape = [1] * stored.ndim
    shape[axis] = -1
    constants = {node.inputs[1]: stored.astype(np.float32) * unit.reshape(shape).astype(np.float32)}
    if given(node.inputs, 2):
        added = bias if is_fine else _added(graph, node, bias)
        constants[node.inputs[2]] = (added * unit).astype(np.float32)
    return SumForm({node.inputs[0]: Encoding((1.0,), x.offsets)}, constants, steps)


def _matmul(graph: Graph, node: Node) -> SumForm | None:
    """A product of two activations."""
    operands = node.inputs[:2]
    if any(node.inputs[2:]) or any(value in graph.constants for value in operands):
        return None
    a, b, y = (graph.types[value].encoding for value in (*operands, *node.outputs))
    if a is None or b is None or y is None or operands[0] == operands[1]:
        return None
    factor = multiplier(a.scales[0], np.asarray(b.scales), y.scales[0], COARSE_BITS)
    if factor is None:
        return None
    inputs = {value: Encoding((1.0,), e.offsets) for value, e in zip(operands, (a, b), strict=True)}
    cut = Step("Mul", factor.cut[0].astype(np.float32))
    return SumForm(inputs, {}, (cut, *cut_sums((factor.value / factor.cut)[0])))


def _is_matrix(graph: Graph, node: Node) -> bool:
    """Whether a convolution is fastest as a product: not of a few channels, nor of many places."""
    if not isinstance(node.op, Conv2d) or not graph.types[node.inputs[0]].is_static:
        return False
    window, (height, width, channels, _) = _window(graph, node), graph.constants[node.inputs[1]].shape
    if window.group > 1:
        return False
    is_wide = channels >= FEWEST_CHANNELS and height * width <= MOST_PLACES
    return bool(is_wide or (height, width) == (1, 1))


def _window(graph: Graph, node: Node) -> Geometry:
    assert isinstance(node.op, Conv2d)
    return node.op.geometry(graph.types[node.inputs[0]].shape[-1])


def _round_whole(factor: Multiplier, offset: int) -> tuple[Step, ...]:
    """The whole sum: its products with the factor need more bits than float32 has.

    The offset of the output is added to the sums, as a whole number.
    """
    whole = np.rint(-offset / factor.exact)
    return shift_down(factor.value, whole * factor.value + offset + 0.5)


def _stored_bias(graph: Graph, node: Node) -> Array | None:
    """The bias in units of the sums; no elements where there is none, None where it is not known."""
    name = given(node.inputs, 2)
    if not name:
        return np.zeros(0)
    x, weights = (graph.types[value].encoding for value in node.inputs[:2])
    encoding = graph.types[name].encoding
    is_known = name in graph.constants and graph.types[name].dtype == DType.SFIXED_POINT_32
    if not is_known or x is None or weights is None or encoding is None or any(encoding.offsets):
        return None
    # A transposed convolution in groups has scales for the channels of one group only.
    if len(weights.scales) not in (1, graph.constants[name].size):
        return None
    real = graph.constants[name].astype(np.float64) * np.asarray(encoding.scales)
    return np.asarray(np.rint(real / (x.scales[0] * np.asarray(weights.scales))))


def _added(graph: Graph, node: Node, bias: Array) -> Array:
    """The bias as the sums get it: HTP takes every channel's scale for the widest one's."""
    x, weights, encoding = (graph.types[value].encoding for value in node.inputs[:3])
    assert x is not None
    assert weights is not None
    assert encoding is not None
    sums = float(np.float32(x.scales[0]) * np.float32(max(weights.scales)))
    if weights.axis is not None:
        return added_bias(bias.astype(np.float32) * np.float32(sums), sums, is_per_channel=True)
    stored = graph.constants[node.inputs[2]].astype(np.float32)
    return added_bias(stored * np.float32(encoding.scales[0]), sums, is_per_channel=False)


def _softmax(graph: Graph, node: Node) -> SumForm | None:
    """Of two classes: the larger has at most 255 parts of 255, not of 256."""
    x, y = (graph.types[value] for value in (node.inputs[0], node.outputs[0]))
    shares = x.shape[cast("Softmax", node.op).axis_of(x.rank)]
    if x.encoding is None or y.encoding != Encoding((1 / 256,), (0,)) or shares != PAIR:
        return None
    return SumForm({node.inputs[0]: x.encoding}, {}, (Step("Mul", np.asarray(255, np.float32)),))


def _sum(graph: Graph, node: Node) -> SumForm | None:
    """Operands times whole factors, plus their offsets in coarse units."""
    types = [graph.types[value] for value in (*node.inputs, *node.outputs)]
    # One number is added by a table of all results.
    is_table = any(value in graph.constants and graph.constants[value].size == 1 for value in node.inputs)
    if not all(map(is_byte, types)) or node.inputs[0] == node.inputs[1] or is_table:
        return None
    a, b, y = (kind.encoding for kind in types if kind.encoding is not None)
    is_difference = isinstance(node.op, ElementWiseSubtract)
    ratios = np.array([a.scales[0], b.scales[0]]) / y.scales[0]
    (first, second), bits = sum_weights(ratios, ratios.max() if is_difference else ratios.sum())
    if bits < 0:
        return None
    second = -second if is_difference else second
    offset = a.offsets[0] * first + b.offsets[0] * second - y.offsets[0] * (1 << bits)
    offset = away_from_zero(offset / OFFSET_UNIT) * OFFSET_UNIT
    # Half a unit more: a half of a step is rounded up, and nothing lies between.
    added = np.asarray((offset + 0.5) / 2.0**bits + y.offsets[0], np.float32)
    inputs = {
        node.inputs[0]: Encoding((first / 2.0**bits,), (0,)),
        node.inputs[1]: Encoding((abs(second) / 2.0**bits,), (0,)),
    }
    return SumForm(inputs, {}, (Step("Add", added),))


Rule = Callable[[Graph, Node], SumForm | None]
RULES: dict[type[Op], Rule] = {
    Convert: convert_values,
    Conv2d: _convolution,
    DepthWiseConv2d: _convolution,
    TransposeConv2d: _convolution,
    FullyConnected: _fully_connected,
    MatMul: _matmul,
    Softmax: _softmax,
    ElementWiseAdd: _sum,
    ElementWiseMaximum: move_values,
    ElementWiseMinimum: move_values,
    ElementWiseSubtract: _sum,
    ElementWiseMultiply: multiply_values,
    ElementWiseNeg: negate_values,
    HardSwish: pass_gated,
    PoolAvg2d: average_places,
    Prelu: bend_values,
    ReduceMean: average_axes,
}
