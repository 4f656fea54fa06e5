"""Makes context binaries, as qnn-context-binary-generator does."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from edgewright.artifacts.file_kinds import CONTEXT, refuse_other_kinds
from edgewright.artifacts.profile_log.writer import ProfileLog, to_chunks
from edgewright.config.backend_config import BackendConfig
from edgewright.config.context import Target
from edgewright.config.context_generator import ContextModel, ContextOutput, ContextSettings
from edgewright.core.errors import UnsupportedFeature, UsageError, shown
from edgewright.core.files import Chunks, keep_sources, measure_file, write_all
from edgewright.model.model_files import find_model_file, list_model_parts, load_model_graphs
from edgewright.model.profile.events import check_level
from edgewright.run.context.compile import (
    WITHOUT_CHIP,
    CompileOrder,
    MadeContext,
    compile_graphs,
    find_provider,
)
from edgewright.run.context.config import DEFAULT_TARGET, find_target, read_backend_config
from edgewright.run.op_packages import load_op_packages
from edgewright.sdk.context_outputs import with_outputs
from edgewright.targets.soc import Soc, find_soc

PROFILE_FILE = "qnn-profiling-data_0.log"


@dataclass(frozen=True)
class GeneratorOptions:
    """The options of qnn-context-binary-generator that affect the result."""

    model: ContextModel
    output: ContextOutput
    settings: ContextSettings
    target: Target


@dataclass(frozen=True)
class GeneratedContext:
    """The context binary that was made."""

    files: tuple[str, ...]
    backend: str
    target: str
    graphs: tuple[str, ...]
    bytes: int
    seconds: float
    notes: tuple[str, ...] = ()


def generate_context(options: GeneratorOptions) -> GeneratedContext:
    """Compiles all graphs of all models into one context and writes it; all files appear, or none."""
    order, notes = _order(options)
    notes += load_op_packages(options.model.op_packages or ())
    check_level(order.profiling, order.provider)
    files = _list_model_files(options.model)
    binaries = _name_binaries(options.output, files)
    keep_sources([part for file in files for part in list_model_parts(file)], binaries)
    refuse_other_kinds([(path, CONTEXT) for path in binaries])
    started = time.perf_counter()
    made, more = _make_context(files, options, order)
    written: dict[Path, Chunks] = {path: made.chunks() for path in binaries}
    if order.profiling is not None:
        log = ProfileLog(order.profiling, order.provider, ",".join(made.names), made.events)
        written[Path(options.output.output_dir, PROFILE_FILE)] = to_chunks(log)
    written |= {Path(options.output.output_dir, name): [data] for name, data in made.schematics.items()}
    write_all(written)
    return GeneratedContext(
        tuple(map(str, written)),
        order.provider,
        "" if order.provider in WITHOUT_CHIP else str(order.target),
        made.names,
        measure_file(binaries[0]),
        time.perf_counter() - started,
        (*notes, *more),
    )


def _order(options: GeneratorOptions) -> tuple[CompileOrder, list[str]]:
    provider = find_provider(options.model.backend)
    config = read_backend_config(options.settings.config_file, provider.partition("-")[0])
    target = None if provider in WITHOUT_CHIP else find_target(options.target.target, config)
    notes = [*config.notes, *config.running.idle_notes(), *_note_target(options, provider, target)]
    if provider == "htp-sim" and "sim" not in options.model.backend.lower():
        notes.append(
            "made by the simulation, because the genuine library is not installed: no device loads it; "
            "pip install 'edgewright[native]' installs the library"
        )
    settings = options.settings
    is_traced = settings.profiling_option is not None
    if is_traced:
        _check_trace(settings, provider)
        notes.append("a schematic is made of each graph; the trace that belongs to it is a device's alone")
    chip = target or find_soc(DEFAULT_TARGET)
    platform = ";".join(f"{key}:{value}" for key, value in settings.platform_options or ())
    if platform and provider != "htp-native":
        notes.append(f"--platform_options has no effect: backend {provider} is this machine itself")
    levels = settings.optimization_level, settings.profiling_level
    return CompileOrder(provider, chip, config, *levels, platform, is_traced=is_traced), notes


def _check_trace(settings: ContextSettings, provider: str) -> None:
    option = f"--profiling_option {settings.profiling_option}"
    if provider != "htp-native":
        raise UnsupportedFeature(
            f"{option} is for the genuine HTP library, the backend is {provider}", do="leave it out"
        )
    if settings.profiling_level != "detailed":
        raise UsageError(f"{option} needs --profiling_level detailed", do="add --profiling_level detailed")


def _make_context(
    files: Sequence[Path], options: GeneratorOptions, order: CompileOrder
) -> tuple[MadeContext, list[str]]:
    graphs = load_model_graphs(files, options.model.model_prefix)
    notes = _note_unknown_graphs(order.config, [graph.name for graph in graphs])
    if order.provider == "htp-native" and order.config.is_weight_sharing and len(graphs) > 1:
        notes.append("weights are shared between graphs: the emulator does not load such a binary")
    return compile_graphs(with_outputs(graphs, options.output), order), notes


def _list_model_files(model: ContextModel) -> list[Path]:
    return [find_model_file(Path(name)) for name in model.dlc_path or model.models]


def _name_binaries(output: ContextOutput, files: Sequence[Path]) -> list[Path]:
    """Guide 4108: '.bin' is appended to the name; the course: without a name, the model's is used."""
    stem = files[0].stem.removesuffix("_net")
    names = [output.binary_file or stem, *([output.backend_binary] if output.backend_binary else [])]
    for name in names:
        if Path(name).name != name or name in {"", ".", ".."}:
            raise UsageError(
                f"'{shown(name)}' is a path, expected the name of a file",
                do="give the folder with --output_dir",
            )
    named = [name if name.endswith(".bin") else f"{name}.bin" for name in names]
    if len(set(named)) != len(named):
        raise UsageError(f"--binary_file and --backend_binary are both '{named[0]}'", do="rename one of them")
    return [Path(output.output_dir, name) for name in named]


def _note_target(options: GeneratorOptions, provider: str, target: Soc | None) -> list[str]:
    if provider in WITHOUT_CHIP:
        return [f"--target has no effect: the backend is {provider}"] if options.target.target else []
    return [] if target is not None else [f"no target was named: made for {find_soc(DEFAULT_TARGET)}"]


def _note_unknown_graphs(config: BackendConfig, names: Sequence[str]) -> list[str]:
    configured = {name for settings in config.graphs for name in settings.names}
    return [
        f"settings for graph '{shown(name)}' have no effect: the model has {', '.join(map(shown, names))}"
        for name in sorted(configured - set(names))
    ]
