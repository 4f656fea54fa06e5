"""The options of `edgewright compare-builds`."""

from dataclasses import dataclass

from edgewright.config.declare import opt
from edgewright.config.group import OptionGroup


@dataclass(frozen=True)
class ComparedBuilds(OptionGroup):
    """Which builds are compared."""

    title = "Builds"

    first: str = opt("FIRST", help="the folder of a build")
    second: str = opt("SECOND", help="the folder of the build that is compared with it")
    output: str | None = opt(
        also="-o", metavar="FILE", help="the page to write (default: compared_builds.html here)"
    )
