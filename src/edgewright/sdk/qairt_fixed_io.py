"""Fixed-point inputs and outputs of an otherwise float graph, taken for real numbers with known encodings."""

from collections.abc import Iterator, Mapping, Sized
from dataclasses import dataclass, field, replace

from edgewright.core.numbers import Array
from edgewright.ir.graph import Graph, Node
from edgewright.ops.quant import Dequantize, Quantize
from edgewright.quantize.executor import Samples
from edgewright.quantize.pins import Origin, Pin, Placed


@dataclass(frozen=True)
class OpenedGraph:
    """A graph of real-number inputs and outputs, the graph as it was stored, and the encodings of those."""

    graph: Graph
    stored: Graph
    pins: dict[str, Pin] = field(default_factory=dict)

    def decode_samples(self, samples: Samples) -> Samples:
        """Samples for the graph, from files that hold what the stored one takes."""
        return _DecodedSamples(samples, self) if self.pins else samples


def open_fixed_io(graph: Graph) -> OpenedGraph:
    """Changes the graph in place: conversions at its borders go, and leave behind what must be kept."""
    opened = OpenedGraph(graph, graph.copy())
    for name in graph.inputs:
        _open_input(graph, name, opened.pins)
    for name in list(dict.fromkeys(graph.outputs)):
        _open_output(graph, name, opened.pins)
    graph.sort()
    return opened


class _DecodedSamples:
    def __init__(self, samples: Samples, opened: OpenedGraph) -> None:
        self._samples, self._opened = samples, opened

    def __iter__(self) -> Iterator[Mapping[str, Array]]:
        for sample in self._samples:
            yield {name: self._decode(name, array) for name, array in sample.items()}

    def __len__(self) -> int:
        return len(self._samples) if isinstance(self._samples, Sized) else 0

    def _decode(self, name: str, array: Array) -> Array:
        stored = self._opened.stored.types[name]
        if stored.encoding is None:
            return array
        real = stored.encoding.decode(array)
        return real.astype(self._opened.graph.types[name].dtype.numpy)


def _open_input(graph: Graph, name: str, pins: dict[str, Pin]) -> None:
    stored, readers = graph.types[name], graph.consumers(name)
    if stored.encoding is None or name in graph.outputs or not readers:
        return
    types = {reader.op.dtype for reader in readers if isinstance(reader.op, Dequantize)}
    if len(types) != 1 or not all(isinstance(reader.op, Dequantize) for reader in readers):
        return
    if any(reader.outputs[0] in graph.outputs for reader in readers):
        return
    pins[name] = Pin(stored.encoding.bitwidth, Placed(stored.dtype, stored.encoding), Origin.FILE)
    graph.types[name] = replace(stored, dtype=types.pop(), encoding=None)
    for reader in readers:
        graph.replace_uses(reader.outputs[0], name)
        graph.remove(reader)


def _open_output(graph: Graph, name: str, pins: dict[str, Pin]) -> None:
    stored, producer = graph.types[name], graph.producer(name)
    if producer is None or not isinstance(producer.op, Quantize) or graph.consumers(name):
        return
    inner = producer.inputs[0]
    if stored.encoding is None or inner in graph.outputs or graph.producer(inner) is None:
        return
    _take_name(graph, producer, inner, name)
    graph.types[name] = replace(graph.types[name], layout=stored.layout)
    pins[name] = Pin(stored.encoding.bitwidth, Placed(stored.dtype, stored.encoding), Origin.FILE)


def _take_name(graph: Graph, node: Node, inner: str, name: str) -> None:
    graph.remove(node)
    graph.outputs = [inner if value == name else value for value in graph.outputs]
    graph.rename_value(inner, name)
