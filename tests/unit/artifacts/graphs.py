"""Record graphs written by hand, and what it means that two of them are the same."""

import numpy as np

from edgewright.core.numbers import DType
from edgewright.ir.encodings import Encoding
from edgewright.lower.qnn_graph import QnnGraph, QnnNode, QnnScalar, QnnTensor, TensorKind

__all__ = ["conv_graph", "every_dtype_graph", "quantized_graph", "same_graph", "tensor"]


def tensor(name, kind, dtype=DType.FLOAT_32, dims=(), **fields):
    return QnnTensor(name, kind, dtype, tuple(dims), **fields)


def static(name, data, dtype=None, **fields):
    data = np.asarray(data)
    return tensor(name, TensorKind.STATIC, dtype or DType.of(data.dtype), data.shape, data=data, **fields)


def graph_of(name, tensors, nodes, **fields):
    return QnnGraph(name, {t.name: t for t in tensors}, nodes, **fields)


def conv_graph() -> QnnGraph:
    """A convolution and a Relu: weights, tensor parameters, a scalar, a layout."""
    weights = np.arange(2 * 2 * 3 * 2, dtype=np.float32).reshape(2, 2, 3, 2) / 8
    spatial = {"axis_format": "NHWC", "permute_order_to_src": (0, 3, 1, 2)}
    tensors = [
        tensor("x", TensorKind.APP_WRITE, dims=(1, 4, 4, 3), **spatial),
        static("w", weights),
        static("b", np.array([0.1, -1e-5], np.float32)),
        tensor("conv_out", TensorKind.NATIVE, dims=(1, 3, 3, 2), **spatial),
        tensor("_575", TensorKind.APP_READ, dims=(1, 3, 3, 2), **spatial),
    ]
    conv = QnnNode(
        "conv",
        "qti.aisw",
        "Conv2d",
        {"group": QnnScalar(DType.UINT_32, 1)},
        {
            "stride": static("conv_stride", np.array([1, 1], np.uint32)),
            "pad_amount": static("conv_pad_amount", np.zeros((2, 2), np.uint32)),
        },
        ("x", "w", "b"),
        ("conv_out",),
        macs=216,
    )
    relu = QnnNode(
        "relu",
        "qti.aisw",
        "ElementWiseNeuron",
        {"operation": QnnScalar(DType.UINT_32, 4)},
        {},
        ("conv_out",),
        ("_575",),
    )
    return graph_of("tiny_conv", tensors, [conv, relu], source_names={"_575": '57"5/é'})


def quantized_graph() -> QnnGraph:
    """All four encodings."""
    per_channel = Encoding((0.5, 0.25), (0, 0), 1, 8)
    tensors = [
        tensor(
            "x",
            TensorKind.APP_WRITE,
            DType.UFIXED_POINT_16,
            (1, 3),
            encoding=Encoding((3.8818e-4,), (-2778,), None, 16),
        ),
        static(
            "w", np.array([[1, -2], [3, 4], [-128, 127]], np.int8), DType.SFIXED_POINT_8, encoding=per_channel
        ),
        static(
            "w4",
            np.array([[1, -2], [-8, 7]], np.int8),
            DType.SFIXED_POINT_8,
            encoding=Encoding((0.5, 0.125), (0, 1), 1, 4),
        ),
        static(
            "b",
            np.array([70000, -5], np.int32),
            DType.SFIXED_POINT_32,
            encoding=Encoding((0.0,), (0,), None, 32),
        ),
        tensor(
            "h", TensorKind.NATIVE, DType.UFIXED_POINT_8, (1, 2), encoding=Encoding((0.1,), (-128,), None, 4)
        ),
        tensor(
            "y", TensorKind.APP_READ, DType.UFIXED_POINT_8, (1, 2), encoding=Encoding((0.1,), (-3,), None, 8)
        ),
    ]
    nodes = [
        QnnNode(
            "mm",
            "qti.aisw",
            "MatMul",
            {"transpose_in0": QnnScalar(DType.BOOL_8, False)},
            {},
            ("x", "w", "b"),
            ("h",),
        ),
        QnnNode(
            "mm4",
            "qti.aisw",
            "MatMul",
            {"transpose_in1": QnnScalar(DType.BOOL_8, True)},
            {},
            ("h", "w4"),
            ("y",),
        ),
    ]
    return graph_of("quantized", tensors, nodes)


