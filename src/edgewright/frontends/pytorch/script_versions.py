"""What ops meant when a file was written: TorchScript's format has versions, and some ops have changed."""

from collections.abc import Mapping, Sequence
from typing import Any

from edgewright.frontends.pytorch.values import Tensor

# Since these versions division of integers has fractions, and a tensor full of an integer holds integers.
TRUE_DIVISION = 4
WHOLE_FULL = 5
FLOAT = 6


def update_call(
    version: int, kind: str, args: Sequence[Any], named: Mapping[str, Any]
) -> tuple[Sequence[Any], Mapping[str, Any]]:
    """The arguments with which an op of today does what it did in a file of this version."""
    if version < TRUE_DIVISION and kind in {"aten::div", "aten::div_"} and _has_only_integers(args):
        return args, {"rounding_mode": "trunc", **named}
    if version < WHOLE_FULL and kind == "aten::full" and isinstance(args[1], int):
        return args, {**named, "dtype": FLOAT if named.get("dtype") is None else named["dtype"]}
    return args, named


def _has_only_integers(args: Sequence[Any]) -> bool:
    """Whether a tensor of integers is divided by integers."""
    return isinstance(args[0], Tensor) and not any(
        item.dtype.is_floating_point or item.dtype.is_complex
        if isinstance(item, Tensor)
        else isinstance(item, float)
        for item in args
    )
