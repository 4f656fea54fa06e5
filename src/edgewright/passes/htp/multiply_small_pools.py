"""Writes averages over windows that are larger than the tensor as products: HTP computes them wrongly."""

from dataclasses import replace

import numpy as np

from edgewright.core.numbers import Array, DType
from edgewright.ir.encodings import Encoding
from edgewright.ir.graph import Graph, Node
from edgewright.ir.types import TensorType
from edgewright.ops.matmul import FullyConnected
from edgewright.ops.pool import PoolAvg2d
from edgewright.ops.rearrange import Reshape, Transpose
from edgewright.passes.graph_pass import Refused, register_pass, rewrite_each

# Elements of a matrix of weights, which has one for each pair of places before and behind the pool.
LARGEST = 1 << 20


@register_pass(after=("pad_ceil_windows",))
def multiply_small_pools(graph: Graph) -> int:
    """The emulator (2.51) reads and counts beyond their edges; a matrix weighs each place for each window."""
    return rewrite_each(graph, _multiply)


def _multiply(graph: Graph, node: Node) -> bool:
    x, result = (graph.types[value] for value in (node.inputs[0], node.outputs[0]))
    if not isinstance(node.op, PoolAvg2d) or not (x.is_static and result.is_static):
        return False
    (batch, height, width, channels), (_, tall, wide, _) = x.static_shape(), result.static_shape()
    if height >= node.op.filter_size[0] and width >= node.op.filter_size[1]:
        return False
    if height * width * tall * wide > LARGEST:
        raise Refused(f"a product would have {height * width} x {tall * wide} weights")
    weights = _add_weights(graph, node, x)
    graph.remove(node)
    places, windows = height * width, tall * wide
    rows = _add_moves(graph, node, x, [(batch, places, channels), None, (batch * channels, places)])
    products = graph.fresh_name(node.outputs[0])
    kind = replace(result, shape=(batch * channels, windows), layout=None)
    graph.add(Node(node.name, FullyConnected(), [rows, weights], [products], node.source), [kind])
    back = _add_moves(graph, node, kind, [(batch, channels, windows), None], products)
    name = graph.fresh_name(f"{node.name}_reshape")
    graph.add(Node(name, Reshape(shape=result.static_shape()), [back], node.outputs, node.source), [result])
    return True


def _add_moves(
    graph: Graph, node: Node, kind: TensorType, shapes: list[tuple[int, ...] | None], value: str = ""
) -> str:
    """Reshapes; None stands for a transpose of the last two of three axes."""
    value = value or node.inputs[0]
    for shape in shapes:
        first, *others = graph.types[value].static_shape()
        op = Transpose(perm=(0, 2, 1)) if shape is None else Reshape(shape=shape)
        moved = graph.fresh_name(value)
        moved_type = replace(kind, shape=shape or (first, *reversed(others)), layout=None)
        graph.add(
            Node(graph.fresh_name(f"{node.name}_move"), op, [value], [moved], node.source), [moved_type]
        )
        value = moved
    return value


def _add_weights(graph: Graph, node: Node, x: TensorType) -> str:
    """What the pool makes of images that have a single one each."""
    _, height, width, _ = x.static_shape()
    places = height * width
    images = np.eye(places).reshape(1, height, width, places)
    (pooled,) = node.op.compute(images)
    matrix: Array = pooled.reshape(-1, places)
    name = graph.fresh_name(f"{node.name}_weights")
    if x.encoding is None:
        return graph.add_constant(name, matrix.astype(x.dtype.numpy))
    encoding = Encoding((float(matrix.max()) / 127,), (0,), None, 8)
    kind = TensorType(matrix.shape, DType.SFIXED_POINT_8, None, encoding)
    return graph.add_constant(name, encoding.encode(matrix.astype(np.float32), DType.SFIXED_POINT_8), kind)
