"""Rules about convolutions: channels, groups, kernels, and what could be part of their weights."""

import math
from collections.abc import Iterator

from edgewright.analyse.architecture.costs import BLOCK, spell_macs
from edgewright.analyse.architecture.pass_rules import find_by_pass, modify_by_pass
from edgewright.analyse.architecture.rule import CheckedGraph, Hit, Rule
from edgewright.ir.graph import Node
from edgewright.ops.conv import Convolution
from edgewright.ops.conv_transpose import TransposedConvolution
from edgewright.ops.norm import Batchnorm

CONVOLUTIONS = (Convolution, TransposedConvolution)
# Blocks that are emptier than this are worth a word.
MOST_FILLING = 1.25
# Sides of kernels beyond this are called large.
LARGEST_KERNEL = 7
# Smaller kernels in a row must have at most this part of the products.
WORTH_STACKING = 0.6
PADDED = "public latencies of 89 networks are explained best by MACs with channels filled up to 32"


def _list_convolutions(model: CheckedGraph) -> Iterator[tuple[Node, int, int]]:
    for node in model.graph.nodes:
        sizes = model.costs.find_channels(node)
        if sizes is not None:
            yield node, *sizes


def _find_low_channels(model: CheckedGraph) -> Iterator[Hit]:
    for node, read, made in _list_convolutions(model):
        if _count_groups(node) == 1 and min(read, made) < BLOCK:
            yield _describe_padding(model, node)


def _find_groups(model: CheckedGraph) -> Iterator[Hit]:
    for node, read, made in _list_convolutions(model):
        if _count_groups(node) > 1 and min(read, made) < BLOCK:
            yield _describe_padding(model, node)


def _find_uneven_channels(model: CheckedGraph) -> Iterator[Hit]:
    for node, read, made in _list_convolutions(model):
        macs, padded = model.costs.count_macs(node), model.costs.count_padded_macs(node)
        if min(read, made) >= BLOCK and padded > MOST_FILLING * macs:
            yield _describe_padding(model, node)


def _describe_padding(model: CheckedGraph, node: Node) -> Hit:
    macs, padded = model.costs.count_macs(node), model.costs.count_padded_macs(node)
    share = model.costs.share(padded)
    if not macs:
        return Hit(node)
    text = f"{spell_macs(macs)} cost up to {spell_macs(padded)} ({padded / macs:.1f} times)"
    return Hit(node, f"{text}, {100 * share:.1f} % of the network", weight=share * (1 - macs / padded))


def _count_groups(node: Node) -> int:
    return 1 if node.op.is_depthwise else int(getattr(node.op, "group", 1) or 1)


def _find_large_kernels(model: CheckedGraph) -> Iterator[Hit]:
    for node in model.graph.nodes:
        if not isinstance(node.op, CONVOLUTIONS):
            continue
        shape = model.costs.find_shape(node.inputs[1])
        sides = () if shape is None else shape[:-2]
        # Where a kernel covers all of its input, it is a product of vectors.
        if not sides or max(sides) <= LARGEST_KERNEL or _is_covering(model, node, sides):
            continue
        stacked = 9 * math.ceil((max(sides) - 1) / 2) / math.prod(sides)
        if stacked > WORTH_STACKING:
            continue
        macs = model.costs.count_macs(node)
        text = f"{spell_macs(macs)}; 3x3 kernels in a row that see as far have about "
        text += spell_macs(int(macs * stacked))
        yield Hit(node, text, weight=model.costs.share(model.costs.count_padded_macs(node)))


def _is_covering(model: CheckedGraph, node: Node, sides: tuple[int, ...]) -> bool:
    shape = model.costs.find_shape(node.inputs[0])
    # A convolution of one axis has no square to replace.
    is_long = sum(side > 1 for side in sides) < 2
    return is_long or (
        shape is not None and all(side >= size for side, size in zip(sides, shape[1:-1], strict=False))
    )


def _find_batch_norms(model: CheckedGraph) -> Iterator[Hit]:
    for node in model.graph.nodes:
        before = model.graph.producer(node.inputs[0]) if node.inputs else None
        if isinstance(node.op, Batchnorm) and before is not None and before.op.is_product:
            size = model.costs.count_bytes(node.outputs[0])
            yield Hit(node, weight=model.costs.share_bytes(size))


RULES = (
    Rule(
        "low_channels",
        "The number of channels in the input/output tensor of this convolution node is low (smaller than "
        "32).",
        "Try increasing the number of channels in the input/output tensor to 32 or greater to get better "
        "performance.",
        "the HTP multiplies 32 channels at a time, and fills up the rest with zeros",
        PADDED,
        _find_low_channels,
    ),
    Rule(
        "uneven_channels",
        "The number of channels of this convolution is just above a multiple of 32.",
        "Try a multiple of 32: the next lower one costs less, the next higher one nothing.",
        "the HTP multiplies 32 channels at a time: 33 cost as much as 64",
        PADDED,
        _find_uneven_channels,
    ),
    Rule(
        "group_conv",
        "This convolution has groups of fewer than 32 channels.",
        "Try fewer groups of 32 channels or more, a depthwise convolution or a plain one.",
        "each group is a convolution of its own, and is filled up to 32 channels",
        PADDED,
        _find_groups,
    ),
    Rule(
        "large_kernel",
        f"The kernel of this convolution is large (a side above {LARGEST_KERNEL}).",
        "Try several smaller kernels in a row, such as 3x3, which see as far with fewer products.",
        "products grow with the area of a kernel, what it sees only with its side",
        "estimated from shapes: MACs of the kernel against those of 3x3 kernels that see as far",
        _find_large_kernels,
        grade="note",
    ),
    Rule(
        "batchnorm",
        "This batch norm stands behind a convolution or product by itself.",
        "Try folding it into the weights before it.",
        "one more op that reads and writes the whole tensor, where the weights could hold it for nothing",
        "estimated: one pass over the tensor less",
        _find_batch_norms,
        modify_by_pass(("fold_batchnorm",), "folded into the weights before it", is_float_only=True),
        "Fold it into the weights before it",
        "1e-4 of the output's largest value",
    ),
    Rule(
        "channel_factor",
        "A constant for each channel is added to, or multiplied with, the result of a convolution.",
        "Try folding it into weights and bias before it.",
        "one more op that reads and writes the whole tensor, where weights could hold it for nothing",
        "estimated: one pass over the tensor less",
        find_by_pass("fold_channels", is_float_only=True),
        modify_by_pass(("fold_channels",), "folded into the weights and bias before it", is_float_only=True),
        "Fold it into weights and bias before it",
        "1e-4 of the output's largest value",
    ),
    Rule(
        "pad",
        "Zeros are padded by an op of its own before a convolution or pool that can pad.",
        "Try the padding of the convolution or pool itself.",
        "the padded tensor is written and read once more",
        "estimated: one pass over the tensor less",
        find_by_pass("fuse_pad", is_float_only=True),
        modify_by_pass(("fuse_pad",), "became the padding of the op behind it", is_float_only=True),
        "Let the op behind it pad",
        "none: results are the same",
    ),
)
