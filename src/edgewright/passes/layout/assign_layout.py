"""Lets ops that care for no layout work channel last wherever that leaves fewer elements to transpose.

A frontend puts a transpose before and after each spatial op. Between them lie regions of ops that can work in
either order; each region is turned as a whole when its borders become cheaper by that, so that a network
which is spatial throughout keeps at most one transpose at each end.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from edgewright.ir.dims import evaluate
from edgewright.ir.graph import Graph, Node
from edgewright.ir.op import Op
from edgewright.ops.rearrange import Transpose
from edgewright.passes.graph_pass import register_pass
from edgewright.passes.layout.absorb_transposes import can_absorb
from edgewright.passes.layout.orders import (
    Order,
    expand_type,
    is_view,
    order_channel_first,
    order_channel_last,
    order_of,
    permute_type,
    transpose_constant,
)

# What a symbolic dimension counts when borders are compared.
NOMINAL = 16
# A transpose at the graph's end may still be taken over by the caller's layout.
END = 0.5
# One that moves only axes of size 1 copies nothing, but is an op and hides the layout at the graph's end.
VIEW = 1.0


@register_pass(after=("merge_moves", "drop_identity"), rtol=1e-5)
def assign_layout(graph: Graph) -> int:
    """Turns regions, one rank after the other; returns how many."""
    ranks = {len(node.op.perm) for node in graph.nodes if isinstance(node.op, Transpose)}
    return sum(
        _turn(graph, region)
        for rank in sorted(ranks)
        if rank > 2
        for region in _find_regions(graph, order_channel_last(rank))
        if _is_gain(graph, region)
    )


@dataclass
class _Region:
    """Connected nodes that can work in either order, and the values between and around them."""

    order: Order
    # Each node as it would be in the other order, and which of its inputs would have to be turned.
    nodes: dict[Node, tuple[Op, list[bool]]] = field(default_factory=dict)
    values: dict[str, None] = field(default_factory=dict)
    made: set[str] = field(default_factory=set)

    @property
    def back(self) -> Order:
        return order_channel_first(len(self.order))

    def sources(self) -> list[str]:
        return [value for value in self.values if value not in self.made]


def _find_regions(graph: Graph, order: Order) -> list[_Region]:
    permuted = [
        (node, turned) for node in graph.nodes if (turned := _permute_op(graph, node, order)) is not None
    ]
    groups = _Groups()
    for node, (_, moved) in permuted:
        groups.join([*node.outputs, *_list_moved_values(graph, node, moved)])
    regions: dict[str, _Region] = {}
    for node, turned in permuted:
        region = regions.setdefault(groups.find_root(node.outputs[0]), _Region(order))
        region.nodes[node] = turned
        region.values.update(dict.fromkeys((*node.outputs, *_list_moved_values(graph, node, turned[1]))))
        region.made.update(node.outputs)
    return list(regions.values())


class _Groups:
    """Which values belong together (disjoint sets)."""

    def __init__(self) -> None:
        self._parents: dict[str, str] = {}

    def find_root(self, value: str) -> str:
        path = []
        while (parent := self._parents.setdefault(value, value)) != value:
            path.append(value)
            value = parent
        self._parents.update(dict.fromkeys(path, value))
        return value

    def join(self, values: list[str]) -> None:
        first = self.find_root(values[0])
        for value in values[1:]:
            self._parents[self.find_root(value)] = first


def _permute_op(graph: Graph, node: Node, order: Order) -> tuple[Op, list[bool]] | None:
    """The op on transposed inputs, where it can work so and every value has the rank for it."""
    rank = len(order)
    if isinstance(node.op, Transpose) or node.subgraphs or not all(node.outputs):
        return None
    if any(graph.types[value].rank != rank for value in node.outputs):
        return None
    types = [expand_type(graph, value, rank) if value else None for value in node.inputs]
    permuted = node.op.permuted(order, *types)  # type: ignore[arg-type]
    if permuted is None or any(
        is_moved and (t is None or t.rank != rank) for t, is_moved in zip(types, permuted[1], strict=True)
    ):
        return None
    return permuted


def _list_moved_values(graph: Graph, node: Node, moved: list[bool]) -> list[str]:
    return [
        value
        for value, is_moved in zip(node.inputs, moved, strict=True)
        if is_moved and value not in graph.constants
    ]


def _is_gain(graph: Graph, region: _Region) -> bool:
    # A region turned before this one may have renamed its borders: then it is looked at in the next round.
    is_fresh = all(value in graph.types for value in region.values)
    return is_fresh and _estimate_turned_cost(graph, region) < _measure_cost(graph, region)


def _measure_cost(graph: Graph, region: _Region) -> float:
    """Elements transposed at the region's borders as they are."""
    cost = 0.0
    for value in region.values:
        before = graph.producer(value)
        if value not in region.made and before is not None and order_of(graph, value) == region.back:
            cost += _weight(graph, value, region.order, before.inputs[0])
        else:
            readers = _list_turning_readers(graph, value, region.order)
            transposed = [node.outputs[0] for node in readers if _is_costly(graph, node)]
            cost += max((_weight(graph, value, region.order, result) for result in transposed), default=0.0)
    return cost


