"""Raises scales of channels so small that HTP's 32 bits run over in the others.

Filters of each channel that halve an image are summed whole there. Sums of all channels are brought to the
unit of the smallest one, and what needs more bits than that comes out as 0, without an error (SDK 2.51).
"""

from dataclasses import dataclass, replace

import numpy as np

from edgewright.core.numbers import Array, DType
from edgewright.ir.dims import Dim
from edgewright.ir.graph import Graph, Node
from edgewright.ops.conv import DepthWiseConv2d
from edgewright.passes.graph_pass import register_pass, rewrite_each

WIDE = frozenset({DType.SFIXED_POINT_16, DType.UFIXED_POINT_16})
# Strides and places along an axis of kernels that multiply whole sums.
HALVING, WHOLE_SIZES = (2, 2), range(3, 8)
# A channel with a smaller factor than the first makes HTP cut all sums instead; with the second one, sums of
# up to eight times the range of the output fit.
LEAST_BITS, ENOUGH_BITS, SUM_BITS = -16, -13, 31
# So do the first of these kernels, and mostly the second one where there are more channels than these and a
# scale so many times below the largest.
CUT_SIZE, UNEVEN_SIZE, FEW_CHANNELS, MOST_UNEVEN = (4, 4), (3, 3), 32, 64.0


@dataclass(frozen=True)
class WholeSums:
    """A depthwise convolution of 16 bits whose sums HTP multiplies whole.

    ``factors`` bring each channel's sums to steps of the output, ``reach`` is how large the sums can be.
    Where channels are uneven they are mostly cut; when they are not is unknown.
    """

    factors: Array
    reach: Array
    is_uneven: bool

    @property
    def bits(self) -> Array:
        """The powers of two at or below the factors."""
        return np.floor(np.log2(self.factors))

    def can_wrap(self, least: float) -> bool:
        """Whether sums in the unit of a channel with so many bits can need more than there are."""
        return bool(np.any(self.reach * np.exp2(np.maximum(self.bits, least) - least) >= 2.0**SUM_BITS))


@register_pass(after=("grow_filters",))
def raise_small_scales(graph: Graph) -> int:
    """Weights of these channels lose up to three bits, where they hardly count beside the others."""
    return rewrite_each(graph, _raise)


def has_whole_sums(stride: tuple[int, ...], size: tuple[int, ...], *, is_wide: bool) -> bool:
    """Whether HTP multiplies sums of each channel whole: of 16 bits those of square kernels."""
    is_square = len(set(size)) == 1
    return stride == HALVING and all(places in WHOLE_SIZES for places in size) and (is_square or not is_wide)


def has_own_filters(channels: Dim, filters: int) -> bool:
    """Whether each of several channels has one filter; others are no depthwise convolutions to HTP."""
    return channels == filters > 1


def find_whole_sums(graph: Graph, node: Node) -> WholeSums | None:
    """What is known of such a convolution; None for any other node."""
    if not isinstance(node.op, DepthWiseConv2d) or node.inputs[1] not in graph.constants:
        return None
    x, weights, y = (graph.types[value] for value in (*node.inputs[:2], node.outputs[0]))
    stored = graph.constants[node.inputs[1]]
    is_whole = has_whole_sums(node.op.stride, stored.shape[:2], is_wide=x.dtype in WIDE)
    if x.dtype not in WIDE or y.dtype not in WIDE or not is_whole:
        return None
    if not has_own_filters(x.shape[-1], stored.shape[-1]):
        return None
    if x.encoding is None or y.encoding is None or weights.encoding is None:
        return None
    scales = np.broadcast_to(np.asarray(weights.encoding.scales, np.float32), stored.shape[-1])
    factors = np.float32(x.encoding.scales[0]) * scales / np.float32(y.encoding.scales[0])
    factors = factors.astype(np.float64)
    if stored.shape[:2] == CUT_SIZE or factors.min() < 2.0**LEAST_BITS:
        return None
    lowest, highest = (limit + x.encoding.offsets[0] for limit in _list_limits(x.dtype))
    filters = (stored.astype(np.float64) + weights.encoding.offsets).reshape(-1, stored.shape[-1])
    above = np.maximum(filters * lowest, filters * highest).sum(axis=0)
    below = np.minimum(filters * lowest, filters * highest).sum(axis=0)
    added = _find_bias(graph, node, x.encoding.scales[0] * scales) - y.encoding.offsets[0] / factors
    reach = np.maximum(np.abs(above + added), np.abs(below + added))
    return WholeSums(factors, reach, _is_uneven(stored.shape[:2], scales))


