"""Models of ordinary parts that grow when they are read: much of something, and doublings."""

import os
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper as h

from edgewright.frontends.onnx.wire import _write_field as wire
from tests.hostile.case import Case
from tests.hostile.onnx_cases import I64, SIXTEEN, case, const, external, info, model, one


def double(levels: int, op: str = "Concat", **attributes: Any) -> onnx.ModelProto:
    """Each node is given the one before it twice."""
    names = ["x", *(f"v{n}" for n in range(levels - 1)), "y"]
    return model([h.make_node(op, [a, a], [b], **attributes) for a, b in pairwise(names)])


def double_constant(levels: int, op: str = "Concat", **attributes: Any) -> onnx.ModelProto:
    """The same from a constant, which is computed while the model is read."""
    names = [f"w{n}" for n in range(levels + 1)]
    nodes = [h.make_node(op, [a, a], [b], **attributes) for a, b in pairwise(names)]
    nodes.append(h.make_node("ReduceMax", [names[-1]], ["most"], keepdims=0))
    nodes.append(h.make_node("Add", ["x", "most"], ["y"]))
    return model(nodes, weights=[const("w0", np.ones(4, np.float32))])


def call_functions(levels: int, width: int) -> onnx.ModelProto:
    """Functions that call the one before them several times."""
    proto = model([h.make_node(f"F{levels}", ["x"], ["y"], domain="local")])
    for level in range(levels + 1):
        names = ["v", *(f"t{n}" for n in range(width - 1)), "u"]
        kind = f"F{level - 1}" if level else "Relu"
        nodes = [h.make_node(kind, [a], [b], domain="local" if level else "") for a, b in pairwise(names)]
        opsets = [h.make_opsetid("local", 1), h.make_opsetid("", 17)]
        proto.functions.append(h.make_function("local", f"F{level}", ["v"], ["u"], nodes, opsets))
    proto.opset_import.append(h.make_opsetid("local", 1))
    return proto


def many_constants(count: int, size: int, *, is_used: bool) -> onnx.ModelProto:
    """Constants that are made of a shape, each large, all together too large."""
    shapes = const("s", np.asarray([size], I64))
    nodes = [h.make_node("ConstantOfShape", ["s"], [f"c{n}"]) for n in range(count)]
    nodes += [h.make_node("NonZero", [f"c{n}"], [f"d{n}"]) for n in range(count)]
    values = [f"c{n}" if is_used else f"d{n}" for n in range(count)]
    return model([*nodes, h.make_node("Relu", ["x"], ["y"])], outputs=[info("y", None), *(info(v, None) for v in values)], weights=[shapes])  # fmt: skip


def write_chain(path: Path, count: int = 1_000_000) -> None:
    """A million nodes, written as they come: protobuf would take minutes."""
    nodes = b"".join(
        wire(
            1,
            wire(1, b"x" if not n else b"v%d" % (n - 1))
            + wire(2, b"y" if n == count - 1 else b"v%d" % n)
            + wire(4, b"Relu"),
        )
        for n in range(count)
    )
    ends = wire(11, info("x").SerializeToString()) + wire(12, info("y", None).SerializeToString())
    path.write_bytes(b"\x08\x08" + wire(7, nodes + ends) + wire(8, b"\x10\x11"))


def list_growth() -> Iterator[Case]:
    """Doublings."""
    yield case("Concat doubles 60 times", double(60, axis=0), codes=(3,))
    yield case("Concat doubles 28 times", double(28, axis=0), codes=(0, 3))
    yield case("Add doubles 10,000 times", double(10_000, "Add"), codes=(0,))
    yield case("a constant doubles 60 times", double_constant(60, axis=0), codes=(3,))
    yield case("a constant doubles 27 times", double_constant(27, axis=0), codes=(0, 3))
    yield case("functions that call twice, 40 levels", call_functions(40, 2), codes=(3, 4))
    yield case("functions that call 10 times, 8 levels", call_functions(8, 10), codes=(3, 4))
    yield case("functions that call once, 500 levels", call_functions(500, 1), codes=(0, 3))
    for is_used in (False, True):
        label = "kept" if is_used else "searched"
        yield case(
            f"40 constants of 2^27, {label}", many_constants(40, 1 << 27, is_used=is_used), codes=(0, 3, 4)
        )


