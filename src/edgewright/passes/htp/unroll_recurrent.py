"""Writes recurrent layers out step by step.

Qualcomm's library cannot compile an Lstm, and its Gru is right in the first step only, and only where all
biases and a first state are given (2.51, measured): neither may reach it.
"""

from collections.abc import Iterable

from edgewright.config.spelling import spell_option
from edgewright.core.errors import EdgewrightError, LimitExceeded, Problems, Where
from edgewright.ir.graph import Graph, Node
from edgewright.ops.recurrent import Direction, Lstm, Recurrent
from edgewright.passes.graph_pass import PASSES, register_pass
from edgewright.passes.htp.gru_steps import GruWriter
from edgewright.passes.htp.lstm_steps import LstmWriter

# Steps of all layers of a graph together. Compiling takes the more time for each step the more there are.
MOST_STEPS = 800


@register_pass(rtol=1e-5)
def unroll_recurrent(graph: Graph) -> int:
    """Each step's products, gates and states; the input's products of all steps are one."""
    layers = [node for node in _list_layers(graph) if count_steps(graph, node)]
    if sum(count_steps(graph, node) for node in layers) > MOST_STEPS:
        return 0
    for node in layers:
        writer = LstmWriter(graph, node) if isinstance(node.op, Lstm) else GruWriter(graph, node)
        writer.write()
    return len(layers)


def count_steps(graph: Graph, node: Node) -> int:
    """How many steps a recurrent layer takes; 0 where that is not known before it runs."""
    assert isinstance(node.op, Recurrent)
    kinds = [kind for kind in graph.input_types(node) if kind is not None]
    if not all(kind.is_static for kind in kinds):
        return 0
    shape = kinds[0].static_shape()
    return 1 if len(shape) == 2 else shape[0 if node.op.time_major else 1]


def with_steps(graph: Graph, outputs: Iterable[str]) -> Graph:
    """The graph with its recurrent layers unrolled, in a copy where it has any; these values stay in it."""
    if not any(count_steps(graph, node) for node in _list_layers(graph)):
        return graph
    unrolled = graph.copy()
    unrolled.outputs = list(dict.fromkeys(outputs))
    PASSES["unroll_recurrent"](unrolled)
    check_unrolled(unrolled)
    unrolled.outputs = list(graph.outputs)
    return unrolled


def check_unrolled(graph: Graph) -> None:
    """Refuses layers that are too long to be unrolled."""
    layers = [node for node in _list_layers(graph) if count_steps(graph, node)]
    if layers:
        raise Problems([_refuse(graph, node) for node in layers])


def explain_length(graph: Graph, node: Node) -> str:
    """Why a layer was not unrolled."""
    steps, total = count_steps(graph, node), sum(count_steps(graph, each) for each in _list_layers(graph))
    return (
        f"HTP has no recurrent layers: they are unrolled up to {MOST_STEPS} steps in all, "
        f"this {node.op.qnn_name()} has {steps} of {total}"
    )


def _refuse(graph: Graph, node: Node) -> EdgewrightError:
    return LimitExceeded(
        explain_length(graph, node),
        Where(op=node.op.qnn_name(), node=node.source or node.name),
        do=advise_fewer_steps(graph),
    )


def advise_fewer_steps(graph: Graph) -> str:
    """What to do about layers that are too long."""
    shorter, states = spell_option("input_shapes"), spell_option("expose_states", "True")
    if any(_is_backwards(node) for node in _list_layers(graph)):
        return f"convert it for fewer steps ({shorter}), or leave it to the CPU: backend htp+cpu"
    return (
        f"convert it for one step or a few ({shorter}) with {states}: its states become inputs and outputs, "
        "and what one run leaves is given to the next; or leave it to the CPU: backend htp+cpu"
    )


def _is_backwards(node: Node) -> bool:
    return isinstance(node.op, Recurrent) and node.op.direction == Direction.REVERSE


def _list_layers(graph: Graph) -> list[Node]:
    return [node for node in graph.nodes if isinstance(node.op, Recurrent)]
