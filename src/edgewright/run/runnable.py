"""What qnn-net-run runs: the graphs of models or of a context binary, and the backend that prepares them."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from edgewright.backends.base import Backend, RunOptions, Session
from edgewright.backends.gpu.backend import GpuBackend
from edgewright.backends.qnn.backend import HtpNativeBackend, name_native_htp, shared_runtime
from edgewright.backends.qnn.composed import ContextSession, LibraryBackend
from edgewright.backends.qnn.info import GraphInfo
from edgewright.backends.qnn.options import HtpOptions
from edgewright.backends.qnn.runtime import RenewedContext
from edgewright.backends.registry import add_cpu, choose_engine, find_backend
from edgewright.config.backend_config import BackendConfig
from edgewright.config.net_run import Model as ModelOptions
from edgewright.config.run_settings import RunSettings
from edgewright.core.errors import UnsupportedFeature, UsageError, Where, shown
from edgewright.core.words import did_you_mean
from edgewright.ir.graph import Graph
from edgewright.ir.types import TensorType
from edgewright.lower.lift import lift
from edgewright.lower.qnn_graph import QnnTensor
from edgewright.model.model_files import find_model_file, load_model_graphs
from edgewright.run.context.check import judge_context
from edgewright.run.context.compile import find_provider
from edgewright.run.context.config import DEFAULT_TARGET, find_target, make_htp_options, read_backend_config
from edgewright.run.context.info import ContextInfo, own_context, read_binary, read_context_info
from edgewright.run.execution.deadline import Deadline
from edgewright.run.op_packages import load_op_packages
from edgewright.targets.soc import Soc, find_soc

Prepare = Callable[[Graph, RunOptions], Session]


@dataclass(frozen=True)
class RunSource:
    """Graphs to run, each prepared by the named backend."""

    path: str
    backend: str
    graphs: tuple[Graph, ...]
    prepare: Prepare
    threads: int = 0
    notes: tuple[str, ...] = ()
    running: RunSettings = field(default_factory=RunSettings)
    # How long a context was loaded, in microseconds: its set-up has no other part that takes long.
    loading: int = 0

    @property
    def is_native(self) -> bool:
        """Whether the genuine library runs the graphs."""
        return "native" in self.backend

    @property
    def is_queueing(self) -> bool:
        """Whether several executions may be under way; a recorder needs them in order."""
        return "saver" not in self.backend


@dataclass(frozen=True)
class Loading:
    """How graphs are loaded: binaries mapped or read, profiling level, shared memory."""

    is_mapped: bool = True
    profiling: str | None = None
    is_shared: bool = False
    platform: str = ""
    # Settings of the context that override its configuration file.
    priority: str | None = None
    is_strict: bool = False
    # Which of several worker processes for one chip.
    worker: int = 0
    perf_profile: str = "default"

    def read_config(self, file: str | None, backend: str, *, is_context: bool) -> BackendConfig:
        """The configuration in a file with these settings, and notes on what has no effect."""
        config = read_backend_config(file, backend.partition("-")[0].partition(" ")[0])
        config = replace(
            config,
            priority=self.priority or config.priority,
            is_strict=self.is_strict or config.is_strict,
            gpu=config.gpu.adapt_to_profile(self.perf_profile),
        )
        notes = list(config.notes)
        if config.priority not in {None, "normal"} and "native" not in backend:
            notes.append(f"context priority '{config.priority}' has no effect: the backend is {backend}")
        if config.enable_graphs and not is_context:
            notes.append("'enable_graphs' has no effect: it chooses graphs of a context binary")
        if config.is_strict and not is_context:
            notes.append("'cache_compatibility_mode' has no effect: it is for --retrieve_context")
        return replace(config, notes=tuple(notes))

    def adapt_options(self, options: HtpOptions) -> HtpOptions:
        """The genuine library's options with these settings."""
        worker = replace(options.worker, number=self.worker)
        return replace(options, platform=self.platform, is_shared=self.is_shared, worker=worker)


