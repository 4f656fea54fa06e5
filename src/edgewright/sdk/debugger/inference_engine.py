"""The inference engine: a model from any stage to the outputs of all its ops on a backend, as raw files."""

import json
import logging
import shutil
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path

from edgewright.config.accuracy_debugger import DebuggerFolder
from edgewright.config.group import OptionGroup
from edgewright.config.inference_engine import EngineRun
from edgewright.config.model_library import LibraryOutput, LibrarySource
from edgewright.core.errors import BadInput, UsageError, Where, shown
from edgewright.core.files import write_all, write_whole
from edgewright.core.words import did_you_mean
from edgewright.ir.graph import Graph
from edgewright.model.model_files import find_model_file, load_model_graphs
from edgewright.run.remote.address import parse_address
from edgewright.run.remote.job import check_device
from edgewright.sdk.context_generate import GeneratorOptions, generate_context
from edgewright.sdk.converter import ConverterOptions, convert_files
from edgewright.sdk.debugger.folders import open_feature_folder
from edgewright.sdk.debugger.graph_structure import (
    MAPPING_FILE,
    STRUCTURE_FILE,
    Structure,
    describe_graph,
    describe_structure,
)
from edgewright.sdk.debugger.matching import TensorMatcher
from edgewright.sdk.debugger.tensor_folder import TensorFile, list_tensor_files
from edgewright.sdk.model_library import generate_libraries
from edgewright.sdk.net_run import NetRun, NetRunOptions, run_network

log = logging.getLogger(__name__)

FEATURE = "inference_engine"
IMAGE_LIST = "image_list.txt"
HOST = "x86_64-linux-clang"
# What surrounds a stage, by the status that its failure has in the tables of the guide.
Guard = Callable[[str], AbstractContextManager[None]]


def ignore_status(status: str) -> AbstractContextManager[None]:
    """Failures are what they are."""
    del status
    return nullcontext()


@dataclass(frozen=True)
class EngineTask:
    """What runs where: the options of each tool on the way, with its files still to be named."""

    runtime: str
    stage: str
    converter: ConverterOptions | None
    context: GeneratorOptions | None
    net_run: NetRunOptions
    # At later stages: .cpp or library, .bin, _net.json; empty where one is not given.
    files: Sequence[str] = ()
    golden: str | None = None
    name: str = "model"
    # Name and folder of a model library that is compiled and run.
    library: tuple[str | None, str | None] | None = None
    choice: EngineRun = field(default_factory=EngineRun)


@dataclass(frozen=True)
class Inference:
    """What was run, and where its tensors are."""

    folder: str
    backend: str
    # One for each set of the input list.
    results: tuple[str, ...]
    tensors: int
    structure: Structure
    model: str
    notes: tuple[str, ...] = ()


def find_engine_backend(runtime: str) -> str:
    """The backend behind a runtime of the guide; those that only devices have are refused when opened."""
    if runtime in {"dspv65", "dspv66"}:
        return f"DspV{runtime[-2:]}Stub"
    return "htp" if runtime.startswith("dsp") else runtime


def run_inference(task: EngineTask, place: DebuggerFolder, groups: Iterable[OptionGroup]) -> Inference:
    """Converts and compiles as far as the stage asks for it, runs, and describes what came out."""
    with open_feature_folder(place.working_dir, FEATURE, place.output_dirname, groups) as folder:
        return run_inference_in(folder, task)


def run_inference_in(folder: Path, task: EngineTask, guard: Guard = ignore_status) -> Inference:
    """The same in a folder that is there."""
    if task.net_run.device is not None:
        check_device(parse_address(task.net_run.device))
    model, graph = prepare_model(folder, task, guard)
    structure = describe_graph(graph)
    _write_structure(folder, structure)
    _write_mapping(folder, structure, task.golden)
    shutil.copyfile(task.net_run.inputs.input_list[0], folder / IMAGE_LIST)
    run = _run(folder, task, model, _choose_tensors(task.choice, structure), guard)
    names = tuple(run.record.results)
    written = {output.name for output in run.record.outputs}
    log.info("%d tensors of %d runs on %s", len(written), len(names), run.record.backend)
    return Inference(
        folder=str(folder),
        backend=run.record.backend,
        results=tuple(str(folder / "output" / name) for name in names),
        tensors=len(written),
        structure=structure,
        model=str(model),
        notes=run.notes,
    )


def _write_structure(folder: Path, structure: Structure) -> None:
    """The structure, and the converter's JSON where there is one, under both names that the guide has."""
    text = describe_structure(structure)
    write_all({folder / name: [text] for name in (STRUCTURE_FILE, f"qnn_{STRUCTURE_FILE}")})
    net = folder / "model_net.json"
    if net.is_file():
        shutil.copyfile(net, folder / f"qnn_{net.name}")


def prepare_model(folder: Path, task: EngineTask, guard: Guard = ignore_status) -> tuple[Path, Graph]:
    """The file that is run, a _net.json or a library, and its graph."""
    file = _make_model_file(folder, task, guard)
    graphs = load_model_graphs([file])
    if len(graphs) != 1:
        raise UsageError(
            f"'{shown(file)}' has {len(graphs)} graphs, the debugger looks at models of one",
            do="convert the graph of interest alone",
        )
    return file, graphs[0]


def _make_model_file(folder: Path, task: EngineTask, guard: Guard) -> Path:
    if task.converter is not None:
        target = folder / f"{task.name}.cpp"
        options = replace(task.converter, output=replace(task.converter.output, output_path=str(target)))
        with guard("err_con"):
            convert_files(options)
    elif task.stage == "converted":
        target = _copy_converted(folder, task)
    else:
        return find_model_file(Path(task.files[0]))
    beside = target.with_name(f"{target.stem}_net.json")
    if task.library is None and beside.is_file():
        return beside
    with guard("err_lib"):
        return _compile_library(folder, target, task)


