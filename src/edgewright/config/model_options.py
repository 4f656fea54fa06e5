"""Options about models, and the rule between them, that the tools which load models share."""

from pathlib import PureWindowsPath

from edgewright.config.declare import opt
from edgewright.config.rules import Given
from edgewright.config.values import parse_names, parse_tensors_by_graph
from edgewright.core.errors import UsageError, shown

DLC_FILES = opt(
    type=parse_names,
    metavar="FILE",
    help="DLC files, several separated by commas; goes with --model libQnnModelDlc.so",
)
MODEL_PREFIX = opt(default="QnnModel", metavar="NAME", help="the prefix of the functions in a model library")
OP_PACKAGES = opt(
    type=parse_names,
    metavar="LIB:PROVIDER[:TARGET]",
    help="op packages to register, several separated by commas; TARGET is CPU or HTP; a .py file "
    "registers functions",
)
PACKAGE_LIBRARIES = opt(
    also="-opl",
    type=parse_names,
    metavar="LIB:PROVIDER",
    help="op package libraries for quantization, several separated by commas; a .py file registers functions",
)
OUTPUT_TENSORS = opt(
    type=parse_tensors_by_graph,
    metavar="GRAPH:NAME[,...][;...]",
    example="--set_output_tensors graph0:tensor0,tensor1",
    help="tensors to write beside the outputs of the graph; the graph name may be left out",
)


def check_dlc_library(given: Given) -> UsageError | None:
    """An error where DLCs are named without the library that stands for them."""
    if "--dlc_path" not in given:
        return None
    libraries = given.get("--model", ())
    # Both separators: a Windows path may reach a Linux machine in a recorded command.
    if {PureWindowsPath(library).name for library in libraries} & {"libQnnModelDlc.so", "QnnModelDlc.dll"}:
        return None
    found = ",".join(libraries) or "nothing"
    return UsageError(
        f"--dlc_path goes with --model libQnnModelDlc.so, found '{shown(found)}'",
        do="add --model libQnnModelDlc.so",
    )
