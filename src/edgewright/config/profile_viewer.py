"""The options of qnn-profile-viewer."""

from dataclasses import dataclass

from edgewright.config.declare import opt
from edgewright.config.group import OptionGroup


@dataclass(frozen=True)
class ProfileInput(OptionGroup):
    """The log that is read."""

    title = "Log"

    input_log: str = opt(
        metavar="FILE", help="the log that qnn-net-run or ONNX Runtime's QNN provider wrote, or a CSV of one"
    )
    schematic: str | None = opt(
        metavar="FILE",
        help="the model that was run (_net.json or DLC): it adds op types and MACs to a log without them",
    )


@dataclass(frozen=True)
class ProfileOutput(OptionGroup):
    """What is made of it."""

    title = "Output"

    output: str | None = opt(
        metavar="FILE",
        help="a file to write: .csv, .json (a trace for Perfetto and chrome://tracing) or .html",
    )
    reader: str | None = opt(
        metavar="READER",
        help="csv, trace or html for another form than the name of --output says; or a Python file whose "
        "function read(log) returns the bytes to write, which is code and is run",
    )
    extract_opaque_objects: bool = opt(help="write the opaque objects of the log to files")
