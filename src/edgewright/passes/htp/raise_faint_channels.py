"""Raises scales of channels that hardly count, whose results HTP computes wrongly.

Sums of 16 bits are brought to steps of the output by a factor for each channel. One of less than 2^-24 makes
every result of its channel the lowest or the highest integer, without an error (SDK 2.51). So does the factor
of a Prelu behind such a product below zero, where the lowest number that the product is stored as is
further away than 2^33 sums.
"""

import numpy as np

from edgewright.core.numbers import Array
from edgewright.ir.dims import Shape
from edgewright.ir.graph import Graph, Node
from edgewright.ops.activation import Prelu
from edgewright.passes.graph_pass import register_pass, rewrite_each
from edgewright.passes.htp.raise_small_scales import WIDE, give_raised_scales

# Of activations, weights, sums and results: weights of 16 bits have factors of their own.
WIDE_KINDS = [True, False, True, True]
LEAST, FURTHEST = 2.0**-24, 2.0**33


@register_pass(after=("raise_small_scales",))
def raise_faint_channels(graph: Graph) -> int:
    """Weights of these channels lose bits that move results by a step or two."""
    return rewrite_each(graph, _raise)


def read_slopes(graph: Graph, name: str, channels: Shape) -> Array | None:
    """The real numbers of a constant that has one for each channel, the last axis, or one for all."""
    encoding, slopes = graph.types[name].encoding, graph.constants.get(name)
    if encoding is None or slopes is None or slopes.shape[-1:] not in ((1,), channels):
        return None
    if slopes.size != slopes.shape[-1]:
        return None
    return encoding.decode(slopes).reshape(-1).astype(np.float64)


def _raise(graph: Graph, node: Node) -> bool:
    if not node.op.is_product or node.inputs[1] not in graph.constants:
        return False
    reader = _find_reader(graph, node)
    kinds = [graph.types[value] for value in (*node.inputs[:2], node.outputs[0], (reader or node).outputs[0])]
    if any(kind.encoding is None for kind in kinds) or [kind.dtype in WIDE for kind in kinds] != WIDE_KINDS:
        return False
    x, weights, sums, y = (kind.encoding for kind in kinds if kind.encoding is not None)
    if weights.block_axis is not None:
        return False
    units = x.scales[0] * np.asarray(weights.scales)
    factors, least = units / y.scales[0], np.full(units.shape, LEAST)
    is_bent = reader is not None and type(reader.op) is Prelu
    slopes = read_slopes(graph, reader.inputs[1], kinds[3].shape[-1:]) if reader and is_bent else None
    if slopes is not None:
        lowest = (np.iinfo(kinds[2].dtype.numpy).min + sums.offsets[0]) * sums.scales[0]
        nearest = max(LEAST, -lowest / FURTHEST / y.scales[0])
        least = np.where(_is_too_flat(factors, slopes), nearest, least)
    return give_raised_scales(graph, node, np.maximum(least / factors, 1.0))


def _find_reader(graph: Graph, node: Node) -> Node | None:
    """The activation that is computed from the sums of a product, which nothing else reads."""
    readers = graph.consumers(node.outputs[0])
    if not graph.is_used_once(node.outputs[0]):
        return None
    op = readers[0].op
    return readers[0] if op.is_clamp or op.is_fused_on_htp else None


def _is_too_flat(factors: Array, slopes: Array) -> Array:
    """For each scale of the weights, whether a slope makes less than the least factor of it."""
    is_flat = factors * np.abs(slopes) < LEAST
    return is_flat if is_flat.size == factors.size else np.full(factors.shape, is_flat.any())
