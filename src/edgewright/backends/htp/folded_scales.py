"""Softmax of values times a number, as HTP computes it: of the values themselves, with another beta."""

from collections.abc import Iterable
from dataclasses import replace
from typing import cast

from edgewright.backends.cpu.patterns import cast_op
from edgewright.ir.graph import Graph, Node
from edgewright.ops.elementwise import ElementWiseMultiply
from edgewright.ops.rearrange import Reshape
from edgewright.ops.reduce_softmax import Softmax


def with_folded_scales(graph: Graph, outputs: Iterable[str]) -> Graph:
    """A copy in which such products, whatever their encodings, are left out; outputs are still computed."""
    names = [node.name for node in graph.nodes if _find_scale(graph, node) is not None]
    if not names:
        return graph
    folded = graph.copy()
    for name in names:
        _fold_scale(folded, folded.node(name), frozenset(outputs))
    folded.sort()
    return folded


def _find_scale(graph: Graph, node: Node) -> Node | None:
    """The product with one positive number, the second operand, that a Softmax reads, reshaped or not."""
    if type(node.op.specific()) is not Softmax or node.op.specific().is_wrong_on_htp(graph.input_types(node)):
        return None
    maker = graph.producer(node.inputs[0])
    if maker is not None and cast_op(maker, Reshape) is not None:
        maker = graph.producer(maker.inputs[0])
    if maker is None or cast_op(maker, ElementWiseMultiply) is None:
        return None
    value, number = maker.inputs
    is_scaled = graph.types[value].encoding is not None and value not in graph.constants
    return maker if is_scaled and _read_number(graph, number) > 0 else None


def _read_number(graph: Graph, name: str) -> float:
    """A constant of one number; 0 for all else."""
    encoding, stored = graph.types[name].encoding, graph.constants.get(name)
    if stored is None or stored.size != 1 or encoding is None:
        return 0.0
    return float(encoding.decode(stored).reshape(()))


def _fold_scale(graph: Graph, node: Node, outputs: frozenset[str]) -> None:
    scale, read = _find_scale(graph, node), node.inputs[0]
    assert scale is not None
    value, number = scale.inputs
    between = graph.producer(read)
    if between is not None and between is not scale:
        kind = graph.types[value].with_shape(graph.types[read].shape)
        name = graph.fresh_name(f"{between.name}_unscaled")
        graph.add(Node(name, between.op, [value], [name], source=between.source), [kind])
        value = name
    softmax = cast("Softmax", node.op.specific())
    node.op = replace(softmax, beta=softmax.beta * _read_number(graph, number))
    graph.set_input(node, 0, value)
    for made in (read, *scale.outputs):
        maker = graph.producer(made)
        if maker is not None and made not in outputs and not graph.consumers(made):
            graph.remove(maker)
