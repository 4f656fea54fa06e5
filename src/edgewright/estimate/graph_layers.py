"""The layers of our own graphs, counted as those of the public networks are."""

import math
from collections.abc import Iterator

from edgewright.core.errors import UsageError
from edgewright.estimate.work import Layer, Network
from edgewright.ir.graph import Graph, Node
from edgewright.ir.symbols import batch_symbols, resolve
from edgewright.ir.traits import HtpWork
from edgewright.ops.cost import is_product, known_macs

# Our passes leave this share of the elements that the public records transpose (rebuilt: ViT 0.71, Whisper
# 0.76, MiniLM and DistilBERT 0.80, Swin 0.81, MobileViT 1.1): constants were fitted to theirs, so ours are
# scaled.
_TRANSPOSES_LEFT = 0.8


def read_graph(graph: Graph) -> Network:
    """The layers of a graph whose shapes are known but for the batch, which is 1."""
    sizes = _Sizes(graph)
    gated, guards = _find_gated(graph), _find_guards(graph)
    layers = tuple(
        layer
        for node in graph.nodes
        if node.name not in guards
        for layer in _describe_node(sizes, node, gated.get(node.name))
    )
    return Network(
        layers,
        sum(sizes.count(name) for name in graph.inputs),
        sum(sizes.count(name) for name in graph.outputs),
        sum(_is_clamp(node) for node in graph.nodes),
    )


class _Sizes:
    """Elements of the values of a graph, with a batch of 1 where it is open."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.batch = dict.fromkeys(batch_symbols({name: graph.types[name] for name in graph.inputs}), 1)

    def shape(self, value: str) -> tuple[int, ...]:
        kind = resolve(self.graph.types[value], self.batch)
        if not kind.is_static:
            raise UsageError(
                f"value '{value}' has the shape {kind.shape}, expected numbers: times depend on all sizes",
                do="fix open dimensions: --input_dim NAME SIZES or --define_symbol NAME SIZE",
            )
        return tuple(int(size) for size in kind.static_shape())

    def count(self, value: str) -> int:
        return math.prod(self.shape(value))

    def is_constant(self, value: str) -> bool:
        return value in self.graph.constants


def _describe_node(sizes: _Sizes, node: Node, gate: Node | None) -> Iterator[Layer]:
    """The layer of a node; none for what costs nothing or is a part of another."""
    if gate is node or not any(value and not sizes.is_constant(value) for value in node.inputs):
        return
    inputs = dict.fromkeys(value for value in node.inputs if value)
    read = sum(sizes.count(value) for value in inputs if not sizes.is_constant(value))
    weights = sum(sizes.count(value) for value in inputs if sizes.is_constant(value))
    written = sum(sizes.count(value) for value in node.outputs if value in sizes.graph.types)
    name, op = node.name, node.op.display_name()
    if is_product(node):
        macs = known_macs(sizes.graph, node, sizes.batch) or 0
        kind, channels, groups = _describe_product(sizes, node, macs, written)
        yield Layer(name, op, kind, read, written, weights, macs, channels, groups)
        return
    work = _find_work(sizes.graph, node)
    if work == HtpWork.TRANSPOSE:
        read, written = (int(size / _TRANSPOSES_LEFT) for size in (read, written))
    if gate is not None:
        # x * sigmoid(x) is one function, as in the public records.
        yield Layer(name, "Swish", HtpWork.CURVE.value, written, written)
    elif work != HtpWork.NONE and not (weights == 1 and node.op.only_moves()):
        # What takes one slice out of a tensor (Gather with one index) only looks at it.
        yield Layer(name, op, work.value, read, written, weights)


def _describe_product(sizes: _Sizes, node: Node, macs: int, written: int) -> tuple[str, tuple[int, int], int]:
    made = max(sizes.shape(node.outputs[0])[-1:] or (1,))
    groups = int(getattr(node.op, "group", 1) or 1)
    if not sizes.is_constant(node.inputs[1]):
        return "attention", (max(macs // max(written, 1), 1), made), 1
    if node.op.is_depthwise:
        return "depthwise", (1, made), made
    has_window = sizes.graph.types[node.inputs[1]].rank > 2
    read = sizes.shape(node.inputs[0])[-1] if has_window else max(macs // max(written, 1), 1)
    return ("grouped" if groups > 1 else "product"), (max(read, 1), made), groups


def _find_work(graph: Graph, node: Node) -> HtpWork:
    work = node.op.specific().htp_work
    is_at_border = node.inputs[0] in graph.inputs or node.outputs[0] in graph.outputs
    # The public records have no such transposes: what they took is in the cost of inputs and outputs.
    return HtpWork.NONE if work == HtpWork.TRANSPOSE and is_at_border else work


def _is_clamp(node: Node) -> bool:
    op = node.op.specific()
    return op.htp_work == HtpWork.NONE and (op.is_clamp or op.is_fused_on_htp)


def _name_op(node: Node) -> str:
    return node.op.specific().qnn_name()


def _find_gated(graph: Graph) -> dict[str, Node]:
    """Multiplications of a value by its own sigmoid, and that sigmoid, which is a part of them."""
    gated: dict[str, Node] = {}
    for node in graph.nodes:
        if _name_op(node) != "ElementWiseMultiply":
            continue
        for value, other in (node.inputs[:2], node.inputs[1::-1]):
            gate = graph.producer(value)
            if (
                gate is not None
                and _name_op(gate) in ("Sigmoid", "HardSigmoid")
                and gate.inputs[0] == other
                and graph.is_used_once(value)
            ):
                gated[node.name] = gated[gate.name] = gate
    return gated


def _find_guards(graph: Graph) -> set[str]:
    """Nodes that put zeros in place of a softmax's NaN: with it one op, of torch and of public records."""
    guards: set[str] = set()
    for node in graph.nodes:
        if _name_op(node) == "IsNan":
            softmax = graph.producer(node.inputs[0])
            readers = graph.consumers(node.outputs[0])
            if softmax is not None and softmax.op.ignores_masked and len(readers) == 1:
                guards |= {node.name, readers[0].name}
    return guards
