"""Which fixed-point nodes the engine computes in integers: all others read their weights as real numbers."""

import numpy as np

from edgewright.core.numbers import DType
from edgewright.ir.graph import Graph, Node
from edgewright.ir.types import TensorType
from edgewright.ops.conv import Convolution
from edgewright.ops.elementwise import ElementWiseAdd, ElementWiseMultiply, ElementWiseSelect
from edgewright.ops.matmul import Product
from edgewright.ops.rearrange import Concat

# How far scales may be apart that are meant to be one: they are stored in single precision.
_SAME_SCALE = 1e-4
# Of the ops that may have weights: QLinearConv, QLinearMatMul, QGemm, QLinearAdd, QLinearMul, QLinearWhere,
# QLinearConcat.
INTEGER_OPS = (Concat, Convolution, ElementWiseAdd, ElementWiseMultiply, ElementWiseSelect, Product)


def has_integer_kernel(graph: Graph, node: Node) -> bool:
    """Whether the engine makes one integer kernel of decoding, computing and encoding."""
    if not isinstance(node.op, INTEGER_OPS) or _multiplies_stack(graph, node) or _has_odd_bias(graph, node):
        return False
    return all(_is_narrow(graph.types[v], v in graph.constants) for v in (*node.inputs, *node.outputs) if v)


def _multiplies_stack(graph: Graph, node: Node) -> bool:
    """Whether a product has several matrices of weights with scales of their rows: no kernel takes those."""
    constants = [graph.types[v] for v in node.inputs[:2] if v in graph.constants]
    return isinstance(node.op, Product) and any(
        t.rank > 2 and t.encoding is not None and t.encoding.axis is not None for t in constants
    )


def _has_odd_bias(graph: Graph, node: Node) -> bool:
    """Whether a 32-bit bias has another scale than the products: the engine's kernels take it for theirs."""
    bias = graph.types.get(node.inputs[2]) if len(node.inputs) > 2 and node.inputs[2] else None
    if not node.op.is_product or bias is None or bias.dtype != DType.SFIXED_POINT_32:
        return False
    scales = [np.asarray(t.encoding.scales) for v in node.inputs[:2] if (t := graph.types[v]).encoding]
    if len(scales) < 2 or bias.encoding is None:
        return False
    own, products = np.asarray(bias.encoding.scales), scales[0] * scales[1]
    return not (own.size in {1, products.size} and np.allclose(own, products, rtol=_SAME_SCALE, atol=0))


def _is_narrow(tensor_type: TensorType, is_constant: bool) -> bool:
    encoding = tensor_type.encoding
    if encoding is None or encoding.block_axis is not None:
        # The condition of a choice, not what it chooses from.
        return tensor_type.dtype == DType.BOOL_8
    return tensor_type.dtype.bits <= 8 or (is_constant and tensor_type.dtype == DType.SFIXED_POINT_32)
