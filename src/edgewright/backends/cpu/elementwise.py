"""Elementwise ops for the engine."""

from edgewright.backends.cpu.registry import one_to_one
from edgewright.ops.elementwise import ElementWiseAdd, ElementWiseMultiply

__all__: list[str] = []

one_to_one({ElementWiseAdd: "Add", ElementWiseMultiply: "Mul"})
