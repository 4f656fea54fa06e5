"""Small TFLite models, one or more for each op; what LiteRT makes of them is recorded beside."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from flatbuffers import flexbuffers

from edgewright.core.numbers import Array, DType
from tests.unit.frontends.tflite.writer import Operator, Subgraph, Tensor, const, model

F, I32, I64, BOOL = DType.FLOAT_32, DType.INT_32, DType.INT_64, DType.BOOL_8
SAME, VALID = 0, 1
RELU, RELU6 = 1, 3
# A result that takes its shape from the op.
OUT = Tensor()


@dataclass(frozen=True)
class Case:
    """A model, its inputs, and how far from LiteRT its results may be: of their range, or in steps."""

    name: str
    data: bytes
    inputs: dict[str, Array] = field(default_factory=dict)
    tolerance: float = 1e-6
    runs: int = 1


def rng(name: str) -> np.random.Generator:
    """Numbers of a case's own."""
    return np.random.default_rng(sum(name.encode()))


def single(
    name: str,
    op: str,
    operands: Sequence[Tensor | None],
    options: dict[str, Any] | None = None,
    results: Sequence[Tensor] = (OUT,),
    tolerance: float = 1e-6,
    *,
    values: Sequence[Array] = (),
    custom: bytes = b"",
) -> Case:
    """A model of one op: operands without data are its inputs, None is left out."""
    given = [item for item in operands if item is not None]
    tensors = [*given, *results]
    places = [-1 if item is None else given.index(item) for item in operands]
    named = [replace(item, name=item.name or f"t{i}") for i, item in enumerate(tensors)]
    inputs = [i for i, item in enumerate(given) if item.data is None and not item.is_variable]
    outputs = list(range(len(given), len(tensors)))
    graph = Subgraph(named, inputs, outputs, [Operator(op, places, outputs, options or {}, custom)])
    draw = iter(values) if values else (random(named[i], rng(name + str(i))) for i in inputs)
    feed = {named[i].name: array for i, array in zip(inputs, draw, strict=True)}
    return Case(name, model(graph), feed, tolerance)


def random(item: Tensor, source: np.random.Generator) -> Array:
    """Values for an input."""
    assert item.dtype is not None
    if item.dtype.is_float:
        return source.uniform(-2, 2, item.shape).astype(item.dtype.numpy)
    if item.dtype == BOOL:
        return source.integers(0, 2, item.shape).astype(np.bool_)
    if item.scales:
        limits = np.iinfo(item.dtype.numpy)
        return source.integers(limits.min, limits.max + 1, item.shape).astype(item.dtype.numpy)
    return source.integers(0, 3, item.shape).astype(item.dtype.numpy)


def x(*shape: int, dtype: DType = F, name: str = "x") -> Tensor:
    """An input."""
    return Tensor(shape, dtype, name=name)


def weights(*shape: int, seed: int = 0) -> Tensor:
    """A float constant."""
    return const(np.random.default_rng(seed).uniform(-1, 1, shape).astype(np.float32))


def q8(
    *shape: int, scale: float = 0.02, zero: int = 3, dtype: DType = DType.INT_8, name: str = "x"
) -> Tensor:
    """A quantized tensor."""
    return Tensor(shape, dtype, scales=(scale,), zeros=(zero,), name=name)


def ints(*values: int) -> Tensor:
    """A vector of int32."""
    return const(np.asarray(values, np.int32))


def number(value: Any, dtype: Any = np.int32) -> Tensor:
    """A scalar constant."""
    return const(np.asarray(value, dtype))


CONV = {"stride_w": 1, "stride_h": 1}
POOL = {"stride_w": 2, "stride_h": 2, "filter_width": 3, "filter_height": 2}
IMAGE = x(1, 7, 6, 4)


def float_cases() -> list[Case]:
    """Every case of real numbers."""
    return [
        *spatial(),
        *elementwise(),
        *reductions(),
        *moves(),
        *indexing(),
        *stored(),
        *recurrent(),
        *detectors(),
        *spectra(),
        *suppressions(),
    ]


