"""ONNX functions of one operand that QNN composes: trigonometry and hyperbolic functions."""

from collections.abc import Callable

from edgewright.frontends._common import functions
from edgewright.frontends.onnx.context import Context
from edgewright.frontends.onnx.registry import Handler, onnx_op
from edgewright.frontends.onnx.source import SourceNode

__all__: list[str] = []

_FUNCTIONS: dict[str, Callable[[Context, str], str]] = {
    "Acos": functions.inverse_cosine,
    "Acosh": functions.inverse_hyperbolic_cosine,
    "Asinh": functions.inverse_hyperbolic_sine,
    "Atanh": functions.inverse_hyperbolic_tangent,
    "Cosh": functions.hyperbolic_cosine,
    "Sinh": functions.hyperbolic_sine,
    "Tan": functions.tangent,
}


def _of_one(function: Callable[[Context, str], str]) -> Handler:
    def emit(ctx: Context, node: SourceNode) -> str:
        return function(ctx, node.inputs[0])

    return emit


for _name, _function in _FUNCTIONS.items():
    onnx_op(_name)(_of_one(_function))
