"""Decompositions in ONNX terms: other ops' translations as building blocks, and what they need of a node."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx

from edgewright.core.errors import BadInput
from edgewright.frontends.onnx.context import Context
from edgewright.frontends.onnx.source import SourceNode

__all__ = ["attribute", "check_inputs", "compose", "compose_all", "reduced"]

# Since these opsets the axes of a reduction are an input.
AXES_AS_INPUT = {"ReduceSum": 13, "ReduceMean": 18}


def compose(ctx: Context, op_type: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
    """The first output of an ONNX op that is not in the model."""
    return compose_all(ctx, op_type, *inputs, outputs=1, domain=domain, **attributes)[0]


def compose_all(
    ctx: Context, op_type: str, *inputs: str, outputs: int, domain: str = "", **attributes: Any
) -> list[str]:
    """All outputs of an ONNX op that is not in the model."""
    names = [f"{op_type}_{index}" for index in range(outputs)]
    given = {name: value for name, value in attributes.items() if value is not None}
    proto = onnx.helper.make_node(op_type, inputs, names, name=ctx.source, domain=domain, **given)
    return ctx.translate(proto, inputs)


def reduced(ctx: Context, node: SourceNode, op_type: str, value: str, axes: Sequence[int]) -> str:
    """A reduction over axes that keeps them, as the opset of an ONNX node spells it."""
    if node.version < AXES_AS_INPUT[op_type]:
        return compose(ctx, op_type, value, axes=list(axes), keepdims=1)
    return compose(ctx, op_type, value, ctx.constant(np.asarray(axes, np.int64)), keepdims=1)


def attribute(node: SourceNode, name: str, default: float) -> Any:
    """A number given as an attribute (a plain one where the default is an integer)."""
    value = node.attr(name, default)
    if isinstance(value, int) or (isinstance(value, float) and isinstance(default, float)):
        return value
    raise BadInput(
        f"attribute '{name}' is {value!r}, expected a number", node.where, do="export the model again"
    )


def check_inputs(node: SourceNode, *required: int) -> None:
    """Refuses a node that lacks an input; for ops whose signature ONNX itself does not know."""
    for index in required:
        if not node.input(index):
            raise BadInput(f"input {index} is missing", node.where, do="export the model again")