def spatial() -> Iterator[Case]:
    """Convolutions, pools, resizes, blocks."""
    f, b = weights(5, 3, 2, 4), weights(5, seed=1)
    yield single("conv_2d-same", "CONV_2D", [IMAGE, f, b], {"padding": SAME, "stride_w": 2, "stride_h": 1})
    yield single(
        "conv_2d-relu6",
        "CONV_2D",
        [IMAGE, f, b],
        {**CONV, "padding": VALID, "fused_activation_function": RELU6},
    )
    yield single(
        "conv_2d-dilated", "CONV_2D", [IMAGE, f, b], {**CONV, "dilation_w_factor": 2, "dilation_h_factor": 2}
    )
    yield single("conv_2d-grouped", "CONV_2D", [IMAGE, weights(6, 3, 3, 2), weights(6)], CONV)
    d = weights(1, 3, 3, 8)
    deep = {**CONV, "depth_multiplier": 2, "padding": SAME, "fused_activation_function": RELU}
    yield single("depthwise", "DEPTHWISE_CONV_2D", [IMAGE, d, weights(8)], deep)
    yield single(
        "depthwise-strided",
        "DEPTHWISE_CONV_2D",
        [IMAGE, weights(1, 3, 3, 4), weights(4)],
        {"stride_w": 2, "stride_h": 2, "depth_multiplier": 1, "padding": VALID},
    )
    t = {"stride_w": 2, "stride_h": 2}
    yield single(
        "transpose_conv-same", "TRANSPOSE_CONV", [ints(1, 14, 12, 5), f, IMAGE], {**t, "padding": SAME}
    )
    yield single(
        "transpose_conv-valid", "TRANSPOSE_CONV", [ints(1, 15, 12, 5), f, IMAGE, b], {**t, "padding": VALID}
    )
    volume, vf = x(1, 4, 5, 6, 2), weights(2, 3, 2, 2, 3)
    three = {"stride_d": 1, "stride_w": 2, "stride_h": 1}
    yield single("conv_3d", "CONV_3D", [volume, vf, weights(3)], {**three, "padding": SAME})
    yield single(
        "conv_3d_transpose",
        "CONV_3D_TRANSPOSE",
        [ints(1, 8, 10, 12, 3), weights(2, 3, 2, 3, 2), volume, weights(3)],
        {"stride_d": 2, "stride_w": 2, "stride_h": 2, "padding": SAME},
    )
    for op in ("AVERAGE_POOL_2D", "MAX_POOL_2D", "L2_POOL_2D"):
        yield single(f"{op.lower()}-same", op, [IMAGE], {**POOL, "padding": SAME})
        yield single(
            f"{op.lower()}-valid", op, [IMAGE], {**POOL, "padding": VALID, "fused_activation_function": RELU}
        )
    for op in ("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"):
        yield single(f"{op.lower()}-plain", op, [IMAGE, ints(11, 4)])
        yield single(f"{op.lower()}-corners", op, [IMAGE, ints(11, 9)], {"align_corners": True})
        yield single(f"{op.lower()}-centers", op, [IMAGE, ints(14, 3)], {"half_pixel_centers": True})
    blocks = x(2, 4, 6, 4)
    yield single("space_to_depth", "SPACE_TO_DEPTH", [blocks], {"block_size": 2})
    yield single("depth_to_space", "DEPTH_TO_SPACE", [blocks], {"block_size": 2})
    pairs = const(np.asarray([[1, 1], [0, 0]], np.int32))
    yield single("space_to_batch", "SPACE_TO_BATCH_ND", [blocks, ints(2, 3), pairs])
    yield single(
        "space_to_batch-sequence",
        "SPACE_TO_BATCH_ND",
        [x(2, 5, 3), ints(2), const(np.asarray([[0, 1]], np.int32))],
    )
    yield single("batch_to_space", "BATCH_TO_SPACE_ND", [x(12, 3, 2, 2), ints(2, 3), pairs])


