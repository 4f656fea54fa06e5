"""Hostile artifacts: model.cpp and its weights, net.json, DLC, context binaries, model libraries."""

import io
import struct
import tarfile
from collections.abc import Callable, Iterator
from typing import Any

from tests.hostile.artifacts import INPUT, change, change_json, convert_small, sound, zip_of
from tests.hostile.case import Case, Content

FILES: dict[str, Content] = {"in/list.txt": "in/x.raw\n", "in/x.raw": INPUT.tobytes()}
TAIL = ("--backend", "cpu", "--input_list", "in/list.txt", "--output_dir", "out")
NET = ("qnn-net-run", "--model", "in/m_net.json", *TAIL)
DLC = ("qnn-net-run", "--model", "in/m.dlc", *TAIL)
CONTEXT = ("qnn-net-run", "--retrieve_context", "in/m.bin", *TAIL)


def list_net_json() -> Iterator[Case]:
    """The JSON of a model, and its weights."""

    def edit(name: str, change_tree: Callable[[dict], object], codes: tuple[int, ...] = (3, 4)) -> Case:
        files = {**FILES, "in/m_net.json": change_json(change_tree), "in/m.bin": sound("m.bin")}
        return Case(f"net.json: {name}", NET, files, codes)

    def tensors(tree: dict) -> list[dict]:
        return list(tree["graph"]["tensors"].values())

    def nodes(tree: dict) -> list[dict]:
        return list(tree["graph"]["nodes"].values())

    yield edit("no graph", lambda t: t.pop("graph"))
    yield edit("no nodes", lambda t: t["graph"].pop("nodes"))
    yield edit("no tensors", lambda t: t["graph"].pop("tensors"))
    yield edit("tensors of a list", lambda t: t["graph"].update(tensors=[]))
    for dims in ([-1], [1 << 62], [10**6, 10**6], ["a"], None, [0], [1.5]):
        yield edit(f"dims {dims}", lambda t, d=dims: [item.update(dims=d) for item in tensors(t)])
    for code in (999, -1, "x", None):
        yield edit(f"data_type {code}", lambda t, c=code: tensors(t)[0].update(data_type=c))
    for kind in (99, "x"):
        yield edit(f"tensor type {kind}", lambda t, k=kind: tensors(t)[0].update(type=k))
    yield edit("an unknown op", lambda t: nodes(t)[0].update(type="NoSuchOp"))
    yield edit("a package with ../", lambda t: nodes(t)[0].update(package="../../x", type="NoSuchOp"))
    yield edit("inputs that are not there", lambda t: nodes(t)[0].update(input_names=["nobody"]))
    yield edit("outputs that are not there", lambda t: nodes(t)[0].update(output_names=["nobody"]))
    yield edit("no inputs", lambda t: nodes(t)[0].update(input_names=[]))
    yield edit("no parameters", lambda t: [n.update(tensor_params={}, scalar_params={}) for n in nodes(t)])
    yield edit("parameters of a list", lambda t: nodes(t)[0].update(tensor_params=[]))

    def scale(tree: dict, **more: Any) -> None:
        for item in tensors(tree):
            item.update(
                data_type=0x0408,
                quant_params={
                    "definition": 1,
                    "encoding": 0,
                    "scale_offset": {"bitwidth": 8, "scale": 0.1, "offset": 0, **more},
                },
            )

    for label, more in {
        "scale 0": {"scale": 0},
        "scale nan": {"scale": "nan"},
        "offset 2^40": {"offset": 1 << 40},
        "bitwidth 99": {"bitwidth": 99},
        "bitwidth 0": {"bitwidth": -1},
    }.items():
        yield edit(f"quantization: {label}", lambda t, m=more: scale(t, **m))


def list_weights() -> Iterator[Case]:
    """The weights of a model, and JSON that is none."""
    weights = {**FILES, "in/m_net.json": sound("m_net.json")}
    for label, content in {
        "empty": b"", "no archive": b"x" * 600, "truncated": change("m.bin", lambda d: d[:530]), "one byte flipped in a head": change("m.bin", lambda d: bytes([d[0] ^ 0x55]) + d[1:]),
        "a member with ../": tar_of(("../w.raw", b"\0" * 36)), "an absolute member": tar_of(("/w.raw", b"\0" * 36)), "no members": tar_of(), "a link": link_tar(),
    }.items():  # fmt: skip
        yield Case(f"model.bin: {label}", NET, {**weights, "in/m.bin": content}, (3,))
    yield Case("model.bin: missing", NET, weights, (3,))
    for label, content in {
        "empty": "",
        "no JSON": "{",
        "deep": "[" * 100_000,
        "a list": "[]",
        "twice a key": '{"graph": 1, "graph": 2}',
        "not UTF-8": b"\xff\xfe",
    }.items():
        yield Case(f"net.json: {label}", NET, {**FILES, "in/m_net.json": content}, (3,))


def tar_of(*members: tuple[str, bytes]) -> bytes:
    """An archive of weights."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        for name, content in members:
            item = tarfile.TarInfo(name)
            item.size = len(content)
            archive.addfile(item, io.BytesIO(content))
    return file.getvalue()


def link_tar() -> bytes:
    """An archive whose member is a link."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        item = tarfile.TarInfo("w0.raw")
        item.type = tarfile.SYMTYPE
        setattr(item, "linkname", "/etc/passwd")  # noqa: B010 - an attribute that nobody here reads
        archive.addfile(item)
    return file.getvalue()


