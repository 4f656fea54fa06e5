"""Hostile ONNX models, in the order of the checklist."""

import os
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper as h

from edgewright.frontends.onnx.wire import _write_field as wire
from tests.hostile.case import Case, Content

CONVERT = ("edgewright", "convert", "in/m.onnx", "-o", "out/m.cpp")
I64 = np.int64
X = (1, 1, 4, 4)


def info(name: str, shape: Any = X, code: int = T.FLOAT) -> onnx.ValueInfoProto:
    """A value of a type."""
    return h.make_tensor_value_info(name, code, shape)


def const(name: str, value: Any) -> onnx.TensorProto:
    """A stored tensor."""
    return onnx.numpy_helper.from_array(np.asarray(value), name)


def model(
    nodes: Sequence[onnx.NodeProto],
    inputs: Sequence[onnx.ValueInfoProto] = (info("x"),),
    outputs: Sequence[onnx.ValueInfoProto] = (info("y", None),),
    weights: Sequence[onnx.TensorProto] = (),
    opset: int = 17,
) -> onnx.ModelProto:
    """A model."""
    graph = h.make_graph(list(nodes), "g", list(inputs), list(outputs), list(weights))
    return h.make_model(graph, opset_imports=[h.make_opsetid("", opset)], ir_version=10)


def one(
    op: str, inputs: Sequence[str], weights: Sequence[Any] = (), opset: int = 17, **attributes: Any
) -> onnx.ModelProto:
    """A model of one node: inputs by name, then stored tensors."""
    names = [*inputs, *(f"w{i}" for i in range(len(weights)))]
    stored = [const(f"w{i}", w) for i, w in enumerate(weights)]
    return model([h.make_node(op, names, ["y"], **attributes)], weights=stored, opset=opset)


def case(
    name: str,
    proto: onnx.ModelProto | bytes,
    *,
    codes: tuple[int, ...] = (3, 4),
    says: str = "",
    **files: Content,
) -> Case:
    """A conversion of one model."""
    data = proto if isinstance(proto, bytes) else proto.SerializeToString()
    return Case(name, CONVERT, {"in/m.onnx": data, **files}, codes, says)


SOUND = model([h.make_node("Relu", ["x"], ["mid"], name="first"), h.make_node("Abs", ["mid"], ["y"])])
K = np.ones((1, 1, 3, 3), np.float32)