def elementwise() -> Iterator[Case]:
    """Element by element."""
    one, other, row = x(2, 3, 4), x(2, 3, 4, name="y"), weights(4)
    for op in ("ABS", "CEIL", "COS", "ELU", "EXP", "FLOOR", "HARD_SWISH", "LOGISTIC", "NEG", "RELU", "RELU6"):
        yield single(op.lower(), op, [one])
    for op in ("RELU_0_TO_1", "RELU_N1_TO_1", "ROUND", "SIN", "SQUARE", "TANH", "SIGN", "ZEROS_LIKE"):
        yield single(op.lower(), op, [one])
    for op in ("LOG", "SQRT", "RSQRT"):
        yield single(
            op.lower(), op, [one], values=[np.linspace(0.1, 9, 24, dtype=np.float32).reshape(2, 3, 4)]
        )
    for op in ("ADD", "SUB", "MUL", "DIV"):
        yield single(f"{op.lower()}-fused", op, [one, row], {"fused_activation_function": RELU})
        yield single(op.lower(), op, [one, other])
    for op in ("MAXIMUM", "MINIMUM", "SQUARED_DIFFERENCE"):
        yield single(op.lower(), op, [one, row])
    for op in ("EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL", "NOT_EQUAL"):
        yield single(
            op.lower(), op, [x(3, 4, dtype=I32), x(3, 4, dtype=I32, name="y")], results=[Tensor(dtype=BOOL)]
        )
    for op in ("FLOOR_DIV", "FLOOR_MOD"):
        values = [np.asarray([-7, -3, 5, 8, 7], np.int32), np.asarray([2, -2, 3, -3, 7], np.int32)]
        pair = [x(5, dtype=I32), x(5, dtype=I32, name="y")]
        yield single(op.lower(), op, pair, results=[Tensor(dtype=I32)], values=values)
        yield single(f"{op.lower()}-float", op, [one, number(0.7, np.float32)])
    yield single("pow", "POW", [one, number(2.0, np.float32)])
    for op in ("LOGICAL_AND", "LOGICAL_OR"):
        yield single(
            op.lower(), op, [x(5, dtype=BOOL), x(5, dtype=BOOL, name="y")], results=[Tensor(dtype=BOOL)]
        )
    yield single("logical_not", "LOGICAL_NOT", [x(5, dtype=BOOL)], results=[Tensor(dtype=BOOL)])
    yield single("prelu", "PRELU", [IMAGE, weights(1, 1, 4)])
    yield single("leaky_relu", "LEAKY_RELU", [one], {"alpha": 0.3})
    yield single("gelu", "GELU", [one], tolerance=1e-5)
    yield single("gelu-tanh", "GELU", [one], {"approximate": True}, tolerance=1e-5)
    yield single("add_n", "ADD_N", [one, other, x(2, 3, 4, name="z")])
    yield single("select-rows", "SELECT", [x(2, dtype=BOOL, name="c"), one, other])
    yield single("select_v2", "SELECT_V2", [x(3, 1, dtype=BOOL, name="c"), one, row])
    yield single("cast", "CAST", [one], results=[Tensor(dtype=I32)])
    yield single("l2_normalization", "L2_NORMALIZATION", [x(2, 5)])
    yield single(
        "local_response",
        "LOCAL_RESPONSE_NORMALIZATION",
        [x(1, 2, 2, 6)],
        {"radius": 2, "bias": 1.5, "alpha": 0.3, "beta": 0.6},
        tolerance=1e-5,
    )
    yield single("fake_quant", "FAKE_QUANT", [one], {"min": -1.0, "max": 1.5, "num_bits": 8})


def reductions() -> Iterator[Case]:
    """Over axes; products."""
    cube = x(2, 3, 4)
    for op in ("MEAN", "SUM", "REDUCE_PROD", "REDUCE_MAX", "REDUCE_MIN"):
        yield single(f"{op.lower()}-keep", op, [cube, ints(0, 2)], {"keep_dims": True})
        yield single(op.lower(), op, [cube, ints(-1)])
    for op in ("REDUCE_ANY", "REDUCE_ALL"):
        yield single(op.lower(), op, [x(2, 3, dtype=BOOL), ints(1)], results=[Tensor(dtype=BOOL)])
    for op in ("ARG_MAX", "ARG_MIN"):
        yield single(op.lower(), op, [cube, number(1)], {"output_type": 4}, results=[Tensor(dtype=I64)])
    yield single("topk", "TOPK_V2", [cube, number(2)], results=[OUT, Tensor(dtype=I32)])
    yield single("cumsum", "CUMSUM", [cube, number(1)], {"exclusive": True, "reverse": True})
    yield single("softmax", "SOFTMAX", [cube], {"beta": 0.5})
    yield single("log_softmax", "LOG_SOFTMAX", [x(2, 5)])
    yield single(
        "fully_connected",
        "FULLY_CONNECTED",
        [x(2, 3, 4), weights(5, 4), weights(5)],
        {"fused_activation_function": RELU},
    )
    yield single(
        "fully_connected-kept", "FULLY_CONNECTED", [cube, weights(5, 4), None], {"keep_num_dims": True}
    )
    yield single("fully_connected-rows", "FULLY_CONNECTED", [x(2, 6), weights(5, 4), None])
    yield single("batch_matmul", "BATCH_MATMUL", [x(2, 3, 4), x(2, 4, 5, name="y")])
    yield single(
        "batch_matmul-turned",
        "BATCH_MATMUL",
        [x(1, 4, 3), x(2, 5, 4, name="y")],
        {"adj_x": True, "adj_y": True},
    )


