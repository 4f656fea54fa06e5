"""Runs a model library in a separate process and returns what it composed, or why it failed."""

import json
import logging
import os
import platform
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import edgewright.abi
from edgewright.abi.worker_process import VARIABLE, read_worker_seconds
from edgewright.core.errors import BackendCrash, BadInput, EnvironmentProblem, Where, shown
from edgewright.core.files import measure_file

log = logging.getLogger(__name__)

LONGEST_SECONDS = 600.0
TAIL = 1200
# Without site-packages and the package's own imports: they take longer than composing.
_START = (
    "import sys, types; package = sys.modules['edgewright'] = types.ModuleType('edgewright'); "
    "package.__path__ = [sys.argv[1]]; from edgewright.abi.composing import main; main(*sys.argv[2:])"
)
_PACKAGE = str(Path(edgewright.abi.__file__).parents[1])
# The bytes before the answer that hold the length of its text.
_LENGTH = 8
# e_machine of an ELF file, as platform.machine() spells it.
_MACHINES = {62: "x86_64", 183: "aarch64", 3: "i686", 40: "armv7l", 243: "riscv64"}


@dataclass(frozen=True)
class Composed:
    """The graphs that a library made, as plain values, and the bytes that it sent with them."""

    graphs: list[Any]
    sent: memoryview


def say_that_it_is_code(path: Path) -> None:
    """Warns that a model library is code that will run."""
    log.warning("'%s' is a model library: it is code, and it runs in a separate process", shown(path.name))


def check_library(path: Path) -> None:
    """Refuses anything but a library for this machine, before any of it runs."""
    size = measure_file(path)
    with path.open("rb") as file:
        head = file.read(20)
    where = Where(file=str(path))
    if head[:2] == b"MZ":
        raise EnvironmentProblem(
            "the library is for Windows, expected one for Linux", where, do="build it for x86_64-linux-clang"
        )
    if head[:4] != b"\x7fELF" or size < 64:
        raise BadInput(
            f"the file starts with {head[:4]!r}, expected a shared library (ELF)",
            where,
            do="give the .so that qnn-model-lib-generator wrote",
        )
    number = int.from_bytes(head[18:20], "little")
    machine = _MACHINES.get(number, f"machine {number}")
    if machine != platform.machine():
        raise EnvironmentProblem(
            f"the library is for {machine}, this machine is {platform.machine()}",
            where,
            do=f"build it with qnn-model-lib-generator -t {_find_target_here()}",
        )


def compose(path: Path, prefix: str, seconds: float = LONGEST_SECONDS) -> Composed:
    """What the library asks a backend to build; a library that crashes its process is one clear error."""
    seconds = read_worker_seconds() or seconds
    command = [sys.executable, "-I", "-S", "-c", _START, _PACKAGE, os.path.realpath(path), prefix]
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        try:
            answer, said = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            raise BackendCrash(
                f"the library gave no graph in {seconds:g} s",
                Where(file=str(path)),
                do=f"build it again, or set {VARIABLE} to more seconds",
            ) from None
        except BaseException:
            # When stopped, do not wait for a library that hangs.
            process.kill()
            raise
    if process.returncode or len(answer) < _LENGTH:
        raise _crash(path, process.returncode, said)
    return _read_graphs(path, prefix, answer, said)


def _read_graphs(path: Path, prefix: str, answer: bytes, said: bytes) -> Composed:
    end = _LENGTH + int.from_bytes(answer[:_LENGTH], "little")
    found = json.loads(answer[_LENGTH:end])
    if "unloadable" in found:
        raise EnvironmentProblem(
            f"the library cannot be used: {shown(found['unloadable'], 400)}",
            Where(file=str(path)),
            do=f"build it with qnn-model-lib-generator, and name its prefix (--model_prefix, now {prefix})",
        )
    if "refused" in found:
        raise BackendCrash(
            f"the library could not compose its graphs: {found['refused']}{_find_last_words(said)}",
            Where(file=str(path)),
            do="build it again from the files that one conversion wrote",
        )
    return Composed(found["graphs"], memoryview(answer)[end:])


def _crash(path: Path, code: int, said: bytes) -> BackendCrash:
    how = f"with {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"
    return BackendCrash(
        f"the library ended its process {how} while composing its graphs{_find_last_words(said)}",
        Where(file=str(path)),
        do="build it again with qnn-model-lib-generator from the files that one conversion wrote",
    )


def _find_last_words(said: bytes) -> str:
    tail = " ".join(said[-TAIL:].decode(errors="replace").split())
    return f"; its last output: {tail}" if tail else ""


def _find_target_here() -> str:
    return "x86_64-linux-clang" if platform.machine() == "x86_64" else "aarch64-ubuntu-gcc9.4"
