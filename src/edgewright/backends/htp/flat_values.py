"""Where HTP keeps values row after row instead of in blocks, which have kernels that round another way."""

from edgewright.backends.cpu.patterns import cast_op
from edgewright.ir.graph import Graph, Node
from edgewright.ir.op import Op
from edgewright.ir.traits import HtpWork
from edgewright.ops.elementwise import ElementWiseAdd, ElementWiseSubtract
from edgewright.ops.matmul import MatMul
from edgewright.ops.norm import LayerNorm
from edgewright.ops.quant import Convert
from edgewright.ops.rearrange import Transpose

# Axes of an image, the most that blocks have, and how lengths are divided into blocks.
IMAGE_AXES, BLOCK, FEWEST, MOST = 4, 8, 16, 64
SWAPPED = (0, 2, 1, 3)
# Of the two operands and the readers of a sum, so many decide.
NEIGHBOURS = 2


def is_flat_operand(graph: Graph, value: str, made: str) -> bool:
    """Whether what is made of a transposed value, element by element, goes to a product of matrices flat."""
    if not any(cast_op(node, MatMul) for node in graph.consumers(made)):
        return False
    maker = graph.producer(value)
    swap = cast_op(maker, Transpose)
    if swap is not None and swap.perm == SWAPPED:
        length = graph.types[value].shape[2]
        return not (isinstance(length, int) and length % BLOCK == 0 and FEWEST <= length < MOST)
    maker = _find_transpose(graph, maker)
    return maker is not None and _has_long_axes(graph, maker)


def is_rounded_once(graph: Graph, value: str, made: str) -> bool:
    """Whether 8 bits times a number are rounded once: flat ones, between products, and before a function."""
    readers, maker = graph.consumers(made), graph.producer(value)
    if any(reader.op.specific().htp_work == HtpWork.CURVE for reader in readers):
        return True
    is_made = maker is not None and maker.op.is_product
    is_between = is_made and any(_has_blocks(reader, ElementWiseAdd) for reader in readers)
    return is_between or is_flat_operand(graph, value, made)


def has_blocked_rows(graph: Graph, value: str) -> bool:
    """Whether turned matrices of 16 bits are computed in blocks before a product: their rows fill these."""
    shape = graph.types[value].shape
    rows = shape[-2] if len(shape) == IMAGE_AXES else 0
    is_filling = isinstance(rows, int) and rows % BLOCK == 0 and rows >= FEWEST
    return is_filling and _find_transpose(graph, graph.producer(value)) is not None


def is_blocked_sum(graph: Graph, node: Node) -> bool:
    """Whether a sum of 16 bits is computed in blocks: two of its neighbours have them."""
    makers = [graph.producer(value) for value in node.inputs]
    readers = [reader for value in node.outputs for reader in graph.consumers(value)]
    makes = [maker is not None and _has_blocks(maker, Convert) for maker in makers]
    return sum(makes) + any(_has_blocks(reader, LayerNorm) for reader in readers) >= NEIGHBOURS


def _has_blocks(node: Node, other: type[Op]) -> bool:
    """Whether a node computes in blocks: products, sums, and one kind of op more."""
    return node.op.is_product or isinstance(node.op.specific(), ElementWiseAdd | ElementWiseSubtract | other)


def _find_transpose(graph: Graph, maker: Node | None) -> Node | None:
    """What has turned a value that was only split and reshaped since."""
    while maker is not None and cast_op(maker, Transpose) is None:
        maker = graph.producer(maker.inputs[0]) if maker.op.keeps_encoding else None
    return maker


def _has_long_axes(graph: Graph, node: Node) -> bool:
    """Whether more axes than an image has are longer than one."""
    return sum(length != 1 for length in graph.types[node.outputs[0]].shape) > IMAGE_AXES
