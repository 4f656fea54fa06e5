"""The options of `edgewright profile`."""

from dataclasses import dataclass

from edgewright.config.declare import opt
from edgewright.config.group import OptionGroup
from edgewright.config.values import make_number_parser, parse_seconds


@dataclass(frozen=True)
class ProfileRuns(OptionGroup):
    """What a model is measured on, and for how long."""

    title = "Measurement"

    backends: tuple[str, ...] = opt(
        "--backend",
        repeated=True,
        metavar="NAME",
        example="--backend cpu --backend htp-sim",
        help="a backend to measure, once for each; cpu, htp-sim and htp-native otherwise",
    )
    runs: int = opt(type=make_number_parser(1), default=100, metavar="N", help="measure at most so many runs")
    seconds: float = opt(
        type=parse_seconds, default=10.0, metavar="S", help="measure a backend no longer than this"
    )
    warmup: int = opt(default=3, metavar="N", help="runs before that are not measured")
    threads: int = opt(default=0, metavar="N", help="threads to run on; 0 leaves it open")


@dataclass(frozen=True)
class ProfileFile(OptionGroup):
    """What is written."""

    title = "Output"

    output: str | None = opt(
        also="-o",
        metavar="FILE",
        help="write the times of all ops on the first backend: .html (a page with a timeline), .json (a "
        "trace for Perfetto), .csv or .log (for qnn-profile-viewer)",
    )
