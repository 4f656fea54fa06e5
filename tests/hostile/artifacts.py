"""Sound files to damage: a small model, converted once."""

import io
import json
import tempfile
import zipfile
from collections.abc import Callable
from contextlib import redirect_stdout
from functools import cache
from pathlib import Path

import numpy as np

from tests.hostile.case import Content
from tests.hostile.onnx_cases import K, one

SMALL = one("Conv", ["x"], [K]).SerializeToString()
INPUT = np.arange(16, dtype=np.float32)


@cache
def convert_small() -> dict[str, bytes]:
    """The files of the model by name: m.cpp, m.bin, m_net.json, m.dlc, context.bin."""
    from edgewright.tools.qairt_converter import main as convert_dlc
    from edgewright.tools.qnn_context_binary_generator import main as generate
    from edgewright.tools.umbrella import main

    with tempfile.TemporaryDirectory() as name, redirect_stdout(io.StringIO()):
        folder = Path(name)
        (folder / "m.onnx").write_bytes(SMALL)
        assert main(["convert", str(folder / "m.onnx"), "-o", str(folder / "m.cpp")]) == 0
        assert convert_dlc(["-i", str(folder / "m.onnx"), "-o", str(folder / "m.dlc")]) == 0
        words = ["--model", str(folder / "m_net.json"), "--backend", "cpu", "--binary_file", "context"]
        assert generate([*words, "--output_dir", str(folder)]) == 0
        return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def sound(name: str) -> Content:
    """A file of the model as it is."""
    return lambda path: _write(path, convert_small()[name])


def change(name: str, edit: Callable[[bytes], bytes]) -> Content:
    """A file of the model, changed."""
    return lambda path: _write(path, edit(convert_small()[name]))


def change_json(edit: Callable[[dict], object]) -> Content:
    """The net.json with its tree edited in place."""

    def make(path: Path) -> None:
        tree = json.loads(convert_small()["m_net.json"])
        edit(tree)
        _write(path, json.dumps(tree).encode())

    return make


def zip_of(*members: tuple[str, bytes], method: int = zipfile.ZIP_STORED) -> bytes:
    """An archive."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return file.getvalue()


def npy(array: np.ndarray) -> bytes:
    """An array as numpy saves it."""
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def npy_header(text: str, content: bytes = b"", version: tuple[int, int] = (1, 0)) -> bytes:
    """An .npy file whose header is any text."""
    body = text.encode("latin1")
    size = len(body).to_bytes(2 if version == (1, 0) else 4, "little")
    return b"\x93NUMPY" + bytes(version) + size + body + content


def _write(path: Path, content: bytes) -> None:
    path.write_bytes(content)
