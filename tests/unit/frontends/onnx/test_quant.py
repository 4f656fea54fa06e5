"""Models that are quantised already keep their encodings and their numbers."""

from typing import Any

import numpy as np
import onnx
import pytest

import edgewright as ew
from edgewright.core.errors import EdgewrightError
from edgewright.core.numbers import Array, DType
from edgewright.ir.encodings import Encoding
from edgewright.ir.types import TensorType
from edgewright.ops.rearrange import Transpose
from tests.unit.frontends.onnx.side_by_side import agree, model_of, normal, op_names

MICROSOFT = {"com.microsoft": 1}
IMAGE = normal(1, 3, 8, 8)


def scale(*numbers: float) -> Array:
    return np.array(numbers if len(numbers) > 1 else numbers[0], np.float32)


def zero(*numbers: int, dtype: Any = np.uint8) -> Array:
    return np.array(numbers if len(numbers) > 1 else numbers[0], dtype)


def integers(*shape: int, dtype: Any = np.uint8, seed: int = 0) -> Array:
    limits = np.iinfo(dtype)
    return np.random.default_rng(seed).integers(limits.min, limits.max + 1, shape).astype(dtype)


def nodes_of(model: Any, name: str) -> list[Any]:
    return [node for node in model.graph.nodes if node.op.qnn_name() == name]


def agree_to_a_step(model: Any, feed: dict[str, Array]) -> Any:
    """Rounding of a float that lies between two integers may go either way."""
    return agree(model, feed, rtol=0, atol=1)


@pytest.mark.parametrize("opset", [10, 13, 19, 21])
@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
def test_quantize_linear_gives_the_integers_of_the_source(opset: int, dtype: Any) -> None:
    name = np.dtype(dtype).name
    text = f"g (float[N,3,8,8] x) => ({name}[N,3,8,8] y) {{ y = QuantizeLinear(x, s, z) }}"
    model = model_of(text, {"s": scale(0.02), "z": zero(7, dtype=dtype)}, {"": opset})
    converted = agree(model, {"x": IMAGE}, {"x": np.concatenate([IMAGE, IMAGE * 9])}, rtol=0, atol=0)
    assert op_names(converted) == ["Quantize", "Cast"]
    fixed = converted.graph.types[nodes_of(converted, "Quantize")[0].outputs[0]]
    assert fixed.encoding == Encoding((float(np.float32(0.02)),), (-7,))
    assert converted.graph.types["y"].dtype == DType.of(dtype)


def test_a_pair_of_quantize_and_dequantize_needs_no_cast() -> None:
    text = "g (float[2,3] x) => (float[2,3] y) { q = QuantizeLinear(x, s, z) y = DequantizeLinear(q, s, z) }"
    converted = agree(model_of(text, {"s": scale(0.02), "z": zero(100)}), {"x": normal(2, 3)}, rtol=0, atol=0)
    assert op_names(converted) == ["Quantize", "Dequantize"]


def test_moves_between_quantize_and_dequantize_are_allowed() -> None:
    text = """g (float[2,3] x) => (float[3,2] y) {
        q = QuantizeLinear(x, s, z) t = Transpose<perm=[1,0]>(q) y = DequantizeLinear(t, s, z) }"""
    agree(model_of(text, {"s": scale(0.02), "z": zero(100)}), {"x": normal(2, 3)}, rtol=0, atol=0)


def test_integers_as_a_graph_input_are_cast_to_fixed_point() -> None:
    text = "g (uint8[N,3] x) => (float[N,3] y) { y = DequantizeLinear(x, s, z) }"
    model = model_of(text, {"s": scale(0.02), "z": zero(100)})
    converted = agree(model, {"x": integers(2, 3)}, {"x": integers(5, 3)}, rtol=0, atol=0)
    assert op_names(converted) == ["Cast", "Dequantize"]


