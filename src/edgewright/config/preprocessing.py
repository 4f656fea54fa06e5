"""How images and arrays become the numbers that a model was trained on."""

import math
from dataclasses import dataclass

from edgewright.config.declare import opt
from edgewright.config.group import OptionGroup
from edgewright.config.rules import Check, Given
from edgewright.core.errors import UsageError, shown


def _check_numbers(given: Given) -> UsageError | None:
    """Python's own callers may give anything."""
    for flag, is_divisor in (("--mean", False), ("--std", True)):
        values = given.get(flag, ())
        if not isinstance(values, tuple | list) or len(values) not in {0, 1, 3}:
            return UsageError(
                f"option '{flag}' is '{shown(values)}', expected one number or three",
                do=f"give one for all channels, or one for each, as in {flag} 123.7 116.3 103.5",
            )
        if not all(isinstance(value, float | int) and math.isfinite(value) for value in values):
            return UsageError(f"option '{flag}' is '{shown(values)}', expected finite numbers")
        if is_divisor and any(value <= 0 for value in values):
            return UsageError(f"option '{flag}' is '{shown(values)}', expected numbers above 0")
    scale = given.get("--scale")
    if scale is not None and not (isinstance(scale, float | int) and math.isfinite(scale) and scale > 0):
        return UsageError(f"option '--scale' is '{shown(scale)}', expected a number above 0")
    return None


def parse_scale(text: str) -> float:
    """A number, or a fraction such as 1/255."""
    above, _, below = text.partition("/")
    try:
        value = float(above) / float(below or 1)
    except (ValueError, ZeroDivisionError):
        value = math.nan
    if not (math.isfinite(value) and value > 0):
        raise ValueError("expected a number above 0, or a fraction such as 1/255")
    return value


@dataclass(frozen=True)
class Preprocessing(OptionGroup):
    """Images, stretched to the input's size, and arrays: (value * scale - mean) / std, pixels 0 to 255."""

    title = "Images and arrays"
    rules = (Check(_check_numbers),)

    mean: tuple[float, ...] = opt(
        nargs=(1, 3),
        metavar=("VALUE", "[VALUE VALUE]"),
        example="--mean 123.7 116.3 103.5",
        help="what is subtracted from pixels of 0 to 255, or from values of arrays, one number or one for "
        "each channel; 0 otherwise",
    )
    std: tuple[float, ...] = opt(
        nargs=(1, 3),
        metavar=("VALUE", "[VALUE VALUE]"),
        example="--std 58.4 57.1 57.4",
        help="what is divided by after that, one number or one for each channel; 1 otherwise",
    )
    scale: float | None = opt(
        type=parse_scale,
        metavar="FACTOR",
        example="--scale 1/255",
        help="what pixels, or the values of arrays, are multiplied by before all else; 1 otherwise",
    )
    layout: str | None = opt(
        choices=("NCHW", "NHWC"),
        help="where the model's input has its channels; guessed from its shape otherwise; arrays that only "
        "fit in the other layout are transposed",
    )
    color: str = opt(
        choices=("rgb", "bgr"), default="rgb", help="the order of the channels that the model wants"
    )

    @property
    def factor(self) -> float:
        """What values are multiplied by."""
        return 1.0 if self.scale is None else self.scale

    @property
    def mean_and_std(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """What is subtracted and divided by, for all channels or for each."""
        return tuple(self.mean) or (0.0,), tuple(self.std) or (1.0,)

    @property
    def is_normalising(self) -> bool:
        """Whether values are changed at all."""
        return bool(self.mean or self.std or self.scale is not None)
