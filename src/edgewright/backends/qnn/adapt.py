"""What HTP asks of a graph beyond QNN's own rules: applied to a copy, right before it is built."""

import numpy as np

from edgewright.core.numbers import Array, DType
from edgewright.ir.encodings import Encoding
from edgewright.ir.graph import Graph, Node
from edgewright.ir.types import TensorType

__all__ = ["fit_biases"]


def fit_biases(graph: Graph) -> int:
    """Gives the bias of weights with a scale for each channel the products' own scales, in 32 bits.

    HTP takes input scale x channel scale for granted there: another int32 encoding is ignored without a word,
    an 8-bit bias is refused unless its offset is 0 (measured, SDK 2.51).
    """
    return sum(_fit(graph, node) for node in graph.nodes)


def _fit(graph: Graph, node: Node) -> bool:
    if len(node.inputs) < 3 or not node.inputs[2] or node.inputs[2] not in graph.constants:
        return False
    given, weights, bias = (graph.types[value] for value in node.inputs[:3])
    if given.encoding is None or given.encoding.axis is not None or bias.encoding is None:
        return False
    if weights.encoding is None or weights.encoding.axis is None or weights.encoding.block_axis is not None:
        return False
    scales = tuple(given.encoding.scales[0] * scale for scale in weights.encoding.scales)
    if bias.shape != (len(scales),):
        return False
    wanted = Encoding(scales, (0,) * len(scales), 0, 32)
    if bias.dtype == DType.SFIXED_POINT_32 and _is_alike(bias.encoding, wanted):
        return False
    stored = _stored(graph.constants[node.inputs[2]], bias.encoding, wanted)
    fitted = TensorType(bias.shape, DType.SFIXED_POINT_32, bias.layout, wanted)
    name = graph.add_constant(graph.fresh_name(node.inputs[2]), stored, fitted, of=node.inputs[2])
    graph.set_input(node, 2, name)
    return True


def _is_alike(found: Encoding, wanted: Encoding) -> bool:
    return found.axis == wanted.axis and np.allclose(found.scales, wanted.scales, rtol=1e-6)


def _stored(given: Array, found: Encoding, wanted: Encoding) -> Array:
    real = (given.astype(np.float64) + np.asarray(found.offsets)) * np.asarray(found.scales)
    limits = np.iinfo(np.int32)
    whole: Array = np.clip(np.rint(real / np.asarray(wanted.scales)), limits.min, limits.max).astype(np.int32)
    return whole
