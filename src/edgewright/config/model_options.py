"""Options about models, and the rule between them, that the tools which load models share."""

from pathlib import PureWindowsPath
from typing import Any

from edgewright.config.option import opt
from edgewright.config.rules import Given
from edgewright.config.values import names, tensors_by_graph
from edgewright.core.errors import UsageError, shown

__all__ = ["dlc_files", "dlc_problem", "library_prefix", "output_tensors", "package_libraries", "packages"]


def dlc_files() -> Any:
    """DLCs in the SDK's own spelling."""
    return opt(
        "--dlc_path",
        type=names,
        metavar="FILE",
        help="DLC files, several separated by commas; goes with --model libQnnModelDlc.so",
    )


def dlc_problem(given: Given) -> UsageError | None:
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


def library_prefix() -> Any:
    """How the functions of a model library are called."""
    return opt(
        "--model_prefix",
        default="QnnModel",
        metavar="NAME",
        help="the prefix of the functions in a model library",
    )


def packages() -> Any:
    """Op packages to load."""
    return opt(
        "--op_packages",
        type=names,
        metavar="LIB:PROVIDER[:TARGET]",
        help="op packages to register, several separated by commas; TARGET is CPU or HTP; a .py file "
        "registers functions",
    )


def package_libraries() -> Any:
    """Op packages that a quantizer runs."""
    return opt(
        *("--op_package_lib", "-opl"),
        type=names,
        metavar="LIB:PROVIDER",
        help="op package libraries for quantization, several separated by commas; a .py file registers "
        "functions",
    )


def output_tensors(verb: str) -> Any:
    """Tensors beside the outputs of a graph, and what is done with them."""
    return opt(
        "--set_output_tensors",
        type=tensors_by_graph,
        default=(),
        metavar="GRAPH:NAME[,...][;...]",
        example="--set_output_tensors graph0:tensor0,tensor1",
        help=f"tensors to {verb} beside the outputs of the graph; the graph name may be left out",
    )
