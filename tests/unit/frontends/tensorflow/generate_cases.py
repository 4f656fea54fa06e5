"""Writes cases.npz: a small graph for each op, made and run by TensorFlow (pip install tensorflow-cpu).

Run it from this folder after adding a case: python generate_cases.py
"""

import os
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow as tf

v1, raw = tf.compat.v1, tf.raw_ops
CASES: dict[str, tuple[Callable, tuple]] = {}
RANDOM = np.random.default_rng(7)


def real(*shape: int, low: float = -2.0, high: float = 2.0) -> np.ndarray:
    """Random numbers."""
    return RANDOM.uniform(low, high, shape).astype(np.float32)


def whole(*shape: int, low: int = 0, high: int = 5) -> np.ndarray:
    """Random whole numbers."""
    return RANDOM.integers(low, high, shape).astype(np.int32)


def case(name: str, function: Callable, *inputs: np.ndarray) -> None:
    """One graph: a function of placeholders; all their sizes are open where the name ends so."""
    assert name not in CASES, name
    CASES[name] = (function, inputs)


def _body(function: Callable) -> object:
    return tf.function(function, autograph=False).get_concrete_function(tf.TensorSpec([3, 4], tf.float32))


def _lists(x: tf.Tensor) -> list:
    items = raw.EmptyTensorList(element_shape=[4], max_num_elements=9, element_dtype=tf.float32)
    for row in tf.unstack(x):
        items = raw.TensorListPushBack(input_handle=items, tensor=row * 2)
    shorter, last = raw.TensorListPopBack(input_handle=items, element_shape=[4], element_dtype=tf.float32)
    joined, lengths = raw.TensorListConcatV2(
        input_handle=shorter, element_shape=[4], leading_dims=[], element_dtype=tf.float32
    )
    return [last, joined, lengths, raw.TensorListLength(input_handle=items)]


def _array(x: tf.Tensor) -> list:
    handle, flow = raw.TensorArrayV3(size=3, dtype=tf.float32, clear_after_read=False)
    flow = raw.TensorArrayScatterV3(handle=handle, indices=[0, 1, 2], value=x, flow_in=flow)
    first = raw.TensorArrayReadV3(handle=handle, index=0, flow_in=flow, dtype=tf.float32)
    turned = raw.TensorArrayGatherV3(handle=handle, indices=[2, 1], flow_in=flow, dtype=tf.float32)
    joined, lengths = raw.TensorArrayConcatV3(handle=handle, flow_in=flow, dtype=tf.float32)
    other, written = raw.TensorArrayV3(size=1, dtype=tf.float32, clear_after_read=False)
    written = raw.TensorArrayWriteV3(handle=other, index=0, value=first * 2, flow_in=written)
    again = raw.TensorArrayReadV3(handle=other, index=0, flow_in=written, dtype=tf.float32)
    return [turned, joined, lengths, raw.TensorArraySizeV3(handle=handle, flow_in=flow), again]


def _keras_layer_norm(x: tf.Tensor) -> tf.Tensor:
    mean, variance = tf.nn.moments(x, [-1], keepdims=True)
    scale = tf.math.rsqrt(variance + 0.001) * real(6)
    return x * scale + (-mean * scale + real(6))


X = real(2, 5, 6, 3)
M = real(3, 4)
POSITIVE = real(3, 4, low=0.1, high=3.0)
for _name in [
    "Abs",
    "Ceil",
    "Cos",
    "Elu",
    "Erf",
    "Erfc",
    "Exp",
    "Expm1",
    "Floor",
    "Neg",
    "Relu",
    "Relu6",
    "Rint",
    "Round",
    "Selu",
    "Sigmoid",
    "Sign",
    "Sin",
    "Sinh",
    "Cosh",
    "Softplus",
    "Softsign",
    "Square",
    "Tan",
    "Tanh",
    "Atan",
    "Asinh",
    "IsFinite",
    "IsInf",
    "IsNan",
]:
    argument = "features" if _name in {"Elu", "Relu", "Relu6", "Selu", "Softplus", "Softsign"} else "x"
    case(_name, lambda x, op=_name, a=argument: getattr(raw, op)(**{a: x}), M)
