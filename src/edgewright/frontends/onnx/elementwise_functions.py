"""ONNX functions of one operand that QNN composes: trigonometry and hyperbolic functions."""

from collections.abc import Callable

from edgewright.frontends._common.functions import BY_NAME
from edgewright.frontends.onnx.context import Context
from edgewright.frontends.onnx.registry import Handler, onnx_op
from edgewright.frontends.onnx.source import SourceNode


def _of_one(function: Callable[[Context, str], str]) -> Handler:
    def emit(ctx: Context, node: SourceNode) -> str:
        return function(ctx, node.inputs[0])

    return emit


for _name, _function in BY_NAME.items():
    onnx_op(_name)(_of_one(_function))
