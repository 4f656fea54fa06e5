"""Makes context binaries, as qnn-context-binary-generator does."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path

from edgewright.api.artifacts import SaveOptions, records_of
from edgewright.api.context_config import DEFAULT_TARGET, backend_config, htp_options, target_of
from edgewright.api.context_outputs import with_outputs
from edgewright.api.model_files import model_file, model_graphs
from edgewright.artifacts.context.records import Context, ContextHead
from edgewright.artifacts.context.writer import to_chunks
from edgewright.artifacts.profile_log.writer import ProfileEvent, ProfileLog
from edgewright.artifacts.profile_log.writer import to_chunks as profile_chunks
from edgewright.backends.base import RunOptions
from edgewright.backends.qnn.backend import live_records
from edgewright.backends.qnn.options import HtpOptions
from edgewright.backends.qnn.profile import ProfileEvent as NativeEvent
from edgewright.backends.qnn.runtime import QnnContext, QnnRuntime
from edgewright.backends.registry import find_backend
from edgewright.config.backend_config import BackendConfig, GraphSettings
from edgewright.config.context import Target
from edgewright.config.context_generator import ContextModel, ContextOutput, ContextSettings
from edgewright.core.errors import EdgewrightError, UsageError, shown
from edgewright.core.files import Chunks, file_size, write_all
from edgewright.ir.graph import Graph
from edgewright.targets.soc import Soc, find_soc

__all__ = ["GeneratedContext", "GeneratorOptions", "generate_context", "provider_of"]

PROFILE_FILE = "qnn-profiling-data_0.log"


@dataclass(frozen=True)
class GeneratorOptions:
    """The options of qnn-context-binary-generator that change what is done."""

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
    provider = provider_of(options.model.backend)
    config = backend_config(options.settings.config_file, provider.partition("-")[0])
    target = None if provider == "cpu" else target_of(options.target.target, config)
    notes = [*config.notes, *_target_notes(options, provider, target)]
    files = _model_files(options.model)
    began = time.perf_counter()
    making = _Making(options, config, target or find_soc(DEFAULT_TARGET), files)
    made = making.native() if provider == "htp-native" else making.own(provider)
    binaries = _binaries(options.output, files)
    written: dict[Path, Chunks] = {path: made.chunks() for path in binaries}
    if options.settings.profiling_level is not None:
        log = ProfileLog(options.settings.profiling_level, provider, ",".join(made.names), made.events)
        written[Path(options.output.output_dir, PROFILE_FILE)] = profile_chunks(log)
    write_all(written)
    return GeneratedContext(
        tuple(map(str, written)),
        provider,
        "" if provider == "cpu" else str(target or find_soc(DEFAULT_TARGET)),
        made.names,
        file_size(binaries[0]),
        time.perf_counter() - began,
        (*notes, *making.notes),
    )


def provider_of(backend: str) -> str:
    """cpu, htp-sim or htp-native: whose contexts a backend's name stands for."""
    name = find_backend(backend).name
    if name.startswith("cpu"):
        return "cpu"
    if not name.startswith("htp"):
        raise UsageError(f"backend {name} makes no context binaries", do="use --backend libQnnHtp.so or cpu")
    return "htp-sim" if "simulation" in name else "htp-native"


@dataclass(frozen=True)
class _Made:
    names: tuple[str, ...]
    events: list[ProfileEvent]
    # Called for each file: chunks are made as they are written.
    chunks: Callable[[], Chunks]


