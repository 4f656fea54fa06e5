"""Hostile samples: arrays, lists, images, sound, tables, labels."""

import os
import struct
import zipfile
import zlib
from collections.abc import Iterator

import numpy as np

from tests.hostile.artifacts import INPUT, npy, npy_header, sound, zip_of
from tests.hostile.case import Case, Content
from tests.hostile.onnx_cases import SOUND

RAW = INPUT.tobytes()
RUN = (
    "qnn-net-run",
    "--model",
    "in/m_net.json",
    "--backend",
    "cpu",
    "--input_list",
    "in/list.txt",
    "--output_dir",
    "out",
)
NET = {"in/m_net.json": sound("m_net.json"), "in/m.bin": sound("m.bin")}


def listed(
    name: str, text: str | bytes, codes: tuple[int, ...] = (3,), says: str = "", **files: Content
) -> Case:
    """A run of an input list."""
    return Case(name, RUN, {**NET, "in/list.txt": text, **files}, codes, says)


def given(name: str, file: str, content: Content, codes: tuple[int, ...] = (3,), says: str = "") -> Case:
    """A run of one input file."""
    return listed(name, f"in/{file}\n", codes, says, **{f"in/{file}": content})


def quantized(
    name: str,
    file: str,
    content: Content,
    codes: tuple[int, ...] = (2, 3),
    more: tuple[str, ...] = (),
    **files: Content,
) -> Case:
    """A quantization with these samples."""
    words = ("edgewright", "quantize", "in/m.onnx", "--data", f"in/{file}", "-o", "out/m.dlc", *more)
    return Case(name, words, {"in/m.onnx": SOUND.SerializeToString(), f"in/{file}": content, **files}, codes)


def list_input_lists() -> Iterator[Case]:
    """Lists and raw files."""
    yield given("raw: too short", "x.raw", RAW[:-4])
    yield given("raw: too long", "x.raw", RAW + b"\0")
    yield given("raw: empty", "x.raw", b"")
    yield listed("list: empty", "")
    yield listed("list: a file that is not there", "in/gone.raw\n")
    yield listed("list: a folder", "in/x.raw\n", **{"in/x.raw": lambda p: p.mkdir()})
    yield listed("list: a pipe", "in/x.raw\n", **{"in/x.raw": os.mkfifo})
    yield listed("list: a device", "/dev/zero\n")
    yield listed("list: CRLF", "in/x.raw\r\nin/x.raw\r\n", (0,), **{"in/x.raw": RAW})
    yield listed("list: spaces in paths", "x:=in/my file.raw\n", (0,), **{"in/my file.raw": RAW})
    yield listed("list: an unknown input", "nobody:=in/x.raw\n", (2, 3), **{"in/x.raw": RAW})
    yield listed("list: no name before :=", ":=in/x.raw\n", (2, 3), **{"in/x.raw": RAW})
    yield listed("list: nothing behind :=", "x:=\n", (2, 3))
    yield listed("list: too many files a line", "in/x.raw in/x.raw\n", (2, 3), **{"in/x.raw": RAW})
    yield listed("list: not UTF-8", b"in/\xff\xfe.raw\n", (3,))
    yield listed("list: NUL", b"in/x\0.raw\n", (3,))
    yield listed("list: a path of 5,000 characters", "in/" + "x" * 5000 + ".raw\n", (3, 6))
    yield listed("list: a million lines", "in/gone.raw\n" * 1_000_000, (3,))
    yield listed("list: comments", "# nothing\n% nothing\nin/x.raw\n", (0, 2, 3), **{"in/x.raw": RAW})
    nan = np.full(16, np.nan, np.float32).tobytes()
    yield given("raw: no numbers", "x.raw", nan, (0,))
    yield given("raw: of the other byte order", "x.raw", INPUT.astype(">f4").tobytes(), (0,))
    yield Case("list: is a folder", RUN, {**NET, "in/list.txt": lambda p: p.mkdir()}, (3,))
    long = ("qnn-net-run", "--model", "in/" + "m" * 5000, "--backend", "cpu", "--input_list", "in/list.txt")
    yield Case("a model path of 5,000 characters", long, {"in/list.txt": "x\n"}, (2, 3, 6))
    yield Case("a list path of 5,000 characters", (*RUN[:5], "--input_list", "in/" + "x" * 5000), NET, (3, 6))
    yield Case(
        "an output path of 5,000 characters",
        (*RUN[:-1], "x" * 5000),
        {**NET, "in/list.txt": "in/x.raw\n", "in/x.raw": RAW},
        (2, 3, 6),
    )


