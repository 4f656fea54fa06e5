"""Large weights of 4 bits as they are: an eighth of the memory of real numbers, and faster for one row."""

import numpy as np

from edgewright.backends.cpu.writer import Writer
from edgewright.core.numbers import Array, DType
from edgewright.ir.encodings import Encoding
from edgewright.ir.graph import Graph, Node
from edgewright.ops.matmul import Product

# From 2048 x 2048 on one row takes 0.6-0.8 of the time of a float product, many rows 1.0-1.6 of it (x86,
# one thread); below, real numbers are faster.
LARGEST_DECODED = (1 << 22) - 1
# The engine's blocks.
BLOCKS = (256, 128, 64, 32, 16)
# Products in float32, not in quantized activations.
ACCURACY = 1


def is_packed(graph: Graph, node: Node) -> bool:
    """Whether a product keeps its right side in 4 bits."""
    weights = node.inputs[1] if isinstance(node.op, Product) else ""
    array, encoding = graph.constants.get(weights), weights and graph.types[weights].encoding
    if array is None or not isinstance(encoding, Encoding) or array.ndim != 2:
        return False
    is_plain = encoding.bitwidth == 4 and graph.types[weights].dtype.is_signed and not any(encoding.offsets)
    return is_plain and array.size > LARGEST_DECODED and _choose_block(node, encoding, array) > 0


def write_packed_product(w: Writer, node: Node, rows: str, dtype: DType) -> str:
    """Rows times the weights, [out, in] or turned, without a bias."""
    array, encoding = w.graph.constants[node.inputs[1]], w.graph.types[node.inputs[1]].encoding
    assert encoding is not None
    block, inner = _choose_block(node, encoding, array), _find_summed_axis(node)
    units, width = array.shape[1 - inner], array.shape[inner]
    scales = encoding.scales_of(array.shape).astype(np.float32)
    each = np.broadcast_to(scales if inner else scales.T, (units, width))[:, ::block]
    product = w.node(
        "MatMulNBits",
        rows if dtype == DType.FLOAT_32 else w.node("Cast", rows, to=w.code(DType.FLOAT_32)),
        w.constant(_pack_nibbles(array if inner else array.T, block)),
        w.constant(np.ascontiguousarray(each).reshape(-1)),
        domain="com.microsoft",
        K=width,
        N=units,
        bits=4,
        block_size=block,
        accuracy_level=ACCURACY,
    )
    return product if dtype == DType.FLOAT_32 else w.node("Cast", product, to=w.code(dtype))


def _find_summed_axis(node: Node) -> int:
    """The axis of the weights that is summed over."""
    return 1 if node.op.has_rows else 0


def _choose_block(node: Node, encoding: Encoding, array: Array) -> int:
    """The largest block of the engine with one scale; 0 where there is none."""
    inner = _find_summed_axis(node)
    if encoding.axis == inner or encoding.block_axis == 1 - inner:
        return 0
    size = encoding.block_size if encoding.block_axis is not None else array.shape[inner]
    return next((b for b in BLOCKS if size % b == 0 and array.shape[inner] % b == 0), 0)


def _pack_nibbles(array: Array, block: int) -> Array:
    """Two numbers a byte, the first one low, from 0 on."""
    packed: Array = (array[:, 0::2] + 8).astype(np.uint8)
    packed |= (array[:, 1::2] + 8).astype(np.uint8) << 4
    return packed.reshape(array.shape[0], -1, block // 2)