def run_source(
    options: ModelOptions,
    profiling: str | None = None,
    *,
    is_shared: bool = False,
    perf_profile: str = "default",
) -> RunSource:
    """The models or the context binary that the options name, with their configuration."""
    platform = ";".join(f"{key}:{value}" for key, value in options.platform_options or ())
    loading = Loading(options.use_mmap, profiling, is_shared, platform, perf_profile=perf_profile)
    return open_runnable_with(options, loading)


def open_runnable_with(options: ModelOptions, loading: Loading) -> RunSource:
    """The same, with explicit loading settings."""
    packages = load_op_packages(options.op_packages or ())
    source = _open_any(options, loading)
    idle = (*_note_idle_prefix(options), *_note_idle_options(source, loading))
    return replace(source, notes=(*source.notes, *packages, *idle))


def _open_any(options: ModelOptions, loading: Loading) -> RunSource:
    if options.retrieve_context is not None:
        provider = find_provider(options.backend)
        config = loading.read_config(options.config_file, provider, is_context=True)
        limit = Deadline(
            options.retrieve_context_timeout, "--retrieve_context_timeout", "loading the context"
        )
        start = time.perf_counter_ns()
        source = limit.run(lambda: _open_retrieved_context(options, provider, config, loading))
        return replace(source, loading=(time.perf_counter_ns() - start) // 1000)
    backend = find_backend(choose_engine(options.backend, options.engine))
    config = loading.read_config(options.config_file, backend.name, is_context=False)
    files = [find_model_file(Path(name)) for name in options.dlc_path or options.models or ()]
    graphs = load_model_graphs(files, options.model_prefix)
    if isinstance(backend, HtpNativeBackend):
        backend = _configure_native_backend(config, graphs, loading)
        if all(file.suffix == ".so" for file in files):
            backend = LibraryBackend(backend.options, files, options.model_prefix)
    backend = _configure_gpu(backend, config)
    if options.allow_cpu_ops:
        backend = add_cpu(backend)
    names = ",".join(map(str, files))
    return RunSource(
        names, backend.name, tuple(graphs), backend.prepare, config.threads, config.notes, config.running
    )


def _note_idle_prefix(options: ModelOptions) -> Iterator[str]:
    models = [Path(name) for name in options.models or ()]
    if "--model_prefix" in options.given() and not any(model.suffix == ".so" for model in models):
        yield "--model_prefix has no effect: no model library is loaded"


def _note_idle_options(source: RunSource, loading: Loading) -> Iterator[str]:
    if source.is_native:
        return
    if loading.platform:
        yield f"--platform_options has no effect: backend {source.backend} is this machine itself"
    if loading.is_shared:
        yield f"--shared_buffer changes nothing: backend {source.backend} runs in this process, on its memory"


def open_context_source(
    path: Path,
    config: BackendConfig | None = None,
    *,
    loading: Loading | None = None,
    provider: str | None = None,
) -> RunSource:
    """The graphs of a context binary on the backend that it is for.

    Args:
        path: the context binary.
        config: which of its graphs to open, and for which device.
        loading: how its file is read, and what is measured.
        provider: the backend that is expected: cpu, gpu, htp-sim or htp-native.
    """
    config = config or BackendConfig()
    info = read_context_info(path)
    if provider not in {None, info.backend}:
        raise UsageError(
            f"'{shown(path)}' is a context of {info.backend}, the backend is {provider}",
            do=f"use --backend {info.backend}",
        )
    config = replace(config, notes=(*config.notes, *_check_strict(info, config)))
    chosen = _list_enabled_graphs([graph.name for graph in info.binary.graphs], config)
    if info.is_genuine:
        return _open_genuine_context(info, chosen, config, loading or Loading())
    graphs = tuple(lift(graph) for graph in own_context(path).graphs if graph.name in chosen)
    backend = _configure_gpu(find_backend(info.backend), config)
    return RunSource(
        str(path), backend.name, graphs, backend.prepare, config.threads, config.notes, config.running
    )


def _open_retrieved_context(
    options: ModelOptions, provider: str, config: BackendConfig, loading: Loading
) -> RunSource:
    path = Path(str(options.retrieve_context))
    source = open_context_source(path, config, loading=loading, provider=provider)
    if not options.validate_binary or provider != "htp-native":
        return source
    note = "validated by the System library; the HTP library has no validator on x86"
    return replace(source, notes=(*source.notes, note))


def _configure_native_backend(
    config: BackendConfig, graphs: Sequence[Graph], loading: Loading
) -> HtpNativeBackend:
    settings = {graph.name: config.settings_for(graph.name) for graph in graphs}
    options = make_htp_options(_require_target(config), config, settings, loading.profiling)
    return HtpNativeBackend(loading.adapt_options(options))


def _configure_gpu(backend: Backend, config: BackendConfig) -> Backend:
    return backend.configure(config.gpu) if isinstance(backend, GpuBackend) else backend


def _require_target(config: BackendConfig) -> Soc:
    return find_target(None, config) or find_soc(DEFAULT_TARGET)


def _list_enabled_graphs(names: Sequence[str], config: BackendConfig) -> list[str]:
    """Guide 4466: a name that is not there is an error, and an empty list means all."""
    unknown = [name for name in config.enable_graphs if name not in names]
    if unknown:
        raise UsageError(
            f"'enable_graphs' names '{shown(unknown[0])}', the context has {', '.join(map(shown, names))}",
            do=did_you_mean(unknown[0], names, "name graphs of the context, or leave the list empty"),
        )
    return list(config.enable_graphs) or list(names)


def _check_strict(info: ContextInfo, config: BackendConfig) -> tuple[str, ...]:
    """Strict mode checks whether the binary uses a chip fully: the one that is named, or its own."""
    if not config.is_strict:
        return ()
    if not info.is_genuine:
        # Guide 4465: an error where the backend has no such check.
        raise UnsupportedFeature(
            f"'cache_compatibility_mode' is 'strict', a context of {info.backend} is compiled for no chip",
            Where(file=info.file),
            do="leave it out, or retrieve a context that was made with libQnnHtp.so (htp-native)",
        )
    chip = find_target(None, config)
    if chip is None:
        note = (
            "'cache_compatibility_mode' is 'strict', but no device is named: the emulator runs as the chip "
            "that the context was compiled for; name a 'soc_model' under 'devices' to check another"
        )
        return (note,)
    verdict = judge_context(info, chip)
    if not verdict.is_fit:
        raise UnsupportedFeature(
            f"the context binary does not fit {chip}: {'; '.join(verdict.reasons)}",
            Where(file=info.file),
            do=verdict.do,
        )
    return ()


def _open_genuine_context(
    info: ContextInfo, chosen: Sequence[str], config: BackendConfig, loading: Loading
) -> RunSource:
    # The emulator loads binaries of every chip; the chip that the binary names comes first.
    chip = find_soc(str(info.binary.soc_model)) if info.binary.soc_model else _require_target(config)
    options = loading.adapt_options(make_htp_options(chip, config, {}, loading.profiling))
    content = read_binary(Path(info.file), is_mapped=loading.is_mapped)
    context = RenewedContext(lambda: shared_runtime(options).load(content, options))
    infos = [graph for graph in context.current().graphs if graph.name in chosen]
    graphs = {graph.name: make_io_graph(graph) for graph in infos}

    def prepare(graph: Graph, _: RunOptions) -> Session:
        return ContextSession(context, graph.name)

    name = name_native_htp(chip.soc_model)
    return RunSource(info.file, name, tuple(graphs.values()), prepare, 0, config.notes, config.running)


def make_io_graph(info: GraphInfo) -> Graph:
    """A graph with inputs and outputs only: the interface of a compiled graph."""
    graph = Graph(info.name)
    for tensor in info.inputs:
        graph.add_input(tensor.name, _type(tensor))
    for tensor in info.outputs:
        graph.types[tensor.name] = _type(tensor)
        graph.outputs.append(tensor.name)
    return graph


def _type(tensor: QnnTensor) -> TensorType:
    return TensorType(tensor.dims, tensor.dtype, None, tensor.encoding)
