"""Fixed-point inputs and outputs of an otherwise float graph, taken for real numbers with known encodings."""

from dataclasses import dataclass, field, replace

from edgewright.ir.graph import Graph, Node
from edgewright.ops.quant import Dequantize, Quantize
from edgewright.quantize.pins import Origin, Pin, Placed

__all__ = ["Opened", "opened_ends"]


@dataclass(frozen=True)
class Opened:
    """The graph with real numbers at its ends, the graph as it was stored, and the encodings of the ends."""

    graph: Graph
    stored: Graph
    pins: dict[str, Pin] = field(default_factory=dict)


def opened_ends(graph: Graph) -> Opened:
    """Changes the graph in place: what converts at its ends goes, and says what quantizing must keep."""
    opened = Opened(graph, graph.copy())
    for name in graph.inputs:
        _open_input(graph, name, opened.pins)
    for name in list(dict.fromkeys(graph.outputs)):
        _open_output(graph, name, opened.pins)
    graph.sort()
    return opened


def _open_input(graph: Graph, name: str, pins: dict[str, Pin]) -> None:
    found, readers = graph.types[name], graph.consumers(name)
    if found.encoding is None or name in graph.outputs or not readers:
        return
    types = {reader.op.dtype for reader in readers if isinstance(reader.op, Dequantize)}
    if len(types) != 1 or not all(isinstance(reader.op, Dequantize) for reader in readers):
        return
    if any(reader.outputs[0] in graph.outputs for reader in readers):
        return
    pins[name] = Pin(found.encoding.bitwidth, Placed(found.dtype, found.encoding), Origin.FILE)
    graph.types[name] = replace(found, dtype=types.pop(), encoding=None)
    for reader in readers:
        graph.replace_uses(reader.outputs[0], name)
        graph.remove(reader)


def _open_output(graph: Graph, name: str, pins: dict[str, Pin]) -> None:
    found, maker = graph.types[name], graph.producer(name)
    if maker is None or not isinstance(maker.op, Quantize) or graph.consumers(name):
        return
    inner = maker.inputs[0]
    if found.encoding is None or inner in graph.outputs or graph.producer(inner) is None:
        return
    _take_name(graph, maker, inner, name)
    graph.types[name] = replace(graph.types[name], layout=found.layout)
    pins[name] = Pin(found.encoding.bitwidth, Placed(found.dtype, found.encoding), Origin.FILE)


def _take_name(graph: Graph, node: Node, inner: str, name: str) -> None:
    graph.remove(node)
    graph.outputs = [inner if value == name else value for value in graph.outputs]
    graph.rename_value(inner, name)
