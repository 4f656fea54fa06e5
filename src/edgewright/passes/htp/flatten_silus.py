"""Computes SiLU of 16 bits behind layers row after row where HTP's kernel for images gives nonsense.

That kernel works on eight rows and eight columns at a time. It reads what another place holds for images of 9
to 12 rows, and for higher ones of up to 8 columns (SDK 2.51, Hexagon v73 to v81), without an error.
"""

from dataclasses import replace
from math import prod

from edgewright.core.numbers import DType
from edgewright.ir.graph import Graph, Node
from edgewright.ir.op import Op
from edgewright.ir.types import TensorType
from edgewright.ops.activation import Sigmoid
from edgewright.ops.elementwise import ElementWiseMultiply
from edgewright.ops.rearrange import Reshape
from edgewright.passes.graph_pass import register_pass, rewrite_each
from edgewright.passes.match import drop_unread, swap_operands

IMAGE_AXES, BLOCK, FEW_ROWS = 4, 8, 12
WIDE = frozenset({DType.SFIXED_POINT_16, DType.UFIXED_POINT_16})


@register_pass(after=("widen_conv_1d",))
def flatten_silus(graph: Graph) -> int:
    """The places of an image become the columns of one row, which the kernel computes rightly."""
    return rewrite_each(graph, _flatten)


def _flatten(graph: Graph, node: Node) -> bool:
    x = _find_gated(graph, node)
    if not x or not _is_stored_by_layer(graph, x):
        return False
    kind = graph.types[x]
    if kind.dtype not in WIDE or not kind.is_static or kind.rank != IMAGE_AXES:
        return False
    shape = kind.static_shape()
    if not _is_wrong(*shape[1:3]):
        return False
    sigmoid = next(maker for value in node.inputs if value != x and (maker := graph.producer(value)))
    (share,), (made,) = graph.output_types(sigmoid), graph.output_types(node)
    flat, old = (1, 1, prod(shape[:3]), shape[3]), list(node.inputs)
    graph.remove(node)
    row = _add(graph, node, Reshape(shape=flat), [x], replace(kind, shape=flat))
    gate = _add(graph, node, sigmoid.op, [row], replace(share, shape=flat))
    product = _add(graph, node, node.op, [row, gate], replace(made, shape=flat))
    graph.add(Node(node.name, Reshape(shape=shape), [product], node.outputs, node.source), [made])
    drop_unread(graph, *old)
    return True


def _find_gated(graph: Graph, node: Node) -> str:
    """The value that is multiplied with its own sigmoid; "" for any other node."""
    if not isinstance(node.op.specific(), ElementWiseMultiply):
        return ""
    for x, share in swap_operands(node):
        maker = graph.producer(share)
        if maker is not None and isinstance(maker.op.specific(), Sigmoid) and maker.inputs[0] == x:
            return x
    return ""


def _is_stored_by_layer(graph: Graph, value: str) -> bool:
    """Whether a layer has made a value, or the clamp behind one."""
    maker = graph.producer(value)
    if maker is not None and maker.op.specific().is_clamp:
        maker = graph.producer(maker.inputs[0])
    return maker is not None and maker.op.is_product


def _is_wrong(height: int, width: int) -> bool:
    return height > BLOCK and (height <= FEW_ROWS or width <= BLOCK)


def _add(graph: Graph, node: Node, op: Op, inputs: list[str], kind: TensorType) -> str:
    """A node that does a part of this one's work; the name of its result."""
    name = graph.fresh_name(node.outputs[0])
    graph.add(Node(graph.fresh_name(f"{node.name}_row"), op, inputs, [name], node.source), [kind])
    return name