def list_npy() -> Iterator[Case]:
    """Arrays of one file."""
    sixteen = np.zeros((1, 1, 4, 4), np.float32)
    whole = npy(sixteen)
    yield given("npy: truncated", "x.npy", whole[:-9])
    yield given("npy: empty", "x.npy", b"")
    yield given("npy: no magic", "x.npy", b"x" * 200)
    yield given("npy: objects", "x.npy", npy(np.asarray([{}], object)), (3,))
    for label, text in {
        "a negative size": "{'descr': '<f4', 'fortran_order': False, 'shape': (-1, 4)}",
        "a size of 2^63": "{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775808,)}",
        "0 times 10^30": "{'descr': '<f4', 'fortran_order': False, 'shape': (0, 1000000000000000000000000000000)}",
        "a size that is true": "{'descr': '<f4', 'fortran_order': False, 'shape': (True, 16)}",
        "a size that is real": "{'descr': '<f4', 'fortran_order': False, 'shape': (1.5,)}",
        "a shape that is a word": "{'descr': '<f4', 'fortran_order': False, 'shape': 'abc'}",
        "a shape without brackets": "{'descr': '<f4', 'fortran_order': False, 'shape': 16}",
        "100 axes": "{'descr': '<f4', 'fortran_order': False, 'shape': (" + "1," * 100 + ")}",
        "no shape": "{'descr': '<f4', 'fortran_order': False}",
        "no descr": "{'fortran_order': False, 'shape': (16,)}",
        "an unknown type": "{'descr': '<q9', 'fortran_order': False, 'shape': (16,)}",
        "a type of 2^31 bytes": "{'descr': '|V2147483647', 'fortran_order': False, 'shape': (16,)}",
        "a nested type": "{'descr': [('a', '<f4', (1000000000, 1000000000))], 'fortran_order': False, 'shape': (16,)}",
        "code": "__import__('os').system('touch pwned')",
        "open brackets": "{'descr': '<f4', 'shape': " + "(" * 3000,
        "an open string": "{'descr': '''<f4",
        "nothing": "",
        "a table of bytes": "{b'descr': b'<f4', 'fortran_order': False, 'shape': (16,)}",
        "odd spaces": "\t  \n   {'descr': '<f4'\n  , 'shape' : (16,)",
    }.items():  # fmt: skip
        yield given(f"npy: {label}", "x.npy", npy_header(text, b"\0" * 64))
    yield given("npy: version 9.9", "x.npy", npy_header("{}", b"", (9, 9)))
    yield given("npy: a header of 4 GB", "x.npy", b"\x93NUMPY\2\0\xff\xff\xff\xff" + b" " * 100)
    yield given("npy: a header of 1 MB", "x.npy", npy_header(" " * (1 << 20), b"", (2, 0)))


