"""Hostile ONNX models once more: kinds of values, tensors that lie, and ops that few models have."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper as h

from tests.hostile.case import Case
from tests.hostile.onnx_cases import case, const, info, model, one

F32 = np.float32
RELU = h.make_node("Relu", ["x"], ["y"])
CELLS = [np.ones((1, 1, 4), F32), np.ones((1, 2, 4), F32), np.ones((1, 2, 2), F32)]
FILTER = np.ones((1, 1, 3, 3), F32)


def typed(fill: Callable[[Any], object]) -> onnx.ValueInfoProto:
    """An input x of another kind than a tensor."""
    value = onnx.ValueInfoProto(name="x")
    fill(value.type)
    return value


def list_kinds() -> Iterator[Case]:
    """Sequences, maps, optionals, sparse inputs; graphs whose ends are odd."""
    pair = h.make_node("SequenceConstruct", ["x", "x"], ["s"])
    for label, proto in {
        "a sequence": model([h.make_node("SequenceAt", ["x", "i"], ["y"])], [h.make_tensor_sequence_value_info("x", 1, None)], weights=[const("i", np.int64(0))]),
        "an optional": model([h.make_node("OptionalGetElement", ["x"], ["y"])], [typed(lambda t: setattr(t.optional_type.elem_type.tensor_type, "elem_type", 1))]),
        "a map": model([RELU], [typed(lambda t: setattr(t.map_type, "key_type", 7))]), "a sparse input": model([RELU], [typed(lambda t: setattr(t.sparse_tensor_type, "elem_type", 1))]), "no type": model([RELU], [typed(lambda t: None)]),
        "a place behind a sequence": model([pair, h.make_node("SequenceAt", ["s", "i"], ["y"])], weights=[const("i", np.int64(9))]), "pieces of 0": model([h.make_node("SplitToSequence", ["x", "i"], ["s"]), h.make_node("SequenceAt", ["s", "i"], ["y"])], weights=[const("i", np.int64(0))]),
        "a new axis of 7": model([pair, h.make_node("ConcatFromSequence", ["s"], ["y"], axis=9, new_axis=7)]), "the length of a tensor": model([h.make_node("SequenceLength", ["x"], ["y"])]), "no outputs": model([RELU], outputs=[]), "10,000 dims": model([RELU], [info("x", [1] * 10_000)]),
        "an order of 2,000,000": model([h.make_node("Transpose", ["x"], ["y"], perm=[0] * 2_000_000)]),
    }.items():  # fmt: skip
        yield case(f"kind: {label}", proto)
    for label, proto in {
        "1,000 graphs as an attribute": model([h.make_node("Relu", ["x"], ["y"], g=[h.make_graph([], "g", [], [])] * 1000)]), "an output twice": model([RELU], outputs=[info("y"), info("y")]), "an output that is an input": model([RELU], outputs=[info("x"), info("y")]),
        "an output of another shape": model([RELU], outputs=[info("y", (7, 7, 7))]), "a dimension's name of 1 MB": model([RELU], [info("x", ("n" * (1 << 20), 4))]), "a dimension's name with ../": model([RELU], [info("x", ("<b>../../x", 4))]),
    }.items():  # fmt: skip
        yield case(f"kind: {label}", proto, codes=(0, 3, 4))


def list_tensors() -> Iterator[Case]:
    """Values in fields that do not belong to their type."""

    def stored(**fields: Any) -> onnx.ModelProto:
        return model([h.make_node("Add", ["x", "w"], ["y"])], weights=[T(name="w", **fields)])

    for label, proto in {
        "whole numbers as reals": stored(dims=[4], data_type=1, int32_data=[1, 2, 3, 4]), "texts as bytes": stored(dims=[4], data_type=8, raw_data=bytes(16)), "fewer texts": stored(dims=[4], data_type=8, string_data=[b"a"]), "doubles as floats": stored(dims=[4], data_type=11, float_data=[1.0] * 4),
        "complex numbers": stored(dims=[2], data_type=14, float_data=[1.0] * 4), "booleans of 77": stored(dims=[4], data_type=9, raw_data=b"\x4d" * 4), "8-bit floats": stored(dims=[4], data_type=17, raw_data=b"\x4d" * 4), "4-bit floats": stored(dims=[4], data_type=23, raw_data=b"\x4d" * 2),
        "2^64-1": stored(dims=[1], data_type=13, raw_data=b"\xff" * 8), "data for nothing": stored(dims=[0], data_type=1, raw_data=bytes(16)), "no dims for four": stored(data_type=1, raw_data=bytes(16)), "dims whose product is 0 in 64 bits": stored(dims=[1 << 32, 1 << 32], data_type=1, raw_data=b""),
    }.items():  # fmt: skip
        yield case(f"tensor: {label}", proto)


def list_ops() -> Iterator[Case]:
    """Ops whose parameters are none."""
    for label, proto in {
        "Einsum of many letters": one("Einsum", ["x"], [np.ones((4, 4), F32)], equation="ijkl,lm->" + "z" * 1000), "Einsum of commas": one("Einsum", ["x"], equation="," * 10_000), "Einsum of dots": one("Einsum", ["x"], equation="......->..."), "DFT axis": one("DFT", ["x"], axis=99),
        "STFT step 0": one("STFT", ["x"], [np.int64(0)]), "STFT step -1": one("STFT", ["x"], [np.int64(-1), np.ones(4, F32)]), "MelWeightMatrix 10^9": one("MelWeightMatrix", [], [np.int64(10**9), np.int64(10**9), np.int64(8000), F32(0), F32(4000)]), "HannWindow 10^12": one("HannWindow", [], [np.int64(10**12)]), "BlackmanWindow -1": one("BlackmanWindow", [], [np.int64(-1)]),
        "RandomNormal 10^12": model([h.make_node("RandomNormal", [], ["r"], shape=[10**6, 10**6]), h.make_node("Add", ["x", "r"], ["y"])]), "Multinomial 2^31": one("Multinomial", ["x"], sample_size=2**31 - 1), "CumSum axis 77": one("CumSum", ["x"], [np.int64(77)]), "CumSum of two axes": one("CumSum", ["x"], [np.array([0, 1])]),
        "DepthToSpace 0": one("DepthToSpace", ["x"], blocksize=0), "SpaceToDepth -2": one("SpaceToDepth", ["x"], blocksize=-2), "RoiAlign 2^31": one("RoiAlign", ["x"], [np.array([[0, 0, 1e30, 1e30]], F32), np.array([5])], output_height=2**31 - 1, output_width=2**31 - 1), "MaxRoiPool 10^6": one("MaxRoiPool", ["x"], [np.zeros((1, 5), F32)], pooled_shape=[10**6, 10**6]),
        "MaxUnpool outside": one("MaxUnpool", ["x"], [np.full((1, 1, 4, 4), 2**40)], kernel_shape=[2, 2]), "LRN 0": one("LRN", ["x"], size=0), "InstanceNormalization of 7": one("InstanceNormalization", ["x"], [np.ones(7, F32)] * 2), "BatchNormalization of 7": one("BatchNormalization", ["x"], [np.ones(7, F32)] * 4), "GroupNormalization 0": one("GroupNormalization", ["x"], [np.ones(1, F32)] * 2, opset=21, num_groups=0),
        "LpNormalization 3": one("LpNormalization", ["x"], p=3), "Hardmax axis 88": one("Hardmax", ["x"], axis=88), "GRU sideways": one("GRU", [], [CELLS[0], np.ones((1, 6, 4), F32), np.ones((1, 6, 2), F32)], hidden_size=2, direction="sideways"), "RNN of nobody": one("RNN", [], CELLS, hidden_size=2, activations=["Evil"]),
        "OneHot 10^12": one("OneHot", [], [np.array([1]), np.int64(10**12), np.array([0, 1], F32)]), "OneHot -1": one("OneHot", [], [np.array([1]), np.int64(-1), np.array([0, 1], F32)]), "ScatterElements outside": one("ScatterElements", ["x"], [np.full((1, 1, 1, 1), 99), np.ones((1, 1, 1, 1), F32)]), "ScatterND outside": one("ScatterND", ["x"], [np.full((1, 4), 99), np.ones(1, F32)]),
        "GatherND outside": one("GatherND", ["x"], [np.full((1, 4), -99)]), "GatherND batch 9": one("GatherND", ["x"], [np.zeros((1, 4), np.int64)], batch_dims=9), "GatherElements outside": one("GatherElements", ["x"], [np.full((1, 1, 4, 4), 9)], axis=3), "ReverseSequence 99": one("ReverseSequence", ["x"], [np.array([99])], batch_axis=0, time_axis=2), "Unique axis 9": one("Unique", ["x"], axis=9), "Compress of 999": one("Compress", ["x"], [np.ones(999, bool)], axis=0),
        "Slice step 0": one("Slice", ["x"], [np.array([0]), np.array([4]), np.array([0]), np.array([0])]), "Slice of one axis twice": one("Slice", ["x"], [np.array([0, 1]), np.array([4, 4]), np.array([3, -1])]), "Slice of reals": one("Slice", ["x"], [np.array([0.5], F32), np.array([4.0], F32)]), "Pad of one axis twice": one("Pad", ["x"], [np.array([1, 2, 1, 2]), F32(0), np.array([3, -1])], opset=18),
        "CenterCropPad of one axis twice": one("CenterCropPad", ["x"], [np.array([2, 2])], axes=[3, -1], opset=18), "CenterCropPad 2^40": one("CenterCropPad", ["x"], [np.array([2**40])], axes=[0], opset=18), "Pad 2^40": one("Pad", ["x"], [np.array([2**40] * 8)]), "Pad -99": one("Pad", ["x"], [np.array([0, 0, -99, -99, 0, 0, 0, 0])]), "Resize to -1": one("Resize", ["x", "", ""], [np.array([1, 1, -1, 4])]), "Resize to 2^40": one("Resize", ["x", "", ""], [np.array([1, 1, 2**40, 2**40])]),
        "Resize by nan": one("Resize", ["x", ""], [np.array([1, 1, np.nan, 1], F32)]), "Upsample 10^30": one("Upsample", ["x"], [np.array([1, 1, 1e30, 1], F32)], opset=9), "AffineGrid 2^30": one("AffineGrid", [], [np.ones((1, 2, 3), F32), np.array([1, 1, 2**30, 2**30])], opset=20), "ImageDecoder": one("ImageDecoder", [], [np.zeros(10, np.uint8)], opset=20), "StringNormalizer of reals": one("StringNormalizer", ["x"]),
        "TfIdfVectorizer 10^12": one("TfIdfVectorizer", ["x"], max_gram_length=10**9, max_skip_count=10**9, min_gram_length=1, mode="TF", ngram_counts=[0], ngram_indexes=[10**12], pool_int64s=[1]), "a tree of itself": model([h.make_node("TreeEnsembleRegressor", ["x"], ["y"], domain="ai.onnx.ml", nodes_truenodeids=[0], nodes_falsenodeids=[0])]), "Gradient": model([h.make_node("Gradient", ["x"], ["y"], domain="ai.onnx.preview.training", xs=["x"], y="y")]), "RegexFullMatch": one("RegexFullMatch", ["x"], pattern="(a+)+$", opset=20),
        "Range step 0": one("Range", [], [np.int64(0), np.int64(5), np.int64(0)]), "Range to nan": one("Range", [], [F32(0), F32(np.nan), F32(1)]), "Tile -1": one("Tile", ["x"], [np.array([-1, 1, 1, 1])]), "Expand 2^31": one("Expand", ["x"], [np.array([2**31, 2**31, 4, 4])]), "Unsqueeze twice": one("Unsqueeze", ["x"], [np.array([0, 0])]), "Squeeze of 4": one("Squeeze", ["x"], [np.array([2])]), "Split 10^9": one("Split", ["x"], num_outputs=10**9, opset=18), "TopK -1": one("TopK", ["x"], [np.array([-1])]),
        "ArgMax axis -99": one("ArgMax", ["x"], axis=-99), "RotaryEmbedding heads": one("RotaryEmbedding", ["x"], [np.ones((4, 4), F32)] * 2, opset=23, num_heads=-3), "RMSNormalization axis 9": one("RMSNormalization", ["x"], [np.ones(4, F32)], opset=23, axis=9), "ConvTranspose to 2^31": one("ConvTranspose", ["x"], [FILTER], output_shape=[2**31, 2**31]), "Conv of 5 axes": one("Conv", ["x"], [np.ones((1, 1, 3, 3, 3), F32)]), "Conv of 3 groups": one("Conv", ["x"], [np.ones((3, 1, 3, 3), F32)], group=3),
        "Conv kernel_shape": one("Conv", ["x"], [FILTER], kernel_shape=[5, 5]), "Conv of 3 pads": one("Conv", ["x"], [FILTER], pads=[1, 1, 1]), "Conv bias of 7": one("Conv", ["x"], [FILTER, np.ones(7, F32)]), "Gemm of 4 axes": one("Gemm", ["x"], [np.ones((4, 4), F32)]), "MatMul of 5": one("MatMul", ["x"], [np.ones((5, 5), F32)]),
    }.items():  # fmt: skip
        yield case(f"op: {label}", proto)


CASES = [*list_kinds(), *list_tensors(), *list_ops()]
