"""Small quantized TFLite models; tolerances are in steps of the result."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from edgewright.core.numbers import DType
from tests.unit.frontends.tflite.cases import (
    CONV,
    POOL,
    RELU,
    RELU6,
    SAME,
    Case,
    ints,
    q8,
    single,
    x,
)
from tests.unit.frontends.tflite.writer import Tensor, const

EXAMPLE = Path(__file__).parents[4] / "examples" / "models" / "mnist_dscnn_int8.tflite"
IMAGE = q8(1, 7, 6, 4)
OUT = q8(scale=0.05, zero=-4, name="out")
LIKE_INPUT = q8(name="out")


def filters(*shape: int, axis: int) -> Tensor:
    """Weights with a scale for each slice of an axis."""
    source = np.random.default_rng(sum(shape))
    scales = tuple((source.uniform(0.5, 1.5, shape[axis]) / 100).tolist())
    data = source.integers(-100, 100, shape).astype(np.int8)
    return Tensor(shape, DType.INT_8, data, scales, axis=axis)


def bias(kernel: Tensor, scale: float, dtype: Any = np.int32) -> Tensor:
    """Biases in the scale of products."""
    data = np.random.default_rng(9).integers(-300, 300, len(kernel.scales)).astype(dtype)
    return const(data, scales=tuple(scale * s for s in kernel.scales))


def quantized_cases() -> list[Case]:
    """Every case of integers."""
    return [*products(), *arithmetic(), *moves(), *wide(), network()]


def network() -> Case:
    """A trained classifier of digits."""
    image = np.random.default_rng(4).integers(-128, 128, (1, 28, 28, 1)).astype(np.int8)
    return Case("mnist_dscnn_int8", EXAMPLE.read_bytes(), {"serving_default_image:0": image}, tolerance=1)


def products() -> Iterator[Case]:
    """Convolutions and matrices."""
    f = filters(5, 3, 2, 4, axis=0)
    for name, activation in (("plain", 0), ("relu", RELU)):
        options = {**CONV, "padding": SAME, "fused_activation_function": activation}
        yield single(f"int8_conv-{name}", "CONV_2D", [IMAGE, f, bias(f, 0.02)], options, [OUT], 1)
    d = filters(1, 3, 3, 4, axis=3)
    deep = {**CONV, "depth_multiplier": 1, "padding": SAME, "fused_activation_function": RELU6}
    yield single("int8_depthwise", "DEPTHWISE_CONV_2D", [IMAGE, d, bias(d, 0.02)], deep, [OUT], 1)
    data = np.random.default_rng(6).integers(-100, 100, (5, 4)).astype(np.int8)
    rows = Tensor((5, 4), DType.INT_8, data, (0.01,))
    yield single("int8_fully_connected", "FULLY_CONNECTED", [q8(3, 4), rows, None], {}, [OUT], 1)
    strides = {"stride_w": 2, "stride_h": 2, "padding": SAME}
    shape = ints(1, 14, 12, 5)
    yield single("int8_transpose_conv", "TRANSPOSE_CONV", [shape, f, IMAGE], strides, [OUT], 1)


def arithmetic() -> Iterator[Case]:
    """Element by element, and pools."""
    pair = [q8(2, 3, 4), q8(2, 3, 4, scale=0.03, zero=-7, name="y")]
    for op in ("ADD", "SUB", "MUL"):
        yield single(f"int8_{op.lower()}", op, pair, {"fused_activation_function": RELU}, [OUT], 1)
    for op in ("MAXIMUM", "MINIMUM"):
        yield single(f"int8_{op.lower()}", op, [q8(2, 3), q8(2, 3, name="y")], {}, [LIKE_INPUT], 0)
    for op in ("AVERAGE_POOL_2D", "MAX_POOL_2D"):
        yield single(f"int8_{op.lower()}", op, [IMAGE], {**POOL, "padding": SAME}, [LIKE_INPUT], 1)
    unit = q8(scale=1 / 256, zero=-128, name="out")
    yield single("int8_softmax", "SOFTMAX", [q8(2, 6)], {"beta": 1.0}, [unit], 1)
    yield single("int8_logistic", "LOGISTIC", [q8(2, 6)], {}, [unit], 1)
    yield single("int8_tanh", "TANH", [q8(2, 6)], {}, [q8(scale=1 / 128, zero=0, name="out")], 1)
    yield single("int8_leaky_relu", "LEAKY_RELU", [q8(2, 6)], {"alpha": 0.3}, [OUT], 1)
    yield single("int8_hard_swish", "HARD_SWISH", [q8(2, 6)], {}, [OUT], 1)
    yield single("int8_relu", "RELU", [q8(2, 6)], {}, [OUT], 1)
    yield single("int8_mean", "MEAN", [IMAGE, ints(1, 2)], {"keep_dims": True}, [OUT], 1)
    bytes_in = [q8(2, 3, dtype=DType.UINT_8), q8(2, 3, dtype=DType.UINT_8, name="y")]
    bytes_out = q8(scale=0.05, zero=9, dtype=DType.UINT_8, name="out")
    yield single("uint8_add", "ADD", bytes_in, {}, [bytes_out], 1)


def moves() -> Iterator[Case]:
    """What keeps its integers, and changes of encodings."""
    parts = [q8(2, 3), q8(2, 2, name="y")]
    yield single("int8_concatenation", "CONCATENATION", parts, {"axis": 1}, [LIKE_INPUT], 0)
    amounts = const(np.asarray([[0, 1], [1, 0]], np.int32))
    yield single("int8_pad", "PAD", [q8(2, 3), amounts], {}, [LIKE_INPUT], 0)
    yield single("int8_reshape", "RESHAPE", [q8(2, 3), ints(3, 2)], {}, [LIKE_INPUT], 0)
    yield single("int8_transpose", "TRANSPOSE", [q8(2, 3), ints(1, 0)], {}, [LIKE_INPUT], 0)
    yield single("int8_resize", "RESIZE_BILINEAR", [IMAGE, ints(9, 9)], {}, [LIKE_INPUT], 1)
    yield single("int8_quantize", "QUANTIZE", [x(2, 6)], {}, [OUT], 0)
    yield single("int8_requantize", "QUANTIZE", [q8(2, 6)], {}, [OUT], 1)
    yield single("int8_dequantize", "DEQUANTIZE", [q8(2, 6)])


def wide() -> Iterator[Case]:
    """16-bit activations with 8-bit weights and 64-bit biases."""
    f = filters(5, 3, 2, 4, axis=0)
    scale = {"scale": 1e-4, "zero": 0, "dtype": DType.INT_16}
    out = q8(scale=2e-4, zero=0, dtype=DType.INT_16, name="out")
    operands = [q8(1, 7, 6, 4, **scale), f, bias(f, 1e-4, np.int64)]
    yield single("int16_conv", "CONV_2D", operands, {**CONV, "padding": SAME}, [out], 1)
    yield single("int16_add", "ADD", [q8(2, 3, **scale), q8(2, 3, **scale, name="y")], {}, [out], 1)
