"""ONNX elementwise ops."""

from edgewright.frontends.onnx.registry import one_to_one
from edgewright.ops.elementwise import ElementWiseAdd, ElementWiseMultiply

__all__: list[str] = []

one_to_one({"Add": ElementWiseAdd(), "Mul": ElementWiseMultiply()})
