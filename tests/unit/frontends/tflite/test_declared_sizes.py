"""TFLite models that declare other sizes than they store: refused before anything is read or allocated."""

import struct

import numpy as np
import pytest

import edgewright as ew
from edgewright.core.numbers import DType
from tests.declared_sizes import SIGNED, SIX, check_refused, each
from tests.unit.frontends.tflite.cases import single, x
from tests.unit.frontends.tflite.writer import Tensor

STORED = {
    "floats": (DType.FLOAT_32, SIX),
    "bytes": (DType.INT_8, np.ones(6, np.int8)),
    "longs": (DType.INT_64, np.ones(6, np.int64)),
    "flags": (DType.BOOL_8, np.ones(6, np.bool_)),
}


def written(folder, tensor):
    (folder / "m.tflite").write_bytes(single("a", "ADD", [x(6), tensor]).data)
    return folder / "m.tflite"


@pytest.mark.parametrize("stored", list(STORED.values()), ids=list(STORED))
@each(SIGNED)
def test_buffers_and_shapes_agree(stored, size, tmp_path):
    dtype, array = stored
    check_refused(lambda: ew.convert(written(tmp_path, Tensor(size, dtype, array))))


@pytest.mark.parametrize("count", [1, 5, 7, 12])
@pytest.mark.parametrize("stored", list(STORED.values()), ids=list(STORED))
def test_buffers_that_are_too_short_or_too_long(stored, count, tmp_path):
    dtype, array = stored
    changed = np.tile(array, 2)[:count]
    check_refused(lambda: ew.convert(written(tmp_path, Tensor((6,), dtype, changed))))


@pytest.mark.parametrize("count", [1, 2, 4, 6])
def test_nibbles_are_packed_in_pairs(count, tmp_path):
    path = written(tmp_path, Tensor((5,), DType.INT_4, np.zeros(2 * count, np.int8), (0.5,), (0,)))
    if count != 3:
        check_refused(lambda: ew.convert(path))


@pytest.mark.parametrize(
    ("offset", "size"),
    [
        (2, 10**6),
        (10**6, 24),
        (2**31, 24),
        (2**63, 24),
        (2**64 - 24, 24),
        (16, 2**64 - 1),
        (16, 23),
        (16, 25),
    ],
)
def test_weights_behind_the_flatbuffer_lie_within_the_file(offset, size, tmp_path):
    path = written(tmp_path, Tensor((6,), DType.FLOAT_32, SIX, behind=(offset, size)))
    check_refused(lambda: ew.convert(path))


def test_weights_behind_the_flatbuffer_are_read(tmp_path):
    path = written(tmp_path, Tensor((6,), DType.FLOAT_32, SIX, behind=(10**6, 24)))
    place = path.stat().st_size
    data = path.read_bytes().replace(struct.pack("<Q", 10**6), struct.pack("<Q", place))
    path.write_bytes(data + SIX.tobytes())
    (found,) = ew.convert(path).run({"x": np.zeros(6, np.float32)}).values()
    np.testing.assert_array_equal(found, SIX)


DENSE = [(0, 2, (), ()), (0, 3, (), ())]
DAMAGED = {
    "a value less": ((2, 3), DENSE, 5),
    "much that is not there": ((2**12, 2**12), [(0, 2**12, (), ())] * 2, 1),
    "more than is written out": ((2**15, 2**15), [(0, 2**15, (), ())] * 2, 1),
    "segments of more than is listed": ((2, 3), [(0, 2, (), ()), (1, 0, (0, 2**30, 2**31 - 1), (0, 1))], 6),
    "segments that fall": ((2, 3), [(0, 2, (), ()), (1, 0, (0, 5, 2), (0, 1))], 6),
    "fewer segments": ((2, 3), [(0, 2, (), ()), (1, 0, (0,), (0, 1))], 6),
    "an index of a value that is not there": ((2, 3), [(0, 2, (), ()), (1, 0, (0, 2, 4), (0, 1, 0, 1))], 3),
    "a level of another size": ((2, 3), [(0, 2**31 - 1, (), ()), (0, 3, (), ())], 6),
    "a negative level": ((2, 3), [(0, -2, (), ()), (0, -3, (), ())], 6),
}


@pytest.mark.parametrize("case", list(DAMAGED.values()), ids=list(DAMAGED))
def test_sparse_tensors_hold_what_they_declare(case, tmp_path):
    shape, levels, count = case
    sparse = Tensor(shape, DType.FLOAT_32, np.ones(count, np.float32), sparsity=((0, 1), (), levels))
    check_refused(lambda: ew.convert(written(tmp_path, sparse)), values=0)
