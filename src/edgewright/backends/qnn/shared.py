"""Memory shared by a worker and its caller, so that inputs and outputs of a graph are not sent."""

import mmap
import weakref
from collections.abc import Mapping, Sequence
from contextlib import suppress
from math import prod
from multiprocessing.shared_memory import SharedMemory
from pathlib import Path

import numpy as np

from edgewright.core.errors import EnvironmentProblem
from edgewright.core.numbers import Array
from edgewright.lower.qnn_graph import QnnTensor

# Where Linux keeps shared memory as files.
FOLDER = Path("/dev/shm")
# Libraries read whole vectors of the widest kind.
ALIGNMENT = 128

# Tensor name -> where its values start in the block.
Places = dict[str, int]


class SharedBlock:
    """A block with room for tensors; it is freed with this object."""

    def __init__(self, tensors: Sequence[QnnTensor]) -> None:
        if not FOLDER.is_dir():
            raise EnvironmentProblem(
                f"shared memory needs {FOLDER}, which this machine does not have",
                do="leave --shared_buffer out",
            )
        self.places, size = _placed(tensors)
        try:
            self._memory = SharedMemory(create=True, size=max(size, 1))
        except OSError as problem:
            raise EnvironmentProblem(
                f"{size} bytes of shared memory could not be allocated: {problem.strerror}",
                do="leave --shared_buffer out, or use a smaller batch",
            ) from problem
        self.name = self._memory.name.lstrip("/")
        self.arrays = _arrays(memoryview(self._memory.buf or b""), tensors, self.places)
        self._end = weakref.finalize(self, _released, self._memory, self.arrays)

    def close(self) -> None:
        """Frees the memory."""
        self._end()


def shared_arrays(name: str, tensors: Sequence[QnnTensor], places: Mapping[str, int]) -> dict[str, Array]:
    """The tensors of a block that another process made; they live as long as these arrays."""
    # Not SharedMemory: it would remove the block when this process ends.
    with (FOLDER / name).open("r+b") as file:
        room = mmap.mmap(file.fileno(), 0)
    return _arrays(memoryview(room), tensors, places)


def _placed(tensors: Sequence[QnnTensor]) -> tuple[Places, int]:
    places: Places = {}
    end = 0
    for tensor in tensors:
        places[tensor.name] = end
        size = prod(tensor.dims) * tensor.dtype.numpy.itemsize
        end += -(-size // ALIGNMENT) * ALIGNMENT
    return places, end


def _arrays(room: memoryview, tensors: Sequence[QnnTensor], places: Mapping[str, int]) -> dict[str, Array]:
    return {
        tensor.name: np.frombuffer(room, tensor.dtype.numpy, prod(tensor.dims), places[tensor.name]).reshape(
            tensor.dims
        )
        for tensor in tensors
    }


def _released(memory: SharedMemory, arrays: dict[str, Array]) -> None:
    arrays.clear()  # numpy holds on to the mapping otherwise
    memory.unlink()
    with suppress(BufferError):
        memory.close()