def list_numbers() -> Iterator[Case]:
    """Much of something."""
    yield Case("a million nodes", ("edgewright", "convert", "in/m.onnx", "-o", "out/m.cpp"), {"in/m.onnx": write_chain}, (3,), "nodes")  # fmt: skip
    inputs = [info("x"), *(info(f"i{n}", (1,)) for n in range(100_000))]
    yield case("100,000 inputs", model([h.make_node("Relu", ["x"], ["y"])], inputs), codes=(0, 2, 3, 4))
    outputs = [info("y", None), *(info(f"o{n}", None) for n in range(20_000))]
    nodes = [h.make_node("Relu", ["x"], [v.name]) for v in outputs]
    yield case("20,000 outputs", model(nodes, outputs=outputs), codes=(0, 3, 4))
    yield case(
        "a node of 50,000 inputs", model([h.make_node("Concat", ["x"] * 50_000, ["y"], axis=0)]), codes=(0, 3)
    )
    yield case("a sum of 50,000 inputs", model([h.make_node("Sum", ["x"] * 50_000, ["y"])]), codes=(0, 3))
    split = h.make_node("Split", ["x"], [f"p{n}" for n in range(4)], axis=3, num_outputs=4)
    yield case(
        "a split of 2^31 parts",
        model([h.make_node("Split", ["x"], ["y"], axis=3, num_outputs=2**31)], opset=18),
        codes=(3,),
    )
    yield case(
        "a split that is right",
        model([split, h.make_node("Concat", [f"p{n}" for n in range(4)], ["y"], axis=3)], opset=18),
        codes=(0,),
    )
    meta = model([h.make_node("Relu", ["x"], ["y"])])
    for n in range(50_000):
        meta.metadata_props.add(key=f"k{n}", value="v" * 20)
    yield case("50,000 notes", meta, codes=(0,))
    shapes = [h.make_node("Shape", ["x"], ["s0"])] + [
        h.make_node("Identity", [f"s{n}"], [f"s{n + 1}"]) for n in range(20_000)
    ]
    yield case(
        "a shape passed on 20,000 times",
        model([*shapes, h.make_node("Reshape", ["x", "s20000"], ["y"])]),
        codes=(0,),
    )
    adds = [h.make_node("Add", [f"s{n}", "zero"], [f"s{n + 1}"]) for n in range(5_000)]
    yield case("a shape changed 5,000 times", model([h.make_node("Shape", ["x"], ["s0"]), *adds, h.make_node("Reshape", ["x", "s5000"], ["y"])], weights=[const("zero", np.zeros(1, I64))]), codes=(0,))  # fmt: skip


