"""A graph, written as an ONNX model for an engine."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import onnx

from edgewright.backends.cpu.profile import EngineProfile
from edgewright.core.numbers import Array
from edgewright.ir.dims import Shape


@dataclass(frozen=True)
class WrittenModel:
    """A model for an engine."""

    proto: onnx.ModelProto
    # Arrays of initializers whose bytes the model does not hold.
    external: Mapping[str, Array]
    # Whether ops in fixed point were written: what is a real number among them is meant to be one.
    has_fixed_point: bool
    # Without fusions, whose kernels divide by sizes: for empty tensors.
    is_plain: bool
    profile: EngineProfile | None
    # Value of the model -> its shape, as far as the graph tells.
    shapes: Mapping[str, Shape] = field(default_factory=dict)