def _is_uneven(size: tuple[int, ...], scales: Array) -> bool:
    is_apart = scales.max() > MOST_UNEVEN * scales.min()
    return size == UNEVEN_SIZE and scales.size > FEW_CHANNELS and bool(is_apart)


def _raise(graph: Graph, node: Node) -> bool:
    sums = find_whole_sums(graph, node)
    if sums is None or not sums.can_wrap(sums.bits.min()):
        return False
    steps = np.arange(sums.bits.min() + 1, ENOUGH_BITS + 1)
    enough = next((bits for bits in steps if not sums.can_wrap(bits)), ENOUGH_BITS)
    return give_raised_scales(graph, node, np.maximum(np.exp2(enough) / sums.factors, 1.0))


def give_raised_scales(graph: Graph, node: Node, raised: Array) -> bool:
    """Gives a product weights whose scales are so many times larger; False where all stay as they are."""
    # A little more, for the factor is rounded.
    raised = np.where(raised > 1, raised * (1 + 2.0**-20), 1.0)
    if np.all(raised == 1):
        return False
    weights = node.inputs[1]
    kind, stored = graph.types[weights], graph.constants[weights]
    assert kind.encoding is not None
    # Where all channels have one scale, they are raised alike.
    scales = np.asarray(kind.encoding.scales) * raised[: len(kind.encoding.scales)]
    coarse = replace(kind.encoding, scales=tuple(scales.tolist()))
    filters = coarse.encode(kind.encoding.decode(stored), kind.dtype)
    name = graph.add_constant(graph.fresh_name(weights), filters, replace(kind, encoding=coarse), of=weights)
    graph.set_input(node, 1, name)
    _raise_bias(graph, node, scales)
    return True


def _raise_bias(graph: Graph, node: Node, scales: Array) -> None:
    """The bias in units of the new sums, where it was in those of the old ones."""
    name = node.inputs[2] if len(node.inputs) > 2 else ""
    kind, x = graph.types.get(name), graph.types[node.inputs[0]].encoding
    if name not in graph.constants or kind is None or kind.encoding is None or kind.encoding.axis is None:
        return
    assert x is not None
    sums = np.broadcast_to(x.scales[0] * scales, len(kind.encoding.scales))
    real = graph.constants[name].astype(np.float64) * np.asarray(kind.encoding.scales)
    fitted = replace(kind, encoding=replace(kind.encoding, scales=tuple(sums.tolist())))
    # What fills its type may be a little more in single precision.
    stored = np.clip(np.rint(real / sums), *_list_limits(kind.dtype)).astype(kind.dtype.numpy)
    graph.set_input(node, 2, graph.add_constant(graph.fresh_name(name), stored, fitted, of=name))


def _find_bias(graph: Graph, node: Node, sums: Array) -> Array:
    """The bias in units of the sums."""
    name = node.inputs[2] if len(node.inputs) > 2 else ""
    encoding = graph.types[name].encoding if name in graph.constants else None
    if encoding is None:
        return np.zeros(sums.size)
    real = (graph.constants[name].astype(np.float64) + encoding.offsets) * np.asarray(encoding.scales)
    return np.asarray(real / sums)


def _list_limits(dtype: DType) -> tuple[int, int]:
    limits = np.iinfo(dtype.numpy)
    return int(limits.min), int(limits.max)