def moves() -> Iterator[Case]:
    """Shapes, slices, joins, fills."""
    cube = x(2, 3, 4)
    yield single("reshape", "RESHAPE", [cube, ints(-1, 2, 6)])
    yield single("reshape-option", "RESHAPE", [cube], {"new_shape": (4, -1)})
    yield single("squeeze", "SQUEEZE", [x(1, 3, 1, 2)], {"squeeze_dims": (0, -2)})
    yield single("squeeze-all", "SQUEEZE", [x(1, 3, 1, 2)], {"squeeze_dims": ()})
    yield single("expand_dims", "EXPAND_DIMS", [cube, number(-2)])
    yield single("transpose", "TRANSPOSE", [cube, ints(2, 0, 1)])
    yield single("concatenation", "CONCATENATION", [cube, x(2, 1, 4, name="y")], {"axis": -2})
    yield single("pack", "PACK", [cube, x(2, 3, 4, name="y")], {"axis": -1, "values_count": 2})
    yield single("unpack", "UNPACK", [cube], {"axis": 1, "num": 3}, results=[OUT] * 3)
    yield single("split", "SPLIT", [number(2), cube], {"num_splits": 2}, results=[OUT] * 2)
    yield single("split_v", "SPLIT_V", [cube, ints(1, -1), number(1)], {"num_splits": 2}, results=[OUT] * 2)
    yield single("slice", "SLICE", [cube, ints(0, 1, 2), ints(-1, 1, 2)])
    bounds = (ints(1, -1, 0), ints(2, -9, 9), ints(1, -1, 2))
    yield single("strided_slice", "STRIDED_SLICE", [cube, *bounds])
    masks = {"begin_mask": 2, "end_mask": 5, "shrink_axis_mask": 1}
    yield single("strided_slice-masks", "STRIDED_SLICE", [cube, *bounds], masks)
    short = (ints(0, 0), ints(1, 2), ints(1, 1))
    yield single("strided_slice-short", "STRIDED_SLICE", [cube, *short])
    yield single(
        "strided_slice-new",
        "STRIDED_SLICE",
        [cube, ints(0, 0, 1), ints(1, 0, 3), ints(1, 1, 1)],
        {"new_axis_mask": 2},
    )
    yield single(
        "strided_slice-ellipsis",
        "STRIDED_SLICE",
        [cube, ints(0, 1), ints(0, 3), ints(1, 1)],
        {"ellipsis_mask": 1},
    )
    yield single("reverse", "REVERSE_V2", [cube, ints(1)])
    yield single("tile", "TILE", [cube, ints(1, 2, 3)])
    yield single("broadcast_to", "BROADCAST_TO", [x(3, 1), ints(2, 3, 4)])
    amounts = const(np.asarray([[0, 1], [2, 0], [1, 1]], np.int32))
    yield single("pad", "PAD", [cube, amounts])
    yield single("padv2", "PADV2", [cube, amounts, number(1.5, np.float32)])
    inner = const(np.asarray([[0, 1], [2, 0], [1, 1]], np.int32))
    for mode, name in enumerate(("reflect", "symmetric")):
        yield single(f"mirror_pad-{name}", "MIRROR_PAD", [cube, inner], {"mode": mode})
    yield single("fill", "FILL", [ints(2, 3), x(name="v")])
    yield single("shape", "SHAPE", [cube], {"out_type": 2}, results=[Tensor(dtype=I32)])
    yield single("rank", "RANK", [cube], results=[Tensor(dtype=I32)])


