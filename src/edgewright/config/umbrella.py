"""The options that the subcommands of `edgewright` share."""

from dataclasses import dataclass

from edgewright.config.group import OptionGroup
from edgewright.config.option import opt

__all__ = ["Messages", "OpName", "Report"]


@dataclass(frozen=True)
class OpName(OptionGroup):
    """Which op is meant."""

    title = "Op"

    name: str | None = opt("NAME", help="the name of an op as QNN spells it; all are listed without it")


@dataclass(frozen=True)
class Report(OptionGroup):
    """The form of what is printed."""

    title = "Report"

    json: bool = opt("--json", nargs=0, help="print JSON in place of a table")


@dataclass(frozen=True)
class Messages(OptionGroup):
    """How much is said on the way."""

    title = "Messages"

    debug: bool = opt("--debug", nargs=0, help="say what happens in detail; show tracebacks")
    log_level: str | None = opt(
        "--log_level",
        choices=("error", "warn", "warning", "info", "debug", "verbose"),
        help="the least grave messages to show",
    )

    @property
    def loudness(self) -> str | None:
        """The level of --log_level, or debug with --debug."""
        return self.log_level or ("debug" if self.debug else None)
