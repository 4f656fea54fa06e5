"""Hostile files of all other kinds: images, sound, tables, annotations, logs, recordings, builds, archives."""

import gzip
import io
import json
import struct
import wave
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tests.hostile.artifacts import INPUT, change, change_json, npy, sound
from tests.hostile.case import Case, Content
from tests.hostile.config_cases import SOUND, entry, listed, typed
from tests.hostile.data_cases import chunk
from tests.hostile.onnx_cases import const, h, info, model

ONNX = SOUND.SerializeToString()
HEAD = b"\x89PNG\r\n\x1a\n"


def png(width: int, height: int, content: bytes, *before: bytes, depth: int = 8, colour: int = 0) -> bytes:
    """A picture that may say of itself what it likes."""
    size = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0)
    return HEAD + chunk(b"IHDR", size) + b"".join(before) + chunk(b"IDAT", content) + chunk(b"IEND", b"")


def list_images() -> Iterator[Case]:
    """Pictures for a model of 4 by 4."""
    rows = zlib.compress(b"\0\1\2\3\4" * 4)
    text = zlib.compress(bytes(50 << 20), 9)
    animated = chunk(b"acTL", struct.pack(">II", 2**31 - 1, 0))
    for label, name, content in (
        ("rows that are missing", "a.png", png(4, 4, zlib.compress(b"\0\1\2\3\4"))), ("0 by 0", "a.png", png(0, 0, rows)), ("2^31 wide", "a.png", png(2**31 - 1, 1, rows)), ("a depth of 99", "a.png", png(4, 4, rows, depth=99)),
        ("a colour type of 5", "a.png", png(4, 4, rows, colour=5)), ("a palette that is missing", "a.png", png(4, 4, rows, colour=3)), ("a text of 50 MB", "a.png", png(4, 4, rows, chunk(b"zTXt", b"k\0\0" + text))),
        ("a profile of 50 MB", "a.png", png(4, 4, rows, chunk(b"iCCP", b"k\0\0" + text))), ("a wrong checksum", "a.png", png(4, 4, rows)[:-20] + b"\0" * 20), ("2^31 pictures", "a.png", png(4, 4, rows, animated)),
        ("a filter of 9", "a.png", png(4, 4, zlib.compress(b"\x09\1\2\3\4" * 4))), ("30,000 by 30,000", "a.png", png(30_000, 30_000, rows)), ("a JPEG of markers", "a.jpg", b"\xff\xd8" + b"\xff\xe0\0\2" * 50_000), ("a JPEG without an end", "a.jpg", b"\xff\xd8\xff\xdb\0\x43" + b"\1" * 65),
        ("a GIF of no frames", "a.gif", b"GIF89a\4\0\4\0\x80\0\0\0\0\0\xff\xff\xff;"), ("a TIFF of a loop", "a.tif", b"II*\0\x08\0\0\0\0\0\x08\0\0\0"), ("a TIFF of 2^31 rows", "a.tif", tiff(2**31 - 1)), ("an ICO of itself", "a.ico", b"\0\0\1\0\1\0\4\4\0\0\1\0\x20\0\0\1\0\0\0\0\0\0"),
        ("a PPM of 10^9", "a.ppm", b"P6 1000000000 1000000000 255\n"), ("a PSD", "a.psd", b"8BPS\0\1" + bytes(20)), ("PostScript", "a.eps", b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n(%pipe%touch pwned) (w) file\n"), ("SVG", "a.svg", b"<svg xmlns='http://www.w3.org/2000/svg'/>"),
        ("a script", "a.png", b"#!/bin/sh\ntouch pwned\n"), ("packed", "a.png", gzip.compress(bytes(1 << 20))), ("WebP that lies", "a.webp", b"RIFF\xff\xff\xff\x7fWEBPVP8X" + bytes(30)),
    ):  # fmt: skip
        words = ("edgewright", "quantize", "in/m.onnx", "--data", "in/data", "-o", "out/m.dlc")
        codes = (0, 2, 3) if label in _SOUND_IMAGES else (2, 3)
        yield Case(f"image: {label}", words, {"in/m.onnx": ONNX, f"in/data/{name}": content}, codes)


# What Pillow makes of them: rows that are missing are black, as colours without a palette are.
_SOUND_IMAGES = {
    "rows that are missing",
    "a palette that is missing",
    "a text of 50 MB",
    "a profile of 50 MB",
    "2^31 pictures",
}


def tiff(rows: int) -> bytes:
    """A picture of one strip."""
    tags = [(256, 4, 1, 4), (257, 4, 1, rows), (258, 3, 1, 8), (259, 3, 1, 1), (262, 3, 1, 1), (273, 4, 1, 8), (278, 4, 1, rows), (279, 4, 1, 16)]  # fmt: skip
    packed = b"".join(struct.pack("<HHII", *tag) for tag in tags)
    return b"II*\0\x18\0\0\0" + bytes(16) + struct.pack("<H", len(tags)) + packed + bytes(4)


def sound_file(values: bytes, width: int = 2, rate: int = 8000, channels: int = 1) -> bytes:
    """A sound as Python writes it."""
    file = io.BytesIO()
    with wave.open(file, "wb") as made:
        made.setparams((channels, width, rate, 0, "NONE", ""))
        made.writeframes(values)
    return file.getvalue()


def list_sounds() -> Iterator[Case]:
    """Sounds for a model of 32 numbers."""
    plain = sound_file(bytes(64))
    flat = type(SOUND)()
    flat.CopyFrom(SOUND)
    flat.graph.input[0].CopyFrom(info("x", (1, 32)))
    for label, content in {
        "a rate of 0": plain[:24] + bytes(8) + plain[32:], "a rate of 2^32-1": plain[:24] + b"\xff" * 8 + plain[32:], "65,535 channels": plain[:22] + b"\xff\xff" + plain[24:], "a width of 0": plain[:34] + b"\0\0" + plain[36:], "a width of 13": plain[:34] + b"\x0d\0" + plain[36:],
        "a codec of 85": plain[:20] + b"\x55\0" + plain[22:], "reals that are none": plain[:20] + b"\3\0" + plain[22:34] + b"\x20\0" + plain[36:], "no data": plain[:36], "two datas": plain + plain[36:], "data before its format": plain[:12] + plain[36:] + plain[12:36],
        "a part of odd length": plain[:12] + b"LIST\3\0\0\0abc" + plain[12:], "2^31 parts": plain[:12] + b"junk\0\0\0\0" * 100_000, "RF64": b"RF64" + plain[4:], "another byte order": b"RIFX" + plain[4:], "no samples": sound_file(b""), "half a sample": plain[:-1],
    }.items():  # fmt: skip
        words = ("edgewright", "quantize", "in/m.onnx", "--data", "in/data", "-o", "out/m.dlc")
        files = {"in/m.onnx": flat.SerializeToString(), "in/data/a.wav": content}
        yield Case(f"sound: {label}", words, files, (0, 2, 3))


def boxes(**more: Any) -> bytes:
    """Annotations as COCO spells them."""
    plain = {"images": [{"id": 1, "file_name": "0.png", "width": 4, "height": 4}], "annotations": [{"image_id": 1, "category_id": 1, "bbox": [0, 0, 2, 2], "id": 1}], "categories": [{"id": 1, "name": "a"}]}  # fmt: skip
    return json.dumps({**plain, **more}).encode()


def list_labels() -> Iterator[Case]:
    """Answers of other kinds."""

    def annotation(**more: Any) -> bytes:
        return boxes(annotations=[{"image_id": 1, "category_id": 1, "bbox": [0, 0, 2, 2], "id": 1, **more}])

    for label, name, content in (
        ("an image that is not there", "y.json", annotation(image_id=99)), ("a box of three", "y.json", annotation(bbox=[0, 0, 1])), ("a box below 0", "y.json", annotation(bbox=[0, 0, -5, -5])), ("a box of nan", "y.json", annotation(bbox=[float("nan")] * 4)), ("a box of 10^400", "y.json", b'{"images": [{"id": 1, "file_name": "0.png"}], "annotations": [{"image_id": 1, "category_id": 1, "bbox": [1e400, 0, 1, 1]}], "categories": []}'),
        ("a category of words", "y.json", annotation(category_id="cat")), ("a category of 10^30", "y.json", annotation(category_id=10**30)), ("a file with ../", "y.json", boxes(images=[{"id": 1, "file_name": "../../../etc/passwd"}])), ("two images of one id", "y.json", boxes(images=[{"id": 1, "file_name": "a"}] * 2)),
        ("a polygon bomb", "y.json", annotation(segmentation={"size": [10**6, 10**6], "counts": [10**12]})), ("100,000 boxes", "y.json", boxes(annotations=[{"image_id": 1, "category_id": 1, "bbox": [0, 0, 1, 1]}] * 100_000)), ("a list of lists", "y.json", b"[[1],[2],[3],[4]]"), ("NaN as a key", "y.json", b'{"NaN": NaN}'),
        ("of another axis", "y.npy", npy(np.zeros((4, 3, 2, 1, 1, 1), np.int64))), ("of text", "y.npy", npy(np.array(["a", "b", "c", "d"]))), ("of fields", "y.npy", npy(np.zeros(4, [("a", "i4")]))), ("of infinity", "y.npy", npy(np.full(4, np.inf))), ("of half numbers", "y.npy", npy(np.full(4, 1.5))),
        ("in a table of one column", "y.csv", b"a\nb\nc\nd\n"), ("in a table of files that are not there", "y.csv", b"gone.png,1\n" * 4), ("of a byte order mark", "y.txt", b"\xef\xbb\xbf1\n2\n3\n4\n"), ("of tabs", "y.txt", b"1\t2\t3\t4"), ("of CR", "y.txt", b"1\r2\r3\r4"), ("of 10 MB in one line", "y.txt", b"1" * (10 << 20)), ("of other digits", "y.txt", "\u0661\n\u0662\n\u0663\n\u0664\n".encode()),
        ("packed", "y.npz", gzip.compress(b"x")), ("as a program", "y.py", b"import os; os.system('touch pwned')"), ("as a pickle", "y.pkl", b"cos\nsystem\n(Vtouch pwned\ntR."),
    ):  # fmt: skip
        words = ("edgewright", "build", "in/m.onnx", "--data", "in/x.npy", "--labels", f"in/{name}", "--target", "SM8650", "-o", "out", "--dry-run")  # fmt: skip
        files = {"in/m.onnx": ONNX, "in/x.npy": npy(np.zeros((8, 1, 4, 4), np.float32)), f"in/{name}": content}  # fmt: skip
        yield Case(f"labels: {label}", words, files, (0, 2, 3))


def list_lists() -> Iterator[Case]:
    """Input lists of other spellings."""
    files = {"in/m_net.json": sound("m_net.json"), "in/m.bin": sound("m.bin"), "in/x.raw": INPUT.tobytes()}
    words = ("qnn-net-run", "--model", "in/m_net.json", "--backend", "cpu", "--input_list", "in/list.txt", "--output_dir", "out")  # fmt: skip
    for label, text in {
        "a byte order mark": b"\xef\xbb\xbfin/x.raw\n", "UTF-16": "in/x.raw\n".encode("utf-16"), "one input twice": b"x:=in/x.raw x:=in/x.raw\n", "an output that is not there": b"%nobody\nin/x.raw\n", "only a comment": b"#\n", "only outputs": b"%y\n", "itself": b"in/list.txt\n", "a home": b"~/x.raw\n",
        "a shell": b"$(id) `id`\n", "a line of 10 MB": b"x" * (10 << 20), "1,000 files in a line": b"in/x.raw " * 1000, "a tab": b"in/x.raw\tin/x.raw\n", "/proc/self/mem": b"/proc/self/mem\n", "/dev/tty": b"/dev/tty\n", "an address": b"http://127.0.0.1/x.raw\n", "a form feed": b"in/x.raw\x0c\n",
        "lines of other kinds": "in/x.raw\u2028in/x.raw\n".encode(), "two kinds of lines": b"in/x.raw\nx:=in/x.raw\n", "outputs twice": b"%y y\nin/x.raw\n",
    }.items():  # fmt: skip
        yield Case(f"list: {label}", words, {**files, "in/list.txt": text}, (0, 2, 3))


def list_tables() -> Iterator[Case]:
    """Samples in tables, and arrays of other makers."""
    words = ("edgewright", "quantize", "in/m.onnx", "--data", "in/x.csv", "-o", "out/m.dlc")
    for label, text in {
        "a formula": b"=cmd|'/c calc'!A0," * 15 + b"1\n", "other digits": ("\u0663," * 15 + "\u0663\n").encode(), "10^400": b"1e400," * 15 + b"1\n", "hexadecimal": b"0x1p3," * 15 + b"1\n", "underscores": b"1_0," * 15 + b"1\n", "semicolons": b"1;" * 15 + b"1\n", "1,000,000 columns": b"1," * 1_000_000, "a million rows": b"1\n" * 1_000_000,
        "UTF-16": "1,2\n".encode("utf-16"), "quotes in quotes": b'"""1"""' * 16, "heads twice": b"x,x\n1,2\n", "heads of nobody": b"nobody_0,nobody_1\n1,2\n", "heads of 5,000 digits": b"x_" + b"9" * 5000 + b"\n1\n", "heads below 0": b"x_-1\n1\n", "a path of /dev/zero": b"x\n/dev/zero\n", "a path of NUL": b"x\na\0b.npy\n",
    }.items():  # fmt: skip
        codes = (0,) if label == "semicolons" else (2, 3)
        yield Case(f"table: {label}", words, {"in/m.onnx": ONNX, "in/x.csv": text}, codes)


HEAD_LINE = b'{"call": "saver", "version": 1, "source_names": {}}\n'


def recorded(calls: bytes) -> dict[str, Content]:
    """What the Saver writes."""
    from edgewright.backends.saver.recording import CALLS, TENSORS

    return {f"in/s/{CALLS}": calls, f"in/s/{TENSORS}": bytes(64)}


def graph_of(**fields: Any) -> bytes:
    """The calls that make a graph of one tensor."""
    tensor = {"call": "tensorCreateGraphTensor", "name": "w", "kind": 4, "dtype": 0x0232, "dims": [4], "data": [0, 16], **fields}  # fmt: skip
    return HEAD_LINE + b'{"call": "graphCreate", "name": "g"}\n' + json.dumps(tensor).encode() + b"\n"


def list_logs() -> Iterator[Case]:
    """Profiling logs, recordings, builds."""
    view = ("qnn-profile-viewer", "--input_log", "in/p.log", "--output", "out/p.html")
    for label, content in {
        "a table of nothing": b"Msg Timestamp,Message,Time,Unit of Measurement,Timing Source,Event Level,Event Identifier\n", "times of words": b"Msg Timestamp,Message,Time,Unit of Measurement,Timing Source,Event Level,Event Identifier\n1,EXECUTE,many,US,BACKEND,ROOT,x\n",
        "times of 5,000 digits": b"Msg Timestamp,Message,Time,Unit of Measurement,Timing Source,Event Level,Event Identifier\n1,EXECUTE," + b"9" * 5000 + b",US,BACKEND,ROOT,x\n", "times below 0": b"Msg Timestamp,Message,Time,Unit of Measurement,Timing Source,Event Level,Event Identifier\n1,EXECUTE,-5,US,BACKEND,ROOT,x\n",
        "markup": b"Msg Timestamp,Message,Time,Unit of Measurement,Timing Source,Event Level,Event Identifier\n1,EXECUTE,5,US,BACKEND,ROOT,<script>alert(1)</script>\n", "a chunk of 2^64": b"QNNP" + b"\xff" * 64, "zeros": bytes(4096), "a JSON of nothing": b"{}", "events of 10^30": b'{"version": 1, "events": [{"time": 1e30}]}',
    }.items():  # fmt: skip
        yield Case(f"log: {label}", view, {"in/p.log": content}, (0, 2, 3, 4))
    replay = ("edgewright", "replay", "in/s", "--backend", "cpu", "-o", "out")
    for label, files in {
        "nothing": {"in/s/readme": b""}, "no JSON": recorded(b"int main(){"), "not text": recorded(b"\xff\0" * 99), "brackets": recorded(b"[" * 100_000), "numbers": recorded(b"7\n7\n"), "no head": recorded(b'{"call": "graphCreate", "name": "g"}'),
        "a version of lists": recorded(b'{"call": "saver", "version": [], "source_names": {}}'), "two graphs": recorded(HEAD_LINE + b'{"call": "graphCreate", "name": "a"}\n{"call": "graphCreate", "name": "b"}'), "a tensor of 2^62": recorded(graph_of(dims=[1 << 62])), "a tensor below 0": recorded(graph_of(dims=[-4])), "a place outside": recorded(graph_of(data=[1 << 40, 16])),
        "a place below 0": recorded(graph_of(data=[-16, 16])), "a type of nobody": recorded(graph_of(dtype=9999)), "a kind of nobody": recorded(graph_of(kind="evil")), "an encoding of nobody": recorded(graph_of(encoding={"evil": 1})), "an encoding of scale 0": recorded(graph_of(encoding={"scales": [0.0], "offsets": [0]})), "a source name of lists": recorded(b'{"call": "saver", "version": 1, "source_names": []}\n{"call": "graphCreate", "name": "g"}'),
        "an op of nobody": recorded(graph_of() + b'{"call": "graphAddNode", "name": "n", "package": "../..", "type": "Evil", "scalar_params": {}, "tensor_params": {}, "inputs": ["w"], "outputs": ["w"]}\n'), "no ops": recorded(graph_of()), "a run of nobody": recorded(graph_of() + b'{"call": "graphExecute", "inputs": {"nobody": [0, 16]}}\n'), "no tensors": {"in/s/saver_calls.jsonl": HEAD_LINE},
    }.items():  # fmt: skip
        yield Case(f"recording: {label}", replay, files, (2, 3, 4))
    builds = ("edgewright", "compare-builds", "in/a", "in/b", "-o", "out/c.html")
    for label, content in {
        "nothing": b"", "a list": b"[]", "words": b'{"verdict": 7, "figures": "x"}', "deep": b"[" * 100_000, "NaN": b'{"verdict": NaN}', "markup": b'{"model": "<script>alert(1)</script>"}', "a null": b"null", "not UTF-8": b"\xff",
    }.items():  # fmt: skip
        for name in ("report.json", "build.json"):
            files = {f"in/{side}/{name}": content for side in "ab"}
            yield Case(f"build: {label} as {name}", builds, files, (2, 3))


def list_archives() -> Iterator[Case]:
    """DLC, weights and contexts once more: fields that lie inside sound archives."""
    run = ("qnn-net-run", "--model", "in/m.dlc", "--backend", "cpu", "--input_list", "in/list.txt", "--output_dir", "out")  # fmt: skip
    data = {"in/list.txt": "in/x.raw\n", "in/x.raw": INPUT.tobytes()}

    def members(edit: Callable[[dict[str, bytes]], object]) -> Content:
        def rewrite(content: bytes) -> bytes:
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                files = {name: archive.read(name) for name in archive.namelist()}
            edit(files)
            out = io.BytesIO()
            with zipfile.ZipFile(out, "w") as archive:
                for name, value in files.items():
                    archive.writestr(name, value)
            return out.getvalue()

        return change("m.dlc", rewrite)

    def change_each(edit: Callable[[bytes], bytes]) -> Content:
        return members(lambda files: files.update({name: edit(value) for name, value in files.items()}))

    for label, content in {
        "all members empty": change_each(lambda d: b""), "all members halved": change_each(lambda d: d[: len(d) // 2]), "all members doubled": change_each(lambda d: d * 2), "all words 2^32-1": change_each(lambda d: b"\xff" * len(d)), "zeros": change_each(lambda d: bytes(len(d))), "backwards": change_each(lambda d: d[::-1]),
        "a member more": members(lambda f: f.update({"../../up": b"x"})), "weights gone": members(lambda f: [f.pop(n) for n in list(f) if "param" in n]), "only the first": members(lambda f: [f.pop(n) for n in list(f)[1:]]), "members exchanged": members(lambda f: f.update(dict(zip(list(f), list(f.values())[::-1], strict=True)))),
        "10,000 members": members(lambda f: f.update({f"x{n}": b"" for n in range(10_000)})), "a comment of 64 kB": change("m.dlc", lambda d: d[:-2] + b"\xff\xff" + b"x" * 65535), "garbage before": change("m.dlc", lambda d: b"x" * 1000 + d), "garbage behind": change("m.dlc", lambda d: d + b"x" * 1000),
    }.items():  # fmt: skip
        codes = (0, 3, 4) if label in _SOUND_ARCHIVES else (3, 4)
        yield Case(f"DLC: {label}", run, {**data, "in/m.dlc": content}, codes)
        for tool, words in {"quantized": ("qairt-quantizer", "--input_dlc", "in/m.dlc", "--output_dlc", "out/q.dlc", "--input_list", "in/list.txt"), "viewed": ("edgewright", "view", "in/m.dlc", "--export", "out/v.html")}.items():  # fmt: skip
            yield Case(f"DLC {tool}: {label}", words, {**data, "in/m.dlc": content}, codes)


_SOUND_ARCHIVES = {
    "all members doubled",
    "a member more",
    "10,000 members",
    "a comment of 64 kB",
    "garbage before",
    "garbage behind",
}


def list_graphs() -> Iterator[Case]:
    """net.json whose graph is no graph."""
    run = ("qnn-net-run", "--model", "in/m_net.json", "--backend", "cpu", "--input_list", "in/list.txt", "--output_dir", "out")  # fmt: skip
    data = {"in/list.txt": "in/x.raw\n", "in/x.raw": INPUT.tobytes(), "in/m.bin": sound("m.bin")}

    def nodes(tree: dict) -> dict:
        return tree["graph"]["nodes"]

    def tensors(tree: dict) -> dict:
        return tree["graph"]["tensors"]

    def first(tree: dict) -> dict:
        return next(iter(nodes(tree).values()))

    for label, edit in {
        "a cycle": lambda t: first(t).update(input_names=first(t)["output_names"]), "a tensor made twice": lambda t: nodes(t).update(again=dict(first(t))), "names of 1 MB": lambda t: nodes(t).update({"n" * (1 << 20): dict(first(t))}), "10,000 copies of a node": lambda t: nodes(t).update({f"n{n}": dict(first(t)) for n in range(10_000)}),
        "two ids": lambda t: [v.update(id=7) for v in tensors(t).values()], "an id of words": lambda t: [v.update(id="x") for v in tensors(t).values()], "ids of 2^40": lambda t: [v.update(id=1 << 40) for v in tensors(t).values()], "a tensor of nulls": lambda t: tensors(t).update(x=None), "scalars of lists": lambda t: first(t).update(scalar_params={"group": []}),
        "parameters of nobody": lambda t: first(t)["scalar_params"].update(nonsense={"306": 7}), "a stride of 0": lambda t: first(t)["tensor_params"].update(stride={"s": {"dims": [2], "data_type": 306, "data": [0, 0]}}), "a type of nothing": lambda t: first(t).update(type=""), "a type of 1 MB": lambda t: first(t).update(type="x" * (1 << 20)),
        "a package of numbers": lambda t: first(t).update(package=7), "rank 99": lambda t: [v.update(dims=[1] * 99) for v in tensors(t).values()], "dims of true": lambda t: [v.update(dims=[True, True, True, True]) for v in tensors(t).values()], "no ops": lambda t: t["graph"].update(nodes={}), "numbers of 10^400": lambda t: t.update(x=10**400),
        "a converter_command of markup": lambda t: t.update({"converter_command": "<script>" * 1000}), "a model.bin elsewhere": lambda t: t.update({"model.bin": "../../etc/passwd"}), "a model.cpp elsewhere": lambda t: t.update({"model.cpp": "/etc/passwd"}),
    }.items():  # fmt: skip
        codes = (0, 3, 4) if label in _SOUND_GRAPHS else (3, 4)
        yield Case(f"net.json: {label}", run, {**data, "in/m_net.json": change_json(edit)}, codes)


_SOUND_GRAPHS = {"two ids", "ids of 2^40", "an id of words", "numbers of 10^400", "a converter_command of markup", "a model.bin elsewhere", "a model.cpp elsewhere"}  # fmt: skip


def list_encodings() -> Iterator[Case]:
    """Encodings of weights and activations of a convolution."""
    proto = model([h.make_node("Conv", ["x", "w"], ["mid"]), h.make_node("Relu", ["mid"], ["y"])], weights=[const("w", np.ones((3, 1, 3, 3), np.float32))]).SerializeToString()  # fmt: skip
    words = ("qairt-converter", "-i", "in/m.onnx", "-o", "out/m.dlc", "--quantization_overrides", "in/e.json", "--float_fallback")  # fmt: skip

    def weights(*items: Any, name: str = "w") -> dict[str, Any]:
        return {"activation_encodings": {}, "param_encodings": {name: list(items)}}

    def new(**more: Any) -> dict[str, Any]:
        item = {"name": "w", "enc_type": "PER_CHANNEL", "dtype": "INT", "bw": 8, "is_sym": True, "scale": [0.1] * 3, "offset": [-128] * 3, **more}  # fmt: skip
        return {"version": "1.0.0", "activation_encodings": [], "param_encodings": [item]}

    for label, tree in {
        "two channels of three": weights(entry(), entry()), "four channels of three": weights(*[entry()] * 4), "channels of other widths": weights(entry(), entry(bitwidth=16), entry()), "a channel that is null": weights(entry(), None, entry()), "an activation as a weight": weights(entry(), name="mid"), "a weight as an activation": {"activation_encodings": {"w": [entry()]}, "param_encodings": {}},
        "a range that has no zero": {"activation_encodings": {"mid": [{"bitwidth": 8, "min": 5.0, "max": 6.0}]}, "param_encodings": {}}, "min and max of 10^38": weights({"bitwidth": 8, "min": -3e38, "max": 3e38}), "min is max": weights({"bitwidth": 8, "min": 0.0, "max": 0.0}), "is_symmetric of maybe": weights(entry(is_symmetric="maybe")), "min as a list": weights(entry(min=[0])),
        "a scale that contradicts": weights(entry(scale=5.0, min=0.0, max=1.0)), "an offset of a half": weights(entry(offset=0.5)), "scales of 2": new(scale=[0.1] * 2, offset=[0] * 2), "scales of text": new(scale=["a"] * 3), "a symmetric one with offsets": new(offset=[-1, -2, -3]), "an axis of words": new(axis="x"), "a name of numbers": new(name=7), "no name": new(name=""),
        "a dtype of FLOAT with a scale": new(dtype="FLOAT", bw=16), "blocks that do not divide": new(enc_type="PER_BLOCK", block_size=2, scale=[0.1] * 3), "LPBQ factors of words": new(enc_type="LPBQ", bw=8, compressed_bw=4, block_size=1, per_block_int_scale=["x"]), "LPBQ factors below 0": new(enc_type="LPBQ", bw=8, compressed_bw=4, block_size=1, per_block_int_scale=[-1] * 3), "LPBQ of 2^40 factors": new(enc_type="LPBQ", bw=8, compressed_bw=4, block_size=1, per_block_int_scale=[1 << 40] * 3),
        "version 1 with tables": {**weights(entry()), "version": "1.0.0"}, "version 0 with lists": {**listed(), "version": "0.6.1"}, "version 2 with version 1": {**listed(), "version": "2.0.0"}, "both versions": {**listed(), **typed()}, "10,000 names of nobody": {"activation_encodings": {f"n{n}": [entry()] for n in range(10_000)}, "param_encodings": {}}, "version 2 of 4-D scales": typed(y_scale=[[[[0.1]]]]), "version 2 without a scale": {"version": "2.0.0", "encodings": [{"name": "mid", "output_dtype": "uint8"}]},
        "version 2 of unequal rows": typed(axis=0, block_size=1, y_scale=[[0.1], [0.1, 0.2]], y_zero_point=None), "version 2, float16 with a scale": typed(output_dtype="float16"), "version 2, a name twice": {"version": "2.0.0", "encodings": typed()["encodings"] * 2}, "version 2, axis of true": typed(axis=True, y_scale=[0.1] * 3, y_zero_point=[0] * 3), "encodings that are a table": {"version": "2.0.0", "encodings": {"mid": {}}},
    }.items():  # fmt: skip
        codes = (0, 2, 3, 4) if label in _SOUND_ENCODINGS else (2, 3, 4)
        yield Case(f"encodings: {label}", words, {"in/m.onnx": proto, "in/e.json": json.dumps(tree)}, codes)


# Keys that a kind does not have are not read; blocks may be larger than the axis.
_SOUND_ENCODINGS = {"an axis of words", "a dtype of FLOAT with a scale", "version 2, float16 with a scale", "blocks that do not divide", "10,000 names of nobody", "a range that has no zero", "min and max of 10^38", "min is max", "an activation as a weight", "a weight as an activation"}  # fmt: skip


def list_checkpoints() -> Iterator[Case]:
    """Folders of language models, once more, and texts."""
    from tests.hostile.llm_cases import QUANTIZE, folder

    def config(**fields: Any) -> Callable[[bytes], bytes]:
        return lambda data: json.dumps({**json.loads(data), **fields}).encode()

    for label, fields in {
        "rope_theta 0": {"rope_theta": 0}, "rope_theta of words": {"rope_theta": "x"}, "rope factors of nan": {"rope_scaling": {"type": "longrope", "short_factor": [float("nan")] * 4, "long_factor": [1.0] * 4}}, "rope factors of another count": {"rope_scaling": {"type": "longrope", "short_factor": [1.0], "long_factor": [1.0]}}, "kv heads above heads": {"num_key_value_heads": 1000}, "kv heads 0": {"num_key_value_heads": 0},
        "a partial factor of 7": {"partial_rotary_factor": 7}, "a head of 10^9": {"head_dim": 10**9}, "tied of words": {"tie_word_embeddings": "maybe"}, "epsilon below 0": {"rms_norm_eps": -1}, "epsilon of a list": {"rms_norm_eps": []}, "positions of 2^60": {"max_position_embeddings": 1 << 60}, "positions of -1": {"max_position_embeddings": -1}, "intermediate 0": {"intermediate_size": 0}, "a vocabulary of 1": {"vocab_size": 1}, "a vocabulary of true": {"vocab_size": True}, "hidden of reals": {"hidden_size": 64.5}, "a type of lists": {"torch_dtype": []}, "bos of 10^12": {"bos_token_id": 10**12}, "eos of lists in lists": {"eos_token_id": [[[1]]]}, "an architecture of nothing": {"architectures": []}, "sliding of -1": {"sliding_window": -1},
    }.items():  # fmt: skip
        yield Case(f"config.json: {label}", QUANTIZE, folder(config__json=config(**fields)), (0, 3, 4) if label in _SOUND_CONFIGS else (3, 4))  # fmt: skip
    for label, text in {"empty": b"", "one letter": b"a", "not UTF-8": b"\xff\xfe\xff", "NUL": bytes(1000), "10 MB of one letter": b"a" * (10 << 20), "combining letters": "e\u0301".encode() * 100_000}.items():  # fmt: skip
        words = (*QUANTIZE[:4], "--recipe", "balanced", "--calib", "in/t.txt", "--calib_tokens", "64", *QUANTIZE[-2:])  # fmt: skip
        yield Case(f"calibration: {label}", words, {**folder(), "in/t.txt": text}, (0, 2, 3))


def list_answers() -> Iterator[Case]:
    """What the files beside a language model say when it is asked to go on with a text."""
    from tests.hostile.llm_cases import folder

    def with_file(name: str, content: bytes) -> Callable[[Path], None]:
        def make(path: Path) -> None:
            folder()["in/m"](path)  # type: ignore[operator]
            (path / name).write_bytes(content)

        return make

    run = ("edgewright", "llm", "run", "in/m", "--prompt", "a b", "--tokens", "2")
    for label, name, content in (
        ("ends of lists in lists", "generation_config.json", b'{"eos_token_id": [[1]]}'), ("ends of words", "generation_config.json", b'{"eos_token_id": "x"}'), ("deep", "generation_config.json", b"[" * 100_000), ("a list", "generation_config.json", b"[]"), ("a model of lists", "genai_config.json", b'{"model": []}'),
        ("a beginning of numbers", "tokenizer_config.json", b'{"bos_token": 7}'), ("no JSON", "tokenizer_config.json", b"{"), ("a template without an end", "tokenizer_config.json", b'{"chat_template": "{% for x in range(10**9) %}x{% endfor %}"}'),
    ):  # fmt: skip
        yield Case(f"answers: {label} in {name}", run, {"in/m": with_file(name, content)}, (0, 2, 3, 4, 6))
    for label, content in {"a list": b"[]", "deep": b"[" * 100_000, "numbers": b'{"bos_token": {"content": []}}', "no JSON": b"{"}.items():  # fmt: skip
        words = ("edgewright", "llm", "quantize", "in/m", "--recipe", "fast", "--to", "openvino", "-o", "out/ov")  # fmt: skip
        yield Case(f"OpenVINO's tokenizer: {label}", words, {"in/m": with_file("tokenizer_config.json", content)}, (0, 2, 3, 4))  # fmt: skip


_SOUND_CONFIGS = {"positions of 2^60", "tied of words", "a type of lists", "bos of 10^12", "eos of lists in lists", "an architecture of nothing", "sliding of -1"}  # fmt: skip

CASES = [
    *list_images(),
    *list_sounds(),
    *list_labels(),
    *list_lists(),
    *list_tables(),
    *list_logs(),
    *list_archives(),
    *list_graphs(),
    *list_encodings(),
    *list_checkpoints(),
    *list_answers(),
]
