"""Integer ops of ONNX, found again in the ops that they were taken apart into: they are the faster form."""

from collections.abc import Hashable
from dataclasses import dataclass, fields

import numpy as np

from edgewright.backends.cpu.graph_edits import add_array, add_source_op, move_value, replace_value
from edgewright.backends.cpu.patterns import Made, cast_op, find_origin, match
from edgewright.backends.cpu.windows import flatten_pads
from edgewright.core.numbers import Array, DType
from edgewright.ir.graph import Graph, Node
from edgewright.ir.op import Op
from edgewright.ir.types import TensorType
from edgewright.ops.activation import Relu, ReluMinMax
from edgewright.ops.cast import Cast
from edgewright.ops.conv import Conv1d, Conv2d, Convolution, DepthWiseConv1d, DepthWiseConv2d
from edgewright.ops.elementwise import (
    ElementWiseAdd,
    ElementWiseDivide,
    ElementWiseMinimum,
    ElementWiseMultiply,
    ElementWiseSubtract,
)
from edgewright.ops.elementwise_unary import ElementWiseFloor, ElementWiseRound
from edgewright.ops.matmul import MatMul
from edgewright.ops.quant import Dequantize
from edgewright.ops.rearrange import Reshape, Transpose
from edgewright.ops.reduce import ReduceMax, ReduceMin

MOVES = (Reshape, Transpose)
PRODUCTS = (Conv1d, Conv2d, DepthWiseConv1d, DepthWiseConv2d, MatMul)
BYTE = {"min_value": 0.0, "max_value": 255.0}


def _match_byte(*inputs: Made | str, name: str = "") -> Made:
    return Made(Cast, inputs, {"dtype": DType.UINT_8}, name)


def _match_float(value: Made | str) -> Made:
    return Made(Cast, (value,), {"dtype": DType.FLOAT_32})


# DynamicQuantizeLinear, as ONNX defines it.
_LOW = Made(ElementWiseMinimum, (Made(ReduceMin, ("seen",)), 0.0), name="low", is_symmetric=True)
_HIGH = Made(Relu, (Made(ReduceMax, ("seen",)),))
_SCALE = Made(ElementWiseDivide, (Made(ElementWiseSubtract, (_HIGH, _LOW)), 255.0), name="scale")
_BELOW = Made(ElementWiseSubtract, (0.0, Made(ElementWiseDivide, ("low", "scale"))))
_ZERO = _match_byte(Made(ElementWiseRound, (Made(ReluMinMax, (_BELOW,), BYTE),)), name="zero")
_STEPS = Made(ElementWiseRound, (Made(ElementWiseDivide, ("x", _SCALE)),))
QUANTIZED = _match_byte(
    Made(ReluMinMax, (Made(ElementWiseAdd, (_STEPS, _match_float(_ZERO)), is_symmetric=True),), BYTE),
    name="stored",
)
# Integers less their zero point; where sums of products are large, 16 times the steps and the rest of them.
CENTRED = Made(ElementWiseSubtract, (_match_float("stored"), _match_float("zero")), name="centred")
_STEPS_OF_16 = Made(ElementWiseFloor, (Made(ElementWiseMultiply, ("centred", 1 / 16)),), name="steps")
REST = Made(ElementWiseSubtract, (CENTRED, Made(ElementWiseMultiply, (_STEPS_OF_16, 16.0))))


@dataclass(frozen=True)
class _Sum:
    """An int32 value that is a product of integers, with the moves before and after the product."""

    result: str
    product: Node
    stored: str
    zero: str
    before: tuple[Op, ...]
    after: tuple[Op, ...]


