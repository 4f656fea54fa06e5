"""Which of the genuine QNN libraries this machine has, found by opening them in a separate process."""

import platform
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from edgewright.core.errors import EdgewrightError, shown
from edgewright.core.optional import install_command
from edgewright.tools.environment import Finding

WHEEL = "onnxruntime-qnn"
_NAME = "QNN libraries"
_GIVES = "compiling for a chip and its emulator; without them HTP is the simulation"
_INSTALL = install_command("onnxruntime_qnn")
_GLIBC = re.compile(r"manylinux_(\d+)_(\d+)_")


@dataclass(frozen=True)
class NativeState:
    """The finding for the table, and the lines that explain it."""

    finding: Finding
    lines: tuple[str, ...]


def check_native_libraries() -> NativeState:
    """Whether the libraries are there and open, their version, and what to do if not."""
    from edgewright.abi.libraries import HOST_NAMES, has_wheel

    machine = f"{platform.system()} {platform.machine()}"
    libc, version = platform.libc_ver()
    if not has_wheel() or (sys.platform == "linux" and libc != "glibc"):
        here = f"{machine}, {libc or 'no glibc'}"
        why = f"they run on {HOST_NAMES}, this is {here}"
        return _make_state("absent", "", why, "use --backend htp-sim, which runs everywhere", (why,))
    installed = _find_installed_version()
    if installed is None:
        why = f"the wheel {WHEEL} is not installed; it is an optional extra under Qualcomm's own licence"
        return _make_state("absent", "", why, _INSTALL, (why, f"do: {_INSTALL}"))
    needed = _find_needed_glibc()
    lines: tuple[str, ...] = (f"wheel {WHEEL} {installed}",)
    if needed:
        lines += (f"glibc {version}, the wheel was built for {_format_version(needed)}",)
    if needed and _parse_version(version) < needed:
        do = "use a system with a newer glibc, or --backend htp-sim"
        return _make_state(
            "broken", installed, f"glibc {version} found, {_format_version(needed)} expected", do, lines
        )
    return _open_libraries(installed, lines)


def _open_libraries(installed: str, lines: tuple[str, ...]) -> NativeState:
    from edgewright.abi.libraries import find_libraries, has_htp, is_device, spell_library
    from edgewright.abi.versions import TESTED_SDKS
    from edgewright.backends.qnn.runtime import QnnRuntime

    libraries = find_libraries()
    if libraries is None:
        why = f"the wheel is installed, but has no {spell_library('QnnHtp')}"
        return _make_state("broken", installed, why, f"pip install --force-reinstall {WHEEL}", lines)
    lines += (f"libraries in {libraries.folder}", _find_licence(libraries.folder))
    if not has_htp():
        why = "this machine has no HTP, and the libraries for Arm no emulator: htp is the simulation"
        return _make_state("absent", installed, why, "use --backend htp-sim", (*lines, why))
    try:
        with QnnRuntime() as runtime:
            version = runtime.version
    except EdgewrightError as problem:
        why = f"{spell_library('QnnHtp')} does not open: {shown(problem.what)}"
        return _make_state(
            "broken", installed, why, problem.do or f"pip install --force-reinstall {WHEEL}", lines
        )
    tested = ", ".join(_format_version(sdk) for sdk in sorted(TESTED_SDKS))
    word = "tested" if version.is_tested else f"not tested, tested is {tested}"
    lines += (
        (
            f"QNN {version.build_id} ({word}), API {_format_version(version.core)}, "
            f"of HTP {_format_version(version.backend)}"
        ),
        (
            f"HTP is {'this machine itself' if is_device() else 'the genuine emulator'}: --backend htp or "
            f"{spell_library('QnnHtp')}; htp-sim is the simulation"
        ),
    )
    if not version.is_tested:
        lines += (f"do: if results look wrong, pip install '{WHEEL}' in the version of constraints.txt",)
    return _make_state("works", installed, "", "", lines)


def _make_state(state: str, version: str, trouble: str, do: str, lines: Sequence[str]) -> NativeState:
    finding = Finding(_NAME, _GIVES, state, version, is_needed=False, trouble=trouble, do=do)
    extra = (f"{trouble}", f"do: {do}") if state == "broken" else ()
    return NativeState(finding, (*lines, *extra))


def _find_installed_version() -> str | None:
    try:
        return metadata.version(WHEEL)
    except metadata.PackageNotFoundError:
        return None


def _find_needed_glibc() -> tuple[int, ...]:
    """The glibc version in the wheel's tag; () where it has none."""
    text = metadata.distribution(WHEEL).read_text("WHEEL") or ""
    versions = [(int(a), int(b)) for a, b in _GLIBC.findall(text)]
    return max(versions, default=())


def _find_licence(folder: Path) -> str:
    files = sorted(file.name for file in folder.glob("*LICENSE*") if "qualcomm" in file.name.lower())
    place = f": {folder / files[0]}" if files else ""
    return f"licence: Qualcomm's own, not Edgewright's{place}"


def _parse_version(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version))


def _format_version(version: Sequence[int]) -> str:
    return ".".join(map(str, version)) or "an unnamed version"
