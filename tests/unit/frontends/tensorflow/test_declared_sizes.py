"""TensorFlow models that declare other sizes than they store: refused before anything is allocated."""

import struct

import numpy as np
import pytest

import edgewright as ew
from edgewright.core.crc32c import compute_crc32c
from edgewright.frontends.tensorflow.checkpoint import MAGIC, Checkpoint
from tests.declared_sizes import SIX, WIDE, check_refused, each
from tests.unit.frontends.tensorflow.graph_writer import (
    FLOAT,
    HALF,
    INT32,
    STRING,
    dtype,
    field,
    graph,
    node,
    placeholder,
    shape,
    varint,
)

BITS = SIX.tobytes()
# The code of the type, and the field that holds six elements.
STORED = {
    "content": (FLOAT, field(4, BITS)),
    "floats": (FLOAT, field(5, BITS)),
    "floats one by one": (FLOAT, b"".join(field(5, float(number)) for number in SIX)),
    "halves": (HALF, field(13, bytes(range(6)))),
    "integers": (INT32, field(7, bytes(range(6)))),
    "texts": (STRING, b"".join(field(8, b"a") for _ in range(6))),
}
# TensorFlow leaves out what repeats the last element: shapes of a few more are right.
FILLED = {(7,), (6, 2)}


def written(folder, code, stored, dims=(6,)):
    tensor = field(1, code) + field(2, shape(*dims)) + stored
    const = node("c", "Const", dtype=dtype(code), value=field(8, tensor))
    nodes = (placeholder("x", 1), const, node("y", "AddV2", "x", "c"))
    (folder / "m.pb").write_bytes(graph(*nodes))
    return folder / "m.pb"


@pytest.mark.parametrize("stored", list(STORED.values()), ids=list(STORED))
@each({name: size for name, size in WIDE.items() if size not in FILLED})
def test_elements_and_shapes_agree(stored, size, tmp_path):
    check_refused(lambda: ew.convert(written(tmp_path, *stored, size)), values=0)


@pytest.mark.parametrize("count", [1, 4, 20, 23, 25, 28, 48])
def test_content_that_is_too_short_or_too_long(count, tmp_path):
    check_refused(lambda: ew.convert(written(tmp_path, FLOAT, field(4, (BITS * 2)[:count]))))


@pytest.mark.parametrize("count", [23, 25, 28, 48])
def test_floats_that_are_cut_or_too_many(count, tmp_path):
    check_refused(lambda: ew.convert(written(tmp_path, FLOAT, field(5, (BITS * 2)[:count]))))


@pytest.mark.parametrize("count", [0, 1, 2])
def test_a_few_numbers_do_not_fill_any_memory(count, tmp_path):
    path = written(tmp_path, FLOAT, field(5, BITS[: 4 * count]), (1 << 20, 1 << 10))
    check_refused(lambda: ew.convert(path))


# Checkpoints


def block(*entries):
    """A block of a table: keys and values, one restart, no compression."""
    body = b"".join(varint(0) + varint(len(key)) + varint(len(value)) + key + value for key, value in entries)
    return body + struct.pack("<II", 0, 1)


def trailer(content):
    """A block that is not compressed, with its checksum."""
    value = compute_crc32c(memoryview(content + b"\0"))
    return b"\0" + struct.pack("<I", ((value >> 15 | value << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def index(entry, shards=1):
    """The table of a checkpoint with one tensor."""
    data = block((b"", field(1, shards)), (b"w", entry))
    places = block((b"w", varint(0) + varint(len(data))))
    start = len(data) + 5
    handles = varint(0) + varint(0) + varint(start) + varint(len(places))
    return (
        data + trailer(data) + places + trailer(places) + handles.ljust(40, b"\0") + struct.pack("<Q", MAGIC)
    )


def saved(folder, dims=(6,), offset=0, size=24, **more):
    entry = field(1, FLOAT) + field(2, shape(*dims)) + field(3, more.get("shard", 0))
    (folder / "m.index").write_bytes(index(entry + field(4, offset) + field(5, size), more.get("shards", 1)))
    (folder / "m.data-00000-of-00001").write_bytes(BITS)
    return folder / "m"


def test_a_checkpoint_is_read(tmp_path):
    np.testing.assert_array_equal(Checkpoint(saved(tmp_path)).array("w"), SIX)


@each(WIDE)
def test_tensors_of_a_checkpoint_have_the_size_of_their_shape(size, tmp_path):
    check_refused(lambda: Checkpoint(saved(tmp_path, size)).array("w"))


NUMBERS = (0, 1, 23, 25, 2**31, 2**32, 2**63 - 1, -1, -24, -(2**63))


@pytest.mark.parametrize("size", NUMBERS)
def test_tensors_of_a_checkpoint_end_within_their_file(size, tmp_path):
    check_refused(lambda: Checkpoint(saved(tmp_path, size=size)).array("w"))


@pytest.mark.parametrize("offset", [number for number in NUMBERS if number])
def test_tensors_of_a_checkpoint_begin_within_their_file(offset, tmp_path):
    check_refused(lambda: Checkpoint(saved(tmp_path, offset=offset)).array("w"))


@pytest.mark.parametrize("number", [number for number in NUMBERS if number != 1])
def test_files_of_a_checkpoint_are_those_that_it_counts(number, tmp_path):
    check_refused(lambda: Checkpoint(saved(tmp_path, shard=number or 1)).array("w"))
    check_refused(lambda: Checkpoint(saved(tmp_path, shards=number)).array("w"), values=0)
