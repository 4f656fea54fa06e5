"""Quantised ops of com.microsoft, in terms of the real numbers their integers stand for."""

import numpy as np
import onnx

from edgewright.core.errors import BadInput, ShapeMismatch
from edgewright.core.numbers import Array, DType
from edgewright.frontends._common.terms import cast_to
from edgewright.frontends.onnx.context import Context
from edgewright.frontends.onnx.contrib import check_inputs, copy_attributes, number
from edgewright.frontends.onnx.quant import Scaling, quantize_value
from edgewright.frontends.onnx.quant_integer import emit_integer_matmul, emit_real
from edgewright.frontends.onnx.recurrent import ROUNDING
from edgewright.frontends.onnx.registry import MICROSOFT, Handler, onnx_op
from edgewright.frontends.onnx.source import SourceNode
from edgewright.frontends.onnx.terms import emit_onnx_op
from edgewright.ir.dims import element_count
from edgewright.ops.axes import normal_axis
from edgewright.ops.reduce_softmax import Softmax

BINARY = {"QLinearAdd": "Add", "QLinearMul": "Mul"}
UNARY = {
    "QLinearSigmoid": "Sigmoid",
    "QLinearLeakyRelu": "LeakyRelu",
    "QLinearAveragePool": "AveragePool",
    "QLinearGlobalAveragePool": "GlobalAveragePool",
}
LARGEST_WEIGHTS = 1 << 31
FIRST_SOFTMAX_OF_ONE_AXIS = 13


def _make_binary(name: str) -> Handler:
    def handler(ctx: Context, node: SourceNode) -> str:
        check_inputs(node, 0, 1, 3, 4, 6)
        operands = [_dequantize_input(ctx, node, index) for index in (0, 3)]
        return _quantize_output(ctx, node, emit_onnx_op(ctx, name, *operands), 6)

    return handler


def _make_unary(name: str) -> Handler:
    def handler(ctx: Context, node: SourceNode) -> str:
        check_inputs(node, 0, 1, 3)
        is_last = bool(number(node, "channels_last", 0))
        x = (
            ctx.move_channels_first(_dequantize_input(ctx, node, 0))
            if is_last
            else _dequantize_input(ctx, node, 0)
        )
        result = emit_onnx_op(ctx, name, x, **copy_attributes(node, "channels_last"))
        return _quantize_output(ctx, node, ctx.move_channels_last(result) if is_last else result, 3)

    return handler


for _name, _target in BINARY.items():
    onnx_op(_name, domain=MICROSOFT)(_make_binary(_target))
for _name, _target in UNARY.items():
    onnx_op(_name, domain=MICROSOFT)(_make_unary(_target))


@onnx_op("QLinearSoftmax", domain=MICROSOFT)
def qlinear_softmax(ctx: Context, node: SourceNode) -> str:
    """Along one axis; in old opsets of Softmax all axes from the given one on count as one."""
    check_inputs(node, 0, 1, 3)
    x = _dequantize_input(ctx, node, 0)
    shape = ctx.shape(x)
    axis = normal_axis(number(node, "axis", -1), len(shape))
    if number(node, "opset", FIRST_SOFTMAX_OF_ONE_AXIS) < FIRST_SOFTMAX_OF_ONE_AXIS:
        x = ctx.reshape(x, (*shape[:axis], element_count(shape[axis:])))
    return _quantize_output(ctx, node, ctx.reshape(ctx.emit(Softmax(axis=axis), x), shape), 3)


@onnx_op("QLinearConcat", domain=MICROSOFT)
def qlinear_concat(ctx: Context, node: SourceNode) -> str:
    """Operands of any encodings under one."""
    groups = range(2, len(node.inputs), 3)
    check_inputs(node, 0, 1, *(index + offset for index in groups for offset in (0, 1)))
    parts = [_dequantize_input(ctx, node, index) for index in groups]
    if not parts:
        raise BadInput("nothing is given to join", node.where, do="export the model again")
    return _quantize_output(ctx, node, emit_onnx_op(ctx, "Concat", *parts, axis=number(node, "axis", 0)), 0)


