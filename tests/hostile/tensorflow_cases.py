"""Hostile TensorFlow graphs, in the order of the checklist."""

from collections.abc import Iterator

import numpy as np

from tests.hostile.case import Case
from tests.unit.frontends.tensorflow.graph_writer import (
    DECLARED,
    FLOAT,
    calls,
    const,
    dtype,
    field,
    graph,
    node,
    placeholder,
    shape,
)  # fmt: skip

CONVERT = ("edgewright", "convert", "in/m.pb", "-o", "out/m.cpp")


def case(name: str, data: bytes, codes: tuple[int, ...] = (3, 4), says: str = "") -> Case:
    """A conversion of one graph."""
    return Case(name, CONVERT, {"in/m.pb": data}, codes, says)


def behind(*nodes: bytes) -> bytes:
    """A graph of an input x and these nodes."""
    return graph(placeholder("x", 1, 4, 4, 2), *nodes)


FILTERS = const("w", np.ones((2, 2, 2, 3), np.float32))
SOUND = behind(node("y", "Relu", "x"))


def list_files() -> Iterator[Case]:
    """What is no graph."""
    yield case("0 bytes", b"", (3,))
    yield case("truncated", SOUND[: len(SOUND) // 2], (3,))
    yield case("random bytes", np.random.default_rng(3).bytes(3000), (3,))
    yield case("a length past the end", b"\x0a\xff\xff\xff\x7f" + SOUND, (3,))
    yield case("a number that does not end", b"\x08" + b"\xff" * 30, (3,))
    yield case("a name that is not UTF-8", SOUND.replace(b"Relu", b"\xff\xfe\xff\xfe"), (3,))


def list_functions() -> Iterator[Case]:
    """Functions that call themselves, and loops."""
    from tests.unit.frontends.tensorflow.graph_writer import function

    inner = function("f", ["a"], {"r": "c:output:0"}, node("c", "PartitionedCall", "a", f=calls("f")))
    types = field(1, field(6, FLOAT))
    call = node("y", "PartitionedCall", "x", f=calls("f"), Tin=types, Tout=types)
    yield case("a function that calls itself", graph(placeholder("x", 2), call, functions=[inner]), (3,))
    yield case(
        "a function that is not there",
        behind(node("y", "PartitionedCall", "x", f=calls("gone"), Tin=types, Tout=types)),
        (3, 4),
    )
    yield case(
        "a cycle", behind(node("a", "AddV2", "x", "b"), node("b", "Relu", "a"), node("y", "Abs", "b")), (3,)
    )
    yield case(
        "NextIteration in a circle",
        behind(node("m", "Merge", "x", "n"), node("n", "NextIteration", "m"), node("y", "Relu", "m")),
        (3, 4),
    )
    yield case("an input that is not there", behind(node("y", "Relu", "nothing")), (3,))
    yield case("port 999999999", behind(node("a", "Relu", "x"), node("y", "Relu", "a:999999999")), (3, 4))
    yield case("two nodes of one name", behind(node("y", "Relu", "x"), node("y", "Abs", "x")), (3,))
    yield case("an unknown op", behind(node("y", "NoSuchOp", "x")), (4,))
    yield case(
        "a name of 1 MB", behind(node("n" * (1 << 20), "Relu", "x"), node("y", "Abs", "n" * (1 << 20))), (3,)
    )


def stored(code: int, dims: bytes, content: bytes) -> bytes:
    """A constant of which every part may lie."""
    value = field(8, field(1, code) + field(2, dims) + content)
    return node("w", "Const", dtype=dtype(code), value=value)


def list_tensors() -> Iterator[Case]:
    """Stored tensors."""
    add = node("y", "AddV2", "x", "w")
    for label, weight in {
        "content shorter than the shape": stored(FLOAT, shape(9), field(4, b"\0" * 8)),
        "content longer than the shape": stored(FLOAT, shape(1), field(4, b"\0" * 800)),
        "one value for 10^12": stored(FLOAT, shape(10**6, 10**6), field(5, b"\0\0\x80?")),
        "one half for 10^12": stored(19, shape(10**6, 10**6), field(13, 15360)),
        "more values than the shape": stored(FLOAT, shape(1), field(5, b"\0\0\x80?" * 9)),
        "a negative size": stored(FLOAT, shape(-3), field(5, b"\0\0\x80?")),
        "sizes whose product wraps": stored(FLOAT, shape(1 << 32, 1 << 32), field(5, b"\0\0\x80?")),
        "datatype 999": stored(999, shape(1), field(4, b"\0" * 4)),
        "datatype 0": stored(0, shape(1), field(4, b"\0" * 4)),
        "100 axes": stored(FLOAT, shape(*[1] * 100), field(5, b"\0\0\x80?")),
    }.items():  # fmt: skip
        yield case(f"a stored tensor: {label}", behind(weight, add), (3, 4))
    for dims in ((10**6, 10**6), (-7, 2), (1 << 62, 2)):
        yield case(
            f"an input of shape {list(dims)}", graph(placeholder("x", *dims), node("y", "Relu", "x")), (2, 3)
        )


def list_nodes() -> Iterator[Case]:
    """Attributes and what they ask for."""
    conv = {"strides": [1, 1, 1, 1], "padding": "SAME"}
    bad = {
        "data_format ABCD": node("y", "Conv2D", "x", "w", **conv, data_format="ABCD"),
        "padding BOGUS": node("y", "Conv2D", "x", "w", strides=[1, 1, 1, 1], padding="BOGUS"),
        "strides missing": node("y", "Conv2D", "x", "w", padding="SAME"),
        "padding missing": node("y", "Conv2D", "x", "w", strides=[1, 1, 1, 1]),
        "strides as a word": node("y", "Conv2D", "x", "w", strides="no", padding="SAME"),
        "strides of 0": node("y", "Conv2D", "x", "w", strides=[1, 0, 0, 1], padding="SAME"),
        "strides of 2^31": node("y", "Conv2D", "x", "w", strides=[1, 2**31, 2**31, 1], padding="SAME"),
        "dilations of 2^31-1": node("y", "Conv2D", "x", "w", **conv, dilations=[1, 2**31 - 1, 2**31 - 1, 1]),
        "a pool of 2^31-1": node(
            "y", "MaxPool", "x", ksize=[1, 2**31 - 1, 2**31 - 1, 1], strides=[1, 1, 1, 1], padding="SAME"
        ),
        "a mean of 2^31-1": node(
            "y", "AvgPool", "x", ksize=[1, 2**31 - 1, 2**31 - 1, 1], strides=[1, 1, 1, 1], padding="SAME"
        ),
        "T missing": node("y", "Relu", "x", T=None),
        "T of datatype 999": node("y", "Relu", "x", T=dtype(999)),
        "T as a word": node("y", "Relu", "x", T="float"),
        "a cast to datatype 999": node("y", "Cast", "x", DstT=dtype(999)),
        "N that lies": node("y", "AddN", "x", "x", N=7),
        "N of 0": node("y", "AddN", N=0),
        "block size 0": node("y", "SpaceToDepth", "x", block_size=0),
        "block size 2^40": node("y", "DepthToSpace", "x", block_size=1 << 40),
        "squeeze of axis 9": node("y", "Squeeze", "x", squeeze_dims=[9]),
    }
    for label, made in bad.items():
        yield case(label, behind(FILTERS, made), (3, 4))
    i32 = np.int32
    for label, op, values, more in (
        ("a gather index", "GatherV2", [np.asarray([99], i32), np.asarray(1, i32)], {}),
        ("a fill of 10^12", "Fill", [np.asarray([10**6, 10**6], i32), np.float32(1)], {}),
        ("a tile of 10^12", "Tile", [np.asarray([1, 1, 10**6, 10**6], i32)], {}),
        ("a reshape to another count", "Reshape", [np.asarray([5, 5], i32)], {}),
        ("a pad of 2^31-1", "Pad", [np.full((4, 2), 2**31 - 1, i32)], {}),
        ("one hot of 2^31-1", "OneHot", [np.arange(50, dtype=i32), np.asarray(2**31 - 1, i32), np.float32(1), np.float32(0)], {}),
        ("a range of 2^31-1", "Range", [np.asarray(0, i32), np.asarray(2**31 - 1, i32), np.asarray(1, i32)], {}),
        ("a range of step 0", "Range", [np.asarray(0, i32), np.asarray(9, i32), np.asarray(0, i32)], {}),
        ("a broadcast to 10^12", "BroadcastTo", [np.asarray([10**6, 10**6, 4, 2], i32)], {}),
        ("a resize to 10^6", "ResizeBilinear", [np.asarray([10**6, 10**6], i32)], {}),
        ("a transpose of axis 9", "Transpose", [np.asarray([9, 0, 1, 2], i32)], {}),
        ("top k above the size", "TopKV2", [np.asarray(99, i32)], {}),
    ):  # fmt: skip
        from_x = op not in {"Fill", "OneHot", "Range"}
        names = [f"c{n}" for n in range(len(values))]
        constants = [const(name, value) for name, value in zip(names, values, strict=True)]
        yield case(
            label, behind(*constants, node("y", op, *(["x"] if from_x else []), *names, **more)), (3, 4)
        )


def list_declared() -> Iterator[Case]:
    """Every op with an input too many and too few, and without each attribute that it needs."""
    for op, declared in DECLARED.items():
        if op in {
            "Placeholder",
            "NoOp",
            "Assert",
            "Const",
            "Enter",
            "Exit",
            "Merge",
            "Switch",
            "NextIteration",
            "LoopCond",
        }:
            continue
        count = len(declared["inputs"])
        if all(item == 1 for item in declared["inputs"]):
            for number in {max(count - 1, 0), count + 1} - {count}:
                yield case(
                    f"{op} of {number} inputs", behind(node("y", op, *["x"] * number, **fill(op))), (3, 4)
                )
        for name, item in declared["attributes"].items():
            if "default" not in item:
                attributes = {**fill(op), name: None}
                yield case(
                    f"{op} without {name}", behind(node("y", op, *["x"] * count, **attributes)), (3, 4)
                )
            if "words" in item:
                attributes = {**fill(op), name: "ABCD"}
                yield case(
                    f"{op} with {name} ABCD", behind(node("y", op, *["x"] * count, **attributes)), (3, 4)
                )


def fill(op: str) -> dict[str, bytes]:
    """Attributes of the right kinds."""
    kinds = {
        "string": field(2, "x"), "int": field(3, 1), "float": field(4, 1.0), "bool": field(5, 1), "type": dtype(FLOAT),
        "shape": field(7, shape(1)), "tensor": field(8, b""), "func": calls("f"), "list(int)": field(1, field(3, 1) * 4),
        "list(type)": field(1, field(6, FLOAT)), "list(string)": field(1, field(2, "x")), "list(shape)": field(1, field(7, shape(1))),
        "list(func)": field(1, field(9, field(1, "f"))), "list(float)": field(1, b""), "list(bool)": field(1, b""),
    }  # fmt: skip
    required = {n: i for n, i in DECLARED[op]["attributes"].items() if "default" not in i}
    return {n: field(2, i["words"][0]) if "words" in i else kinds[i["type"]] for n, i in required.items()}


CASES = [*list_files(), *list_functions(), *list_tensors(), *list_nodes()]
