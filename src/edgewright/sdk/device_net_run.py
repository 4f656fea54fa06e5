"""qnn-net-run on another machine: the same options, files and results as here."""

import json
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from edgewright.config.net_run import ENGINES, Execution, InputFiles, OutputFiles, Profiling
from edgewright.config.net_run import Model as ModelOptions
from edgewright.core.errors import EnvironmentProblem, UnsupportedFeature, UsageError
from edgewright.core.files import find_existing_folder
from edgewright.ir.graph import Graph
from edgewright.model.model_files import find_model_file, load_model_graphs
from edgewright.run.context.info import read_context_info
from edgewright.run.remote.address import DeviceAddress
from edgewright.run.remote.job import OUTPUT, DeviceProgram, open_device
from edgewright.run.remote.net_results import count_least_results, find_results, list_outputs
from edgewright.run.remote.results import PROFILE_FILE, Times, read_times, stage_folder
from edgewright.run.remote.sent_files import SentFiles, spell_backend
from edgewright.run.run_results import RUN_FILE, RunRecord
from edgewright.run.runnable import make_io_graph


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
    find_existing_folder(folder)
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
        graphs, written = _load_graphs(model), answer / OUTPUT
        results = find_results(written, count_least_results(graphs, inputs, outputs, execution))
        record = RunRecord(
            *(_name_model(model), f"{model.backend} of {session.address}", str(folder)),
            *((), list_outputs(results, graphs)),
            is_complete=True,
            results={str(path.relative_to(written)): {} for path in results},
        )
        return _keep_answer(written, record, session.program)


def _name_model(model: ModelOptions) -> str:
    return model.retrieve_context or ",".join(model.dlc_path or model.models or ())


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
    sent.words += _spell_model(model)
    sent.words += _spell_own_options(model, program)
    return sent


def _spell_model(model: ModelOptions) -> Iterator[str]:
    if model.model_prefix != ModelOptions.model_prefix:
        yield from ("--model_prefix", model.model_prefix)
    yield from ["--use_mmap"] * model.use_mmap
    yield from ["--validate_binary"] * model.validate_binary
    yield from _spell_numbers({"--retrieve_context_timeout": model.retrieve_context_timeout})


def _spell_own_options(model: ModelOptions, program: DeviceProgram) -> list[str]:
    """Options that only the program of this package has."""
    words = ["--engine", model.engine] if model.engine != ENGINES[0] else []
    words += ["--allow_cpu_ops"] * model.allow_cpu_ops
    if words and not program.is_ours:
        raise UsageError(f"the device has the SDK's qnn-net-run, which has no {words[0]}", do="leave it out")
    return words


def _spell_inputs(inputs: InputFiles) -> Iterator[str]:
    yield from ["--use_native_input_files"] * (
        inputs.use_native_input_files or inputs.input_data_type == "native"
    )
    if inputs.native_input_tensor_names is not None:
        yield from ("--native_input_tensor_names", ",".join(inputs.native_input_tensor_names))
    yield from _spell_numbers(
        {
            "--batch_multiplier": inputs.batch_multiplier,
            "--max_input_cache_tensor_sets": inputs.max_input_cache_tensor_sets,
            "--max_input_cache_size_mb": inputs.max_input_cache_size_mb,
        }
    )


def _spell_outputs(outputs: OutputFiles) -> Iterator[str]:
    yield from ("--output_dir", OUTPUT)
    yield from ["--use_native_output_files"] * outputs.use_native_output_files
    if outputs.output_data_type != "float_only":
        yield from ("--output_data_type", outputs.output_data_type)
    yield from ["--debug"] * outputs.debug
    if outputs.set_output_tensors:
        pairs = [(graph, ",".join(names)) for graph, names in outputs.set_output_tensors]
        named = ";".join(f"{graph}:{names}" if graph else names for graph, names in pairs)
        yield from ("--set_output_tensors", named)
    if outputs.keep_num_outputs is not None:
        yield from ("--keep_num_outputs", str(outputs.keep_num_outputs))


def _spell_numbers(numbers: Mapping[str, float | None]) -> Iterator[str]:
    for flag, number in numbers.items():
        if number is not None:
            yield from (flag, str(int(number) if number == int(number) else number))


def _spell_execution(execution: Execution) -> Iterator[str]:
    yield from _spell_numbers(
        {
            "--num_inferences": execution.num_inferences,
            "--duration": execution.duration,
            "--timeout": execution.timeout,
        }
    )
    yield from ["--synchronous"] * execution.synchronous
    yield from ["--shared_buffer"] * execution.shared_buffer
    if execution.perf_profile != "default":
        yield from ("--perf_profile", execution.perf_profile)


def _spell_profiling(profiling: Profiling) -> Iterator[str]:
    if profiling.profiling_level is not None:
        yield from ("--profiling_level", profiling.profiling_level)
    if profiling.profiling_option is not None:
        yield from ("--profiling_option", profiling.profiling_option)
    yield from _spell_numbers(
        {
            "--graph_profiling_start_delay": profiling.graph_profiling_start_delay,
            "--graph_profiling_num_executions": profiling.graph_profiling_num_executions,
        }
    )


def _keep_answer(written: Path, record: RunRecord, program: DeviceProgram) -> DeviceNetRun:
    """Moves what was written to its place; its descriptions name files of the device and are made anew."""
    folder, times = Path(record.folder), read_times(written)
    record.inferences = max(times.measured, len(record.results))
    has_profile = (written / PROFILE_FILE).is_file()
    (written / RUN_FILE).unlink(missing_ok=True)
    (written / RUN_FILE).write_text(json.dumps(asdict(record), indent=1) + "\n", encoding="utf-8")
    with stage_folder(folder) as staged:
        for item in written.iterdir():
            # Temporary files may be in another file system, where renaming fails.
            shutil.move(item, staged / item.name)
    profile = str(folder / PROFILE_FILE) if has_profile else ""
    return DeviceNetRun(record, times, profile, (f"run by {program.title}",))


def _load_graphs(model: ModelOptions) -> list[Graph]:
    """The graphs that are run, for their types; those of a library are not known here."""
    if model.retrieve_context is not None:
        # Only the genuine libraries describe their binaries; the device has them, this machine may not.
        with suppress(EnvironmentProblem):
            infos = read_context_info(model.retrieve_context).binary.graphs
            return [make_io_graph(info) for info in infos]
        return []
    files = [find_model_file(Path(name)) for name in model.dlc_path or model.models or ()]
    files = [file for file in files if file.suffix in {".json", ".dlc"}]
    return load_model_graphs(files) if files else []
