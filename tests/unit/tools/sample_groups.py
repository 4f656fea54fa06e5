"""Option groups that only tests have."""

from dataclasses import dataclass

from edgewright.config.group import OptionGroup
from edgewright.config.option import opt
from edgewright.config.values import number_from


@dataclass(frozen=True)
class Positional(OptionGroup):
    title = "Positional"

    model: str = opt("MODEL", required=True, help="a model without a flag")
    level: int = opt("--level", type=number_from(0), default=0, help="a number")
