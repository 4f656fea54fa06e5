"""Hostile PyTorch archives: nothing of theirs runs, whatever they hold."""

import io
import json
import struct
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.hostile.case import Case, Content
from tests.unit.frontends.pytorch import hostile

MARK = "pwned"
EVIL = f"cos\nsystem\n(Vtouch {MARK}\ntR.".encode()


def words(name: str = "in/m.pt") -> tuple[str, ...]:
    """A conversion of one archive; TorchScript does not say its shapes."""
    return ("edgewright", "convert", name, "-o", "out/m.cpp", "-d", "x", "4")


def script(**more: object) -> Content:
    """A TorchScript archive, parts of it replaced."""
    return lambda path: _close(hostile.write(path, **more))  # type: ignore[arg-type]


def _close(_path: Path) -> None:
    """Contents make their file and answer nothing."""


def archive(members: dict[str, bytes], edit: Callable[[bytes], bytes] = bytes, **more: int) -> bytes:
    """A zip of members."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", **more) as made:  # type: ignore[call-overload]
        for name, data in members.items():
            made.writestr(name, data)
    return edit(file.getvalue())


def encrypt(data: bytes) -> bytes:
    """With the flag of encryption in every head."""
    changed = bytearray(data)
    for magic, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        start = 0
        while (start := changed.find(magic, start)) >= 0:
            changed[start + place] |= 1
            start += 4
    return bytes(changed)


PLAIN = {
    "m/data.pkl": hostile.module({"w": hostile.WEIGHT}),
    "m/code/__torch__.py": hostile.make_code().encode(),
    "m/constants.pkl": b"\x80\x02).",
    "m/data/0": struct.pack("<4f", 1, 2, 3, 4),
    "m/version": b"3\n",
}


def list_archives() -> Iterator[Case]:
    """What is no archive, or another one than it seems."""
    linked = zipfile.ZipInfo("m/data/0")
    linked.external_attr = 0o120777 << 16
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as made:
        for name, data in PLAIN.items():
            made.writestr(
                linked if name == "m/data/0" else name, b"/etc/passwd" if name == "m/data/0" else data
            )
    for label, data in {
        "empty": b"", "no archive": b"hello" * 100, "a bare pickle": b"\x80\x02" + EVIL, "truncated": archive(PLAIN)[:300],
        "a checkpoint": archive({"m/data.pkl": b"\x80\x02" + EVIL, "m/version": b"3"}), "encrypted": archive(PLAIN, encrypt),
        "members with ../": archive({**PLAIN, "../../up": b"x", "m/../../up2": b"x"}), "absolute members": archive({f"/{k}": v for k, v in PLAIN.items()}),
        "a link": file.getvalue(), "a bomb": archive({**PLAIN, "m/data/0": bytes(300 << 20)}, compression=zipfile.ZIP_DEFLATED),
        "100,000 members": archive({**PLAIN, **{f"m/x{n}": b"" for n in range(100_000)}}), "two folders": archive({**PLAIN, "n/data.pkl": EVIL, "n/version": b"3"}),
        "another version": archive({**PLAIN, "m/version": b"999\n"}), "a version of words": archive({**PLAIN, "m/version": b"new\n"}),
        "no weights": archive({k: v for k, v in PLAIN.items() if k != "m/data/0"}), "weights too short": archive({**PLAIN, "m/data/0": b"abc"}),
    }.items():  # fmt: skip
        yield Case(
            f"archive: {label}", words(), {"in/m.pt": data}, (0, 3, 4) if label in _HARMLESS else (3, 4)
        )


_HARMLESS = {
    "another version",
    "a version of words",
    "members with ../",
    "absolute members",
    "100,000 members",
    "two folders",
    "a link",
}


def list_pickles() -> Iterator[Case]:
    """Pickles that call, nest, lie about tensors."""
    tensor, module = hostile.tensor, hostile.module
    for label, data in {
        "a call of the system": b"\x80\x02" + EVIL, "a call inside the state": module({"w": EVIL[:-1]}), "no end": b"\x80\x02}",
        "a protocol of 99": b"\x80\x63).", "a deep tuple": b"\x80\x02" + b"(" * 200_000 + b"." , "a stack that runs dry": b"\x80\x02t.",
        "a memo of 2^31": b"\x80\x02r\xff\xff\xff\x7f.", "a text of 4 GB": b"\x80\x02X\xff\xff\xff\xffabc.", "a number of 2^31 bytes": b"\x80\x02\x8b\xff\xff\xff\x7f.",
        "a class of Python": b"\x80\x02cbuiltins\neval\n(V1\ntR.", "nothing": b"\x80\x02N.", "a text": b"\x80\x02X\x01\0\0\0a.",
        "sizes below 0": module({"w": tensor((-4,), (1,))}), "strides below 0": module({"w": tensor((4,), (-1,))}), "strides that leave": module({"w": tensor((4,), (100,))}),
        "an offset that leaves": module({"w": tensor((4,), (1,), offset=99)}), "an offset below 0": module({"w": tensor((4,), (1,), offset=-9)}),
        "sizes of 2^40 by strides of 0": module({"w": tensor((1 << 40,), (0,))}), "a product that wraps": module({"w": tensor((1 << 33, 1 << 33), (0, 0))}),
        "a storage that is not there": module({"w": tensor((4,), (1,), key="9")}), "a storage with ../": module({"w": tensor((4,), (1,), key="../data.pkl")}),
        "a storage of 2^60": module({"w": tensor((4,), (1,), count=1 << 60)}), "a storage of no kind": module({"w": tensor((4,), (1,), kind="EvilStorage")}),
    }.items():  # fmt: skip
        yield Case(f"pickle: {label}", words(), {"in/m.pt": script(data=data)}, (3, 4))


def list_codes() -> Iterator[Case]:
    """Code that does more than compute."""
    for label, forward in {
        "a loop without end": "while True:\n  x = torch.add(x, 1)\nreturn x", "a loop of 10^12": "for i in range(1000000000000):\n  x = torch.add(x, 1)\nreturn x",
        "an import": "import os\nreturn x", "a call of Python": "return eval('1')", "opens a file": "return open('/etc/passwd')",
        "a method of nobody": "return self.gone(x)", "dunders": "return x.__class__.__bases__", "itself": "return self.forward(x)", "nothing": "pass",
        "a tensor of 10^12": "return torch.zeros([1000000, 1000000])", "a number of 5,000 digits": "return torch.add(x, " + "9" * 5000 + ")",
        "deep brackets": "return " + "(" * 5000 + "x" + ")" * 5000, "2^(2^40)": "return torch.add(x, 2 ** (2 ** 40))", "a list of 10^12": "return torch.cat([x] * 1000000000000)",
        "a text of 10^12": "y = 'a' * 1000000000000\nreturn x", "no Python": "return ][", "NUL": "return x\0", "a lambda": "return (lambda: x)()",
    }.items():  # fmt: skip
        codes = (3, 4)
        yield Case(f"code: {label}", words(), {"in/m.pt": script(code=hostile.make_code(forward))}, codes)


def list_programs() -> Iterator[Case]:
    """Archives of torch.export whose parts are no parts of one."""
    base = {
        "m/archive_format": b"pt2",
        "m/archive_version": b"0",
        "m/models/model.json": b"{}",
        "m/data/sample_inputs/model.pt": EVIL,
    }
    tree = {
        "graph_module": {"graph": {"inputs": [], "outputs": [], "nodes": []}},
        "opset_version": {"aten": 10},
    }
    for label, model in {
        "an empty program": b"{}", "no JSON": b"{", "a list": b"[]", "deep": b"[" * 100_000, "no inputs": json.dumps(tree).encode(),
        "not UTF-8": b"\xff\xfe", "twice a key": b'{"graph_module": 1, "graph_module": 2}', "NaN": b'{"schema_version": NaN}', "nodes of numbers": json.dumps({**tree, "graph_module": {"graph": {"nodes": 7}}}).encode(),
    }.items():  # fmt: skip
        data = archive({**base, "m/models/model.json": model})
        yield Case(
            f"program: {label}", ("edgewright", "convert", "in/m.pt2", "-o", "out/m.cpp"), {"in/m.pt2": data}
        )


CASES = [*list_archives(), *list_pickles(), *list_codes(), *list_programs()]