for _name in ["Log", "Log1p", "Rsqrt", "Sqrt", "Reciprocal", "Inv"]:
    case(_name, lambda x, op=_name: getattr(raw, op)(x=x), POSITIVE)
for _name in ["Acos", "Asin", "Atanh"]:
    case(_name, lambda x, op=_name: getattr(raw, op)(x=x), real(3, 4, low=-0.9, high=0.9))
case("Acosh", lambda x: raw.Acosh(x=x), real(3, 4, low=1.1, high=4))
for _name in [
    "Add",
    "AddV2",
    "Sub",
    "Mul",
    "Maximum",
    "Minimum",
    "RealDiv",
    "Div",
    "SquaredDifference",
    "Greater",
    "GreaterEqual",
    "Less",
    "LessEqual",
    "Equal",
    "NotEqual",
    "FloorDiv",
    "FloorMod",
]:
    case(_name, lambda x, y, op=_name: getattr(raw, op)(x=x, y=y), real(2, 3, 4), POSITIVE[0])
case("Pow", lambda x, y: raw.Pow(x=x, y=y), POSITIVE, M)
case("Mod", lambda x, y: raw.Mod(x=x, y=y), whole(3, 4, low=-9, high=9), whole(4, low=1))
case("FloorMod-int", lambda x, y: raw.FloorMod(x=x, y=y), whole(3, 4, low=-9, high=9), whole(4, low=1))
case("TruncateDiv", lambda x, y: raw.TruncateDiv(x=x, y=y), whole(3, 4, low=-9, high=9), whole(4, low=1))
case("TruncateMod", lambda x, y: raw.TruncateMod(x=x, y=y), whole(3, 4, low=-9, high=9), whole(4, low=1))
case("DivNoNan", lambda x, y: raw.DivNoNan(x=x, y=y), M, np.asarray([0, 1, -2, 0], np.float32))
case("MulNoNan", lambda x, y: raw.MulNoNan(x=x, y=y), M, np.asarray([0, 1, -2, 0], np.float32))
case("LogicalAnd", lambda x, y: tf.logical_and(x > 0, y > 0), M, real(3, 4))
case("LogicalOr", lambda x, y: tf.logical_or(x > 0, y > 0), M, real(3, 4))
case("LogicalNot", lambda x: tf.logical_not(x > 0), M)
case("AddN", lambda x, y: raw.AddN(inputs=[x, y, x]), M, real(3, 4))
case("Select", lambda x, y: raw.Select(condition=x[:, 0] > 0, x=x, y=y), M, real(3, 4))
case("SelectV2", lambda x, y: raw.SelectV2(condition=x > 0, t=x, e=y), M, real(4))
case("ClipByValue", lambda x: raw.ClipByValue(t=x, clip_value_min=-0.5, clip_value_max=1.0), M)
case("LeakyRelu", lambda x: raw.LeakyRelu(features=x, alpha=0.3), M)
case("BiasAdd", lambda x: raw.BiasAdd(value=x, bias=real(3)), X)
case("BiasAdd-nchw", lambda x: raw.BiasAdd(value=x, bias=real(5), data_format="NCHW"), X)
case("Gelu", tf.nn.gelu, M)
case("Gelu-tanh", lambda x: tf.nn.gelu(x, approximate=True), M)
case("Swish", tf.nn.silu, M)
case("HardSwish", lambda x: x * tf.nn.relu6(x + 3) * (1 / 6), M)
case("Prelu", lambda x: tf.nn.relu(x) + real(3) * (x - tf.abs(x)) * 0.5, X)
case("Softmax", tf.nn.softmax, real(2, 3, 5))
case("LogSoftmax", tf.nn.log_softmax, real(2, 3, 5))
case("Cast-int", lambda x: tf.cast(x, tf.int32), M)
case("Cast-bool", lambda x: tf.cast(tf.cast(x, tf.bool), tf.float32), whole(3, 4).astype(np.float32))
for _pad in ("SAME", "VALID"):
    for _stride in (1, 2):
        label = f"{_pad.lower()}-{_stride}"
        case(f"Conv2D-{label}", lambda x, p=_pad, s=_stride: tf.nn.conv2d(x, real(3, 2, 3, 4), s, p), X)
        case(
            f"Depthwise-{label}",
            lambda x, p=_pad, s=_stride: tf.nn.depthwise_conv2d(x, real(3, 3, 3, 2), [1, s, s, 1], p),
            X,
        )
        case(f"MaxPool-{label}", lambda x, p=_pad, s=_stride: tf.nn.max_pool2d(x, (3, 2), s, p), X)
        case(f"AvgPool-{label}", lambda x, p=_pad, s=_stride: tf.nn.avg_pool2d(x, (3, 2), s, p), X)
        case(
            f"Conv3D-{label}",
            lambda x, p=_pad, s=_stride: tf.nn.conv3d(x, real(2, 3, 2, 2, 3), [1, s, s, s, 1], p),
            real(1, 4, 5, 4, 2),
        )
        case(
            f"Conv2DTranspose-{label}",
            lambda x, p=_pad, s=_stride: tf.nn.conv2d_transpose(
                x,
                real(3, 3, 4, 3),
                [2, 5 * s, 6 * s, 4] if p == "SAME" else [2, 5 * s + 3 - s, 6 * s + 3 - s, 4],
                s,
                p,
            ),
            X,
        )
