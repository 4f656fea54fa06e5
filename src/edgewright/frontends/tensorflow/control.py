"""TensorFlow's control flow: branches and loops that are decided while the graph is built."""

from collections.abc import Sequence

import numpy as np

from edgewright.core.errors import BadInput, LimitExceeded
from edgewright.frontends._common.builder import NeedsValue
from edgewright.frontends._common.choices import find_truth, is_true, select_value
from edgewright.frontends.tensorflow.context import Context
from edgewright.frontends.tensorflow.frames import CHOICE, LOOP
from edgewright.frontends.tensorflow.recurrent import Turn, as_layer
from edgewright.frontends.tensorflow.registry import tf_op
from edgewright.frontends.tensorflow.source import SourceNode

MOST_TURNS = 10_000


@tf_op("If", "StatelessIf")
def choose(ctx: Context, node: SourceNode) -> list[str]:
    """The branch that a known condition takes; else both, and a choice between their results."""
    node.need(0)
    branches = [node.attributes.function(name) for name in ("then_branch", "else_branch")]
    return _emit_one_of(ctx, node.inputs[0], branches, node.inputs[1:])


@tf_op("Case", "StatelessCase")
def case(ctx: Context, node: SourceNode) -> list[str]:
    """The branch of a number that must be known; the last one where it is none of them."""
    branches = node.attributes.functions("branches")
    place = ctx.read_ints(node.need(0)[0])[0]
    if not branches:
        raise BadInput("no branches are given, expected one or more", node.where, do="export the model again")
    return ctx.inline(branches[place if 0 <= place < len(branches) else -1], node.inputs[1:])


@tf_op("While", "StatelessWhile", LOOP)
def repeat(ctx: Context, node: SourceNode) -> list[str]:
    """Turn by turn, as long as the condition holds, which must be known before each turn."""
    parts = ("cond", "body")
    condition, body = (
        f"{node.label}/{part}" if node.op == LOOP else node.attributes.function(part) for part in parts
    )
    values, turns = list(node.inputs), list[Turn]()
    for _ in range(MOST_TURNS):
        (goes_on,) = ctx.inline(condition, values)
        if not is_true(ctx, _number(ctx, goes_on)):
            return as_layer(ctx, node.inputs, turns) or values
        before, made = values, len(ctx.emitted)
        values = ctx.inline(body, values)
        turns.append(Turn(before, values, ctx.emitted[made:]))
        if len(values) != len(node.inputs):
            raise BadInput(
                f"the body gives {len(values)} values, expected {len(node.inputs)}",
                node.where,
                do="export the model again",
            )
    raise LimitExceeded(
        f"the loop takes more than {MOST_TURNS} turns", node.where, do="lower the number of steps"
    )


@tf_op("Switch", "RefSwitch")
def switch(ctx: Context, node: SourceNode) -> list[str]:
    """The value goes where a known condition sends it; nothing goes the other way."""
    value, condition = node.need(0, 1)
    taken = find_truth(ctx, condition)
    if taken is None:
        # Both branches are computed, and their end chooses.
        return [value, value]
    return [ctx.nothing(), value] if taken else [value, ctx.nothing()]


@tf_op("Merge", "RefMerge")
def merge(ctx: Context, node: SourceNode) -> list[str]:
    """What came through, and from where."""
    live = [place for place, value in enumerate(node.inputs) if value not in ctx.dead]
    if not live:
        return [ctx.nothing(), ctx.nothing()]
    if len(live) > 1 and len({*node.inputs}) > 1:
        raise ctx.refuse(node, "its branches do not tell which condition they depend on")
    return [node.inputs[live[0]], ctx.add_constant(np.asarray(live[0], np.int32))]


@tf_op(CHOICE)
def end_of_branches(ctx: Context, node: SourceNode) -> str:
    """One of two values, where both branches were computed; else the one that was."""
    condition, left, right = node.need(0, 1, 2)
    if left in ctx.dead or right in ctx.dead:
        return right if left in ctx.dead else left
    return _emit_choice(ctx, condition, left, right)


def _emit_one_of(
    ctx: Context, condition: str, branches: Sequence[str], arguments: Sequence[str]
) -> list[str]:
    number = _number(ctx, condition)
    taken = find_truth(ctx, number)
    if taken is not None:
        return ctx.inline(branches[0 if taken else 1], arguments)
    results = [ctx.inline(branch, arguments) for branch in branches]
    if len(results[0]) != len(results[1]):
        raise BadInput(
            f"the branches give {len(results[0])} and {len(results[1])} values, expected as many of both",
            do="export the model again",
        )
    return [_emit_choice(ctx, number, left, right) for left, right in zip(*results, strict=True)]


def _emit_choice(ctx: Context, condition: str, left: str, right: str) -> str:
    if left not in ctx.graph.types or right not in ctx.graph.types:
        # A list or a variable: what it is must be decided.
        raise NeedsValue(condition)
    return select_value(ctx, condition, left, right)


def _number(ctx: Context, condition: str) -> str:
    """A condition of one element; a tensor holds where it is not empty, a number where it is not 0."""
    found = ctx.type(condition)
    if found.rank:
        return ctx.add_constant(np.asarray(found.count != 0))
    return condition