def _copy_converted(folder: Path, task: EngineTask) -> Path:
    """The files of a converted model under one name, as the tools want them."""
    cpp, weights, description = task.files
    given = Path(cpp)
    sources = {
        ".cpp": given,
        ".bin": Path(weights) if weights else given.with_suffix(".bin"),
        "_net.json": Path(description) if description else given.with_name(f"{given.stem}_net.json"),
    }
    for ending, file in sources.items():
        if file.is_file():
            shutil.copyfile(file, folder / f"{task.name}{ending}")
        elif ending == ".cpp" or (ending == "_net.json" and description) or (ending == ".bin" and weights):
            raise BadInput(f"'{shown(file)}' does not exist", Where(file=str(file)))
    return folder / f"{task.name}.cpp"


def _compile_library(folder: Path, cpp: Path, task: EngineTask) -> Path:
    name, place = task.library or (None, None)
    weights = cpp.with_suffix(".bin")
    output = LibraryOutput(
        targets=(HOST,), lib_name=name or task.name, output_dir=place or str(folder / "qnn_model_binaries")
    )
    source = LibrarySource(cpp=str(cpp), bin=str(weights) if weights.is_file() else None)
    return Path(generate_libraries(source, output).libraries[0].file)


def _write_mapping(folder: Path, structure: Structure, golden: str | None) -> None:
    """Names of files here -> names of the source, or of a golden folder."""
    mapping = {name: facts.source for name, facts in structure.items()}
    if golden is not None:
        targets = {name: TensorFile(name, Path(name)) for name in structure}
        matcher = TensorMatcher(list_tensor_files(golden), targets, {}, structure)
        mapping = {name: other for name in structure if (other := matcher.find_golden(name)) is not None}
    write_whole(folder / MAPPING_FILE, [f"{json.dumps(mapping, indent=1)}\n".encode()])


def _choose_tensors(choice: EngineRun, structure: Structure) -> list[str] | None:
    """The tensors to write beside the outputs; None for all."""
    if choice.debug_mode_off:
        return []
    kinds = {facts.type for facts in structure.values()}
    for option, named, known in (
        ("--add_layer_outputs", choice.add_layer_outputs, structure),
        ("--skip_layer_outputs", choice.skip_layer_outputs, structure),
        ("--add_layer_types", choice.add_layer_types, kinds),
        ("--skip_layer_types", choice.skip_layer_types, kinds),
    ):
        _check_known(option, named, known, structure)
    added, skipped = set(choice.add_layer_outputs), set(choice.skip_layer_outputs)
    if not (added or skipped or choice.add_layer_types or choice.skip_layer_types):
        return None
    has_choice = bool(added or choice.add_layer_types)
    return [
        name
        for name, facts in structure.items()
        if (not has_choice or {name, facts.source} & added or facts.type in choice.add_layer_types)
        and not ({name, facts.source} & skipped or facts.type in choice.skip_layer_types)
    ]


def _check_known(option: str, named: Sequence[str], known: Iterable[str], structure: Structure) -> None:
    words = {*known, *(facts.source for facts in structure.values())}
    unknown = [name for name in named if name not in words]
    if unknown:
        raise UsageError(
            f"{option} names '{shown(unknown[0])}', which the converted model does not have",
            do=did_you_mean(unknown[0], sorted(words), f"{MAPPING_FILE} lists its tensors"),
        )


def _run(folder: Path, task: EngineTask, model: Path, tensors: list[str] | None, guard: Guard) -> NetRun:
    options = task.net_run
    outputs = replace(options.outputs, output_dir=str(folder / "output"))
    config = options.model.config_file
    # A device knows its architecture itself.
    if config is None and options.device is None:
        config = write_architecture(folder, task.runtime)
    chosen = replace(options.model, models=(str(model),), config_file=config)
    if task.context is not None:
        with guard("err_cntx"):
            binary = _make_context(folder, task.context, model, tensors, config)
        chosen = replace(chosen, models=None, retrieve_context=str(binary))
    elif tensors is None:
        outputs = replace(outputs, debug=True)
    elif tensors:
        outputs = replace(outputs, set_output_tensors=(("", tuple(tensors)),))
    with guard("err_exec"):
        return run_network(replace(options, model=chosen, outputs=outputs))


def _make_context(
    folder: Path, options: GeneratorOptions, model: Path, tensors: list[str] | None, config: str | None
) -> Path:
    output = replace(options.output, output_dir=str(folder), binary_file="qnn_model")
    if tensors is None:
        output = replace(output, enable_intermediate_outputs=True)
    elif tensors:
        output = replace(output, set_output_tensors=(("", tuple(tensors)),))
    settings = options.settings
    if settings.config_file is None and config is not None:
        settings = replace(settings, config_file=config)
    generate_context(
        replace(options, model=replace(options.model, models=(str(model),)), output=output, settings=settings)
    )
    return folder / "qnn_model.bin"


def write_architecture(folder: Path, runtime: str) -> str | None:
    """A configuration that names the architecture of dspvNN."""
    if not runtime.startswith("dspv"):
        return None
    file = folder / "htp_config.json"
    content = {"devices": [{"dsp_arch": runtime.removeprefix("dsp")}]}
    write_whole(file, [f"{json.dumps(content)}\n".encode()])
    return str(file)