class _Making:
    """One context in the making."""

    def __init__(
        self, options: GeneratorOptions, config: BackendConfig, target: Soc, files: Sequence[Path]
    ) -> None:
        self._options = options
        self._config = config
        self._target = target
        self._files = files
        self.notes: list[str] = []

    def own(self, provider: str) -> _Made:
        """A context of one of our own backends, which has prepared every graph of it once."""
        backend = find_backend(provider)
        graphs = self._graphs()
        events = []
        began = time.perf_counter_ns()
        for graph in graphs:
            start = time.perf_counter_ns()
            backend.prepare(graph, RunOptions(threads=self._config.threads))
            events.append(_event(graph.name, start - began, time.perf_counter_ns() - start))
        records = [records_of(graph, graph.name, SaveOptions()) for graph in graphs]
        names = tuple(record.name for record in records)
        context = Context(self._head(provider, names), tuple(records))
        return _Made(names, events, lambda: to_chunks(context))

    def native(self) -> _Made:
        """A context of the genuine library, from a worker of its own: then equal input gives equal bytes."""
        try:
            graphs = self._graphs()
        except EdgewrightError as problem:
            return self._composed(problem)
        records = [live_records(graph, graph.outputs) for graph in graphs]
        if self._config.is_weight_sharing and len(records) > 1:
            self.notes.append("weights are shared between graphs: the emulator does not load such a binary")
        with QnnRuntime(self._htp_options([record.name for record in records])) as runtime:
            return _finished(runtime.compile(records))

    def _composed(self, problem: EdgewrightError) -> _Made:
        """A DLC of strangers that we cannot read may still be one that the System library can."""
        output = self._options.output
        is_changed = output.enable_intermediate_outputs or output.set_output_tensors
        if len(self._files) != 1 or self._files[0].suffix != ".dlc" or is_changed:
            raise problem
        self.notes.append(f"read by the System library, as our reader says: {shown(problem.what)}")
        with QnnRuntime(self._htp_options([])) as runtime:
            return _finished(runtime.compose(self._files[0]))

    def _graphs(self) -> list[Graph]:
        graphs = model_graphs(self._files)
        self.notes += _unknown_graphs(self._config, [graph.name for graph in graphs])
        return with_outputs(graphs, self._options.output)

    def _htp_options(self, names: Sequence[str]) -> HtpOptions:
        settings = {name: self._settings(name) for name in names}
        return htp_options(self._target, self._config, settings, self._options.settings.profiling_level)

    def _settings(self, name: str) -> GraphSettings:
        level = self._options.settings.optimization_level
        return replace(GraphSettings(), optimization_level=level).over(self._config.settings_for(name))

    def _head(self, provider: str, names: Sequence[str]) -> ContextHead:
        is_htp = provider != "cpu"
        return ContextHead(
            backend=provider,
            producer=f"edgewright {metadata.version('edgewright')}",
            soc=self._target.name if is_htp else "",
            soc_model=self._target.soc_model if is_htp else 0,
            dsp_arch=self._target.arch if is_htp else 0,
            vtcm_mb=self._target.vtcm_mb if is_htp else 0,
            priority=self._config.priority or "normal",
            is_weight_sharing=self._config.is_weight_sharing,
            settings={name: self._settings(name).as_numbers() for name in names},
        )


def _finished(context: QnnContext) -> _Made:
    content = context.binary()
    names = tuple(graph.name for graph in context.graphs)
    return _Made(names, _native_events(context.profile()), lambda: [content])


def _model_files(model: ContextModel) -> list[Path]:
    return [model_file(Path(name)) for name in model.dlc_path or model.models]


def _binaries(output: ContextOutput, files: Sequence[Path]) -> list[Path]:
    """Guide 4108: '.bin' is put behind the name; the course: without one the model's name is taken."""
    stem = files[0].stem.removesuffix("_net")
    names = [output.binary_file or stem, *([output.backend_binary] if output.backend_binary else [])]
    for name in names:
        if Path(name).name != name or name in {"", ".", ".."}:
            raise UsageError(
                f"'{shown(name)}' is a path, expected the name of a file",
                do="give the folder by --output_dir",
            )
    named = [name if name.endswith(".bin") else f"{name}.bin" for name in names]
    if len(set(named)) != len(named):
        raise UsageError(f"--binary_file and --backend_binary are both '{named[0]}'", do="rename one of them")
    return [Path(output.output_dir, name) for name in named]


def _target_notes(options: GeneratorOptions, provider: str, target: Soc | None) -> list[str]:
    if provider == "cpu":
        return ["--target has no effect: the backend is cpu"] if options.target.target else []
    return [] if target is not None else [f"no target was named: made for {find_soc(DEFAULT_TARGET)}"]


def _unknown_graphs(config: BackendConfig, names: Sequence[str]) -> list[str]:
    wanted = {name for settings in config.graphs for name in settings.names}
    return [
        f"settings for graph '{shown(name)}' have no effect: the model has {', '.join(map(shown, names))}"
        for name in sorted(wanted - set(names))
    ]


def _event(graph: str, start: int, span: int) -> ProfileEvent:
    return ProfileEvent("FINALIZE", start // 1000, span // 1000, graph)


def _native_events(found: Sequence[NativeEvent]) -> list[ProfileEvent]:
    return [
        ProfileEvent(
            "FINALIZE",
            0,
            event.value,
            f"{event.name} ({event.measured_on})",
            "BACKEND",
            event.unit.upper(),
            "SUB-EVENT" if event.depth else "ROOT",
        )
        for event in found
    ]
