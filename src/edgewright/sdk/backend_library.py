"""Compiles the library that offers our backends through QNN's C interface."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from edgewright.artifacts.model_library.builder import HEADERS
from edgewright.config.sdk import BackendLibraryOptions
from edgewright.core.errors import EnvironmentProblem, UsageError, Where, shown
from edgewright.core.files import map_file, write_whole
from edgewright.core.version import VERSION
from edgewright.run.backend_library.host import BACKEND_IDS

_NAMES = {"cpu": "libEdgewrightCpu.so", "htp-sim": "libEdgewrightHtpSim.so"}
_QNN_NAMES = {"cpu": "libQnnCpu.so", "htp-sim": "libQnnHtp.so"}
_SYSTEM = "libQnnSystem.so"
# In every library of ours, and in none of Qualcomm's.
_MARK = b"edgewright.run.backend_library.worker"
_COMPILERS = ("cc", "gcc", "clang")
_FLAGS = ("-std=gnu11", "-D_GNU_SOURCE", "-O1", "-fPIC", "-fvisibility=hidden", "-pthread")
# nodelete: threads of executions that nobody waits for may still run in it when a program closes it.
_LINKING = ("-shared", "-Wl,-z,defs", "-Wl,-z,nodelete", "-Wl,-z,noexecstack")
_LONGEST_SECONDS = 300


@dataclass(frozen=True)
class BackendLibrary:
    """The library that was made, and the Python that computes for it."""

    kind: str
    files: tuple[str, ...]
    python: str
    version: str


def make_backend_library(options: BackendLibraryOptions) -> BackendLibrary:
    """Compiles the library into a folder; a file there that is not ours is not replaced."""
    folder = Path(options.output_dir)
    target = folder / (_QNN_NAMES if options.qnn_names else _NAMES)[options.kind]
    system = folder / _SYSTEM
    for path in (target, system) if options.qnn_names else (target,):
        _check_own(path)
    compile_library(options.kind, target)
    if options.qnn_names:
        # A link: a program that loads both has one library, and one process that computes for it.
        system.unlink(missing_ok=True)
        system.symlink_to(target.name)
    made = (target, system) if options.qnn_names else (target,)
    return BackendLibrary(options.kind, tuple(map(str, made)), sys.executable, VERSION)


def compile_library(kind: str, target: Path, more: Sequence[str] = ()) -> None:
    """Compiles the sources of this package into a file, which appears whole or not at all."""
    if sys.platform != "linux":
        raise EnvironmentProblem(
            f"the library is for Linux, this machine runs {sys.platform}", do="build it on a Linux machine"
        )
    sources = files("edgewright") / "run" / "backend_library" / "_data"
    code = [str(item) for item in sorted(sources.iterdir(), key=str) if item.name.endswith(".c")]
    settings = {
        "KIND": _spell_literal(kind),
        "BACKEND_ID": str(BACKEND_IDS[kind]),
        "PYTHON": _spell_literal(sys.executable),
        "PACKAGES": _spell_literal(str(HEADERS.parents[2])),
        "VERSION": _spell_literal(VERSION),
    }
    defined = [f"-DEDGEWRIGHT_{name}={value}" for name, value in settings.items()]
    with tempfile.TemporaryDirectory(prefix="edgewright-") as inner:
        made = Path(inner) / "library.so"
        command = [_find_compiler(), *_FLAGS, f"-I{HEADERS}", *defined, *more, *code, *_LINKING]
        _call([*command, "-o", str(made), "-lm"])
        write_whole(target, [map_file(made)])
    target.chmod(0o755)


def _check_own(path: Path) -> None:
    if path.exists() and _MARK not in path.read_bytes():
        raise UsageError(
            f"'{shown(path)}' is another library, expected one of ours or none",
            do="name another folder with -o",
        )


def _find_compiler() -> str:
    for name in (os.environ.get("CC", ""), *_COMPILERS):
        compiler = shutil.which(name) if name else None
        if compiler is not None:
            return compiler
    raise EnvironmentProblem(
        f"none of the C compilers {', '.join(_COMPILERS)} is installed", do="apt-get install gcc"
    )


def _call(command: Sequence[str]) -> None:
    try:
        finished = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=_LONGEST_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise EnvironmentProblem(f"the compiler failed: {shown(problem)}", do="reinstall it") from None
    if finished.returncode:
        lines = [line for line in finished.stderr.splitlines() if "error" in line or "undefined" in line]
        first = (lines or [finished.stderr])[0]
        raise EnvironmentProblem(
            f"the compiler failed with exit code {finished.returncode}: {shown(first, 400)}",
            Where(file=command[0]),
            do="install a C compiler with its headers: apt-get install gcc libc6-dev",
        )


def _spell_literal(text: str) -> str:
    """A C string literal; a path may hold anything."""
    safe = (
        chr(byte) if chr(byte).isalnum() or chr(byte) in "/._- " else f"\\{byte:03o}"
        for byte in text.encode()
    )
    return '"' + "".join(safe) + '"'
