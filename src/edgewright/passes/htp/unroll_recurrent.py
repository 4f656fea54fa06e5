"""Writes recurrent layers out step by step: Qualcomm's compiler refuses Lstm and Gru on HTP."""

from collections.abc import Iterator, Sequence

import numpy as np

from edgewright.core.numbers import Array
from edgewright.ir.graph import Graph, Node
from edgewright.ir.op import Op
from edgewright.ops.activation import Sigmoid, Tanh
from edgewright.ops.elementwise import ElementWiseAdd, ElementWiseMultiply, ElementWiseSubtract
from edgewright.ops.matmul import FullyConnected
from edgewright.ops.rearrange import Concat, Reshape, Transpose
from edgewright.ops.rearrange_slice import Split
from edgewright.ops.recurrent import Direction, Gru, Lstm, Recurrent
from edgewright.passes.graph_pass import Refused, register_pass, rewrite_each

# A longer layer is left as it is: compiling thousands of small ops takes longer than anyone waits.
MOST_STEPS = 64
# Inputs of an Lstm that hold weights, biases and what has no steps here: norms, projection, reset.
LSTM_WEIGHTS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 17, 18, 19, 20, 21)
LSTM_GATES = ((1, 2, 3, 16), (4, 5, 6, 17), (7, 8, 9, 21))
LSTM_OTHERS = (12, 13, 14, 15, 22, 23, 24)
GRU_GATES = ((1, 2, 3), (7, 8, 9), (4, 5), (10, 11), (6,), (12,))
GRU_WEIGHTS, GRU_OTHERS = tuple(range(1, 13)), (14,)


@register_pass(rtol=1e-5)
def unroll_recurrent(graph: Graph) -> int:
    """Each step's products, gates and states; the input's products of all steps are one."""
    return rewrite_each(graph, _unroll)


def _unroll(graph: Graph, node: Node) -> bool:
    if not isinstance(node.op, Recurrent):
        return False
    layer = _LstmSteps(graph, node) if isinstance(node.op, Lstm) else _GruSteps(graph, node)
    layer.check()
    graph.remove(node)
    layer.write()
    return True


class _Steps:
    """What both kinds of layers share: a sequence in, a state that is carried, a sequence out."""

    weights: tuple[int, ...]
    others: tuple[int, ...]

    def __init__(self, graph: Graph, node: Node) -> None:
        self._graph, self._node = graph, node
        self._inputs = [*node.inputs, *[""] * (25 - len(node.inputs))]
        self._outputs = [*node.outputs, *[""] * (3 - len(node.outputs))]
        self._kind = graph.types[node.inputs[0]]
        assert isinstance(node.op, Recurrent)
        self._op = node.op
        # What new values are called: reports name them, so the step is in it.
        self._layer = node.source or self._outputs[0] or node.name
        self._label = self._layer

    def check(self) -> None:
        """Refuses what is not plain."""
        if not self._kind.is_static or not self._kind.dtype.is_float:
            raise Refused("only float layers of fixed size are unrolled")
        weights = {self._inputs[place] for place in self.weights} - {""}
        if not weights <= self._graph.constants.keys():
            raise Refused("its weights are computed")
        if any(self._inputs[place] for place in self.others):
            raise Refused("norms, projections and resets are not unrolled")
        if not 0 < self._count() <= MOST_STEPS:
            raise Refused(f"it has {self._count()} steps, {MOST_STEPS} at most are unrolled")

    def write(self) -> None:
        """All steps, then the sequence under the name that it had."""
        raise NotImplementedError

    def _count(self) -> int:
        shape = self._kind.static_shape()
        return 1 if len(shape) == 2 else shape[0 if self._op.time_major else 1]

    def _batch(self) -> int:
        shape = self._kind.static_shape()
        return shape[0] if len(shape) == 2 or not self._op.time_major else shape[1]

    def _compute_input_shares(self, weights: str, bias: str) -> list[str]:
        """The input's share of each step's sums, in the order of the steps."""
        x, count = self._node.inputs[0], self._count()
        if self._kind.rank == 3 and not self._op.time_major:
            x = self._emit(Transpose(perm=(1, 0, 2)), x)
        rows = self._emit(Reshape(shape=(count * self._batch(), self._kind.static_shape()[-1])), x)
        sums = self._connect(rows, weights, bias)
        places = tuple(self._batch() * step for step in range(1, count))
        shares = self._split(sums, 0, places)
        return shares[::-1] if self._op.direction == Direction.REVERSE else shares

    def _name_steps(self, parts: list[str]) -> Iterator[str]:
        """The parts one after the other; what is written meanwhile is called by the step."""
        for number, part in enumerate(parts, 1):
            self._label = f"{self._layer}_step{number}"
            yield part

    def _join_states(self, states: list[str]) -> None:
        """The states of all steps as the layer's first output."""
        ordered = states[::-1] if self._op.direction == Direction.REVERSE else states
        batch, units = self._graph.types[states[0]].static_shape()
        axis = 0 if self._op.time_major else 1
        rows = self._emit(Concat(axis=axis), *ordered) if len(ordered) > 1 else ordered[0]
        shape = (len(states), batch, units) if self._op.time_major else (batch, len(states), units)
        self._rename_output(rows, self._outputs[0], shape if self._kind.rank == 3 else (batch, units))

    def _stack_constants(self, places: Sequence[int]) -> str:
        """Constants of several gates as one, zeros for a bias that is left out; "" where all are."""
        arrays = [self._graph.constants.get(self._inputs[place]) for place in places]
        like = next((array for array in arrays if array is not None), None)
        if like is None:
            return ""
        return self._add_constant(np.concatenate([np.zeros_like(like) if a is None else a for a in arrays]))

    def _connect(self, x: str, weights: str, bias: str = "") -> str:
        return self._emit(FullyConnected(), x, *filter(None, (weights, bias)))

    def _split(self, x: str, axis: int, places: tuple[int, ...]) -> list[str]:
        if not places:
            return [x]
        names = [self._graph.fresh_name(self._label) for _ in range(len(places) + 1)]
        self._add(Split(axis=axis, split_index=places), [x], names)
        return names

    def _split_gates(self, x: str, count: int) -> list[str]:
        units = self._graph.types[x].static_shape()[1] // count
        return self._split(x, 1, tuple(units * gate for gate in range(1, count)))

    def _subtract_from_one(self, value: str) -> str:
        """What is missing to 1."""
        one = self._add_constant(np.ones((1, 1), self._kind.dtype.numpy))
        return self._emit(ElementWiseSubtract(), one, value)

    def _sum(self, *values: str) -> str:
        given = [value for value in values if value]
        return given[0] if len(given) == 1 else self._emit(ElementWiseAdd(), *given)

    def _multiply(self, left: str, right: str, output: str = "") -> str:
        return self._emit(ElementWiseMultiply(), left, right, output=output)

    def _emit(self, op: Op, *inputs: str, output: str = "") -> str:
        name = output or self._graph.fresh_name(self._label)
        self._add(op, list(inputs), [name])
        return name

    def _add(self, op: Op, inputs: list[str], outputs: list[str]) -> None:
        name = self._graph.fresh_name(self._node.name)
        self._graph.add(Node(name, op, inputs, outputs, self._node.source))

    def _add_constant(self, array: Array) -> str:
        return self._graph.add_constant(self._graph.fresh_name(f"{self._node.name}_weight"), array)

    def _rename_output(self, value: str, output: str, shape: tuple[int, ...]) -> None:
        """A value under the name that readers of the layer know."""
        if output:
            self._emit(Reshape(shape=shape), value, output=output)


