"""Which library computes: numpy, or torch on a GPU.

The algorithms are written once, in the words that both libraries know; what only one of them knows is here.
Tensors of torch travel as `Array`, too.
"""

import sys
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from edgewright.core.errors import EnvironmentProblem, UsageError, shown
from edgewright.core.numbers import Array
from edgewright.core.optional import require

AUTO, CPU, GPU, TORCH = "auto", "cpu", "gpu", "torch"
DEVICES: dict[str, str] = {
    AUTO: "a GPU where torch has one, numpy otherwise",
    CPU: "numpy",
    GPU: "torch on the first GPU",
    TORCH: "torch on the processor",
}
# Where Linux shows GPUs of NVIDIA, AMD and Windows' guests: torch is not imported without, it takes long.
# Of steps on a GPU: a model has a few shapes.
MOST_RECORDINGS = 64
GPU_FILES = ("/dev/nvidia0", "/dev/nvidiactl", "/dev/kfd", "/dev/dxg")


class Engine:
    """Where arrays are computed."""

    def __init__(self, device: str = CPU) -> None:
        if device not in DEVICES:
            raise UsageError(f"device '{shown(device)}' is unknown, expected one of: {', '.join(DEVICES)}")
        self._torch: Any = None
        if device != CPU and (device != AUTO or _may_have_gpu()):
            self._torch = require("torch", to="compute on a GPU")
        has_gpu = self._torch is not None and self._torch.cuda.is_available()
        if device == GPU and not has_gpu:
            raise EnvironmentProblem("torch finds no GPU here", do="choose --device cpu")
        if device == AUTO and not has_gpu:
            self._torch = None
        self._place = "cuda" if has_gpu and device != TORCH else "cpu"

    @property
    def name(self) -> str:
        """What computes, in words."""
        if self._torch is None:
            return "numpy" if load_kernels() is None else "numpy and numba"
        return str(self._torch.cuda.get_device_name()) if self._place == "cuda" else "torch"

    def take(self, array: Array) -> Array:
        """An array of numpy in single precision, where it is computed with."""
        values = np.ascontiguousarray(array, np.float32)
        if self._torch is None:
            return values
        # Mapped files are read only, which torch warns of.
        values = values if values.flags.writeable else values.copy()
        tensor: Array = self._torch.from_numpy(values).to(self._place)
        return tensor


@cache
def load_kernels() -> Any:
    """Compiled loops for arrays of numpy; None where numba is not installed."""
    return import_module("edgewright.llm.rounding.kernels") if find_spec("numba") else None


def find_library(array: Array) -> Any:
    """The module whose functions take this array."""
    return np if isinstance(array, np.ndarray) else sys.modules["torch"]


def move_like(array: Array, other: Array) -> Array:
    """An array of numpy, beside another one."""
    if isinstance(other, np.ndarray):
        return array
    moved: Array = sys.modules["torch"].from_numpy(array).to(other.device)
    return moved


def cast(array: Array, dtype: str) -> Array:
    """The same numbers in another datatype."""
    if isinstance(array, np.ndarray):
        return array.astype(dtype, copy=False)
    tensor: Array = array.to(getattr(sys.modules["torch"], dtype))
    return tensor


def turn(array: Array) -> Array:
    """A matrix whose rows, which lie side by side in memory, are the columns of another."""
    turned: Array = np.ascontiguousarray(array.T) if isinstance(array, np.ndarray) else array.T.contiguous()
    return turned


def fetch(array: Array) -> Array:
    """As an array of numpy."""
    return array if isinstance(array, np.ndarray) else np.asarray(array.cpu().numpy())


def invert(values: Array) -> Array:
    """1 / values; 0 where they are 0."""
    library, is_zero = find_library(values), values == 0
    # A GPU spends its time on starting work, and does not warn of 1 / 0.
    whole = library.where(is_zero, 1.0 + 0.0 * values, values) if isinstance(values, np.ndarray) else values
    inverse: Array = library.where(is_zero, 0.0 * values, 1.0 / whole)
    return inverse


def run_recorded(
    function: Callable[..., tuple[Array, ...]], arrays: Sequence[Array], constants: tuple[int, ...]
) -> tuple[Array, ...]:
    """What a function of arrays and constants gives.

    On a GPU its many small steps are recorded once and then replayed: starting each of them takes longer than
    it runs. The function must compute on the arrays only, and always in the same steps.
    """
    if not getattr(arrays[0], "is_cuda", False):
        return function(*arrays, *constants)
    key = (function, constants, tuple((tuple(array.shape), array.dtype) for array in arrays))
    if key not in _recordings:
        if len(_recordings) >= MOST_RECORDINGS:
            _recordings.clear()
        _recordings[key] = _record(function, arrays, constants)
    inputs, graph, outputs = _recordings[key]
    for own, array in zip(inputs, arrays, strict=True):
        own.copy_(array)
    graph.replay()
    return tuple(output.clone() for output in outputs)


def _record(
    function: Callable[..., tuple[Array, ...]], arrays: Sequence[Any], constants: tuple[int, ...]
) -> Any:
    cuda = sys.modules["torch"].cuda
    inputs = [array.contiguous().clone() for array in arrays]
    # Once before, on a stream of its own: what is set up by the first call cannot be recorded.
    stream = cuda.Stream()
    stream.wait_stream(cuda.current_stream())
    with cuda.stream(stream):
        function(*inputs, *constants)
    cuda.current_stream().wait_stream(stream)
    graph = cuda.CUDAGraph()
    with cuda.graph(graph):
        outputs = function(*inputs, *constants)
    return inputs, graph, outputs


_recordings: dict[Any, Any] = {}


def _may_have_gpu() -> bool:
    if find_spec("torch") is None:
        return False
    return sys.platform != "linux" or any(Path(path).exists() for path in GPU_FILES)
