"""Rules about the numbers that a network is computed in: widths, floating point, what cannot be quantized."""

from collections import Counter
from collections.abc import Iterator

from edgewright.analyse.architecture.rule import CheckedGraph, Hit, Rule
from edgewright.ir.graph import Graph, Node
from edgewright.ir.traits import HtpPrecision
from edgewright.ops.quant import Convert, Dequantize, Quantize

PUBLISHED = "public latencies (AI Hub models 0.65)"


def _list_results(graph: Graph) -> Iterator[tuple[Node, str]]:
    for node in graph.nodes:
        for value in filter(None, node.outputs):
            yield node, value


def _find_wide_activations(model: CheckedGraph) -> Iterator[Hit]:
    widths = Counter(
        encoding.bitwidth
        for _, value in _list_results(model.graph)
        if (encoding := model.graph.types[value].encoding) is not None
    )
    if 2 * widths[16] > sum(widths.values()):
        yield Hit(weight=1.0)


def _find_float_model(model: CheckedGraph) -> Iterator[Hit]:
    has_floats = any(model.graph.types[value].dtype.is_float for _, value in _list_results(model.graph))
    if has_floats and not any(kind.encoding is not None for kind in model.graph.types.values()):
        yield Hit(weight=1.0)


def _is_float_op(graph: Graph, node: Node) -> bool:
    kinds = [graph.types[value] for value in node.outputs if value]
    return bool(kinds) and all(kind.dtype.is_float for kind in kinds) and not node.op.is_encoder


def _find_islands(model: CheckedGraph) -> Iterator[Hit]:
    if not model.is_quantized:
        return
    graph = model.graph
    for node in graph.nodes:
        makers = [graph.producer(value) for value in node.inputs if value]
        is_entered = any(maker is not None and not _is_float_op(graph, maker) for maker in makers)
        is_converter = isinstance(node.op, Quantize | Dequantize | Convert)
        if _is_float_op(graph, node) and (is_entered or not any(makers)) and not is_converter:
            size = sum(model.costs.count_bytes(value) for value in node.outputs if value)
            yield Hit(node, weight=model.costs.share_bytes(size))


def _find_float_only(model: CheckedGraph) -> Iterator[Hit]:
    for node in model.graph.nodes:
        if node.op.htp_precision == HtpPrecision.FLOAT and (
            model.is_quantized or _has_fixed_point(model.graph, node)
        ):
            yield Hit(node, issue=f"The HTP has {node.op.display_name()} in floating point only.")


def _find_eight_bits_only(model: CheckedGraph) -> Iterator[Hit]:
    for node in model.graph.nodes:
        kinds = [model.graph.types[value] for value in node.outputs if value]
        is_wide = any(kind.encoding is not None and kind.encoding.bitwidth == 16 for kind in kinds)
        if node.op.htp_precision == HtpPrecision.EIGHT_BITS and is_wide:
            yield Hit(node, issue=f"The HTP has {node.op.display_name()} in 8 bits or floating point only.")


def _has_fixed_point(graph: Graph, node: Node) -> bool:
    return any(graph.types[value].encoding is not None for value in node.outputs if value)


def _find_fragile(model: CheckedGraph) -> Iterator[Hit]:
    for node in model.graph.nodes:
        kinds = [model.graph.types[value] for value in node.outputs if value]
        is_narrow = any(kind.encoding is not None and kind.encoding.bitwidth <= 8 for kind in kinds)
        if node.op.specific().is_fragile and is_narrow:
            yield Hit(node, issue=f"{node.op.display_name()} is computed in 8 bits, which lose most of it.")


RULES = (
    Rule(
        "act16",
        "This model uses 16-bit activation data. 16-bit activation data takes twice the amount of memory "
        "than 8-bit activation data does.",
        "Try to use a smaller datatype to get better performance. E.g., 8-bit",
        "twice the bytes for every tensor, and half the products in a step",
        f"{PUBLISHED}: a MAC of w8a16 costs about as much as 2 of w8a8",
        _find_wide_activations,
    ),
    Rule(
        "float",
        "This model is in floating point.",
        "Try quantizing it: edgewright build tells what that costs in accuracy.",
        "the HTP computes floats in half precision, from Hexagon v73 on, and older ones not at all",
        f"{PUBLISHED}: a MAC in floating point costs about as much as 3 to 4 of w8a8",
        _find_float_model,
        grade="note",
    ),
    Rule(
        "float_island",
        "Floating point begins here, inside a quantized model.",
        "Try quantizing this op too, or another op that can be quantized in its place.",
        "tensors are converted before and behind, and half precision needs Hexagon v73",
        f"{PUBLISHED}: a MAC in floating point costs about 3 to 4 of w8a8; conversions come on top",
        _find_islands,
    ),
    Rule(
        "float_only",
        "The HTP has this op in floating point only.",
        "Try another op, or end the model before it and compute the rest on the CPU.",
        "the library's tables list no fixed-point form: tensors are converted before and behind",
        "the library's own tables of datatypes (2.51)",
        _find_float_only,
    ),
    Rule(
        "eight_bits_only",
        "The HTP has this op in 8 bits or floating point only.",
        "Try 8 bits for its result (an override), or leave it in floating point.",
        "the library's tables list no form of 16 bits, and refuse it",
        "the library's own tables of datatypes (2.51)",
        _find_eight_bits_only,
        grade="error",
    ),
    Rule(
        "fragile",
        "Roots, reciprocals and logarithms lose most of their result in 8 bits.",
        "Try 16 bits or floating point for it (an override), or a norm as one op in place of its parts.",
        "a few steps near zero become the largest results",
        "estimated from the functions: one step of the input moves the result by many of its own",
        _find_fragile,
    ),
)
