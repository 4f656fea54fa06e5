"""How a written ONNX model is opened: on this processor by ONNX Runtime, or as another engine does it."""

import platform
import re
from functools import cache
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import onnx

from edgewright.backends.base import RunOptions
from edgewright.backends.cpu.branches import with_branches
from edgewright.backends.cpu.compiled import DOMAIN, SWITCH, find_kernels
from edgewright.backends.cpu.engine_model import WrittenModel
from edgewright.backends.cpu.onnx_runtime import onnxruntime
from edgewright.core.errors import EnvironmentProblem, shown
from edgewright.core.machine_use import read_thread_limit
from edgewright.core.numbers import Array

# Takes zeros before a maximum pool for the pool's own padding, which is no number: behind a convolution the
# borders are wrong where its results are negative (ONNX Runtime 1.31).
PAD_FUSION = "Pad_Fusion"
# It makes 8 bits with one scale of real weights between encoded values, whatever precision they came from.
REQUANTIZER = "WeightBiasQuantization"
PRODUCTS = frozenset({"Conv", "ConvTranspose", "Gemm", "MatMul"})


class OpenedModel(Protocol):
    """A model that an engine can run."""

    def run(self, outputs: list[str], feed: dict[str, Any]) -> list[Array]:
        """The named outputs for the inputs."""
        ...

    def end_profiling(self) -> str:
        """The file of what was measured."""
        ...


class Engine(Protocol):
    """Opens written models."""

    @property
    def is_standard(self) -> bool:
        """Whether a model may have ops of ONNX only, none of ONNX Runtime's own."""
        ...

    def open(self, model: WrittenModel, options: RunOptions) -> OpenedModel:
        """The model, ready to run; any error is a refusal of the model."""
        ...


class DirectSession(onnxruntime.InferenceSession):  # type: ignore[misc]
    """A session without checks of names and owners: a tenth of the time of a small network.

    The names are our own, and the values are arrays.
    """

    def run(self, outputs: list[str], feed: dict[str, Any]) -> list[Array]:
        """The named outputs for the inputs."""
        results: list[Array] = self._sess.run(outputs, feed, None)
        return results


class ProcessorEngine:
    """ONNX Runtime on this machine's processor."""

    is_standard = False

    def open(self, model: WrittenModel, options: RunOptions) -> OpenedModel:
        """A session; the model's arrays are borrowed."""
        # Asked before branches hide nodes.
        settings, left_out = make_settings(model, options), list_left_out(model)
        content = with_branches(model).proto.SerializeToString()
        borrowed = share_arrays(model, settings)
        try:
            return _open_session(content, settings, left_out)
        except Exception as problem:
            # Of the pairs that this optimizer adds, another one makes uint8 out of int8 in one place of two.
            if "output_dtype" not in str(problem):
                raise
            return _open_session(content, settings, [*left_out, "QDQPropagationTransformer"])
        finally:
            del borrowed


ON_PROCESSOR = ProcessorEngine()


def make_settings(model: WrittenModel, options: RunOptions) -> onnxruntime.SessionOptions:
    """The settings of a session of ONNX Runtime, with the arrays of the model."""
    settings = onnxruntime.SessionOptions()
    if model.is_plain:
        settings.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    settings.log_severity_level = 4
    # The engine itself asks no variable: several processes on one machine would have all cores each.
    settings.intra_op_num_threads = options.threads or read_thread_limit()
    # Where weights are dequantized before a product the engine would quantize the activations too: an error
    # of a percent that nobody asked for. 1 makes it compute such products in float32.
    settings.add_session_config_entry("session.qdq_matmulnbits_accuracy_level", "1")
    if not _has_exact_products():
        settings.add_session_config_entry("session.x64quantprecision", "1")
    if any(node.domain == DOMAIN for node in model.proto.graph.node):
        _register_kernels(settings)
    if model.profile is not None:
        model.profile.switch_on(settings)
    return settings


def list_left_out(model: WrittenModel) -> list[str]:
    """The engine's optimizations that would change results."""
    is_kept_real = model.has_fixed_point or _has_real_weights(model.proto)
    return [PAD_FUSION, *([REQUANTIZER] if is_kept_real else [])]


def share_arrays(model: WrittenModel, settings: onnxruntime.SessionOptions) -> list[onnxruntime.OrtValue]:
    """Lets a session borrow the model's arrays: they must be dense, and live until the session is made."""
    values = [
        onnxruntime.OrtValue.ortvalue_from_numpy(np.ascontiguousarray(array))
        for array in model.external.values()
    ]
    if values:
        settings.add_external_initializers(list(model.external), values)
    return values


def _open_session(content: bytes, settings: onnxruntime.SessionOptions, left_out: list[str]) -> OpenedModel:
    session: OpenedModel = DirectSession(
        content, settings, providers=["CPUExecutionProvider"], disabled_optimizers=left_out
    )
    return session


def _register_kernels(settings: onnxruntime.SessionOptions) -> None:
    """The model has ops of ours: without them its nodes would be refused one by one, and mean less."""
    try:
        settings.register_custom_ops_library(str(find_kernels()))
    except Exception as problem:
        raise EnvironmentProblem(
            f"the compiled kernels of the simulation cannot be loaded: {shown(problem)}",
            do=f"start again, or set {SWITCH}=0 to run without them",
        ) from None


def _has_real_weights(model: onnx.ModelProto) -> bool:
    """Whether real weights are multiplied among encoded values: they are meant to be what they are."""
    graph = model.graph
    if not any(node.op_type == "QuantizeLinear" for node in graph.node):
        return False
    real = {item.name for item in graph.initializer if item.data_type == onnx.TensorProto.FLOAT}
    return any(node.op_type in PRODUCTS and real.intersection(node.input[1:2]) for node in graph.node)


@cache
def _has_exact_products() -> bool:
    """Whether the engine's sums of products of bytes are exact: older x86 lets pairs of them saturate."""
    if platform.machine().lower() not in {"x86_64", "amd64"}:
        return True
    described = Path("/proc/cpuinfo")
    return described.exists() and re.search(r"\bavx(512)?_vnni\b", described.read_text()) is not None
