"""Options that give dimensions numbers, which tools spell in their own ways."""

from typing import Any

from edgewright.config.option import opt
from edgewright.config.values import dims, number_from, numbers

__all__ = ["batch_size", "input_numbers", "input_shapes", "symbol_sizes"]


def input_shapes(*flags: str, of: str = "") -> Any:
    """Shapes by input; ``of`` says more about them."""
    return opt(
        *flags,
        fills="input_shapes",
        nargs=2,
        repeated=True,
        keyed=True,
        type=(str, dims),
        metavar=("NAME", "DIMS"),
        example="-d data 1,3,224,224",
        help=f"the shape of an input{of}, dimensions separated by commas; once for each input",
    )


def batch_size(*flags: str, more: str = "") -> Any:
    """One number for the first dimension of all inputs."""
    return opt(
        *flags,
        type=number_from(1),
        metavar="SIZE",
        example=f"{flags[0]} 6",
        help=f"replace the first dimension of every input{more}",
    )


def symbol_sizes(*flags: str) -> Any:
    """Numbers by name of a dimension."""
    return opt(
        *flags,
        fills="symbols",
        nargs=2,
        repeated=True,
        keyed=True,
        type=(str, number_from(1)),
        metavar=("NAME", "SIZE"),
        example=f"{flags[0]} height 224",
        help="the size of a dimension that the model gives by a name; once for each name",
    )


def input_numbers(*flags: str) -> Any:
    """Values of inputs that become constants."""
    return opt(
        *flags,
        nargs=2,
        repeated=True,
        keyed=True,
        type=(str, numbers),
        metavar=("NAME", "VALUE"),
        example=f"{flags[0]} rate 16000",
        help="make an input a constant, such as one whose value shapes the graph; several numbers are "
        "separated by commas; once for each input",
    )
