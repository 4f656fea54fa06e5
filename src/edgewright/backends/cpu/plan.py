"""Splits a graph into parts that the engine runs and nodes that the reference runs."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache

import onnx

from edgewright.backends.cpu.node_writer import NodeWriter
from edgewright.backends.cpu.registry import NotOnEngine
from edgewright.backends.cpu.writer import ENGINE_OPSET
from edgewright.core.numbers import DType
from edgewright.ir.graph import Graph, Node
from edgewright.ops.source import SourceOp


@dataclass
class Part:
    """Nodes that run together: on the engine (with an opset), or one by one in the reference (opset 0)."""

    opset: int
    nodes: list[Node] = field(default_factory=list)

    def reads(self) -> list[str]:
        """Values that come from outside, in order of first use."""
        made = {value for node in self.nodes for value in node.outputs}
        return list(dict.fromkeys(v for node in self.nodes for v in node.inputs if v and v not in made))


@dataclass
class Refusals:
    """What the engine was found to lack: nodes to run on real numbers, and nodes it cannot run at all."""

    through_float: set[str] = field(default_factory=set)
    on_reference: set[str] = field(default_factory=set)

    def add(self, graph: Graph, name: str) -> bool:
        """Notes a refused node and all that are like it; False where that was known already."""
        node = graph.node(name)
        alike = {
            other.name for other in graph.nodes if _describe_node(graph, other) == _describe_node(graph, node)
        }
        types = [*graph.input_types(node), *graph.output_types(node)]
        is_moved = any(t is not None and t.dtype.is_fixed_point for t in types)
        noted = self.through_float if is_moved and name not in self.through_float else self.on_reference
        is_new = name not in noted
        noted |= alike
        return is_new


def plan(graph: Graph, refusals: Refusals, *, is_standard: bool = False) -> list[Part]:
    """Parts in an order that can run."""
    parts: list[Part] = []
    probe = _Probe(graph, through_float=refusals.through_float)
    probe.is_standard = is_standard
    for value in (*graph.inputs, *(v for node in graph.nodes for v in node.outputs if v)):
        probe.add_input(value)
    for node in graph.nodes:
        opset = 0 if node.name in refusals.on_reference else _choose_opset(probe, node)
        if not parts or parts[-1].opset != opset:
            parts.append(Part(opset))
        parts[-1].nodes.append(node)
    return parts


def list_outputs(parts: Sequence[Part], index: int, wanted: Sequence[str]) -> list[str]:
    """Values of a part that later parts or the caller read."""
    later = {value for part in parts[index + 1 :] for value in part.reads()} | set(wanted)
    made = [value for node in parts[index].nodes for value in node.outputs if value]
    return [value for value in made if value in later]


class _Probe(NodeWriter):
    """Finds out what can be written; the weights themselves do not matter."""

    def _real_constant(self, value: str, node: Node, dtype: DType) -> str:
        del node, dtype
        return self.value(value)


def _describe_node(graph: Graph, node: Node) -> tuple[object, ...]:
    """What decides whether the engine has a kernel: the op and the datatypes around it."""
    kind = node.op.display_name()
    types = [*graph.input_types(node), *graph.output_types(node)]
    return (kind, *(None if t is None else t.dtype for t in types))


def _choose_opset(probe: NodeWriter, node: Node) -> int:
    try:
        probe.write(node)
    except NotOnEngine:
        return 0
    if not isinstance(node.op, SourceOp):
        return ENGINE_OPSET
    return node.op.version if node.subgraphs else _choose_version(node.op.type, node.op.version)


@cache
def _choose_version(kind: str, version: int) -> int:
    """The engine's own opset where the op has meant the same since: its node need not stand alone."""
    try:
        meanings = [onnx.defs.get_schema(kind, opset).since_version for opset in (version, ENGINE_OPSET)]
    except onnx.defs.SchemaError:
        return version
    return ENGINE_OPSET if meanings[0] == meanings[1] else version
