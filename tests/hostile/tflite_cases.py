"""Hostile TFLite models, in the order of the checklist."""

import struct
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from edgewright.core.numbers import DType
from edgewright.frontends.tflite.declarations import ARITIES, MANY, RANGES
from edgewright.frontends.tflite.options import find_fields
from tests.hostile.case import Case
from tests.unit.frontends.tflite.cases import ints, q8, single, weights, x
from tests.unit.frontends.tflite.writer import BUILTINS, Operator, Subgraph, Tensor, const, model

CONVERT = ("edgewright", "convert", "in/m.tflite", "-o", "out/m.cpp")
SOUND = single("relu", "RELU", [x(2, 3)]).data
IMAGE = (1, 4, 4, 2)
WINDOWS = {"stride_w": 1, "stride_h": 1, "filter_width": 2, "filter_height": 2}
HUGE = 2**31 - 1


def case(name: str, data: bytes, codes: tuple[int, ...] = (3, 4), says: str = "") -> Case:
    """A conversion of one model."""
    return Case(name, CONVERT, {"in/m.tflite": data}, codes, says)


def one(operator: Operator, *tensors: Tensor) -> bytes:
    """A model of one operator from the first tensor to the last."""
    return model(Subgraph(tensors, (0,), (len(tensors) - 1,), [operator]))


