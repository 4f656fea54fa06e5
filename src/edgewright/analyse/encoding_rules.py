"""Encodings that the HTP refuses, or computes otherwise than the numbers say: the rules of its quantizer."""

from collections.abc import Iterator

import numpy as np

from edgewright.analyse.records import Finding
from edgewright.core.errors import shown
from edgewright.ir.graph import Graph, Node
from edgewright.quantize.encodings import SMALLEST_RANGE, compute_covered_range
from edgewright.quantize.roles import find_roles
from edgewright.quantize.rules import FIRST_WITH_WIDE_WEIGHTS, find_fixed_encoding
from edgewright.targets.soc import FIRST_WITH_HALF

# Scales are stored in single precision.
SAME_SCALE = 1e-4


def list_broken_rules(graph: Graph, architecture: int | None = None) -> tuple[Finding, ...]:
    """Every tensor that breaks a rule.

    Args:
        graph: a graph in fixed point.
        architecture: the version of Hexagon (73 ...), where rules depend on it; None: the newest.
    """
    checks = (_check_fixed_range, _check_smallest_range, _check_weights, _check_second_operand, _check_moves)
    return tuple(
        finding for node in graph.nodes for check in checks for finding in check(graph, node, architecture)
    )


def _warn(graph: Graph, value: str, what: str, do: str) -> Finding:
    name = graph.source_names.get(value, value)
    return Finding("warning", "rule", f"'{shown(name, 80)}' {what}", name, do)


def _check_fixed_range(graph: Graph, node: Node, _architecture: int | None) -> Iterator[Finding]:
    """Sigmoid, Softmax and Tanh have one encoding each, whatever their values are."""
    value = next(iter(node.outputs), "")
    encoding = graph.types[value].encoding if value else None
    if encoding is None:
        return
    is_signed = graph.types[value].dtype.is_signed
    rule = find_fixed_encoding(node.op, encoding.bitwidth, is_symmetric=is_signed)
    if rule is None:
        return
    _, expected, _ = rule
    is_same = np.isclose(encoding.scales[0], expected.scales[0], rtol=SAME_SCALE)
    if not is_same or encoding.offsets != expected.offsets:
        name = node.op.specific().display_name()
        has = f"scale {encoding.scales[0]:.6g} and offset {encoding.offsets[0]}"
        must = f"scale {expected.scales[0]:.6g} and offset {expected.offsets[0]}"
        what = f"is the result of {name} and has {has}, the HTP computes it with {must}"
        yield _warn(graph, value, what, f"leave it out of the overrides, or give it {must}")


def _check_smallest_range(graph: Graph, node: Node, _architecture: int | None) -> Iterator[Finding]:
    for value in (*node.outputs, *(name for name in node.inputs if name in graph.constants)):
        kind = graph.types[value] if value else None
        if kind is None or kind.encoding is None or kind.encoding.bitwidth == 32:
            continue
        low, high = compute_covered_range(kind.encoding, kind.dtype)
        spread = float(np.max(np.asarray(high) - np.asarray(low)))
        if spread < SMALLEST_RANGE * (1 - SAME_SCALE):
            what = f"has a range of {spread:.3g}, the smallest that QNN takes is {SMALLEST_RANGE:g}"
            yield _warn(graph, value, what, "give it a wider range")


def _check_weights(graph: Graph, node: Node, architecture: int | None) -> Iterator[Finding]:
    for place in sorted(find_roles(graph, node).weights):
        value = node.inputs[place]
        kind = graph.types[value]
        if kind.encoding is None:
            continue
        if kind.encoding.axis is not None and any(kind.encoding.offsets):
            what = "has an encoding for each channel that is not symmetric"
            yield _warn(graph, value, what, "use symmetric encodings (offset 0 of signed integers)")
        is_old = architecture is not None and architecture < FIRST_WITH_WIDE_WEIGHTS
        if kind.encoding.bitwidth == 16 and is_old:
            what = (
                f"has 16 bits, which need Hexagon v{FIRST_WITH_WIDE_WEIGHTS}; the target is v{architecture}"
            )
            yield _warn(graph, value, what, "use 8 bits for these weights")
    yield from _check_half(graph, node, architecture)


def _check_half(graph: Graph, node: Node, architecture: int | None) -> Iterator[Finding]:
    is_float = any(graph.types[value].dtype.is_float for value in node.outputs if value)
    if is_float and architecture is not None and architecture < FIRST_WITH_HALF and not node.op.is_encoder:
        what = f"is in floating point, which needs Hexagon v{FIRST_WITH_HALF}; the target is v{architecture}"
        yield _warn(graph, node.outputs[0], what, "quantize it, or name a newer chip")


def _check_second_operand(graph: Graph, node: Node, architecture: int | None) -> Iterator[Finding]:
    """The second operand of a product of activations: symmetric in 16 bits, and on old chips always."""
    if not node.op.is_product or node.inputs[1] in graph.constants:
        return
    kind = graph.types[node.inputs[1]]
    if kind.encoding is None:
        return
    middle = 0 if kind.dtype.is_signed else -(1 << (kind.encoding.bitwidth - 1))
    is_old = architecture is not None and architecture < FIRST_WITH_WIDE_WEIGHTS
    if kind.encoding.offsets[0] != middle and (kind.encoding.bitwidth == 16 or is_old):
        what = f"is the second operand of {node.op.display_name()} in {kind.encoding.bitwidth} bits"
        what += ", and not symmetric"
        yield _warn(graph, node.inputs[1], what, "give it a symmetric encoding")


def _check_moves(graph: Graph, node: Node, _architecture: int | None) -> Iterator[Finding]:
    """What only moves data cannot change its encoding."""
    if not (node.op.keeps_encoding and node.inputs and node.outputs):
        return
    before, after = graph.types[node.inputs[0]].encoding, graph.types[node.outputs[0]].encoding
    is_repeated = node.op.inputs[0].is_repeated
    if before is None or after is None or before.axis is not None or is_repeated:
        return
    if (before.scales, before.offsets, before.bitwidth) != (after.scales, after.offsets, after.bitwidth):
        what = f"is only moved by {node.op.display_name()} and has another encoding than before"
        yield _warn(graph, node.outputs[0], what, "give both the same encoding; a Convert is put between")
