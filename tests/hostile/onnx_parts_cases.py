"""Hostile parts of ONNX models that few models have: sparse tensors, bodies, functions, packed types, contrib ops."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper as h

from tests.hostile.case import Case
from tests.hostile.onnx_cases import CONVERT, I64, SIXTEEN, case, const, info, model, one

F32 = np.float32
ADD = [h.make_node("Add", ["x", "w"], ["y"])]


def raw(name: str, code: int, dims: Sequence[int], content: bytes) -> onnx.TensorProto:
    """A stored tensor of any type, shape and bytes."""
    return T(name=name, data_type=code, dims=dims, raw_data=content)


def sparse(values: onnx.TensorProto, indices: onnx.TensorProto, dims: Sequence[int]) -> onnx.ModelProto:
    """A model that adds a sparse weight."""
    proto = model(ADD)
    proto.graph.sparse_initializer.append(onnx.SparseTensorProto(values=values, indices=indices, dims=dims))
    return proto


def list_sparse() -> Iterator[Case]:
    """Sparse tensors whose parts contradict each other."""
    two = const("w", np.ones(2, F32))
    for label, proto in {
        "an index outside": sparse(two, const("", np.array([0, 9], I64)), [4]), "an index below 0": sparse(two, const("", np.array([-1, 2], I64)), [4]),
        "indices of another count": sparse(two, const("", np.array([0, 1, 2], I64)), [4]), "indices of reals": sparse(two, const("", np.array([0, 1], F32)), [4]),
        "an index twice": sparse(two, const("", np.array([1, 1], I64)), [4]), "indices in no order": sparse(two, const("", np.array([3, 0], I64)), [4]),
        "indices of pairs that leave": sparse(two, const("", np.array([[0, 0], [9, 9]], I64)), [2, 2]), "indices of too many columns": sparse(two, const("", np.zeros((2, 5), I64)), [2, 2]),
        "10^12 elements": sparse(two, const("", np.array([0, 1], I64)), [10**6, 10**6]), "a size below 0": sparse(two, const("", np.array([0, 1], I64)), [-4]),
        "sizes that wrap": sparse(two, const("", np.array([0, 1], I64)), [1 << 33, 1 << 33]), "no sizes": sparse(two, const("", np.array([0, 1], I64)), []),
        "values of two axes": sparse(const("w", np.ones((2, 2), F32)), const("", np.array([0, 1], I64)), [4]), "no name": sparse(const("", np.ones(2, F32)), const("", np.array([0, 1], I64)), [4]),
        "values of text": sparse(h.make_tensor("w", T.STRING, [2], [b"a", b"b"]), const("", np.array([0, 1], I64)), [4]), "nothing at all": sparse(T(), T(), []),
    }.items():  # fmt: skip
        # The order does no harm: each value has a place of its own.
        yield case(f"sparse: {label}", proto, codes=(0,) if label == "indices in no order" else (3,))
    attribute = onnx.SparseTensorProto(values=const("", np.ones(1, F32)), indices=const("", np.array([99], I64)), dims=[4])  # fmt: skip
    constant = h.make_node("Constant", [], ["w"], sparse_value=attribute)
    yield case("sparse: a constant outside", model([constant, *ADD]))


def list_types() -> Iterator[Case]:
    """Packed, odd and unusual types of stored tensors."""
    for label, stored in {
        "int4 with a byte too many": raw("w", T.INT4, [4], b"\0" * 3), "uint4 in int32_data of another count": T(name="w", data_type=T.UINT4, dims=[4], int32_data=[1]), "int4 of nothing": raw("w", T.INT4, [4], b""),
        "float8 too short": raw("w", T.FLOAT8E4M3FN, [4], b"\0"), "float4 of an odd count": raw("w", 23, [3], b"\0"), "bfloat16 of odd bytes": raw("w", T.BFLOAT16, [2], b"\0\0\0"), "complex": raw("w", T.COMPLEX64, [1], bytes(8)),
        "strings as raw bytes": raw("w", T.STRING, [1], b"abcd"), "both raw and floats": T(name="w", data_type=T.FLOAT, dims=[1], raw_data=bytes(4), float_data=[1.0]), "floats where integers are": T(name="w", data_type=T.INT64, dims=[1], float_data=[1.5]),
        "a segment": T(name="w", data_type=T.FLOAT, dims=[4], raw_data=bytes(16), segment=T.Segment(begin=1, end=2)), "integers beyond their type": T(name="w", data_type=T.INT8, dims=[1], int32_data=[70000]), "halves beyond their type": T(name="w", data_type=T.FLOAT16, dims=[1], int32_data=[1 << 30]),
        "booleans of 7": raw("w", T.BOOL, [4], b"\7\7\7\7"), "external, and raw beside it": _external_and_raw(), "0 by 2^62": raw("w", T.FLOAT, [0, 1 << 62], b""), "type -1": T(name="w", data_type=-1, dims=[1], raw_data=bytes(4)),
    }.items():  # fmt: skip
        cast = [h.make_node("Cast", ["w"], ["v"], to=T.FLOAT), h.make_node("Add", ["x", "v"], ["y"])]
        proto = model(cast, weights=[stored], opset=23)
        yield case(f"stored: {label}", proto, codes=(0, 3, 4) if label in _SOUND_TYPES else (3, 4))


_SOUND_TYPES = {"booleans of 7"}


def _external_and_raw() -> onnx.TensorProto:
    stored = T(name="w", data_type=T.FLOAT, dims=[4], raw_data=bytes(16), data_location=T.EXTERNAL)
    stored.external_data.add(key="location", value="../secret.bin")
    return stored


def body(nodes: Sequence[onnx.NodeProto], inputs: Sequence[Any], outputs: Sequence[Any]) -> onnx.GraphProto:
    """The body of a loop or a branch."""
    return h.make_graph(list(nodes), "body", list(inputs), list(outputs))


def branches(then: onnx.GraphProto, other: onnx.GraphProto, outputs: Sequence[str] = ("y",)) -> onnx.ModelProto:  # fmt: skip
    """An If on an input."""
    node = h.make_node("If", ["c"], list(outputs), then_branch=then, else_branch=other)
    return model([node], [info("x"), info("c", (), T.BOOL)], [info(name, None) for name in outputs])


def list_bodies() -> Iterator[Case]:
    """If, Loop and Scan whose bodies do not fit."""
    plain = body([h.make_node("Relu", ["x"], ["z"])], [], [info("z")])
    scan = h.make_node("Scan", ["x"], ["y"], num_scan_inputs=1, body=body([h.make_node("Relu", ["v"], ["w"])], [info("v", (1, 4, 4))], [info("w", (1, 4, 4))]))  # fmt: skip
    count = [info("i", (), T.INT64), info("k", (), T.BOOL)]

    def loop(inside: onnx.GraphProto, outputs: Sequence[str] = ("y",), trips: int = 3) -> onnx.ModelProto:
        node = h.make_node("Loop", ["n", "", "x"], list(outputs), body=inside)
        return model([node], outputs=[info(o, None) for o in outputs], weights=[const("n", np.int64(trips))])

    again = [h.make_node("Identity", ["k"], ["k2"])]
    for label, proto in {
        "a branch that makes nothing": branches(body([], [], []), plain), "branches of other counts": branches(plain, body([h.make_node("Relu", ["x"], ["z"])], [], [info("z"), info("z")])),
        "a branch with inputs": branches(body([h.make_node("Relu", ["q"], ["z"])], [info("q")], [info("z")]), plain), "branches of other types": branches(plain, body([h.make_node("Cast", ["x"], ["z"], to=7)], [], [info("z", code=7)])),
        "branches of other ranks": branches(plain, body([h.make_node("ReduceSum", ["x"], ["z"], keepdims=0)], [], [info("z", ())])), "a branch that reads what is made later": branches(body([h.make_node("Relu", ["y"], ["z"])], [], [info("z")]), plain),
        "a condition of reals": model([h.make_node("If", ["x"], ["y"], then_branch=plain, else_branch=plain)]), "a condition of many": model([h.make_node("If", ["c"], ["y"], then_branch=plain, else_branch=plain)], [info("x"), info("c", (4,), T.BOOL)]),
        "more outputs than branches make": branches(plain, plain, ("y", "y2", "y3")), "a loop whose body lacks the condition": loop(body([h.make_node("Relu", ["v"], ["w"])], [*count, info("v")], [info("w")])),
        "a loop whose body has no inputs": loop(body([h.make_node("Relu", ["x"], ["w"])], [], [info("w")])), "a loop that carries another shape": loop(body([*again, h.make_node("Concat", ["v", "v"], ["w"], axis=0)], [*count, info("v")], [info("k2", (), T.BOOL), info("w", None)])),
        "a loop that doubles 60 times": loop(body([*again, h.make_node("Concat", ["v", "v"], ["w"], axis=0)], [*count, info("v")], [info("k2", (), T.BOOL), info("w", None)]), trips=60),
        "a loop that never ends": model([h.make_node("Loop", ["", "t", "x"], ["y"], body=body([*again, h.make_node("Relu", ["v"], ["w"])], [*count, info("v")], [info("k2", (), T.BOOL), info("w")]))], weights=[const("t", np.asarray(True))]),
        "a loop of -5 rounds": loop(body([*again, h.make_node("Relu", ["v"], ["w"])], [*count, info("v")], [info("k2", (), T.BOOL), info("w")]), trips=-5),
        "a loop that stacks 10^7": loop(body([*again, h.make_node("Identity", ["v"], ["w"]), h.make_node("Relu", ["v"], ["s"])], [*count, info("v")], [info("k2", (), T.BOOL), info("w"), info("s")]), ("q", "y"), 10**7),
        "a scan of -1 inputs": _scan(scan, num_scan_inputs=-1), "a scan of 9 inputs": _scan(scan, num_scan_inputs=9), "a scan of axis 9": _scan(scan, scan_input_axes=[9]), "a scan in direction 7": _scan(scan, scan_input_directions=[7]),
    }.items():  # fmt: skip
        yield case(f"body: {label}", proto, codes=(0, 3, 4) if label in _SOUND_BODIES else (3, 4))


_SOUND_BODIES = {"a loop of -5 rounds", "a loop that carries another shape"}


def _scan(node: onnx.NodeProto, **attributes: Any) -> onnx.ModelProto:
    kept = {a.name: h.get_attribute_value(a) for a in node.attribute}
    return model([h.make_node("Scan", node.input, node.output, **{**kept, **attributes})])


def called(function: onnx.FunctionProto, **attributes: Any) -> onnx.ModelProto:
    """A model that calls one function."""
    proto = model([h.make_node("F", ["x"], ["y"], domain="local", **attributes)])
    proto.functions.append(function)
    proto.opset_import.append(h.make_opsetid("local", 1))
    return proto


def list_functions() -> Iterator[Case]:
    """Functions of the model."""
    opsets = [h.make_opsetid("", 17)]
    relu = h.make_node("Relu", ["v"], ["u"])
    scaled = h.make_node("Elu", ["v"], ["u"])
    scaled.attribute.append(onnx.AttributeProto(name="alpha", type=1, ref_attr_name="a"))
    twice = called(h.make_function("local", "F", ["v"], ["u"], [relu], opsets))
    twice.functions.append(twice.functions[0])
    for label, proto in {
        "of fewer inputs": called(h.make_function("local", "F", [], ["u"], [relu], opsets)), "of more inputs": called(h.make_function("local", "F", ["v", "t"], ["u"], [h.make_node("Add", ["v", "t"], ["u"])], opsets)),
        "of no outputs": called(h.make_function("local", "F", ["v"], [], [relu], opsets)), "whose output nobody makes": called(h.make_function("local", "F", ["v"], ["nobody"], [relu], opsets)),
        "that is there twice": twice, "of an opset of its own": called(h.make_function("local", "F", ["v"], ["u"], [relu], [h.make_opsetid("", 9999)])), "without an opset": called(h.make_function("local", "F", ["v"], ["u"], [relu], [])),
        "that reads outside": called(h.make_function("local", "F", ["v"], ["u"], [h.make_node("Add", ["v", "x"], ["u"])], opsets)), "an attribute nobody gives": called(h.make_function("local", "F", ["v"], ["u"], [scaled], opsets, ["a"])),
        "an attribute of another type": called(h.make_function("local", "F", ["v"], ["u"], [scaled], opsets, ["a"]), a="text"), "inputs of one name": called(h.make_function("local", "F", ["v", "v"], ["u"], [relu], opsets)),
        "of ONNX's own domain": _shadow("Relu"), "whose nodes are a cycle": called(h.make_function("local", "F", ["v"], ["u"], [h.make_node("Add", ["v", "u"], ["t"]), h.make_node("Relu", ["t"], ["u"])], opsets)),
        "of a name with ../": _shadow("../../x"), "of no nodes": called(h.make_function("local", "F", ["v"], ["u"], [], opsets)),
    }.items():  # fmt: skip
        yield case(f"function: {label}", proto, codes=(0, 3, 4) if label in _SOUND_FUNCTIONS else (3, 4))


_SOUND_FUNCTIONS = {"of ONNX's own domain", "of a name with ../", "without an opset", "an attribute nobody gives"}  # fmt: skip


def _shadow(name: str) -> onnx.ModelProto:
    domain = "" if name == "Relu" else "local"
    proto = model([h.make_node(name, ["x"], ["y"], domain=domain)])
    inside = [h.make_node("Abs", ["v"], ["u"])]
    proto.functions.append(h.make_function(domain, name, ["v"], ["u"], inside, [h.make_opsetid("", 17)]))
    proto.opset_import.append(h.make_opsetid("local", 1))
    return proto


def contrib(op: str, inputs: Sequence[str], weights: Sequence[Any] = (), **attributes: Any) -> onnx.ModelProto:  # fmt: skip
    """A model of one op of ONNX Runtime's domain."""
    names = [*inputs, *(f"w{i}" for i in range(len(weights)))]
    node = h.make_node(op, names, ["y"], domain="com.microsoft", **attributes)
    return model([node], weights=[const(f"w{i}", w) for i, w in enumerate(weights)])


