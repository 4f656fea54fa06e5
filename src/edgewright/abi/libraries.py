"""Finds Qualcomm's libraries in the installed wheel; nothing is loaded or imported."""

import platform
import sys
from dataclasses import dataclass
from importlib import metadata, util
from pathlib import Path

WHEEL = "onnxruntime-qnn"
# The plug-in wheel keeps them in its package, the older full build among ONNX Runtime's own libraries;
# the wheel for Windows on x86-64 has a folder for each kind of process.
FOLDERS = (
    ("onnxruntime_qnn", "."),
    ("onnxruntime_qnn", "libs"),
    ("onnxruntime_qnn", "libs/amd64"),
    ("onnxruntime", "capi"),
)
# System and machine as Python names them -> whether HTP is there itself, not its emulator.
HOSTS = {
    ("linux", "x86_64"): False,
    ("win32", "AMD64"): False,
    ("linux", "aarch64"): True,
    ("win32", "ARM64"): True,
}
# Through which Linux reaches the DSP of a Snapdragon, by the names of old and new kernels.
_DSP_DEVICES = ("fastrpc-cdsp", "fastrpc-cdsp-secure", "adsprpc-smd", "adsprpc-smd-secure")
HOST_NAMES = "Linux with glibc and Windows, on x86_64 and 64-bit Arm"


@dataclass(frozen=True)
class Libraries:
    """Where the libraries are, and which wheel they came with."""

    folder: Path
    wheel_version: str


def find_libraries() -> Libraries | None:
    """The libraries of the installed wheel; None where there is none, or none that this machine can run."""
    if not has_wheel():
        return None
    for package, inner in FOLDERS:
        found = util.find_spec(package)
        for place in (found.submodule_search_locations or ()) if found else ():
            folder = Path(place) / inner
            if (folder / spell_library("QnnHtp")).is_file():
                return Libraries(folder.resolve(), _find_version())
    return None


def has_wheel() -> bool:
    """Whether Qualcomm builds the wheel for machines of this kind."""
    return (sys.platform, platform.machine()) in HOSTS


def is_device() -> bool:
    """Whether the libraries of this machine drive an HTP; those for x86-64 have its emulator inside."""
    return HOSTS.get((sys.platform, platform.machine()), False)


def has_htp() -> bool:
    """Whether the libraries can run graphs here: in their emulator, or on the HTP of this machine."""
    if not is_device() or sys.platform == "win32":
        return True
    return any(Path("/dev", name).exists() for name in _DSP_DEVICES)


def spell_library(stem: str) -> str:
    """The file of a library on this system: QnnHtp is libQnnHtp.so, or QnnHtp.dll."""
    return f"{stem}.dll" if sys.platform == "win32" else f"lib{stem}.so"


def _find_version() -> str:
    try:
        return metadata.version(WHEEL)
    except metadata.PackageNotFoundError:
        return "unknown"
