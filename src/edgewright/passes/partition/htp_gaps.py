"""Which nodes of a graph the HTP cannot run, and why."""

from dataclasses import dataclass

from edgewright.core.errors import EdgewrightError
from edgewright.core.numbers import DType
from edgewright.ir.graph import Graph, Node
from edgewright.ops.recurrent import Recurrent
from edgewright.ops.source import SourceOp
from edgewright.passes.htp.unroll_recurrent import explain_length
from edgewright.passes.pipeline import HTP, run_passes
from edgewright.targets.htp_ops import read_htp_ops

# No pass makes others of these, and the library has none of them.
_FOREIGN = frozenset(
    {DType.FLOAT_64, DType.STRING, DType.COMPLEX_64, DType.COMPLEX_128, DType.INT_64, DType.UINT_64}
)


@dataclass(frozen=True)
class Gap:
    """A node that the HTP cannot run."""

    node: str
    op: str
    reason: str


def find_htp_gaps(graph: Graph) -> list[Gap]:
    """All such nodes in their order."""
    prepared = _prepare_graph(graph)
    gaps: dict[str, Gap] = {}
    for node in prepared.nodes:
        reason = _explain_gap(prepared, node)
        owner = _find_owner(graph, node.name)
        if reason and owner is not None:
            gaps.setdefault(owner.name, Gap(owner.name, owner.op.display_name(), reason))
    order = {node.name: place for place, node in enumerate(graph.nodes)}
    return sorted(gaps.values(), key=lambda gap: order[gap.node])


def _prepare_graph(graph: Graph) -> Graph:
    """The graph as it would be compiled: many ops are written as others there."""
    prepared = graph.copy()
    try:
        run_passes(prepared, HTP)
    except EdgewrightError:
        return graph
    return prepared


def _explain_gap(graph: Graph, node: Node) -> str:
    if isinstance(node.op, SourceOp):
        return f"{node.op.type} is no QNN op"
    if node.op.qnn_name() not in read_htp_ops():
        return f"HTP has no {node.op.qnn_name()}"
    if isinstance(node.op, Recurrent):
        return explain_length(graph, node)
    values = [value for value in (*node.inputs, *node.outputs) if value]
    foreign = [graph.types[value].dtype.name for value in values if graph.types[value].dtype in _FOREIGN]
    return f"HTP has no {foreign[0].lower()}" if foreign else ""


def _find_owner(graph: Graph, name: str) -> Node | None:
    """The node that a prepared one was made of: passes put something behind its name."""
    known = {node.name: node for node in graph.nodes}
    if name in known:
        return known[name]
    longest = max((other for other in known if other and name.startswith(other)), key=len, default="")
    return known.get(longest)
