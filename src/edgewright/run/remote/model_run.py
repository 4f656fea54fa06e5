"""Runs a model of this machine on a device: arrays in, arrays out."""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from edgewright.core.errors import BackendCrash, UsageError, shown
from edgewright.core.numbers import Array
from edgewright.data.tensor_files import convert_to_model_type
from edgewright.ir.graph import Graph
from edgewright.ir.types import TensorType
from edgewright.lower.names import NameTable
from edgewright.model.model import Model
from edgewright.model.run_inputs import InputSet
from edgewright.model.saving import load_graph, save_dlc, save_graph
from edgewright.run.context.info import read_context_info
from edgewright.run.remote.address import DeviceAddress
from edgewright.run.remote.job import OUTPUT, DeviceSession, open_device
from edgewright.run.remote.results import Times, list_results, needs_native_file, read_results, read_times
from edgewright.run.remote.sent_files import SentFiles, spell_backend
from edgewright.run.runnable import make_io_graph


@dataclass(frozen=True)
class DeviceRun:
    """The results of a run, still in the files that the device sent."""

    program: str
    times: Times
    folder: Path
    _results: Sequence[Path]
    _graph: Graph
    _names: Sequence[str]
    _native: Mapping[str, bool]

    def read(self, number: int) -> dict[str, Array]:
        """The outputs of one set, by the names of the model."""
        values = read_results(self._results[number], self._graph, self._native)
        return dict(zip(self._names, values.values(), strict=True))


def open_context_model(path: str) -> Model:
    """The inputs and outputs of a context binary, which only the device runs."""
    graphs = read_context_info(path).binary.graphs
    if len(graphs) != 1:
        raise UsageError(
            f"'{shown(path)}' has {len(graphs)} graphs, expected one",
            do="run it with qnn-net-run --device, which takes an input list for each",
        )
    return Model.of(make_io_graph(graphs[0]))


@contextmanager
def run_on_device(
    model: Model, file: str, sets: Sequence[InputSet], backend: str, address: DeviceAddress
) -> Iterator[DeviceRun]:
    """All sets in one run of the device's program; the results are there inside the block."""
    with open_device(address) as session, tempfile.TemporaryDirectory(prefix="edgewright-") as place:
        folder = Path(place)
        sent, graph = _stage_model(model, file, session, folder)
        names = list(model.fixed_graph().outputs)
        _stage_inputs(sent, graph, [_name_inputs(model, graph, chosen) for chosen in sets], folder)
        native = {name: needs_native_file(graph.types[name].dtype) for name in graph.outputs}
        words = ["--backend", spell_backend(backend, session.program), *sent.words]
        words += ["--output_dir", OUTPUT, "--profiling_level", "basic"]
        words += ["--output_data_type", "float_and_native"] if any(native.values()) else []
        answer = folder / "answer"
        answer.mkdir()
        session.execute(sent.write_texts(folder), words, answer)
        written = answer / OUTPUT
        results = _require_results(written, len(sets))
        yield DeviceRun(session.program.title, read_times(written), written, results, graph, names, native)


def _require_results(written: Path, count: int) -> list[Path]:
    results = list_results(written)
    if len(results) != count:
        raise BackendCrash(
            f"the device wrote {len(results)} results for {count} sets of inputs",
            do="see what its program says",
        )
    return results


def _stage_model(model: Model, file: str, session: DeviceSession, folder: Path) -> tuple[SentFiles, Graph]:
    sent = SentFiles()
    if file.endswith(".bin"):
        sent.add_context(Path(file))
        return sent, model.fixed_graph()
    graph, target = model.fixed_graph(), folder / "model"
    if session.program.is_ours:
        saved = save_graph(graph, target.with_suffix(".cpp")).net_json
    else:
        saved = save_dlc(graph, target.with_suffix(".dlc")).dlc
    sent.add_models([saved], session.program, folder)
    return sent, load_graph(saved)


def _name_inputs(model: Model, graph: Graph, chosen: InputSet) -> dict[str, Array]:
    """The arrays of a set under the names that inputs have in the written model."""
    feed = chosen.feed()
    return {saved: feed[name] for name, saved in zip(model.fixed_graph().inputs, graph.inputs, strict=True)}


def _stage_inputs(sent: SentFiles, graph: Graph, feeds: Sequence[Mapping[str, Array]], folder: Path) -> None:
    """Raw files: float32 as qnn-net-run reads it, integers in their own type."""
    place = folder / "inputs"
    place.mkdir()
    native = [name for name in graph.inputs if needs_native_file(graph.types[name].dtype)]
    spell = NameTable(graph.inputs)
    lines = []
    for number, feed in enumerate(feeds):
        words = []
        for index, (name, array) in enumerate(feed.items()):
            path = place / f"{number}_{index}.raw"
            _make_file_values(array, graph.types[name], is_native=name in native).tofile(path)
            words.append(f'{spell(name)}:="{path}"')
        lines.append(" ".join(words))
    listed = folder / "listed.txt"
    listed.write_text("\n".join(lines) + "\n", encoding="utf-8")
    sent.add_input_lists([str(listed)])
    if native:
        sent.words += ["--native_input_tensor_names", ",".join(map(spell, native))]


def _make_file_values(array: Array, tensor_type: TensorType, *, is_native: bool) -> Array:
    if is_native:
        return np.ascontiguousarray(convert_to_model_type(array, tensor_type))
    encoding = tensor_type.encoding
    if encoding is not None and array.dtype == tensor_type.dtype.numpy:
        array = encoding.decode(array)
    return np.ascontiguousarray(array, np.float32)
