"""What the quantizer is asked for: widths, schemes, granularity, and what stays in floating point."""

from dataclasses import dataclass, field

from edgewright.config.algorithms import ALGORITHMS
from edgewright.core.errors import UsageError
from edgewright.core.numbers import DType
from edgewright.core.words import did_you_mean
from edgewright.quantize.encodings import Grid
from edgewright.quantize.schemes import MinMax, Scheme

__all__ = ["Settings"]

CHOICES = {
    "act_bits": (8, 16),
    "weight_bits": (4, 8, 16),
    "bias_bits": (8, 32),
    "float_bits": (16, 32),
    "float_bias_bits": (0, 16, 32),
}


@dataclass(frozen=True)
class Settings:
    """Options of one quantization; the defaults give 8 bits with an encoding a channel."""

    act_bits: int = 8
    weight_bits: int = 8
    bias_bits: int = 32
    # Parts that stay in floating point, and their biases (0: as the rest).
    float_bits: int = 32
    float_bias_bits: int = 0
    act_scheme: Scheme = field(default_factory=MinMax)
    weight_scheme: Scheme = field(default_factory=MinMax)
    is_act_symmetric: bool = False
    is_weight_symmetric: bool = True
    # One encoding for each output channel of convolutions, for each row of products.
    is_per_channel: bool = True
    is_per_row: bool = False
    # Elements of a block of 4-bit weights (low-power blockwise quantization); 0: no blocks.
    block_size: int = 0
    steps: tuple[int, int] | None = None
    # Whether roots, logarithms and what goes with them stay in floating point where 8 bits are asked for.
    is_fragile_float: bool = True
    # Whether what comes before a Relu is stored in the Relu's own range.
    is_relu_squashed: bool = True
    # Whether schemes and corrections are tried out, and the ones that come closest to the float model kept.
    is_searched: bool = False
    # Those of ALGORITHMS that are asked for.
    algorithms: tuple[str, ...] = ()
    # Version of the Hexagon processor (73 ...) that limits apply for; None: the newest.
    architecture: int | None = None

    def __post_init__(self) -> None:
        for name, choices in CHOICES.items():
            if getattr(self, name) not in choices:
                raise UsageError(
                    f"{name} is {getattr(self, name)}, expected one of {list(choices)}",
                    do="choose a width that QNN has",
                )
        if self.block_size < 0:
            raise UsageError(
                f"blocks of {self.block_size} are asked for, expected 1 or more", do="0 is for no blocks"
            )
        if self.block_size and self.weight_bits != 4:
            raise UsageError(
                f"blocks of {self.block_size} are asked for weights of {self.weight_bits} bits, "
                "expected 4 bits",
                do="use 4-bit weights, or leave the blocks out",
            )
        unknown = [name for name in self.algorithms if name not in ALGORITHMS]
        if unknown:
            raise UsageError(
                f"there is no algorithm '{unknown[0]}', expected some of {', '.join(ALGORITHMS)}",
                do=did_you_mean(unknown[0], ALGORITHMS),
            )
        if self.steps is not None:
            Grid(self._steps_bits(self.steps), steps=self.steps)

    def act_grid(self, bits: int) -> Grid:
        """The grid of activations of a width."""
        return Grid(bits, self.is_act_symmetric, self._steps_for(bits))

    def weight_grid(self, bits: int, *, is_sliced: bool) -> Grid:
        """The grid of weights of a width; encodings for slices are always symmetric."""
        return Grid(bits, self.is_weight_symmetric or is_sliced, self._steps_for(bits))

    @property
    def float_dtype(self) -> DType:
        """The type of what stays in floating point."""
        return DType[f"FLOAT_{self.float_bits}"]

    def _steps_for(self, bits: int) -> tuple[int, int] | None:
        """The restricted steps where they are meant for this width."""
        return self.steps if self.steps is not None and self._steps_bits(self.steps) == bits else None

    @staticmethod
    def _steps_bits(steps: tuple[int, int]) -> int:
        return 8 if steps[0] >= -128 and steps[1] < 128 else 16
