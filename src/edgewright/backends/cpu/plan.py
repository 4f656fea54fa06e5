"""Splits a graph into parts that the engine runs and nodes that the reference runs."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from edgewright.backends.cpu.node_writer import NodeWriter
from edgewright.backends.cpu.registry import NotOnEngine
from edgewright.backends.cpu.writer import ENGINE_OPSET
from edgewright.ir.graph import Graph, Node
from edgewright.ops.source import SourceOp

__all__ = ["Part", "plan"]


@dataclass
class Part:
    """Nodes that run together: on the engine (with an opset), or one by one in the reference (opset 0)."""

    opset: int
    nodes: list[Node] = field(default_factory=list)

    def reads(self) -> list[str]:
        """Values that come from outside, in order of first use."""
        made = {value for node in self.nodes for value in node.outputs}
        return list(dict.fromkeys(v for node in self.nodes for v in node.inputs if v and v not in made))


def plan(graph: Graph, on_reference: frozenset[str]) -> list[Part]:
    """Parts in an order that can run; ``on_reference`` names nodes that the engine refused."""
    parts: list[Part] = []
    probe = NodeWriter(graph)
    for value in (*graph.inputs, *(v for node in graph.nodes for v in node.outputs if v)):
        probe.add_input(value)
    for node in graph.nodes:
        opset = 0 if node.name in on_reference else _opset(probe, node)
        if not parts or parts[-1].opset != opset:
            parts.append(Part(opset))
        parts[-1].nodes.append(node)
    return parts


def outputs_of(parts: Sequence[Part], index: int, wanted: Sequence[str]) -> list[str]:
    """Values of a part that later parts or the caller read."""
    later = {value for part in parts[index + 1 :] for value in part.reads()} | set(wanted)
    made = [value for node in parts[index].nodes for value in node.outputs if value]
    return [value for value in made if value in later]


def _opset(probe: NodeWriter, node: Node) -> int:
    try:
        probe.write(node)
    except NotOnEngine:
        return 0
    return node.op.version if isinstance(node.op, SourceOp) else ENGINE_OPSET
