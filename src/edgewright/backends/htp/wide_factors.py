"""Weights of 16 bits as HTP has them: two signed bytes, which hold numbers up to 0x7F7F."""

from dataclasses import replace

import numpy as np

from edgewright.core.numbers import Array, DType
from edgewright.ir.encodings import Encoding
from edgewright.ir.graph import Graph, Node
from edgewright.ir.types import TensorType
from edgewright.passes.htp.raise_faint_channels import raise_faint_channels
from edgewright.passes.htp.raise_small_scales import raise_small_scales
from edgewright.quantize.rules import find_second_operand_grid

LARGEST, WHOLE = 0x7F7F, 0x7FFF
WIDE = frozenset({DType.SFIXED_POINT_16, DType.UFIXED_POINT_16})


def with_wide_factors(graph: Graph) -> Graph:
    """A copy whose constant factors of 16 bits are those that HTP computes with."""
    names = {name for node in graph.nodes for name in _list_factors(graph, node)}
    if not names:
        return graph
    limited = graph.copy()
    for name in names:
        kind, factors = _cut_factors(limited.types[name], limited.constants[name])
        limited.types[name], limited.constants[name] = kind, factors
    return limited


def with_raised_scales(graph: Graph) -> Graph:
    """A copy whose products have the weights that the library is given."""
    raised = graph.copy()
    changes = raise_small_scales(raised) + raise_faint_channels(raised)
    return raised if changes else graph


def _list_factors(graph: Graph, node: Node) -> list[str]:
    is_factor = node.op.is_product or find_second_operand_grid(node.op, 16) is not None
    names = [name for name in node.inputs[1:2] if name in graph.constants] if is_factor else []
    return [name for name in names if graph.types[name].dtype in WIDE]


def _cut_factors(kind: TensorType, stored: Array) -> tuple[TensorType, Array]:
    """Signed ones are cut; others become symmetric first, so that the largest is always cut."""
    if kind.dtype == DType.SFIXED_POINT_16:
        return kind, np.minimum(stored, LARGEST).astype(stored.dtype)
    assert kind.encoding is not None
    real = kind.encoding.decode(stored).astype(np.float64)
    step = max(float(np.abs(real).max(initial=0.0)), float(np.finfo(np.float32).tiny)) / WHOLE
    signed = replace(kind, dtype=DType.SFIXED_POINT_16, encoding=Encoding((step,), (0,), bitwidth=16))
    return signed, np.minimum(np.rint(real / step), LARGEST).astype(np.int16)
