"""Gives symbolic dimensions their numbers; the batch is 1 where nothing is said."""

from collections.abc import Mapping
from dataclasses import replace

from edgewright.ir.graph import Graph, Node
from edgewright.ir.symbols import batch_symbols, resolve, resolve_op, symbols_of
from edgewright.ir.types import TensorType
from edgewright.passes.graph_pass import register_pass


@register_pass()
def resolve_symbols(graph: Graph) -> int:
    """Sets the batch of every input to 1; other symbols stay, and lowering reports them."""
    return set_symbols(graph, dict.fromkeys(batch_symbols(_list_input_types(graph)), 1))


def set_symbols(graph: Graph, values: Mapping[str, int]) -> int:
    """Replaces symbols in inputs and params and infers every type anew; returns how many types changed."""
    before = dict(graph.types)
    if not any(symbols_of(tensor_type) & values.keys() for tensor_type in _list_input_types(graph).values()):
        return 0
    for name in graph.inputs:
        graph.types[name] = resolve(graph.types[name], values)
    for node in graph.nodes:
        _infer(graph, node, values)
    return sum(graph.types[name] != old for name, old in before.items())


def _infer(graph: Graph, node: Node, values: Mapping[str, int]) -> None:
    node.op = resolve_op(node.op, values)
    for subgraph in node.subgraphs:
        set_symbols(subgraph, values)
    made = node.op.types_for(graph.input_types(node))
    for value, tensor_type in zip(node.outputs, made, strict=False):
        if value:
            graph.types[value] = replace(graph.types[value], shape=tensor_type.shape)


def _list_input_types(graph: Graph) -> dict[str, TensorType]:
    return {name: graph.types[name] for name in graph.inputs}
