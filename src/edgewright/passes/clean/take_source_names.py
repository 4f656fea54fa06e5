"""Gives values the names that the source model has for them, whatever layout they are in now."""

from edgewright.ir.graph import Graph
from edgewright.passes.graph_pass import register_pass


@register_pass()
def take_source_names(graph: Graph) -> int:
    """A value takes its source's name where no other value has it; the first of several gets it."""
    made = [value for node in graph.nodes for value in node.outputs if value]
    changes = 0
    for value in (*made, *graph.constants):
        source_name = graph.source_names.get(value, value)
        if source_name != value and source_name not in graph.types and value not in graph.outputs:
            graph.rename_value(value, source_name)
            del graph.source_names[value]
            changes += 1
    return changes
