"""Writes a FullyConnected of floats between two reshapes as a convolution where HTP mixes its rows up."""

from dataclasses import replace

from edgewright.ir.graph import Graph, Node
from edgewright.ir.types import TensorType
from edgewright.ops.conv import Conv2d
from edgewright.ops.matmul import FullyConnected
from edgewright.ops.rearrange import Reshape
from edgewright.passes.graph_pass import register_pass, rewrite_each
from edgewright.passes.match import find_maker

IMAGE = 4
POINT = Conv2d(stride=(1, 1), pad_amount=((0, 0), (0, 0)), group=1, dilation=(1, 1))


@register_pass(after=("flatten_rows", "merge_moves"))
def convolve_folded_rows(graph: Graph) -> int:
    """[n, h, w, c], [h * w, n * c], FullyConnected, [h, w, units]: the emulator (2.51) takes it for an image.

    Joined heads with one token look like that.
    """
    return rewrite_each(graph, _convolve)


def _convolve(graph: Graph, node: Node) -> bool:
    if not isinstance(node.op, FullyConnected) or not _is_taken_for_image(graph, node):
        return False
    x, weights, result = (graph.types[name] for name in (*node.inputs[:2], node.outputs[0]))
    filters = graph.add_constant(
        graph.fresh_name(node.inputs[1]),
        graph.constants[node.inputs[1]].T[None, None],
        weights.with_shape((1, 1, *weights.shape[::-1])),
        of=node.inputs[1],
    )
    graph.remove(node)
    rows, made = graph.fresh_name(node.inputs[0]), graph.fresh_name(node.outputs[0])
    _reshape(graph, node, (node.inputs[0], rows), _lift(x))
    inputs = [rows, filters, *node.inputs[2:]]
    graph.add(Node(node.name, POINT, inputs, [made], node.source, (), node.notes), [_lift(result)])
    _reshape(graph, node, (made, node.outputs[0]), result)
    return True


def _is_taken_for_image(graph: Graph, node: Node) -> bool:
    before = find_maker(graph, node.inputs[0], Reshape)
    is_known = graph.types[node.inputs[0]].dtype.is_float and node.inputs[1] in graph.constants
    if before is None or not is_known or graph.types[node.inputs[0]].rank != 2:
        return False
    image = graph.types[before.inputs[0]]
    readers = (reader for reader in graph.consumers(node.outputs[0]) if isinstance(reader.op, Reshape))
    places = {graph.types[reader.outputs[0]].shape[-3:-1] for reader in readers}
    return image.rank >= IMAGE and image.shape[-4] != 1 and image.shape[-3:-1] in places


def _lift(kind: TensorType) -> TensorType:
    return replace(kind, shape=(1, 1, *kind.shape), layout=None)


def _reshape(graph: Graph, node: Node, values: tuple[str, str], kind: TensorType) -> None:
    name = graph.fresh_name(f"{node.name}_reshape")
    graph.add(Node(name, Reshape(shape=kind.static_shape()), [values[0]], [values[1]]), [kind])
