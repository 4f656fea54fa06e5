"""Gives the bias of per-channel weights the encoding that HTP takes for granted."""

import numpy as np

from edgewright.core.numbers import Array, DType
from edgewright.ir.encodings import Encoding
from edgewright.ir.graph import Graph, Node
from edgewright.ir.types import TensorType
from edgewright.passes.graph_pass import register_pass, rewrite_each

# Scales that are no further apart are taken for the same: HTP reads stored numbers alone.
SAME = 1e-6


@register_pass()
def fit_biases(graph: Graph) -> int:
    """The bias has 32 bits and input scale x channel scale, as the sums that it is added to.

    Another int32 encoding is silently ignored there, an 8-bit bias is refused unless its offset is 0
    (measured, SDK 2.51).
    """
    return rewrite_each(graph, _fit)


def _fit(graph: Graph, node: Node) -> bool:
    if len(node.inputs) < 3 or not all(node.inputs[:3]) or node.inputs[2] not in graph.constants:
        return False
    scales = _sum_scales(graph.types[node.inputs[0]], graph.types[node.inputs[1]])
    bias = graph.types[node.inputs[2]]
    if bias.encoding is None or bias.shape != (len(scales),):
        return False
    encoding = Encoding(scales, (0,) * len(scales), 0, 32)
    if bias.dtype == DType.SFIXED_POINT_32 and _is_alike(bias.encoding, encoding):
        return False
    stored = _store_bias(graph.constants[node.inputs[2]], bias.encoding, encoding)
    fitted = TensorType(bias.shape, DType.SFIXED_POINT_32, bias.layout, encoding)
    name = graph.add_constant(graph.fresh_name(node.inputs[2]), stored, fitted, of=node.inputs[2])
    graph.set_input(node, 2, name)
    return True


def _sum_scales(given: TensorType, weights: TensorType) -> tuple[float, ...]:
    """The scale of each channel's sum; none where the weights have no scale for each channel."""
    if given.encoding is None or weights.encoding is None or given.encoding.axis is not None:
        return ()
    if weights.encoding.axis is None:
        return ()
    return tuple(given.encoding.scales[0] * scale for scale in weights.encoding.scales)


def _is_alike(stored: Encoding, fitted: Encoding) -> bool:
    return stored.axis == fitted.axis and np.allclose(stored.scales, fitted.scales, rtol=SAME)


def _store_bias(given: Array, stored: Encoding, fitted: Encoding) -> Array:
    real = (given.astype(np.float64) + np.asarray(stored.offsets)) * np.asarray(stored.scales)
    limits = np.iinfo(np.int32)
    whole: Array = np.clip(np.rint(real / np.asarray(fitted.scales)), limits.min, limits.max).astype(np.int32)
    return whole
