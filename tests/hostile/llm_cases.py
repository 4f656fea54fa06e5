"""Hostile language models: GGUF, safetensors, configurations, tokenizers, texts."""

import json
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.hostile.case import Case, Content

QUANTIZE = ("edgewright", "llm", "quantize", "in/m", "--recipe", "fast", "-o", "out/m.gguf")
FROM_GGUF = ("edgewright", "llm", "quantize", "in/m.gguf", "--recipe", "fast", "-o", "out/m.gguf")


def folder(**changed: bytes | str | Callable[[bytes], bytes]) -> dict[str, Content]:
    """A checkpoint's folder, some of its files changed; `_` stands for a dot in their names."""
    changes = {name.replace("__", "."): value for name, value in changed.items()}

    def make(path: Path) -> None:
        from tests.fuzz.seeds import read_tiny_checkpoint

        path.mkdir()
        for name, content in read_tiny_checkpoint().items():
            change = changes.get(name, content)
            data = change(content) if callable(change) else change
            (path / name).write_bytes(data.encode() if isinstance(data, str) else data)

    return {"in/m": make}


def pair(key: str, kind: int, value: bytes) -> bytes:
    """A key of a GGUF file."""
    return struct.pack("<Q", len(key)) + key.encode() + struct.pack("<I", kind) + value


def gguf(
    pairs: bytes = b"", *, count: int = 0, tensors: int = 0, version: int = 3, rest: bytes = b""
) -> bytes:
    """A GGUF file that says of itself what it likes."""
    return b"GGUF" + struct.pack("<IQQ", version, tensors, count) + pairs + rest


def text(value: str, size: int | None = None) -> bytes:
    """A text with its length."""
    return struct.pack("<Q", len(value) if size is None else size) + value.encode()


def tensor(name: str, dims: tuple[int, ...], kind: int = 0, offset: int = 0) -> bytes:
    """The description of a tensor."""
    sizes = struct.pack(f"<I{len(dims)}Q", len(dims), *dims)
    return text(name) + sizes + struct.pack("<IQ", kind, offset)


def list_gguf() -> Iterator[Case]:
    """Counts, lengths, offsets and types that lie."""
    arch = pair("general.architecture", 8, text("llama"))
    nested = struct.pack("<IQ", 9, 1) * 100_000
    for label, data in {
        "empty": b"", "only the magic": b"GGUF", "another magic": b"GGML" + bytes(100), "version 99": gguf(version=99), "big endian": b"GGUF" + struct.pack(">I", 3) + bytes(100),
        "2^64-1 keys": gguf(count=2**64 - 1), "2^64-1 tensors": gguf(tensors=2**64 - 1), "a key of 2^63 letters": gguf(struct.pack("<Q", 2**63) + b"x", count=1),
        "a text of 2^64-1": gguf(pair("a", 8, text("x", 2**64 - 1)), count=1), "a list of 2^62": gguf(pair("a", 9, struct.pack("<IQ", 4, 2**62)), count=1),
        "lists in lists": gguf(pair("a", 9, nested), count=1), "an unknown type": gguf(pair("a", 77, b"x" * 8), count=1), "a key twice": gguf(arch * 2, count=2),
        "a key that is not UTF-8": gguf(struct.pack("<Q", 2) + b"\xff\xfe" + struct.pack("<IQ", 4, 0), count=1), "no keys": gguf(), "an architecture of nobody": gguf(pair("general.architecture", 8, text("../../x")), count=1),
        "an architecture that is a number": gguf(pair("general.architecture", 4, struct.pack("<I", 7)), count=1), "alignment 0": gguf(arch + pair("general.alignment", 4, bytes(4)), count=2),
        "alignment 3": gguf(arch + pair("general.alignment", 4, struct.pack("<I", 3)), count=2), "a tensor of 2^63": gguf(arch, count=1, tensors=1, rest=tensor("t", (2**63 - 1, 4))),
        "a tensor whose size wraps": gguf(arch, count=1, tensors=1, rest=tensor("t", (2**32, 2**32, 2))), "a tensor of size 0": gguf(arch, count=1, tensors=1, rest=tensor("t", (0,))),
        "a tensor of 99 axes": gguf(arch, count=1, tensors=1, rest=tensor("t", (1,) * 99)), "a tensor of no type": gguf(arch, count=1, tensors=1, rest=tensor("t", (4,), 99)),
        "an offset behind the end": gguf(arch, count=1, tensors=1, rest=tensor("t", (4,), 0, 1 << 40)), "an odd offset": gguf(arch, count=1, tensors=1, rest=tensor("t", (4,), 0, 7) + bytes(100)),
        "two tensors in one place": gguf(arch, count=1, tensors=2, rest=tensor("a", (4,)) + tensor("b", (4,)) + bytes(200)), "a tensor twice": gguf(arch, count=1, tensors=2, rest=tensor("a", (4,)) * 2 + bytes(200)),
        "5 elements in blocks of 32": gguf(arch, count=1, tensors=1, rest=tensor("t", (5,), 2) + bytes(200)),
    }.items():  # fmt: skip
        yield Case(f"gguf: {label}", FROM_GGUF, {"in/m.gguf": data})


