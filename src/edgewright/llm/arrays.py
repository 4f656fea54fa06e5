"""Which library computes: numpy, or torch on a GPU.

The algorithms are written once, in the words that both libraries know; what only one of them knows is here.
Tensors of torch travel as `Array`, too.
"""

import sys
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
            return "numpy"
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


def fetch(array: Array) -> Array:
    """As an array of numpy."""
    return array if isinstance(array, np.ndarray) else np.asarray(array.cpu().numpy())


def invert(values: Array) -> Array:
    """1 / values; 0 where they are 0."""
    library = find_library(values)
    is_zero = values == 0
    inverse: Array = library.where(
        is_zero, 0.0 * values, 1.0 / library.where(is_zero, 1.0 + 0.0 * values, values)
    )
    return inverse


def _may_have_gpu() -> bool:
    if find_spec("torch") is None:
        return False
    return sys.platform != "linux" or any(Path(path).exists() for path in GPU_FILES)
