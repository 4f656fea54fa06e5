"""How images become the numbers that a model was trained on."""

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
    return None


@dataclass(frozen=True)
class Preprocessing(OptionGroup):
    """Images: stretched to the input's size, then (pixel - mean) / std, pixels being 0 to 255."""

    title = "Images"
    rules = (Check(_check_numbers),)

    mean: tuple[float, ...] = opt(
        nargs=(1, 3),
        metavar=("VALUE", "[VALUE VALUE]"),
        example="--mean 123.7 116.3 103.5",
        help="what is subtracted from pixels of 0 to 255, one number or one for each channel; 0 otherwise",
    )
    std: tuple[float, ...] = opt(
        nargs=(1, 3),
        metavar=("VALUE", "[VALUE VALUE]"),
        example="--std 58.4 57.1 57.4",
        help="what pixels are divided by after that, one number or one for each channel; 1 otherwise",
    )
    layout: str | None = opt(
        choices=("NCHW", "NHWC"),
        help="where the model's input has its channels; guessed from its shape otherwise",
    )
    color: str = opt(
        choices=("rgb", "bgr"), default="rgb", help="the order of the channels that the model wants"
    )
