"""Rules about ops that only move data: transposes, reshapes, chains of them, axes in the wrong place."""

import math
from collections.abc import Iterator
from dataclasses import replace

from edgewright.analyse.architecture.costs import BLOCK, round_up, spell_bytes
from edgewright.analyse.architecture.elementwise import rewrite_each
from edgewright.analyse.architecture.pass_rules import find_by_pass, modify_by_pass
from edgewright.analyse.architecture.rule import CheckedGraph, Hit, Rule
from edgewright.ir.graph import Graph, Node
from edgewright.ops.matmul import MatMul
from edgewright.ops.rearrange import Concat, Reshape, Transpose
from edgewright.ops.reduce_softmax import Softmax
from edgewright.passes.graph_pass import Refused
from edgewright.passes.match import drop_unread

# Tensors below this are gone before it matters.
SMALL_BYTES = 64 << 10
MOST_RANK = 4


def _describe_move(model: CheckedGraph, node: Node) -> Hit:
    size = model.costs.count_bytes(node.outputs[0])
    share = model.costs.share_bytes(size)
    text = f"{spell_bytes(2 * size)} are read and written, and nothing is computed"
    return Hit(node, f"{text}; {100 * share:.1f} % of what the network writes", weight=share)


def _find_transposes(model: CheckedGraph) -> Iterator[Hit]:
    for node in model.graph.nodes:
        if not isinstance(node.op, Transpose) or _is_swap_for_product(model.graph, node):
            continue
        is_channel_moved = node.op.perm[-1] != len(node.op.perm) - 1
        if (
            is_channel_moved
            and _is_real_move(model, node)
            and model.costs.count_bytes(node.outputs[0]) >= SMALL_BYTES
        ):
            yield _describe_move(model, node)


def _is_real_move(model: CheckedGraph, node: Node) -> bool:
    """Whether axes of more than one element change their order."""
    assert isinstance(node.op, Transpose)
    shape = model.costs.find_shape(node.inputs[0])
    if shape is None:
        return True
    order = [axis for axis in node.op.perm if shape[axis] > 1]
    return order != sorted(order)


def _find_narrow_reshapes(model: CheckedGraph) -> Iterator[Hit]:
    for node in model.graph.nodes:
        if not isinstance(node.op, Reshape):
            continue
        before, after = (model.costs.find_shape(value) for value in (node.inputs[0], node.outputs[0]))
        if not before or not after or before[-1] == after[-1] or after[-1] >= BLOCK or before[-1] < BLOCK:
            continue
        size = model.costs.count_bytes(node.outputs[0])
        # Ends of a network are handed over as they are.
        if size < SMALL_BYTES or node.outputs[0] in model.graph.outputs:
            continue
        filled = size // after[-1] * round_up(after[-1])
        text = f"its {spell_bytes(size)} take {spell_bytes(filled)} where channels are kept in blocks of 32"
        yield Hit(node, text, weight=model.costs.share_bytes(size))


def _is_swap_for_product(graph: Graph, node: Node) -> bool:
    assert isinstance(node.op, Transpose)
    perm = node.op.perm
    swapped = (*range(len(perm) - 2), len(perm) - 1, len(perm) - 2)
    readers = graph.consumers(node.outputs[0])
    is_read = bool(readers) and all(
        isinstance(reader.op, MatMul) and node.outputs[0] in reader.inputs[:2] for reader in readers
    )
    return len(perm) >= 2 and perm == swapped and is_read and node.outputs[0] not in graph.outputs


def _find_swaps(model: CheckedGraph) -> Iterator[Hit]:
    for node in model.graph.nodes:
        if isinstance(node.op, Transpose) and _is_swap_for_product(model.graph, node):
            yield _describe_move(model, node)


def _turn_operand(graph: Graph, node: Node) -> str:
    if not _is_swap_for_product(graph, node):
        raise Refused("others read the transposed tensor too")
    for reader in graph.consumers(node.outputs[0]):
        op = reader.op
        assert isinstance(op, MatMul)
        places = [place for place in (0, 1) if reader.inputs[place] == node.outputs[0]]
        first, second = (place in places for place in (0, 1))
        for place in places:
            graph.set_input(reader, place, node.inputs[0])
        reader.op = replace(
            op, transpose_in0=op.transpose_in0 != first, transpose_in1=op.transpose_in1 != second
        )
    drop_unread(graph, node.outputs[0])
    return "Transpose became transpose_in of the MatMul behind it"


