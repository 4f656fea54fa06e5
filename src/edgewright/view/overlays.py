"""Numbers that every graph has for its nodes: work, weights and widths."""

from collections.abc import Callable

from edgewright.view.qnn_graphs import count_bytes, find_bits
from edgewright.view.records import Overlay, ViewGraph, ViewNode, ViewTensor


def measure_nodes(graph: ViewGraph) -> tuple[Overlay, ...]:
    """The overlays that say something about this graph."""
    overlays = (
        Overlay("macs", "MACs", _measure(graph, lambda node: node.macs)),
        Overlay("weights", "Weights", _measure(graph, lambda node: _sum_weights(graph, node)), unit="B"),
        Overlay("outputs", "Outputs", _measure(graph, lambda node: _sum_outputs(graph, node)), unit="B"),
        Overlay("bits", "Bits of the result", _measure(graph, lambda node: _find_width(graph, node))),
        Overlay(
            "weight_bits",
            "Bits of the weights",
            _measure(graph, lambda node: _find_weight_width(graph, node)),
        ),
    )
    return tuple(overlay for overlay in overlays if overlay.values)


def _measure(graph: ViewGraph, question: Callable[[ViewNode], int | None]) -> dict[str, float]:
    answers = {node.name: question(node) for node in graph.nodes}
    return {name: answer for name, answer in answers.items() if answer}


def _sum_weights(graph: ViewGraph, node: ViewNode) -> int:
    return sum(count_bytes(tensor) or 0 for tensor in _list_stored(graph, node))


def _sum_outputs(graph: ViewGraph, node: ViewNode) -> int:
    return sum(count_bytes(graph.tensors[name]) or 0 for name in node.outputs if name in graph.tensors)


def _find_width(graph: ViewGraph, node: ViewNode) -> int | None:
    widths = [find_bits(graph.tensors[name]) for name in node.outputs if name in graph.tensors]
    return max((width for width in widths if width), default=None)


def _find_weight_width(graph: ViewGraph, node: ViewNode) -> int | None:
    """The width of the largest constant that is no vector: that of a product's weights."""
    matrices = [tensor for tensor in _list_stored(graph, node) if len(tensor.shape or ()) > 1]
    largest = max(matrices, key=lambda tensor: count_bytes(tensor) or 0, default=None)
    return None if largest is None else find_bits(largest)


def _list_stored(graph: ViewGraph, node: ViewNode) -> list[ViewTensor]:
    named = [graph.tensors[name] for name in dict.fromkeys(node.inputs) if name in graph.tensors]
    return [tensor for tensor in named if tensor.load is not None]
