"""Small ONNX files for the tools' tests, each with something that a tool must get right."""

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64
DIGITS_MODEL = Path(__file__).parents[2] / "examples" / "models" / "mnist_cntk.onnx"


def save(path, nodes, inputs, outputs, constants=None, opset=17):
    """Writes a model; inputs and outputs are (name, type, shape)."""
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info(*item) for item in inputs],
        [helper.make_tensor_value_info(*item) for item in outputs],
        [onnx.numpy_helper.from_array(array, name) for name, array in (constants or {}).items()],
    )
    imports = [helper.make_opsetid("", opset), helper.make_opsetid("strange.ops", 1)]
    onnx.save(helper.make_model(graph, opset_imports=imports, ir_version=8), path)
    return path


def run_onnx(path, feed):
    """The outputs of a model by name, from ONNX Runtime."""
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    names = [item.name for item in session.get_outputs()]
    return dict(zip(names, session.run(names, feed), strict=True))


def image_net(path, channels=3, size=6):
    """A convolution and a batch norm: NCHW in and out, so that layouts matter."""
    rng = np.random.default_rng(1)
    weights = {
        "w": rng.standard_normal((4, channels, 3, 3)).astype(np.float32),
        **{name: rng.random(4).astype(np.float32) + 0.5 for name in ("scale", "shift", "mean", "var")},
    }
    nodes = [
        helper.make_node("Conv", ["image", "w"], ["c"], pads=[1, 1, 1, 1], name="conv"),
        helper.make_node("BatchNormalization", ["c", "scale", "shift", "mean", "var"], ["b"], name="norm"),
        helper.make_node("Relu", ["b"], ["features"], name="relu"),
    ]
    shape = ["batch", channels, size, size]
    return save(
        path, nodes, [("image", FLOAT, shape)], [("features", FLOAT, ["batch", 4, size, size])], weights
    )


def written_out_norm(path):
    """A convolution and a batch norm in elementary ops: (x - mean) * rsqrt(var) * scale + shift."""
    rng = np.random.default_rng(4)
    weights = {"w": rng.standard_normal((4, 3, 3, 3)).astype(np.float32), "epsilon": np.float32([1e-3])}
    weights |= {
        name: rng.random((4, 1, 1)).astype(np.float32) + 0.5 for name in ("mean", "var", "scale", "shift")
    }
    nodes = [
        helper.make_node("Conv", ["image", "w"], ["c"], name="conv"),
        helper.make_node("Add", ["var", "epsilon"], ["v"]),
        helper.make_node("Sqrt", ["v"], ["root"]),
        helper.make_node("Reciprocal", ["root"], ["rsqrt"]),
        helper.make_node("Mul", ["rsqrt", "scale"], ["factor"]),
        helper.make_node("Sub", ["c", "mean"], ["centred"], name="sub"),
        helper.make_node("Mul", ["centred", "factor"], ["scaled"], name="mul"),
        helper.make_node("Add", ["scaled", "shift"], ["y"], name="add"),
    ]
    return save(path, nodes, [("image", FLOAT, [1, 3, 6, 6])], [("y", FLOAT, [1, 4, 4, 4])], weights)


def token_net(path):
    """int64 in and int64 out, and a float output between."""
    table = np.random.default_rng(2).standard_normal((10, 4)).astype(np.float32)
    nodes = [
        helper.make_node("Gather", ["table", "ids"], ["rows"], name="embed"),
        helper.make_node("ArgMax", ["rows"], ["best"], axis=2, keepdims=0, name="best"),
    ]
    outputs = [("rows", FLOAT, [1, 5, 4]), ("best", INT64, [1, 5])]
    return save(path, nodes, [("ids", INT64, [1, 5])], outputs, {"table": table})


def two_inputs(path, batch=1):
    """A sum of two inputs, with names that must be sanitized."""
    nodes = [
        helper.make_node("Mul", ["in/a", "in b"], ["mid"], name="mul"),
        helper.make_node("Add", ["mid", "in/a"], ["out:0"], name="add"),
    ]
    inputs = [("in/a", FLOAT, [batch, 3]), ("in b", FLOAT, [batch, 3])]
    return save(path, nodes, inputs, [("out:0", FLOAT, [batch, 3])])


def symbolic_net(path):
    """Two symbolic dimensions beside the batch."""
    nodes = [helper.make_node("Relu", ["x"], ["y"], name="relu")]
    shape = ["batch", "height", "width"]
    return save(path, nodes, [("x", FLOAT, shape)], [("y", FLOAT, shape)])


def strange_net(path):
    """One op that nobody knows between two that convert."""
    nodes = [
        helper.make_node("Relu", ["x"], ["a"], name="first"),
        helper.make_node("Frobnicate", ["a"], ["b"], name="strange", domain="strange.ops"),
        helper.make_node("Relu", ["b"], ["y"], name="last"),
    ]
    return save(path, nodes, [("x", FLOAT, [2])], [("y", FLOAT, [2])])


def with_unused_values(path):
    """An input that nobody reads, and a node that leads nowhere."""
    nodes = [
        helper.make_node("Relu", ["x"], ["y"], name="relu"),
        helper.make_node("Sigmoid", ["x"], ["nowhere"], name="loose"),
    ]
    inputs = [("x", FLOAT, [2]), ("idle", FLOAT, [2])]
    return save(path, nodes, inputs, [("y", FLOAT, [2])])


def shaped_by_value(path):
    """An input whose value is the size of the result: a converter needs it as a constant."""
    nodes = [
        helper.make_node("Reshape", ["x", "size"], ["y0"], name="shape"),
        helper.make_node("Relu", ["y0"], ["y"], name="relu"),
    ]
    inputs = [("x", FLOAT, [1, "length"]), ("size", INT64, [2])]
    return save(path, nodes, inputs, [("y", FLOAT, ["rows", "columns"])])
