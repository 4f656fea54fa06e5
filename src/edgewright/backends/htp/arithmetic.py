"""Which nodes of a fixed-point graph HTP rounds in its own way, and how they are written for the engine."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from edgewright.backends.cpu.sums import Step, SumForm
from edgewright.backends.htp.bent_sums import round_bent_words
from edgewright.backends.htp.byte_functions import compute_gate
from edgewright.backends.htp.conversions import convert_values
from edgewright.backends.htp.element_sums import (
    bend_values,
    choose_values,
    divide_values,
    move_values,
    multiply_values,
    negate_values,
)
from edgewright.backends.htp.fused_activations import pass_bent, pass_gated
from edgewright.backends.htp.matrices import multiply_matrices
from edgewright.backends.htp.mean_sums import average_axes, average_places, sum_axes
from edgewright.backends.htp.norm_sums import scale_channels, scale_channels_wide
from edgewright.backends.htp.number_tables import find_number
from edgewright.backends.htp.products import round_product
from edgewright.backends.htp.requantize import (
    is_byte,
    is_wide,
    sum_weights,
)
from edgewright.backends.htp.resized_values import blend_places, repeat_places
from edgewright.backends.htp.wide_elements import add_wide, multiply_wide, square_wide
from edgewright.backends.htp.wide_functions import (
    compute_line,
    compute_sigmoid,
    compute_tangent,
    find_logarithms,
    gate_curve,
    gate_line,
)
from edgewright.backends.htp.wide_moves import clamp_wide, move_wide, negate_wide
from edgewright.backends.htp.wide_norms import cut_root_norm
from edgewright.backends.htp.wide_powers import compute_elu, raise_powers
from edgewright.backends.htp.wide_products import multiply_wide_matrices
from edgewright.backends.htp.wide_quotients import divide_wide
from edgewright.backends.htp.wide_roots import extract_roots
from edgewright.ir.encodings import Encoding
from edgewright.ir.graph import Graph, Node
from edgewright.ir.op import Op
from edgewright.ir.types import TensorType
from edgewright.ops.activation import (
    Elu,
    Gelu,
    HardSigmoid,
    HardSwish,
    Prelu,
    Relu,
    Relu6,
    ReluMinMax,
    Sigmoid,
    Tanh,
)
from edgewright.ops.conv import Conv2d, DepthWiseConv2d
from edgewright.ops.conv_transpose import TransposeConv2d
from edgewright.ops.elementwise import (
    ElementWiseAdd,
    ElementWiseDivide,
    ElementWiseMaximum,
    ElementWiseMinimum,
    ElementWiseMultiply,
    ElementWisePower,
    ElementWiseSubtract,
)
from edgewright.ops.elementwise_unary import (
    ElementWiseExp,
    ElementWiseLog,
    ElementWiseNeg,
    ElementWiseSquareRoot,
)
from edgewright.ops.matmul import FullyConnected, MatMul
from edgewright.ops.norm import Batchnorm, RmsNorm
from edgewright.ops.pool import PoolAvg2d
from edgewright.ops.quant import Convert
from edgewright.ops.reduce import ReduceMean, ReduceSum
from edgewright.ops.reference import fills_gaps
from edgewright.ops.resize import ResizeBilinear, ResizeNearestNeighbor

# Offsets of a sum's operands are added in these units.
OFFSET_UNIT = 256


def htp_sums(graph: Graph, node: Node) -> SumForm | None:
    """The form of a node of 8 or 16 bits; None where it is not known, or ordinary rounding does the same."""
    # An op that stands for another has the arithmetic of that one.
    node = replace(node, op=node.op.specific())
    is_moved = node.op.keeps_encoding and not fills_gaps(node.op)
    rule = RULES.get(type(node.op), move_values if is_moved else None)
    if type(node.op) is MatMul and is_wide(graph.types[node.outputs[0]]):
        rule = multiply_wide_matrices
    elif _has_width(graph, node, is_wide):
        rule = WIDE_RULES.get(type(node.op), move_wide if is_moved else None)
    elif rule is not convert_values and not _has_width(graph, node, is_byte):
        return None
    return None if rule is None else rule(graph, node)


def _has_width(graph: Graph, node: Node, is_kind: Callable[[TensorType], bool]) -> bool:
    """Whether activations have 8 (or 16) bits and one encoding with a zero point among their integers."""
    values = [value for value in (*node.inputs, *node.outputs) if value and value not in graph.constants]
    return all(is_kind(graph.types[value]) for value in values)


def _compute_hard_swish(graph: Graph, node: Node) -> SumForm | None:
    """HardSwish of 8 bits, by the product before it or as a table."""
    return pass_gated(graph, node) or compute_gate(graph, node)


def _compute_wide_hard_swish(graph: Graph, node: Node) -> SumForm | None:
    """The same of 16 bits."""
    return pass_gated(graph, node) or gate_line(graph, node)


def _compute_prelu(graph: Graph, node: Node) -> SumForm | None:
    """Prelu of 8 bits, by the product before it or by itself."""
    return pass_bent(graph, node) or bend_values(graph, node)


def _compute_wide_prelu(graph: Graph, node: Node) -> SumForm | None:
    """The same of 16 bits."""
    return pass_bent(graph, node) or round_bent_words(graph, node)


def _sum(graph: Graph, node: Node) -> SumForm | None:
    """Operands times whole factors, plus their offsets in coarse units, halves of which go down."""
    types = [graph.types[value] for value in (*node.inputs, *node.outputs)]
    # One number is added by a table of all results.
    is_table = bool(find_number(graph, node))
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
    offset = int(np.ceil(offset / OFFSET_UNIT - 0.5)) * OFFSET_UNIT
    # Half a unit more: a half of a step is rounded up, and nothing lies between.
    added = np.asarray((offset + 0.5) / 2.0**bits + y.offsets[0], np.float32)
    inputs = {
        node.inputs[0]: Encoding((first / 2.0**bits,), (0,)),
        node.inputs[1]: Encoding((abs(second) / 2.0**bits,), (0,)),
    }
    return SumForm(inputs, {}, (Step("Add", added),))


Rule = Callable[[Graph, Node], SumForm | None]
RULES: dict[type[Op], Rule] = {
    Batchnorm: scale_channels,
    Convert: convert_values,
    Conv2d: round_product,
    DepthWiseConv2d: round_product,
    TransposeConv2d: round_product,
    FullyConnected: round_product,
    RmsNorm: cut_root_norm,
    MatMul: multiply_matrices,
    ElementWiseAdd: _sum,
    ElementWiseDivide: divide_values,
    ElementWiseMaximum: choose_values,
    ElementWiseMinimum: choose_values,
    ElementWiseSubtract: _sum,
    ElementWiseMultiply: multiply_values,
    ElementWiseNeg: negate_values,
    HardSwish: _compute_hard_swish,
    PoolAvg2d: average_places,
    Prelu: _compute_prelu,
    ReduceMean: average_axes,
    ReduceSum: sum_axes,
    ResizeBilinear: blend_places,
    ResizeNearestNeighbor: repeat_places,
}
WIDE_RULES: dict[type[Op], Rule] = {
    Batchnorm: scale_channels_wide,
    Convert: convert_values,
    Conv2d: round_product,
    DepthWiseConv2d: round_product,
    TransposeConv2d: round_product,
    FullyConnected: round_product,
    ElementWiseAdd: add_wide,
    ElementWiseSubtract: add_wide,
    ElementWiseDivide: divide_wide,
    ElementWiseMultiply: multiply_wide,
    ElementWiseMaximum: move_wide,
    ElementWiseMinimum: move_wide,
    ElementWisePower: square_wide,
    PoolAvg2d: average_places,
    ReduceMean: average_axes,
    ReduceSum: sum_axes,
    RmsNorm: cut_root_norm,
    ElementWiseExp: raise_powers,
    ElementWiseLog: find_logarithms,
    ElementWiseNeg: negate_wide,
    ElementWiseSquareRoot: extract_roots,
    Elu: compute_elu,
    Gelu: gate_curve,
    HardSigmoid: compute_line,
    HardSwish: _compute_wide_hard_swish,
    Prelu: _compute_wide_prelu,
    Relu: clamp_wide,
    Relu6: clamp_wide,
    ReluMinMax: clamp_wide,
    ResizeBilinear: blend_places,
    ResizeNearestNeighbor: repeat_places,
    Sigmoid: compute_sigmoid,
    Tanh: compute_tangent,
}
