"""The options of the commands about context binaries, targets and error codes."""

from dataclasses import dataclass

from edgewright.config.group import OptionGroup
from edgewright.config.option import opt

__all__ = ["CodeName", "TargetName"]


@dataclass(frozen=True)
class CodeName(OptionGroup):
    """Which code is meant."""

    title = "Code"

    code: str | None = opt(
        "CODE", help="a code of QNN (1002, 0x3ea), of Edgewright (bad-input) or an exit code; all without it"
    )


@dataclass(frozen=True)
class TargetName(OptionGroup):
    """Which chip is meant."""

    title = "Target"

    name: str | None = opt(
        "NAME",
        help="a chip (SM8650, 'Snapdragon 8 Gen 3'), an architecture (v75) or a SoC number; all without it",
    )