@onnx_op("QLinearWhere", domain=MICROSOFT)
def qlinear_where(ctx: Context, node: SourceNode) -> str:
    """One of two operands under one encoding."""
    check_inputs(node, 0, 1, 2, 4, 5, 7)
    result = emit_onnx_op(
        ctx, "Where", node.inputs[0], _dequantize_input(ctx, node, 1), _dequantize_input(ctx, node, 4)
    )
    return _quantize_output(ctx, node, result, 7)


@onnx_op("QGemm", domain=MICROSOFT)
def qgemm(ctx: Context, node: SourceNode) -> str:
    """Alpha * (a @ b + c); a float result where no encoding is given for it."""
    check_inputs(node, 0, 1, 3, 4)
    is_turned = bool(number(node, "transB", 0))
    values = [_dequantize_input(ctx, node, 0), _dequantize_input(ctx, node, 3, axis=0 if is_turned else 1)]
    if node.input(6):
        scale = emit_onnx_op(ctx, "Mul", node.inputs[1], node.inputs[4])
        values.append(emit_real(ctx, node.input(6), scale, "", node.where, axis=ctx.rank(node.input(6)) - 1))
    alpha = float(number(node, "alpha", 1.0))
    turns = {"transA": number(node, "transA", 0), "transB": int(is_turned)}
    result = emit_onnx_op(ctx, "Gemm", *values, alpha=alpha, beta=alpha, **turns)
    return _quantize_output(ctx, node, result, 7) if node.input(7) else result


@onnx_op("MatMulIntegerToFloat", domain=MICROSOFT)
def matmul_integer_to_float(ctx: Context, node: SourceNode) -> str:
    """A product of real numbers that stays real."""
    check_inputs(node, 0, 1, 2, 3)
    a, b, a_scale, b_scale = node.inputs[:4]
    left = emit_real(ctx, a, a_scale, node.input(4), node.where, axis=-1)
    right = emit_real(ctx, b, b_scale, node.input(5), node.where, axis=-1)
    result = emit_onnx_op(ctx, "MatMul", left, right)
    return emit_onnx_op(ctx, "Add", result, node.input(6)) if node.input(6) else result


@onnx_op("DynamicQuantizeMatMul", domain=MICROSOFT)
def dynamic_quantize_matmul(ctx: Context, node: SourceNode) -> str:
    """The left side quantised by its own range, the product made of integers."""
    check_inputs(node, 0, 1, 2)
    a, b, b_scale = node.inputs[:3]
    stored, a_scale, a_zero = ctx.translate(
        onnx.helper.make_node("DynamicQuantizeLinear", ["x"], ["y", "scale", "zero"]), [a]
    )
    product = emit_integer_matmul(ctx, stored, b, a_zero, node.input(3), node.where)
    if not product:
        raise ctx.refuse(node, f"sums over {ctx.shape(b)[0]} products cannot be exact")
    scale = emit_onnx_op(ctx, "Mul", a_scale, b_scale)
    result = emit_onnx_op(ctx, "Mul", cast_to(ctx, product, DType.FLOAT_32), scale)
    return emit_onnx_op(ctx, "Add", result, node.input(4)) if node.input(4) else result


@onnx_op("DynamicQuantizeLSTM", domain=MICROSOFT)
def dynamic_quantize_lstm(ctx: Context, node: SourceNode) -> list[str]:
    """An LSTM of the weights' real values, which says that the source rounds the activations too."""
    check_inputs(node, 0, 1, 2, 8, 10)
    weights = []
    for index, scale in ((1, 8), (2, 10)):
        step, zero = (_spread_over_inputs(ctx, node.input(place)) for place in (scale, scale + 1))
        weight = emit_real(ctx, node.inputs[index], step, zero, node.where, axis=0)
        weights.append(ctx.transpose(weight, (0, 2, 1)))
    inputs = [node.inputs[0], *weights, *(node.input(index) for index in range(3, 8))]
    while not inputs[-1]:
        inputs.pop()
    proto = onnx.helper.make_node("LSTM", inputs, ["y", "h", "c"], **{**copy_attributes(node), ROUNDING: 1})
    return ctx.translate(proto, inputs)


