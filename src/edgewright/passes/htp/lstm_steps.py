"""The steps of an Lstm in ops that HTP has."""

from dataclasses import dataclass

from edgewright.ir.graph import Graph, Node
from edgewright.ops.activation import ReluMinMax, Tanh
from edgewright.ops.elementwise_unary import ElementWiseNeg
from edgewright.ops.norm import LayerNorm
from edgewright.ops.recurrent import LAYER_NORM_EPSILON, Lstm
from edgewright.passes.htp.recurrent_steps import StepWriter


@dataclass(frozen=True)
class Gate:
    """Places of a gate's inputs, and the sign that its sums are computed with."""

    weights: int
    recurrent: int
    bias: int
    norm: int
    # The cell has none.
    peephole: int | None
    sign: int = 1


FORGET, OUTPUT, ENTRY = Gate(1, 4, 7, 13, 19), Gate(3, 6, 9, 15, 20), Gate(16, 17, 21, 12, 18)
# What it lets in is subtracted from the cell.
CELL = Gate(2, 5, 8, 14, None, -1)


class LstmWriter(StepWriter):
    """States h and c."""

    def __init__(self, graph: Graph, node: Node) -> None:
        super().__init__(graph, node)
        assert isinstance(node.op, Lstm)
        self._cell_bound, self._output_bound = node.op.cell_clip_threshold, node.op.output_clip_threshold
        self._units = graph.types[self._inputs[FORGET.weights]].static_shape()[0]
        # Without weights of its own the input gate is what the forget gate leaves.
        self._opening = (FORGET, OUTPUT, *([ENTRY] if self._inputs[ENTRY.weights] else []))
        self._gates = (*self._opening, CELL)
        self._has_norms = any(self._inputs[gate.norm] for gate in self._gates)
        self._peepholes = {
            gate: self._stack([gate.peephole], [-1]) for gate in self._opening if gate.peephole is not None
        }

    def write(self) -> None:
        """All steps, then the outputs under the names that they had."""
        signs = [gate.sign for gate in self._gates]
        weights = self._stack([gate.weights for gate in self._gates], signs)
        inner = self._stack([gate.recurrent for gate in self._gates], [-sign for sign in signs])
        # A norm comes between the sums and their biases.
        bias = "" if self._has_norms else self._stack([gate.bias for gate in self._gates], signs)
        outputs = self._graph.types[self._inputs[FORGET.recurrent]].static_shape()[1]
        h, c, states = self._take_state(10, outputs), self._take_state(11, self._units), []
        for share in self._name_steps(self._compute_input_shares(weights, bias)):
            h, c = self._write_step(self._subtract(share, self._connect(h, inner)) if h else share, c)
            states.append(h)
        self._finish_sequence(states)
        self._finish_output(c, 1)
        self._finish_output(h, 2)

    def _write_step(self, sums: str, c: str) -> tuple[str, str]:
        """The new h and c."""
        if self._has_norms or any(self._peepholes.values()):
            return self._write_each_gate(sums, c)
        count = len(self._opening)
        opening, fresh = self._split_gates(sums, count * self._units, self._units)
        forget, output, *entry = self._open_gates(opening, count, self._units)
        c = self._update_cell(c, forget, next(iter(entry), ""), fresh)
        return self._show_cell(output, c), c

    def _write_each_gate(self, sums: str, c: str) -> tuple[str, str]:
        """The same where gates see the cell, or have norms."""
        parts = self._split_gates(sums, *[self._units] * len(self._gates))
        totals = dict(zip(self._gates, parts, strict=True))
        forget = self._open_gate(FORGET, totals[FORGET], c)
        entry = self._open_gate(ENTRY, totals[ENTRY], c) if ENTRY in totals else ""
        c = self._update_cell(c, forget, entry, self._normalize(CELL, totals[CELL]))
        return self._show_cell(self._open_gate(OUTPUT, totals[OUTPUT], c), c), c

    def _open_gate(self, gate: Gate, total: str, c: str) -> str:
        peephole = self._peepholes[gate]
        total = self._subtract(total, self._multiply(c, peephole)) if peephole and c else total
        return self._open_gates(self._normalize(gate, total), 1, self._units)[0]

    def _normalize(self, gate: Gate, total: str) -> str:
        """The sum with its norm, and the bias behind that."""
        if not self._has_norms:
            return total
        norm, bias = self._take(gate.norm), self._stack([gate.bias], [gate.sign])
        if norm:
            op = LayerNorm(axes=(1,), epsilon=LAYER_NORM_EPSILON)
            return self._emit(op, total, norm, *filter(None, (bias,)))
        return self._add_up(total, bias) if bias else total

    def _update_cell(self, c: str, forget: str, entry: str, negated: str) -> str:
        entry = entry or self._subtract_from_one(forget)
        fresh = self._multiply(entry, self._emit(Tanh(), negated))
        cell = self._subtract(self._multiply(forget, c), fresh) if c else self._emit(ElementWiseNeg(), fresh)
        return self._clip(cell, self._cell_bound)

    def _show_cell(self, output: str, c: str) -> str:
        h = self._multiply(output, self._emit(Tanh(), c))
        projection = self._take(22)
        if not projection:
            return h
        return self._clip(self._connect(h, projection, self._take(23)), self._output_bound)

    def _clip(self, value: str, bound: float) -> str:
        return self._emit(ReluMinMax(min_value=-bound, max_value=bound), value) if bound > 0 else value