def _find_softmax_axes(model: CheckedGraph) -> Iterator[Hit]:
    for node in model.graph.nodes:
        if isinstance(node.op, Softmax):
            rank = model.graph.types[node.inputs[0]].rank
            shape = model.costs.find_shape(node.inputs[0])
            axis = node.op.axis_of(rank)
            # What is behind it has one element, as in [1, 10, 1, 1].
            is_last = axis == rank - 1 or (shape is not None and math.prod(shape[axis + 1 :]) == 1)
            if not is_last:
                yield _describe_move(model, node)


def _find_high_ranks(model: CheckedGraph) -> Iterator[Hit]:
    for node in model.graph.nodes:
        ranks = [model.graph.types[value].rank for value in (*node.inputs, *node.outputs) if value]
        is_move = isinstance(node.op, Reshape)
        if max(ranks, default=0) > MOST_RANK and not is_move:
            size = sum(model.costs.count_bytes(value) for value in node.outputs if value)
            yield Hit(node, weight=model.costs.share_bytes(size))


def _find_unlike_concats(model: CheckedGraph) -> Iterator[Hit]:
    for node in model.graph.nodes:
        if not isinstance(node.op, Concat):
            continue
        result = model.graph.types[node.outputs[0]].encoding
        others = [value for value in node.inputs if model.graph.types[value].encoding != result]
        if result is not None and others:
            size = sum(model.costs.count_bytes(value) for value in others)
            text = f"{len(others)} of {len(node.inputs)} inputs are converted, {spell_bytes(size)}"
            yield Hit(node, text, weight=model.costs.share_bytes(size))


RULES = (
    Rule(
        "transpose",
        "This transpose moves the channels of a large tensor to another axis.",
        "Try keeping channels last from op to op, so that no transpose is needed.",
        "the HTP keeps the last axis in blocks of 32: another order moves every element",
        "estimated from shapes: the bytes that are read and written",
        _find_transposes,
    ),
    Rule(
        "reshape",
        "This reshape leaves fewer than 32 elements in the last axis of a large tensor.",
        "Try keeping the channels whole until the end of the network.",
        "the HTP keeps the last axis in blocks of 32, which are mostly empty then",
        "estimated from shapes: bytes with the last axis filled up to 32",
        _find_narrow_reshapes,
        grade="note",
    ),
    Rule(
        "move_chain",
        "Transposes or reshapes follow each other, or change nothing.",
        "Try one in their place, or none.",
        "each of them may read and write the whole tensor",
        "estimated: one pass over the tensor less for each",
        find_by_pass("merge_moves", "drop_identity"),
        modify_by_pass(("merge_moves", "drop_identity"), "merged with the one before it, or taken out"),
        "Merge them, and take out what changes nothing",
        "none: results are the same",
    ),
    Rule(
        "matmul_transpose",
        "A transpose turns an operand of a MatMul, which could do so itself.",
        "Try the parameter transpose_in0 or transpose_in1 of MatMul.",
        "the turned tensor is written and read for nothing",
        "estimated from shapes: the bytes that are read and written",
        _find_swaps,
        lambda graph, nodes: rewrite_each(graph, nodes, _turn_operand),
        "Let the MatMul behind it turn its operand",
        "none: results are the same",
        grade="note",
    ),
    Rule(
        "channel_shuffle",
        "Channels are shuffled by a reshape, a transpose and a reshape.",
        "Try the one op ChannelShuffle.",
        "tensors of five axes are moved twice",
        "estimated: one op for three",
        find_by_pass("fuse_channel_shuffle", is_float_only=True),
        modify_by_pass(("fuse_channel_shuffle",), "the three ops became ChannelShuffle", is_float_only=True),
        "Replace the three ops with ChannelShuffle",
        "none: results are the same",
    ),
    Rule(
        "softmax_axis",
        "This softmax is not over the last axis.",
        "Try an order of axes that has it last.",
        "the HTP's softmax is over the last axis: the tensor is transposed before and behind",
        "estimated from shapes: the bytes that are read and written once more, twice",
        _find_softmax_axes,
    ),
    Rule(
        "high_rank",
        "This op has tensors of more than four axes.",
        "Try four axes, with those that belong together as one.",
        "most ops of the HTP take four axes: others are computed in several steps, or refused",
        "measured on the library (2.51): which ops it refuses with five axes",
        _find_high_ranks,
        grade="note",
    ),
    Rule(
        "concat_encodings",
        "Inputs of this concatenation have other encodings than its result.",
        "Try one encoding for all of them: quantize again, or leave them out of the overrides.",
        "what has another encoding is converted first, element by element, and rounded once more",
        "estimated from shapes: the bytes that are converted",
        _find_unlike_concats,
    ),
)
