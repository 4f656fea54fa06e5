"""Kernels of ours for the engine, compiled once on a machine; without a compiler its own ops do the same."""

import hashlib
import logging
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from importlib.resources import files
from pathlib import Path

from edgewright.backends.cpu.onnx_runtime import onnxruntime
from edgewright.core.cache import find_cache
from edgewright.core.errors import EdgewrightError
from edgewright.core.files import map_file, write_whole

log = logging.getLogger(__name__)

# The domain of the ops that the library has.
DOMAIN = "edgewright"
# "0" leaves everything to the engine's own ops: results are the same, the simulation takes longer.
SWITCH = "EDGEWRIGHT_KERNELS"
_COMPILERS = ("cc", "gcc", "clang")
# Each step is one operation of IEEE 754: nothing may be merged, and nobody looks at errno or at traps.
_FLAGS = ("-O3", "-std=c11", "-shared", "-fPIC", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math")
# One program: each needs what those before it define.
_SOURCES = (
    *("sum_kernels.c", "product_kernels.c", "odd_floats.c", "row_kernels.c", "half_kernels.c"),
    *("half_norms.c", "half_shares.c", "mean_kernels.c", "row_norms.c", "registered_ops.c"),
)
_LONGEST_SECONDS = 60
_LONGEST_MESSAGE = 300
_OTHERS_MAY_WRITE = 0o022


@cache
def find_kernels() -> Path | None:
    """The library, compiled where it is not there yet; None where this machine cannot have it."""
    if os.environ.get(SWITCH) == "0" or sys.platform != "linux":
        return None
    try:
        return _find_library()
    except (OSError, RuntimeError, EdgewrightError, subprocess.SubprocessError) as problem:
        log.info("the simulation runs without compiled kernels, which is slower: %s", problem)
        return None


def _find_library() -> Path:
    names = [os.environ.get("CC", ""), *_COMPILERS]
    compiler = next(filter(None, (shutil.which(name) for name in names if name)), None)
    if compiler is None:
        raise FileNotFoundError(f"none of the C compilers {', '.join(_COMPILERS)} is installed")
    folder = files("edgewright") / "backends" / "cpu" / "_data"
    source = b"".join((folder / name).read_bytes() for name in _SOURCES)
    commands = [[compiler, *_FLAGS, *flags] for flags in _list_machine_flags()]
    key = hashlib.sha256(
        b"\0".join([source, *map(str.encode, commands[0]), _describe_processor()])
    ).hexdigest()
    kept = find_cache("kernels")
    kept.mkdir(mode=0o700, parents=True, exist_ok=True)
    _check_owner(kept)
    library = kept.resolve() / f"{key[:32]}.so"
    if not library.exists():
        _compile(commands, source, library)
    _load(library)
    return library


@cache
def _load(library: Path) -> onnxruntime.SessionOptions:
    """Settings that hold the library: from now on it may be removed.

    What cannot be loaded (from a folder without programs, for another machine) is as good as not there.
    """
    settings = onnxruntime.SessionOptions()
    try:
        settings.register_custom_ops_library(str(library))
    except Exception as problem:
        raise OSError(f"the engine cannot load '{library}': {problem}") from None
    return settings


def _check_owner(folder: Path) -> None:
    """Nothing is loaded from where others may put it."""
    status = folder.stat()
    if status.st_uid != os.getuid() or status.st_mode & _OTHERS_MAY_WRITE:
        raise PermissionError(f"others may write to '{folder}'")


def _compile(commands: list[list[str]], source: bytes, library: Path) -> None:
    """By the first of the commands that the compiler knows all flags of."""
    with tempfile.TemporaryDirectory(prefix="edgewright-") as inner:
        code, made = Path(inner) / "kernels.c", Path(inner) / "kernels.so"
        code.write_bytes(source)
        for command in commands:
            process = subprocess.run(
                [*command, str(code), "-o", str(made), "-lm"],
                check=False,
                capture_output=True,
                timeout=_LONGEST_SECONDS,
            )
            if process.returncode == 0:
                write_whole(library, [map_file(made)])
                return
    said = process.stderr.decode(errors="replace").strip()
    raise OSError(f"'{commands[0][0]}' does not compile them: {said[:_LONGEST_MESSAGE]}")


def _list_machine_flags() -> list[list[str]]:
    """From the fastest on: old compilers do not know all flags, or not this processor."""
    if platform.machine() not in {"x86_64", "AMD64"}:
        return [[]]
    return [["-march=native", "-mprefer-vector-width=512"], ["-march=native"], []]


def _describe_processor() -> bytes:
    """What the processor can do: a home folder may be used by several machines."""
    described = Path("/proc/cpuinfo")
    lines = described.read_bytes().splitlines() if described.exists() else []
    return next((line for line in lines if line.startswith((b"flags", b"Features"))), b"")
