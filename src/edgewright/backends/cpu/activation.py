"""Activation functions for the engine."""

from edgewright.backends.cpu.registry import one_to_one
from edgewright.ops.activation import Relu

__all__: list[str] = []

one_to_one({Relu: "Relu"})
