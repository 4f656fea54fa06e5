"""Integer ops of ONNX, found again in the ops that they were taken apart into: they are the faster form."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, fields

import numpy as np

from edgewright.backends.cpu.patterns import Made, find_origin, match
from edgewright.backends.cpu.windows import flatten_pads
from edgewright.backends.cpu.writer import ENGINE_OPSET
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
from edgewright.ops.source import SourceOp

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
    channelled = {product.stored for product in sums if isinstance(product.product.op, Convolution)}
    for names in quantized:
        _quantize(changed, names, is_turned=names["stored"] in channelled)
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
    is_same = found == {"rest": rest, "steps": steps, "weights": node.inputs[1]}
    return reader.outputs[0] if reader is not None and is_same else ""


def _find_only_reader(graph: Graph, value: str) -> Node | None:
    readers = graph.consumers(value)
    return readers[0] if len(readers) == 1 else None


def _find_weights(graph: Graph, node: Node) -> tuple[Array, int] | None:
    """The stored integers on the right and their zero point."""
    maker = graph.producer(node.inputs[1])
    if maker is None or not isinstance(maker.op, Dequantize) or maker.inputs[0] not in graph.constants:
        return None
    encoding = maker.op.encoding
    is_plain = encoding.scales == (1.0,) and encoding.block_axis is None and not _is_turned(node.op)
    return (graph.constants[maker.inputs[0]], -encoding.offsets[0]) if is_plain else None


def _is_turned(op: Op) -> bool:
    return isinstance(op, MatMul) and (op.transpose_in0 or op.transpose_in1)


def _multiply(graph: Graph, found: _Sum) -> None:
    """The product in integers; a convolution channel first, between transposes that the writer takes out."""
    weights = _find_weights(graph, found.product)
    assert weights is not None
    array, zero = weights
    op, left = found.product.op, _move_value(graph, found.stored, found.before)
    result = graph.types[found.product.outputs[0]].with_dtype(DType.INT_32)
    zeros = [found.zero, _add_constant(graph, np.asarray(zero, array.dtype))]
    if not isinstance(op, Convolution):
        (made,) = _add_node(graph, "MatMulInteger", [left, _add_constant(graph, array), *zeros], [result])
    else:
        rank = array.ndim
        window = _list_window_attributes(op, graph.types[left])
        filters = _add_constant(graph, np.transpose(array, (rank - 1, rank - 2, *range(rank - 2))))
        inputs = [_move_value(graph, left, [_move_channel_first(rank)]), filters, *zeros]
        (made,) = _add_node(
            graph, "ConvInteger", inputs, [result.permuted(_move_channel_first(rank).perm)], window
        )
        made = _move_value(graph, made, [_move_channel_last(rank)])
    _replace_value(graph, found.result, _move_value(graph, made, found.after))


def _move_channel_first(rank: int) -> Transpose:
    return Transpose(perm=(0, rank - 1, *range(1, rank - 1)))


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


def _quantize(graph: Graph, names: dict[str, str], *, is_turned: bool) -> None:
    """The one op; between transposes that the writer takes out where a convolution reads it."""
    stored = graph.types[names["stored"]]
    first, last = _move_channel_first(stored.rank), _move_channel_last(stored.rank)
    x = _move_value(graph, names["x"], [first] if is_turned else [])
    types = [stored.permuted(first.perm) if is_turned else stored]
    types += [graph.types[names["scale"]], graph.types[names["zero"]]]
    whole, scale, zero = _add_node(graph, "DynamicQuantizeLinear", [x], types)
    _replace_value(graph, names["stored"], _move_value(graph, whole, [last] if is_turned else []))
    _replace_value(graph, names["scale"], scale)
    _replace_value(graph, names["zero"], zero)


def _move_value(graph: Graph, value: str, moves: Sequence[Op]) -> str:
    for op in moves:
        node = Node(graph.fresh_name(value), op, [value], [graph.fresh_name(value)])
        value = graph.add(node).outputs[0]
    return value


def _add_node(
    graph: Graph,
    kind: str,
    inputs: list[str],
    types: list[TensorType],
    attributes: tuple[tuple[str, Hashable], ...] = (),
) -> list[str]:
    op = SourceOp(
        package="ai.onnx", type=kind, version=ENGINE_OPSET, attributes=attributes, results=tuple(types)
    )
    outputs = [graph.fresh_name(kind) for _ in types]
    return graph.add(Node(graph.fresh_name(kind), op, inputs, outputs), types).outputs


def _add_constant(graph: Graph, array: Array) -> str:
    return graph.add_constant(graph.fresh_name("integers"), array)


def _replace_value(graph: Graph, old: str, new: str) -> None:
    """Lets the readers of a value read another; a graph output keeps its name and its maker."""
    for node in graph.consumers(old):
        for place, value in enumerate(node.inputs):
            if value == old:
                graph.set_input(node, place, new)