def indexing() -> Iterator[Case]:
    """By index."""
    cube, places = x(2, 3, 4), const(np.asarray([[2, 0], [1, 1]], np.int32))
    yield single("gather", "GATHER", [cube, places], {"axis": 1})
    yield single("gather-batch", "GATHER", [cube, places], {"axis": 1, "batch_dims": 1})
    yield single("gather_nd", "GATHER_ND", [cube, const(np.asarray([[1, 2], [0, 1]], np.int32))])
    yield single("embedding_lookup", "EMBEDDING_LOOKUP", [x(4, dtype=I32), weights(5, 3)])
    parts = [number(4), number(2.0, np.float32), number(-1.0, np.float32)]
    yield single("one_hot", "ONE_HOT", [x(2, 3, dtype=I32), *parts], {"axis": -1})
    yield single(
        "scatter_nd", "SCATTER_ND", [const(np.asarray([[1], [3], [1]], np.int32)), x(3, 2), ints(5, 2)]
    )
    yield single("segment_sum", "SEGMENT_SUM", [x(4, 2), ints(0, 0, 1, 2)])
    yield single("unsorted_segment_sum", "UNSORTED_SEGMENT_SUM", [x(4, 2), ints(2, 0, 1, 2), number(4)])
    yield single(
        "dynamic_update_slice",
        "DYNAMIC_UPDATE_SLICE",
        [x(4, 5), x(2, 2, name="u"), x(2, dtype=I32, name="at")],
        values=[np.zeros((4, 5), np.float32), np.ones((2, 2), np.float32), np.asarray([3, 1], np.int32)],
    )
    yield single("reverse_sequence", "REVERSE_SEQUENCE", [cube, ints(2, 3)], {"seq_dim": 1, "batch_dim": 0})


def stored() -> Iterator[Case]:
    """Weights in other forms."""
    half = const(np.linspace(-1, 1, 20).astype(np.float16).reshape(5, 4))
    float_weights = Tensor((5, 4), name="w32")
    yield Case(
        "half_weights",
        model(
            Subgraph(
                [x(2, 4), half, float_weights, Tensor(name="y")],
                [0],
                [3],
                [Operator("DEQUANTIZE", [1], [2]), Operator("FULLY_CONNECTED", [0, 2, -1], [3])],
            )
        ),
        {"x": rng("half").uniform(-1, 1, (2, 4)).astype(np.float32)},
    )
    # [[1, 0, 0, 2], [0, 0, 0, 0], [0, 3, 4, 0]] by rows, the columns of each listed.
    levels = [(0, 3, (), ()), (1, 0, (0, 2, 2, 4), (0, 3, 1, 2))]
    sparse = Tensor((3, 4), F, np.asarray([1, 2, 3, 4], np.float32), sparsity=((0, 1), (), levels))
    yield Case(
        "sparse_weights",
        model(
            Subgraph(
                [x(2, 4), sparse, Tensor((3, 4), name="dense"), Tensor(name="y")],
                [0],
                [3],
                [Operator("DENSIFY", [1], [2]), Operator("FULLY_CONNECTED", [0, 2, -1], [3])],
            )
        ),
        {"x": rng("sparse").uniform(-1, 1, (2, 4)).astype(np.float32)},
    )
    w = np.random.default_rng(1).integers(-127, 128, (5, 4)).astype(np.int8)
    # LiteRT rounds the activations of each run to 8 bits, which costs up to a step of 1/127.
    yield single(
        "hybrid_weights", "FULLY_CONNECTED", [x(2, 4), const(w, scales=(0.01,)), None], tolerance=2e-2
    )


def recurrent() -> Iterator[Case]:
    """Layers with a state."""
    gates = [weights(5, 3, seed=i) for i in range(4)] + [weights(5, 5, seed=4 + i) for i in range(4)]
    biases = [weights(5, seed=9 + i) for i in range(4)]
    states = [Tensor((2, 5), is_variable=True, name=name) for name in ("h", "c")]
    operands = [x(2, 4, 3), *gates, *[None] * 3, *biases, None, None, *states, *[None] * 4]
    lstm = {"fused_activation_function": 4}
    yield single("sequence_lstm", "UNIDIRECTIONAL_SEQUENCE_LSTM", operands, lstm, tolerance=1e-5)
    timed = [x(4, 2, 3), *operands[1:]]
    options = {**lstm, "time_major": True, "cell_clip": 0.4}
    yield single("sequence_lstm-timed", "UNIDIRECTIONAL_SEQUENCE_LSTM", timed, options, tolerance=1e-5)
    others = [Tensor((2, 5), is_variable=True, name=name) for name in ("h2", "c2")]
    back = [replace(item, data=-item.data) for item in (*gates, *biases) if item.data is not None]
    side = [*gates, *[None] * 3, *biases, None, None]
    other = [*back[:8], *[None] * 3, *back[8:], None, None]
    both = [x(4, 2, 3), *side, *other, *states, *others, *[None] * 9]
    names = (("joined", True, [OUT]), ("apart", False, [OUT, replace(OUT)]))
    for name, is_joined, results in names:
        options = {**lstm, "time_major": True, "merge_outputs": is_joined}
        yield single(f"both_lstms-{name}", "BIDIRECTIONAL_SEQUENCE_LSTM", both, options, results, 1e-5)
    state = Tensor((2, 5), is_variable=True, name="h")
    layer = [x(2, 4, 3), weights(5, 3), weights(5, 5, seed=1), weights(5, seed=2), state]
    rnn = {"fused_activation_function": 4}
    yield single("sequence_rnn", "UNIDIRECTIONAL_SEQUENCE_RNN", layer, rnn, tolerance=1e-5)


