"""Batchnorm and LayerNorm, as HTP rounds them."""

from typing import cast

import numpy as np

from edgewright.backends.cpu.byte_norms import ByteNorm
from edgewright.backends.cpu.sums import BYTE, Step, SumForm
from edgewright.backends.htp.requantize import COARSE_BITS, cut_sums, is_byte, multiplier
from edgewright.backends.htp.wide_norms import TINY, spread_numbers
from edgewright.backends.htp.wide_products import WIDE_BITS, store_parts
from edgewright.core.numbers import Array, DType
from edgewright.ir.encodings import Encoding
from edgewright.ir.graph import Graph, Node
from edgewright.ir.op import given
from edgewright.ops.norm import LayerNorm

LARGEST = 127
# What means of a LayerNorm are cut to, and the factors of its rows.
MEAN_UNIT, FACTOR_UNIT = 1 / 64, 1 / 65536


def scale_channels(graph: Graph, node: Node) -> SumForm | None:
    """Weights beyond a signed byte become its largest number, with a scale of their own."""
    types = [graph.types[value] for value in (*node.inputs[:2], node.outputs[0])]
    x, weights, y = (kind.encoding for kind in types)
    bias = _read_bias(graph, node)
    if not all(map(is_byte, types)) or x is None or weights is None or y is None or bias is None:
        return None
    if node.inputs[1] not in graph.constants:
        return None
    stored = graph.constants[node.inputs[1]].astype(np.float64) + weights.offsets[0]
    is_large = np.abs(stored) > LARGEST
    scales = np.where(is_large, np.abs(stored) / LARGEST, 1.0) * np.float32(weights.scales[0])
    factor = multiplier(x.scales[0], scales, y.scales[0], COARSE_BITS)
    if factor is None:
        return None
    whole = np.where(is_large, np.sign(stored) * LARGEST, stored) * factor.cut
    constants = {node.inputs[1]: whole.astype(np.float32)}
    name = given(node.inputs, 2)
    if name:
        units = np.float32(x.scales[0]) * scales.astype(np.float32)
        constants[name] = (np.trunc(bias.astype(np.float32) / units) * factor.cut).astype(np.float32)
    steps = cut_sums(factor.value / factor.cut)
    return SumForm({node.inputs[0]: Encoding((1.0,), x.offsets)}, constants, steps)


def scale_channels_wide(graph: Graph, node: Node) -> SumForm | None:
    """Of 16 bits, weights included: products in whole units of high bytes, all that is added as well."""
    types = [graph.types[value] for value in (*node.inputs[:2], node.outputs[0])]
    x, weights, y = (kind.encoding for kind in types)
    bias = _read_bias(graph, node)
    if x is None or weights is None or y is None or bias is None or node.inputs[1] not in graph.constants:
        return None
    if types[1].dtype != DType.SFIXED_POINT_16 or any(weights.offsets) or weights.axis is not None:
        return None
    factor = multiplier(x.scales[0], np.asarray(weights.scales), y.scales[0], WIDE_BITS)
    if factor is None:
        return None
    stored, unit = graph.constants[node.inputs[1]].astype(np.float64), BYTE * BYTE
    added = -np.floor(-x.offsets[0] * stored / unit + 0.5)
    if bias.size:
        added = added + np.floor(bias / (x.scales[0] * weights.scales[0] * unit) + 0.5)
    products = (Step("Cast", to=DType.FLOAT_64), Step("Mul", stored / unit), Step("Floor"))
    # The op itself changes nothing: its products need more bits than float32 has.
    numbers = dict(zip(node.inputs[1:], (1, 0), strict=False))
    constants = {name: np.full(stored.shape, number, np.float32) for name, number in numbers.items() if name}
    steps = (*products, *store_parts(factor, added, unit))
    return SumForm({node.inputs[0]: Encoding((1.0,), (0,))}, constants, steps)


def normalize_rows(graph: Graph, node: Node) -> SumForm | None:
    """LayerNorm with constant weights of 8 bits and a constant bias, which is a whole number of steps."""
    names = node.inputs
    if given(names, 1) not in graph.constants or not given(names, 2):
        return None
    x, weights, y = (graph.types[value].encoding for value in (*names[:2], node.outputs[0]))
    bias = _read_bias(graph, node)
    if x is None or weights is None or y is None or bias is None or not is_byte(graph.types[names[1]]):
        return None
    norm, rank = cast("LayerNorm", node.op), graph.types[names[0]].rank
    stored = graph.constants[names[1]].astype(np.float64) + weights.offsets[0]
    rows = ByteNorm(
        norm.axes,
        max(norm.epsilon, TINY) / x.scales[0] ** 2,
        weights.scales[0] / y.scales[0],
        spread_numbers(stored, norm.axes, rank),
        spread_numbers(np.rint(bias / y.scales[0]) + 0.5, norm.axes, rank),
        MEAN_UNIT,
        FACTOR_UNIT,
    )
    return SumForm({names[0]: x}, {}, (Step("Cast", to=DType.FLOAT_32),), byte_norm=rows)


def _read_bias(graph: Graph, node: Node) -> Array | None:
    """What is added; None where that is not known."""
    name = given(node.inputs, 2)
    if not name:
        return np.zeros(0)
    encoding = graph.types[name].encoding
    if name not in graph.constants or encoding is None or encoding.axis is not None:
        return None
    return (graph.constants[name].astype(np.float64) + encoding.offsets[0]) * encoding.scales[0]
