"""The provider of ONNX Runtime that reaches a GPU: the WebGPU plug-in, or CUDA in a build that has it."""

import os
import re
import threading
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import onnx

from edgewright.backends.cpu.onnx_runtime import onnxruntime
from edgewright.config.gpu_settings import GpuSettings
from edgewright.core.errors import EnvironmentProblem, shown
from edgewright.core.optional import install_command, require

WEBGPU, CUDA, PROCESSOR = "WebGpuExecutionProvider", "CUDAExecutionProvider", "CPUExecutionProvider"
SOFTWARE_SWITCH = "ORT_WEBGPU_EP_ALLOW_SOFTWARE_ADAPTER"
# Drivers keep compiled kernels on disk: Mesa and NVIDIA read these when the device is made.
CACHE_VARIABLES = ("MESA_SHADER_CACHE_DIR", "__GL_SHADER_DISK_CACHE_PATH")
_POWER = {"high": "high-performance", "low": "low-power"}
# One device serves all sessions of the process, and its queue is not made for several threads.
QUEUE = threading.RLock()


@dataclass(frozen=True)
class Provider:
    """A way to the GPU."""

    name: str
    called: str
    # None for providers that are built into ONNX Runtime.
    device: Any = None
    is_software: bool = False

    def add_to(self, settings: onnxruntime.SessionOptions, gpu: GpuSettings, on_cpu: list[str]) -> list[Any]:
        """Adds itself to a session's settings; returns the providers to open it with."""
        if self.device is None:
            return [(CUDA, {"device_id": str(gpu.device_id)}), PROCESSOR]
        # Indices of ArgMax and TopK, and shapes, are of 64 bits.
        options = {"enableInt64": "1"}
        if on_cpu:
            options["forceCpuNodeNames"] = "\n".join(on_cpu)
        if gpu.performance_hint in _POWER:
            options["powerPreference"] = _POWER[gpu.performance_hint]
        settings.add_provider_for_devices([self.device], options)
        return []


def find_provider(kind: str = "") -> Provider:
    """The provider of a kind (webgpu, cuda), or the one that this machine has."""
    has_cuda = CUDA in onnxruntime.get_available_providers()
    if kind == "cuda" or (has_cuda and kind != "webgpu"):
        if not has_cuda:
            raise EnvironmentProblem(
                "this ONNX Runtime is built without CUDA",
                do="install onnxruntime-gpu in place of onnxruntime, or use --backend gpu with the plug-in: "
                f"{install_command('onnxruntime_ep_webgpu')}",
            )
        return Provider(CUDA, "CUDA")
    return _find_webgpu()


def _find_webgpu() -> Provider:
    plugin = require("onnxruntime_ep_webgpu", to="run models on a GPU")
    _register_library(plugin.get_library_path())
    devices = [device for device in onnxruntime.get_ep_devices() if device.ep_name == WEBGPU]
    if not devices:
        raise EnvironmentProblem(
            "no GPU was found on this machine",
            do=f"install its driver (Vulkan on Linux), set {SOFTWARE_SWITCH}=1 for a driver in software, or "
            "use --backend cpu",
        )
    is_software = not any("GPU" in str(device.device.type) for device in devices)
    chosen = next((item for item in devices if "GPU" in str(item.device.type)), devices[0])
    return Provider(WEBGPU, "WebGPU in software" if is_software else "WebGPU", chosen, is_software)


@cache
def _register_library(path: str) -> None:
    """Loads the plug-in, once in a process; ONNX Runtime would warn about a device in software."""
    onnxruntime.set_default_logger_severity(3)
    try:
        onnxruntime.register_execution_provider_library("edgewright-webgpu", path)
    except Exception as problem:
        raise EnvironmentProblem(
            f"the WebGPU plug-in cannot be loaded: {str(problem).splitlines()[0]}",
            do="on Linux it needs the Vulkan loader libvulkan.so.1 (Debian: libvulkan1) and the GPU's driver",
        ) from problem
    finally:
        onnxruntime.set_default_logger_severity(2)


_DEVICE_IS_MADE = threading.Event()


def point_to_cache(folder: str | None) -> bool:
    """Lets the driver keep kernels in a folder; False where the device was made before, with another one."""
    if folder is None:
        return True
    is_set = all(os.environ.get(name) == folder for name in CACHE_VARIABLES)
    if _DEVICE_IS_MADE.is_set():
        return is_set
    os.makedirs(folder, exist_ok=True)  # noqa: PTH103
    os.environ.update(dict.fromkeys(CACHE_VARIABLES, folder))
    return True


def start_device(provider: Provider, gpu: GpuSettings) -> None:
    """Makes the device, once in a process: a broken driver must not look like ops that are missing."""
    with QUEUE:
        if _DEVICE_IS_MADE.is_set():
            return
        settings = onnxruntime.SessionOptions()
        settings.log_severity_level = 4
        providers = provider.add_to(settings, gpu, [])
        try:
            session = onnxruntime.InferenceSession(
                _make_probe(), settings, providers=providers or None, enable_fallback=0
            )
            is_right = session.run(None, {"x": np.ones(4, np.float32)})[0].tolist() == [1.0] * 4
        except Exception as problem:
            # The engine's sentence stands behind the names of its own files and functions.
            why = re.search(r"[Ff]ailed to .*", str(problem))
            raise _make_start_error(provider, why.group() if why else str(problem)) from problem
        if provider.name not in session.get_providers() or not is_right:
            raise _make_start_error(provider, "it gave no result")
        _DEVICE_IS_MADE.set()


def _make_probe() -> bytes:
    kinds = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [4]) for name in "xy"]
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("Relu", ["x"], ["y"])], "probe", kinds[:1], kinds[1:]
    )
    opsets = [onnx.helper.make_opsetid("", 21)]
    content: bytes = onnx.helper.make_model(graph, opset_imports=opsets, ir_version=10).SerializeToString()
    return content


def _make_start_error(provider: Provider, why: str) -> EnvironmentProblem:
    return EnvironmentProblem(
        f"{provider.called} cannot be started on this machine: {shown(why)}",
        do="check the GPU's driver (on Linux Vulkan: vulkaninfo), or use --backend cpu",
    )
