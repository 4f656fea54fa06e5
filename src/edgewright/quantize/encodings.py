"""From a range of real numbers to the encoding that lays integers on it, as the QNN guide defines it."""

from dataclasses import dataclass, replace

import numpy as np

from edgewright.config.spelling import spell_option
from edgewright.core.errors import UsageError
from edgewright.core.numbers import Array, DType, round_half_away
from edgewright.ir.encodings import Encoding

# The guide: "Minimum range of 0.0001 is enforced".
SMALLEST_RANGE = 1e-4
WIDTHS = (4, 8, 16, 32)
# Low-power blockwise quantization: factors of four bits on top of a step for each channel.
BLOCK_FACTORS = 16


@dataclass(frozen=True)
class Grid:
    """The integers that a range is laid on.

    ``steps`` narrows them to (least, most), written as signed integers of the width whether the stored ones
    are signed or not (``--restrict_quantization_steps``).
    """

    bits: int = 8
    is_symmetric: bool = False
    steps: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        if self.bits not in WIDTHS:
            raise UsageError(
                f"a bit width of {self.bits} is not possible, expected one of {list(WIDTHS)}",
                do="use 8 or 16 bits for activations, 4, 8 or 16 for weights, 8 or 32 for biases",
            )
        half = 1 << (self.bits - 1)
        least, most = self.steps or (-half, half - 1)
        if not -half <= least < 0 < most < half:
            raise UsageError(
                f"steps from {least} to {most} do not fit {self.bits} bits, "
                f"expected {-half} to {half - 1} around 0",
                do=f"choose {spell_option('steps')} from {-half:#x} to {half - 1:#x}",
            )

    @property
    def dtype(self) -> DType:
        """The type that stores the integers; 4 bits live in an 8-bit container."""
        sign = "S" if self.is_symmetric else "U"
        return DType[f"{sign}FIXED_POINT_{max(self.bits, 8)}"]

    def encode_range(self, low: Array | float, high: Array | float, axis: int | None = None) -> Encoding:
        """The encoding of a range, or of one range for each slice along ``axis``.

        Zero is exactly representable; a range below the smallest one is widened.
        """
        lows, highs = _with_zero(low, high)
        scales, zeros = (
            self._encode_symmetric(lows, highs) if self.is_symmetric else self._encode_asymmetric(lows, highs)
        )
        return Encoding(tuple(scales.tolist()), tuple(int(-zero) for zero in zeros), axis, self.bits)

    def encode(self, real: Array, encoding: Encoding) -> Array:
        """Stored integers of real numbers, within the restricted steps where there are some."""
        stored = encoding.encode(real, self.dtype)
        if self.steps is None:
            return stored
        shift = 0 if self.is_symmetric else 1 << (self.bits - 1)
        return np.clip(stored, self.steps[0] + shift, self.steps[1] + shift)

    def _encode_symmetric(self, lows: Array, highs: Array) -> tuple[Array, Array]:
        least, most = self.steps or (-(1 << (self.bits - 1)), (1 << (self.bits - 1)) - 1)
        reach = np.maximum(np.maximum(-lows, highs), SMALLEST_RANGE / 2)
        return _round_to_single(reach / min(most, -least)), np.zeros(reach.shape, np.int64)

    def _encode_asymmetric(self, lows: Array, highs: Array) -> tuple[Array, Array]:
        half = 1 << (self.bits - 1)
        least, most = self.steps or (-half, half - 1)
        count = most - least
        tops = np.maximum(highs, lows + SMALLEST_RANGE)
        # The product comes first: -5.1..5.1 must give 127.5 steps, which round to 128 (guide, "Handling 0").
        zeros = np.clip(round_half_away(-lows * count / (tops - lows)), 0, count)
        return _round_to_single((tops - lows) / count), (zeros + least + half).astype(np.int64)


# HTP splits factors of 16 bits in two signed bytes, which hold no larger number.
WIDE_FACTORS = Grid(16, True, (-0x8000, 0x7F7F))
# What stands for zero where unsigned integers reach as far.
FACTORS_ZERO = 0xFFFF - 0x7F7F


def compute_covered_range(encoding: Encoding, dtype: DType) -> tuple[Array, Array]:
    """The smallest and the largest real number of each slice (or block) that an encoding can store."""
    least, most = encoding.limits(dtype)
    scales, offsets = np.asarray(encoding.scales, np.float64), np.asarray(encoding.offsets, np.float64)
    return scales * (least + offsets), scales * (most + offsets)


def change_grid(encoding: Encoding, dtype: DType, grid: Grid) -> Encoding:
    """The encoding of the same range with another width or symmetry.

    Factors whose steps were chosen so (`cover_factors`) keep these.
    """
    if grid == WIDE_FACTORS and dtype == DType.UFIXED_POINT_16 and encoding.offsets == (-FACTORS_ZERO,):
        return replace(encoding, offsets=(0,))
    low, high = compute_covered_range(encoding, dtype)
    return grid.encode_range(low, high, encoding.axis)


