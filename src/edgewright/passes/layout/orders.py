"""The two orders of axes that sources and QNN disagree on, and what follows a value between them."""

from dataclasses import replace

import numpy as np

from edgewright.ir.dims import Dim, Shape
from edgewright.ir.graph import Graph
from edgewright.ir.types import TensorType
from edgewright.ops.axes import permute_shape
from edgewright.ops.rearrange import Transpose

Order = tuple[int, ...]


def order_channel_first(rank: int) -> Order:
    """The order that brings N, spatial..., C to N, C, spatial..."""
    return (0, rank - 1, *range(1, rank - 1))


def order_channel_last(rank: int) -> Order:
    """The order that brings N, C, spatial... to N, spatial..., C."""
    return (0, *range(2, rank), 1)


def is_view(shape: Shape, order: Order) -> bool:
    """Whether a transpose moves nothing but axes of size 1, so that a reshape does the same."""
    wide = [axis for axis in order if not _is_one(shape[axis])]
    return wide == sorted(wide)


def order_of(graph: Graph, value: str) -> Order | None:
    """The order of the transpose that makes a value; None where another op makes it."""
    node = graph.producer(value)
    return node.op.perm if node is not None and isinstance(node.op, Transpose) else None


def expand_type(graph: Graph, value: str, rank: int) -> TensorType:
    """The type of a value; a constant of lower rank gets the leading axes that broadcasting gives it."""
    tensor_type = graph.types[value]
    if value in graph.constants and 0 < tensor_type.rank < rank:
        return tensor_type.with_shape((1,) * (rank - tensor_type.rank) + tensor_type.shape)
    return tensor_type


def transpose_constant(graph: Graph, value: str, order: Order) -> str:
    """A transposed constant: a view of the old one, under a name of its own."""
    tensor_type = expand_type(graph, value, len(order))
    encoding, added = tensor_type.encoding, tensor_type.rank - graph.types[value].rank
    if encoding is not None and encoding.axis is not None:
        tensor_type = replace(tensor_type, encoding=replace(encoding, axis=encoding.axis + added))
    turned = np.transpose(graph.constants[value].reshape(tensor_type.static_shape()), order)
    return graph.add_constant(graph.fresh_name(value), turned, permute_type(tensor_type, order), of=value)


def permute_type(tensor_type: TensorType, order: Order) -> TensorType:
    """The type after a transpose by ``order``."""
    encoding = tensor_type.encoding
    if encoding is not None and encoding.axis is not None:
        encoding = replace(encoding, axis=order.index(encoding.axis))
    return replace(tensor_type, shape=permute_shape(tensor_type.shape, order), layout=None, encoding=encoding)


def _is_one(dim: Dim) -> bool:
    return isinstance(dim, int) and dim == 1
