"""Removes nodes and constants that no output depends on."""

from edgewright.ir.graph import Graph
from edgewright.passes.graph_pass import register_pass


@register_pass()
def drop_dead_code(graph: Graph) -> int:
    """Nodes from the back, then constants nobody reads."""
    before = len(graph) + len(graph.constants)
    for node in reversed(graph.nodes):
        if not any(graph.consumers(value) or value in graph.outputs for value in node.outputs if value):
            graph.remove(node)
    for name in list(graph.constants):
        if not graph.consumers(name) and name not in graph.outputs:
            graph.drop_constant(name)
    return before - len(graph) - len(graph.constants)
