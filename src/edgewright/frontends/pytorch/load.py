"""Opens a PyTorch file: TorchScript or torch.export; anything that would have to be unpickled is refused."""

import re
import warnings
from pathlib import Path
from typing import Any

from edgewright.core.errors import BadInput, EdgewrightError, UnsupportedFeature, UnsupportedOp, Where, shown
from edgewright.core.optional import require
from edgewright.frontends.pytorch.archive import Archive, Kind, identify_file
from edgewright.frontends.pytorch.detection import declare_torchvision
from edgewright.frontends.pytorch.exported import ExportedProgram
from edgewright.frontends.pytorch.program import Program
from edgewright.frontends.pytorch.script import ScriptProgram

# Ops that read or write files of the machine: no network needs them.
_FILE_OPS = re.compile(r"\b(?:torch|ops\.aten)\.(save|from_file|_save|write_file|read_file)\(")
_SETSTATE = re.compile(r"^\s*def __setstate__\(", re.MULTILINE)
_UNKNOWN_OP = re.compile(r"Unknown builtin op: ([\w:.]+)|object has no attribute '?([\w:.]+)")


def open_program(path: Path | str) -> Program:
    """The program in a file, told by its content."""
    file = Path(path)
    where = Where(file=str(path))
    kind = identify_file(file)
    if kind is Kind.CHECKPOINT:
        raise _make_checkpoint_error(where)
    if kind is Kind.UNKNOWN or kind is None:
        raise BadInput(
            "the file is nothing that PyTorch writes, expected an archive of TorchScript or torch.export",
            where,
            do="check that the file is complete and is the one you mean",
        )
    if kind is Kind.OLD_EXPORTED:
        raise UnsupportedFeature(
            "the file was written by torch.export before torch 2.8, with pickled weights",
            where,
            do="load it with torch.export.load and save it again with torch 2.8 or newer",
        )
    if kind is Kind.MOBILE:
        raise UnsupportedFeature(
            "the file holds a program for PyTorch Mobile, expected TorchScript or torch.export",
            where,
            do="save the scripted module with torch.jit.save",
        )
    archive = Archive(file)
    torch = require("torch", to="read PyTorch models")
    if kind is Kind.EXPORTED:
        return ExportedProgram(torch, archive)
    return _load_script(torch, archive)


def load_op_library(path: str) -> None:
    """Loads a library that defines custom ops; a library is code, which runs as it is loaded."""
    where = Where(file=path)
    if not Path(path).is_file():
        raise BadInput(f"there is no library '{shown(path)}'", where, do="check the path")
    torch = require("torch", to="read PyTorch models")
    try:
        torch.ops.load_library(str(Path(path).absolute()))
    except OSError as problem:
        raise BadInput(
            f"the library cannot be loaded: {shown(problem, 200)}", where, do="check its file"
        ) from None


def _load_script(torch: Any, archive: Archive) -> Program:
    where = Where(file=archive.name)
    runs = False
    for name, text in archive.code():
        touched = _FILE_OPS.search(text)
        if touched:
            raise BadInput(
                f"the program calls '{touched.group(1)}', which reads or writes files of this machine",
                Where(file=archive.name, detail=name),
                do="check where the file comes from",
            )
        runs = runs or _SETSTATE.search(text) is not None
        if "ops.torchvision." in text:
            declare_torchvision(torch)
    notes = ["loading the file ran code of it: its '__setstate__' methods"] if runs else []
    try:
        with warnings.catch_warnings():
            # torch.jit is on its way out; files of it are not.
            warnings.simplefilter("ignore", DeprecationWarning)
            module = torch.jit.load(archive.name, map_location="cpu")
        module.eval()
        program = ScriptProgram(torch, archive.name, module, notes)
    except (RuntimeError, ValueError, AttributeError, IndexError, EOFError, OSError) as problem:
        raise _make_load_error(problem, where) from None
    return program


def _make_load_error(problem: Exception, where: Where) -> EdgewrightError:
    text = str(problem)
    unknown = _UNKNOWN_OP.search(text)
    if "forward" in text and "attribute" in text:
        return BadInput("the module has no method 'forward'", where, do="script a module that can be called")
    if unknown or "Unknown builtin op" in text:
        op = next((group for group in (unknown.groups() if unknown else ()) if group), "an op")
        return UnsupportedOp(
            f"PyTorch op '{shown(op)}' is not known to torch",
            where,
            do="name the library that defines it with --pytorch_custom_op_lib",
        )
    line = next((part for part in text.splitlines() if part.strip()), type(problem).__name__)
    return BadInput(
        f"torch cannot load the program: {shown(line.strip(), 200)}", where, do="save the model again"
    )


def _make_checkpoint_error(where: Where) -> BadInput:
    return BadInput(
        "the file is a checkpoint (pickled weights or a pickled module), expected a program: "
        "TorchScript or torch.export; reading a pickle can run any code, therefore it is not read",
        where,
        do="load the model in Python and save it with torch.jit.trace(model, example).save('model.pt') "
        "or torch.export.save(torch.export.export(model, (example,)), 'model.pt2')",
    )