def list_files() -> Iterator[Case]:
    """1: what is no model at all."""
    data = SOUND.SerializeToString()
    yield case("truncated", data[: len(data) // 2], codes=(3,))
    yield case("random bytes", np.random.default_rng(1).bytes(4096), codes=(3,))
    yield case("0 bytes", b"", codes=(3,))
    yield case("one byte", b"\x08", codes=(3,))
    yield case("wrong magic", b"PK\x03\x04" + data, codes=(3,))
    yield case("a text", b"this is not a model\n" * 50, codes=(3,))


def list_names() -> Iterator[Case]:
    """2: fields and names."""
    data = SOUND.SerializeToString()
    yield case("unknown wire fields", data + wire(99, b"whatever") + wire(1000, b"x" * 100), codes=(0,))
    yield case(
        "a name of 100 MB",
        model(
            [h.make_node("Relu", ["x"], ["n" * 100_000_000]), h.make_node("Abs", ["n" * 100_000_000], ["y"])]
        ),
        codes=(3,),
        says="at most",
    )
    yield case(
        "a name that is not UTF-8", data.replace(b"first", b"\xff\xfe\xff\xfe\xff"), codes=(3,), says="UTF-8"
    )
    for label, name in {
        "NUL": "a\0b",
        "new line": "a\nb",
        "../": "../../up",
        "shell": "$(touch /tmp/x);`id`|&",
        "empty": "",
    }.items():
        middle = "mid" if label == "empty" else name
        nodes = [h.make_node("Relu", ["x"], [middle], name=name), h.make_node("Abs", [middle], ["y"])]
        yield case(f"a name with {label}", model(nodes), codes=(0,))
    yield case(
        "duplicate names",
        model([h.make_node("Relu", ["x"], ["y"]), h.make_node("Abs", ["x"], ["y"])]),
        codes=(3,),
        says="made twice",
    )
    yield case("empty output names", model([h.make_node("Relu", ["x"], [""])]), codes=(3,))


def external(location: str, tensor: str = "weights", **entries: Any) -> onnx.ModelProto:
    """A model whose weight lies in another file."""
    stored = T(name="w", dims=[4], data_type=T.FLOAT, data_location=T.EXTERNAL)
    for key, value in {"location": location, **entries}.items():
        stored.external_data.add(key=key, value=str(value))
    if tensor == "weights":
        return model([h.make_node("Add", ["x", "w"], ["y"])], weights=[stored])
    if tensor == "constant":
        return model(
            [h.make_node("Constant", [], ["w"], value=stored), h.make_node("Add", ["x", "w"], ["y"])]
        )
    if tensor == "sparse":
        sparse = onnx.SparseTensorProto(values=stored, indices=const("", np.arange(4)), dims=[4])
        proto = model([h.make_node("Add", ["x", "w"], ["y"])])
        proto.graph.sparse_initializer.append(sparse)
        return proto
    if tensor == "subgraph":
        branch = h.make_graph([h.make_node("Add", ["x", "w"], ["z"])], "b", [], [info("z", None)], [stored])
        other = h.make_graph([h.make_node("Abs", ["x"], ["z"])], "o", [], [info("z", None)])
        node = h.make_node("If", ["c"], ["y"], then_branch=branch, else_branch=other)
        return model([node], weights=[const("c", np.asarray(True))])
    body = [h.make_node("Constant", [], ["w"], value=stored), h.make_node("Add", ["v", "w"], ["u"])]
    proto = model([h.make_node("F", ["x"], ["y"], domain="local")])
    proto.functions.append(h.make_function("local", "F", ["v"], ["u"], body, [h.make_opsetid("", 17)]))
    proto.opset_import.append(h.make_opsetid("local", 1))
    return proto


SIXTEEN = np.arange(4, dtype=np.float32).tobytes()


def list_external() -> Iterator[Case]:
    """3: weights in other files."""
    secret = {"secret.bin": SIXTEEN}
    for label, location in {
        "..": "../secret.bin", "a/../..": "a/../../secret.bin", "absolute": "/etc/hostname",
        "UNC": "\\\\server\\share\\x", "drive": "C:\\x", "back slashes": "..\\secret.bin", "NUL": "a\0b",
        "nothing": "", "the folder": ".",
    }.items():  # fmt: skip
        yield case(f"external data {label}", external(location), codes=(3,), **secret)
    for where in ("constant", "sparse", "subgraph", "function"):
        yield case(f"external data .. in a {where}", external("../secret.bin", where), codes=(3,), **secret)
    makers: dict[str, Content] = {
        "a symbolic link": lambda p: p.symlink_to("../secret.bin"),
        "a pipe": os.mkfifo,
        "a device": lambda p: p.symlink_to("/dev/zero"),
        "a folder": lambda p: p.mkdir(),
    }
    for label, make in makers.items():
        yield case(f"external data is {label}", external("w.bin"), codes=(3,), **secret, **{"in/w.bin": make})

    def link_parent(path: Path) -> None:
        path.symlink_to(path.parent.parent)

    yield case(
        "external data behind a linked folder",
        external("up/secret.bin"),
        codes=(3,),
        **secret,
        **{"in/up": link_parent},
    )
    yield case("external data is missing", external("gone.bin"), codes=(3,))
    beside = {"in/w.bin": SIXTEEN}
    for label, entries in {
        "offset below 0": {"offset": -4}, "length below 0": {"length": -4}, "length above the file": {"length": 1 << 50},
        "offset above the file": {"offset": 1 << 20}, "offset + length overflows": {"offset": (1 << 64) - 8, "length": 16},
        "length shorter than the tensor": {"length": 8}, "offset that is no number": {"offset": "abc"},
        "a length of 5,000 digits": {"length": "9" * 5000},
    }.items():  # fmt: skip
        yield case(f"external data: {label}", external("w.bin", **entries), codes=(3,), **beside)
    yield case(
        "external data: keys of Python",
        external("w.bin", __class__="x", __init__="y"),
        codes=(0, 3),
        **beside,
    )


def list_sizes() -> Iterator[Case]:
    """4: dimensions and stored bytes."""
    add = [h.make_node("Add", ["x", "w"], ["y"])]

    def stored(dims: Sequence[int], code: int = T.FLOAT, raw: bytes = b"\0" * 24) -> onnx.ModelProto:
        return model(add, weights=[T(name="w", dims=dims, data_type=code, raw_data=raw)])

    yield case("a negative dimension", stored([-1, 6]), codes=(3,))
    yield case("a dimension of 2^63-1", stored([(1 << 63) - 1, 6]), codes=(3,))
    yield case("a product that overflows", stored([1 << 32, 1 << 32]), codes=(3,))
    yield case("raw data too short", stored([2, 4]), codes=(3,))
    yield case("raw data too long", stored([5]), codes=(3,))
    yield case("datatype 99", stored([6], 99), codes=(3, 4))
    yield case("datatype 0", stored([6], 0), codes=(3, 4))
    yield case("int4 of an odd count, too short", stored([5], T.INT4, b"\0\0"), codes=(3,))
    yield case("100 axes", stored([1] * 100, raw=b"\0" * 4), codes=(3,))
    for dim in (-2, (1 << 63) - 1, 1 << 50):
        yield case(
            f"an input of size {dim}",
            model([h.make_node("Relu", ["x"], ["y"])], [info("x", (dim, 3))]),
            codes=(3,),
        )
    yield case(
        "an input of 10^12 elements",
        model([h.make_node("Relu", ["x"], ["y"])], [info("x", (10**6, 10**6))]),
        codes=(3,),
    )
    yield case(
        "an input of size 0", model([h.make_node("Relu", ["x"], ["y"])], [info("x", (0, 3))]), codes=(0, 3, 4)
    )


def list_wiring() -> Iterator[Case]:
    """5: how nodes hang together."""
    cycle = [
        h.make_node("Add", ["x", "b"], ["a"]),
        h.make_node("Relu", ["a"], ["b"]),
        h.make_node("Abs", ["b"], ["y"]),
    ]
    yield case("a cycle", model(cycle), codes=(3,), says="cycle")
    yield case("a dangling input", model([h.make_node("Relu", ["nothing"], ["y"])]), codes=(3,))
    yield case("an output never made", model([h.make_node("Relu", ["x"], ["z"])]), codes=(3,))
    yield case(
        "a tensor made twice", model([h.make_node("Relu", ["x"], ["x"])], outputs=[info("x")]), codes=(3,)
    )
    shadow = model(
        [h.make_node("Add", ["x", "w"], ["y"])],
        [info("x"), info("w", ())],
        weights=[const("w", np.float32(2))],
    )
    yield case("an initializer with an input's name", shadow, codes=(0,))
    yield case(
        "an initializer with a node's name",
        model([h.make_node("Relu", ["x"], ["y"])], weights=[const("y", np.float32(2))]),
        codes=(3,),
    )
    yield case(
        "an output declared as int64 and computed as float",
        model([h.make_node("Relu", ["x"], ["y"])], outputs=[info("y", X, T.INT64)]),
        codes=(3,),
        says="'y' is declared as int64 and computed as float",
    )
    yield case("no graph", onnx.ModelProto(ir_version=8).SerializeToString(), codes=(3,))
    yield case("no outputs", model([h.make_node("Relu", ["x"], ["y"])], outputs=[]), codes=(3,))


def nest(depth: int, width: int = 1) -> bytes:
    """Branches inside each other, written by hand: protobuf builds no thousand levels."""
    graph = wire(1, wire(1, b"x") + wire(2, b"y") + wire(4, b"Relu")) + wire(12, b"\x0a\1y")
    for _ in range(depth):
        names = [b"then_branch", b"else_branch"]
        branches = b"".join(
            wire(5, wire(1, name) + b"\xa0\x01\x05" + wire(6, graph)) for name in names[: 1 + (width > 1)]
        )
        graph = wire(1, wire(1, b"c") + wire(2, b"y") + wire(4, b"If") + branches) + wire(12, b"\x0a\1y")
    inputs = info("x").SerializeToString(), info("c", (), T.BOOL).SerializeToString()
    return wire(7, graph + b"".join(wire(11, item) for item in inputs)) + wire(8, b"\x10\x11") + b"\x08\x08"


def recursive() -> onnx.ModelProto:
    """Two local functions that call each other."""
    proto = model([h.make_node("A", ["x"], ["y"], domain="local")])
    for name, other in (("A", "B"), ("B", "A")):
        node = h.make_node(other, ["v"], ["u"], domain="local")
        proto.functions.append(
            h.make_function("local", name, ["v"], ["u"], [node], [h.make_opsetid("local", 1)])
        )
    proto.opset_import.append(h.make_opsetid("local", 1))
    return proto


def loop(trips: int) -> onnx.ModelProto:
    """A loop whose body adds."""
    body = h.make_graph(
        [h.make_node("Identity", ["k"], ["k2"]), h.make_node("Relu", ["v"], ["w"])], "b",
        [info("i", (), T.INT64), info("k", (), T.BOOL), info("v")], [info("k2", (), T.BOOL), info("w")],
    )  # fmt: skip
    return model(
        [h.make_node("Loop", ["n", "", "x"], ["y"], body=body)], weights=[const("n", np.int64(trips))]
    )


def chain(count: int) -> onnx.ModelProto:
    """Many nodes in a row."""
    names = ["x", *(f"v{i}" for i in range(count - 1)), "y"]
    return model([h.make_node("Relu", [a], [b]) for a, b in pairwise(names)])


def list_depths() -> Iterator[Case]:
    """6: much of something."""
    yield case("If inside If, 1,000 levels", nest(1000), codes=(3,))
    yield case("If inside If, 36 levels", nest(36), codes=(0, 3, 4))
    yield case("If inside both branches, 14 levels", nest(14, 2), codes=(0, 3, 4))
    yield case("If inside both branches, 17 levels", nest(17, 2), codes=(0, 3, 4))
    yield case("functions that call each other", recursive(), codes=(3,), says="calls itself")
    yield case("a loop of 2^62 rounds", loop(1 << 62), codes=(3,))
    yield case(
        "20,000 inputs",
        model(
            [h.make_node("Relu", ["x"], ["y"])], [info("x"), *(info(f"i{n}", (1,)) for n in range(20_000))]
        ),
        codes=(0, 2, 3, 4),
    )
    yield case("30,000 nodes in a row", chain(30_000), codes=(0,))


def list_opsets() -> Iterator[Case]:
    """7: versions and domains."""
    relu = [h.make_node("Relu", ["x"], ["y"])]
    yield case("opset 0", model(relu, opset=0), codes=(3,))
    yield case("opset -5", model(relu, opset=-5), codes=(3,))
    yield case("opset 9999", model(relu, opset=9999), codes=(4,))
    bare = model(relu)
    del bare.opset_import[:]
    yield case("no opset", bare, codes=(3,))
    yield case(
        "a custom domain", model([h.make_node("Magic", ["x"], ["y"], domain="com.example")]), codes=(4,)
    )
    yield case("an unknown op", model([h.make_node("NoSuchOp", ["x"], ["y"])]), codes=(4,))
    twice = model(relu)
    twice.opset_import.append(h.make_opsetid("", 13))
    yield case("two opsets of one domain", twice, codes=(0, 3))


BAD_NODES = {
    "attribute of another type": one("Conv", ["x"], [K], strides="no"),
    "attribute of floats": one("Conv", ["x"], [K], strides=[1.5, 1.5]),
    "attribute missing": one("MaxPool", ["x"]),
    "attribute to missing": one("Cast", ["x"]),
    "stride 0": one("Conv", ["x"], [K], strides=[0, 0]),
    "stride 2^31-1": one("Conv", ["x"], [K], strides=[2**31 - 1, 1], pads=[2**31, 0, 2**31, 0]),
    "dilation 0": one("Conv", ["x"], [K], dilations=[0, 0]),
    "dilation 2^31-1": one("Conv", ["x"], [K], dilations=[2**31 - 1, 2**31 - 1]),
    "dilation 2^31-1 with auto_pad": one(
        "Conv", ["x"], [K], dilations=[2**31 - 1, 2**31 - 1], auto_pad="SAME_UPPER"
    ),
    "dilation 2^62": one("Conv", ["x"], [K], dilations=[2**62, 1], auto_pad="SAME_UPPER"),
    "group 0": one("Conv", ["x"], [K], group=0),
    "group -1": one("Conv", ["x"], [K], group=-1),
    "group 7": one("Conv", ["x"], [K], group=7),
    "pads negative": one("Conv", ["x"], [K], pads=[-1, -1, -1, -1]),
    "pads huge": one("MaxPool", ["x"], kernel_shape=[3, 3], pads=[10**6, 10**6, 10**6, 10**6]),
    "pool window 2^31-1": one("MaxPool", ["x"], kernel_shape=[2**31 - 1, 2**31 - 1], auto_pad="SAME_UPPER"),
    "mean window 2^31-1": one(
        "AveragePool", ["x"], kernel_shape=[2**31 - 1, 2**31 - 1], auto_pad="SAME_UPPER"
    ),
    "pool dilation 2^31-1": one(
        "MaxPool", ["x"], kernel_shape=[2, 2], dilations=[2**31 - 1] * 2, auto_pad="SAME_UPPER"
    ),
    "auto_pad bogus": one("Conv", ["x"], [K], auto_pad="BOGUS"),
    "kernel above the input": one("Conv", ["x"], [np.ones((1, 1, 9, 9), np.float32)]),
    "kernel_shape other than the weights": one("Conv", ["x"], [K], kernel_shape=[5, 5]),
    "weights without channels": one("Conv", ["x"], [np.ones((1, 0, 3, 3), np.float32)]),
    "weights without filters": one("Conv", ["x"], [np.ones((0, 1, 3, 3), np.float32)]),
    "axis out of range": one("Softmax", ["x"], axis=9),
    "concat axis": one("Concat", ["x", "x"], axis=-9),
    "concat ranks": one("Concat", ["x"], [np.ones(3, np.float32)], axis=0),
    "reshape with two -1": one("Reshape", ["x"], [np.asarray([-1, -1], I64)]),
    "split sum": one("Split", ["x"], [np.asarray([1, 9], I64)], axis=2),
    "gather index": one("Gather", ["x"], [np.asarray([99], I64)], axis=2),
    "gather index below": one("Gather", ["x"], [np.asarray([-5], I64)], axis=2),
    "gather elements index": one("GatherElements", ["x"], [np.full((1, 1, 4, 4), 4, I64)], axis=2),
    "gather ND index": one("GatherND", ["x"], [np.asarray([[0, 0, 9, 0]], I64)]),
    "scatter index": one("ScatterElements", ["x"], [np.full(X, 7, I64), np.ones(X, np.float32)], axis=3),
    "scatter ND index": one("ScatterND", ["x"], [np.asarray([[0, 0, 9, 0]], I64), np.ones(1, np.float32)]),
    "gather on constants": one("Gather", [], [np.ones(3, np.float32), np.asarray([99], I64)]),
    "top k above the size": one("TopK", ["x"], [np.asarray([99], I64)]),
    "top k below 0": one("TopK", ["x"], [np.asarray([-1], I64)]),
    "pad huge": one("Pad", ["x"], [np.full(8, 1 << 40, I64)]),
    "pad mode": one("Pad", ["x"], [np.ones(8, I64)], mode="bogus"),
    "pad reflect too wide": one("Pad", ["x"], [np.full(8, 9, I64)], mode="reflect"),
    "resize scale 0": one("Resize", ["x"], [np.zeros(0, np.float32), np.zeros(4, np.float32)]),
    "resize scale 1e9": one("Resize", ["x"], [np.zeros(0, np.float32), np.full(4, 1e9, np.float32)]),
    "resize scale nan": one("Resize", ["x"], [np.zeros(0, np.float32), np.full(4, np.nan, np.float32)]),
    "resize mode": one("Resize", ["x"], [np.zeros(0, np.float32), np.ones(4, np.float32)], mode="bogus"),
    "resize coordinates": one(
        "Resize",
        ["x"],
        [np.zeros(0, np.float32), np.full(4, 2, np.float32)],
        coordinate_transformation_mode="bogus",
    ),
    "resize nearest": one(
        "Resize", ["x"], [np.zeros(0, np.float32), np.full(4, 2, np.float32)], nearest_mode="bogus"
    ),
    "tile 1e9": one("Tile", ["x"], [np.full(4, 10**9, I64)]),
    "tile to 10^12": one("Tile", ["x"], [np.asarray([1, 1, 10**6, 10**5], I64)]),
    "expand": one("Expand", ["x"], [np.full(8, 10**6, I64)]),
    "expand to 10^11": one("Expand", ["x"], [np.asarray([10**10, 1, 1, 1], I64)]),
    "constant of shape 10^24": one("ConstantOfShape", [], [np.full(4, 10**6, I64)]),
    "constant of shape 10^12": one("ConstantOfShape", [], [np.full(2, 10**6, I64)]),
    "constant of shape 10^10": one("ConstantOfShape", [], [np.full(2, 10**5, I64)]),
    "range of 10^13": one("Range", [], [np.asarray(0), np.asarray(10**13), np.asarray(1)]),
    "range of 10^10": one("Range", [], [np.asarray(0), np.asarray(10**10), np.asarray(1)]),
    "range step 0": one("Range", [], [np.asarray(0), np.asarray(10), np.asarray(0)]),
    "one hot 2^50": one(
        "OneHot", [], [np.zeros((10, 10), I64), np.asarray(1 << 50, I64), np.zeros(2, np.float32)]
    ),
    "one hot 10^10": one(
        "OneHot", [], [np.zeros((10, 10), I64), np.asarray(10**8, I64), np.zeros(2, np.float32)]
    ),
    "one hot below 0": one(
        "OneHot", [], [np.zeros((2, 2), I64), np.asarray(-1, I64), np.zeros(2, np.float32)]
    ),
    "space to depth 0": one("SpaceToDepth", ["x"], blocksize=0),
    "depth to space mode": one("DepthToSpace", ["x"], blocksize=1, mode="bogus"),
    "einsum": one("Einsum", ["x"], equation="->->"),
    "cast to 99": one("Cast", ["x"], to=99),
    "slice step 0": one(
        "Slice", ["x"], [np.zeros(1, I64), np.ones(1, I64), np.zeros(1, I64), np.zeros(1, I64)]
    ),
    "quantize scale 0": one("QuantizeLinear", ["x"], [np.float32(0), np.uint8(0)]),
    "quantize scale nan": one("QuantizeLinear", ["x"], [np.float32(np.nan), np.uint8(0)]),
    "quantize scale below 0": one("QuantizeLinear", ["x"], [np.float32(-1), np.uint8(0)]),
    "quantize scales of another count": one("QuantizeLinear", ["x"], [np.ones(7, np.float32)], axis=2),
    "dequantize scale inf": one(
        "DequantizeLinear", [], [np.ones(3, np.uint8), np.float32(np.inf), np.uint8(0)]
    ),
    "quantize axis": one("QuantizeLinear", ["x"], [np.ones(5, np.float32)], axis=9),
    "lrn size 0": one("LRN", ["x"], size=0),
    "batch norm of another size": one("BatchNormalization", ["x"], [np.ones(7, np.float32)] * 4),
    "batch norm epsilon nan": one(
        "BatchNormalization", ["x"], [np.ones(1, np.float32)] * 4, epsilon=float("nan")
    ),
    "too few inputs": one("Conv", ["x"]),
    "too many inputs": one("Relu", ["x", "x"]),
    "no inputs": one("Relu", []),
    "mixed types": one("Add", ["x"], [np.asarray([1], I64)]),
    "transpose perm": one("Transpose", ["x"], perm=[0, 0, 1, 9]),
    "reduce axes": one("ReduceMean", ["x"], axes=[9]),
    "LSTM direction": one(
        "LSTM",
        [],
        [np.ones((2, 1, 3), np.float32), np.ones((1, 8, 3), np.float32), np.ones((1, 8, 2), np.float32)],
        direction="up",
        hidden_size=2,
    ),
    "LSTM activations": one(
        "LSTM",
        [],
        [np.ones((2, 1, 3), np.float32), np.ones((1, 8, 3), np.float32), np.ones((1, 8, 2), np.float32)],
        activations=["Bogus"] * 3,
        hidden_size=2,
    ),
    "LSTM hidden size": one(
        "LSTM",
        [],
        [np.ones((2, 1, 3), np.float32), np.ones((1, 8, 3), np.float32), np.ones((1, 8, 2), np.float32)],
        hidden_size=10**12,
    ),
    "grid sample mode": one("GridSample", ["x"], [np.zeros((1, 2, 2, 2), np.float32)], mode="bogus"),
    "gelu approximate": one("Gelu", ["x"], opset=20, approximate="bogus"),
    "bit shift direction": one("BitShift", [], [np.ones(2, np.uint8), np.ones(2, np.uint8)], direction="UP"),
    "scatter reduction": one(
        "ScatterElements",
        ["x"],
        [np.zeros(X, I64), np.ones(X, np.float32)],
        axis=3,
        reduction="bogus",
        opset=18,
    ),
    "eye like of 10^12": one("EyeLike", [], [np.broadcast_to(np.float32(0), (1, 1))], k=10**12),
    "cum sum axis": one("CumSum", ["x"], [np.asarray(9, I64)]),
    "non max suppression": one(
        "NonMaxSuppression",
        [],
        [np.ones((1, 4, 4), np.float32), np.ones((1, 1, 4), np.float32), np.asarray([1 << 60], I64)],
        center_point_box=7,
    ),
}


def list_nodes() -> Iterator[Case]:
    """8: attributes and shapes."""
    accepted = {"pad reflect too wide", "eye like of 10^12", "non max suppression", "top k below 0"}
    for name, proto in BAD_NODES.items():
        yield case(name, proto, codes=(0, 3, 4) if name in accepted else (3, 4))
    values = np.asarray([np.nan, np.inf, -np.inf, 1e-45, 0, -0.0, 3e38, 1], np.float32)
    odd = model([h.make_node("Add", ["x", "w"], ["y"])], [info("x", (8,))], weights=[const("w", values)])
    yield case("weights that are no numbers", odd, codes=(0,))


CASES = [
    *list_files(), *list_names(), *list_external(), *list_sizes(), *list_wiring(), *list_depths(),
    *list_opsets(), *list_nodes(),
]  # fmt: skip
