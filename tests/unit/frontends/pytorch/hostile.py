"""TorchScript archives written by hand: members, code and pickles as a stranger may write them."""

import struct
import zipfile
from pathlib import Path

TEMPLATE = """class M(Module):
  __parameters__ = []
  __buffers__ = []
  w : Tensor
{setstate}
  def forward(self: __torch__.M,
    x: Tensor) -> Tensor:
{forward}
"""
PLAIN = "    return torch.add(x, self.w)"


def indent(lines: str) -> str:
    return "\n".join(f"    {line}" for line in lines.splitlines())


def make_code(forward: str = "return torch.add(x, self.w)", setstate: str = "") -> str:
    """A class M with these bodies; a ``__setstate__`` only where it is given."""
    method = (
        f"  def __setstate__(self: __torch__.M,\n    state: Tensor) -> NoneType:\n{indent(setstate)}\n"
        if setstate
        else ""
    )
    return TEMPLATE.format(setstate=method, forward=indent(forward))


def push(value) -> bytes:
    """The codes of a pickle for numbers, texts and tuples."""
    if value is None:
        return b"N"
    if isinstance(value, bool):
        return b"\x88" if value else b"\x89"
    if isinstance(value, int):
        data = value.to_bytes(10, "little", signed=True)
        return b"\x8a" + bytes([len(data)]) + data
    if isinstance(value, str):
        return b"X" + struct.pack("<I", len(value.encode())) + value.encode()
    return b"(" + b"".join(push(item) for item in value) + b"t"


def name(module: str, word: str) -> bytes:
    return f"c{module}\n{word}\n".encode()


def tensor(sizes, strides, *, offset=0, count=4, key="0", kind="FloatStorage") -> bytes:
    """A tensor that says of itself what it likes."""
    storage = b"(" + push("storage") + name("torch", kind) + push(key) + push("cpu") + push(count) + b"tQ"
    rest = push(offset) + push(tuple(sizes)) + push(tuple(strides)) + b"\x89"
    hooks = name("collections", "OrderedDict") + b")R"
    return name("torch._utils", "_rebuild_tensor_v2") + b"(" + storage + rest + hooks + b"tR"


def module(attributes: dict[str, bytes]) -> bytes:
    """An object of the class M with attributes."""
    pairs = b"".join(push(key) + data for key, data in attributes.items())
    return b"\x80\x02" + name("__torch__", "M") + b")\x81}(" + pairs + b"ub."


def module_with_state(state: bytes = b"N") -> bytes:
    """An object of the class M whose state goes to ``__setstate__``."""
    return b"\x80\x02" + name("__torch__", "M") + b")\x81" + state + b"b."


WEIGHT = tensor((4,), (1,))


def write(path: Path, *, code: str = "", data: bytes = b"", **members: bytes) -> Path:
    """An archive around the code and the pickle; other members by their names."""
    content = {
        "data.pkl": data or module({"w": WEIGHT}),
        "code/__torch__.py": code or make_code(),
        "constants.pkl": b"\x80\x02).",
        "data/0": struct.pack("<4f", 1, 2, 3, 4),
        "version": b"3\n",
    }
    with zipfile.ZipFile(path, "w") as file:
        for member, value in (content | members).items():
            file.writestr(f"m/{member}", value)
    return path
