"""Hostile SavedModels and checkpoints of TensorFlow, and TFLite models that name what is not there."""

import io
import struct
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from tests.hostile.case import Case, Content
from tests.hostile.tflite_cases import IMAGE, one
from tests.unit.frontends.tensorflow.graph_writer import (
    field,
    graph,
    node,
    placeholder,
    saved_model,
    signature,
)
from tests.unit.frontends.tflite.cases import x
from tests.unit.frontends.tflite.writer import Operator, Subgraph, Tensor, const, model

MODELS = Path(__file__).parents[1] / "unit" / "frontends" / "tensorflow" / "models.zip"
SAVED = "saved/"


def folder(**changed: Callable[[bytes], bytes | None]) -> dict[str, Content]:
    """A sound SavedModel, some of its files changed or left out; `__` stands for a dot, `_in_` for a slash."""
    changes = {
        name.replace("_in_", "/").replace("__", ".").replace("_of_", "-of-"): edit
        for name, edit in changed.items()
    }

    def make(path: Path) -> None:
        with zipfile.ZipFile(MODELS) as models:
            for name in models.namelist():
                if name.startswith(SAVED) and not name.endswith("/"):
                    inner = name.removeprefix(SAVED)
                    data = next((edit for key, edit in changes.items() if inner.startswith(key)), bytes)(
                        models.read(name)
                    )
                    if data is not None:
                        (path / inner).parent.mkdir(parents=True, exist_ok=True)
                        (path / inner).write_bytes(data)

    return {"in/m": make}


def flip(share: float) -> Callable[[bytes], bytes]:
    """One byte changed."""

    def change(data: bytes) -> bytes:
        changed = bytearray(data)
        changed[int(share * (len(changed) - 1))] ^= 0xFF
        return bytes(changed)

    return change


CONVERT = ("edgewright", "convert", "in/m", "-o", "out/m.cpp")
INDEX, DATA = "variables_in_variables__index", "variables_in_variables__data"