def list_files() -> Iterator[Case]:
    """What is no flatbuffer, or a damaged one."""
    yield case("0 bytes", b"", (3,))
    yield case("truncated", SOUND[: len(SOUND) // 2], (3,))
    yield case("only the magic", b"\0\0\0\0TFL3", (3,))
    yield case("an offset past the end", struct.pack("<I", 1 << 30) + SOUND[4:], (3,))
    yield case("an offset of 2^32-1", struct.pack("<I", 2**32 - 1) + SOUND[4:], (3,))
    root = struct.unpack_from("<I", SOUND)[0]
    for label, value in {"itself": 0, "behind the end": -(1 << 30), "before the file": 1 << 30}.items():
        changed = bytearray(SOUND)
        struct.pack_into("<i", changed, root, value)
        yield case(f"a vtable that is {label}", bytes(changed), (3,))
    yield case("random bytes", b"\x10\0\0\0TFL3" + np.random.default_rng(2).bytes(2000), (3, 4))


def list_places() -> Iterator[Case]:
    """Numbers that name tensors, buffers, codes and subgraphs."""
    yield case("a tensor that is not there", one(Operator("RELU", [5], [1]), x(2), Tensor()), (3,))
    yield case("a result of tensor -1", one(Operator("RELU", [0], [-1]), x(2), Tensor()), (3,))
    yield case("a result that is an input", one(Operator("RELU", [0], [0]), x(2), Tensor()), (3,))
    yield case(
        "a graph that calls itself", one(Operator("CALL", [0], [1], {"subgraph": 0}), x(2), Tensor()), (3,)
    )
    yield case(
        "a subgraph that is not there", one(Operator("CALL", [0], [1], {"subgraph": 7}), x(2), Tensor()), (3,)
    )
    loop = Operator("WHILE", [0], [1], {"cond_subgraph_index": 0, "body_subgraph_index": 0})
    yield case("a loop whose body is the graph", one(loop, x(2), Tensor()), (3,))
    behind = Tensor((2,), DType.FLOAT_32, np.ones(2, np.float32), behind=(1 << 40, 8))
    yield case("a buffer behind the end", single("a", "ADD", [x(2), behind]).data, (3,))
    wraps = Tensor((2,), DType.FLOAT_32, np.ones(2, np.float32), behind=(2**64 - 4, 8))
    yield case("a buffer whose end wraps around", single("a", "ADD", [x(2), wraps]).data, (3,))


def list_encodings() -> Iterator[Case]:
    """Scales and zero points."""
    for label, tensor in {
        "scale nan": q8(2, scale=float("nan")), "scale inf": q8(2, scale=float("inf")),
        "scale below 0": q8(2, scale=-1.0), "zero point 900": q8(2, zero=900), "zero point -900": q8(2, zero=-900),
        "scales of another count": replace(q8(2), scales=(1.0, 1.0, 1.0)),
        "axis 7": replace(q8(2), scales=(1.0, 1.0), axis=7), "axis -1": replace(q8(2), scales=(1.0, 1.0), axis=-1),
    }.items():  # fmt: skip
        yield case(f"quantization: {label}", one(Operator("RELU", [0], [1]), tensor, Tensor()), (3,))
    yield case("quantization: scale 0", one(Operator("QUANTIZE", [0], [1]), x(2), q8(2, scale=0.0)), (3,))
    yield case(
        "quantization: scale 0 of an input",
        one(Operator("DEQUANTIZE", [0], [1]), q8(2, scale=0.0), Tensor()),
        (3,),
    )


def list_sizes() -> Iterator[Case]:
    """Shapes and what is stored."""
    short = Tensor((9, 9), DType.FLOAT_32, np.zeros(4, np.float32))
    yield case("a buffer of another size than the shape", single("a", "ADD", [x(9, 9), short]).data, (3,))
    for dims in ((-1, 2), (HUGE, HUGE, HUGE), (0, HUGE, HUGE), (10**6, 10**6), (1,) * 70):
        label = f"an input of shape {list(dims)[:4]}"
        yield case(label, one(Operator("RELU", [0], [1]), replace(x(2), shape=dims), Tensor()), (3,))
    levels = [(0, 1 << 20, (), ()), (0, 1 << 20, (), ())]
    bomb = Tensor((1 << 20, 1 << 20), DType.FLOAT_32, np.ones(1, np.float32), sparsity=((0, 1), (), levels))
    yield case("a sparse bomb", single("a", "ADD", [x(3, 4), bomb]).data, (3,))
    for label, parts in {
        "segments": [(0, 3, (), ()), (1, 0, (0, 2, 9), (0, 1))],
        "indices": [(0, 3, (), ()), (1, 0, (0, 1, 2, 3), (0, 77, 1))],
        "levels": [(0, 3, (), ())],
    }.items():
        sparse = Tensor((3, 4), DType.FLOAT_32, np.ones(4, np.float32), sparsity=((0, 1), (), parts))
        yield case(f"sparse {label} that lie", single("a", "ADD", [x(3, 4), sparse]).data, (3,))
    for label, op, operands, options in (
        ("one hot of 2^31-1", "ONE_HOT", [ints(*range(50)), ints(HUGE), const(1.0, np.float32), const(0.0, np.float32)], {"axis": -1}),
        ("a tile of 10^12", "TILE", [x(2, 2), ints(10**6, 10**6)], {}),
        ("a fill of 10^12", "FILL", [ints(10**6, 10**6), const(1.0, np.float32)], {}),
        ("a range of 2^31-1", "RANGE", [const(0, np.int32), const(HUGE, np.int32), const(1, np.int32)], {}),
        ("a range of step 0", "RANGE", [const(0, np.int32), const(9, np.int32), const(0, np.int32)], {}),
        ("a pad of 2^31-1", "PAD", [x(2, 2), const(np.full((2, 2), HUGE), np.int32)], {}),
        ("a broadcast to 10^12", "BROADCAST_TO", [x(1, 1), ints(10**6, 10**6)], {}),
        ("a resize to 10^6", "RESIZE_BILINEAR", [x(*IMAGE), ints(10**6, 10**6)], {}),
        ("a resize to 0", "RESIZE_BILINEAR", [x(*IMAGE), ints(0, 0)], {}),
        ("a gather index", "GATHER", [x(4, 2), ints(99)], {}),
        ("a gather index on constants", "GATHER", [weights(4, 2), ints(99)], {}),
        ("gather ND index", "GATHER_ND", [x(4, 2), const([[9, 0]], np.int32)], {}),
        ("filters without channels", "CONV_2D", [x(*IMAGE), const(np.zeros((1, 2, 2, 0), np.float32)), None], WINDOWS),
        ("no filters", "CONV_2D", [x(*IMAGE), const(np.zeros((0, 2, 2, 2), np.float32)), None], WINDOWS),
        ("block size 0", "SPACE_TO_DEPTH", [x(*IMAGE)], {"block_size": 0}),
        ("block size 2^31-1", "DEPTH_TO_SPACE", [x(*IMAGE)], {"block_size": HUGE}),
        ("blocks of 0", "SPACE_TO_BATCH_ND", [x(*IMAGE), ints(0, 0), const(np.zeros((2, 2)), np.int32)], {}),
        ("top k above the size", "TOPK_V2", [x(2, 3), const(99, np.int32)], {}),
        ("a split that does not fit", "SPLIT", [const(0, np.int32), x(5)], {"num_splits": 2}),
        ("a transpose of axis 9", "TRANSPOSE", [x(2, 3), ints(9, 0)], {}),
        ("a reshape to another count", "RESHAPE", [x(2, 3), ints(5, 5)], {}),
        ("a reshape with two -1", "RESHAPE", [x(2, 3), ints(-1, -1)], {}),
        ("a reduction of axis 9", "MEAN", [x(2, 3), ints(9)], {}),
        ("a strided slice of step 0", "STRIDED_SLICE", [x(4), ints(0), ints(4), ints(0)], {}),
        ("a scatter outside", "SCATTER_ND", [const([[9]], np.int32), weights(1), ints(4)], {}),
    ):  # fmt: skip
        results = (Tensor(), Tensor()) if op in ("TOPK_V2", "SPLIT") else (Tensor(),)
        yield case(label, single("a", op, operands, options, results).data, (3, 4))


def list_declared() -> Iterator[Case]:
    """Every op with a wrong number of inputs and outputs, every option out of its range: from declarations."""
    for op, arity in ARITIES.items():
        if op not in BUILTINS:
            continue
        least, most = arity.inputs
        counts = [n for n in (least - 1, most + 1) if 0 <= n <= 60]
        outputs = max(arity.outputs[0], 1)
        for count in counts:
            yield case(f"{op} of {count} inputs", build(op, count, outputs), (3, 4))
        if arity.outputs[1] < MANY:
            yield case(
                f"{op} of {arity.outputs[1] + 1} outputs", build(op, least, arity.outputs[1] + 1), (3, 4)
            )
        for name in find_fields(op):
            if name in RANGES:
                for value in {RANGES[name][0] - 1, RANGES[name][1] + 1}:
                    if find_fields(op)[name][1] != "b" or value < 128:
                        yield case(
                            f"{op} with {name} {value}", build(op, least, outputs, {name: value}), (3, 4)
                        )


def build(op: str, inputs: int, outputs: int, options: dict[str, int] | None = None) -> bytes:
    """A model of one op of so many inputs and outputs."""
    tensors = [replace(x(*IMAGE), name=f"i{n}") for n in range(max(inputs, 1))]
    results = [Tensor(name=f"o{n}") for n in range(outputs)]
    fields = {
        name: 1 for name, (_, kind, _) in find_fields(op).items() if kind in "iI" and "subgraph" not in name
    }
    places = list(range(inputs))
    ends = list(range(len(tensors), len(tensors) + outputs))
    return model(
        Subgraph(
            [*tensors, *results],
            range(len(tensors)),
            ends,
            [Operator(op, places, ends, {**fields, **(options or {})})],
        )
    )


def list_custom() -> Iterator[Case]:
    """Custom ops and their options."""
    for label, content in {"garbage": b"\xff" * 40, "nothing": b"", "one byte": b"\1"}.items():
        boxes = [x(1, 10, 4), x(1, 10, 3), weights(10, 4)]
        results = [Tensor(name=f"o{n}") for n in range(4)]
        data = single("d", "TFLite_Detection_PostProcess", boxes, {}, results, custom=content).data
        yield case(f"custom options: {label}", data, (3, 4))
    yield case("an unknown custom op", single("m", "Magic", [x(2)], {}, custom=b"\1\2").data, (4,))


CASES = [*list_files(), *list_places(), *list_encodings(), *list_sizes(), *list_custom()]
