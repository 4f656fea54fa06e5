"""Rules about arithmetic of elements: divisions, powers, Prelu, Gelu that is spelled out, tiles."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from edgewright.analyse.architecture.costs import spell_bytes
from edgewright.analyse.architecture.pass_rules import find_by_pass, has_encodings, modify_by_pass
from edgewright.analyse.architecture.rule import CheckedGraph, Hit, Rewritten, Rule
from edgewright.core.numbers import Array
from edgewright.ir.graph import Graph, Node
from edgewright.ir.types import TensorType
from edgewright.ops.activation import Prelu
from edgewright.ops.elementwise import (
    Binary,
    ElementWiseDivide,
    ElementWiseMaximum,
    ElementWiseMinimum,
    ElementWiseMultiply,
)
from edgewright.ops.rearrange_fill import Tile
from edgewright.passes.graph_pass import Refused
from edgewright.passes.htp.fuse_gelus import fuse_gelus
from edgewright.passes.match import drop_unread, drop_unread_constant, take_over
from edgewright.quantize.encodings import Grid

COMPUTED = (
    "Try taking the reciprocal of the smaller tensor first, and multiplying by it; where both are as large, "
    "the division is needed."
)


def _describe_size(model: CheckedGraph, node: Node, remedy: str = "") -> Hit:
    size = sum(model.costs.count_bytes(value) for value in node.outputs if value)
    share = model.costs.share_bytes(size)
    text = f"{spell_bytes(size)} of results, {100 * share:.1f} % of what the network writes"
    return Hit(node, text, remedy=remedy, weight=share)


def _find_divisions(model: CheckedGraph) -> Iterator[Hit]:
    for node in model.graph.nodes:
        if isinstance(node.op.specific(), ElementWiseDivide) and _is_real(model.graph, node.outputs[0]):
            yield _describe_size(model, node, "" if node.inputs[1] in model.graph.constants else COMPUTED)


def _is_real(graph: Graph, value: str) -> bool:
    kind = graph.types[value]
    return kind.dtype.is_float or kind.encoding is not None


def rewrite_each(graph: Graph, nodes: list[Node], rewrite: Callable[[Graph, Node], str]) -> Rewritten:
    """Offers nodes to a function that rewrites one and says how, or refuses."""
    result = Rewritten()
    for node in nodes:
        try:
            result.changes[node.name] = rewrite(graph, node)
        except Refused as reason:
            result.refusals[node.name] = str(reason)
    graph.sort()
    return result


def _multiply_by_reciprocal(graph: Graph, node: Node) -> str:
    x, divisor = node.inputs
    if divisor not in graph.constants:
        raise Refused("the divisor is computed, and the HTP has no reciprocal but a division")
    real = _decode(graph, divisor)
    if not np.isfinite(real).all() or not (real != 0).all():
        raise Refused("the divisor has a zero, or a number that is not finite")
    with np.errstate(over="ignore"):
        reciprocals = 1.0 / real.astype(np.float64)
    array, kind = _store(graph.types[divisor], reciprocals)
    name = graph.add_constant(graph.fresh_name(f"{divisor}_reciprocal"), array, kind, of=divisor)
    take_over(graph, node, ElementWiseMultiply(), [x, name])
    drop_unread_constant(graph, divisor)
    return "ElementWiseDivide was replaced by ElementWiseMultiply with the reciprocal value"


def _decode(graph: Graph, value: str) -> Array:
    kind = graph.types[value]
    array = graph.constants[value]
    return array if kind.encoding is None else kind.encoding.decode(array)


def _store(kind: TensorType, real: Array) -> tuple[Array, TensorType]:
    """Real numbers as a constant of a type was stored; refused where its steps are too coarse for them."""
    if kind.encoding is None:
        array = real.astype(kind.dtype.numpy)
        if not (np.isfinite(array).all() and (array != 0).all()):
            raise Refused(f"a reciprocal is beyond what {kind.dtype.name.lower()} holds")
        return array, kind
    grid = Grid(kind.encoding.bitwidth, is_symmetric=kind.dtype.is_signed)
    encoding = grid.encode_range(float(real.min()), float(real.max()))
    stored = encoding.encode(real, kind.dtype)
    worst = np.abs(encoding.decode(stored) / real - 1).max()
    # Half a step of the largest result.
    if worst > 0.5 / (1 << kind.encoding.bitwidth):
        raise Refused(f"{kind.encoding.bitwidth} bits are too few for its reciprocals")
    return stored, replace(kind, encoding=encoding)


def _find_prelus(model: CheckedGraph) -> Iterator[Hit]:
    for node in model.graph.nodes:
        if isinstance(node.op.specific(), Prelu):
            yield _describe_size(model, node)


def _take_larger(graph: Graph, node: Node) -> str:
    """Max(x, slope * x) for slopes up to 1, min for those from 1 on."""
    x, slope = node.inputs
    if slope not in graph.constants:
        raise Refused("its slope is computed")
    real, result = _decode(graph, slope), graph.types[node.outputs[0]]
    if graph.types[x].shape != result.shape:
        raise Refused("its slope makes the result larger than its input")
    if not ((real <= 1).all() or (real >= 1).all()):
        raise Refused("some of its slopes are above 1 and others below")
    chosen, word = (
        (ElementWiseMaximum(), "larger") if (real <= 1).all() else (ElementWiseMinimum(), "smaller")
    )
    product = graph.fresh_name(f"{node.outputs[0]}_sloped")
    name = graph.fresh_name(f"{node.name}_slope")
    graph.add(
        Node(name, ElementWiseMultiply(), [x, slope], [product], node.source), [replace(result, layout=None)]
    )
    take_over(graph, node, chosen, [x, product])
    return f"Prelu was replaced by the {word} one of x and slope * x"


def _find_tiles(model: CheckedGraph) -> Iterator[Hit]:
    for node in model.graph.nodes:
        if isinstance(node.op, Tile) and _is_broadcast_enough(model.graph, node):
            yield _describe_size(model, node)


def _is_broadcast_enough(graph: Graph, node: Node) -> bool:
    """Whether all that read it would broadcast it to the same result."""
    readers = graph.consumers(node.outputs[0])
    before, after = graph.types[node.inputs[0]], graph.types[node.outputs[0]]
    is_spread = all(a in (b, 1) for a, b in zip(before.shape, after.shape, strict=True))
    return (
        bool(readers)
        and is_spread
        and node.outputs[0] not in graph.outputs
        and all(_is_result_kept(graph, reader, node.outputs[0]) for reader in readers)
    )


def _is_result_kept(graph: Graph, reader: Node, tiled: str) -> bool:
    if not isinstance(reader.op.specific(), Binary):
        return False
    others = [value for value in reader.inputs if value != tiled]
    result = graph.types[reader.outputs[0]].shape
    return len(others) == 1 and graph.types[others[0]].shape == result


def _drop_tile(graph: Graph, node: Node) -> str:
    if not _is_broadcast_enough(graph, node):
        raise Refused("what reads it needs all of it")
    graph.replace_uses(node.outputs[0], node.inputs[0])
    drop_unread(graph, node.outputs[0])
    return "Tile was taken out: the ops behind it broadcast"


def _find_gelus(model: CheckedGraph) -> Iterator[Hit]:
    if has_encodings(model.graph):
        return
    copy = model.graph.copy()
    fuse_gelus(copy, ())
    ops = {node.name: node.op for node in copy.nodes}
    for node in model.graph.nodes:
        # The last node of a form stands for it; those before it are gone.
        if node.name in ops and ops[node.name] != node.op:
            yield _describe_size(model, node)


def _fuse_gelus(graph: Graph, nodes: list[Node]) -> Rewritten:
    fuse_gelus(graph, ())
    return Rewritten({node.name: "the ops that spell out a Gelu became one" for node in nodes})


RULES = (
    Rule(
        "elwisediv",
        "ElementWiseDivide usually has poor performance compared to ElementWiseMultiply.",
        "Try replacing ElementWiseDivide with ElementWiseMultiply using the reciprocal value to get better "
        "performance.",
        "vector units multiply in one step and divide in many",
        "the QNN guide: poor performance compared to ElementWiseMultiply",
        _find_divisions,
        lambda graph, nodes: rewrite_each(graph, nodes, _multiply_by_reciprocal),
        "Replace ElementWiseDivide with ElementWiseMultiply using the reciprocal value",
        "1e-6 of the value in float; one step in fixed point",
    ),
    Rule(
        "prelu",
        "Prelu usually has poor performance compared to Relu and its bounded forms.",
        "Try Relu in its place and train again; or write it as the larger one of x and slope * x.",
        "a slope for each channel is one more tensor to read and a choice for each element",
        "the QNN guide lists it as a rule; no figure is published",
        _find_prelus,
        lambda graph, nodes: rewrite_each(graph, nodes, _take_larger),
        "Replace Prelu with the larger one of x and slope * x (the smaller one for slopes above 1)",
        "none in float; one step in fixed point",
        grade="note",
    ),
    Rule(
        "power",
        "A power with a small whole exponent, or a half, is computed as a general power.",
        "Try products, or a square root.",
        "a general power is an exponential of a logarithm, which is wrong for some bases",
        "measured on the library's results (2.51): the square of -0 is -4, its root NaN",
        find_by_pass("multiply_powers", is_float_only=True),
        modify_by_pass(
            ("multiply_powers",), "ElementWisePower was replaced by products or a root", is_float_only=True
        ),
        "Replace ElementWisePower with products or a square root",
        "1e-6 of the value",
    ),
    Rule(
        "gelu",
        "A Gelu is spelled out with a hyperbolic tangent or a sigmoid, a cube and some products.",
        "Try the one op Gelu.",
        "its cubes need more than 8 bits, and every op of it reads and writes the whole tensor",
        "estimated: one op for about eight",
        _find_gelus,
        _fuse_gelus,
        "Replace the ops that spell out a Gelu with one",
        "0.0005",
    ),
    Rule(
        "tile",
        "A tensor is repeated by Tile for an op that broadcasts anyway.",
        "Try leaving the Tile out.",
        "the repeated tensor is written and read for nothing",
        "estimated: one pass over the repeated tensor less",
        _find_tiles,
        lambda graph, nodes: rewrite_each(graph, nodes, _drop_tile),
        "Leave the Tile out",
        "none: results are the same",
    ),
)
