"""The steps of a Gru in ops that HTP has."""

import numpy as np

from edgewright.ir.graph import Graph, Node
from edgewright.ops.activation import Tanh
from edgewright.ops.recurrent import Gru, has_idle_gates
from edgewright.passes.htp.recurrent_steps import StepWriter

# Places of the weights of the gates update and reset, and of new values, for the input and for the state.
# Their biases are six places behind them.
UPDATE, RESET, NEW = (1, 4), (2, 5), (3, 6)
TO_BIAS = 6


class GruWriter(StepWriter):
    """One state; whatever it is multiplied with is negated."""

    def __init__(self, graph: Graph, node: Node) -> None:
        is_plain = has_idle_gates(graph, node)
        super().__init__(graph, node)
        assert isinstance(node.op, Gru)
        self._is_linear = bool(node.op.linear_before_reset)
        self._units = graph.types[self._inputs[UPDATE[0]]].static_shape()[0]
        # Of a plain recurrent network only the new values are left.
        self._gates = () if is_plain else (UPDATE, RESET)
        self._state_weights = self._stack_both([gate[1] for gate in self._gates], -1)
        self._new_weights = self._stack_both([NEW[1]], -1)

    def write(self) -> None:
        """All steps, then the outputs under the names that they had."""
        weights, bias = self._stack_both([gate[0] for gate in (*self._gates, NEW)], 1)
        shape = (self._batch, self._units)
        h, states = self._take_state(13, self._units), []
        h = h or self._add_constant(np.zeros(shape, self._dtype.numpy))
        for share in self._name_steps(self._compute_input_shares(weights, bias)):
            h = self._write_step(share, h) if self._gates else self._compute_new(share, h, "")
            states.append(h)
        self._finish_sequence(states)
        self._finish_output(h, 1)

    def _stack_both(self, places: list[int], sign: int) -> tuple[str, str]:
        """Weights and biases of gates."""
        signs = [sign] * len(places)
        return self._stack(places, signs), self._stack([place + TO_BIAS for place in places], signs)

    def _write_step(self, share: str, h: str) -> str:
        opening, new = self._split_gates(share, 2 * self._units, self._units)
        sums = self._subtract(opening, self._connect(h, *self._state_weights))
        update, reset = self._open_gates(sums, 2, self._units)
        fresh = self._multiply(self._subtract_from_one(update), self._compute_new(new, h, reset))
        return self._add_up(fresh, self._multiply(update, h))

    def _compute_new(self, share: str, h: str, reset: str) -> str:
        """New values from the input's share and the state, of which the gate ("": none) lets some through."""
        if reset and not self._is_linear:
            h = self._multiply(reset, h)
        inner = self._connect(h, *self._new_weights)
        if reset and self._is_linear:
            inner = self._multiply(reset, inner)
        return self._emit(Tanh(), self._subtract(share, inner))
