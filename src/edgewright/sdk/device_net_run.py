"""qnn-net-run on another machine: the same options, files and results as here."""

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from math import prod
from pathlib import Path

from edgewright.config.net_run import Execution, InputFiles, OutputFiles, Profiling
from edgewright.config.net_run import Model as ModelOptions
from edgewright.core.errors import BackendCrash, EnvironmentProblem, UnsupportedFeature, shown
from edgewright.ir.contract import dtype_word, shape_of
from edgewright.ir.graph import Graph
from edgewright.ir.types import TensorType
from edgewright.lower.names import sanitize_name
from edgewright.model.model_files import find_model_file, load_model_graphs
from edgewright.run.context.info import read_context_info
from edgewright.run.remote.address import DeviceAddress
from edgewright.run.remote.job import OUTPUT, DeviceProgram, DeviceSession, open_device
from edgewright.run.remote.results import (
    PROFILE_FILE,
    Times,
    list_results,
    read_times,
    stage_folder,
)
from edgewright.run.remote.sent_files import SentFiles, spell_backend
from edgewright.run.run_results import RUN_FILE, OutputRecord, RunRecord
from edgewright.run.runnable import make_io_graph

_NATIVE = "_native"


@dataclass(frozen=True)
class DeviceNetRun:
    """What a device ran: the record, its times, and what should be known."""

    record: RunRecord
    times: Times
    profile: str
    notes: tuple[str, ...]


def run_on_device(
    model: ModelOptions,
    inputs: InputFiles,
    outputs: OutputFiles,
    execution: Execution,
    profiling: Profiling,
    address: DeviceAddress,
) -> DeviceNetRun:
    """Runs the device's qnn-net-run with these options; its results are here complete or not at all."""
    _refuse_local_options(model)
    folder = Path(outputs.output_dir)
    with open_device(address) as session, tempfile.TemporaryDirectory(prefix="edgewright-") as place:
        sent = _stage(model, inputs, session.program, Path(place))
        words = [
            *sent.words,
            *_spell_inputs(inputs),
            *_spell_outputs(outputs),
            *_spell_execution(execution),
            *_spell_profiling(profiling),
        ]
        answer = Path(place, "answer")
        answer.mkdir()
        session.execute(sent.write_texts(Path(place)), words, answer)
        return _keep_answer(answer / OUTPUT, folder, model, session)


def _refuse_local_options(model: ModelOptions) -> None:
    if model.op_packages:
        raise UnsupportedFeature(
            "op packages are compiled for a machine: those of this one do not run on a device",
            do="leave --op_packages out, or run here",
        )


def _stage(model: ModelOptions, inputs: InputFiles, program: DeviceProgram, place: Path) -> SentFiles:
    sent = SentFiles()
    if model.retrieve_context is not None:
        sent.add_context(Path(model.retrieve_context))
    else:
        sent.add_models([Path(name) for name in model.dlc_path or model.models or ()], program, place)
    sent.add_input_lists(inputs.input_list)
    sent.words += ["--backend", spell_backend(model.backend, program)]
    if model.config_file is not None:
        sent.add_config(Path(model.config_file))
    if model.platform_options:
        sent.words += ["--platform_options", ";".join(f"{k}:{v}" for k, v in model.platform_options)]
    for flag, is_given in (("--use_mmap", model.use_mmap), ("--validate_binary", model.validate_binary)):
        sent.words += [flag] * is_given
    return sent


def _spell_inputs(inputs: InputFiles) -> Iterator[str]:
    yield from ["--use_native_input_files"] * (
        inputs.use_native_input_files or inputs.input_data_type == "native"
    )
    if inputs.native_input_tensor_names is not None:
        yield from ("--native_input_tensor_names", ",".join(inputs.native_input_tensor_names))
    if inputs.batch_multiplier is not None:
        yield from ("--batch_multiplier", str(inputs.batch_multiplier))


def _spell_outputs(outputs: OutputFiles) -> Iterator[str]:
    yield from ("--output_dir", OUTPUT)
    yield from ["--use_native_output_files"] * outputs.use_native_output_files
    if outputs.output_data_type != "float_only":
        yield from ("--output_data_type", outputs.output_data_type)
    yield from ["--debug"] * outputs.debug
    for graph, names in outputs.set_output_tensors:
        yield from ("--set_output_tensors", f"{graph}:{','.join(names)}" if graph else ",".join(names))
    if outputs.keep_num_outputs is not None:
        yield from ("--keep_num_outputs", str(outputs.keep_num_outputs))