case(
    "Conv2DTranspose-dilated",
    lambda x: tf.nn.conv2d_transpose(x, real(2, 2, 4, 3), [2, 5, 6, 4], 1, "SAME", dilations=2),
    X,
)
case(
    "Conv2DTranspose-open",
    lambda x: tf.nn.conv2d_transpose(x, real(2, 2, 4, 3), [2, 11, 13, 4], 2, "VALID"),
    X,
)
case(
    "Conv3DTranspose",
    lambda x: tf.nn.conv3d_transpose(x, real(2, 2, 2, 3, 2), [1, 8, 10, 8, 3], 2, "SAME"),
    real(1, 4, 5, 4, 2),
)
case("Conv2D-dilated", lambda x: tf.nn.conv2d(x, real(2, 2, 3, 4), 1, "SAME", dilations=2), X)
case("Conv2D-explicit", lambda x: tf.nn.conv2d(x, real(3, 3, 3, 4), 2, [[0, 0], [1, 0], [0, 2], [0, 0]]), X)
case("Conv2D-atrous", lambda x: tf.nn.atrous_conv2d(x, real(2, 2, 3, 4), 2, "SAME"), X)
case("Conv2D-groups", lambda x: tf.nn.conv2d(x, real(2, 2, 2, 6), 1, "SAME"), real(1, 4, 4, 4))
case("Conv1D", lambda x: tf.nn.conv1d(x, real(3, 4, 5), 2, "SAME"), real(2, 9, 4))
case("MaxPool3D", lambda x: tf.nn.max_pool3d(x, 2, 2, "SAME"), real(1, 4, 5, 4, 2))
case("AvgPool3D", lambda x: tf.nn.avg_pool3d(x, 2, 2, "SAME"), real(1, 4, 5, 4, 2))
case(
    "ExtractImagePatches",
    lambda x: tf.image.extract_patches(x, [1, 2, 2, 1], [1, 2, 2, 1], [1, 1, 1, 1], "VALID"),
    X,
)
case("MatMul", lambda x: tf.matmul(x, real(4, 5)), M)
case(
    "MatMul-turned", lambda x, y: tf.matmul(x, y, transpose_a=True, transpose_b=True), real(4, 3), real(5, 4)
)
case("BatchMatMulV2", lambda x, y: tf.matmul(x, y, adjoint_b=True), real(2, 3, 4), real(2, 5, 4))
case("Einsum", lambda x, y: tf.einsum("bij,bjk->bik", x, y), real(2, 3, 4), real(2, 4, 5))
case("Einsum-heads", lambda x: tf.einsum("abc,cde->abde", x, real(4, 2, 3)), real(2, 3, 4))
case("Einsum-attention", lambda x, y: tf.einsum("aecd,abcd->acbe", x, y), real(2, 3, 2, 4), real(2, 5, 2, 4))
case("Einsum-inner", lambda x, y: tf.einsum("acbe,aecd->abcd", x, y), real(2, 3, 4, 5), real(2, 5, 3, 6))
case("Einsum-sum", lambda x: tf.einsum("ij->j", x), M)
case(
    "FusedBatchNormV3",
    lambda x: (
        raw.FusedBatchNormV3(
            x=x,
            scale=real(3),
            offset=real(3),
            mean=real(3),
            variance=real(3, low=0.5),
            epsilon=0.01,
            is_training=False,
        ).y
    ),
    X,
)
case(
    "FusedBatchNormV3-nchw",
    lambda x: (
        raw.FusedBatchNormV3(
            x=x,
            scale=real(5),
            offset=real(5),
            mean=real(5),
            data_format="NCHW",
            variance=real(5, low=0.5),
            epsilon=0.01,
            is_training=False,
        ).y
    ),
    X,
)
case(
    "BatchNorm-written-out",
    lambda x: tf.nn.batch_normalization(
        tf.nn.conv2d(x, real(3, 3, 3, 4), 1, "SAME"), real(4), real(4, low=0.5), real(4), real(4), 0.001
    ),
    X,
)
case(
    "LayerNorm-written-out",
    lambda x: tf.nn.batch_normalization(x, *tf.nn.moments(x, [-1], keepdims=True), real(6), real(6), 0.001),
    real(2, 4, 6),
)
case("LayerNorm-keras", _keras_layer_norm, real(2, 4, 6))
case("Conv2D-depthwise", lambda x: tf.nn.conv2d(x, real(3, 3, 1, 4), 1, "SAME"), real(1, 5, 6, 4))
case("LRN", lambda x: tf.nn.lrn(x, 1, 1.0, 0.2, 0.6), X)
case("L2Normalize", lambda x: tf.nn.l2_normalize(x, -1), M)
for _name in ["Sum", "Mean", "Max", "Min", "Prod", "EuclideanNorm"]:
    case(
        f"{_name}", lambda x, op=_name: getattr(raw, op)(input=x, axis=[1, -1], keep_dims=True), real(2, 3, 4)
    )