def list_makers() -> Iterator[Case]:
    """Ops that make as much as they are told to."""
    big = [10**6, 10**6]
    for label, proto in {
        "RandomNormal": one("RandomNormal", [], shape=big), "RandomUniform": one("RandomUniform", [], shape=big), "RandomNormalLike of dtype 99": one("RandomNormalLike", ["x"], dtype=99), "Multinomial": one("Multinomial", ["x"], sample_size=2**31 - 1),
        "HannWindow": one("HannWindow", [], [np.asarray(10**11, I64)]), "MelWeightMatrix": one("MelWeightMatrix", [], [np.asarray(10**6, I64), np.asarray(10**6, I64), np.asarray(8000, I64), np.float32(0), np.float32(4000)]),
        "AffineGrid": one("AffineGrid", [], [np.ones((1, 2, 3), np.float32), np.asarray([1, 1, 10**6, 10**6], I64)], opset=20), "CenterCropPad": one("CenterCropPad", ["x"], [np.asarray([10**6] * 4, I64)], opset=18), "Upsample": one("Upsample", ["x"], [np.full(4, 1e5, np.float32)], opset=9),
        "Resize to sizes": one("Resize", ["x"], [np.zeros(0, np.float32), np.zeros(0, np.float32), np.asarray([1, 1, 2**31, 2**31], I64)]), "RoiAlign": one("RoiAlign", ["x"], [np.zeros((1, 4), np.float32), np.zeros(1, I64)], output_height=2**31 - 1, output_width=2**31 - 1),
        "MaxRoiPool": one("MaxRoiPool", ["x"], [np.zeros((1, 5), np.float32)], pooled_shape=[2**31 - 1, 2**31 - 1]), "ConvTranspose pads": one("ConvTranspose", ["x"], [np.ones((1, 1, 3, 3), np.float32)], output_padding=[2**31, 2**31], strides=[2**31, 2**31]),
        "ConvTranspose output_shape": one("ConvTranspose", ["x"], [np.ones((1, 1, 3, 3), np.float32)], output_shape=[10**6, 10**7]), "Col2Im": one("Col2Im", ["x"], [np.asarray([10**6, 10**6], I64), np.asarray([1, 1], I64)], opset=18), "DFT": one("DFT", ["x"], [np.asarray(10**12, I64)], opset=17),
        "EyeLike": model([h.make_node("ConstantOfShape", ["s"], ["c"]), h.make_node("EyeLike", ["c"], ["y"])], weights=[const("s", np.asarray([10**5, 10**5], I64))]), "a reshape to 2^62": one("Reshape", ["x"], [np.asarray([1 << 62, -1], I64)]),
        "a slice of INT64_MIN": one("Slice", ["x"], [np.asarray([-(2**63)], I64), np.asarray([2**63 - 1], I64), np.asarray([3], I64), np.asarray([-(2**63)], I64)]), "an Einsum of 30 letters": one("Einsum", ["x"], equation="abcd->" + "abcd" * 8), "an Einsum of much": one("Einsum", ["x"] * 6, equation="abcd,efgh,ijkl,mnop,qrst,uvwx->aeimqubfjnrvcgkoswdhlptx"),
        "a split of nothing": one("Split", ["x"], [np.zeros(0, I64)], axis=3), "a top k of 2^62": one("TopK", ["x"], [np.asarray([1 << 62], I64)]), "Tile of 0": one("Tile", ["x"], [np.asarray([1, 1, 0, 1], I64)]),
        "MatMulNBits that lies": model([h.make_node("MatMulNBits", ["x", "w0", "w1"], ["y"], domain="com.microsoft", K=10**9, N=10**9, bits=4, block_size=32)], weights=[const("w0", np.zeros((4, 1, 16), np.uint8)), const("w1", np.ones(4, np.float32))]),
        "a block size of 0": one("DequantizeLinear", [], [np.zeros((4, 4), np.int8), np.ones((4, 1), np.float32)], axis=1, block_size=0, opset=21), "a block size of -3": one("DequantizeLinear", [], [np.zeros((4, 4), np.int8), np.ones((4, 1), np.float32)], axis=1, block_size=-3, opset=21),
        "a loop of 10^9 adds": _add_loop(10**9), "a stack of 2^28": one("Concat", ["x"] * 3, axis=99), "a pad of -2^62": one("Pad", ["x"], [np.full(8, -(1 << 62), I64)]), "attention heads 0": model([h.make_node("MultiHeadAttention", ["x", "x", "x"], ["y"], domain="com.microsoft", num_heads=0)]),
        "a GRU of 10^9": one("GRU", ["x"], [np.ones((1, 3, 4), np.float32), np.ones((1, 3, 1), np.float32)], hidden_size=10**9), "a grid sample of nothing": one("GridSample", ["x"], [np.zeros((1, 0, 0, 2), np.float32)]), "a cast to a string": one("Cast", ["x"], to=8),
    }.items():  # fmt: skip
        # What makes nothing, or only asks for a run, may convert.
        yield case(f"made by {label}", proto, codes=(0, 3, 4) if label in _HARMLESS else (3, 4))


_HARMLESS = {
    "Tile of 0",
    "a grid sample of nothing",
    "a split of nothing",
    "an Einsum of much",
    "a cast to a string",
    "a slice of INT64_MIN",
    "a block size of 0",
}


