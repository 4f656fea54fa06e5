"""The order in which parts of a graph get more bits: first what takes away the most noise for its price."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from edgewright.ir.graph import Graph, Node
from edgewright.ops.cost import node_macs
from edgewright.quantize.cost import work_of
from edgewright.quantize.mixed.calibrated import Widths
from edgewright.quantize.mixed.parts import Parts
from edgewright.quantize.roles import roles_of

__all__ = ["Effects", "Move", "moves", "widths_after"]

# What is left of rounding to 8 bits where there are 16: the noise falls by 6 dB a bit.
LEFT_OF_8_IN_16 = 4.0**-8


@dataclass(frozen=True)
class Effects:
    """Noise over signal at the outputs that rounding brings: groups in 8 bits, weights in 4 and in 8."""

    groups: Mapping[str, float]
    small: Mapping[str, float]
    weights: Mapping[str, float]


@dataclass(frozen=True)
class Move:
    """A step to more bits: groups to 16, groups to half precision, or weights from 4 to 8."""

    wide: frozenset[str] = frozenset()
    half: frozenset[str] = frozenset()
    weights: frozenset[str] = frozenset()
    # Noise that it takes away, and bits x MACs that it adds.
    gain: float = 0.0
    price: float = 0.0

    @property
    def worth(self) -> float:
        """Noise taken away for each bit x MAC."""
        return self.gain / max(self.price, 1.0)


def moves(graph: Graph, parts: Parts, effects: Effects, *, has_half: bool = True) -> list[Move]:
    """All steps from the cheapest widths to the widest; half precision is last: nothing else helps there."""
    return [*_Ordering(graph, parts, effects).run(), *(_to_half(graph, parts, effects) if has_half else [])]


def widths_after(done: Iterable[Move], small: Iterable[str]) -> Widths:
    """The widths after some steps, from ``small`` weights of 4 bits on."""
    found = Widths(small=frozenset(small))
    for move in done:
        found = replace(
            found,
            wide=(found.wide | move.wide) - move.half,
            half=found.half | move.half,
            small=found.small - move.weights,
        )
    return found


class _Ordering:
    """Takes the best step again and again.

    A value has the more bits only if what reads it computes with them too: a step raises a group together
    with the groups that are made of it. What is raised already costs nothing any more, so stretches grow.
    """

    def __init__(self, graph: Graph, parts: Parts, effects: Effects) -> None:
        self._graph, self._parts = graph, parts
        self._raising = {root: _raising(graph, part.makers) for root, part in parts.groups.items()}
        self._needed = {root: {root, *part.readers} for root, part in parts.groups.items()}
        self._gains = {root: effects.groups.get(root, 0.0) for root in parts.groups}
        self._wide: set[str] = set()
        self._open = {root: self._widened(root) for root in parts.groups}
        self._weights = {
            value: Move(
                weights=frozenset({value}),
                gain=max(0.0, effects.small[value] - effects.weights[value]),
                price=4 * 8 * work_of(graph, node),
            )
            for value, node in parts.weights.items()
            if value in effects.small
        }

    def run(self) -> list[Move]:
        found = []
        while self._open or self._weights:
            steps: list[tuple[str, Move]] = [*self._open.items(), *self._weights.items()]
            name, best = max(steps, key=lambda step: step[1].worth)
            found.append(best)
            self._weights.pop(name, None)
            self._open.pop(name, None)
            self._wide |= best.wide
            for root in self._open:
                if self._needed[root] & best.wide:
                    self._open[root] = self._widened(root)
        return found

    def _widened(self, root: str) -> Move:
        added = self._needed[root] - self._wide
        price = sum(self._raising[other] for other in added)
        return Move(wide=frozenset(added), gain=self._gains[root] * (1 - LEFT_OF_8_IN_16), price=price)


def _to_half(graph: Graph, parts: Parts, effects: Effects) -> list[Move]:
    """Groups to half precision: what they gain then is what 8-bit weights and 16-bit values still cost."""
    found = []
    for root, part in parts.groups.items():
        read = [node.inputs[p] for node in part.makers for p in roles_of(graph, node).weights]
        left = effects.groups.get(root, 0.0) * LEFT_OF_8_IN_16
        gain = left + sum(effects.weights.get(value, 0.0) for value in read)
        price = sum(8 * 16 * work_of(graph, node) for node in part.makers)
        found.append(Move(half=frozenset({root}), gain=gain, price=price))
    return sorted(found, key=lambda move: -move.worth)


def _raising(graph: Graph, makers: Iterable[Node]) -> float:
    """What 16 instead of 8 bits cost; where both operands are values, both of them have more."""
    return sum(_factor(graph, node) * 8 * 8 * work_of(graph, node) for node in makers)


def _factor(graph: Graph, node: Node) -> int:
    is_of_values = bool(node_macs(graph, node)) and not roles_of(graph, node).weights
    return 3 if is_of_values else 1
