"""How much a tool says: what the tools spell alike."""

from dataclasses import dataclass

from edgewright.config.declare import opt
from edgewright.config.group import OptionGroup
from edgewright.core.log import LEVELS

LOG_LEVEL = opt(choices=tuple(LEVELS), help="the least grave messages to show")


@dataclass(frozen=True)
class DebugLog(OptionGroup):
    """How much the tool says."""

    title = "Messages"

    debug: str | None = opt(
        nargs="?", const="debug", metavar="[LEVEL]", help="say what happens to each op; show tracebacks"
    )

    @property
    def loudness(self) -> str | None:
        """Debug with --debug."""
        return "debug" if self.debug is not None else None
