"""Finds a backend by the name of its QNN library, by a path to it, or by a short name."""

import logging
import re
from importlib import import_module
from pathlib import PureWindowsPath

from edgewright.backends.base import Backend, TakesCpu
from edgewright.config.net_run import ENGINES
from edgewright.core.errors import UnsupportedFeature, UsageError, shown
from edgewright.core.words import did_you_mean

log = logging.getLogger(__name__)

# QNN's backends by the word in their library's name -> where ours is; "" where there is none.
BACKENDS: dict[str, str] = {
    "Cpu": "edgewright.backends.cpu:CpuBackend",
    "Htp": "edgewright.backends.htp.provider:htp_backend",
    "Gpu": "edgewright.backends.gpu.backend:make_gpu",
    # Guide 4336: deprecated; the same processor, prepared on the device.
    "HtpAltPrepStub": "edgewright.backends.htp.provider:htp_backend",
    "Hta": "",
    "Dsp": "edgewright.backends.listed:make_dsp",
    "DspV65Stub": "edgewright.backends.listed:make_dsp",
    "DspV66Stub": "edgewright.backends.listed:make_dsp",
    "Lpai": "edgewright.backends.listed:make_lpai",
    "Saver": "edgewright.backends.saver:SaverBackend",
}
# Processors that only devices have; no library exists for other machines.
ON_DEVICES = {
    # Guide 1466 to 1471, 4339 and 11857 name its library and want quantized models, but list no ops: there is
    # nothing to simulate.
    "Hta": "the Hexagon Tensor Accelerator",
}
# Our own names that choose a provider; plain `htp` is the genuine library if installed.
PROVIDERS = {
    "htp-sim": "edgewright.backends.htp:HtpSimBackend",
    "htp-sim-fast": "edgewright.backends.htp:HtpFastSimBackend",
    "htp-native": "edgewright.backends.qnn.backend:HtpNativeBackend",
    "cpu-openvino": "edgewright.backends.cpu.openvino_engine:OpenVinoBackend",
    "cpu-openvino-bf16": "edgewright.backends.cpu.openvino_engine:make_bf16",
    "cpu-auto": "edgewright.backends.cpu.openvino_engine:FasterEngineBackend",
    "gpu-fp32": "edgewright.backends.gpu.backend:make_gpu_fp32",
    "gpu-fp16": "edgewright.backends.gpu.backend:make_gpu_fp16",
    "gpu-hybrid": "edgewright.backends.gpu.backend:make_gpu_hybrid",
    "gpu-webgpu": "edgewright.backends.gpu.backend:make_webgpu",
    "gpu-cuda": "edgewright.backends.gpu.backend:make_cuda",
}
# Suffix of a backend: the CPU runs what that one lacks.
WITH_CPU = "+cpu"
_LIBRARY = re.compile(r"(?:lib)?Qnn(\w+)\.(?:so|dll)(?:\.\d+)*", re.IGNORECASE)


def find_backend(name: str) -> Backend:
    """The backend that libQnnCpu.so, QnnCpu.dll, a path to one of them, or cpu stands for.

    ``htp+cpu``: the CPU runs what the backend lacks.
    """
    if name.lower().endswith(WITH_CPU) and name.lower() != WITH_CPU:
        return add_cpu(find_backend(name[: -len(WITH_CPU)]))
    # Both separators: a Windows path may reach a Linux machine in a recorded command.
    last = PureWindowsPath(name).name
    library = _LIBRARY.fullmatch(last)
    if last.lower() in PROVIDERS:
        return _made(PROVIDERS[last.lower()])
    word = library.group(1) if library else last
    known = {spelled.lower(): spelled for spelled in BACKENDS}
    found = known.get(word.lower())
    if found is None:
        spellings = [*(f"libQnn{spelled}.so" for spelled in BACKENDS), *known, *PROVIDERS]
        raise UsageError(
            f"backend '{shown(name)}' is unknown, expected a QNN library such as libQnnCpu.so, or cpu",
            do=did_you_mean(last, spellings, "use --backend libQnnCpu.so"),
        )
    if found in ON_DEVICES:
        raise UnsupportedFeature(
            f"backend '{found}' is {ON_DEVICES[found]}, which only runs on a device",
            do="use --backend libQnnHtp.so for quantized models, or libQnnCpu.so",
        )
    if found == "HtpAltPrepStub":
        log.warning("libQnnHtpAltPrepStub.so is deprecated: libQnnHtp.so is used in its place")
    return _made(BACKENDS[found])


def choose_engine(backend: str, engine: str) -> str:
    """The backend that runs on the engine (`ENGINES`), which is for the CPU backend only."""
    if engine == ENGINES[0]:
        return backend
    if find_backend(backend).name != "cpu":
        raise UsageError(
            f"--engine {engine} is for the CPU backend, the backend is '{shown(backend)}'",
            do="use --backend cpu, or leave --engine out",
        )
    return f"cpu-{engine}"


def add_cpu(backend: Backend) -> Backend:
    """The backend with a fallback: the CPU runs what it lacks."""
    if isinstance(backend, TakesCpu):
        return backend.with_cpu()
    from edgewright.backends.split import SplitBackend

    return SplitBackend(backend)


def _made(home: str) -> Backend:
    module, _, kind = home.partition(":")
    backend: Backend = getattr(import_module(module), kind)()
    return backend