def test_quantised_weights_keep_one_encoding_a_channel() -> None:
    text = """g (float[1,3,8,8] x) => (float[1,2,6,6] y) {
        f = DequantizeLinear<axis=0>(w, s, z) y = Conv(x, f) }"""
    stored = integers(2, 3, 3, 3, dtype=np.int8)
    given = {"w": stored, "s": scale(0.1, 0.5), "z": zero(0, 3, dtype=np.int8)}
    converted = agree(model_of(text, given), {"x": IMAGE})
    (node,) = nodes_of(converted, "Dequantize")
    kept = converted.graph.types[node.inputs[0]]
    assert kept.dtype == DType.SFIXED_POINT_8
    assert kept.encoding is not None
    assert kept.encoding.scales == tuple(float(np.float32(s)) for s in (0.1, 0.5))
    assert kept.encoding.offsets == (0, -3)


def test_a_small_quantised_bias_is_not_folded_away() -> None:
    text = "g (float[4] x) => (float[4] y) { b = DequantizeLinear(q, s) y = Add(x, b) }"
    given = {"q": integers(4, dtype=np.int32) // 1000, "s": scale(1e-6)}
    assert "Dequantize" in op_names(agree(model_of(text, given), {"x": normal(4)}))


@pytest.mark.parametrize("quantized", ["uint16", "int16", "uint4", "int4"])
def test_other_widths_go_there_and_back(quantized: str) -> None:
    code = onnx.TensorProto.DataType.Value(quantized.upper())
    text = f"""g (float[2,3] x) => (float[2,3] y) {{
        q = QuantizeLinear<output_dtype={code}>(x, s) y = DequantizeLinear(q, s) }}"""
    converted = agree(model_of(text, {"s": scale(0.25)}), {"x": normal(2, 3)}, rtol=0, atol=0)
    assert op_names(converted) == ["Quantize", "Dequantize"]


def test_blocks_of_constant_weights_are_decoded() -> None:
    text = """g (float[2,8] x) => (float[2,3] y) {
        f = DequantizeLinear<axis=0, block_size=4>(w, s) y = MatMul(x, f) }"""
    given = {"w": integers(8, 3, dtype=np.int8), "s": np.abs(normal(2, 3))}
    agree(model_of(text, given), {"x": normal(2, 8)}, rtol=1e-3)


def test_scales_that_only_a_run_knows_become_arithmetic() -> None:
    text = """g (float[2,3] x, float[3] s, uint8[3] z) => (float[2,3] y, uint8[2,3] q) {
        q = QuantizeLinear<axis=-1>(x, s, z) y = DequantizeLinear<axis=-1>(q, s, z) }"""
    feed = {"x": normal(2, 3) * 9, "s": scale(0.02, 0.1, 0.3), "z": zero(0, 100, 255)}
    converted = agree(model_of(text), feed, rtol=1e-6, atol=0)
    assert not {"Quantize", "Dequantize", "SourceOp"}.intersection(op_names(converted))


def test_half_precision_scales_give_half_precision() -> None:
    text = "g (uint8[2,3] x) => (float16[2,3] y) { y = DequantizeLinear(x, s, z) }"
    agree(model_of(text, {"s": np.float16(0.02), "z": zero(9)}), {"x": integers(2, 3)}, rtol=0, atol=0)


@pytest.mark.parametrize("channels", [1, 2])
def test_qlinear_conv_is_a_convolution_between_encodings(channels: int) -> None:
    text = """g (uint8[1,3,8,8] x) => (uint8[1,2,8,8] y) {
        y = QLinearConv<pads=[1,1,1,1]>(x, xs, xz, w, ws, wz, ys, yz, b) }"""
    given = {
        "xs": scale(0.02), "xz": zero(128), "ys": scale(0.5), "yz": zero(120),
        "w": integers(2, 3, 3, 3, dtype=np.int8), "b": np.array([300, -900], np.int32),
        "ws": scale(*(0.05, 0.02)[:channels]), "wz": zero(*(0, 0)[:channels], dtype=np.int8),
    }  # fmt: skip
    converted = agree_to_a_step(model_of(text, given), {"x": integers(1, 3, 8, 8)})
    assert [n for n in op_names(converted) if n not in {"Transpose", "Reshape", "Cast"}] == [
        "Dequantize", "Dequantize", "Dequantize", "Conv2d", "Quantize",
    ]  # fmt: skip


def test_qlinear_matmul_with_one_scale_a_column() -> None:
    text = "g (uint8[2,4] a) => (uint8[2,3] y) { y = QLinearMatMul(a, s, z, b, bs, bz, ys, z) }"
    given = {
        "s": scale(0.02), "z": zero(128), "b": integers(4, 3, dtype=np.int8), "ys": scale(0.4),
        "bs": scale(0.05, 0.02, 0.01), "bz": zero(0, 0, 0, dtype=np.int8),
    }  # fmt: skip
    agree_to_a_step(model_of(text, given), {"a": integers(2, 4)})


@pytest.mark.parametrize("inner", [64, 300, 3000])
@pytest.mark.parametrize("is_constant", [True, False])
def test_integer_products_are_exact_however_long_their_sums(inner: int, is_constant: bool) -> None:
    left, right = integers(3, inner), integers(inner, 2, seed=1)
    declared = "" if is_constant else f", uint8[{inner},2] b"
    text = f"g (uint8[3,{inner}] a{declared}) => (int32[3,2] y) {{ y = MatMulInteger(a, b, az, bz) }}"
    given = {"az": zero(3), "bz": zero(200), **({"b": right} if is_constant else {})}
    feed = {"a": left, **({} if is_constant else {"b": right})}
    converted = agree(model_of(text, given), feed, rtol=0, atol=0)
    assert "SourceOp" not in op_names(converted)


def test_integer_convolutions_pad_with_the_zero_point() -> None:
    text = "g (uint8[1,3,8,8] x) => (int32[1,2,8,8] y) { y = ConvInteger<pads=[1,1,1,1]>(x, w, z) }"
    given = {"w": integers(2, 3, 3, 3, seed=2), "z": zero(77)}
    agree(model_of(text, given), {"x": integers(1, 3, 8, 8)}, rtol=0, atol=0)


def test_ranges_measured_at_run_time() -> None:
    text = """g (float[N,8] x) => (float[N,3] y) {
        q, s, z = DynamicQuantizeLinear(x) i = MatMulInteger(q, w, z) f = Cast<to=1>(i) y = Mul(f, s) }"""
    model = model_of(text, {"w": integers(8, 3, dtype=np.int8)})
    assert "SourceOp" not in op_names(agree(model, {"x": normal(2, 8)}, {"x": normal(5, 8)}, rtol=1e-5))


@pytest.mark.parametrize(
    "call",
    [
        "QLinearAdd(x, s, z, b, t, z, u, z)",
        "QLinearMul(x, s, z, b, t, z, u, z)",
        "QLinearSigmoid(x, s, z, t, z)",
        "QLinearLeakyRelu<alpha=0.2>(x, s, z, u, z)",
        "QLinearGlobalAveragePool<channels_last=0>(x, s, z, t, z)",
        "QLinearAveragePool<kernel_shape=[2,2], strides=[2,2], pads=[0,0,0,0]>(x, s, z, t, z)",
        "QLinearConcat<axis=1>(u, z, x, s, z, b, t, z)",
        "QLinearSoftmax<axis=-1, opset=13>(x, s, z, t, z)",
        "QLinearSoftmax<axis=1, opset=17>(x, s, z, t, z)",
        "QLinearSoftmax<axis=1, opset=11>(x, s, z, t, z)",
        "QLinearSoftmax<axis=0, opset=11>(x, s, z, t, z)",
    ],
)
def test_quantised_ops_of_onnx_runtime(call: str) -> None:
    text = f"g (uint8[1,3,4,4] x) => (uint8[] y) {{ y = com.microsoft.{call} }}"
    given = {"s": scale(0.03), "t": scale(0.01), "u": scale(0.06), "z": zero(110), "b": integers(1, 3, 4, 4)}
    model = model_of(text, given, MICROSOFT)
    model.graph.output[0].type.tensor_type.ClearField("shape")
    agree_to_a_step(model, {"x": integers(1, 3, 4, 4, seed=5)})


def test_quantised_choice_between_two_operands() -> None:
    text = """g (bool[2,3] c, uint8[2,3] x) => (uint8[2,3] y) {
        y = com.microsoft.QLinearWhere(c, x, s, z, b, t, z, u, z) }"""
    given = {"s": scale(0.03), "t": scale(0.01), "u": scale(0.06), "z": zero(110), "b": integers(2, 3)}
    feed = {"c": integers(2, 3) > 99, "x": integers(2, 3, seed=4)}
    agree_to_a_step(model_of(text, given, MICROSOFT), feed)


@pytest.mark.parametrize("is_quantized", [True, False])
def test_quantised_gemm(is_quantized: bool) -> None:
    kind, extra = ("uint8", ", u, z") if is_quantized else ("float", "")
    call = f"QGemm<transB=1, alpha=0.5>(a, s, z, b, t, w, c{extra})"
    text = f"g (uint8[2,4] a) => ({kind}[2,3] y) {{ y = com.microsoft.{call} }}"
    given = {
        "s": scale(0.03), "t": scale(0.01, 0.02, 0.03), "w": zero(0, 0, 0, dtype=np.int8), "u": scale(0.5),
        "z": zero(110), "b": integers(3, 4, dtype=np.int8), "c": np.array([5, -700, 99], np.int32),
    }  # fmt: skip
    model = model_of(text, given, MICROSOFT)
    agree(model, {"a": integers(2, 4)}, atol=1 if is_quantized else 1e-4)


def test_products_quantised_at_run_time() -> None:
    text = "g (float[N,8] a) => (float[N,3] y) { y = com.microsoft.DynamicQuantizeMatMul(a, b, s, z, c) }"
    given = {"b": integers(8, 3), "s": scale(0.02), "z": zero(100), "c": normal(3)}
    agree(model_of(text, given, MICROSOFT), {"a": normal(4, 8)}, {"a": normal(1, 8)})


def test_integer_products_scaled_to_floats() -> None:
    text = """g (uint8[2,8] a) => (float[2,3] y) {
        y = com.microsoft.MatMulIntegerToFloat(a, b, s, t, z, w, c) }"""
    given = {
        "b": integers(8, 3, dtype=np.int8), "s": scale(0.02), "t": scale(0.1, 0.2, 0.3), "z": zero(100),
        "w": zero(0, 1, 2, dtype=np.int8), "c": normal(3),
    }  # fmt: skip
    agree(model_of(text, given, MICROSOFT), {"a": integers(2, 8)}, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("zeros", ["", ", z"])
def test_weights_packed_in_blocks_of_few_bits(bits: int, zeros: str) -> None:
    rows, columns, size = 6, 48, 32
    blocks = -(-columns // size)
    call = f"MatMulNBits<K={columns}, N={rows}, bits={bits}, block_size={size}>(a, b, s{zeros})"
    text = f"g (float[T,{columns}] a) => (float[T,{rows}] y) {{ y = com.microsoft.{call} }}"
    given = {
        "b": integers(rows, blocks, size * bits // 8),
        "s": np.abs(normal(rows * blocks)) / 16,
        **({"z": integers(rows * -(-blocks * bits // 8), seed=9)} if zeros else {}),
    }
    agree(model_of(text, given, MICROSOFT), {"a": normal(3, columns)}, rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize(
    "call",
    [
        "QuantizeLinear(x, nought, z)",
        "QuantizeLinear(x, infinite, z)",
        "QuantizeLinear<axis=7>(x, two, z)",
        "QuantizeLinear<axis=0>(x, two, zz)",
        "QuantizeLinear<axis=1, block_size=7>(x, two, z)",
        "QuantizeLinear<axis=1, block_size=-1>(x, two, z)",
        "QuantizeLinear<output_dtype=7>(x, one)",
        "QuantizeLinear<output_dtype=77>(x, one)",
        "QuantizeLinear(x)",
        "com.microsoft.QLinearAdd(x)",
        "com.microsoft.QLinearConcat<axis=0>(one, z)",
        "com.microsoft.MatMulNBits<K=1000000, N=1000000, bits=4, block_size=32>(x, z, one)",
        "com.microsoft.MatMulNBits<K=32, N=2, bits=3, block_size=32>(x, z, one)",
        "com.microsoft.MatMulNBits<K=32, N=2, bits=4, block_size=0>(x, z, one)",
        "com.microsoft.MatMulNBits<K=32, N=2, bits=4, block_size=32>(x, z, one)",
    ],
)
def test_a_damaged_encoding_is_an_error(call: str) -> None:
    given = {
        "nought": scale(0), "one": scale(1), "infinite": scale(np.inf), "two": scale(1, 1), "z": zero(0),
        "zz": zero(0, 0, 0),
    }  # fmt: skip
    model = model_of(f"g (float[3,4] x) => (uint8[3,4] y) {{ y = {call} }}", given, MICROSOFT)
    with pytest.raises(EdgewrightError):
        ew.convert(model)


@pytest.mark.parametrize("is_per_gate", [False, True])
def test_a_recurrent_layer_of_quantised_weights(is_per_gate: bool) -> None:
    text = """g (float[5,1,3] x) => (float[5,1,1,4] y) {
        y = com.microsoft.DynamicQuantizeLSTM<hidden_size=4>(x, w, r, b, , , , , ws, wz, rs, rz) }"""
    shape = (1, 16) if is_per_gate else (1,)
    given = {
        "w": integers(1, 3, 16, dtype=np.int8), "r": integers(1, 4, 16, dtype=np.int8, seed=1),
        "b": normal(1, 32), "wz": np.zeros(shape, np.int8), "rz": np.zeros(shape, np.int8),
        "ws": np.full(shape, 0.01, np.float32), "rs": np.full(shape, 0.01, np.float32),
    }  # fmt: skip
    agree(model_of(text, given, MICROSOFT), {"x": normal(5, 1, 3)}, rtol=0.05, atol=0.02)


def test_an_encoding_follows_its_axis_through_a_transpose() -> None:
    given = Encoding((0.5, 2.0), (0, 3), axis=1)
    x = TensorType((4, 2), DType.SFIXED_POINT_8, encoding=given)
    (turned,) = Transpose(perm=(1, 0)).infer(x)
    assert turned.encoding == Encoding((0.5, 2.0), (0, 3), axis=0)
    stored = np.arange(8, dtype=np.int8).reshape(4, 2)
    np.testing.assert_array_equal(turned.encoding.decode(stored.T), given.decode(stored).T)


def test_products_with_dequantized_weights_are_not_quantised_further() -> None:
    text = "g (float[4,8] x) => (float[4,3] y) { f = DequantizeLinear<axis=1>(w, s, z) y = MatMul(x, f) }"
    stored, steps, x = integers(8, 3, dtype=np.int8), scale(0.1, 0.5, 0.2), normal(4, 8)
    model = model_of(text, {"w": stored, "s": steps, "z": zero(0, 3, 1, dtype=np.int8)})
    expected = x @ ((stored - np.array([0.0, 3.0, 1.0])) * steps)
    np.testing.assert_allclose(ew.convert(model).run({"x": x})["y"], expected, rtol=1e-4, atol=1e-4)


def test_pooling_of_signed_bytes_stays_on_the_engine() -> None:
    text = """g (float[1,2,4,4] x) => (float[1,2,3,3] y) {
        q = QuantizeLinear(x, s, z)  d = DequantizeLinear(q, s, z)
        p = MaxPool<kernel_shape=[2,2]>(d)  y = Sigmoid(p) }"""
    model = model_of(text, {"s": scale(0.03), "z": zero(3, dtype=np.int8)}, {"": 19})
    converted = agree(model, {"x": normal(1, 2, 4, 4)})
    assert set(converted.placement().values()) == {"engine"}
