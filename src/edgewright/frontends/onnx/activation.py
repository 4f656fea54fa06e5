"""ONNX activation functions."""

from edgewright.frontends.onnx.registry import one_to_one
from edgewright.ops.activation import Relu

__all__: list[str] = []

one_to_one({"Relu": Relu()})
