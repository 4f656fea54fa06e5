"""Graphs compiled into one context, by the genuine HTP library or by one of our own backends."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from edgewright.artifacts.context.records import Context, ContextHead
from edgewright.artifacts.context.writer import to_chunks
from edgewright.artifacts.profile_log.writer import ProfileEvent
from edgewright.backends.base import RunOptions
from edgewright.backends.gpu.backend import GpuBackend
from edgewright.backends.qnn.backend import live_records
from edgewright.backends.qnn.options import HtpOptions, WorkerOptions
from edgewright.backends.qnn.runtime import QnnContext, QnnRuntime
from edgewright.backends.registry import find_backend
from edgewright.config.backend_config import BackendConfig, GraphSettings
from edgewright.core.errors import UsageError
from edgewright.core.files import Chunks
from edgewright.core.version import VERSION
from edgewright.ir.graph import Graph
from edgewright.model.profile.events import log_events
from edgewright.model.saving import SaveOptions, make_records
from edgewright.run.context.config import make_htp_options
from edgewright.targets.soc import Soc

# Providers that compile for no chip.
WITHOUT_CHIP = ("cpu", "gpu")


@dataclass(frozen=True)
class CompileOrder:
    """What a context is compiled for, and how."""

    # cpu, gpu, htp-sim or htp-native
    provider: str
    target: Soc
    config: BackendConfig
    optimization_level: int | None = None
    profiling: str | None = None
    # Passed to the genuine library as it is.
    platform: str = ""
    # Seconds that the genuine library may take.
    timeout: float = WorkerOptions().timeout
    # Whether the library writes the schematics that traces of a device need.
    is_traced: bool = False

    def choose_settings(self, graph: str) -> GraphSettings:
        """How one graph is compiled."""
        settings = GraphSettings(optimization_level=self.optimization_level)
        return replace(settings.over(self.config.settings_for(graph)), names=(graph,))

    def choose_htp_options(self, graphs: Sequence[str]) -> HtpOptions:
        """The options for the HTP library."""
        settings = {name: self.choose_settings(name) for name in graphs}
        options = make_htp_options(self.target, self.config, settings, self.profiling)
        return replace(options, platform=self.platform, worker=WorkerOptions(timeout=self.timeout))


@dataclass(frozen=True)
class MadeContext:
    """A context in memory: its graphs, what was measured, and its bytes."""

    names: tuple[str, ...]
    events: list[ProfileEvent]
    # Called for each file: chunks are made as they are written.
    chunks: Callable[[], Chunks]
    # Schematics of graphs by the library's names of their files.
    schematics: Mapping[str, bytes] = field(default_factory=dict)


def find_provider(backend: str) -> str:
    """The provider of a backend's contexts: cpu, gpu, htp-sim or htp-native."""
    name = find_backend(backend).name
    if name.startswith(WITHOUT_CHIP):
        return name[:3]
    if not name.startswith("htp"):
        raise UsageError(f"backend {name} has no context binaries", do="use --backend libQnnHtp.so or cpu")
    return "htp-sim" if "simulation" in name else "htp-native"


def compile_graphs(graphs: Sequence[Graph], order: CompileOrder) -> MadeContext:
    """A context of the graphs; equal graphs and orders give equal bytes."""
    return _compile_natively(graphs, order) if order.provider == "htp-native" else _own(graphs, order)


def _compile_natively(graphs: Sequence[Graph], order: CompileOrder) -> MadeContext:
    records = [live_records(graph, graph.outputs) for graph in graphs]
    options = order.choose_htp_options([record.name for record in records])
    # A separate worker: the library counts tensors per process, and the count is in the bytes.
    with TemporaryDirectory() as folder:
        traced = replace(options, schematics=folder) if order.is_traced else options
        with QnnRuntime(traced) as runtime:
            made = _finish_context(runtime.compile(records))
        return replace(
            made, schematics={file.name: file.read_bytes() for file in sorted(Path(folder).iterdir())}
        )


def _own(graphs: Sequence[Graph], order: CompileOrder) -> MadeContext:
    """Prepares every graph once, so that what the backend refuses is refused now."""
    backend = find_backend(order.provider)
    if isinstance(backend, GpuBackend):
        backend = backend.configure(order.config.gpu)
    events = []
    started = time.perf_counter_ns()
    for graph in graphs:
        start = time.perf_counter_ns()
        backend.prepare(graph, RunOptions(threads=order.config.threads))
        span = time.perf_counter_ns() - start
        events.append(ProfileEvent("FINALIZE", (start - started) // 1000, span // 1000, graph.name))
    records = tuple(make_records(graph, graph.name, SaveOptions()) for graph in graphs)
    names = tuple(record.name for record in records)
    context = Context(_make_head(order, names), records)
    return MadeContext(names, events, lambda: to_chunks(context))


def _make_head(order: CompileOrder, names: Sequence[str]) -> ContextHead:
    settings = {name: order.choose_settings(name).as_numbers() for name in names}
    head = ContextHead(
        backend=order.provider,
        producer=f"edgewright {VERSION}",
        priority=order.config.priority or "normal",
        is_weight_sharing=order.config.is_weight_sharing,
        settings=settings,
    )
    if order.provider in WITHOUT_CHIP:
        return head
    chip = order.target
    return replace(head, soc=chip.name, soc_model=chip.soc_model, dsp_arch=chip.arch, vtcm_mb=chip.vtcm_mb)


def _finish_context(context: QnnContext) -> MadeContext:
    content = context.binary()
    names = tuple(graph.name for graph in context.graphs)
    return MadeContext(names, log_events(context.profile(), "FINALIZE"), lambda: [content])
