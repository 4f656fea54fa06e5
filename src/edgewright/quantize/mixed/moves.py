"""The order in which parts of a graph get more bits: first what takes away the most noise for its price."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from edgewright.ir.graph import Graph, Node
from edgewright.ops.cost import node_macs
from edgewright.quantize.cost import work_of
from edgewright.quantize.mixed.calibrated import Widths
from edgewright.quantize.mixed.parts import Parts
from edgewright.quantize.roles import find_roles

# What is left of rounding to 8 bits where there are 16: the noise falls by 6 dB a bit.
LEFT_OF_8_IN_16 = 4.0**-8


@dataclass(frozen=True)
class Effects:
    """Noise over signal at the outputs that rounding brings: groups in 8 bits, weights in 4 and in 8."""

    groups: Mapping[str, float]
    small: Mapping[str, float] = field(default_factory=dict)
    weights: Mapping[str, float] = field(default_factory=dict)
    # Groups that gain although 8 bits are read of them, and the part of the noise that is left then.
    copied: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class May:
    """What there is besides 8 and 16 bits: weights of 4 and of 16 bits, half precision."""

    have_small: bool = True
    have_fine: bool = True
    have_half: bool = True


@dataclass(frozen=True)
class Move:
    """A step to more bits: groups to 16, groups to half precision, weights from 4 to 8 or from 8 to 16."""

    wide: frozenset[str] = frozenset()
    half: frozenset[str] = frozenset()
    usual: frozenset[str] = frozenset()
    fine: frozenset[str] = frozenset()
    # Noise that it takes away, and bits x MACs that it adds.
    gain: float = 0.0
    price: float = 0.0

    @property
    def worth(self) -> float:
        """Noise taken away for each bit x MAC."""
        return self.gain / max(self.price, 1.0)


def order_moves(graph: Graph, parts: Parts, effects: Effects, may: May) -> list[Move]:
    """All steps from the cheapest widths to the widest; half precision is last: nothing else helps there."""
    return [*_Ordering(graph, parts, effects, may).run(), *_list_moves_to_half(graph, parts, effects, may)]


def apply_moves(taken: Iterable[Move], small: Iterable[str]) -> Widths:
    """The widths after some steps, from ``small`` weights of 4 bits on."""
    widths = Widths(small=frozenset(small))
    for move in taken:
        widths = replace(
            widths,
            wide=(widths.wide | move.wide) - move.half,
            half=widths.half | move.half,
            small=widths.small - move.usual,
            fine=widths.fine | move.fine,
        )
    return widths


class _Ordering:
    """Takes the best step again and again.

    A value has the more bits only if what reads it computes with them too: a step raises a group together
    with the groups that are made of it. What is raised already costs nothing any more, so stretches grow.
    """

    def __init__(self, graph: Graph, parts: Parts, effects: Effects, may: May) -> None:
        self._parts, self._effects, self._may = parts, effects, may
        self._raising = {root: _price_raise(graph, part.makers) for root, part in parts.groups.items()}
        self._work = {value: work_of(graph, node) for value, node in parts.weights.items()}
        self._wide: set[str] = set()
        # Groups that a step needs in 16 bits, by what it is for: a group, or weights.
        self._needed = {
            root: {root} if root in effects.copied else {root, *part.readers}
            for root, part in parts.groups.items()
        }
        self._needed |= {value: _find_maker(parts, value) for value in parts.weights}
        self._open = {root: self._widen_group(root) for root in parts.groups}
        for value in parts.weights:
            self._open_weights(value, is_small=may.have_small)

    def run(self) -> list[Move]:
        moves = []
        while self._open:
            name, best = max(self._open.items(), key=lambda step: step[1].worth)
            moves.append(best)
            self._open.pop(name)
            self._wide |= best.wide
            if best.usual:
                self._open_weights(name, is_small=False)
            for other in self._open:
                if self._needed[other] & best.wide:
                    self._open[other] = self._price_again(other)
        return moves

    def _open_weights(self, value: str, *, is_small: bool) -> None:
        if is_small:
            gain = max(0.0, self._effects.small[value] - self._effects.weights[value])
            self._open[value] = Move(usual=frozenset({value}), gain=gain, price=4 * 8 * self._work[value])
        elif self._may.have_fine:
            self._open[value] = self._refine_weights(value)

    def _price_again(self, name: str) -> Move:
        """A step whose price has fallen."""
        if name in self._parts.groups:
            return self._widen_group(name)
        return self._refine_weights(name) if self._open[name].fine else self._open[name]

    def _widen_group(self, root: str) -> Move:
        added = self._needed[root] - self._wide
        left = self._effects.copied.get(root, LEFT_OF_8_IN_16)
        gain = self._effects.groups.get(root, 0.0) * (1 - left)
        return Move(wide=frozenset(added), gain=gain, price=self._compute_price(added))

    def _refine_weights(self, value: str) -> Move:
        """Weights have 16 bits only beside values that have them too."""
        added = self._needed[value] - self._wide
        price = self._compute_price(added) + 8 * 16 * self._work[value]
        gain = self._effects.weights[value] * (1 - LEFT_OF_8_IN_16)
        return Move(wide=frozenset(added), fine=frozenset({value}), gain=gain, price=price)

    def _compute_price(self, groups: Iterable[str]) -> float:
        return sum(self._raising[root] for root in groups)


def _find_maker(parts: Parts, value: str) -> set[str]:
    root = parts.find_group(parts.weights[value])
    return set() if root is None else {root}


def _list_moves_to_half(graph: Graph, parts: Parts, effects: Effects, may: May) -> list[Move]:
    """Groups to half precision: what they gain then is what weights and 16-bit values still cost."""
    steps: list[Move] = []
    if not may.have_half:
        return steps
    for root, part in parts.groups.items():
        read = [node.inputs[p] for node in part.makers for p in find_roles(graph, node).weights]
        left = effects.groups.get(root, 0.0) * LEFT_OF_8_IN_16
        gain = left + sum(effects.weights.get(value, 0.0) for value in read)
        price = sum(8 * 16 * work_of(graph, node) for node in part.makers)
        steps.append(Move(half=frozenset({root}), gain=gain, price=price))
    return sorted(steps, key=lambda move: -move.worth)


def _price_raise(graph: Graph, makers: Iterable[Node]) -> float:
    """What 16 instead of 8 bits cost; where both operands are values, both of them have more."""
    return sum(_factor(graph, node) * 8 * 8 * work_of(graph, node) for node in makers)


def _factor(graph: Graph, node: Node) -> int:
    is_of_values = bool(node_macs(graph, node)) and not find_roles(graph, node).weights
    return 3 if is_of_values else 1
