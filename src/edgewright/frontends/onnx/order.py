"""Which nodes of an ONNX graph are needed, in an order that can run."""

from collections.abc import Collection, Iterator, Sequence
from heapq import heapify, heappop, heappush

import onnx

from edgewright.core.errors import BadInput, Where

__all__ = ["captured", "needed_nodes"]


def needed_nodes(
    graph: onnx.GraphProto, outputs: Sequence[str] | None, outer: Collection[str] = ()
) -> list[onnx.NodeProto]:
    """The nodes that the outputs depend on (all where None), sorted; a cycle or a dangling name is an error."""
    producers = _producers(graph)
    available = (
        {item.name for item in (*graph.input, *graph.initializer)}
        | {s.values.name for s in graph.sparse_initializer}
        | set(outer)
    )
    roots = list(producers) if outputs is None else list(outputs)
    for name in roots:
        if name not in producers and name not in available:
            raise BadInput(
                f"output '{name}' is never made", Where(tensor=name), do="name one of the graph's values"
            )
    chosen = _reached(graph, producers, roots)
    return _sorted(graph, chosen, producers, available)


def captured(graph: onnx.GraphProto) -> Iterator[str]:
    """Every name that a subgraph reads, its own included."""
    for node in graph.node:
        yield from reads(node)
    yield from (item.name for item in graph.output)


def reads(node: onnx.NodeProto) -> Iterator[str]:
    """Names a node reads, those inside its subgraphs included."""
    yield from (name for name in node.input if name)
    for attribute in node.attribute:
        if attribute.type == onnx.AttributeProto.GRAPH:
            yield from captured(attribute.g)


def _producers(graph: onnx.GraphProto) -> dict[str, int]:
    producers: dict[str, int] = {}
    for index, node in enumerate(graph.node):
        for name in node.output:
            if name and name in producers:
                raise BadInput(
                    f"value '{name}' is made twice",
                    Where(node=node.name, tensor=name),
                    do="export the model again",
                )
            producers[name] = index
    return producers


def _reached(graph: onnx.GraphProto, producers: dict[str, int], roots: Sequence[str]) -> set[int]:
    pending = [producers[name] for name in roots if name in producers]
    chosen = set(pending)
    while pending:
        for name in reads(graph.node[pending.pop()]):
            index = producers.get(name)
            if index is not None and index not in chosen:
                chosen.add(index)
                pending.append(index)
    return chosen


def _sorted(
    graph: onnx.GraphProto, chosen: set[int], producers: dict[str, int], available: Collection[str]
) -> list[onnx.NodeProto]:
    """Kahn's algorithm in file order, so that a sorted file stays as it is."""
    waiting: dict[int, set[int]] = {}
    readers: dict[int, list[int]] = {}
    for index in sorted(chosen):
        node = graph.node[index]
        before = {producers[name] for name in reads(node) if name in producers}
        unknown = [name for name in node.input if name and name not in producers and name not in available]
        if unknown:
            raise BadInput(
                f"value '{unknown[0]}' is read but never made",
                Where(op=node.op_type, node=node.name, tensor=unknown[0]),
                do="export the model again",
            )
        waiting[index] = before
        for other in before:
            readers.setdefault(other, []).append(index)
    return [graph.node[index] for index in _drain(graph, waiting, readers)]


def _drain(graph: onnx.GraphProto, waiting: dict[int, set[int]], readers: dict[int, list[int]]) -> list[int]:
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
        stuck = min(set(waiting) - set(order))
        raise BadInput(
            "the graph has a cycle",
            Where(op=graph.node[stuck].op_type, node=graph.node[stuck].name),
            do="export the model again",
        )
    return order
