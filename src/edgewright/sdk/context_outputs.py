"""Which tensors the graphs of a context output."""

from collections.abc import Sequence

from edgewright.config.context_generator import ContextOutput
from edgewright.core.errors import UsageError, shown
from edgewright.core.words import did_you_mean
from edgewright.ir.graph import Graph
from edgewright.lower.names import NameTable


def with_outputs(graphs: Sequence[Graph], output: ContextOutput) -> list[Graph]:
    """Copies of the graphs with the requested tensors among their outputs."""
    if output.enable_intermediate_outputs:
        return [_add_outputs(graph, _list_made_tensors(graph)) for graph in graphs]
    names = {graph.name: graph for graph in graphs}
    asked: dict[str, list[str]] = {}
    for name, tensors in output.set_output_tensors:
        if name and name not in names:
            known = ", ".join(map(shown, names))
            raise UsageError(
                f"--set_output_tensors names graph '{shown(name)}', the models have {known}",
                do=did_you_mean(name, names),
            )
        if not name and len(graphs) > 1:
            raise UsageError(
                f"--set_output_tensors names tensors without a graph, the models have {len(graphs)}",
                do="write GRAPH:NAME,NAME;GRAPH:NAME",
            )
        asked.setdefault(name or graphs[0].name, []).extend(tensors)
    return [_add_outputs(graph, _find_tensors(graph, asked.get(graph.name, []))) for graph in graphs]


def _add_outputs(graph: Graph, tensors: Sequence[str]) -> Graph:
    if not tensors:
        return graph
    copy = graph.copy()
    copy.outputs = list(dict.fromkeys((*graph.outputs, *tensors)))
    return copy


def _list_made_tensors(graph: Graph) -> list[str]:
    return [value for node in graph.nodes for value in node.outputs if value]


def _find_tensors(graph: Graph, asked: Sequence[str]) -> list[str]:
    """Tensors by their own names or by their spelling in QNN's files."""
    made = _list_made_tensors(graph)
    table = NameTable(made)
    spellings = {table(name): name for name in made} | {name: name for name in made}
    unknown = [name for name in asked if name not in spellings]
    if unknown:
        raise UsageError(
            f"--set_output_tensors names the tensor '{shown(unknown[0])}', which no op of graph "
            f"'{shown(graph.name)}' computes",
            do=did_you_mean(unknown[0], spellings, "--enable_intermediate_outputs outputs all tensors"),
        )
    return [spellings[name] for name in asked]
