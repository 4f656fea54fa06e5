"""Opens a PyTorch file: TorchScript or torch.export; anything that would have to be unpickled is refused."""

from pathlib import Path

from edgewright.core.errors import BadInput, UnsupportedFeature, Where, shown
from edgewright.core.optional import require
from edgewright.frontends.pytorch.archive import Archive, Kind, identify_file
from edgewright.frontends.pytorch.exported import ExportedProgram
from edgewright.frontends.pytorch.program import Program
from edgewright.frontends.pytorch.script import ScriptProgram


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
    return ScriptProgram(torch, archive)


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


def _make_checkpoint_error(where: Where) -> BadInput:
    return BadInput(
        "the file is a checkpoint (pickled weights or a pickled module), expected a program: "
        "TorchScript or torch.export; reading a pickle can run any code, therefore it is not read",
        where,
        do="load the model in Python and save it with torch.jit.trace(model, example).save('model.pt') "
        "or torch.export.save(torch.export.export(model, (example,)), 'model.pt2')",
    )
