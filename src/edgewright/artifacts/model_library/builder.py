"""Compiles model.cpp and its weights into a model library, against the headers of this package."""

import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import edgewright.abi
from edgewright.artifacts.cpp.bin import open_weights
from edgewright.artifacts.model_library.toolchains import Toolchain
from edgewright.core.errors import BadInput, EnvironmentProblem, Where, shown
from edgewright.core.files import map_file, read_limited, write_whole

HEADERS = Path(edgewright.abi.__file__).parent / "csrc"
SHARED_SOURCES = ("QnnModel.cpp", "QnnWrapperUtils.cpp")
LARGEST_SOURCE = 1 << 30
# gnu++17: newer standards refuse initialisers that mix names and positions. -O0: the code runs once, and
# optimizing a function for each of thousands of nodes takes hours.
FLAGS = ("-std=gnu++17", "-fPIC", "-fvisibility=hidden", "-w")
LONGEST_SECONDS = 3600
_READ_WEIGHT = re.compile(rb"BINVARSTART\(\s*(\w+)\s*\)")
_COMPOSES = re.compile(rb"\w_composeGraphs\s*\(")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SECTION = '.section .rodata.weights,"a",%progbits\n'


@dataclass(frozen=True)
class ModelSource:
    """A model.cpp with the weights that it reads: where each is in the model.bin."""

    cpp: Path
    bin: Path | None
    members: dict[str, tuple[int, int]]


def find_model_source(cpp: Path, weights: Path | None) -> ModelSource:
    """The files of a model; a weight that the source reads and the .bin does not hold is an error."""
    content = read_limited(cpp, LARGEST_SOURCE)
    if not _COMPOSES.search(content):
        raise BadInput(
            f"the source of {len(content)} bytes defines no function '..._composeGraphs', expected a model",
            Where(file=str(cpp)),
            do="give the .cpp as the converter wrote it",
        )
    wanted = {name.decode() for name in _READ_WEIGHT.findall(content)}
    # The helper macro's own parameter, in sources that define the macro themselves.
    wanted.discard("NAME")
    members = {} if weights is None else open_weights(weights).members()
    unfit = [name for name in members if not _NAME.fullmatch(name)]
    if unfit:
        raise BadInput(
            f"member '{shown(unfit[0])}.raw' is not named as a C identifier",
            Where(file=str(weights)),
            do="use the .bin that was written together with this model",
        )
    missing = sorted(wanted - set(members))
    if missing:
        raise BadInput(
            f"the source reads {len(missing)} weights that are not there, the first is '{missing[0]}'",
            Where(file=str(cpp)),
            do="give the model's .bin with -b" if weights is None else "give the .bin of this model",
        )
    return ModelSource(cpp, weights, members)


def build_library(source: ModelSource, toolchain: Toolchain, target: Path) -> None:
    """Compiles and links into the file ``target``, which appears complete or not at all."""
    with tempfile.TemporaryDirectory(prefix="edgewright-") as folder:
        inner = Path(folder)
        # Copied under plain names: a user's path never reaches the assembler source.
        shutil.copyfile(source.cpp, inner / "model.cpp")
        (inner / "weights.S").write_text(_write_weights_text(source))
        if source.bin is not None:
            (inner / "weights.bin").symlink_to(source.bin.resolve())
        parts = [*(HEADERS / name for name in SHARED_SOURCES), inner / "weights.S"]
        compiled = [_compile_part(toolchain, part, inner, ("-O1",)) for part in parts]
        compiled.append(_compile_part(toolchain, inner / "model.cpp", inner, ("-O0",), source.cpp))
        made = inner / "model.so"
        # defs: a missing weight or function is an error now, not on the device.
        options = ("-shared", "-Wl,-z,defs", "-Wl,-z,noexecstack", "-s")
        _call([toolchain.compiler, *options, *compiled, "-o", made.name], inner, source.cpp)
        write_whole(target, [map_file(made)])


def _compile_part(
    toolchain: Toolchain, part: Path, folder: Path, flags: Sequence[str], shown_as: Path | None = None
) -> str:
    name = f"{part.stem}.o"
    command = [toolchain.compiler, *FLAGS, *flags, f"-I{HEADERS}", "-c", str(part), "-o", name]
    _call(command, folder, shown_as or part)
    return name


def _call(command: Sequence[str], folder: Path, file: Path) -> None:
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, timeout=LONGEST_SECONDS, check=False, text=True
        )
    except OSError as problem:
        raise EnvironmentProblem(f"the compiler does not start: {problem}", do="reinstall it") from None
    except subprocess.TimeoutExpired:
        raise EnvironmentProblem(
            f"the compiler took longer than {LONGEST_SECONDS} s", Where(file=str(file)), do="split the model"
        ) from None
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if "error" in line or "undefined" in line]
        first = lines[0] if lines else done.stderr.strip()[-300:]
        raise BadInput(
            f"{Path(command[0]).name} failed with exit code {done.returncode}: {shown(first, 400)}",
            Where(file=str(file)),
            do="give the .cpp as the converter wrote it",
        )


def _write_weights_text(source: ModelSource) -> str:
    """Assembler source that includes every weight from its place in the tar, named as by objcopy.

    In a read-only section: a loader may use the file's own pages, and all processes share them.
    """
    lines = [_SECTION]
    for name, (offset, size) in source.members.items():
        symbol = f"_binary_obj_binary_{name}_raw"
        taken = f'.incbin "weights.bin", {offset}, {size}\n' if size else ""
        lines.append(
            f".balign 64\n.globl {symbol}_start\n.hidden {symbol}_start\n{symbol}_start:\n{taken}"
            f".globl {symbol}_end\n.hidden {symbol}_end\n{symbol}_end:\n"
        )
    return "".join([*lines, '.section .note.GNU-stack,"",%progbits\n'])
