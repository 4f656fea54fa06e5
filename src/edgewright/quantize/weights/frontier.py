"""Values of a graph for many samples, computed from front to end, each once: only what is still read is kept.

Weights may change in the meantime, as long as nothing that was computed has read them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from edgewright.core.numbers import Array
from edgewright.ir.graph import Graph, Node
from edgewright.quantize.executor import Executor
from edgewright.quantize.meter import list_makers, list_read_values

# Bytes of values that may be kept, and samples that are taken nevertheless.
MOST_BYTES, FEWEST_SAMPLES = 1 << 30, 4


def choose_samples(
    graph: Graph, values: Sequence[str], samples: Sequence[Mapping[str, Array]], executor: Executor
) -> list[Mapping[str, Array]]:
    """As many samples as memory allows two frontiers to walk from value to value with, spread evenly."""
    single = Frontier(graph, samples[:1], executor)
    peak = max((single.measure_bytes_at(value) for value in values), default=1)
    count = min(len(samples), max(FEWEST_SAMPLES, MOST_BYTES // max(1, 2 * peak)))
    return [samples[place * len(samples) // count] for place in range(count)]


class Frontier:
    """What all samples are at the place that a graph was computed to.

    Args:
        graph: its nodes and values stay; the arrays of constants may be exchanged.
        samples: its inputs.
        executor: runs the parts.
    """

    def __init__(self, graph: Graph, samples: Sequence[Mapping[str, Array]], executor: Executor) -> None:
        self._graph, self._executor = graph, executor
        self._values = [{name: sample[name] for name in graph.inputs} for sample in samples]
        self._computed = set[str](graph.inputs)
        self._left = {node.name: node for node in graph.nodes}

    def compute(self, value: str) -> list[Array]:
        """A value for every sample; those that only lead to other values are not computed yet."""
        if value not in self._computed:
            self._advance(value)
        return [values[value] for values in self._values]

    def measure_bytes_at(self, value: str) -> int:
        """Bytes that are kept once a value is computed."""
        self.compute(value)
        return sum(array.nbytes for values in self._values for array in values.values())

    def _advance(self, value: str) -> None:
        nodes = list_makers(self._graph, [value], self._computed)
        for node in nodes:
            del self._left[node.name]
        read = {each for node in self._left.values() for each in list_read_values(node)} | {value}
        made = [each for node in nodes for each in node.outputs if each in read]
        part = self._cut_part(nodes)
        session = self._executor.prepare(part, made)
        self._computed |= {each for node in nodes for each in node.outputs if each}
        for place, values in enumerate(self._values):
            results = session.run({name: values[name] for name in part.inputs})
            kept = {name: array for name, array in values.items() if name in read}
            self._values[place] = kept | {name: results[name] for name in made}

    def _cut_part(self, nodes: Sequence[Node]) -> Graph:
        """A graph of some nodes: what they read of the others is an input."""
        graph = self._graph
        part = Graph(graph.name)
        read = dict.fromkeys(value for node in nodes for value in list_read_values(node))
        made = {value for node in nodes for value in node.outputs}
        for value in read:
            if value in graph.constants:
                part.add_constant(value, graph.constants[value], graph.types[value])
            elif value in self._computed and value not in made:
                part.add_input(value, graph.types[value])
        for node in nodes:
            kinds = [graph.types[value] for value in node.outputs if value]
            twin = replace(node, inputs=list(node.inputs), outputs=list(node.outputs))
            # A result that is left out has no type of its own.
            part.add(twin, [graph.types.get(value, kinds[0]) for value in node.outputs])
        return part
