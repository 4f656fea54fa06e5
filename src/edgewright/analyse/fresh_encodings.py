"""What encodings of a quantized graph would be if they were made afresh: same data, same way, same form."""

from collections.abc import Mapping, Sequence

import numpy as np

from edgewright.backends.executor import CpuExecutor
from edgewright.core.numbers import Array
from edgewright.ir.encodings import Encoding
from edgewright.ir.graph import Graph
from edgewright.ir.types import TensorType
from edgewright.quantize.encodings import Grid, compute_covered_range, encode_blocks
from edgewright.quantize.observers.extremes import Extremes
from edgewright.quantize.quantizer import quantize_graph
from edgewright.quantize.request import QuantizationRequest
from edgewright.quantize.roles import find_roles

Feeds = Sequence[Mapping[str, Array]]
# Ways to choose ranges, the plain one first: the one that the model's ranges are closest to is compared with.
# The last one chooses among the others, at the price of all of them.
SCHEMES = ("tf", "mse", "percentile", "entropy", "enhanced", "symmetric", "auto")
# Ranges that agree so well come from the same scheme and data; where few do not, the scheme is known.
SAME_RANGE, FEW_STRANGERS = 0.005, 0.05


def quantize_afresh(source: Graph, quantized: Graph, feeds: Feeds, first: str) -> Graph:
    """The float graph quantized in the way that most ranges of the quantized one agree with."""
    best: tuple[float, Graph] | None = None
    for scheme in dict.fromkeys((first, *SCHEMES)):
        graph = quantize_graph(source, _make_request(quantized, scheme), feeds, CpuExecutor()).graph
        strangers = _count_other_ranges(quantized, graph)
        if best is None or strangers < best[0]:
            best = (strangers, graph)
        if strangers <= FEW_STRANGERS:
            break
    assert best is not None
    return best[1]


def fit_activation(kind: TensorType, fresh: TensorType) -> Encoding:
    """A fresh range in the bits that a value has."""
    assert kind.encoding is not None
    assert fresh.encoding is not None
    if (kind.dtype, kind.encoding.bitwidth) == (fresh.dtype, fresh.encoding.bitwidth):
        return fresh.encoding
    grid = Grid(kind.encoding.bitwidth, is_symmetric=kind.dtype.is_signed)
    return grid.encode_range(*find_range(fresh))


def fit_constant(real: Array, kind: TensorType, fresh: TensorType | None) -> Encoding | None:
    """The fresh encoding of a constant, or one of all its values, in the form that it has.

    None for forms that have no fresh counterpart.
    """
    encoding = kind.encoding
    assert encoding is not None
    if fresh is not None and fresh.encoding is not None and _has_same_form(kind, fresh):
        return fresh.encoding
    if encoding.block_size:
        if not encoding.block_scales or encoding.axis is None or encoding.block_axis is None:
            return None
        return encode_blocks(real, encoding.axis, encoding.block_axis, encoding.block_size)
    extremes = Extremes.of(real, encoding.axis)
    grid = Grid(encoding.bitwidth, is_symmetric=kind.dtype.is_signed and not any(encoding.offsets))
    return grid.encode_range(extremes.low, extremes.high, encoding.axis)


def find_range(kind: TensorType) -> tuple[float, float]:
    """The least and the largest number that a type can hold."""
    assert kind.encoding is not None
    low, high = compute_covered_range(kind.encoding, kind.dtype)
    return float(np.min(low)), float(np.max(high))


def has_single_range(kind: TensorType) -> bool:
    """Whether a type of fixed shape has one encoding for all its elements."""
    return kind.encoding is not None and len(kind.encoding.scales) == 1 and kind.is_static


def _make_request(quantized: Graph, scheme: str) -> QuantizationRequest:
    """Widths as most tensors have them."""
    made = [quantized.types[value] for node in quantized.nodes for value in node.outputs if value]
    bits = [kind.encoding.bitwidth for kind in made if kind.encoding is not None]
    wide = sum(width == 16 for width in bits) > len(bits) / 2
    weights = [
        (quantized.types[node.inputs[place]], roles.axis)
        for node in quantized.nodes
        for roles in [find_roles(quantized, node)]
        for place in roles.weights
    ]
    known = [(kind.encoding, kind.shape[axis or 0]) for kind, axis in weights if kind.encoding is not None]
    # One channel has the same encoding either way.
    sliceable = [encoding for encoding, channels in known if channels != 1]
    widths = [encoding.bitwidth for encoding, _ in known]
    weight_bits = max(sorted(set(widths)), key=widths.count) if widths else 8
    return QuantizationRequest(
        act_bw=16 if wide else 8,
        weight_bw=weight_bits if weight_bits in {4, 8, 16} else 8,
        act_quantizer=scheme,
        per_channel=sum(encoding.axis is not None for encoding in sliceable) * 2 > len(sliceable),
        uniform=scheme != "auto",
    )


def _count_other_ranges(quantized: Graph, reference: Graph) -> float:
    """The share of tensors whose ranges have another width."""
    ratios = []
    for node in quantized.nodes:
        for value in filter(None, node.outputs):
            kinds = [graph.types.get(value) for graph in (quantized, reference)]
            if all(kind is not None and has_single_range(kind) for kind in kinds):
                widths = [max(high - low, 1e-30) for low, high in map(find_range, filter(None, kinds))]
                ratios.append(abs(widths[0] / widths[1] - 1) > SAME_RANGE)
    return float(np.mean(ratios)) if ratios else 1.0


def _has_same_form(kind: TensorType, fresh: TensorType) -> bool:
    one, other = kind.encoding, fresh.encoding
    assert one is not None
    assert other is not None
    is_sliced_alike = one.axis == other.axis or len(one.scales) == len(other.scales) == 1
    forms = [
        (given.dtype, encoding.bitwidth, len(encoding.scales), encoding.block_size)
        for given, encoding in ((kind, one), (fresh, other))
    ]
    return is_sliced_alike and forms[0] == forms[1]
