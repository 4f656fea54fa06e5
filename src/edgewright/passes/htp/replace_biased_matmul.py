"""Writes a MatMul with a bias so that HTP adds it: as FullyConnected where its weights are constant."""

from dataclasses import replace

from edgewright.core.errors import EdgewrightError, Problems, UnsupportedFeature, Where
from edgewright.ir.graph import Graph, Node
from edgewright.ops.matmul import FullyConnected, MatMul
from edgewright.ops.rearrange import Transpose
from edgewright.passes.graph_pass import register_pass, rewrite_each


@register_pass()
def replace_biased_matmul(graph: Graph) -> int:
    """HTP lets only one input of a MatMul have a scale for each channel, and the bias needs them too.

    In fixed point it forgets the bias of a MatMul anyway.
    """
    return rewrite_each(graph, _turn_first) + rewrite_each(graph, _write)


def check_biases(graph: Graph) -> None:
    """Refuses products whose bias HTP would forget."""
    problems: list[EdgewrightError] = [
        UnsupportedFeature(
            "the product of two activations has a bias, which HTP forgets in fixed point",
            Where(op=node.op.qnn_name(), node=node.source or node.name),
            do="add the bias with an Add behind the MatMul",
        )
        for node in graph.nodes
        if _find_biased(node) and graph.types[node.inputs[0]].encoding
    ]
    if problems:
        raise problems[0] if len(problems) == 1 else Problems(problems)


def _find_biased(node: Node) -> MatMul | None:
    return node.op if isinstance(node.op, MatMul) and any(node.inputs[2:]) else None


def _turn_first(graph: Graph, node: Node) -> bool:
    """A transpose of its own for the first input."""
    op = _find_biased(node)
    if op is None or not op.transpose_in0:
        return False
    kind = graph.types[node.inputs[0]]
    if kind.encoding is None:
        return False
    order = (*range(kind.rank - 2), kind.rank - 1, kind.rank - 2)
    turned, types = graph.fresh_name(node.inputs[0]), graph.output_types(node)
    graph.remove(node)
    name = graph.fresh_name(f"{node.name}_transpose")
    graph.add(Node(name, Transpose(perm=order), [node.inputs[0]], [turned]), [kind.permuted(order)])
    inputs = [turned, *node.inputs[1:]]
    plain = replace(op, transpose_in0=False)
    graph.add(Node(node.name, plain, inputs, node.outputs, node.source, (), node.notes), types)
    return True


def _write(graph: Graph, node: Node) -> bool:
    given = _find_biased(node)
    if given is None or given.transpose_in0:
        return False
    name, bias = node.inputs[1], node.inputs[2]
    kind = graph.types[name]
    if name not in graph.constants or bias not in graph.constants or kind.rank != 2 or kind.encoding is None:
        return False
    if graph.types[node.inputs[0]].rank < 2:
        return False
    if not given.transpose_in1:
        array = graph.constants[name].T
        name = graph.add_constant(graph.fresh_name(name), array, kind.permuted((1, 0)), of=name)
    types = graph.output_types(node)
    graph.remove(node)
    inputs = [node.inputs[0], name, bias]
    op = FullyConnected(keep_dims=True)
    graph.add(Node(node.name, op, inputs, node.outputs, node.source, (), node.notes), types)
    return True