case("Mean-dropped", lambda x: tf.reduce_mean(x, [1, 2]), X)
case("Sum-all", tf.reduce_sum, M)
case("All", lambda x: tf.reduce_all(x > -1, 1), M)
case("Any", lambda x: tf.reduce_any(x > 1.5, 1), M)
case("ArgMax", lambda x: tf.argmax(x, 1), M)
case("ArgMin", lambda x: tf.argmin(x, 0, output_type=tf.int32), M)
case("TopKV2", lambda x: tf.math.top_k(x, 3), real(2, 8))
case("Cumsum", lambda x: tf.cumsum(x, 1, exclusive=True, reverse=True), M)
case("L2Loss", tf.nn.l2_loss, M)
case("Reshape", lambda x: tf.reshape(x, [2, -1, 3]), X)
case("Reshape-shape", lambda x: tf.reshape(x, [tf.shape(x)[0], -1]), X)
case("ExpandDims", lambda x: tf.expand_dims(x, -2), M)
case("Squeeze", tf.squeeze, real(1, 3, 1, 4))
case("Squeeze-axes", lambda x: tf.squeeze(x, [-2]), real(1, 3, 1, 4))
case("Transpose", lambda x: tf.transpose(x, [0, 3, 1, 2]), X)
case("ConcatV2", lambda x, y: tf.concat([x, y], -1), M, real(3, 2))
case("Pack", lambda x, y: tf.stack([x, y], 1), M, real(3, 4))
case("Unpack", lambda x: tf.unstack(x, axis=1), M)
case("Tile", lambda x: tf.tile(x, [2, 3]), M)
case("BroadcastTo", lambda x: tf.broadcast_to(x, [2, 3, 4]), M)
case("ReverseV2", lambda x: tf.reverse(x, [1]), M)
case("DepthToSpace", lambda x: tf.nn.depth_to_space(x, 2), real(1, 3, 4, 8))
case("SpaceToDepth", lambda x: tf.nn.space_to_depth(x, 2), real(1, 4, 6, 2))
case("SpaceToBatchND", lambda x: tf.space_to_batch(x, [2, 2], [[1, 0], [0, 2]]), X)
case("SpaceToBatchND-1d", lambda x: tf.space_to_batch(x, [2], [[1, 0]]), real(2, 5, 3))
case("BatchToSpaceND", lambda x: tf.batch_to_space(x, [2, 2], [[1, 0], [0, 1]]), real(4, 3, 4, 2))
case("Pad", lambda x: tf.pad(x, [[1, 0], [2, 3]]), M)
case("PadV2", lambda x: tf.pad(x, [[1, 0], [2, 3]], constant_values=7.0), M)
case("MirrorPad", lambda x: tf.pad(x, [[1, 1], [2, 1]], "REFLECT"), M)
case("MirrorPad-symmetric", lambda x: tf.pad(x, [[1, 1], [2, 1]], "SYMMETRIC"), M)
case("Shape", tf.shape, X)
case("Size", lambda x: tf.size(x) + tf.rank(x), X)
case("Fill", lambda x: x + tf.fill([3, 4], 2.5), M)
case("ZerosLike", lambda x: tf.ones_like(x) + tf.zeros_like(x), M)
case("Range", lambda x: x + tf.range(0.0, 2.0, 0.5), M)
case("LinSpace", lambda x: x + tf.linspace(0.0, 1.0, 4), M)
case("MatrixBandPart", lambda x: tf.linalg.band_part(x, 1, 0), real(4, 4))
case("StridedSlice", lambda x: x[:, 1:4:2, ::-1, tf.newaxis, ..., 0], X)
case("StridedSlice-ends", lambda x: x[-1, -3:-1, 10:1:-2], X)
case("StridedSlice-ellipsis", lambda x: x[..., 1:], X)
case("Slice", lambda x: tf.slice(x, [0, 1, 2, 0], [2, -1, 3, 1]), X)
case("Split", lambda x: tf.split(x, 3, -1), X)
case("SplitV", lambda x: tf.split(x, [1, -1, 2], 2), X)
case("GatherV2", lambda x: tf.gather(x, [[2, 0], [1, 1]], axis=1), M)
case("GatherV2-batch", lambda x, i: tf.gather(x, i, batch_dims=1), real(2, 5, 3), whole(2, 4))
case("GatherNd", lambda x: tf.gather_nd(x, [[0, 1], [2, 3]]), M)
case("OneHot", lambda i: tf.one_hot(i, 6, 2.0, -1.0), whole(2, 3))
case("ScatterNd", lambda x: tf.scatter_nd([[1], [3], [1]], x, [5, 4]), M)
case("TensorScatterUpdate", lambda x: tf.tensor_scatter_nd_update(x, [[1]], real(1, 4)), M)
case("ResizeBilinear", lambda x: raw.ResizeBilinear(images=x, size=[9, 7], half_pixel_centers=True), X)
case("ResizeBilinear-corners", lambda x: raw.ResizeBilinear(images=x, size=[9, 7], align_corners=True), X)
case("ResizeBilinear-plain", lambda x: raw.ResizeBilinear(images=x, size=[10, 12]), X)
case("ResizeNearestNeighbor", lambda x: raw.ResizeNearestNeighbor(images=x, size=[10, 12]), X)
case(
    "ResizeNearestNeighbor-half",
    lambda x: raw.ResizeNearestNeighbor(images=x, size=[10, 12], half_pixel_centers=True),
    X,
)
case("ResizeBicubic", lambda x: raw.ResizeBicubic(images=x, size=[9, 13], half_pixel_centers=True), X)
case(
    "CropAndResize",
    lambda x: tf.image.crop_and_resize(x, [[0.1, 0.2, 0.8, 0.9], [0.0, 0.0, 1.0, 1.0]], [0, 1], [4, 4]),
    X,
)
case(
    "NonMaxSuppressionV3",
    lambda b, s: raw.NonMaxSuppressionV3(
        boxes=b, scores=s, max_output_size=4, iou_threshold=0.3, score_threshold=0.2
    ),
    np.asarray([[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, 2, 1, 3], [0, 5, 1, 6]], np.float32),
    np.asarray([0.9, 0.8, 0.7, 0.1], np.float32),
)
case("FakeQuantWithMinMaxArgs", lambda x: tf.quantization.fake_quant_with_min_max_args(x, -1.5, 1.7), M)
case("FakeQuantWithMinMaxVars", lambda x: tf.quantization.fake_quant_with_min_max_vars(x, -0.4, 1.7, 4), M)
case(
    "FakeQuantWithMinMaxVars-narrow",
    lambda x: tf.quantization.fake_quant_with_min_max_vars(x, -1.2, 1.2, 8, narrow_range=True),
    M,
)
case(
    "FakeQuantWithMinMaxVarsPerChannel",
    lambda x: tf.quantization.fake_quant_with_min_max_vars_per_channel(
        x, [-1.0, -0.5, 0.0, -2.0], [1.0, 1.5, 2.0, 0.5]
    ),
    M,
)
case("If", lambda x: tf.cond(tf.reduce_sum(x) > 0, lambda: x * 2, lambda: x - 1), M)
case("While", lambda x: tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, tf.sin(v) + x), [0, x])[1], M)
case("TensorList", lambda x: tf.map_fn(lambda row: tf.cumsum(row) * 2.0, x), M)
case("Switch", lambda x: v1.cond(tf.constant(True), lambda: x * 2, lambda: x - 1), M)
case("InvertPermutation", lambda x: tf.transpose(x, tf.math.invert_permutation([0, 2, 3, 1])), X)

