"""Option groups that only tests have."""

from dataclasses import dataclass

from edgewright.config.declare import opt
from edgewright.config.group import OptionGroup


@dataclass(frozen=True)
class Positional(OptionGroup):
    title = "Positional"

    model: str = opt("MODEL", help="a model without a flag")
    level: int = opt(default=0, help="a number")