def _add_loop(trips: int) -> onnx.ModelProto:
    body = h.make_graph(
        [h.make_node("Identity", ["k"], ["k2"]), h.make_node("Add", ["v", "v"], ["w"]), h.make_node("Identity", ["v"], ["s"])], "b",
        [info("i", (), T.INT64), info("k", (), T.BOOL), info("v")], [info("k2", (), T.BOOL), info("w"), info("s")],
    )  # fmt: skip
    return model(
        [h.make_node("Loop", ["n", "", "x"], ["z", "y"], body=body)], weights=[const("n", np.int64(trips))]
    )


def list_odd_messages() -> Iterator[Case]:
    """Messages that say a thing twice, or two things at once."""
    base = model([h.make_node("Softmax", ["x"], ["y"], axis=1)])

    def changed(edit: Any) -> onnx.ModelProto:
        proto = onnx.ModelProto()
        proto.CopyFrom(base)
        edit(proto)
        return proto

    def attribute(**fields: Any) -> Any:
        def edit(proto: onnx.ModelProto) -> None:
            entry = proto.graph.node[0].attribute[0]
            for key, value in fields.items():
                setattr(entry, key, value)

        return edit

    for label, edit in {
        "an attribute twice": lambda p: p.graph.node[0].attribute.append(p.graph.node[0].attribute[0]), "an attribute of no type": attribute(type=0), "an attribute that refers outside": attribute(ref_attr_name="gone"),
        "an attribute without a name": attribute(name=""), "an integer that is a float": attribute(type=1, f=1.5), "ir_version 0": lambda p: setattr(p, "ir_version", 0), "ir_version 2^40": lambda p: setattr(p, "ir_version", 1 << 40),
        "an input twice": lambda p: p.graph.input.append(p.graph.input[0]), "an output twice": lambda p: p.graph.output.append(p.graph.output[0]), "an output that is an input": lambda p: p.graph.output.append(p.graph.input[0]),
        "an input of a sequence": lambda p: p.graph.input[0].CopyFrom(h.make_tensor_sequence_value_info("x", 1, [1])), "an input without a type": lambda p: p.graph.input[0].ClearField("type"), "an input of strings": lambda p: setattr(p.graph.input[0].type.tensor_type, "elem_type", 8),
        "an input of type 99": lambda p: setattr(p.graph.input[0].type.tensor_type, "elem_type", 99), "a note that contradicts": lambda p: p.graph.value_info.append(info("y", (7, 7))), "an output that contradicts": lambda p: p.graph.output[0].CopyFrom(info("y", (7, 7, 7), T.INT64)),
        "a dimension by an odd name": lambda p: setattr(p.graph.input[0].type.tensor_type.shape.dim[0], "dim_param", "0/0 ../<b>"), "a dimension of 1 MB": lambda p: setattr(p.graph.input[0].type.tensor_type.shape.dim[0], "dim_param", "n" * (1 << 20)),
        "a domain with ../": lambda p: setattr(p.graph.node[0], "domain", "../../x"), "an op of 1 MB": lambda p: setattr(p.graph.node[0], "op_type", "R" * (1 << 20)), "an op of nothing": lambda p: setattr(p.graph.node[0], "op_type", ""), "a node without outputs": lambda p: p.graph.node[0].ClearField("output"),
    }.items():  # fmt: skip
        codes = (0, 2, 3, 4) if label in _ALLOWED else (3, 4)
        yield case(f"message: {label}", changed(edit), codes=codes)
    yield case("external data is a hard link", external("w.bin"), codes=(3,), **{"secret.bin": SIXTEEN, "in/w.bin": lambda p: os.link(p.parents[1] / "secret.bin", p)})  # fmt: skip


_ALLOWED = {
    "an attribute of no type", "ir_version 0", "ir_version 2^40", "an output twice", "an output that is an input", "an output that contradicts", "a note that contradicts", "an input of strings",
    "a dimension by an odd name", "a dimension of 1 MB", "an input without a type",
}  # fmt: skip

CASES = [*list_growth(), *list_numbers(), *list_makers(), *list_odd_messages()]
