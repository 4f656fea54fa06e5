"""Layers of a quantized graph cut apart: each reads what the float model has in its place.

One graph holds all of them, so that one pass on a backend answers what a conversion, a compilation and a run
for each layer would.
"""

from collections.abc import Callable, Collection, Mapping, Sequence

import numpy as np

from edgewright.analyse.comparison_points import ComparisonPoint
from edgewright.backends.base import RunOptions, Session
from edgewright.core.numbers import Array
from edgewright.ir.graph import Graph, Node
from edgewright.model.surface import Surface

# Ops that a layer may need before it, such as changes of precision and of layout.
MOST_OPS = 64
Prepare = Callable[[Graph, RunOptions], Session]


class IsolatedLayers:
    """A graph of layers side by side; `run` feeds each with the float model's values."""

    def __init__(self, quantized: Graph, known: Sequence[str]) -> None:
        """Starts without layers; ``known`` are the values that will be given."""
        self._quantized, self._known = quantized, frozenset(known)
        self.graph = Graph("layers")
        self.graph.reserve(quantized.types)
        # Value of the model -> input of this graph that stands for it.
        self.inputs: dict[str, str] = {}
        # Value of the model -> output of this graph.
        self.outputs: dict[str, str] = {}

    def add(self, point: ComparisonPoint) -> bool:
        """Adds the ops of a layer; False where something that they read is not known."""
        nodes = self._collect_nodes(point)
        if nodes is None:
            return False
        inside: dict[str, str] = {}
        for node in nodes:
            inputs = [self._place_input(value, inside) for value in node.inputs]
            outputs = [self.graph.fresh_name(value) if value else "" for value in node.outputs]
            inside.update(zip(node.outputs, outputs, strict=True))
            types = [self._quantized.types[value] for value in node.outputs if value]
            self.graph.add(Node(self.graph.free_name(node.name), node.op, inputs, outputs), types)
        self.outputs[point.value] = inside[point.value]
        self.graph.outputs.append(inside[point.value])
        return True

    def run(self, prepare: Prepare, samples: Sequence[Mapping[str, Array]]) -> list[dict[str, Array]]:
        """What each layer makes of the known values, for each sample, as real numbers.

        Known values are real numbers in the axes of the quantized graph.
        """
        return list(map(self.open(prepare), samples))

    def open(self, prepare: Prepare) -> Callable[[Mapping[str, Array]], dict[str, Array]]:
        """The same, sample by sample."""
        surface, session = Surface(self.graph), prepare(self.graph, RunOptions())

        def run(sample: Mapping[str, Array]) -> dict[str, Array]:
            feed = {
                name: as_stored(self._quantized, value, sample[value]) for value, name in self.inputs.items()
            }
            decoded = surface.decode_outputs(session.run(surface.encode_inputs(feed)))
            return {value: decoded[name] for value, name in self.outputs.items()}

        return run

    def _collect_nodes(self, point: ComparisonPoint) -> list[Node] | None:
        """The layer's ops, and before them those that make what is not known."""
        nodes = {id(node): node for node in point.nodes}
        front = list(point.nodes)
        while front:
            node = front.pop()
            if node.subgraphs:
                return None
            for value in node.inputs:
                maker = self._quantized.producer(value) if value else None
                if not value or self._is_given(value) or (maker is not None and id(maker) in nodes):
                    continue
                if maker is None or len(nodes) > MOST_OPS:
                    return None
                nodes[id(maker)] = maker
                front.append(maker)
        return [node for node in self._quantized.nodes if id(node) in nodes]

    def _is_given(self, value: str) -> bool:
        return value in self._quantized.constants or value in self._known

    def _place_input(self, value: str, inside: Mapping[str, str]) -> str:
        if not value or value in inside:
            return inside.get(value, "")
        if value in self._quantized.constants:
            if value not in self.graph.constants:
                self.graph.add_constant(value, self._quantized.constants[value], self._quantized.types[value])
            return value
        if value not in self.inputs:
            name = self.graph.fresh_name(value)
            self.inputs[value] = self.graph.add_input(name, self._quantized.types[value])
        return self.inputs[value]


def as_stored(graph: Graph, value: str, array: Array) -> Array:
    """A value in the shape and, where it is not in fixed point, in the datatype that a graph has for it."""
    kind = graph.types[value]
    shaped = np.asarray(array).reshape(kind.static_shape())
    if kind.encoding is None and kind.dtype.numpy != shaped.dtype:
        shaped = shaped.astype(kind.dtype.numpy)
    return np.ascontiguousarray(shaped)


def cut_suffix(graph: Graph, first: Node, known: Collection[str]) -> Graph:
    """The part of a graph from a node on; known values that it reads from before become its inputs."""
    nodes = graph.nodes
    kept = {id(node): node for node in nodes[nodes.index(first) :]}
    front = list(kept.values())
    while front:
        for value in front.pop().inputs:
            maker = graph.producer(value) if value else None
            if maker is not None and value not in known and id(maker) not in kept:
                kept[id(maker)] = maker
                front.append(maker)
    part = graph.copy()
    for node in nodes:
        if id(node) not in kept:
            part.remove(part.node(node.name))
    made = {value for node in part.nodes for value in node.outputs}
    needed = [value for node in part.nodes for value in node.inputs if value and value not in made]
    needed += [value for value in graph.outputs if value not in made]
    part.inputs = [value for value in dict.fromkeys(needed) if value not in graph.constants]
    part.types.update({value: graph.types[value] for value in part.inputs})
    return part
