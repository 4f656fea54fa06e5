"""What is settled about a tensor before any range is chosen: by a file, by the source model, or by a rule."""

from dataclasses import dataclass

from edgewright.core.numbers import DType
from edgewright.ir.encodings import Encoding


class Origin:
    """Where an encoding comes from, in the words that reports use."""

    FILE = "file"
    SOURCE = "source model"
    RULE = "rule"
    CALIBRATED = "calibrated"
    WEIGHTS = "own values"
    DERIVED = "derived"
    FLOAT = "float"


@dataclass(frozen=True)
class Placed:
    """How a tensor is stored: a float type, or a fixed-point type with its encoding."""

    dtype: DType
    encoding: Encoding | None = None


@dataclass(frozen=True)
class Pin:
    """A tensor's width, its encoding where that is known too, or that it stays in floating point."""

    bits: int
    placed: Placed | None = None
    origin: str = Origin.FILE
    rule: str = ""

    @property
    def is_float(self) -> bool:
        """Whether the tensor stays in floating point."""
        return self.placed is not None and self.placed.dtype.is_float
