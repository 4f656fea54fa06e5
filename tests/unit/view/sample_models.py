"""Small ONNX models for the viewer: chains of any length and names of any kind."""

from collections.abc import Sequence

import numpy as np
import onnx
from onnx import helper

HOSTILE = (
    "<script>window.attacked=1</script>",
    "</script><script>window.attacked=1</script>",
    "<img src=x onerror=window.attacked=1>",
    "<svg onload=window.attacked=1>",
    '"><b onmouseover=window.attacked=1>',
    "../../etc/passwd",
    "a\u202eb\u0000c" + "x" * 100_000,
    "__proto__",
    "constructor",
)


def save_chain(path, names: Sequence[str], *, skips: int = 0) -> None:
    """A model of one op for each name, each reading the one before it; some also read the input."""
    nodes, last = [], "image"
    for number, name in enumerate(names):
        inputs = [last, "image"] if skips and number % skips == 0 else [last]
        nodes.append(
            helper.make_node("Add" if len(inputs) == 2 else "Relu", inputs, [f"t{number}"], name=name)
        )
        last = f"t{number}"
    value = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "chain", [value("image", 1, [1, 4])], [value(last, 1, [1, 4])])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)


def save_convolution(path, names: Sequence[str] = ("conv", "relu")) -> None:
    """A convolution with weights and its activation."""
    value = helper.make_tensor_value_info
    weights = np.linspace(-1, 1, 8 * 3 * 3 * 3, dtype=np.float32).reshape(8, 3, 3, 3)
    nodes = [
        helper.make_node("Conv", ["image", "weights"], ["wide"], name=names[0], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["wide"], ["result"], name=names[1]),
    ]
    graph = helper.make_graph(
        nodes,
        "small",
        [value("image", 1, [1, 3, 8, 8])],
        [value("result", 1, [1, 8, 8, 8])],
        [onnx.numpy_helper.from_array(weights, "weights")],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)