def list_contrib() -> Iterator[Case]:
    """Ops of ONNX Runtime, quantized ones and context nodes."""
    eight = np.zeros((4, 4), np.uint8)
    for label, proto in {
        "QLinearAdd of 2 inputs": contrib("QLinearAdd", ["x", "x"]), "QLinearConv scale 0": one("QLinearConv", ["x"], [F32(0), np.uint8(0), np.zeros((1, 1, 3, 3), np.uint8), F32(0), np.uint8(0), F32(0), np.uint8(0)]),
        "QLinearMatMul of reals": one("QLinearMatMul", ["x"], [F32(1), np.uint8(0), np.ones((4, 4), F32), F32(1), np.uint8(0), F32(1), np.uint8(0)]), "MatMulInteger of reals": one("MatMulInteger", ["x"], [np.ones((4, 4), F32)]),
        "ConvInteger zero point of many": one("ConvInteger", ["x"], [np.zeros((1, 1, 3, 3), np.uint8), np.zeros(7, np.uint8)]), "LayerNormalization axis 9": one("LayerNormalization", ["x"], [np.ones(4, F32)], axis=9), "SkipLayerNormalization of one input": contrib("SkipLayerNormalization", ["x"]),
        "FusedConv activation": contrib("FusedConv", ["x"], [np.ones((1, 1, 3, 3), F32)], activation="Evil"), "MatMulNBits bits 7": contrib("MatMulNBits", ["x"], [np.zeros((4, 1, 16), np.uint8), np.ones(4, F32)], K=4, N=4, bits=7, block_size=32),
        "MatMulNBits block size 0": contrib("MatMulNBits", ["x"], [np.zeros((4, 1, 16), np.uint8), np.ones(4, F32)], K=4, N=4, bits=4, block_size=0), "MatMulNBits K below 0": contrib("MatMulNBits", ["x"], [np.zeros((4, 1, 16), np.uint8), np.ones(4, F32)], K=-4, N=4, bits=4, block_size=32),
        "GroupQueryAttention heads below 0": contrib("GroupQueryAttention", ["x"] * 7, num_heads=-1, kv_num_heads=1), "RotaryEmbedding of nothing": contrib("RotaryEmbedding", ["x"]), "EmbedLayerNormalization of reals": contrib("EmbedLayerNormalization", ["x"] * 7),
        "EPContext of nothing": model([h.make_node("EPContext", ["x"], ["y"], domain="com.microsoft")]), "EPContext with ../": model([h.make_node("EPContext", ["x"], ["y"], domain="com.microsoft", embed_mode=0, ep_cache_context="../secret.bin", main_context=1, source="QNN")]),
        "EPContext of garbage": model([h.make_node("EPContext", ["x"], ["y"], domain="com.microsoft", embed_mode=1, ep_cache_context=b"\x7fELF garbage", main_context=1, source="QNN")]), "EPContext mode 77": model([h.make_node("EPContext", ["x"], ["y"], domain="com.microsoft", embed_mode=77, ep_cache_context=b"x")]),
        "a zero point of another type": one("QuantizeLinear", ["x"], [F32(1), np.int16(0)], opset=13), "a zero point of reals": one("DequantizeLinear", [], [eight, F32(1), F32(0)]), "a scale of two axes": one("QuantizeLinear", ["x"], [np.ones((2, 2), F32)]), "an output_dtype of 99": one("QuantizeLinear", ["x"], [F32(1)], opset=21, output_dtype=99),
        "a scale of 10^-45": one("QuantizeLinear", ["x"], [F32(1e-45), np.uint8(0)]), "a scale of 10^38": one("QuantizeLinear", ["x"], [F32(3e38), np.uint8(0)]),
    }.items():  # fmt: skip
        yield case(f"quantized: {label}", proto, codes=(0, 3, 4) if label in _SOUND_QUANTIZED else (3, 4), **{"secret.bin": SIXTEEN})  # fmt: skip