def _spell_execution(execution: Execution) -> Iterator[str]:
    numbers = {
        "--num_inferences": execution.num_inferences,
        "--duration": execution.duration,
        "--timeout": execution.timeout,
    }
    for flag, number in numbers.items():
        if number is not None:
            yield from (flag, f"{number:g}")
    yield from ["--synchronous"] * execution.synchronous
    yield from ["--shared_buffer"] * execution.shared_buffer
    if execution.perf_profile != "default":
        yield from ("--perf_profile", execution.perf_profile)


def _spell_profiling(profiling: Profiling) -> Iterator[str]:
    if profiling.profiling_level is not None:
        yield from ("--profiling_level", profiling.profiling_level)
    if profiling.profiling_option is not None:
        yield from ("--profiling_option", profiling.profiling_option)


def _keep_answer(written: Path, folder: Path, model: ModelOptions, session: DeviceSession) -> DeviceNetRun:
    """Moves what was written to its place; its descriptions name files of the device and are made anew."""
    if not written.is_dir():
        raise BackendCrash(f"{session.address} wrote no folder '{OUTPUT}'", do="see what its program says")
    (written / RUN_FILE).unlink(missing_ok=True)
    times = read_times(written)
    results = list_results(written)
    # Several graphs have a folder each, which holds its results.
    groups = [path for path in written.iterdir() if path.is_dir() and path not in results]
    results = results or [result for group in sorted(groups) for result in list_results(group)]
    record = RunRecord(
        model.retrieve_context or ",".join(model.dlc_path or model.models or ()),
        f"{model.backend} of {session.address}",
        str(folder),
        (),
        _list_outputs(results, _find_types(model)),
        max(times.measured, len(results)),
        is_complete=True,
        results={str(path.relative_to(written)): {} for path in results},
    )
    has_profile = (written / PROFILE_FILE).is_file()
    (written / RUN_FILE).write_text(json.dumps(asdict(record), indent=1) + "\n", encoding="utf-8")
    with stage_folder(folder) as staged:
        for item in written.iterdir():
            item.rename(staged / item.name)
    profile = str(folder / PROFILE_FILE) if has_profile else ""
    return DeviceNetRun(record, times, profile, (f"run by {_name_program(session.program)}",))


def _find_types(model: ModelOptions) -> dict[str, TensorType]:
    """The types of tensors by the names of their files; those of a library are not known here."""
    graphs: list[Graph] = []
    if model.retrieve_context is not None:
        # Only the genuine libraries describe their binaries; the device has them, this machine may not.
        with suppress(EnvironmentProblem):
            infos = read_context_info(model.retrieve_context).binary.graphs
            graphs = [make_io_graph(info) for info in infos]
    else:
        files = [find_model_file(Path(name)) for name in model.dlc_path or model.models or ()]
        files = [file for file in files if file.suffix in {".json", ".dlc"}]
        graphs = load_model_graphs(files) if files else []
    return {sanitize_name(name): kind for graph in graphs for name, kind in graph.types.items()}


def _list_outputs(results: Sequence[Path], types: Mapping[str, TensorType]) -> tuple[OutputRecord, ...]:
    """The files of the first result; a file that is shorter than its tensor is a failed run."""
    if not results:
        return ()
    return tuple(_describe_output(file, results[0], types) for file in sorted(results[0].rglob("*.raw")))


def _describe_output(file: Path, folder: Path, types: Mapping[str, TensorType]) -> OutputRecord:
    is_native = file.stem.endswith(_NATIVE)
    name, where = file.stem.removesuffix(_NATIVE), str(file.relative_to(folder))
    tensor_type = types.get(name)
    if tensor_type is None:
        return OutputRecord(name, "", ("?",), "", "" if is_native else "float32", where)
    word = dtype_word(tensor_type.dtype)
    size = prod(tensor_type.static_shape()) * (tensor_type.dtype.numpy.itemsize if is_native else 4)
    length = file.stat().st_size
    # --batch_multiplier makes it several times as long.
    if length % size if length and size else length != size:
        raise BackendCrash(
            f"output '{shown(name)}' of the device has {length} bytes, expected {size}",
            do="see whether the device has the same model",
        )
    kind = word if is_native else "float32"
    return OutputRecord(name, word, shape_of(tensor_type), tensor_type.layout or "", kind, where)


def _name_program(program: DeviceProgram) -> str:
    lines = program.version.splitlines()
    return shown(lines[0]) if lines else "a program that does not tell its version"
