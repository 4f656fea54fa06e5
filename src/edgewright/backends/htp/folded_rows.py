"""Rows that HTP folds into an image to add them: a product behind the sum rounds before its activation."""

from edgewright.backends.htp.gated_sums import has_same_image
from edgewright.backends.htp.requantize import is_byte
from edgewright.ir.graph import Graph, Node
from edgewright.ops.elementwise import ElementWiseAdd
from edgewright.ops.matmul import FullyConnected

# So many places of one row, and no fewer than twice as many, are folded; longer rows always are.
WIDTH, LONGEST = 8, 256


def is_reading_folded_sum(graph: Graph, node: Node) -> bool:
    """Whether a product of bytes reads a sum of two activations, clamped or not, that was folded."""
    kind = graph.types[node.inputs[0]]
    if type(node.op) is not FullyConnected or not is_byte(kind) or not kind.is_static:
        return False
    *images, places, _ = kind.static_shape()
    is_one_row = not images or images[-1] == 1
    if not is_one_row or not (places > LONGEST or (places >= 2 * WIDTH and places % WIDTH == 0)):
        return False
    maker = graph.producer(node.inputs[0])
    while maker is not None and (maker.op.is_clamp or has_same_image(graph, maker)):
        maker = graph.producer(maker.inputs[0])
    if maker is None or type(maker.op) is not ElementWiseAdd:
        return False
    return not any(value in graph.constants for value in maker.inputs)
