"""Graphs that follow one another as one."""

from collections.abc import Sequence
from dataclasses import replace

from edgewright.ir.graph import Graph


def join_graphs(name: str, graphs: Sequence[Graph]) -> Graph:
    """One graph: what one gives is what a later one takes by the same name; what none takes is an output.

    Args:
        name: of the whole.
        graphs: in the order in which they run.
    """
    whole = Graph(name)
    borders = {value for graph in graphs for value in (*graph.inputs, *graph.outputs)}
    for graph in graphs:
        _append(whole, graph, borders)
    taken = {value for graph in graphs for value in graph.inputs}
    whole.outputs = [value for graph in graphs for value in graph.outputs if value not in taken]
    return whole


def _append(whole: Graph, graph: Graph, borders: set[str]) -> None:
    """Names within a graph are its own: where another has the same, they are changed."""
    values = [*graph.constants, *(value for node in graph.nodes for value in node.outputs if value)]
    inner = [value for value in values if value not in borders]
    names = {value: whole.fresh_name(value) if value in whole.types else value for value in inner}
    for value in graph.inputs:
        if value not in whole.types:
            whole.add_input(value, graph.types[value])
    for value, array in graph.constants.items():
        whole.add_constant(names.get(value, value), array, graph.types[value])
    for node in graph.nodes:
        twin = replace(
            node,
            inputs=[names.get(value, value) for value in node.inputs],
            outputs=[names.get(value, value) for value in node.outputs],
        )
        whole.add(twin, graph.output_types(node))
    for value, source in graph.source_names.items():
        whole.source_names.setdefault(names.get(value, value), source)
