"""Parts of a graph that run in one place, in an order that can run, each as a graph of its own."""

from collections.abc import Callable
from dataclasses import dataclass

from edgewright.ir.graph import Graph, Node


@dataclass(frozen=True)
class Region:
    """Nodes that run together at a place."""

    place: str
    graph: Graph


def split_into_regions(graph: Graph, place_of: Callable[[Node], str], outputs: list[str]) -> list[Region]:
    """As few regions as going on in one place for as long as possible gives."""
    groups = _group_nodes(graph, place_of)
    return [Region(place, _part(graph, index, groups, outputs)) for index, (place, _) in enumerate(groups)]


def _group_nodes(graph: Graph, place_of: Callable[[Node], str]) -> list[tuple[str, list[Node]]]:
    waiting = graph.nodes
    known = {*graph.inputs, *graph.constants, ""}
    groups: list[tuple[str, list[Node]]] = []
    while waiting:
        ready = next(node for node in waiting if known.issuperset(node.inputs))
        place = place_of(ready)
        taken: list[Node] = []
        for node in waiting:
            if place_of(node) == place and known.issuperset(node.inputs):
                taken.append(node)
                known.update(node.outputs)
        groups.append((place, taken))
        chosen = set(map(id, taken))
        waiting = [node for node in waiting if id(node) not in chosen]
    return groups


def _part(graph: Graph, index: int, groups: list[tuple[str, list[Node]]], outputs: list[str]) -> Graph:
    _, nodes = groups[index]
    made = {value for node in nodes for value in node.outputs if value}
    read = dict.fromkeys(value for node in nodes for value in node.inputs if value and value not in made)
    later = {value for _, others in groups[index + 1 :] for node in others for value in node.inputs}
    # A single part keeps the name, so that settings for the graph still find it.
    part = Graph(graph.name if len(groups) == 1 else f"{graph.name}_{index}")
    for value in read:
        if value in graph.constants:
            part.add_constant(value, graph.constants[value], graph.types[value])
        else:
            part.add_input(value, graph.types[value])
    for node in nodes:
        copied = Node(node.name, node.op, list(node.inputs), list(node.outputs), node.source, node.subgraphs)
        part.add(copied, [graph.types[value] for value in node.outputs if value])
    part.source_names = {name: source for name, source in graph.source_names.items() if name in part.types}
    part.outputs = [value for value in made if value in later or value in outputs]
    return part
