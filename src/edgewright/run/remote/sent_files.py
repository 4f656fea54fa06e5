"""What a device needs for a run: the files of a model and its inputs, and the words that name them."""

import json
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

from edgewright.core.errors import BadInput, UnsupportedFeature, Where, shown
from edgewright.core.files import is_there, read_limited
from edgewright.core.json_text import parse_json
from edgewright.data.input_list import split_line
from edgewright.ir.graph import Graph
from edgewright.model.model_files import find_model_file, list_model_parts
from edgewright.model.saving import load_program, save_dlc
from edgewright.run.remote.job import DeviceProgram

LARGEST_LIST, LARGEST_CONFIG = 64 << 20, 1 << 20
DLC_LIBRARY = "libQnnModelDlc.so"
_SUFFIX = re.compile(r"\.[A-Za-z0-9]{1,8}")


@dataclass
class SentFiles:
    """Files by their names in the device's folder, and words of qnn-net-run."""

    files: dict[str, Path] = field(default_factory=dict)
    words: list[str] = field(default_factory=list)
    # Files that are made for the device, by name.
    texts: dict[str, str] = field(default_factory=dict)

    def add_context(self, path: Path) -> None:
        """A context binary."""
        self.files["context.bin"] = path
        self.words += ["--retrieve_context", "context.bin"]

    def add_models(self, paths: Sequence[Path], program: DeviceProgram, place: Path) -> None:
        """Converted models; the SDK's program gets a DLC for what only ours reads."""
        chosen = [find_model_file(path) for path in paths]
        if not program.is_ours and not all(_is_library(path) for path in chosen):
            chosen = [_make_dlc(path, place / str(number)) for number, path in enumerate(chosen)]
        named = []
        for number, path in enumerate(chosen):
            parts = [part for part in list_model_parts(path) if part == path or part.suffix == ".bin"]
            for part in parts:
                if part == path or part.is_file():
                    self.files[f"model{number}/{part.name}"] = part
            named.append(f"model{number}/{path.name}")
        if all(name.endswith(".dlc") for name in named):
            self.words += ["--model", DLC_LIBRARY, "--dlc_path", ",".join(named)]
        else:
            # A library without a folder is looked for on the search path.
            self.words += ["--model", ",".join(f"./{name}" for name in named)]

    def add_input_lists(self, lists: Sequence[str]) -> None:
        """The input lists of all graphs, and the files that they name; __ skips a graph."""
        named = []
        for number, given in enumerate(lists):
            if given == "__":
                named.append(given)
            else:
                named.append(f"inputs{number}.txt")
                self._add_list(Path(given), number)
        self.words += ["--input_list", ",".join(named)]

    def add_config(self, path: Path) -> None:
        """The configuration of a backend, and the extensions that it names beside it."""
        self.files["config.json"] = path
        self.words += ["--config_file", "config.json"]
        text = read_limited(path, LARGEST_CONFIG).decode("utf-8", "replace")
        with suppress(ValueError):
            content = parse_json(text.encode())
            extensions = content.get("backend_extensions") if isinstance(content, dict) else None
            if isinstance(extensions, dict) and isinstance(extensions.get("config_file_path"), str):
                self._add_extensions(content, extensions, path)

    def _add_extensions(self, content: dict[str, Any], extensions: dict[str, Any], path: Path) -> None:
        self.files["extensions.json"] = _find_file(extensions["config_file_path"], path)
        moved = {**extensions, "config_file_path": "extensions.json"}
        del self.files["config.json"]
        self.texts["config.json"] = json.dumps({**content, "backend_extensions": moved})

    def _add_list(self, path: Path, number: int) -> None:
        text = read_limited(path, LARGEST_LIST).decode("utf-8-sig", "replace")
        lines = []
        for place, line in enumerate(text.splitlines()):
            is_head = line.lstrip().startswith(("#", "%"))
            lines.append(line if is_head else self._move_line(line, path, f"inputs{number}/{place}"))
        self.texts[f"inputs{number}.txt"] = "\n".join(lines) + "\n"

    def _move_line(self, line: str, path: Path, prefix: str) -> str:
        words = []
        for index, (input_name, file) in enumerate(split_line(line, path) if line.strip() else ()):
            _require_file(file, path)
            name = f"{prefix}_{index}{file.suffix if _SUFFIX.fullmatch(file.suffix) else '.raw'}"
            self.files[name] = file
            words.append(f"{input_name}:={name}" if input_name else name)
        return " ".join(words)

    def write_texts(self, place: Path) -> dict[str, Path]:
        """All files, with those that are made here written to a folder."""
        for name, text in self.texts.items():
            path = place / name
            path.write_text(text, encoding="utf-8")
            self.files[name] = path
        return self.files


def spell_backend(name: str, program: DeviceProgram) -> str:
    """The library of a backend as the device knows it; a path of this machine is none there."""
    file = PureWindowsPath(name).name
    if program.is_ours or PurePosixPath(file).suffix in {".so", ".dll"}:
        return file if PurePosixPath(file).suffix else name
    if name.endswith("-sim"):
        raise UnsupportedFeature(
            f"backend {shown(name)} is a simulation, the device has the SDK's qnn-net-run",
            do="name the library to run on, such as --backend libQnnHtp.so",
        )
    short = name.removesuffix("-native").lower() if name.isupper() or "-" in name else name
    return f"libQnn{short[:1].upper()}{short[1:]}.so"


def _is_library(path: Path) -> bool:
    return path.suffix in {".so", ".dll", ".dlc"}


def _make_dlc(path: Path, place: Path) -> Path:
    if path.suffix == ".dlc":
        return path
    program = load_program(path)
    graph: Graph = program.graphs[0]
    return save_dlc(graph, place / f"{graph.name}.dlc").dlc


def _find_file(text: str, path: Path) -> Path:
    file = Path(text) if is_there(text) else path.parent / text
    _require_file(file, path)
    return file


def _require_file(file: Path, path: Path) -> None:
    if not is_there(file):
        raise BadInput(f"'{shown(file)}' does not exist", Where(file=str(path)))