def zip_with(name: str, content: bytes, **fields: int) -> bytes:
    """An archive of one member whose records lie."""
    packed = content
    crc = fields.get("crc", zlib.crc32(content))
    size, stored = fields.get("size", len(content)), fields.get("stored", len(packed))
    method, flags = fields.get("method", 0), fields.get("flags", 0)
    head = struct.pack("<HHHHHIIIHH", 20, flags, method, 0, 0x21, crc, stored, size, len(name), 0)
    local = b"PK\3\4" + head + name.encode() + packed
    entry = b"PK\1\2" + struct.pack("<H", 20) + head + struct.pack("<HHHII", 0, 0, 0, 0, 0) + name.encode()
    end = b"PK\5\6" + struct.pack("<HHHHIIH", 0, 0, 1, 1, len(entry), len(local), 0)
    return local + entry + end


def list_npz() -> Iterator[Case]:
    """Archives of arrays."""
    array = npy(np.zeros((1, 1, 4, 4), np.float32))
    whole = zip_of(("x.npy", array), method=zipfile.ZIP_DEFLATED)
    flipped = bytearray(zip_of(("x.npy", array)))
    flipped[len(flipped) // 2 - 30] ^= 0x40
    for label, content in {
        "truncated": whole[: len(whole) // 2], "empty": b"", "no archive": b"x" * 300, "no members": zip_of(),
        "encrypted": zip_with("x.npy", array, flags=1), "an unknown method": zip_with("x.npy", array, method=77),
        "a bad deflate": zip_with("x.npy", array, method=8), "a bad bzip2": zip_with("x.npy", array, method=12),
        "a bad lzma": zip_with("x.npy", array, method=14), "a wrong checksum": zip_with("x.npy", array, crc=1),
        "a flipped byte": bytes(flipped), "a size that lies": zip_with("x.npy", array, size=1 << 31),
        "a stored size that lies": zip_with("x.npy", array, stored=1 << 30),
        "a member of another name": zip_of(("a.npy", array), ("b.npy", array)),
        "a member that is no array": zip_of(("x.npy", b"no array")),
        "a name with ../": zip_of(("../x.npy", b"no array")), "an absolute name": zip_of(("/x.npy", b"no array")),
        "objects": zip_of(("x.npy", npy(np.asarray([{}], object)))),
        "two members of one name": zip_of(("x.npy", array), ("x.npy", array[:50])),
    }.items():  # fmt: skip
        yield given(f"npz: {label}", "x.npz", content)
        yield quantized(f"npz of samples: {label}", "x.npz", content)

    many = bomb((25_000_000, 1, 4, 4))
    yield quantized("npz of samples: 25 million in 1.6 MB", "x.npz", many, (3,))
    yield quantized("npz of samples: 400 million of another shape", "x.npz", bomb((400_000_000,)), (2, 3))
    yield given("npz: 400 million numbers", "x.npz", bomb((400_000_000,)))


def bomb(dims: tuple[int, ...]) -> bytes:
    """An archive whose array of zeros is a thousand times as large; its checksum is that of nothing."""
    text = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {dims}}}".ljust(118)
    head, size, block = npy_header(text), 4 * int(np.prod(dims)), 1 << 24
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    first = packer.compress(head) + packer.flush(zlib.Z_FULL_FLUSH)
    again = packer.compress(bytes(block)) + packer.flush(zlib.Z_FULL_FLUSH)
    rest = packer.compress(bytes(size % block)) + packer.flush()
    packed = first + again * (size // block) + rest
    return zip_with("x.npy", packed, crc=0, size=size + len(head), method=8)


def list_others() -> Iterator[Case]:
    """Images, sound, tables, labels."""
    folder = {
        "an image that is none": {"a.png": b"\x89PNG\r\n\x1a\n" + b"x" * 50}, "an image of nothing": {"a.jpg": b""},
        "an image of 2^31 pixels": {"a.png": b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 2**16, 2**15, 8, 2, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")},
        "a bitmap that lies": {"a.bmp": b"BM" + struct.pack("<IHHIIiiHHIIiiII", 100, 0, 0, 54, 40, 2**31 - 1, 2**31 - 1, 1, 24, 0, 0, 0, 0, 0, 0)},
        "no files": {"readme.txt": b"x"}, "two kinds": {"a.npy": npy(np.zeros((1, 4, 4), np.float32)), "b.raw": RAW},
        "a sound of nothing": {"a.wav": b""}, "a sound that lies": {"a.wav": b"RIFF\xff\xff\xff\xffWAVEfmt \x10\0\0\0\1\0\1\0\0\0\0\0\0\0\0\0\1\0\x08\0data\xff\xff\xff\xff"},
        "a sound of no channels": {"a.wav": b"RIFF\x24\0\0\0WAVEfmt \x10\0\0\0\1\0\0\0\x40\x1f\0\0\0\0\0\0\0\0\x08\0data\0\0\0\0"},
    }  # fmt: skip
    for label, files in folder.items():
        words = (
            "edgewright",
            "quantize",
            "in/m.onnx",
            "--data",
            "in/data",
            "-o",
            "out/m.dlc",
            "--layout",
            "NCHW",
        )
        inside = {f"in/data/{name}": content for name, content in files.items()}
        yield Case(
            f"a folder: {label}", words[:7], {"in/m.onnx": SOUND.SerializeToString(), **inside}, (2, 3)
        )
    for label, text in {
        "empty": b"", "no text": b"\xff\xfe\x00", "rows of other lengths": b"1,2,3\n4,5\n", "words": b"a,b\nc,d\n",
        "a path that leads out": b"path\n../../../etc/passwd.npy\n", "nan": b"x_0,x_1\nnan,inf\n", "one field of 1 MB": b"x" * (1 << 20),
        "quotes that do not end": b'"' + b"x" * 200_000, "numbers of 5,000 digits": b"9" * 5000 + b",1\n",
        "NUL": b"1,2\0,3\n",
    }.items():  # fmt: skip
        yield quantized(f"csv: {label}", "x.csv", text)
    data = zip_of(("x.npy", npy(np.zeros((4, 1, 4, 4), np.float32))))
    for label, name, text in (
        ("of 24 digits", "y.txt", b"1\n2\n3\n" + b"9" * 24 + b"\n"), ("of 5,000 digits", "y.txt", b"1\n2\n3\n" + b"9" * 5000),
        ("no text", "y.txt", b"\xff\xff"), ("of another count", "y.txt", b"1\n2\n"), ("below 0", "y.txt", b"-1\n-2\n-3\n-4\n"),
        ("mixed", "y.txt", b"1\ncat\n3\n4\n"), ("as JSON that is none", "y.json", b"{"), ("as a list", "y.json", b"[1, 2]"),
        ("deep", "y.json", b"[" * 100_000), ("boxes of words", "y.json", b'{"images": [{"id": "a"}], "annotations": [{"bbox": "x"}]}'),
        ("of 24 digits in a table", "y.csv", b"1\n2\n3\n" + b"9" * 24 + b"\n"), ("as objects", "y.npy", npy(np.asarray([{}], object))),
        ("as complex numbers", "y.npy", npy(np.zeros(4, np.complex64))), ("empty", "y.csv", b""),
        ("of 2^63", "y.npy", npy(np.full(4, 2**63, np.uint64))), ("of nan", "y.npy", npy(np.full(4, np.nan))),
        ("of 10^300", "y.npy", npy(np.full(4, 1e300))),
    ):  # fmt: skip
        words = (
            "edgewright",
            "build",
            "in/m.onnx",
            "--data",
            "in/x.npz",
            "--labels",
            f"in/{name}",
            "--target",
            "SM8650",
            "-o",
            "out",
        )
        yield Case(
            f"labels: {label}",
            words,
            {"in/m.onnx": SOUND.SerializeToString(), "in/x.npz": data, f"in/{name}": text},
            (2, 3),
        )


def chunk(kind: bytes, content: bytes) -> bytes:
    """A part of a PNG file."""
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


CASES = [*list_input_lists(), *list_npy(), *list_npz(), *list_others()]
