"""Writes 1-D convolutions as 2-D ones of height 1: HTP has no others."""

from dataclasses import replace

from edgewright.ir.encodings import Encoding
from edgewright.ir.graph import Graph, Node
from edgewright.ir.op import Op
from edgewright.ir.types import TensorType
from edgewright.ops.conv import Conv1d, Conv2d, DepthWiseConv1d, DepthWiseConv2d
from edgewright.ops.conv_transpose import TransposeConv1d, TransposeConv2d
from edgewright.ops.rearrange import Reshape
from edgewright.passes.graph_pass import register_pass, rewrite_each

NO_PAD = (0, 0)


@register_pass()
def widen_conv_1d(graph: Graph) -> int:
    """[n, w, c] is reshaped to [n, 1, w, c] and back."""
    return rewrite_each(graph, _widen)


def _widen(graph: Graph, node: Node) -> bool:
    op = _widen_op(node.op)
    x, result = graph.types[node.inputs[0]], graph.types[node.outputs[0]]
    if op is None or not (x.is_static and result.is_static and node.inputs[1] in graph.constants):
        return False
    weights = _widen_weights(graph, node.inputs[1])
    tall_x, tall_y = graph.fresh_name(node.inputs[0]), graph.fresh_name(node.outputs[0])
    graph.remove(node)
    _reshape(graph, node, node.inputs[0], tall_x, _widen_type(x))
    inputs = [tall_x, weights, *node.inputs[2:]]
    graph.add(Node(node.name, op, inputs, [tall_y], node.source, (), node.notes), [_widen_type(result)])
    _reshape(graph, node, tall_y, node.outputs[0], result)
    return True


def _widen_op(op: Op) -> Op | None:
    if isinstance(op, Conv1d):
        return Conv2d(
            stride=(1, op.stride),
            pad_amount=(NO_PAD, op.pad_amount),
            group=op.group,
            dilation=(1, op.dilation),
        )
    if isinstance(op, DepthWiseConv1d):
        return DepthWiseConv2d(
            stride=(1, op.stride), pad_amount=(NO_PAD, op.pad_amount), dilation=(1, op.dilation)
        )
    if isinstance(op, TransposeConv1d):
        return TransposeConv2d(
            stride=(1, op.stride),
            pad_amount=(NO_PAD, op.pad_amount),
            group=op.group,
            output_padding=(0, op.output_padding),
        )
    return None


def _reshape(graph: Graph, node: Node, source: str, result: str, kind: TensorType) -> None:
    op = Reshape(shape=kind.static_shape())
    graph.add(Node(graph.fresh_name(f"{node.name}_reshape"), op, [source], [result]), [kind])


def _widen_type(kind: TensorType) -> TensorType:
    first, *rest = kind.shape
    return replace(kind, shape=(first, 1, *rest), layout=None)


def _widen_weights(graph: Graph, name: str) -> str:
    kind, array = graph.types[name], graph.constants[name]
    widened_type = replace(kind, shape=(1, *kind.shape), layout=None, encoding=_shift_axes(kind.encoding))
    return graph.add_constant(graph.fresh_name(name), array[None], widened_type, of=name)


def _shift_axes(encoding: Encoding | None) -> Encoding | None:
    """Every axis is one place further behind."""
    if encoding is None or encoding.axis is None:
        return encoding
    block_axis = None if encoding.block_axis is None else encoding.block_axis + 1
    return replace(encoding, axis=encoding.axis + 1, block_axis=block_axis)
