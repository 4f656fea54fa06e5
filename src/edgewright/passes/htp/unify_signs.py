"""Gives a constant operand of an elementwise op the sign of the other one, as HTP's library asks."""

from dataclasses import replace

import numpy as np

from edgewright.core.numbers import DType
from edgewright.ir.encodings import Encoding
from edgewright.ir.graph import Graph, Node
from edgewright.ops.elementwise import Binary
from edgewright.passes.graph_pass import register_pass, rewrite_each

_OTHER_SIGN = {
    DType.SFIXED_POINT_8: DType.UFIXED_POINT_8,
    DType.UFIXED_POINT_8: DType.SFIXED_POINT_8,
    DType.SFIXED_POINT_16: DType.UFIXED_POINT_16,
    DType.UFIXED_POINT_16: DType.SFIXED_POINT_16,
}


@register_pass()
def unify_signs(graph: Graph) -> int:
    """The same values with another offset: models that ONNX Runtime quantized have signed constants."""
    return rewrite_each(graph, _shift_constant)


def _shift_constant(graph: Graph, node: Node) -> bool:
    if not isinstance(node.op.specific(), Binary) or len(node.inputs) != 2:
        return False
    constants = [place for place, name in enumerate(node.inputs) if name in graph.constants]
    if len(constants) != 1:
        return False
    (place,) = constants
    name, dtype = node.inputs[place], graph.types[node.inputs[1 - place]].dtype
    kind = graph.types[name]
    if kind.encoding is None or kind.encoding.axis is not None or _OTHER_SIGN.get(kind.dtype) != dtype:
        return False
    low, other_low = (int(np.iinfo(each.numpy).min) for each in (kind.dtype, dtype))
    stored = (graph.constants[name].astype(np.int64) - low + other_low).astype(dtype.numpy)
    encoding = _shift_offsets(kind.encoding, low - other_low)
    made = replace(kind, dtype=dtype, encoding=encoding)
    graph.set_input(node, place, graph.add_constant(graph.fresh_name(name), stored, made, of=name))
    return True


def _shift_offsets(encoding: Encoding, shift: int) -> Encoding:
    return replace(encoding, offsets=tuple(offset + shift for offset in encoding.offsets))
