"""Which nodes of an ONNX graph are needed, in an order that can run."""

from collections.abc import Container, Iterator, Sequence
from heapq import heapify, heappop, heappush

import onnx

from edgewright.core.errors import BadInput, Where
from edgewright.frontends._common.importer import check_length


def list_needed_nodes(
    graph: onnx.GraphProto,
    outputs: Sequence[str],
    captures: "Captures",
    outer: Container[str] = frozenset(),
    *,
    is_whole: bool = False,
) -> list[onnx.NodeProto]:
    """The nodes that the outputs depend on, or all of them, in an order that can run.

    A cycle, a name that nobody makes and a name that is made twice are errors.
    """
    producers = _map_producers(graph)
    available = {item.name for item in (*graph.input, *graph.initializer)} | {
        s.values.name for s in graph.sparse_initializer
    }
    for name in available.intersection(producers):
        raise _make_duplicate_error(name, graph.node[producers[name]])
    roots = [*producers, *outputs] if is_whole else list(outputs)
    for name in roots:
        if name not in producers and name not in available and name not in outer:
            raise BadInput(
                f"output '{name}' is never made", Where(tensor=name), do="name one of the graph's values"
            )
    nodes = list(graph.node)
    reads = [tuple(captures.list_reads(node)) for node in nodes]
    chosen = _find_reached(reads, producers, roots)
    for index in chosen:
        for name in nodes[index].input:
            if name and name not in producers and name not in available and name not in outer:
                raise BadInput(
                    f"value '{name}' is read but never made",
                    Where(op=nodes[index].op_type, node=nodes[index].name, tensor=name),
                    do="export the model again",
                )
    return _sort_nodes(nodes, chosen, reads, producers)


def check_name(name: str) -> None:
    """A name must be text of a bearable length."""
    if not isinstance(name, str):  # protobuf hands out bytes where it cannot decode them
        raise BadInput(f"name {name!r} is not UTF-8", do="export the model again")
    check_length(name)


def check_node_names(node: onnx.NodeProto) -> None:
    """All names of a node, also of one that nobody needs: notes name what was left out."""
    for name in (node.name, node.op_type, node.domain, *node.input, *node.output):
        check_name(name)
    for attribute in node.attribute:
        check_name(attribute.name)


class Captures:
    """What the subgraphs of a file read from around them; each is walked once, however deep it lies."""

    def __init__(self) -> None:
        # The graphs are kept: without it another one could get the same id.
        self._names: dict[int, tuple[onnx.GraphProto, tuple[str, ...]]] = {}

    def list_reads(self, node: onnx.NodeProto) -> Iterator[str]:
        """Names a node reads, those inside its subgraphs included."""
        yield from (name for name in node.input if name)
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield from self._list_captured(attribute.g)
            for graph in attribute.graphs:
                yield from self._list_captured(graph)

    def _list_captured(self, graph: onnx.GraphProto) -> tuple[str, ...]:
        if id(graph) not in self._names:
            self._names[id(graph)] = graph, tuple(dict.fromkeys(self._find_captured(graph)))
        return self._names[id(graph)][1]

    def _find_captured(self, graph: onnx.GraphProto) -> Iterator[str]:
        own = {item.name for item in (*graph.input, *graph.initializer)}
        own |= {s.values.name for s in graph.sparse_initializer}
        own.update(name for node in graph.node for name in node.output)
        for node in graph.node:
            yield from (name for name in self.list_reads(node) if name not in own)
        yield from (item.name for item in graph.output if item.name not in own)


def _map_producers(graph: onnx.GraphProto) -> dict[str, int]:
    producers: dict[str, int] = {}
    for index, node in enumerate(graph.node):
        check_node_names(node)
        for name in filter(None, node.output):
            if name in producers:
                raise _make_duplicate_error(name, node)
            producers[name] = index
    return producers


def _make_duplicate_error(name: str, node: onnx.NodeProto) -> BadInput:
    return BadInput(
        f"value '{name}' is made twice",
        Where(op=node.op_type, node=node.name, tensor=name),
        do="export the model again",
    )


def _find_reached(
    reads: Sequence[tuple[str, ...]], producers: dict[str, int], roots: Sequence[str]
) -> set[int]:
    pending = [producers[name] for name in roots if name in producers]
    chosen = set(pending)
    while pending:
        for name in reads[pending.pop()]:
            index = producers.get(name)
            if index is not None and index not in chosen:
                chosen.add(index)
                pending.append(index)
    return chosen


def _sort_nodes(
    nodes: Sequence[onnx.NodeProto],
    chosen: set[int],
    reads: Sequence[tuple[str, ...]],
    producers: dict[str, int],
) -> list[onnx.NodeProto]:
    """Kahn's algorithm in file order, so that a sorted file stays as it is."""
    waiting: dict[int, set[int]] = {}
    readers: dict[int, list[int]] = {}
    for index in sorted(chosen):
        waiting[index] = {producers[name] for name in reads[index] if name in producers}
        for other in waiting[index]:
            readers.setdefault(other, []).append(index)
    return [nodes[index] for index in _drain(nodes, waiting, readers)]


def _drain(
    nodes: Sequence[onnx.NodeProto], waiting: dict[int, set[int]], readers: dict[int, list[int]]
) -> list[int]:
    ready = [index for index, before in waiting.items() if not before]
    heapify(ready)
    order: list[int] = []
    while ready:
        index = heappop(ready)
        order.append(index)
        for reader in readers.get(index, ()):
            waiting[reader].discard(index)
            if not waiting[reader]:
                heappush(ready, reader)
    if len(order) < len(waiting):
        stuck = nodes[min(set(waiting) - set(order))]
        raise BadInput(
            "the graph has a cycle",
            Where(op=stuck.op_type, node=stuck.name),
            do="export the model again",
        )
    return order