def _is_costly(graph: Graph, transpose: Node) -> bool:
    """Whether somebody needs the transposed value as it is."""
    value, order = transpose.outputs[0], transpose.op.params()[0].value
    readers = graph.consumers(value)
    return value in graph.outputs or not all(can_absorb(graph, node, value, order) for node in readers)


def _estimate_turned_cost(graph: Graph, region: _Region) -> float:
    """Elements that would be transposed if the region worked in the other order."""
    cost = 0.0
    for value in region.sources():
        before = graph.producer(value)
        if before is None or order_of(graph, value) != region.back:
            cost += _weight(graph, value, region.order)
        elif _is_needed_outside(graph, value, region):
            cost += _weight(graph, value, region.order, before.inputs[0])
    for value in region.made:
        if _is_needed_outside(graph, value, region):
            cost += _weight(graph, value, region.order)
    return cost


def _weight(graph: Graph, value: str, order: Order, *beyond: str) -> float:
    """Elements of a value, fewer where it, or what lies beyond its transpose, is an end of the graph."""
    tensor_type = graph.types[value]
    count = VIEW
    if not is_view(tensor_type.shape, order):
        count = float(int(evaluate(tensor_type.count, dict.fromkeys(tensor_type.symbols, NOMINAL))))
    is_end = any(name in graph.inputs or name in graph.outputs for name in (value, *beyond))
    return count * (END if is_end else 1.0)


def _is_needed_outside(graph: Graph, value: str, region: _Region) -> bool:
    """Whether a transpose must give somebody the value in its present order after the region is turned."""
    if value in graph.outputs:
        return True
    return any(
        reader not in region.nodes
        and not _is_turning(reader, region.order)
        and not can_absorb(graph, reader, value, region.back)
        for reader in graph.consumers(value)
    )


def _is_turning(node: Node, order: Order) -> bool:
    return isinstance(node.op, Transpose) and node.op.perm == order


def _list_turning_readers(graph: Graph, value: str, order: Order) -> Iterator[Node]:
    return (reader for reader in graph.consumers(value) if _is_turning(reader, order))


def _turn(graph: Graph, region: _Region) -> bool:
    """Rebuilds the nodes of a region in the other order; transposes at its borders make the old values."""
    turned: dict[str, str] = {}
    for node, (op, moved) in region.nodes.items():
        inputs = [
            _turn_value(graph, value, region, turned) if is_moved else value
            for value, is_moved in zip(node.inputs, moved, strict=True)
        ]
        _rebuild(graph, node, op, inputs, region, turned)
    for value in region.sources():
        before = graph.producer(value)
        if before is not None and isinstance(before.op, Transpose) and _is_unread(graph, value):
            graph.remove(before)
    return True


def _turn_value(graph: Graph, value: str, region: _Region, turned: dict[str, str]) -> str:
    """The value in the other order: made already, from before a transpose, or by a new one."""
    if value in graph.constants:
        return transpose_constant(graph, value, region.order)
    if value not in turned:
        before = graph.producer(value)
        reader = next(_list_turning_readers(graph, value, region.order), None)
        if before is not None and order_of(graph, value) == region.back:
            turned[value] = before.inputs[0]
        elif reader is not None:
            turned[value] = reader.outputs[0]
        else:
            turned[value] = graph.fresh_name(value)
            name = graph.fresh_name(turned[value])
            graph.add(Node(name, Transpose(perm=region.order), [value], [turned[value]]))
    return turned[value]


def _rebuild(
    graph: Graph, node: Node, op: Op, inputs: list[str], region: _Region, turned: dict[str, str]
) -> None:
    types = graph.output_types(node)
    names = {value: _choose_name(graph, value, region.order) for value in node.outputs}
    graph.remove(node)
    graph.add(
        Node(node.name, op, inputs, list(names.values()), node.source, node.subgraphs, node.notes),
        [permute_type(tensor_type, region.order) for tensor_type in types],
    )
    for (value, name), tensor_type in zip(names.items(), types, strict=True):
        turned[value] = name
        graph.source_names.setdefault(name, graph.source_names.get(value, value))
        for reader in list(_list_turning_readers(graph, value, region.order)):
            _read_directly(graph, reader, name)
        if value in graph.outputs or any(r not in region.nodes for r in graph.consumers(value)):
            graph.add(
                Node(graph.fresh_name(value), Transpose(perm=region.back), [name], [value], node.source),
                [tensor_type],
            )


def _choose_name(graph: Graph, value: str, order: Order) -> str:
    """The name of a graph output that is the value in the other order, or a fresh one."""
    for reader in _list_turning_readers(graph, value, order):
        name = reader.outputs[0]
        if name in graph.outputs:
            graph.remove(reader)
            return name
    return graph.fresh_name(value)


def _read_directly(graph: Graph, transpose: Node, value: str) -> None:
    output = transpose.outputs[0]
    if output in graph.outputs:
        return
    graph.remove(transpose)
    graph.replace_uses(output, value)


def _is_unread(graph: Graph, value: str) -> bool:
    return not graph.consumers(value) and value not in graph.outputs
