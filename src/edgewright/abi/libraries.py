"""Finds Qualcomm's libraries in the installed wheel; nothing is loaded or imported."""

import platform
import sys
from dataclasses import dataclass
from importlib import metadata, util
from pathlib import Path

WHEEL = "onnxruntime-qnn"
# The plug-in wheel keeps them in its package, the older full build among ONNX Runtime's own libraries.
FOLDERS = (("onnxruntime_qnn", "."), ("onnxruntime_qnn", "libs"), ("onnxruntime", "capi"))


@dataclass(frozen=True)
class Libraries:
    """Where the libraries are, and which wheel they came with."""

    folder: Path
    wheel_version: str


def find_libraries() -> Libraries | None:
    """The libraries of the installed wheel; None where there is none, or none that this machine can run."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        return None
    for package, inner in FOLDERS:
        found = util.find_spec(package)
        for place in (found.submodule_search_locations or ()) if found else ():
            folder = Path(place) / inner
            if (folder / "libQnnHtp.so").is_file():
                return Libraries(folder.resolve(), _find_version())
    return None


def _find_version() -> str:
    try:
        return metadata.version(WHEEL)
    except metadata.PackageNotFoundError:
        return "unknown"