case("Roll", lambda x: tf.roll(x, [1, -2], [0, 1]), M)
case(
    "MaxPoolV2",
    lambda x: raw.MaxPoolV2(input=x, ksize=[1, 3, 2, 1], strides=[1, 2, 2, 1], padding="SAME"),
    X,
)
case(
    "ImageProjectiveTransformV3",
    lambda x: raw.ImageProjectiveTransformV3(
        images=x,
        transforms=[[1.0, 0.1, -0.5, 0.05, 0.9, 0.3, 0.0, 0.001]],
        output_shape=[5, 6],
        fill_value=0.0,
        interpolation="BILINEAR",
    ),
    X,
)
case("Where", lambda x: tf.gather_nd(x, raw.Where(condition=x > 0)), M)
case("TensorScatterAdd", lambda x: tf.tensor_scatter_nd_add(x, [[1], [0], [1]], real(3, 4)), M)
case(
    "NonMaxSuppressionV2",
    lambda b, s: raw.NonMaxSuppressionV2(boxes=b, scores=s, max_output_size=3, iou_threshold=0.5),
    np.asarray([[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, 2, 1, 3]], np.float32),
    np.asarray([0.6, 0.8, 0.7], np.float32),
)
case("Concat", lambda x, y: raw.Concat(concat_dim=1, values=[x, y]), M, real(3, 2))
case("Gather", lambda x: raw.Gather(params=x, indices=[2, 0]), M)
case(
    "Passed-on",
    lambda x: raw.Snapshot(
        input=raw.CheckNumerics(
            tensor=raw.PreventGradient(input=raw.EnsureShape(input=x, shape=[3, 4])), message="m"
        )
    ),
    M,
)
case("Shape-open-sizes", lambda x: [tf.shape(x), tf.size(x), tf.rank(x), *tf.shape_n([x, x])], M)
case("Like-open-sizes", lambda x: [raw.ZerosLike(x=x) + raw.OnesLike(x=x), tf.fill(tf.shape(x), 2.0)], M)
case("Reshape-open-sizes", lambda x: tf.reshape(x, [tf.shape(x)[0], tf.shape(x)[1] * tf.shape(x)[2], -1]), X)
case("Range-open-sizes", lambda x: tf.range(tf.shape(x)[0]), M)
case(
    "Resize-open-sizes",
    lambda x: raw.ResizeNearestNeighbor(images=x, size=tf.shape(x)[1:3] * 2),
    real(1, 3, 4, 2),
)
for _name in ("FusedBatchNorm", "FusedBatchNormV2"):
    case(
        _name,
        lambda x, op=_name: (
            getattr(raw, op)(
                x=x, scale=real(3), offset=real(3), mean=real(3), variance=real(3, low=0.5), is_training=False
            ).y
        ),
        X,
    )
