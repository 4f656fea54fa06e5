"""Where HTP keeps values row after row instead of in blocks, which have kernels that round another way."""

from collections.abc import Callable

from edgewright.backends.cpu.patterns import cast_op
from edgewright.backends.htp.library_op import LibraryOp
from edgewright.backends.htp.requantize import is_byte
from edgewright.ir.graph import Graph, Node
from edgewright.ir.op import Op
from edgewright.ir.traits import HtpWork
from edgewright.ops.activation import Sigmoid
from edgewright.ops.elementwise import ElementWiseAdd, ElementWiseSubtract
from edgewright.ops.matmul import MatMul
from edgewright.ops.norm import LayerNorm
from edgewright.ops.quant import Convert
from edgewright.ops.rearrange import Reshape, Transpose
from edgewright.ops.reduce_softmax import Softmax

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
    if maker is not None and (maker.op.is_clamp or maker.op.is_fused_on_htp):
        maker = graph.producer(maker.inputs[0])
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


def is_made_in_blocks(graph: Graph, value: str) -> bool:
    """Whether a product or a Convert from 8 bits makes a value, which may have been moved since."""
    maker = graph.producer(_pass_back(graph, value, _is_move))
    return maker is not None and (maker.op.is_product or _is_widening(graph, maker))


def is_cut_from_blocks(graph: Graph, value: str) -> bool:
    """Whether a convolution has made a value, which was only turned or cut since, and not reshaped."""
    maker = graph.producer(value)
    while maker is not None and maker.op.keeps_encoding and cast_op(maker, Reshape) is None:
        maker = graph.producer(maker.inputs[0])
    if maker is None or not maker.op.is_product or maker.inputs[1] not in graph.constants:
        return False
    return graph.types[maker.inputs[1]].rank == IMAGE_AXES


def is_scaled_in_blocks(graph: Graph, value: str, made: str) -> bool:
    """Whether 16 bits times a number are: such a value or a function of it, and what another block reads."""
    is_blocked = has_blocked_rows(graph, value)
    for node in graph.consumers(made):
        # Turned rows that fill blocks are multiplied before a product of matrices as they are.
        is_read = node.op.is_product and not (is_blocked and _is_kind(node, MatMul))
        if is_read or _is_kind(node, LayerNorm):
            return True
    if graph.types[value].rank == IMAGE_AXES:
        return is_made_in_blocks(graph, _pass_back(graph, value, _is_function))
    # Rows leave their blocks for some functions.
    maker = graph.producer(_pass_back(graph, value, _is_row_function))
    is_product = maker is not None and maker.op.is_product
    return is_product or is_made_in_blocks(graph, _pass_back(graph, value, _is_sigmoid))


def _pass_back(graph: Graph, value: str, is_passed: Callable[[Node], bool]) -> str:
    """The value before such ops."""
    while (maker := graph.producer(value)) is not None and is_passed(maker):
        value = maker.inputs[0]
    return value


def _is_move(node: Node) -> bool:
    return _is_kind(node, Reshape, Transpose)


def _is_function(node: Node) -> bool:
    return _is_move(node) or node.op.is_clamp or node.op.specific().htp_work == HtpWork.CURVE


def _is_row_function(node: Node) -> bool:
    return _is_function(node) and not node.op.is_gated_on_htp


def _is_sigmoid(node: Node) -> bool:
    return _is_kind(node, Sigmoid)


def _is_widening(graph: Graph, node: Node) -> bool:
    return cast_op(node, Convert) is not None and is_byte(graph.types[node.inputs[0]])


def is_divided_in_blocks(graph: Graph, value: str, made: str) -> bool:
    """Whether 16 bits over a number are: what a Softmax reads, and images that other blocks read."""
    readers, maker = graph.consumers(made), graph.producer(value)
    is_read = any(node.op.is_product or _is_kind(node, LayerNorm) for node in readers)
    sums = [value for node in readers if _is_kind(node, ElementWiseAdd) for value in node.outputs]
    if graph.types[made].rank < IMAGE_AXES:
        is_read = is_read and maker is not None and maker.op.is_product
    else:
        readers = [*readers, *(node for value in sums for node in graph.consumers(value))]
    return is_read or any(_is_kind(node, Softmax) for node in readers)


def is_blocked_sum(graph: Graph, node: Node) -> bool:
    """Whether a sum of 16 bits is computed in blocks: two of its neighbours have them."""
    makers = [graph.producer(value) for value in node.inputs]
    readers = [reader for value in node.outputs for reader in graph.consumers(value)]
    makes = [maker is not None and _has_blocks(maker, Convert) for maker in makers]
    return sum(makes) + any(_has_blocks(reader, LayerNorm) for reader in readers) >= NEIGHBOURS


def _has_blocks(node: Node, other: type[Op]) -> bool:
    """Whether a node computes in blocks: products, sums, and one kind of op more."""
    return node.op.is_product or _is_kind(node, ElementWiseAdd, ElementWiseSubtract, other)


def _is_kind(node: Node, *kinds: type[Op]) -> bool:
    """Whether a node is one of these ops, or what the library makes of one."""
    op = node.op.op if isinstance(node.op, LibraryOp) else node.op
    return isinstance(op.specific(), kinds)


def _find_transpose(graph: Graph, maker: Node | None) -> Node | None:
    """What has turned a value that was only split and reshaped since."""
    while maker is not None and cast_op(maker, Transpose) is None:
        maker = graph.producer(maker.inputs[0]) if maker.op.keeps_encoding else None
    return maker


def _has_long_axes(graph: Graph, node: Node) -> bool:
    """Whether more axes than an image has are longer than one."""
    return sum(length != 1 for length in graph.types[node.outputs[0]].shape) > IMAGE_AXES
