"""Integers that become floats of 11 bits and floats that become 16 bits, as HTP rounds them: tables."""

from collections.abc import Sequence

import numpy as np

from edgewright.backends.cpu.halves import LARGEST_HALF, look_up_half
from edgewright.backends.cpu.sums import look_up
from edgewright.backends.cpu.writer import Writer
from edgewright.backends.htp.half_means import widen
from edgewright.backends.htp.library_op import LibraryOp
from edgewright.backends.htp.requantize import is_byte, is_wide
from edgewright.core.numbers import Array
from edgewright.ir.graph import Graph, Node
from edgewright.ir.op import Op
from edgewright.ir.types import TensorType

BYTES, WORDS = 1 << 8, 1 << 16
# A number that is so much larger is beyond the middle between two halves where it was that middle.
BEYOND = 1 + 2.0**-23


def read_as_halves(graph: Graph, node: Node) -> None:
    """Integers become floats of 11 bits, bytes by a scale of as many; middles go away from zero."""
    given, made = (graph.types[value] for value in (node.inputs[0], node.outputs[0]))
    if is_byte(given) or is_wide(given):
        shared = {"given": (given,), "made": (made,), "results": (made,)}
        node.op = LibraryOp(op=node.op, kernel=_read_stored, write=_write_floats, **shared)


def _read_stored(op: LibraryOp, arrays: Sequence[Array]) -> list[Array]:
    return [_list_floats(op)[arrays[0]]]


def _write_floats(w: Writer, op: LibraryOp, inputs: list[str], node: Node) -> str:
    return look_up(w, inputs[0], w.graph.types[node.inputs[0]].dtype, _list_floats(op))


def _list_floats(op: LibraryOp) -> Array:
    encoding, has_bytes = op.given[0].encoding, is_byte(op.given[0])
    assert encoding is not None
    scale = np.float16(encoding.scales[0]) if has_bytes else np.float32(encoding.scales[0])
    real = (np.arange(BYTES if has_bytes else WORDS) + float(encoding.offsets[0])) * float(scale)
    return np.asarray(real * BEYOND).astype(np.float16).astype(np.float32)


def is_stored_in_words(op: Op, given: Sequence[TensorType], made: Sequence[TensorType]) -> bool:
    """Whether floats become 16 bits of one encoding."""
    del op
    return given[0].dtype.is_float and is_wide(made[0])


def store_words(op: LibraryOp, arrays: Sequence[Array]) -> list[Array]:
    """What lies beyond the floats of 11 bits is stored as the last of them."""
    halves = np.clip(np.nan_to_num(arrays[0]), -LARGEST_HALF, LARGEST_HALF).astype(np.float16)
    return [_list_words(op)[halves.view(np.uint16)]]


def write_words(w: Writer, op: LibraryOp, inputs: list[str], node: Node) -> str:
    """As a table by the bits of a float."""
    del node
    return look_up_half(w, inputs[0], _list_words(op))


def _list_words(op: LibraryOp) -> Array:
    """Numbers as vectors hold them, half a unit included, times one over the scale; the nearest step."""
    encoding = op.made[0].encoding
    assert encoding is not None
    real = np.nan_to_num(np.arange(WORDS).astype(np.uint16).view(np.float16)).astype(np.float32)
    steps = widen(real).numbers * float(np.float32(1) / np.float32(encoding.scales[0]))
    return np.clip(np.floor(steps + 0.5 - encoding.offsets[0]), 0, WORDS - 1).astype(np.uint16)