case("BatchMatMul", lambda x, y: raw.BatchMatMul(x=x, y=y, adj_x=True), real(2, 4, 3), real(2, 4, 5))
case("BatchMatMulV3", lambda x, y: raw.BatchMatMulV3(x=x, y=y, Tout=tf.float32), real(2, 3, 4), real(4, 5))
case("Reverse", lambda x: raw.Reverse(tensor=x, dims=[True, False]), M)
case(
    "NonMaxSuppression",
    lambda b, s: raw.NonMaxSuppression(boxes=b, scores=s, max_output_size=3, iou_threshold=0.4),
    np.asarray([[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, 2, 1, 3]], np.float32),
    np.asarray([0.6, 0.8, 0.7], np.float32),
)
case(
    "ImageProjectiveTransformV2",
    lambda x: raw.ImageProjectiveTransformV2(
        images=x,
        transforms=[[0.9, 0.0, 0.5, 0.1, 1.1, -0.3, 0.0, 0.0]],
        output_shape=[5, 6],
        interpolation="NEAREST",
    ),
    X,
)
case("Lists", _lists, M)
case(
    "Case",
    lambda x: raw.Case(
        input=[x],
        branch_index=1,
        Tout=[tf.float32],
        branches=[_body(lambda v: v + 1), _body(lambda v: v * 3)],
    ),
    M,
)
case("Array", _array, M)