def detectors() -> Iterator[Case]:
    """The last step of single-shot detectors, with and without a background class."""
    source = np.random.default_rng(3)
    places = source.uniform(0.2, 0.8, (20, 2))
    anchors = const(np.concatenate([places, source.uniform(0.1, 0.4, (20, 2))], 1).astype(np.float32))
    values = [source.normal(0, 1, (1, 20, 4)).astype(np.float32)]
    results = [OUT] * 4
    for name, is_regular, kinds in (("fast", False, 3), ("regular", True, 3), ("background", False, 2)):
        given = [*values, source.uniform(0, 1, (1, 20, 3)).astype(np.float32)]
        yield single(
            f"detection-{name}",
            "TFLite_Detection_PostProcess",
            [x(1, 20, 4), x(1, 20, 3, name="scores"), anchors],
            None,
            results,
            1e-5,
            values=given,
            custom=detection_options(is_regular=is_regular, kinds=kinds),
        )


def suppressions() -> Iterator[Case]:
    """Boxes that overlap, fewer and more than are asked for."""
    source = np.random.default_rng(8)
    corner = source.uniform(0, 1, (12, 2))
    boxes = np.concatenate([corner, corner + source.uniform(0.2, 0.5, (12, 2))], 1).astype(np.float32)
    values = [boxes, source.uniform(0, 1, 12).astype(np.float32)]
    index = Tensor(dtype=I32)
    for name, limit in (("few", 3), ("many", 10)):
        numbers = [number(limit), number(0.3, np.float32), number(0.2, np.float32)]
        operands = [x(12, 4), x(12, name="scores"), *numbers]
        v4 = "NON_MAX_SUPPRESSION_V4"
        yield single(f"nms_v4-{name}", v4, operands, None, [index, replace(index)], values=values)
        soft = [*operands, number(0.0, np.float32)]
        v5 = "NON_MAX_SUPPRESSION_V5"
        yield single(f"nms_v5-{name}", v5, soft, None, [index, OUT, replace(index)], values=values)


def detection_options(*, is_regular: bool, kinds: int) -> bytes:
    """As TensorFlow's exporter writes them."""
    b = flexbuffers.Builder()
    with b.Map():
        for name, value in (("max_detections", 6), ("max_classes_per_detection", 1), ("num_classes", kinds)):
            b.Int(name, value)
        b.Int("detections_per_class", 4)
        b.Bool("use_regular_nms", is_regular)
        scales = {"y_scale": 10.0, "x_scale": 10.0, "h_scale": 5.0, "w_scale": 5.0}
        for name, value in {**scales, "nms_score_threshold": 0.3, "nms_iou_threshold": 0.4}.items():
            b.Float(name, value)
    return bytes(b.Finish())


def spectra() -> Iterator[Case]:
    """Fourier transforms: sizes, strength, and both parts of a complex tensor that was reshaped."""
    numbers = Tensor(dtype=DType.COMPLEX_64, name="c")
    for name, shape, lengths in (("row", (3, 1, 6), (1, 8)), ("image", (2, 4, 8), (4, 4))):
        tensors = [x(*shape), ints(*lengths), numbers, Tensor(name="y")]
        operators = [Operator("RFFT2D", [0, 1], [2]), Operator("COMPLEX_ABS", [2], [3])]
        given = {"x": rng(name).normal(size=shape).astype(np.float32)}
        yield Case(f"rfft_2d-{name}", model(Subgraph(tensors, [0], [3], operators)), given, 1e-5)
    tensors = [x(2, 1, 8), ints(1, 8), numbers, ints(2, 5), replace(numbers, name="d"), Tensor(name="re")]
    operators = [
        Operator("RFFT2D", [0, 1], [2]),
        Operator("RESHAPE", [2, 3], [4]),
        Operator("REAL", [4], [5]),
        Operator("IMAG", [4], [6]),
    ]
    graph = Subgraph([*tensors, Tensor(name="im")], [0], [5, 6], operators)
    given = {"x": rng("parts").normal(size=(2, 1, 8)).astype(np.float32)}
    yield Case("rfft_2d-parts", model(graph), given, 1e-5)
