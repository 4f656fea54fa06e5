"""Encodings that the HTP refuses, or computes otherwise than the numbers say: the rules of its quantizer."""

from collections.abc import Collection, Iterator

import numpy as np

from edgewright.analyse.comparison_points import is_fused_away
from edgewright.analyse.odd_encodings import list_shared_values
from edgewright.analyse.records import Finding
from edgewright.core.errors import shown
from edgewright.ir.graph import Graph, Node
from edgewright.quantize.encodings import SMALLEST_RANGE, compute_covered_range
from edgewright.quantize.roles import find_roles
from edgewright.quantize.rules import FIRST_WITH_WIDE_WEIGHTS, find_fixed_encoding
from edgewright.targets.soc import FIRST_WITH_HALF

# Scales are stored in single precision.
SAME_SCALE = 1e-4
# The part of a range that an op may have no values in: rounding and shared encodings take a little.
MOST_UNUSED = 0.1
# Twice the offset of an encoding that is as wide below 0 as above it.
_HALVES = {bits: {1 << bits, (1 << bits) - 2} for bits in (4, 8, 16, 32)}


def list_broken_rules(graph: Graph, architecture: int | None = None) -> tuple[Finding, ...]:
    """Every tensor that breaks a rule.

    Args:
        graph: a graph in fixed point.
        architecture: the version of Hexagon (73 ...), where rules depend on it; None: the newest.
    """
    checks = (
        *(_check_fixed_range, _check_smallest_range, _check_unused_part),
        *(_check_weights, _check_second_operand, _check_moves),
    )
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


def _check_unused_part(graph: Graph, node: Node, _architecture: int | None) -> Iterator[Finding]:
    """A range that begins well below 0 where an op gives nothing below 0: its steps there are never used."""
    value = next(iter(node.outputs), "")
    kind = graph.types[value] if value else None
    if kind is None or kind.encoding is None or len(kind.encoding.scales) != 1 or not _is_positive(node):
        return
    encoding = kind.encoding
    is_symmetric = kind.dtype.is_signed or 2 * abs(encoding.offsets[0]) in _HALVES[encoding.bitwidth]
    if is_symmetric or find_fixed_encoding(node.op, encoding.bitwidth, is_symmetric=False) is not None:
        return
    low, high = (
        float(np.asarray(bound).reshape(-1)[0]) for bound in compute_covered_range(encoding, kind.dtype)
    )
    unused = -low / (high - low)
    shared = list_shared_values(graph, value)
    if unused > MOST_UNUSED and all(_is_bounded(graph, each, shared) for each in shared):
        name = node.op.specific().display_name()
        what = (
            f"is the result of {name} and has the range {low:.4g} to {high:.4g}: {unused:.0%} of its steps "
        )
        yield _warn(graph, value, f"{what}are below 0, where it has no values", "begin its range at 0")


def _is_positive(node: Node) -> bool:
    return node.op.value_range()[0] >= 0


def _is_bounded(graph: Graph, value: str, shared: Collection[str]) -> bool:
    """Whether a value of an encoding is not below 0, or becomes one that is not before anybody reads it."""
    maker = graph.producer(value)
    if is_fused_away(graph, value) or maker is None:
        return maker is not None
    given = [name for name in maker.inputs if name and name not in graph.constants]
    return _is_positive(maker) or (maker.op.keeps_encoding and all(name in shared for name in given))


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