_SOUND_QUANTIZED = {"a scale of 10^-45", "a scale of 10^38"}


def list_values() -> Iterator[Case]:
    """Numbers that quantization meets: none, endless, too large, too small; constants of text."""
    data = {"in/x.npy": lambda path: np.save(path, np.ones((4, 1, 4, 4), F32))}
    words = ("edgewright", "quantize", "in/m.onnx", "--data", "in/x.npy", "-o", "out/m.dlc")
    for label, value in {
        "no numbers": np.nan, "endless": np.inf, "too large to add": 3.4e38, "too small to divide": 1e-45,
    }.items():  # fmt: skip
        weights = np.full((1, 1, 3, 3), value, F32)
        proto = one("Conv", ["x"], [weights]).SerializeToString()
        yield Case(f"quantized weights: {label}", words, {"in/m.onnx": proto, **data}, (0, 3, 4))
    for label, samples in {
        "no numbers": np.full((4, 1, 4, 4), np.nan, F32), "endless": np.full((4, 1, 4, 4), np.inf, F32), "3 10^38": np.full((4, 1, 4, 4), 3e38, F32),
        "complex": np.ones((4, 1, 4, 4), np.complex64), "text": np.full((4, 1, 4, 4), "a"), "dates": np.full((4, 1, 4, 4), np.datetime64("2020-01-01")), "long doubles": np.ones((4, 1, 4, 4), np.longdouble),
        "one axis fewer": np.ones((4, 4, 4), F32), "no samples": np.ones((0, 1, 4, 4), F32), "booleans": np.ones((4, 1, 4, 4), np.bool_), "no axes": np.float32(1), "fields": np.zeros((4, 1, 4, 4), [("a", "f4")]),
    }.items():  # fmt: skip
        proto = one("Conv", ["x"], [np.ones((1, 1, 3, 3), F32)]).SerializeToString()
        files = {"in/m.onnx": proto, "in/x.npy": lambda path, s=samples: np.save(path, s)}
        yield Case(f"samples: {label}", words, files, (0, 2, 3) if label in {"booleans", "long doubles"} else (2, 3))  # fmt: skip


