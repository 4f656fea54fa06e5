"""Files of arrays that declare other sizes than they hold: refused before memory is taken."""

import io
import struct
import zipfile

import numpy as np
import pytest

from edgewright.data.labels import find_labels
from edgewright.data.open_samples import open_samples
from edgewright.data.tensor_files import ExpectedTensor, count_batch_files, read_array
from edgewright.ir.graph import Graph
from edgewright.ir.types import TensorType
from tests.declared_sizes import SIX, WIDE, check_refused, each

BITS = SIX.tobytes()
FORMS = {"npy": "x.npy", "stored": "x.npz", "compressed": "x.npz"}


def array_bytes(shape, content=BITS, descr="<f4"):
    file = io.BytesIO()
    header = {"descr": descr, "fortran_order": False, "shape": tuple(shape)}
    np.lib.format.write_array_header_1_0(file, header)
    return file.getvalue() + content


def written(folder, form, shape, **content):
    path = folder / FORMS[form]
    data = array_bytes(shape, **content)
    if form == "npy":
        path.write_bytes(data)
        return path
    method = zipfile.ZIP_DEFLATED if form == "compressed" else zipfile.ZIP_STORED
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("x.npy", data)
    return path


def graph():
    made = Graph("g")
    made.add_input("x", TensorType((1, 6)))
    return made


@pytest.mark.parametrize("form", FORMS)
@each(WIDE)
def test_headers_agree_with_what_follows(form, size, tmp_path):
    path = written(tmp_path, form, size)
    check_refused(lambda: read_array(path, "x"))
    check_refused(lambda: count_batch_files(path, ExpectedTensor("x", TensorType((1, 6)))))
    check_refused(lambda: list(open_samples(graph(), path)))
    check_refused(lambda: find_labels([], [], 6, path))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("count", [0, 1, 20, 23, 25, 48])
def test_contents_that_are_too_short_or_too_long(form, count, tmp_path):
    path = written(tmp_path, form, (1, 6), content=(BITS * 2)[:count])
    check_refused(lambda: read_array(path, "x"))
    check_refused(lambda: list(open_samples(graph(), path)))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("descr", ["<f8", "<i2", "|S1000000000", "|V2147483647", "<U536870911"])
def test_elements_of_another_size(form, descr, tmp_path):
    check_refused(lambda: read_array(written(tmp_path, form, (6,), descr=descr), "x"))


@pytest.mark.parametrize("size", [2**31, 2**40, 2**62])
def test_a_member_that_says_it_is_larger_than_its_file(size, tmp_path):
    path = written(tmp_path, "compressed", (size // 4,))
    raw = bytearray(path.read_bytes())
    entry = raw.rfind(b"PK\1\2")
    name, extra = struct.unpack_from("<HH", raw, entry + 28)
    # The size of 64 bits goes into an extra field.
    wide = struct.pack("<HHQ", 1, 8, size + 128)
    struct.pack_into("<I", raw, entry + 24, 2**32 - 1)
    struct.pack_into("<H", raw, entry + 30, extra + len(wide))
    place = entry + 46 + name
    raw[place:place] = wide
    end = raw.rfind(b"PK\5\6")
    struct.pack_into("<I", raw, end + 12, struct.unpack_from("<I", raw, end + 12)[0] + len(wide))
    path.write_bytes(raw)
    problem = check_refused(lambda: read_array(path, "x"))
    assert str(size + 128) in problem.what
