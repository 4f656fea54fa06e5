"""The options of qnn-throughput-net-run."""

from dataclasses import dataclass

from edgewright.config.declare import opt
from edgewright.config.group import OptionGroup


@dataclass(frozen=True)
class ThroughputFiles(OptionGroup):
    """The file that says what is run, and the one that the results go to."""

    title = "Files"

    config: str = opt(
        metavar="FILE",
        example="--config case.json",
        help="a JSON file with backends, models, contexts and a testCase of threads",
    )
    output: str | None = opt(metavar="FILE", help="a JSON file for the results")


THROUGHPUT: tuple[type[OptionGroup], ...] = (ThroughputFiles,)