def edit_header(edit: Callable[[dict[str, Any]], object]) -> Callable[[bytes], bytes]:
    """A safetensors file with its header edited in place."""

    def change(data: bytes) -> bytes:
        size = int.from_bytes(data[:8], "little")
        tree = json.loads(data[8 : 8 + size])
        edit(tree)
        header = json.dumps(tree).encode()
        return len(header).to_bytes(8, "little") + header + data[8 + size :]

    return change


def list_safetensors() -> Iterator[Case]:
    """Headers that lie."""

    def first(**fields: Any) -> Callable[[bytes], bytes]:
        return edit_header(
            lambda tree: next(v for k, v in tree.items() if k != "__metadata__").update(fields)
        )

    for label, change in {
        "empty": b"", "a header of 2^63": (2**63).to_bytes(8, "little") + b"{}", "a header of 10^9": (10**9).to_bytes(8, "little") + b"{}", "no JSON": (5).to_bytes(8, "little") + b"hello",
        "deep JSON": (100_000).to_bytes(8, "little") + b"[" * 100_000, "not UTF-8": (2).to_bytes(8, "little") + b"\xff\xfe", "truncated": lambda data: data[: len(data) // 2], "one byte more": lambda data: data + b"x",
        "offsets below 0": first(data_offsets=[-4, 4]), "offsets that cross": first(data_offsets=[100, 4]), "offsets behind the end": first(data_offsets=[0, 1 << 60]), "offsets of words": first(data_offsets=["a", "b"]),
        "a shape of 2^62": first(shape=[1 << 62, 4]), "a shape below 0": first(shape=[-1]), "a shape of reals": first(shape=[1.5]), "a type of nobody": first(dtype="F99"), "a type that is a list": first(dtype=[]),
        "a tensor missing": edit_header(lambda tree: tree.pop(next(iter(tree)))), "all in one place": edit_header(lambda tree: [v.update(data_offsets=[0, 128]) for v in tree.values()]),
        "a name with ../": edit_header(lambda tree: tree.update({"../../x": next(iter(tree.values()))})),
    }.items():  # fmt: skip
        yield Case(f"safetensors: {label}", QUANTIZE, folder(model__safetensors=change))


def list_folders() -> Iterator[Case]:
    """Configurations, tokenizers, indexes."""

    def config(**fields: Any) -> Callable[[bytes], bytes]:
        return lambda data: json.dumps({**json.loads(data), **fields}).encode()

    for label, change in {
        "empty": b"", "a list": b"[]", "no JSON": b"{", "deep": b"[" * 100_000, "not UTF-8": b"\xff", "a model of nobody": config(model_type="nobody"), "a model_type of ../": config(model_type="../../x"),
        "10^9 layers": config(num_hidden_layers=10**9), "layers below 0": config(num_hidden_layers=-1), "a vocabulary of 10^12": config(vocab_size=10**12), "hidden 2^62": config(hidden_size=1 << 62), "heads 0": config(num_attention_heads=0),
        "heads that do not divide": config(num_attention_heads=7), "epsilon nan": config(rms_norm_eps=float("nan")), "an activation of nobody": config(hidden_act="evil"), "rope of words": config(rope_scaling={"type": "evil"}),
        "code of its own": config(auto_map={"AutoModel": "evil.Model"}, trust_remote_code=True, model_type="evil"), "quantized already": config(quantization_config={"quant_method": "evil"}),
    }.items():  # fmt: skip
        yield Case(f"config.json: {label}", QUANTIZE, folder(config__json=change))
    for label, change in {
        "empty": b"", "no JSON": b"{", "a list": b"[]", "deep": b"[" * 100_000, "no model": b"{}", "a vocabulary of words": b'{"model": {"type": "BPE", "vocab": {"a": "b"}, "merges": []}}',
        "numbers below 0": b'{"model": {"type": "BPE", "vocab": {"a": -5}, "merges": []}}', "numbers of 2^62": b'{"model": {"type": "BPE", "vocab": {"a": 4611686018427387904}, "merges": []}}', "a model of nobody": b'{"model": {"type": "Evil"}}',
    }.items():  # fmt: skip
        yield Case(f"tokenizer.json: {label}", QUANTIZE, folder(tokenizer__json=change))

    def indexed(name: Any) -> Callable[[Path], None]:
        def make(path: Path) -> None:
            folder()["in/m"](path)  # type: ignore[operator]
            (path / "model.safetensors").unlink()
            (path / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"a": name}}))

        return make

    for label, name in {
        "..": "../../secret",
        "absolute": "/etc/passwd",
        "missing": "gone.safetensors",
        "a number": 7,
        "a list": [],
        "a pipe": "/dev/stdin",
    }.items():
        yield Case(f"index: {label}", QUANTIZE, {"in/m": indexed(name)})
    yield Case("a folder of nothing", QUANTIZE, {"in/m": lambda path: path.mkdir()})
    yield Case("a calibration text that is not there", (*QUANTIZE, "--calib", "in/gone.txt"), folder())
    yield Case("a calibration of objects", (*QUANTIZE, "--calib", "in/x.npy"), {**folder(), "in/x.npy": b"\x93NUMPY\x01\0\x40\0{'descr': '|O', 'fortran_order': False, 'shape': (1,)}" + b" " * 10}, (2, 3))  # fmt: skip
    yield Case("a calibration of tokens outside", (*QUANTIZE, "--calib", "in/t.txt"), {**folder(), "in/t.txt": b"\xff\xfe\x00"}, (2, 3))  # fmt: skip


CASES = [*list_gguf(), *list_safetensors(), *list_folders()]
