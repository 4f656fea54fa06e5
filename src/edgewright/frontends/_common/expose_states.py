"""The states of recurrent layers as inputs and outputs of a model, so that a sequence may come in pieces."""

import numpy as np

from edgewright.config.spelling import spell_option
from edgewright.core.errors import EdgewrightError, Problems, UnsupportedFeature, Where, shown
from edgewright.core.numbers import Array
from edgewright.frontends._common.imported import State
from edgewright.ir.graph import Graph, Node
from edgewright.ir.types import TensorType
from edgewright.ops.rearrange import Reshape
from edgewright.ops.recurrent import Direction, Lstm, Recurrent

# What a state is called, its place among the inputs, and among the outputs.
LSTM_STATES, GRU_STATES = (("h", 10, 2), ("c", 11, 1)), (("h", 13, 1),)


def expose_states(graph: Graph) -> list[State]:
    """Makes every first state that is a constant an input, and the last state of its layer an output."""
    layers = [node for node in graph.nodes if isinstance(node.op, Recurrent)]
    problems = [problem for node in layers for problem in _list_problems(graph, node)]
    if problems:
        raise Problems(problems)
    states = [state for node in layers for state in _expose_layer(graph, node)]
    if not states:
        raise UnsupportedFeature(
            f"the model has {len(layers)} recurrent layers, none has states that are not given from outside",
            do=f"leave out {spell_option('expose_states')}",
        )
    graph.sort()
    return states


def _list_problems(graph: Graph, node: Node) -> list[EdgewrightError]:
    assert isinstance(node.op, Recurrent)
    name = node.source or node.name
    where = Where(op=node.op.qnn_name(), node=name)
    problems: list[EdgewrightError] = []
    if node.op.direction == Direction.REVERSE:
        what = f"layer '{shown(name)}' reads its sequence from the end, it cannot be given in pieces"
        problems.append(UnsupportedFeature(what, where, do=f"leave out {spell_option('expose_states')}"))
    if any(kind is not None and not kind.is_static for kind in graph.input_types(node)):
        what = f"the states of layer '{shown(name)}' have no known shape"
        problems.append(UnsupportedFeature(what, where, do=f"fix it with {spell_option('input_shapes')}"))
    return problems


def _expose_layer(graph: Graph, node: Node) -> list[State]:
    places = LSTM_STATES if isinstance(node.op, Lstm) else GRU_STATES
    first = {place: node.inputs[place] if place < len(node.inputs) else "" for _, place, _ in places}
    is_open = {place: not value or value in graph.constants for place, value in first.items()}
    if not any(is_open.values()):
        return []
    label = node.source or node.name
    kinds = [graph.types[value] if value else None for value in node.outputs]
    inferred = node.op.types_for(graph.input_types(node))
    graph.remove(node)
    inputs = [*node.inputs, *[""] * (max(first) + 1 - len(node.inputs))]
    outputs = [value or graph.fresh_name(label) for value in node.outputs]
    outputs += [graph.fresh_name(label) for _ in inferred[len(outputs) :]]
    states = []
    for word, place, result in places:
        if is_open[place]:
            name = graph.free_name(f"{label}_{word}")
            known = graph.constants.get(first[place])
            states.append(_make_state(name, inferred[result], known))
            inputs[place] = graph.add_input(name, states[-1].tensor_type)
    types = [kind or inferred[place] for place, kind in enumerate([*kinds, *[None] * 3][: len(outputs)])]
    graph.add(Node(node.name, node.op, inputs, outputs, node.source, (), node.notes), types)
    for (_, _, result), state in zip([p for p in places if is_open[p[1]]], states, strict=True):
        op = Reshape(shape=state.tensor_type.static_shape())
        graph.add(Node(graph.free_name(state.output), op, [outputs[result]], [state.output], node.source))
        graph.outputs.append(state.output)
    return states


def _make_state(name: str, kind: TensorType, known: Array | None) -> State:
    zeros = np.zeros(kind.static_shape(), kind.dtype.numpy)
    return State(name, f"{name}_out", zeros if known is None else known.reshape(zeros.shape), kind)