def encode_copy(grid: Grid, low: float, high: float, stored: Encoding) -> Encoding:
    """The encoding of a range of stored values; fewer bits get no finer steps than these, as HTP has none."""
    encoding = grid.encode_range(low, high)
    widened = stored.scales[0] / encoding.scales[0]
    is_finer = grid.bits < stored.bitwidth and widened > 1
    return grid.encode_range(low * widened, high * widened) if is_finer else encoding


def cover_factors(low: float, high: float) -> tuple[float, float]:
    """The range that unsigned integers of 16 bits cover in the steps of factors for this one."""
    (step,) = WIDE_FACTORS.encode_range(low, high).scales
    return -FACTORS_ZERO * step, 0x7F7F * step


def encode_blocks(real: Array, axis: int, block_axis: int, block_size: int) -> Encoding:
    """The low-power blockwise encoding of weights in 4 bits: a step a channel, a whole factor a block.

    QNN's blocks are of one size: the largest that divides the channel and is not above the one asked for.
    """
    channels, size = real.shape[axis], real.shape[block_axis]
    if axis == block_axis or block_size < 1:
        raise UsageError(
            f"blocks of {block_size} along axis {block_axis} of channels along axis {axis} make no sense",
            do="choose a block size of at least 1 along the input channels",
        )
    rows = (
        np.moveaxis(np.abs(real), (axis, block_axis), (0, 1)).reshape(channels, size, -1).max(-1, initial=0)
    )
    block_size = next(part for part in range(min(block_size, max(size, 1)), 0, -1) if size % part == 0)
    blocks = rows.reshape(channels, -1, block_size)
    steps = np.maximum(blocks.max(-1, initial=0), SMALLEST_RANGE / 2) / 7
    scales = _round_to_single(steps.max(1, keepdims=True) / BLOCK_FACTORS)
    # Up: a block whose factor is rounded down would lose its largest weights.
    factors = np.clip(np.ceil(steps / scales - 1e-6), 1, BLOCK_FACTORS)
    return Encoding(
        *(tuple(scales.reshape(-1).tolist()), (0,) * channels, axis, 4),
        *(block_axis, block_size, factors.astype(np.uint8).tobytes()),
    )


@dataclass(frozen=True)
class RangeCheck:
    """How well a scale and an offset hold given data."""

    mse: float
    sqnr_db: float
    clipped: float
    is_valid: bool

    def __bool__(self) -> bool:
        return self.is_valid


def validate_quantization_range(
    data: Array, scale: float, offset: int, bitwidth: int = 8, threshold: float | None = None
) -> RangeCheck:
    """Whether data survives quantization: its mean squared error, and the part that is clipped.

    ``offset`` is the integer that stands for zero; our stored, negative form of it is accepted as well.
    Without a threshold the error may be what rounding alone can cost (half a step for each value), and
    nothing may lie outside the range.
    """
    Grid(bitwidth)
    array = np.asarray(data, np.float64)
    if not scale > 0 or not np.isfinite(scale) or not np.isfinite(array).all() or not array.size:
        raise UsageError(
            f"scale {scale} and {array.size} values, expected a scale above 0 and finite values",
            do="check the data for NaN and infinity",
        )
    zero, most = abs(int(offset)), (1 << bitwidth) - 1
    steps = np.rint(array / scale) + zero
    error = array - (np.clip(steps, 0, most) - zero) * scale
    mse, signal = float(np.mean(error**2)), float(np.mean(array**2))
    clipped = float(np.mean((steps < 0) | (steps > most)))
    allowed = scale**2 / 4 if threshold is None else threshold
    is_valid = mse <= allowed * (1 + 1e-9) and (threshold is not None or clipped == 0.0)
    sqnr = float("inf") if mse == 0 else float(10 * np.log10(max(signal, 1e-300) / mse))
    return RangeCheck(mse, sqnr, clipped, is_valid)


def _with_zero(low: Array | float, high: Array | float) -> tuple[Array, Array]:
    """Ranges as rows of doubles that hold zero."""
    lows = np.minimum(np.atleast_1d(np.asarray(low, np.float64)), 0.0)
    highs = np.maximum(np.atleast_1d(np.asarray(high, np.float64)), 0.0)
    if not (np.isfinite(lows).all() and np.isfinite(highs).all()):
        raise UsageError(
            f"a range reaches from {lows.min()} to {highs.max()}, expected finite numbers",
            do="check data and weights for NaN and infinity",
        )
    return lows, highs


def _round_to_single(scales: Array) -> Array:
    """Scales as QNN stores them: single precision, and never so small that it becomes 0."""
    single: Array = np.maximum(scales, 1e-30).astype(np.float32).astype(np.float64)
    return single
