"""Weights and biases as a quantized graph has them, in real numbers: rounded, fitted, corrected."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from edgewright.core.numbers import Array
from edgewright.ir.graph import Graph, Node
from edgewright.ir.op import given
from edgewright.quantize.roles import find_roles


@dataclass(frozen=True)
class Fit:
    """The node of weights, and what its constants have become."""

    node: Node
    constants: Mapping[str, Array]


def find_fits(source: Graph, quantized: Graph) -> dict[str, Fit]:
    """What became of the weights of each product that is in fixed point and shares them with nobody."""
    fits = {}
    for node in source.nodes:
        roles = find_roles(source, node)
        twin = quantized.node(node.name)
        if node.op.is_product and 1 in roles.weights and quantized.types[twin.inputs[1]].encoding is not None:
            places = [1, 2] if given(node.inputs, 2) in source.constants else [1]
            alone = [place for place in places if len(source.consumers(node.inputs[place])) == 1]
            if 1 in alone:
                names = {node.inputs[place]: twin.inputs[place] for place in alone}
                fits[node.inputs[1]] = Fit(node, _Real(quantized, names))
    return fits


class _Real(Mapping[str, Array]):
    """Constants in real numbers, made when they are asked for: all of them at once would be a model more."""

    def __init__(self, graph: Graph, names: Mapping[str, str]) -> None:
        self._graph, self._names = graph, names

    def __getitem__(self, name: str) -> Array:
        value = self._names[name]
        encoding, array = self._graph.types[value].encoding, self._graph.constants[value]
        return (array if encoding is None else encoding.decode(array)).astype(np.float32)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)
