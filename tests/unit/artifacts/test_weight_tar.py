"""model.bin: written without copies, the same every time; read lazily, and with distrust."""

import io
import tarfile
import tracemalloc

import numpy as np
import pytest

from edgewright.artifacts.cpp.bin import open_weights, to_chunks
from edgewright.core.errors import BadInput, EdgewrightError, LimitExceeded
from edgewright.core.files import write_whole
from edgewright.core.numbers import DType
from edgewright.lower.qnn_graph import QnnTensor, TensorKind
from tests.unit.artifacts.graphs import conv_graph, every_dtype_graph


def static(name, data, dtype=DType.FLOAT_32):
    return QnnTensor(name, TensorKind.STATIC, dtype, data.shape, data=data)


def tar_of(*members, **fields):
    """A tar as another program writes it; a member is a name, a content and changes of its header."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=fields.get("format", tarfile.USTAR_FORMAT)) as tar:
        for name, content, *changes in members:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            for field, value in changes[0].items() if changes else ():
                setattr(info, field, value)
            tar.addfile(info, io.BytesIO(content))
    return file.getvalue()


def packed(values):
    """Two values a byte, the low half first."""
    halves = [int(value) & 15 for value in values.reshape(-1)] + [0]
    return bytes(low | high << 4 for low, high in zip(halves[0::2], halves[1::2], strict=False))


@pytest.mark.parametrize("make", [conv_graph, every_dtype_graph])
def test_any_tar_program_reads_what_is_written(make):
    statics = make().of_kind(TensorKind.STATIC)
    with tarfile.open(fileobj=io.BytesIO(b"".join(to_chunks(statics)))) as tar:
        assert tar.getnames() == [f"{t.name}.raw" for t in statics]
        for t in statics:
            found = tar.extractfile(f"{t.name}.raw").read()
            assert found == (packed(t.data) if t.dtype.name.endswith("POINT_4") else t.data.tobytes())


def test_the_bytes_are_those_that_python_writes_for_members_without_time_and_owner():
    found = b"".join(to_chunks([static("w", np.arange(3, dtype=np.float32))]))
    assert found == tar_of(("w.raw", np.arange(3, dtype=np.float32).tobytes()))


def test_contiguous_tensors_are_not_copied():
    data = np.zeros((64, 1 << 16), np.float32)
    tracemalloc.start()
    for chunk in to_chunks([static("w", data)]):
        if len(chunk) == data.nbytes:
            assert np.shares_memory(np.frombuffer(chunk, np.uint8), data)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 20


def test_a_large_transposed_tensor_is_put_in_order_piece_by_piece():
    # 80 MiB of one byte each, in another order than it is written
    data = np.arange(640).astype(np.uint8).repeat(1 << 17).reshape(640, 1 << 17).T
    tracemalloc.start()
    pieces = [(len(chunk), bytes(chunk[:4])) for chunk in to_chunks([static("w", data, DType.UINT_8)])]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert sum(size for size, _ in pieces[1:-2]) == data.nbytes
    assert pieces[1][1] == data[0, :4].tobytes()
    assert peak < 1 << 24


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_order_in_memory_does_not_show_in_the_file(dtype):
    data = np.arange(24, dtype=dtype).reshape(2, 3, 4)
    kind = DType.of(dtype)
    moved = np.asfortranarray(data)
    swapped = data.astype(data.dtype.newbyteorder(">"))
    plain = b"".join(to_chunks([static("w", data, kind)]))
    assert b"".join(to_chunks([static("w", moved, kind)])) == plain
    assert b"".join(to_chunks([static("w", swapped, kind)])) == plain


def test_data_that_contradicts_its_record_is_refused():
    wrong = QnnTensor("w", TensorKind.STATIC, DType.FLOAT_32, (3,), data=np.zeros(2, np.float32))
    with pytest.raises(BadInput, match=r"float32 \(2,\), the tensor needs float32 \(3,\)"):
        list(to_chunks([wrong]))


def test_a_tensor_that_32_bits_cannot_size_is_refused():
    huge = np.broadcast_to(np.float32(0), (1 << 16, 1 << 14))
    with pytest.raises(LimitExceeded, match="4294967296 bytes"):
        list(to_chunks([static("w", huge)]))


def test_arrays_outlive_the_object_that_gave_them(tmp_path):
    write_whole(tmp_path / "m.bin", to_chunks([static("w", np.arange(5, dtype=np.float32))]))
    array = open_weights(tmp_path / "m.bin").array("w", DType.FLOAT_32, (5,))
    assert array.tolist() == [0, 1, 2, 3, 4]
    assert not array.flags.writeable


def test_a_file_may_hold_any_byte_as_a_bool(tmp_path):
    (tmp_path / "m.bin").write_bytes(tar_of(("w.raw", b"\x00\x01\x02\xff")))
    assert open_weights(tmp_path / "m.bin").array("w", DType.BOOL_8, (4,)).tolist() == [
        False,
        True,
        True,
        True,
    ]


def _with_size(raw, field):
    header = bytearray(raw[:512])
    header[124:136] = field
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    return bytes(header) + raw[512:]


GOOD = tar_of(("w.raw", b"1234"))
HOSTILE = {
    "empty": (b"", "0 bytes, a tar has at least 512"),
    "short": (b"x" * 100, "100 bytes"),
    "noise": (bytes(range(256)) * 8, "no tar header at byte 0"),
    "cut": (GOOD[:1024], "has no end mark"),
    "checksum": (GOOD[:3] + b"X" + GOOD[4:], "no tar header at byte 0"),
    "folder": (tar_of(("a/w.raw", b"1")), "member 'a/w.raw' is not named"),
    "parent": (tar_of(("../w.raw", b"1")), "is not named"),
    "absolute": (tar_of(("/w.raw", b"1")), "is not named"),
    "backslash": (tar_of(("..\\w.raw", b"1")), "is not named"),
    "dots": (tar_of(("...raw", b"1")), "is not named"),
    "no-name": (tar_of((".raw", b"1")), "is not named"),
    "other-suffix": (tar_of(("w.txt", b"1")), "is not named"),
    "twice": (tar_of(("w.raw", b"1"), ("w.raw", b"2")), "two members 'w.raw'"),
    "link": (tar_of(("w.raw", b"", {"type": tarfile.SYMTYPE, "linkname": "x"})), "not a regular file"),
    "hard-link": (tar_of(("w.raw", b"", {"type": tarfile.LNKTYPE, "linkname": "x"})), "not a regular file"),
    "device": (tar_of(("w.raw", b"", {"type": tarfile.CHRTYPE})), "not a regular file"),
    "sparse": (tar_of(("w.raw", b"", {"type": tarfile.GNUTYPE_SPARSE})), "not a regular file"),
    "long-name": (tar_of(("w" * 200 + ".raw", b"1"), format=tarfile.GNU_FORMAT), "not a regular file"),
    "size-beyond-file": (_with_size(GOOD, b"00077777777\0"), "16777215 bytes, the file only"),
    "size-huge": (_with_size(GOOD, b"\x80" + b"\x00" * 3 + b"\xff" * 8), "bytes, the file only"),
    "size-negative": (_with_size(GOOD, b"\xff" * 12), "has -1 bytes"),
    "size-a-word": (_with_size(GOOD, b"notanumber\0\0"), "no tar header at byte 0"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_hostile_tar_is_one_message_that_names_the_file(case, tmp_path):
    content, message = HOSTILE[case]
    path = tmp_path / "m.bin"
    path.write_bytes(content)
    with pytest.raises(BadInput, match=message) as caught:
        open_weights(path)
    assert str(path) in str(caught.value)


def test_a_folder_in_place_of_the_file_is_refused(tmp_path):
    with pytest.raises(EdgewrightError, match="is a folder"):
        open_weights(tmp_path)
