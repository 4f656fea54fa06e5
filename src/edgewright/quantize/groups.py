"""Values that share one encoding: joined through ops that only move data, and through clamps."""

from collections.abc import Iterable, Mapping

from edgewright.ir.graph import Graph, Node
from edgewright.ops.rearrange_fill import Pad
from edgewright.quantize.pins import Origin, Pin, Placed
from edgewright.quantize.request import QuantizationRequest
from edgewright.quantize.rules import find_fixed_encoding


def is_real(graph: Graph, value: str) -> bool:
    """Whether a value holds real numbers that could be quantized."""
    return bool(value) and graph.types[value].dtype.is_float


def list_data_inputs(graph: Graph, node: Node) -> list[str]:
    """The inputs whose elements an op that only moves data passes on."""
    values = node.inputs if node.op.inputs[0].is_repeated else node.inputs[:1]
    return [value for value in values if is_real(graph, value)]


class Groups:
    """The values of a graph in groups of one encoding each, with what is pinned of them."""

    def __init__(self, graph: Graph, request: QuantizationRequest, pins: Mapping[str, Pin]) -> None:
        self._graph, self._request = graph, request
        self._parent: dict[str, str] = {}
        self._pins: dict[str, Pin] = dict(pins)
        self._clamped: set[str] = set()
        for node in graph.nodes:
            self._pin_by_rule(node)
        for node in graph.nodes:
            if node.op.keeps_encoding:
                self._join_moved(node)
            elif node.op.specific().is_clamp and not request.disable_relu_squashing:
                self._join_clamped(node)

    def find(self, value: str) -> str:
        """The value that stands for a value's group."""
        root = value
        while root in self._parent:
            root = self._parent[root]
        while value != root:
            self._parent[value], value = root, self._parent[value]
        return root

    def pin(self, value: str) -> Pin | None:
        """What is pinned of a value's group."""
        return self._pins.get(self.find(value))

    def find_bits(self, value: str) -> int:
        """The width of a value's group."""
        pin = self.pin(value)
        return self._request.act_bw if pin is None or pin.is_float else pin.bits

    def list_members(self, values: Iterable[str]) -> dict[str, list[str]]:
        """Values by group."""
        members: dict[str, list[str]] = {}
        for value in values:
            members.setdefault(self.find(value), []).append(value)
        return members

    def list_observed(self) -> list[str]:
        """The values whose ranges must be measured: those that make the range of a group not yet known."""
        return [value for value in self._list_made() if self._is_open(value)]

    def list_ruled(self) -> list[str]:
        """The values whose encodings a rule of the target settles, whatever their ranges are."""
        pins = {value: self.pin(value) for value in self._list_made()}
        return [
            value for value, pin in pins.items() if pin is not None and pin.origin == Origin.RULE and pin.rule
        ]

    def _list_made(self) -> list[str]:
        made = [
            value
            for node in self._graph.nodes
            if self._can_add_range(node)
            for value in node.outputs
            if value
        ]
        values = (*self._graph.inputs, *made)
        return [value for value in values if is_real(self._graph, value)]

    def is_clamped(self, value: str) -> bool:
        """Whether a value is written with the encoding of the clamp behind it."""
        return value in self._clamped

    def _is_open(self, value: str) -> bool:
        pin = self.pin(value)
        return value not in self._clamped and (pin is None or pin.placed is None or pin.is_float)

    def _pin_by_rule(self, node: Node) -> None:
        value = next(iter(node.outputs), "")
        pin = self._pins.get(value)
        if not is_real(self._graph, value) or (pin is not None and pin.placed is not None):
            return
        bits = self._request.act_bw if pin is None else pin.bits
        fixed = find_fixed_encoding(node.op, bits, is_symmetric=self._request.is_act_symmetric)
        if fixed is not None:
            rule, encoding, dtype = fixed
            self._pins[value] = Pin(bits, Placed(dtype, encoding), Origin.RULE, rule.name)

    def _join_moved(self, node: Node) -> None:
        outputs = [value for value in node.outputs if is_real(self._graph, value)]
        inputs = list_data_inputs(self._graph, node)
        if not inputs or not outputs:
            return
        pins = {value: self.pin(value) for value in inputs}
        # One pinned part must not become the range of all parts; it is converted instead.
        is_shared = len(set(pins.values())) == 1 or self._is_one_width(pins)
        joined = [value for value, pin in pins.items() if pin is None or is_shared]
        for value in (*outputs[1:], *joined):
            self._join(value, outputs[0])

    def _is_one_width(self, pins: Mapping[str, Pin | None]) -> bool:
        """Whether a width is all that is pinned, the same for all parts but constants, which follow."""
        moving = {pin for value, pin in pins.items() if value not in self._graph.constants}
        return len(moving) == 1 and all(pin is not None and pin.placed is None for pin in moving)

    def _can_add_range(self, node: Node) -> bool:
        """Whether a node makes values that its group does not have: a filling, or parts of other groups."""
        if not node.op.keeps_encoding or isinstance(node.op, Pad):
            return True
        parts = [v for v in list_data_inputs(self._graph, node) if v not in self._graph.constants]
        return any(self.find(part) != self.find(node.outputs[0]) for part in parts)

    def _join_clamped(self, node: Node) -> None:
        """The value before a clamp takes the clamp's encoding, if the clamp alone reads it."""
        before, after = node.inputs[0], node.outputs[0]
        maker = self._graph.producer(before)
        if maker is None or maker.op.keeps_encoding or maker.op.has_fixed_types or maker.subgraphs:
            return
        is_free = self._graph.is_used_once(before) and self.find(before) == before
        if is_free and self.pin(before) is None and is_real(self._graph, after):
            self._clamped.add(before)
            self._join(before, after)

    def _join(self, value: str, other: str) -> None:
        first, second = self.find(value), self.find(other)
        one, two = self._pins.get(first), self._pins.get(second)
        if first == second or (one is not None and two is not None and one != two):
            return
        self._parent[first] = second
        pin = one or two
        if pin is not None:
            self._pins.pop(first, None)
            self._pins[second] = pin
