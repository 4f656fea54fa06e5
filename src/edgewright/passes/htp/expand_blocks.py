"""Writes blockwise 4-bit weights as 8-bit ones: HTP knows blocks only in convolutions of one element.

Of a FullyConnected with blocks its libraries made zeros, without an error.
"""

import math
from dataclasses import replace

import numpy as np

from edgewright.core.numbers import DType
from edgewright.ir.encodings import Encoding
from edgewright.ir.graph import Graph, Node
from edgewright.ops.conv import Convolution
from edgewright.ops.conv_transpose import TransposedConvolution
from edgewright.passes.graph_pass import Refused, register_pass, rewrite_each


@register_pass()
def expand_blocks(graph: Graph) -> int:
    """A block's whole factor goes into its integers: 4 bits times a factor up to 16 fit 8 bits exactly."""
    return rewrite_each(graph, _expand)


def _expand(graph: Graph, node: Node) -> bool:
    name = node.inputs[1] if len(node.inputs) > 1 else ""
    if name not in graph.constants:
        return False
    kind = graph.types[name]
    encoding = kind.encoding
    if encoding is None or not encoding.block_scales or not kind.is_static:
        return False
    is_window = isinstance(node.op, Convolution | TransposedConvolution)
    if is_window and math.prod(kind.static_shape()[:-2]) == 1:
        return False
    channel = Encoding(encoding.scales, encoding.offsets, encoding.axis, 8)
    ones = replace(encoding, scales=(1.0,) * len(encoding.scales))
    stored = ones.decode(graph.constants[name])
    if any(encoding.offsets) or stored.min() < -128 or stored.max() > 127:
        raise Refused("its integers times their factors do not fit 8 bits")
    eight_bit_type = replace(kind, dtype=DType.SFIXED_POINT_8, encoding=channel)
    fresh = graph.add_constant(graph.fresh_name(name), stored.astype(np.int8), eight_bit_type, of=name)
    graph.set_input(node, 1, fresh)
    return True