@onnx_op("MatMulNBits", domain=MICROSOFT)
def matmul_nbits(ctx: Context, node: SourceNode) -> str:
    """A product with weights of 2, 4 or 8 bits in blocks, which are decoded now."""
    check_inputs(node, 0, 1, 2)
    if node.input(4):
        raise ctx.refuse(node, "its weights are reordered (g_idx)")
    dtype = ctx.dtype(node.inputs[0])
    weights = _decode_blocks(ctx, node).astype(dtype.numpy)
    result = emit_onnx_op(ctx, "MatMul", node.inputs[0], ctx.add_constant(weights.T))
    return emit_onnx_op(ctx, "Add", result, node.input(5)) if node.input(5) else result


def _spread_over_inputs(ctx: Context, value: str) -> str:
    """Numbers of each direction and gate in a shape that fits [direction, input, gate]."""
    if not value or ctx.rank(value) != 2:
        return value
    directions, gates = ctx.shape(value)
    return ctx.reshape(value, (directions, 1, gates))


def _decode_blocks(ctx: Context, node: SourceNode) -> Array:
    """Weights [N, K] in float32."""
    columns, rows, size = (number(node, name, 0) for name in ("K", "N", "block_size"))
    bits = number(node, "bits", 4)
    if bits not in {2, 4, 8} or min(columns, rows) < 1 or size < 16 or columns * rows > LARGEST_WEIGHTS:
        raise BadInput(
            f"K {columns}, N {rows}, bits {bits} and block_size {size} are no packed matrix", node.where
        )
    blocks = -(-columns // size)
    packed, scales = ctx.read_array(node.inputs[1]), ctx.read_array(node.inputs[2])
    _check_count(node, "packed weights", packed.size, rows * blocks * (size * bits // 8))
    _check_count(node, "scales", scales.size, rows * blocks)
    stored = _unpack_bits(packed.view(np.uint8).reshape(rows * blocks, -1), bits).reshape(rows, blocks, size)
    steps = scales.astype(np.float32).reshape(rows, blocks, 1)
    decoded = (stored - _read_zero_points(ctx, node, rows, blocks, bits)) * steps
    return np.asarray(decoded.reshape(rows, -1)[:, :columns])


def _read_zero_points(ctx: Context, node: SourceNode, rows: int, blocks: int, bits: int) -> Array:
    """Zero points [N, blocks, 1]: packed like the weights, floats, or half of the range."""
    if not node.input(3):
        return np.full((1, 1, 1), 1 << (bits - 1), np.float32)
    zeros = ctx.read_array(node.input(3))
    if zeros.dtype == np.uint8:
        _check_count(node, "packed zero points", zeros.size, rows * -(-blocks * bits // 8))
        zeros = _unpack_bits(zeros.reshape(rows, -1), bits)[:, :blocks]
    _check_count(node, "zero points", zeros.size, rows * blocks)
    return zeros.astype(np.float32).reshape(rows, blocks, 1)


def _unpack_bits(packed: Array, bits: int) -> Array:
    """Unsigned numbers of a few bits, lowest bits first."""
    shifts = np.arange(8 // bits, dtype=np.uint8) * bits
    numbers: Array = (packed[..., None] >> shifts) & ((1 << bits) - 1)
    return numbers.reshape(packed.shape[0], -1).astype(np.float32)


def _check_count(node: SourceNode, what: str, found: int, expected: int) -> None:
    if found != expected:
        raise ShapeMismatch(f"{found} {what} are given, expected {expected}", node.where)


def _dequantize_input(ctx: Context, node: SourceNode, index: int, axis: int = 1) -> str:
    """The value at ``index``, with its scale and zero point after it."""
    return emit_real(ctx, *_take_three(node, index), node.where, axis)


def _take_three(node: SourceNode, index: int) -> tuple[str, str, str]:
    return node.input(index), node.input(index + 1), node.input(index + 2)


def _quantize_output(ctx: Context, node: SourceNode, value: str, index: int) -> str:
    """Under the scale at ``index`` and the zero point after it, in the datatype of the latter."""
    zero = node.input(index + 1)
    dtype = ctx.dtype(zero) if zero else DType.UINT_8
    return quantize_value(ctx, value, Scaling(node.input(index), zero), dtype, node.where)
