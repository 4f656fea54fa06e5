"""Opens written models on the GPU, and records which of their nodes ONNX Runtime put elsewhere."""

import logging
from dataclasses import dataclass, field
from typing import Any

import onnx

from edgewright.backends.base import RunOptions
from edgewright.backends.cpu.engine import (
    OpenedModel,
    list_left_out,
    make_settings,
    share_arrays,
)
from edgewright.backends.cpu.engine_model import WrittenModel
from edgewright.backends.cpu.onnx_runtime import onnxruntime
from edgewright.backends.cpu.profile import find_written_node
from edgewright.backends.gpu.provider import PROCESSOR, QUEUE, WEBGPU, Provider, point_to_cache, start_device
from edgewright.backends.gpu.refusals import find_false_claim
from edgewright.backends.gpu.rewrites import rewrite_for_gpu
from edgewright.config.gpu_settings import GpuSettings
from edgewright.core.numbers import Array

log = logging.getLogger(__name__)

# Python's part of ONNX Runtime would go on with the processor alone.
NO_FALLBACK = {"enable_fallback": 0}
_ASSIGNMENT = "session.record_ep_graph_assignment_info"


@dataclass
class GpuEngine:
    """ONNX Runtime with a provider for the GPU in front of the processor's."""

    provider: Provider
    settings: GpuSettings
    # Written nodes that the processor computes, by name: why.
    on_cpu: dict[str, str] = field(default_factory=dict)
    is_standard = False

    def open(self, model: WrittenModel, options: RunOptions) -> OpenedModel:
        """A session; nothing falls back without being recorded."""
        if not point_to_cache(self.settings.kernel_cache):
            log.warning("the kernel cache has no effect: the GPU was in use before with another one")
        start_device(self.provider, self.settings)
        model = rewrite_for_gpu(model)
        claims = self._list_false_claims(model)
        settings = self._make_settings(model, options)
        providers = self.provider.add_to(settings, self.settings, list(claims))
        session = self._open(model, settings, providers)
        self.on_cpu |= claims | self._list_on_cpu(session, model.proto)
        return _QueuedModel(session)

    def _list_false_claims(self, model: WrittenModel) -> dict[str, str]:
        """Nodes that WebGPU takes and fails to run."""
        if self.provider.name != WEBGPU:
            return {}
        return {node.name: why for node in model.proto.graph.node if (why := find_false_claim(node))}

    def _make_settings(self, model: WrittenModel, options: RunOptions) -> onnxruntime.SessionOptions:
        settings = make_settings(model, options)
        settings.add_session_config_entry(_ASSIGNMENT, "1")
        settings.enable_mem_reuse = self.settings.is_memory_optimized
        if not self.settings.is_node_optimized:
            settings.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        return settings

    def _open(
        self, model: WrittenModel, settings: onnxruntime.SessionOptions, providers: list[Any]
    ) -> onnxruntime.InferenceSession:
        borrowed = share_arrays(model, settings)
        content = model.proto.SerializeToString()
        left_out = list_left_out(model)
        with QUEUE:
            session = onnxruntime.InferenceSession(
                content, settings, providers=providers or None, disabled_optimizers=left_out, **NO_FALLBACK
            )
        del borrowed
        return session

    def _list_on_cpu(self, session: onnxruntime.InferenceSession, proto: onnx.ModelProto) -> dict[str, str]:
        why = f"{self.provider.called} has no kernel for it"
        reasons = {}
        for part in session.get_provider_graph_assignment_info():
            if part.ep_name != PROCESSOR:
                continue
            for node in part.get_nodes():
                written = find_written_node(node.name, proto)
                reasons[written.name if written is not None else f"{node.op_type}#"] = why
        return reasons


class _QueuedModel:
    """A session whose runs take their turn."""

    def __init__(self, session: onnxruntime.InferenceSession) -> None:
        self._session = session

    def run(self, outputs: list[str], feed: dict[str, Any]) -> list[Array]:
        with QUEUE:
            results: list[Array] = self._session.run(outputs, feed)
        return results

    def end_profiling(self) -> str:
        path: str = self._session.end_profiling()
        return path
