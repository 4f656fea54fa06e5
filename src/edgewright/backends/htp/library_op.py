"""Ops that HTP's library computes in a way of its own, as the simulation runs them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from edgewright.backends.cpu.registry import Lowering, NotOnEngine, lowers
from edgewright.backends.cpu.writer import Writer
from edgewright.core.numbers import Array, DType
from edgewright.ir.graph import Node
from edgewright.ir.op import Op, Port
from edgewright.ir.types import TensorType

# Between the signed and the unsigned integers of 8 bits.
SHIFT = 128
# Gets the op, the types of its tensors as the model has them, and stored numbers; gives stored numbers.
Kernel = Callable[["LibraryOp", Sequence[Array]], Sequence[Array]]


@dataclass(frozen=True, kw_only=True)
class LibraryOp(Op):
    """An op with the meaning that it has in HTP's library, on stored numbers."""

    inputs = (Port("in[0..m]", is_repeated=True),)
    outputs = (Port("out[0..m]", is_repeated=True),)
    is_encoder = True
    is_foldable = False

    op: Op
    kernel: Kernel
    # Types as the model has them; the simulation holds signed integers of 8 bits as unsigned ones.
    given: tuple[TensorType, ...]
    made: tuple[TensorType, ...]
    results: tuple[TensorType, ...]
    # How it is written for the engine, where that can be.
    write: Lowering | None = None

    def display_name(self) -> str:
        """That of the op."""
        return self.op.display_name()

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """As the simulation holds them."""
        del inputs
        return self.results

    def compute(self, *inputs: Array) -> tuple[Array, ...]:
        """By the kernel."""
        own = [_read_own(array, kind) for array, kind in zip(inputs, self.given, strict=True)]
        results = self.kernel(self, own)
        return tuple(map(_hold, results, self.made, self.results))


@lowers(LibraryOp)
def write_library_op(w: Writer, op: LibraryOp, inputs: list[str], node: Node) -> str | Sequence[str]:
    """As the op says; the others are computed by numpy."""
    if op.write is None:
        raise NotOnEngine
    return op.write(w, op, inputs, node)


def _read_own(array: Array, kind: TensorType) -> Array:
    is_shifted = kind.dtype == DType.SFIXED_POINT_8 and array.dtype == np.uint8
    return (array.astype(np.int16) - SHIFT).astype(np.int8) if is_shifted else array


def _hold(array: Array, made: TensorType, result: TensorType) -> Array:
    is_shifted = made.dtype == DType.SFIXED_POINT_8 and result.dtype == DType.UFIXED_POINT_8
    shifted = array.astype(np.int16) + SHIFT if is_shifted else array
    return np.asarray(shifted.astype(result.dtype.numpy))


def decode_stored(array: Array, kind: TensorType) -> Array:
    """The real numbers behind stored ones."""
    return array if kind.encoding is None else kind.encoding.decode(array)


def encode_real(array: Array, kind: TensorType) -> Array:
    """The stored numbers of real ones."""
    return array if kind.encoding is None else kind.encoding.encode(np.asarray(array, np.float32), kind.dtype)


def convert_stored(array: Array, given: TensorType, made: TensorType) -> Array:
    """Stored numbers in another encoding."""
    if (given.dtype, given.encoding) == (made.dtype, made.encoding):
        return array
    return encode_real(decode_stored(array, given), made)
