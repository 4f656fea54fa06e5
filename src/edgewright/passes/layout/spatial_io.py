"""Lets graph inputs and outputs take the layout in which the network works: spatial first, channels last."""

from collections.abc import Collection
from dataclasses import replace

from edgewright.ir.graph import Graph, Node
from edgewright.ops.rearrange import Transpose
from edgewright.passes.layout.orders import order_channel_first, order_channel_last

LAYOUTS = {3: "NFC", 4: "NHWC", 5: "NDHWC"}


def drop_io_transposes(graph: Graph, keep: Collection[str] = ()) -> int:
    """Removes transposes at graph inputs and outputs, except those named in ``keep``; returns how many."""
    inputs = [name for name in graph.inputs if name not in keep and _absorb_input(graph, name)]
    outputs = [name for name in graph.outputs if name not in keep and _absorb_output(graph, name)]
    if inputs or outputs:
        graph.sort()
    return len(inputs) + len(outputs)


def _absorb_input(graph: Graph, name: str) -> bool:
    readers, rank = graph.consumers(name), graph.types[name].rank
    if not readers or name in graph.outputs or rank not in LAYOUTS:
        return False
    if not all(
        isinstance(reader.op, Transpose) and reader.op.perm == order_channel_last(rank) for reader in readers
    ):
        return False
    turned = graph.types[readers[0].outputs[0]]
    if any(reader.outputs[0] in graph.outputs for reader in readers):
        return False
    graph.types[name] = replace(turned, layout=LAYOUTS[rank])
    for reader in readers:
        output = reader.outputs[0]
        graph.remove(reader)
        graph.replace_uses(output, name)
    return True


def _absorb_output(graph: Graph, name: str) -> bool:
    node = graph.producer(name)
    if node is None or not isinstance(node.op, Transpose) or graph.types[name].rank not in LAYOUTS:
        return False
    rank, source = graph.types[name].rank, node.inputs[0]
    if node.op.perm != order_channel_first(rank) or graph.producer(source) is None or source in graph.outputs:
        return False
    if graph.consumers(name):
        return False
    _take_name(graph, node, source, name)
    graph.types[name] = replace(graph.types[name], layout=LAYOUTS[rank])
    return True


def _take_name(graph: Graph, node: Node, source: str, name: str) -> None:
    graph.remove(node)
    graph.outputs = [source if value == name else value for value in graph.outputs]
    graph.rename_value(source, name)