def with_integer_ops(graph: Graph) -> Graph:
    """The graph, or a copy that computes the same with fewer ops; what is not read any more stays in it."""
    if not any(_is_byte(node) for node in graph.nodes):
        return graph
    sums = [product for node in graph.nodes if (product := _sum(graph, node)) is not None]
    quantized = [found for node in graph.nodes if (found := _match_quantized(graph, node)) is not None]
    if not sums and not quantized:
        return graph
    changed = graph.copy()
    for product in sums:
        _multiply(changed, product)
    orders = {product.stored: order for product in sums if (order := _find_order(graph, product))}
    for names in quantized:
        _quantize(changed, names, orders.get(names["stored"]))
    changed.sort()
    return changed


def _is_byte(node: Node) -> bool:
    return isinstance(node.op, Cast) and node.op.dtype == DType.UINT_8


def _match_quantized(graph: Graph, node: Node) -> dict[str, str] | None:
    found = match(graph, node.outputs[0], QUANTIZED) if _is_byte(node) else None
    if found is None or graph.types[found["scale"]].rank or graph.types[found["x"]].dtype != DType.FLOAT_32:
        return None
    is_one = find_origin(graph, found["x"], MOVES)[0] == find_origin(graph, found["seen"], MOVES)[0]
    return found if is_one else None


def _sum(graph: Graph, node: Node) -> _Sum | None:
    if not isinstance(node.op, PRODUCTS) or len(node.inputs) != 2 or _find_weights(graph, node) is None:
        return None
    left, before = find_origin(graph, node.inputs[0], MOVES)
    result, after = _find_integer_reader(graph, node.outputs[0])
    found = match(graph, left, CENTRED)
    if found is None and not before and not after and (found := match(graph, left, REST)) is not None:
        result = _join_products(graph, node, result, found["steps"])
    if found is None or not result or graph.types[found["stored"]].dtype != DType.UINT_8:
        return None
    product = cast_op(node, MatMul)
    if product is not None and product.transpose_in0:
        before = (*before, _swap_last(graph.types[node.inputs[0]].rank))
    return _Sum(result, node, found["stored"], found["zero"], before, after)


def _find_integer_reader(graph: Graph, value: str) -> tuple[str, tuple[Op, ...]]:
    """What the only reader of a product makes of it, where that is int32, and the moves before that."""
    moves: list[Op] = []
    while (reader := _find_only_reader(graph, value)) is not None and isinstance(reader.op, MOVES):
        moves.append(reader.op)
        value = reader.outputs[0]
    is_whole = reader is not None and isinstance(reader.op, Cast) and reader.op.dtype == DType.INT_32
    return (reader.outputs[0] if reader is not None and is_whole else ""), tuple(moves)


def _join_products(graph: Graph, node: Node, rest: str, steps: str) -> str:
    """The sum of the rest's product and 16 times that of the steps."""
    reader = _find_only_reader(graph, rest) if rest else None
    params = {field.name: getattr(node.op, field.name) for field in fields(node.op)}
    product = Made(type(node.op), ("steps", "weights"), params)
    higher = Made(ElementWiseMultiply, (Made(Cast, (product,), {"dtype": DType.INT_32}), 16))
    found = (
        None if reader is None else match(graph, reader.outputs[0], Made(ElementWiseAdd, ("rest", higher)))
    )
    if reader is None or found is None or (found["rest"], found["steps"]) != (rest, steps):
        return ""
    return reader.outputs[0] if _is_same_constant(graph, node.inputs[1], found["weights"]) else ""


def _is_same_constant(graph: Graph, left: str, right: str) -> bool:
    """Whether two values decode the same integers; each product has brought its filters into order itself."""
    if left == right:
        return True
    makers = [graph.producer(value) for value in (left, right)]
    ops = [cast_op(maker, Dequantize) for maker in makers]
    arrays = [graph.constants.get(maker.inputs[0]) for maker in makers if maker is not None]
    if ops[0] is None or ops[0] != ops[1] or arrays[0] is None or arrays[1] is None:
        return False
    return np.array_equal(arrays[0], arrays[1])