# Extreme values of each type, where a careless literal or a careless number in JSON would break.
EXTREMES = {
    DType.INT_8: [-128, 127],
    DType.INT_16: [-(2**15), 2**15 - 1],
    DType.INT_32: [-(2**31), 2**31 - 1],
    DType.INT_64: [-(2**63), 2**63 - 1],
    DType.UINT_8: [0, 255],
    DType.UINT_16: [0, 65535],
    DType.UINT_32: [0, 2**32 - 1],
    DType.UINT_64: [0, 2**64 - 1],
    DType.FLOAT_32: [-3.4028235e38, 1e-45, np.inf, -np.inf, np.nan, -0.0],
    DType.FLOAT_64: [-1.7976931348623157e308, 5e-324, np.inf, 0.1],
    DType.BOOL_8: [0, 1],
}
ALSO_STORED = {
    DType.FLOAT_16: [65504, 6e-8, np.inf],
    DType.BFLOAT_16: [1e38, -2.0],
    DType.UFIXED_POINT_4: [0, 15],
    DType.SFIXED_POINT_32: [-(2**31), 5],
}


def every_dtype_graph() -> QnnGraph:
    """One op of our own with parameters and weights of every type, of rank 0, empty, and a text."""
    scalars = {
        f"s_{dtype.name}_{i}": QnnScalar(dtype, bool(value) if dtype == DType.BOOL_8 else value)
        for dtype, values in EXTREMES.items()
        for i, value in enumerate(values)
    }
    scalars["words"] = QnnScalar(DType.STRING, 'quote " backslash \\ ??/ line\nend é\0')
    arrays = {d: np.array(v, d.numpy) for d, v in (EXTREMES | ALSO_STORED).items()}
    params = {f"p_{d.name}": static(f"op_p_{d.name}", a, d) for d, a in arrays.items()}
    params["p_scalar"] = static("op_p_scalar", np.array(7, np.int32))
    params["p_empty"] = static("op_p_empty", np.zeros((0, 2), np.float32))
    weights = [static(f"w_{d.name}", a.reshape(-1, 1), d) for d, a in arrays.items()]
    tensors = [
        tensor("x", TensorKind.APP_WRITE, dims=()),
        *weights,
        tensor("y", TensorKind.APP_READ, dims=(2,)),
        tensor("nothing", TensorKind.NULL, dims=(1,)),
    ]
    inputs = ("x", "nothing", *(w.name for w in weights))
    return graph_of(
        "every_dtype", tensors, [QnnNode("op", "my.package", "Everything", scalars, params, inputs, ("y",))]
    )


def same_graph(left: QnnGraph, right: QnnGraph) -> None:
    """Fails where two graphs differ, naming the difference."""
    assert (left.name, left.source_names) == (right.name, right.source_names)
    assert list(left.tensors) == list(right.tensors)
    for name in left.tensors:
        _same_tensor(left.tensors[name], right.tensors[name])
    assert [n.name for n in left.nodes] == [n.name for n in right.nodes]
    for a, b in zip(left.nodes, right.nodes, strict=True):
        _same_node(a, b)


def _same_tensor(a: QnnTensor, b: QnnTensor) -> None:
    plain = ("name", "kind", "dtype", "dims", "encoding", "axis_format", "permute_order_to_src")
    assert [getattr(a, f) for f in plain] == [getattr(b, f) for f in plain]
    assert (a.data is None) == (b.data is None)
    if a.data is not None:
        assert (a.data.dtype, a.data.shape) == (b.data.dtype, b.data.shape)
        assert np.ascontiguousarray(a.data).tobytes() == np.ascontiguousarray(b.data).tobytes(), a.name


def _same_node(a: QnnNode, b: QnnNode) -> None:
    plain = ("name", "package", "type", "inputs", "outputs", "macs")
    assert [getattr(a, f) for f in plain] == [getattr(b, f) for f in plain]
    # By repr: not-a-number is not equal to itself, and 0 must not pass for False.
    assert {k: repr(v) for k, v in a.scalar_params.items()} == {
        k: repr(v) for k, v in b.scalar_params.items()
    }
    assert list(a.tensor_params) == list(b.tensor_params)
    for key in a.tensor_params:
        _same_tensor(a.tensor_params[key], b.tensor_params[key])
