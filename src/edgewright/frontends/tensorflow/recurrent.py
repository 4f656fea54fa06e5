"""Finds out whether a loop is a recurrent layer: a turn of it computes what a turn of the layer does.

What a body looks like differs from version to version, so it is not compared with patterns: its weights are
tried as those of an Lstm or a Gru, in every order of the gates, on random numbers.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np

from edgewright.core.errors import EdgewrightError
from edgewright.core.numbers import Array
from edgewright.frontends._common.faults import FAULTS
from edgewright.frontends.tensorflow.context import Context
from edgewright.ir.graph import Node
from edgewright.ir.symbols import resolve, resolve_op
from edgewright.ir.types import TensorType
from edgewright.ops.elementwise import ElementWiseAdd
from edgewright.ops.matmul import FullyConnected, MatMul
from edgewright.ops.rearrange import Concat, Pack, UnPack
from edgewright.ops.recurrent import Gru, Lstm

# A shorter loop is as good as a layer.
FEWEST_TURNS = 3
CLOSE = 1e-5
LSTM_GATES, GRU_GATES = 4, 3
# TensorFlow 1 adds 1 to the forget gate.
FORGET_BIASES = (0.0, 1.0)
# Values that are larger are not computed on trial.
LARGEST = 1 << 22


@dataclass(frozen=True)
class Turn:
    """One turn of a loop: what it was given and gave, and the nodes that were made for it."""

    before: list[str]
    after: list[str]
    nodes: list[Node]


@dataclass(frozen=True)
class _Layer:
    """A layer and its inputs behind the sequence, without the first states."""

    op: Lstm | Gru
    weights: tuple[Array | None, ...]
    # Which of the loop's values is h; the other state is c.
    hidden: int


def as_layer(ctx: Context, first: Sequence[str], turns: Sequence[Turn]) -> list[str] | None:
    """The values behind a loop that was unrolled, from one layer instead; None where it is none."""
    if len(turns) < FEWEST_TURNS:
        return None
    try:
        with np.errstate(all="ignore"):
            cell = _Cell.of(ctx, turns)
            found = None if cell is None else next(filter(cell.is_right, cell.candidates()), None)
    except (EdgewrightError, *FAULTS):
        # What cannot be computed here is no layer; unrolled, it says what is wrong with it.
        return None
    if cell is None or found is None or not cell.is_sequence(turns, found.hidden):
        return None
    values = _emit_layer(ctx, first, turns, cell, found)
    _forget(ctx, turns, values)
    return values


def stack_items(ctx: Context, items: Sequence[str]) -> str:
    """Items side by side along a new first axis; what they were taken from where that is the same."""
    node = ctx.graph.producer(items[0])
    if node is not None and node.op == UnPack(axis=0) and list(node.outputs) == list(items):
        return node.inputs[0]
    return ctx.emit(Pack(axis=0), *items)


class _Cell:
    """The second turn of a loop: in the first one, states are often zeros and folded away."""

    def __init__(self, ctx: Context, turn: Turn, x: str, states: Sequence[int], items: list[str]) -> None:
        self.items = items
        self.states = states
        self._ctx = ctx
        self._turn = turn
        self._x = x
        random = np.random.default_rng(0)
        names = [x, *(turn.before[i] for i in states)]
        # Open sizes are tried with some number: a batch, as a rule.
        self._sizes = dict.fromkeys(frozenset().union(*(ctx.type(name).symbols for name in names)), 2)
        self._given = {
            name: random.standard_normal(resolve(ctx.type(name), self._sizes).static_shape())
            for name in names
        }
        self._values = self._compute_values()

    @classmethod
    def of(cls, ctx: Context, turns: Sequence[Turn]) -> "_Cell | None":
        turn = turns[1]
        made = {value for node in turn.nodes for value in node.outputs}
        known = ctx.graph.constants
        read = dict.fromkeys(
            v for n in turn.nodes for v in n.inputs if v and v not in made and v not in known
        )
        states = [i for i, value in enumerate(turn.after) if value in made and turn.before[i] in read]
        rest = [value for value in read if value not in {turn.before[i] for i in states}]
        lists = [ctx.lists[name] for name in turn.before if name in ctx.lists and name in turn.after]
        items = next((found for found in lists if rest and rest[0] in found), None)
        if len(rest) != 1 or len(states) not in {1, 2} or items is None:
            return None
        if not all(ctx.rank(value) == 2 for value in read):
            return None
        types = [ctx.type(value) for value in (*read, *made)]
        if any(not node.op.has_reference() for node in turn.nodes) or any(_is_large(item) for item in types):
            return None
        return cls(ctx, turn, rest[0], states, items)

    def candidates(self) -> Iterator[_Layer]:
        """Layers whose weights are those of the turn, gate by gate in every order."""
        for hidden in self.states:
            own, inner = self._find_matrix(self._x), self._find_matrix(self._turn.before[hidden])
            if own is None or inner is None or inner.shape[0] != own.shape[0]:
                continue
            gates, odd = divmod(own.shape[0], inner.shape[1])
            if not odd and gates == LSTM_GATES and len(self.states) == 2:
                yield from self._match_lstms(hidden, own, inner)
            elif not odd and gates == GRU_GATES and len(self.states) == 1:
                yield from self._match_grus(hidden, own, inner)

    def is_right(self, layer: _Layer) -> bool:
        """Whether one step of a layer gives what the turn gives."""
        x, h = self._given[self._x], self._given[self._turn.before[layer.hidden]]
        inputs: list[Array | None] = [x[None], *layer.weights]
        if isinstance(layer.op, Gru):
            inputs[13] = h[None]
            results = [(layer.op.values_for(inputs)[1][0], layer.hidden)]
        else:
            other = next(i for i in self.states if i != layer.hidden)
            inputs[10], inputs[11] = h, self._given[self._turn.before[other]]
            _, c, last = layer.op.values_for(inputs)
            results = [(last, layer.hidden), (c, other)]
        return all(
            np.allclose(found, self._values[self._turn.after[i]], rtol=0, atol=CLOSE) for found, i in results
        )

    def is_sequence(self, turns: Sequence[Turn], hidden: int) -> bool:
        """Whether turn by turn one item after the other is read, and only h is written down."""
        if len(turns) != len(self.items):
            return False
        for place, turn in enumerate(turns):
            read = {value for node in turn.nodes for value in node.inputs}.intersection(self.items)
            if read != {self.items[place]}:
                return False
        states = [turn.after[hidden] for turn in turns]
        return all(
            # All steps, or the last one alone.
            self._ctx.lists[value] in (states, states[-1:])
            for before, value in zip(turns[-1].before, turns[-1].after, strict=True)
            if value in self._ctx.lists and value != before
        )

    def _match_lstms(self, hidden: int, own: Array, inner: Array) -> Iterator[_Layer]:
        bias = self._sum_bias(own.shape[0])
        for order in permutations(range(LSTM_GATES)):
            (wi, wf, wc, wo), (ri, rf, rc, ro), (bi, bf, bc, bo) = (
                [np.split(array, LSTM_GATES)[gate] for gate in order] for array in (own, inner, bias)
            )
            for more in FORGET_BIASES:
                gates = (wf, wc, wo, rf, rc, ro, bf + np.asarray(more, bf.dtype), bc, bo)
                yield _Layer(Lstm(), (*gates, *[None] * 6, wi, ri, None, None, None, bi), hidden)

    def _match_grus(self, hidden: int, own: Array, inner: Array) -> Iterator[_Layer]:
        outer, within = (
            self._sum_bias(own.shape[0], self._x),
            self._sum_bias(own.shape[0], self._turn.before[hidden]),
        )
        for order in permutations(range(GRU_GATES)):
            parts = [
                np.split(array, GRU_GATES)[gate] for array in (own, inner, outer, within) for gate in order
            ]
            for linear in (1, 0):
                yield _Layer(Gru(linear_before_reset=linear), (*parts, None), hidden)

    def _compute_values(self) -> dict[str, Array]:
        found: dict[str, Array] = dict(self._given)
        for node in self._turn.nodes:
            arrays = [
                found[v] if v in found else self._ctx.graph.constants[v] if v else None for v in node.inputs
            ]
            results = resolve_op(node.op, self._sizes).values_for(arrays)
            found.update(zip(node.outputs, results, strict=False))
        return found

    def _find_matrix(self, value: str) -> Array | None:
        """The weights [units, width] that a value is multiplied by, alone or joined with another one."""
        for node in self._turn.nodes:
            if (
                not isinstance(node.op, (FullyConnected, MatMul))
                or node.inputs[1] not in self._ctx.graph.constants
            ):
                continue
            weights = self._ctx.graph.constants[node.inputs[1]]
            is_turned = isinstance(node.op, MatMul) and not node.op.transpose_in1
            whole = weights.T if is_turned else weights
            if node.inputs[0] == value:
                return whole
            before = self._ctx.graph.producer(node.inputs[0])
            if before is not None and isinstance(before.op, Concat) and value in before.inputs:
                widths = [int(self._ctx.shape(item)[-1]) for item in before.inputs]
                start = sum(widths[: before.inputs.index(value)])
                return whole[:, start : start + widths[before.inputs.index(value)]]
        return None

    def _sum_bias(self, size: int, of: str = "") -> Array:
        """The sum of the vectors that are added, to the product of one value where it is named."""
        dtype = self._ctx.dtype(self._x).numpy
        total: Array = np.zeros(size, dtype)
        for node in self._turn.nodes:
            is_sum = isinstance(node.op, ElementWiseAdd)
            is_product = isinstance(node.op, (FullyConnected, MatMul))
            if not (is_sum or is_product) or (of and not self._is_product_of(node, of)):
                continue
            for value in node.inputs if is_sum else node.inputs[2:3]:
                array = self._ctx.graph.constants.get(value)
                if array is not None and array.size == size:
                    total = total + array.reshape(-1)
        return total

    def _is_product_of(self, node: Node, value: str) -> bool:
        if isinstance(node.op, (FullyConnected, MatMul)):
            return node.inputs[0] == value
        makers = [self._ctx.graph.producer(item) for item in node.inputs]
        return any(
            maker is not None and isinstance(maker.op, (FullyConnected, MatMul)) and maker.inputs[0] == value
            for maker in makers
        )


def _is_large(tensor_type: TensorType) -> bool:
    return isinstance(tensor_type.count, int) and tensor_type.count > LARGEST


def _emit_layer(
    ctx: Context, first: Sequence[str], turns: Sequence[Turn], cell: _Cell, layer: _Layer
) -> list[str]:
    weights = [
        "" if array is None else ctx.add_constant(np.ascontiguousarray(array)) for array in layer.weights
    ]
    inputs, values = [stack_items(ctx, cell.items), *weights], list(turns[-1].after)
    start = first[layer.hidden]
    if isinstance(layer.op, Gru):
        inputs[13] = ctx.reshape(start, (1, *ctx.shape(start)))
        sequence, last = ctx.emit_all(layer.op, *inputs)
        values[layer.hidden] = ctx.reshape(last, ctx.shape(start))
    else:
        other = next(i for i in cell.states if i != layer.hidden)
        inputs[10], inputs[11] = start, first[other]
        sequence, values[other], values[layer.hidden] = ctx.emit_all(layer.op, *inputs)
    for i, value in enumerate(turns[-1].after):
        if value in ctx.lists and value != turns[-1].before[i]:
            is_last = len(ctx.lists[value]) == 1
            steps = [values[layer.hidden]] if is_last else ctx.emit_all(UnPack(axis=0), sequence)
            values[i] = ctx.list_of(steps)
    return values


def _forget(ctx: Context, turns: Sequence[Turn], kept: Sequence[str]) -> None:
    """Takes the nodes of the turns out again: nobody reads them any more."""
    gone = set()
    for node in reversed([node for turn in turns for node in turn.nodes]):
        if not any(ctx.graph.consumers(value) or value in kept for value in node.outputs):
            ctx.graph.remove(node)
            gone.add(node.name)
    ctx.emitted[:] = [node for node in ctx.emitted if node.name not in gone]
