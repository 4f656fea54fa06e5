"""What may be asked of a quantization: one record, whichever tool or function asks.

Fields have the names of Python's keywords; options of tools that are spelled otherwise say which they fill.
"""

from dataclasses import dataclass, fields, replace
from typing import Self

import numpy as np

from edgewright.config.algorithms import ALGORITHMS
from edgewright.config.group import OptionGroup
from edgewright.config.spelling import spell_option
from edgewright.core.errors import UsageError, shown
from edgewright.core.numbers import DType
from edgewright.core.words import did_you_mean
from edgewright.quantize.encodings import WIDE_FACTORS, Grid
from edgewright.quantize.schemes import Scheme, find_scheme
from edgewright.quantize.tensor_encodings import EncodingSet

ADJUSTED, AUTO, SYMMETRIC = "adjusted", "auto", "symmetric"
WIDTHS = {
    "act_bw": (8, 16),
    "weight_bw": (4, 8, 16),
    "bias_bw": (8, 32),
    "float_bw": (16, 32),
    "float_bias_bw": (None, 16, 32),
}


@dataclass(frozen=True)
class QuantizationRequest:
    """How a graph is quantized; the defaults give 8 bits with an encoding for each channel."""

    act_bw: int = 8
    weight_bw: int = 8
    bias_bw: int = 32
    # What stays in floating point, and its biases (None: the same width).
    float_bw: int = 32
    float_bias_bw: int | None = None
    # How ranges are chosen, by the names in SCHEMES. "auto" tries several ways for activations, and corrected
    # biases, and keeps what comes closest to the float model.
    act_quantizer: str = "tf"
    param_quantizer: str = "tf"
    # "symmetric": ranges lie around zero, whichever way they are chosen.
    act_schema: str = "asymmetric"
    param_schema: str = "asymmetric"
    # How much of the values the scheme "percentile" keeps.
    percentile: float = 99.99
    # One encoding for each output channel of convolutions, for each row of products. Rows, None: as channels,
    # and for weights of 4 bits, which are too few for one scale over a whole matrix.
    per_channel: bool = True
    per_row: bool | None = None
    # Elements of a block of 4-bit weights (low-power blockwise quantization); 0: no blocks.
    block_size: int = 0
    # The smallest and the largest stored integer to use, as signed integers.
    steps: tuple[int, int] | None = None
    # Those of ALGORITHMS that are asked for; "auto" stands for what suits the network.
    algorithms: tuple[str, ...] = ()
    # Encodings by the names of the source model's tensors; they come before all that is computed.
    overrides: EncodingSet | None = None
    # Whether what comes before a Relu keeps a range of its own; else it is stored in the Relu's.
    disable_relu_squashing: bool = False
    # Whether products of two activations get 16 bits for the second operand and for the result.
    use_dynamic_16_bit_weights: bool = False
    # Whether roots, logarithms and what goes with them stay in floating point where 8 bits are asked for.
    is_fragile_float: bool = True
    # Whether a search leaves all activations in one width, also where 8 bits lose much (transformers).
    uniform: bool = False
    # Version of the Hexagon processor (73 ...) that limits apply for; None: the newest.
    architecture: int | None = None

    @classmethod
    def from_options(cls, *groups: OptionGroup, overrides: EncodingSet | None) -> Self:
        """What the options of a tool ask for; encodings come from a file that its options name."""
        values = {name: value for group in groups for name, value in group.values().items()}
        asked = {field.name: values[field.name] for field in fields(cls) if field.name in values}
        return cls(**{**asked, "overrides": overrides})

    def __post_init__(self) -> None:
        """Refuses what QNN does not have."""
        self._check_widths()
        self._check_blocks()
        self._check_steps()
        unknown = [name for name in self.algorithms if name not in ALGORITHMS]
        if unknown:
            raise UsageError(
                f"there is no algorithm '{unknown[0]}', expected some of {', '.join(ALGORITHMS)}",
                do=did_you_mean(unknown[0], ALGORITHMS),
            )
        find_scheme(self.param_quantizer, self.percentile)
        _ = self.act_scheme

    def _check_widths(self) -> None:
        for name, widths in WIDTHS.items():
            bits = getattr(self, name)
            if not isinstance(bits, int | np.integer | None) or bits not in widths:
                expected = [width for width in widths if width is not None]
                raise UsageError(
                    f"{spell_option(name, repr(bits))} is not possible, expected one of {expected}",
                    do="choose a width that QNN has",
                )

    def _check_blocks(self) -> None:
        if not isinstance(self.block_size, int | np.integer):
            raise UsageError(f"block_size is {self.block_size!r}, expected a whole number")
        if self.block_size < 0:
            raise UsageError(
                f"blocks of {self.block_size} are asked for, expected 1 or more", do="0 is for no blocks"
            )
        if self.block_size and self.weight_bw != 4:
            raise UsageError(
                f"blocks of {self.block_size} are asked for weights of {self.weight_bw} bits, "
                "expected 4 bits",
                do="use 4-bit weights, or leave the blocks out",
            )

    def _check_steps(self) -> None:
        steps = self.steps
        if steps is None:
            return
        if not (isinstance(steps, tuple | list) and [type(step) for step in steps] == [int, int]):
            raise UsageError(
                f"{spell_option('steps', shown(steps))} is not possible, expected two whole numbers",
                do=f"give, for example, {spell_option('steps', '(-128, 127)')}",
            )
        Grid(_find_steps_width(steps), steps=steps)

    @property
    def act_scheme(self) -> Scheme:
        """Chooses the ranges of activations; of a search, the ones it starts with."""
        is_plain = self.act_quantizer in {ADJUSTED, AUTO}
        return find_scheme("tf" if is_plain else self.act_quantizer, self.percentile)

    @property
    def weight_scheme(self) -> Scheme:
        """Chooses the ranges of weights."""
        return find_scheme(self.param_quantizer, self.percentile)

    @property
    def is_act_symmetric(self) -> bool:
        """Whether ranges of activations lie around zero."""
        return SYMMETRIC in {self.act_quantizer, self.act_schema}

    @property
    def is_searched(self) -> bool:
        """Whether schemes and corrections are tried out."""
        return self.act_quantizer == AUTO

    @property
    def float_dtype(self) -> DType:
        """The type of what stays in floating point."""
        return DType[f"FLOAT_{self.float_bw}"]

    @property
    def passes(self) -> int:
        """How often samples are walked."""
        searching = (4 if self.uniform else 7) if self.is_searched else 0
        return 1 + self.act_scheme.needs_histogram + 2 * len(self.algorithms) + searching

    def make_act_grid(self, bits: int) -> Grid:
        """The grid of activations of a width."""
        return Grid(bits, self.is_act_symmetric, self._find_steps(bits))

    def make_weight_grid(self, bits: int, *, is_sliced: bool) -> Grid:
        """The grid of weights of a width; encodings for slices, and 16 bits, are always symmetric."""
        if bits == WIDE_FACTORS.bits and self._find_steps(bits) is None:
            return WIDE_FACTORS
        is_symmetric = SYMMETRIC in {self.param_quantizer, self.param_schema}
        return Grid(bits, is_symmetric or is_sliced, self._find_steps(bits))

    def settle(self) -> "QuantizationRequest":
        """The request with nothing open: rows are decided, widths that the overrides give are taken."""
        per_row = self.per_channel or self.weight_bw == 4 if self.per_row is None else self.per_row
        file = self.overrides or EncodingSet()
        return replace(
            self,
            per_row=per_row,
            act_bw=file.act_bits or self.act_bw,
            weight_bw=file.weight_bits or self.weight_bw,
            bias_bw=file.bias_bits or self.bias_bw,
        )

    def list_notes(self) -> list[str]:
        """What will be done otherwise than asked."""
        notes = []
        if self.act_quantizer == ADJUSTED:
            notes.append("the quantizer 'adjusted' is for weights: activations cover all that was seen (tf)")
        if self.param_quantizer == ADJUSTED and self.weight_bw != 8:
            notes.append(f"the quantizer 'adjusted' is for 8 bits: weights of {self.weight_bw} use tf")
        return notes

    def _find_steps(self, bits: int) -> tuple[int, int] | None:
        """The restricted steps where they are meant for this width."""
        return self.steps if self.steps is not None and _find_steps_width(self.steps) == bits else None


def _find_steps_width(steps: tuple[int, int]) -> int:
    return 8 if steps[0] >= -128 and steps[1] < 128 else 16