def list_saved_models() -> Iterator[Case]:
    """Folders that lack something, or whose parts do not fit."""
    io_map = {"serving_default": signature({"a": ("x:0", (1, 4))}, {"b": ("y:0", (1, 4))})}
    plain = graph(placeholder("x", 1, 4), node("y", "Relu", "x"))
    for label, edits in {
        "no variables": {INDEX: lambda _: None}, "no data": {DATA: lambda _: None}, "an empty index": {INDEX: lambda _: b""}, "an empty table of data": {DATA: lambda _: b""}, "a short table of data": {DATA: lambda data: data[: len(data) // 2]},
        "a truncated index": {INDEX: lambda data: data[: len(data) // 2]}, "an index of garbage": {INDEX: lambda data: bytes(255 for _ in data)}, "an index that is zeros": {INDEX: lambda data: bytes(len(data))},
        "an empty graph": {"saved_model__pb": lambda _: b""}, "a truncated graph": {"saved_model__pb": lambda data: data[: len(data) // 2]}, "garbage": {"saved_model__pb": lambda data: data[::-1]}, "no graph": {"saved_model__pb": lambda _: None},
        "no meta graph": {"saved_model__pb": lambda _: field(1, 1)}, "10,000 meta graphs": {"saved_model__pb": lambda _: field(1, 1) + field(2, b"") * 10_000}, "a signature of nothing": {"saved_model__pb": lambda _: saved_model(plain, {"serving_default": b""})},
        "a signature of tensors that are not there": {"saved_model__pb": lambda _: saved_model(plain, {"serving_default": signature({"a": ("gone:0", (1,))}, {"b": ("gone:9", (1,))})})},
        "a tag of ../": {"saved_model__pb": lambda _: saved_model(plain, io_map, "../../x")}, "a function library of bombs": {"saved_model__pb": lambda _: saved_model(_bomb(), io_map)},
    }.items():  # fmt: skip
        codes = (0, 2, 3, 4) if label in _COMPLETE else (2, 3, 4)
        yield Case(f"SavedModel: {label}", CONVERT, folder(**edits), codes)
    yield Case("SavedModel: a weight flipped", CONVERT, folder(**{DATA: flip(0.05)}), (3,))
    for share in (0.02, 0.3, 0.6, 0.8):
        yield Case(
            f"SavedModel: index flipped at {share:.0%}", CONVERT, folder(**{INDEX: flip(share)}), (3, 4)
        )
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("m/saved_model.pb", saved_model(plain, io_map))
        made.writestr("../../up", b"x")
    zipped = ("edgewright", "convert", "in/m.zip", "-o", "out/m.cpp")
    yield Case("SavedModel: zipped with ../", zipped, {"in/m.zip": packed.getvalue()}, (0, 3, 4))


# What is needed is there: the end of the data describes Python objects, one graph needs no tag to be found.
_COMPLETE = {"a short table of data", "a signature of nothing", "a tag of ../"}


def _bomb() -> bytes:
    from tests.unit.frontends.tensorflow.graph_writer import FLOAT, calls, function

    types = field(1, field(6, FLOAT))
    functions = [function("f0", ["a"], {"r": "c:activations:0"}, node("c", "Relu", "a"))]
    for level in range(1, 40):
        first = node("c", "PartitionedCall", "a", f=calls(f"f{level - 1}"), Tin=types, Tout=types)
        second = node("d", "PartitionedCall", "c:output:0", f=calls(f"f{level - 1}"), Tin=types, Tout=types)
        functions.append(function(f"f{level}", ["a"], {"r": "d:output:0"}, first, second))
    call = node("y", "PartitionedCall", "x", f=calls("f39"), Tin=types, Tout=types)
    return graph(placeholder("x", 1, 4), call, functions=functions)


def list_tflite() -> Iterator[Case]:
    """Numbers of flatbuffers that name something else."""
    plain = model(Subgraph([x(2, 3), Tensor()], (0,), (1,), [Operator("RELU", [0], [1])]))
    words = ("edgewright", "convert", "in/m.tflite", "-o", "out/m.cpp")
    rng = np.random.default_rng(5)
    places = sorted(int(place) * 4 for place in rng.choice(len(plain) // 4, 14, replace=False))
    for place in places:
        changed = bytearray(plain)
        struct.pack_into("<I", changed, place, 0xFFFFFFFF)
        yield Case(f"TFLite: word {place} is 2^32-1", words, {"in/m.tflite": bytes(changed)}, (0, 3, 4))
    for label, data in {
        "an op of 100,000 inputs": one(Operator("CONCATENATION", [0] * 100_000, [1], {"axis": 0}), x(2), Tensor()), "an input that is a constant": model(Subgraph([const(np.ones(2, np.float32)), Tensor()], (0,), (1,), [Operator("RELU", [0], [1])])),
        "no operators": model(Subgraph([x(2)], (0,), (0,), [])), "an input that is not there": model(Subgraph([x(2), Tensor()], (9,), (1,), [Operator("RELU", [0], [1])])), "an output that is not there": model(Subgraph([x(2), Tensor()], (0,), (9,), [Operator("RELU", [0], [1])])),
        "a cycle": model(Subgraph([x(2), Tensor(), Tensor()], (0,), (2,), [Operator("ADD", [0, 2], [1], {}), Operator("RELU", [1], [2])])), "two makers of one tensor": model(Subgraph([x(2), Tensor()], (0,), (1,), [Operator("RELU", [0], [1]), Operator("ABS", [0], [1])])),
        "a stride of 0": one(Operator("CONV_2D", [0, 1], [2], {"stride_w": 0, "stride_h": 0}), x(*IMAGE), const(np.ones((1, 2, 2, 2), np.float32)), Tensor()), "a dilation of -1": one(Operator("CONV_2D", [0, 1], [2], {"stride_w": 1, "stride_h": 1, "dilation_w_factor": -1, "dilation_h_factor": -1}), x(*IMAGE), const(np.ones((1, 2, 2, 2), np.float32)), Tensor()),
    }.items():  # fmt: skip
        yield Case(
            f"TFLite: {label}", words, {"in/m.tflite": data}, (0, 3, 4) if label in _HARMLESS else (3, 4)
        )


_HARMLESS = {"no operators", "an input that is a constant", "an op of 100,000 inputs"}
CASES = [*list_saved_models(), *list_tflite()]