case("BiasAddV1", lambda x: raw.BiasAddV1(value=x, bias=real(3)), X)
case("DeepCopy", lambda x: raw.DeepCopy(x=x) * 2, M)
case(
    "IfRaw",
    lambda x: raw.If(
        cond=tf.constant(True),
        input=[x],
        Tout=[tf.float32],
        then_branch=_body(lambda a: a * 2),
        else_branch=_body(lambda a: a - 1),
    )[0],
    M,
)
case(
    "StatelessCaseRaw",
    lambda x: raw.StatelessCase(
        branch_index=tf.constant(1),
        input=[x],
        Tout=[tf.float32],
        branches=[_body(lambda a: a * 2), _body(lambda a: a - 1)],
    )[0],
    M,
)
case("Print", lambda x: raw.Print(input=x, data=[x], message="") + 1, M)
case("Rank", lambda x: x + tf.cast(raw.Rank(input=x), tf.float32), M)
case("LinSpaceRaw", lambda x: x + raw.LinSpace(start=0.0, stop=1.0, num=4), M)


def made(name: str) -> dict[str, np.ndarray]:
    """The graph of a case, its inputs and what TensorFlow makes of them."""
    function, inputs = CASES[name]
    with tf.Graph().as_default() as graph:
        shapes = [[None] * x.ndim if name.endswith("-open-sizes") else x.shape for x in inputs]
        io = [
            v1.placeholder(x.dtype, shape, f"x{i}")
            for i, (x, shape) in enumerate(zip(inputs, shapes, strict=True))
        ]
        found = function(*io)
        results = [tf.identity(value, f"y{i}") for i, value in enumerate(_flat(found))]
        with v1.Session(graph=graph) as session:
            values = session.run(results, dict(zip(io, inputs, strict=True)))
        stored = graph.as_graph_def(add_shapes=False)
    for node in stored.node:
        for key in [key for key in node.attr if key.startswith("_")]:
            del node.attr[key]
    parts = {"graph": np.frombuffer(stored.SerializeToString(), np.uint8)}
    parts |= {f"x{i}": value for i, value in enumerate(inputs)}
    return parts | {f"y{i}": np.asarray(value) for i, value in enumerate(values)}


def _flat(found: object) -> list:
    return list(found) if isinstance(found, (list, tuple)) else [found]


if __name__ == "__main__":
    v1.enable_control_flow_v2()
    arrays = {}
    for label in CASES:
        if label == "Switch":
            v1.disable_control_flow_v2()
        arrays |= {f"{label}/{key}": value for key, value in made(label).items()}
        v1.enable_control_flow_v2()
    np.savez_compressed(Path(__file__).parent / "cases.npz", **arrays)
