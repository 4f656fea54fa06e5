"""Which nodes of a TensorFlow graph are needed, in an order that can run."""

from collections.abc import Collection, Iterable, Sequence

from edgewright.core.errors import BadInput, Where, shown
from edgewright.frontends.tensorflow.graphdef import Node, find_producer, split_name

# Of one node: a number in the name of a tensor must not become as many values.
MOST_PORTS = 1 << 16


def list_needed(
    nodes: Iterable[Node], outputs: Sequence[str], given: Collection[str], *, is_whole: bool = False
) -> list[Node]:
    """The nodes behind the outputs (or all), each after those it reads; given tensors need no node."""
    by_name: dict[str, Node] = {}
    for node in nodes:
        if node.name in by_name:
            raise BadInput(
                f"node '{shown(node.name)}' is there twice", node.where, do="export the model again"
            )
        by_name[node.name] = node
    roots = [*outputs, *((node.output(0) for node in by_name.values()) if is_whole else ())]
    order: dict[str, Node] = {}
    for tensor in roots:
        if tensor not in given:
            _visit(_find_node(tensor, by_name, None), by_name, given, order)
    return list(order.values())


def count_ports(nodes: Iterable[Node], outputs: Sequence[str]) -> dict[str, int]:
    """How many outputs of each node are read by others."""
    counts: dict[str, int] = {}
    for tensor in (*outputs, *(item for node in nodes for item in node.inputs)):
        name, port = split_name(tensor)
        if port >= MOST_PORTS:
            raise BadInput(
                f"output {port} of node '{shown(name)}' is read, expected less than {MOST_PORTS}",
                Where(node=name),
                do="export the model again",
            )
        counts[name] = max(counts.get(name, 1), port + 1)
    return counts


def _visit(root: Node, by_name: dict[str, Node], given: Collection[str], order: dict[str, Node]) -> None:
    """Depth first, without recursion: graphs are deeper than Python's stack."""
    pending: list[tuple[Node, int]] = [(root, 0)]
    open_: set[str] = set()
    while pending:
        node, place = pending.pop()
        if node.name in order:
            continue
        if place == 0:
            if node.name in open_:
                raise BadInput("the graph has a cycle", node.where, do="export the model again")
            open_.add(node.name)
        behind = [item for item in node.inputs[place:] if item not in given]
        fresh = next((item for item in behind if find_producer(item) not in order), None)
        if fresh is None:
            order[node.name] = node
            continue
        before = _find_node(fresh, by_name, node)
        if before.name in open_:
            raise BadInput("the graph has a cycle", before.where, do="export the model again")
        pending += [(node, node.inputs.index(fresh, place) + 1), (before, 0)]


def _find_node(tensor: str, by_name: dict[str, Node], reader: Node | None) -> Node:
    node = by_name.get(find_producer(tensor))
    if node is None:
        raise BadInput(
            f"tensor '{shown(tensor)}' is read but never made",
            Where(node=reader.name, op=reader.op) if reader else Where(tensor=tensor),
            do="export the model again",
        )
    return node