class _LstmSteps(_Steps):
    """Gates forget, cell, output and input; states h and c, where "" is nothing but zeros."""

    weights, others = LSTM_WEIGHTS, LSTM_OTHERS

    def check(self) -> None:
        super().check()
        assert isinstance(self._op, Lstm)
        if self._op.is_rounding or self._op.cell_clip_threshold > 0 or self._op.output_clip_threshold > 0:
            raise Refused("rounded and clipped states are not unrolled")

    def write(self) -> None:
        # Without weights of its own the input gate is what the forget gate leaves.
        count = 4 if self._inputs[16] else 3
        own, inner, bias = (self._stack_constants(gates[:count]) for gates in LSTM_GATES)
        h, c, states = self._state(10), self._state(11), []
        for part in self._name_steps(self._compute_input_shares(own, bias)):
            total = self._sum(part, self._connect(h, inner)) if h else part
            h, c = self._step(self._split_gates(total, count), c)
            states.append(h)
        shapes = [self._graph.types[value].static_shape() for value in (c, h)]
        self._join_states(states)
        self._rename_output(c, self._outputs[1], shapes[0])
        self._rename_output(h, self._outputs[2], shapes[1])

    def _step(self, gates: list[str], c: str) -> tuple[str, str]:
        forget = self._emit(Sigmoid(), self._add_peephole(gates[0], 19, c))
        entry = (
            self._emit(Sigmoid(), self._add_peephole(gates[3], 18, c))
            if len(gates) > 3
            else self._subtract_from_one(forget)
        )
        fresh = self._multiply(entry, self._emit(Tanh(), gates[1]))
        cell = self._sum(self._multiply(forget, c), fresh) if c else fresh
        output = self._emit(Sigmoid(), self._add_peephole(gates[2], 20, cell))
        return self._multiply(output, self._emit(Tanh(), cell)), cell

    def _add_peephole(self, gate: str, place: int, cell: str) -> str:
        """A gate with its peephole."""
        vector = self._inputs[place]
        return self._sum(gate, self._multiply(cell, vector)) if vector and cell else gate

    def _state(self, place: int) -> str:
        state = self._graph.constants.get(self._inputs[place])
        return "" if state is not None and not state.any() else self._inputs[place]


class _GruSteps(_Steps):
    """Gates update, reset and new; one state."""

    weights, others = GRU_WEIGHTS, GRU_OTHERS

    def write(self) -> None:
        weights, bias, both, both_bias, last, last_bias = (
            self._stack_constants(gates) for gates in GRU_GATES
        )
        h, states = self._first(), []
        for part in self._name_steps(self._compute_input_shares(weights, bias)):
            h = self._step(self._split_gates(part, 3), h, (both, both_bias), (last, last_bias))
            states.append(h)
        shape = self._graph.types[h].static_shape()
        self._join_states(states)
        self._rename_output(h, self._outputs[1], (1, *shape))

    def _step(self, sums: list[str], h: str, both: tuple[str, str], last: tuple[str, str]) -> str:
        assert isinstance(self._op, Gru)
        again = self._split_gates(self._connect(h, *both), 2)
        update, reset = (
            self._emit(Sigmoid(), self._sum(*pair)) for pair in zip(sums[:2], again, strict=True)
        )
        if self._op.linear_before_reset:
            inner = self._multiply(reset, self._connect(h, *last))
        else:
            inner = self._connect(self._multiply(reset, h), *last)
        fresh = self._emit(Tanh(), self._sum(sums[2], inner))
        return self._sum(self._multiply(self._subtract_from_one(update), fresh), self._multiply(update, h))

    def _first(self) -> str:
        shape = (self._batch(), self._graph.types[self._inputs[1]].static_shape()[0])
        if not self._inputs[13]:
            return self._add_constant(np.zeros(shape, self._kind.dtype.numpy))
        return self._emit(Reshape(shape=shape), self._inputs[13])
