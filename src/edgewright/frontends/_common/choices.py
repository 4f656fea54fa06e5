"""Conditions of control flow: known ones decide while the graph is built, others become a choice."""

from edgewright.core.errors import ShapeMismatch
from edgewright.frontends._common.builder import Builder, NeedsValue
from edgewright.ops.elementwise import ElementWiseSelect


def find_truth(ctx: Builder, condition: str) -> bool | None:
    """A condition where it is known."""
    if ctx.type(condition).count != 1:
        raise ShapeMismatch(
            f"the condition is {ctx.type(condition)}, expected one element",
            do="reduce it to one element in the source model",
        )
    known = ctx.find_array(condition)
    return None if known is None else bool(known.reshape(-1)[0])


def is_true(ctx: Builder, condition: str) -> bool:
    """A condition that must be known."""
    truth = find_truth(ctx, condition)
    if truth is None:
        raise NeedsValue(condition)
    return truth


def select_value(ctx: Builder, condition: str, left: str, right: str) -> str:
    """One of two values of the same type, as a condition that only a run knows says."""
    if left == right:
        return left
    if ctx.type(left) != ctx.type(right):
        raise NeedsValue(condition)
    return ctx.emit(ElementWiseSelect(), ctx.reshape(condition, ()), left, right)
