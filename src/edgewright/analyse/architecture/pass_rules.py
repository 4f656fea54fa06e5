"""Rules whose remedy a pass of the converter already is: what it would change is what is found."""

from collections.abc import Callable, Iterator

from edgewright.analyse.architecture.rule import CheckedGraph, Hit, Modifier, Rewritten
from edgewright.ir.graph import Graph, Node
from edgewright.passes.pipeline import run_passes

QUANTIZED = "the model is in fixed point: change the float model and quantize it again"
UNFIT = "what is before or behind it does not allow it"


def find_by_pass(*names: str, is_float_only: bool = False) -> Callable[[CheckedGraph], Iterator[Hit]]:
    """Finds the nodes that passes would take out or change; some are for float models alone."""

    def find(model: CheckedGraph) -> Iterator[Hit]:
        if is_float_only and has_encodings(model.graph):
            return
        copy = model.graph.copy()
        run_passes(copy, names)
        kept = {node.name: node.op for node in copy.nodes}
        for node in model.graph.nodes:
            if kept.get(node.name) != node.op:
                size = sum(model.costs.count_bytes(value) for value in node.outputs if value)
                yield Hit(node, weight=model.costs.share_bytes(size))

    return find


def modify_by_pass(names: tuple[str, ...], text: str, *, is_float_only: bool = False) -> Modifier:
    """Runs the passes and says the text of what they changed."""

    def modify(graph: Graph, nodes: list[Node]) -> Rewritten:
        before = {node.name: node.op for node in nodes}
        if is_float_only and has_encodings(graph):
            return Rewritten(refusals=dict.fromkeys(before, QUANTIZED))
        run_passes(graph, names)
        kept = {node.name: node.op for node in graph.nodes}
        changes = {name: text for name, op in before.items() if kept.get(name) != op}
        return Rewritten(changes, {name: UNFIT for name in before if name not in changes})

    return modify


def has_encodings(graph: Graph) -> bool:
    """Whether anything of it is in fixed point."""
    return any(kind.encoding is not None for kind in graph.types.values())