def list_locations() -> Iterator[Case]:
    """One large file of weights, named by many tensors, and odd spellings of a name."""

    def many(path: Path) -> None:
        tensors = []
        for n in range(300):
            stored = T(name=f"w{n}", dims=[1 << 22], data_type=T.FLOAT, data_location=T.EXTERNAL)
            stored.external_data.add(key="location", value="w.bin")
            tensors.append(stored)
        nodes = [h.make_node("Sum", [t.name for t in tensors], ["s"]), h.make_node("ReduceMax", ["s"], ["t"], keepdims=0), h.make_node("Add", ["x", "t"], ["y"])]  # fmt: skip
        path.write_bytes(model(nodes, weights=tensors).SerializeToString())

    def hole(path: Path) -> None:
        with path.open("wb") as file:
            os.truncate(file.fileno(), 1 << 24)

    yield Case("one file for 300 tensors", CONVERT, {"in/m.onnx": many, "in/w.bin": hole}, (0, 3, 4))
    for label, location in {"./": "./w.bin", "//": ".//w.bin", "a trailing slash": "w.bin/", "in/../in": "x/../w.bin", "/proc": "/proc/self/environ", "~": "~/w.bin", "a variable": "$HOME/w.bin", "file://": "file:///etc/passwd", "a space behind": "w.bin ", "upper case": "W.BIN", "%2e": "%2e%2e/secret.bin"}.items():  # fmt: skip
        stored = T(name="w", dims=[4], data_type=T.FLOAT, data_location=T.EXTERNAL)
        stored.external_data.add(key="location", value=location)
        yield case(f"location: {label}", model(ADD, weights=[stored]), codes=(0, 3) if label in {"./", "//", "a trailing slash"} else (3,), **{"in/w.bin": SIXTEEN, "secret.bin": SIXTEEN})  # fmt: skip
    for label, entries in {"twice the location": [("location", "w.bin"), ("location", "../secret.bin")], "a checksum that is wrong": [("location", "w.bin"), ("checksum", "00")], "an offset of a sign": [("location", "w.bin"), ("offset", "+0")], "an offset of other digits": [("location", "w.bin"), ("offset", "\u0660")], "an offset of 1e1": [("location", "w.bin"), ("length", "16e0")], "an offset of 0_0": [("location", "w.bin"), ("offset", "0_0")]}.items():  # fmt: skip
        stored = T(name="w", dims=[4], data_type=T.FLOAT, data_location=T.EXTERNAL)
        for key, value in entries:
            stored.external_data.add(key=key, value=value)
        yield case(f"location: {label}", model(ADD, weights=[stored]), codes=(0, 3), **{"in/w.bin": SIXTEEN, "secret.bin": SIXTEEN})  # fmt: skip


CASES = [
    *list_sparse(),
    *list_types(),
    *list_bodies(),
    *list_functions(),
    *list_contrib(),
    *list_values(),
    *list_locations(),
]
