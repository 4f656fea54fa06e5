"""Removes ops that give back their input: reshapes to the same shape, transposes in the same order."""

from edgewright.ir.graph import Graph, Node
from edgewright.ops.rearrange import Concat, Reshape, Transpose
from edgewright.passes.graph_pass import Refused, graph_pass, rewrite_each

__all__ = ["drop_identity"]


@graph_pass()
def drop_identity(graph: Graph) -> int:
    """One value instead of two that are the same."""
    return rewrite_each(graph, _drop)


def _drop(graph: Graph, node: Node) -> bool:
    if not _is_identity(graph, node):
        return False
    output, source = node.outputs[0], node.inputs[0]
    if output in graph.outputs:
        _hand_over(graph, node, source, output)
        return True
    graph.remove(node)
    graph.replace_uses(output, source)
    return True


def _is_identity(graph: Graph, node: Node) -> bool:
    if isinstance(node.op, Reshape):
        return graph.types[node.inputs[0]].shape == node.op.shape
    if isinstance(node.op, Transpose):
        return node.op.perm == tuple(range(len(node.op.perm)))
    return isinstance(node.op, Concat) and len(node.inputs) == 1


def _hand_over(graph: Graph, node: Node, source: str, output: str) -> None:
    """The output keeps its name: the value before it takes that name."""
    if graph.producer(source) is None or source in graph.outputs:
        raise Refused("its output is a graph output and must be a tensor of its own")
    graph.remove(node)
    graph.outputs = [source if value == output else value for value in graph.outputs]
    graph.rename_value(source, output)
