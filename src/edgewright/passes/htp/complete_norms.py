"""Writes out the weights that a normalization leaves out, and makes its 16-bit ones symmetric."""

import numpy as np

from edgewright.core.numbers import Array, DType
from edgewright.ir.encodings import Encoding
from edgewright.ir.graph import Graph, Node
from edgewright.ir.types import TensorType
from edgewright.ops.norm import Batchnorm, LayerNorm, RmsNorm
from edgewright.passes.graph_pass import register_pass, rewrite_each

MIDDLE = 1 << 15


@register_pass()
def complete_norms(graph: Graph) -> int:
    """HTP computes LayerNorm and RmsNorm with a gamma that is not there, and takes no off-centre 16 bits."""
    return rewrite_each(graph, _complete)


def _complete(graph: Graph, node: Node) -> bool:
    changed = False
    if isinstance(node.op, LayerNorm | RmsNorm):
        x = graph.types[node.inputs[0]]
        shape = tuple(x.shape[axis] for axis in node.op.axes)
        if x.is_static and (len(node.inputs) < 2 or not node.inputs[1]):
            _give(graph, node, 1, _make_ones(TensorType(shape, x.dtype), x))
            changed = True
    if isinstance(node.op, LayerNorm | RmsNorm | Batchnorm) and len(node.inputs) > 1:
        changed = _center_weights(graph, node) or changed
    return changed


def _make_ones(kind: TensorType, x: TensorType) -> tuple[TensorType, Array]:
    shape = kind.static_shape()
    if x.encoding is None:
        return kind, np.ones(shape, kind.dtype.numpy)
    if x.dtype in {DType.UFIXED_POINT_16, DType.SFIXED_POINT_16}:
        encoding = Encoding((1 / (MIDDLE - 1),), (-MIDDLE,), None, 16)
        return TensorType(shape, DType.UFIXED_POINT_16, None, encoding), np.full(shape, 0xFFFF, np.uint16)
    encoding = Encoding((1 / 255,), (0,), None, 8)
    return TensorType(shape, DType.UFIXED_POINT_8, None, encoding), np.full(shape, 255, np.uint8)


def _give(graph: Graph, node: Node, index: int, constant: tuple[TensorType, Array]) -> None:
    tensor_type, array = constant
    name = graph.add_constant(graph.fresh_name(f"{node.name}_weight"), array, tensor_type)
    if index < len(node.inputs):
        graph.set_input(node, index, name)
        return
    types = graph.output_types(node)
    graph.remove(node)
    node.inputs.append(name)
    graph.add(node, types)


def _center_weights(graph: Graph, node: Node) -> bool:
    name = node.inputs[1]
    kind = graph.types[name] if name in graph.constants else None
    if kind is None or kind.encoding is None or kind.dtype != DType.UFIXED_POINT_16:
        return False
    if kind.encoding.axis is not None or kind.encoding.offsets == (-MIDDLE,):
        return False
    real = kind.encoding.decode(graph.constants[name])
    encoding = Encoding((float(np.abs(real).max() or 1.0) / (MIDDLE - 1),), (-MIDDLE,), None, 16)
    centred = TensorType(kind.shape, kind.dtype, kind.layout, encoding)
    fresh = graph.add_constant(graph.fresh_name(name), encoding.encode(real, kind.dtype), centred, of=name)
    graph.set_input(node, 1, fresh)
    return True