def _find_only_reader(graph: Graph, value: str) -> Node | None:
    readers = graph.consumers(value)
    return readers[0] if len(readers) == 1 else None


def _find_weights(graph: Graph, node: Node) -> tuple[Array, int] | None:
    """The stored integers on the right and their zero point."""
    maker = graph.producer(node.inputs[1])
    if maker is None or not isinstance(maker.op, Dequantize) or maker.inputs[0] not in graph.constants:
        return None
    encoding = maker.op.encoding
    product = cast_op(node, MatMul)
    is_turned = product is not None and product.transpose_in1
    is_plain = encoding.scales == (1.0,) and encoding.block_axis is None and not is_turned
    return (graph.constants[maker.inputs[0]], -encoding.offsets[0]) if is_plain else None


def _find_order(graph: Graph, product_sum: _Sum) -> Transpose | None:
    """How a product wants the integers that it reads: those are made in this order."""
    if cast_op(product_sum.product, Convolution) is not None:
        return _move_channel_first(graph.types[product_sum.stored].rank)
    swap = _swap_last(graph.types[product_sum.stored].rank)
    return swap if product_sum.before == (swap,) else None


def _multiply(graph: Graph, found: _Sum) -> None:
    """The product in integers; a convolution channel first, between transposes that the writer takes out."""
    weights = _find_weights(graph, found.product)
    assert weights is not None
    array, zero = weights
    op, left = found.product.op, move_value(graph, found.stored, found.before)
    result = graph.types[found.product.outputs[0]].with_dtype(DType.INT_32)
    zeros = [found.zero, add_array(graph, np.asarray(zero, array.dtype))]
    if not isinstance(op, Convolution):
        (made,) = add_source_op(graph, "MatMulInteger", [left, add_array(graph, array), *zeros], [result])
    else:
        rank = array.ndim
        window = _list_window_attributes(op, graph.types[left])
        filters = add_array(graph, np.transpose(array, (rank - 1, rank - 2, *range(rank - 2))))
        inputs = [move_value(graph, left, [_move_channel_first(rank)]), filters, *zeros]
        (made,) = add_source_op(
            graph, "ConvInteger", inputs, [result.permuted(_move_channel_first(rank).perm)], window
        )
        made = move_value(graph, made, [_move_channel_last(rank)])
    replace_value(graph, found.result, move_value(graph, made, found.after))


def _move_channel_first(rank: int) -> Transpose:
    return Transpose(perm=(0, rank - 1, *range(1, rank - 1)))


def _swap_last(rank: int) -> Transpose:
    return Transpose(perm=(*range(rank - 2), rank - 1, rank - 2))


def _move_channel_last(rank: int) -> Transpose:
    return Transpose(perm=(0, *range(2, rank), 1))


def _list_window_attributes(op: Convolution, x: TensorType) -> tuple[tuple[str, Hashable], ...]:
    geometry = op.geometry(x.shape[-1])
    return (
        ("dilations", tuple(geometry.dilation)),
        ("group", geometry.group),
        ("pads", tuple(flatten_pads(geometry.pads))),
        ("strides", tuple(geometry.stride)),
    )


def _quantize(graph: Graph, names: dict[str, str], order: Transpose | None) -> None:
    """The one op; between transposes that the writer takes out where a product reads it in that order."""
    stored = graph.types[names["stored"]]
    first = [] if order is None else [order]
    back = [] if order is None else [Transpose(perm=tuple(map(order.perm.index, range(stored.rank))))]
    x = move_value(graph, names["x"], first)
    types = [stored if order is None else stored.permuted(order.perm)]
    types += [graph.types[names["scale"]], graph.types[names["zero"]]]
    whole, scale, zero = add_source_op(graph, "DynamicQuantizeLinear", [x], types)
    replace_value(graph, names["stored"], move_value(graph, whole, back))
    replace_value(graph, names["scale"], scale)
    replace_value(graph, names["zero"], zero)
