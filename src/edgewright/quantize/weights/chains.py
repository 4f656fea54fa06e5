"""Convolutions that follow each other with nothing between them but a Relu: what scales can move through."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from edgewright.ir.graph import Graph, Node
from edgewright.ops.conv import Convolution


@dataclass(frozen=True)
class Link:
    """A convolution, and the activation that leads to the next one (None: it leads there itself)."""

    node: Node
    activation: Node | None = None

    @property
    def value(self) -> str:
        """What leads to the next one."""
        return self.nodes[-1].outputs[0]

    @property
    def nodes(self) -> tuple[Node, ...]:
        """Both."""
        return (self.node,) if self.activation is None else (self.node, self.activation)


@dataclass(frozen=True)
class Chain:
    """Two convolutions, or a depthwise one between two: ``links`` are all but the last."""

    links: tuple[Link, ...]
    last: Node

    @property
    def nodes(self) -> tuple[Node, ...]:
        """All convolutions in order."""
        return (*(link.node for link in self.links), self.last)


def find_chains(graph: Graph, skip: Callable[[Node, str], None]) -> Iterator[Chain]:
    """The chains of a graph; ``skip`` is told which convolution leads nowhere, and why."""
    for node in graph.nodes:
        if not isinstance(node.op, Convolution) or node.op.is_depthwise or not _has_weights(graph, node):
            continue
        first = _link(graph, node, _is_relu, skip)
        if first is None:
            continue
        link, following = first
        if not following.op.is_depthwise:
            yield Chain((link,), following)
            continue
        second = _link(graph, following, _is_relu, skip)
        if second is not None and not second[1].op.is_depthwise:
            yield Chain((link, second[0]), second[1])
        elif second is not None:
            skip(following, "two depthwise convolutions follow each other")


def find_links(graph: Graph, between: Callable[[Node], bool] | None = None) -> list[tuple[Link, Node]]:
    """Every convolution of known weights that leads to another one, with that one.

    ``between`` says which activations may be between the two; by default a Relu.
    """
    known = [n for n in graph.nodes if isinstance(n.op, Convolution) and _has_weights(graph, n)]
    links = [_link(graph, node, between or _is_relu, lambda node, reason: None) for node in known]
    return [link for link in links if link is not None]


def _link(
    graph: Graph, node: Node, is_between: Callable[[Node], bool], skip: Callable[[Node, str], None]
) -> tuple[Link, Node] | None:
    """A convolution with what follows it, if a scale can move through."""
    value, activation = node.outputs[0], None
    follower = _find_only_reader(graph, value)
    if follower is not None and is_between(follower):
        activation = follower
        value = follower.outputs[0]
        follower = _find_only_reader(graph, value)
    if follower is None:
        skip(node, "its output is read by more than one op, or by none")
        return None
    if not isinstance(follower.op, Convolution) or follower.inputs[0] != value:
        skip(
            node,
            f"{follower.op.qnn_name()} follows, expected a convolution, with or without a Relu before it",
        )
        return None
    reason = _explain_refusal(graph, follower)
    if reason:
        skip(node, reason)
        return None
    return Link(node, activation), follower


def _explain_refusal(graph: Graph, node: Node) -> str:
    """Why scales cannot move into a convolution; "" where they can."""
    if not _has_weights(graph, node):
        return f"the weights of '{node.name}' are not known"
    channels = graph.types[node.inputs[0]].shape[-1]
    kernel = graph.types[node.inputs[1]].shape
    if node.op.is_depthwise:
        return "" if kernel[-1] == channels else f"'{node.name}' multiplies its channels"
    return "" if kernel[-2] == channels else f"'{node.name}' works in groups"


def _find_only_reader(graph: Graph, value: str) -> Node | None:
    return graph.consumers(value)[0] if graph.is_used_once(value) else None


def _is_relu(node: Node) -> bool:
    low, high = node.op.value_range()
    return node.op.is_clamp and low == 0 < high


def _has_weights(graph: Graph, node: Node) -> bool:
    known = [value for value in node.inputs[1:3] if value]
    return all(value in graph.constants for value in known) and graph.types[node.inputs[1]].dtype.is_float
