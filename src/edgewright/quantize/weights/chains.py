"""Convolutions that follow each other with nothing between them but a Relu: what scales can move through."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from edgewright.ir.graph import Graph, Node
from edgewright.ops.activation import Relu, Relu6, ReluMinMax
from edgewright.ops.conv import Convolution, DepthWiseConv1d, DepthWiseConv2d

__all__ = ["Chain", "Link", "chains_of", "is_depthwise", "links_of"]


@dataclass(frozen=True)
class Link:
    """A convolution, and the activation that leads to the next one (None: it leads there itself)."""

    node: Node
    activation: Node | None = None


@dataclass(frozen=True)
class Chain:
    """Two convolutions, or a depthwise one between two: ``links`` are all but the last."""

    links: tuple[Link, ...]
    last: Node

    @property
    def nodes(self) -> tuple[Node, ...]:
        """All convolutions in order."""
        return (*(link.node for link in self.links), self.last)


def chains_of(graph: Graph, skip: Callable[[Node, str], None]) -> Iterator[Chain]:
    """The chains of a graph; ``skip`` is told which convolution leads nowhere, and why."""
    for node in graph.nodes:
        if not isinstance(node.op, Convolution) or is_depthwise(node) or not _has_weights(graph, node):
            continue
        first = _link(graph, node, skip)
        if first is None:
            continue
        link, following = first
        if not is_depthwise(following):
            yield Chain((link,), following)
            continue
        second = _link(graph, following, skip)
        if second is not None and not is_depthwise(second[1]):
            yield Chain((link, second[0]), second[1])
        elif second is not None:
            skip(following, "two depthwise convolutions follow each other")


def links_of(graph: Graph) -> Iterator[tuple[Link, Node]]:
    """Every convolution of known weights that leads to another one, with that one."""
    for node in graph.nodes:
        if isinstance(node.op, Convolution) and _has_weights(graph, node):
            found = _link(graph, node, lambda node, reason: None)
            if found is not None:
                yield found


def is_depthwise(node: Node) -> bool:
    """Whether a node convolves each channel by itself."""
    return isinstance(node.op, (DepthWiseConv1d, DepthWiseConv2d))


def _link(graph: Graph, node: Node, skip: Callable[[Node, str], None]) -> tuple[Link, Node] | None:
    """A convolution with what follows it, if a scale can move through."""
    value, activation = node.outputs[0], None
    follower = _only_reader(graph, value)
    if follower is not None and _is_relu(follower):
        activation = follower
        value = follower.outputs[0]
        follower = _only_reader(graph, value)
    if follower is None:
        skip(node, "its output is read by more than one op, or by none")
        return None
    if not isinstance(follower.op, Convolution) or follower.inputs[0] != value:
        skip(
            node,
            f"{follower.op.qnn_name()} follows, expected a convolution, with or without a Relu before it",
        )
        return None
    reason = _refusal(graph, follower)
    if reason:
        skip(node, reason)
        return None
    return Link(node, activation), follower


def _refusal(graph: Graph, node: Node) -> str:
    """Why scales cannot move into a convolution; "" where they can."""
    if not _has_weights(graph, node):
        return f"the weights of '{node.name}' are not known"
    channels = graph.types[node.inputs[0]].shape[-1]
    kernel = graph.types[node.inputs[1]].shape
    if is_depthwise(node):
        return "" if kernel[-1] == channels else f"'{node.name}' multiplies its channels"
    return "" if kernel[-2] == channels else f"'{node.name}' works in groups"


def _only_reader(graph: Graph, value: str) -> Node | None:
    return graph.consumers(value)[0] if graph.is_used_once(value) else None


def _is_relu(node: Node) -> bool:
    op = node.op
    return isinstance(op, (Relu, Relu6)) or (isinstance(op, ReluMinMax) and op.min_value == 0 < op.max_value)


def _has_weights(graph: Graph, node: Node) -> bool:
    known = [value for value in node.inputs[1:3] if value]
    return all(value in graph.constants for value in known) and graph.types[node.inputs[1]].dtype.is_float