def list_dlc() -> Iterator[Case]:
    """DLC, which is a zip."""

    def flip(data: bytes, place: float) -> bytes:
        changed = bytearray(data)
        changed[int(len(data) * place)] ^= 0x41
        return bytes(changed)

    contents: dict[str, Content] = {
        "empty": b"", "no zip": b"x" * 500, "truncated": change("m.dlc", lambda d: d[: len(d) // 2]), "without its end": change("m.dlc", lambda d: d[:-30]),
        "members with ../": zip_of(("../../model", b"x" * 100)), "absolute members": zip_of(("/etc/model", b"x" * 100)), "no members": zip_of(),
        "packed members": zip_of(("model", b"x" * 1000), method=8), "members of garbage": zip_of(("model", b"x" * 1000), ("model.params", b"x" * 1000), ("dlc.metadata", b"x" * 100)),
        "twice the same member": zip_of(("model", b"x"), ("model", b"y")), "sizes that lie": change("m.dlc", lie_about_size),
        "an offset past the end": change("m.dlc", lambda d: d[:-6] + struct.pack("<I", 2**31) + d[-2:]),
    }  # fmt: skip
    for place in (0.05, 0.2, 0.35, 0.5, 0.65, 0.8, 0.95):
        contents[f"a byte flipped at {place:.0%}"] = change("m.dlc", lambda d, p=place: flip(d, p))
    for label, content in contents.items():
        yield Case(
            f"DLC: {label}", DLC, {**FILES, "in/m.dlc": content}, (0, 3, 4) if "flipped" in label else (3, 4)
        )
        yield Case(
            f"DLC inspected: {label}",
            ("edgewright", "inspect", "in/m.dlc"),
            {"in/m.dlc": content},
            (0, 3, 4) if "flipped" in label else (3, 4),
        )


def lie_about_size(data: bytes) -> bytes:
    """A zip whose list says that a member is larger than the file."""
    place = data.index(b"PK\1\2")
    return data[: place + 20] + struct.pack("<II", 1 << 30, 1 << 30) + data[place + 28 :]


def list_contexts() -> Iterator[Case]:
    """Context binaries."""

    def content(edit: Callable[[bytes], bytes]) -> Content:
        return lambda path: path.write_bytes(edit(convert_small()["context.bin"]))

    def flip(data: bytes, place: float) -> bytes:
        changed = bytearray(data)
        changed[int(len(data) * place)] ^= 0x41
        return bytes(changed)

    table: dict[str, Content] = {
        "empty": b"", "wrong magic": b"x" * 4000, "truncated": content(lambda d: d[: len(d) // 2]), "one byte short": content(lambda d: d[:-1]),
        "one byte more": content(lambda d: d + b"\0"), "a newer version": content(lambda d: d[:8] + b"\xff\xff" + d[10:]),
    }  # fmt: skip
    for place in (0.0, 0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.999):
        table[f"a byte flipped at {place:.1%}"] = content(lambda d, p=place: flip(d, p))
    for label, made in table.items():
        yield Case(f"context: {label}", CONTEXT, {**FILES, "in/m.bin": made}, (3, 4))
        yield Case(
            f"context read: {label}",
            ("qnn-context-binary-utility", "--context_binary", "in/m.bin", "--json_file", "out/c.json"),
            {"in/m.bin": made},
            (3, 4, 6),
        )


def list_libraries() -> Iterator[Case]:
    """model.cpp and model libraries."""
    build = (
        "qnn-model-lib-generator",
        "-c",
        "in/m.cpp",
        "-b",
        "in/m.bin",
        "-o",
        "out",
        "-t",
        "x86_64-linux-clang",
    )
    for label, content in {
        "empty": b"",
        "no model": "int main() { return 0; }\n",
        "no C++": "}}}}",
        "not text": b"\0\xff" * 50,
    }.items():
        yield Case(f"model.cpp: {label}", build, {"in/m.cpp": content, "in/m.bin": sound("m.bin")}, (3, 6))
    yield Case("model.cpp: missing", build, {"in/m.bin": sound("m.bin")}, (2, 3))
    named = (*build[:-2], "-t", "x86_64-linux-clang", "-l", "../../up")
    yield Case(
        "model.cpp: a library name with ../",
        named,
        {"in/m.cpp": sound("m.cpp"), "in/m.bin": sound("m.bin")},
        (2, 3),
    )
    for label, content in {
        "empty": b"",
        "no library": b"x" * 500,
        "half an ELF": b"\x7fELF\2\1\1" + b"\0" * 200,
        "another machine": b"\x7fELF\2\1\1" + b"\0" * 9 + b"\3\0\xb7\0" + b"\0" * 400,
    }.items():
        yield Case(
            f"model library: {label}",
            ("qnn-net-run", "--model", "in/libm.so", *TAIL),
            {**FILES, "in/libm.so": content},
            (3, 4, 6, 7),
        )


CASES = [*list_net_json(), *list_weights(), *list_dlc(), *list_contexts(), *list_libraries()]
