"""Batchnorm, as HTP rounds it."""

import numpy as np

from edgewright.backends.cpu.sums import BYTE, Step, SumForm
from edgewright.backends.htp.requantize import COARSE_BITS, cut_sums, is_byte, multiplier
from edgewright.backends.htp.wide_products import WIDE_BITS, store_parts
from edgewright.core.numbers import Array, DType
from edgewright.ir.encodings import Encoding
from edgewright.ir.graph import Graph, Node
from edgewright.ir.op import given

LARGEST = 127


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


def _read_bias(graph: Graph, node: Node) -> Array | None:
    """What is added; None where that is not known."""
    name = given(node.inputs, 2)
    if not name:
        return np.zeros(0)
    encoding = graph.types[name].encoding
    if name not in graph.constants or encoding is None or encoding.axis is not None:
        return None
    return (graph.constants[name].astype(np.float64) + encoding.offsets[0]) * encoding.scales[0]
