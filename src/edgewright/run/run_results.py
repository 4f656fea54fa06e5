"""The results of a run: complete result folders, and files that describe them."""

import json
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

import yaml

from edgewright.core.errors import UsageError, shown
from edgewright.core.files import write_all, write_folder
from edgewright.core.numbers import Array
from edgewright.data.tensor_files import convert_to_file_type
from edgewright.ir.contract import dtype_word, shape_of
from edgewright.ir.graph import Graph
from edgewright.lower.names import NameTable

RUN_FILE = "run.json"
METADATA_FILE = "execution_metadata.yaml"


@dataclass(frozen=True)
class InputRecord:
    """An input: its type in the graph, and the type of its raw files."""

    name: str
    dtype: str
    shape: tuple[int | str, ...]
    layout: str
    file_dtype: str


@dataclass(frozen=True)
class OutputRecord:
    """A tensor that was written: its type in the graph, the type in its file, and the file's name."""

    name: str
    dtype: str
    shape: tuple[int | str, ...]
    layout: str
    file_dtype: str
    file: str


@dataclass
class RunRecord:
    """One call of the tool: what ran on what, and where each result came from."""

    model: str
    backend: str
    folder: str
    inputs: tuple[InputRecord, ...]
    outputs: tuple[OutputRecord, ...]
    inferences: int = 0
    is_complete: bool = False
    # Result folder -> input name -> the files that were read for it
    results: dict[str, dict[str, list[str]]] = field(default_factory=dict)
    # Op -> gpu or cpu, where a backend shares a graph with the processor.
    placement: dict[str, str] = field(default_factory=dict)


def choose_graph_folder(folder: Path, graph: Graph, graphs: Sequence[Graph]) -> Path:
    """Where a graph's results go: as with the SDK's tools, several graphs have a folder each.

    The name comes from the model's file, which may be untrusted, and must not lead elsewhere.
    """
    return folder if len(graphs) == 1 else folder / NameTable(each.name for each in graphs)(graph.name)


class ResultFolder:
    """Writes results as they come; whenever it stops, what is there is complete and described."""

    def __init__(self, folder: Path, graph: Graph, tensors: Sequence[str], forms: Sequence[bool]) -> None:
        """Prepares a folder.

        Args:
            folder: where the results go.
            graph: the graph as it looks from outside.
            tensors: what is written.
            forms: the files of each tensor: stored values (True) or float32 (False).
        """
        if folder.exists() and not folder.is_dir():
            raise UsageError(
                f"output folder '{shown(folder)}' is a file, expected a folder",
                do="name another --output_dir",
            )
        self._folder = folder
        self._graph = graph
        self._forms = tuple(forms)
        self.outputs = tuple(
            _make_output_record(graph, n, file, form) for n, file in _list_names(tensors) for form in forms
        )
        self._is_new = not folder.exists()
        self._written: list[str] = []
        # The description of an earlier run would describe results that are about to be replaced.
        for name in (RUN_FILE, METADATA_FILE):
            with suppress(OSError):
                (folder / name).unlink(missing_ok=True)

    def write(self, number: int, values: Mapping[str, Array]) -> str:
        """Writes one result folder and returns its name."""
        name = f"Result_{number}"
        files = {}
        for index, output in enumerate(self.outputs):
            form = self._forms[index % len(self._forms)]
            array = convert_to_file_type(values[output.name], self._graph.types[output.name], is_native=form)
            files[output.file] = [array.reshape(-1).view("u1").data] if array.size else [b""]
        write_folder(self._folder / name, files)
        self._written.append(name)
        return name

    def remove(self) -> None:
        """Removes the results that were written, and the folder where it was not there before."""
        for name in self._written:
            shutil.rmtree(self._folder / name, ignore_errors=True)
        self._written.clear()
        if self._is_new:
            with suppress(OSError):
                self._folder.rmdir()

    def describe(self, record: RunRecord) -> None:
        """Writes run.json and execution_metadata.yaml for what is there."""
        text = json.dumps(asdict(record), indent=1)
        metadata = _write_metadata(self._graph, record)
        write_all(
            {
                self._folder / RUN_FILE: [f"{text}\n".encode()],
                self._folder / METADATA_FILE: [metadata.encode()],
            }
        )


def _list_names(tensors: Sequence[str]) -> list[tuple[str, str]]:
    table = NameTable(tensors)
    return [(name, table(name)) for name in tensors]


def _make_output_record(graph: Graph, name: str, file: str, is_native: bool) -> OutputRecord:
    tensor_type = graph.types[name]
    word = dtype_word(tensor_type.dtype)
    return OutputRecord(
        name,
        word,
        shape_of(tensor_type),
        tensor_type.layout or "",
        word if is_native else "float32",
        f"{file}_native.raw" if is_native else f"{file}.raw",
    )


def _write_metadata(graph: Graph, record: RunRecord) -> str:
    content = {
        "inferences_completed": record.inferences,
        "graphs": [
            {
                "graph_name": graph.name,
                "input_tensors": [_describe_tensor(graph, item.name) for item in record.inputs],
                "output_tensors": [
                    _describe_tensor(graph, n) for n in dict.fromkeys(o.name for o in record.outputs)
                ],
            }
        ],
    }
    text: str = yaml.safe_dump(content, sort_keys=False, allow_unicode=True)
    return text


def _describe_tensor(graph: Graph, name: str) -> dict[str, object]:
    tensor_type = graph.types[name]
    description: dict[str, object] = {
        "name": name,
        "data_type": f"QNN_DATATYPE_{tensor_type.dtype.name}",
        "dimensions": list(tensor_type.static_shape()),
    }
    encoding = tensor_type.encoding
    if encoding is not None and encoding.axis is None:
        description |= {"scale": encoding.scales[0], "offset": encoding.offsets[0]}
    return description
