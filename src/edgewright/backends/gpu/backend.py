"""Float graphs on this machine's GPU, in the precisions of QNN's GPU backend; nothing falls back unsaid."""

import logging
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from edgewright.backends.base import RunOptions, Session
from edgewright.backends.cpu.session import CpuSession
from edgewright.backends.gpu.engine import GpuEngine
from edgewright.backends.gpu.precision import with_precision
from edgewright.backends.gpu.provider import Provider, find_provider
from edgewright.config.gpu_settings import GpuSettings
from edgewright.core.errors import Problems, UnsupportedFeature, UnsupportedOp, Where
from edgewright.ir.graph import Graph

log = logging.getLogger(__name__)

GPU, CPU = "gpu", "cpu"


@dataclass(frozen=True)
class GpuBackend:
    """Stands for libQnnGpu.so."""

    provider: Provider
    settings: GpuSettings = field(default_factory=GpuSettings)
    # Whether the processor may run what the GPU lacks.
    is_helped: bool = False
    library_names = ("libQnnGpu.so", "QnnGpu.dll")
    has_exact_ends = False
    is_float_only = True

    @property
    def name(self) -> str:
        """The precision and the way to the GPU."""
        words = [self.provider.called]
        if self.settings.precision != GpuSettings().precision:
            words.append(self.settings.precision)
        return f"{GPU} ({', '.join(words)}){' with help of cpu' if self.is_helped else ''}"

    @property
    def is_software(self) -> bool:
        """Whether no GPU but a driver in software computes."""
        return self.provider.is_software

    def configure(self, settings: GpuSettings) -> "GpuBackend":
        """The backend with other settings; a precision that its own name says stays."""
        is_named = self.settings.precision != GpuSettings().precision
        precision = self.settings.precision if is_named else settings.precision
        return replace(self, settings=replace(settings, precision=precision))

    def with_cpu(self) -> "GpuBackend":
        """The same, with the processor for what the GPU lacks."""
        return replace(self, is_helped=True)

    def prepare(self, graph: Graph, options: RunOptions) -> Session:
        """A session; what the GPU lacks is refused at once, or run on the processor and said."""
        _refuse_fixed_point(graph)
        outputs = (*graph.outputs, *options.extra_outputs)
        engine = GpuEngine(self.provider, self.settings)
        session = GpuSession(with_precision(graph, self.settings.precision, outputs), options, engine)
        gaps = session.find_gaps()
        if gaps and not self.is_helped:
            raise Problems([_make_refusal(graph, name, why) for name, why in gaps.items()])
        for line in _report_placement(graph, session, gaps):
            log.log(logging.WARNING if gaps else logging.INFO, "%s", line)
        return session


class GpuSession(CpuSession):
    """A graph on the GPU; what the engine lacks altogether runs in the reference."""

    def __init__(self, graph: Graph, options: RunOptions, engine: GpuEngine) -> None:
        self._gpu = engine
        super().__init__(graph, options, engine=engine)

    def find_gaps(self) -> dict[str, str]:
        """Nodes of the graph that do not run on the GPU, and why."""
        gaps = {
            name: "the engine has no such op" for name, how in super().placement().items() if how != "engine"
        }
        for written, why in self._gpu.on_cpu.items():
            gaps.setdefault(written.rpartition("#")[0], why)
        return gaps

    def placement(self) -> Mapping[str, str]:
        """Node name -> gpu, cpu or reference."""
        gaps = self.find_gaps()
        return {
            name: how if how != "engine" else (CPU if name in gaps else GPU)
            for name, how in super().placement().items()
        }


def _refuse_fixed_point(graph: Graph) -> None:
    fixed = [name for name, kind in graph.types.items() if kind.dtype.is_fixed_point]
    if fixed:
        raise UnsupportedFeature(
            f"the model is quantized ({len(fixed)} fixed-point tensors), the GPU backend takes float models "
            "only, as QNN's own GPU backend does",
            Where(tensor=fixed[0]),
            do="convert the model without quantization, or use --backend libQnnHtp.so or libQnnCpu.so",
        )


def _make_refusal(graph: Graph, name: str, why: str) -> UnsupportedOp:
    node = next((node for node in graph.nodes if node.name == name), None)
    kind = node.op.display_name() if node is not None else name
    return UnsupportedOp(
        f"the GPU cannot run {kind}: {why}",
        Where(op=kind, node=(node.source or node.name) if node is not None else name),
        do="run it on the CPU: --allow_cpu_ops, or the backend gpu+cpu",
    )


def _report_placement(graph: Graph, session: GpuSession, gaps: Mapping[str, str]) -> list[str]:
    kinds = {node.name: node.op.display_name() for node in graph.nodes}
    places = Counter(session.placement().values())
    whole = ", ".join(f"{count} ops on {place}" for place, count in places.items())
    reasons = Counter((kinds.get(name, name), why) for name, why in gaps.items())
    return [whole, *(f"{count} {kind} not on gpu: {why}" for (kind, why), count in reasons.items())]


def make_gpu() -> GpuBackend:
    """The GPU of this machine, in the precision of the model."""
    return GpuBackend(find_provider())


def make_gpu_fp32() -> GpuBackend:
    """Every float in 32 bits."""
    return GpuBackend(find_provider(), GpuSettings(precision="fp32"))


def make_gpu_fp16() -> GpuBackend:
    """Every float in 16 bits."""
    return GpuBackend(find_provider(), GpuSettings(precision="fp16"))


def make_gpu_hybrid() -> GpuBackend:
    """Floats stored in 16 bits, computed in 32."""
    return GpuBackend(find_provider(), GpuSettings(precision="hybrid"))


def make_webgpu() -> GpuBackend:
    """By the WebGPU plug-in, whatever else is installed."""
    return GpuBackend(find_provider("webgpu"))


def make_cuda() -> GpuBackend:
    """By CUDA."""
    return GpuBackend(find_provider("cuda"))
