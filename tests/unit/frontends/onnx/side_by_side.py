"""Small ONNX models written as text, run here and in ONNX Runtime on the same data."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
import onnx.parser
import onnxruntime

import edgewright as ew
from edgewright.core.numbers import Array

Inputs = Mapping[str, Array]


def model_of(text: str, weights: Inputs | None = None, opsets: Mapping[str, int] | None = None) -> Any:
    """A model from the text of its graph; weights become initializers."""
    graph = onnx.parser.parse_graph(text)
    for name, array in (weights or {}).items():
        graph.initializer.append(onnx.numpy_helper.from_array(array, name))
    versions = {"": 21, **(opsets or {})}
    imports = [onnx.helper.make_opsetid(domain, version) for domain, version in versions.items()]
    return onnx.helper.make_model(graph, opset_imports=imports, ir_version=10)


def normal(*shape: int, seed: int = 0, dtype: Any = np.float32) -> Array:
    """Random numbers that are the same in every run."""
    return np.random.default_rng(seed + sum(shape)).normal(size=shape).astype(dtype)


def agree(model: Any, *feeds: Inputs, rtol: float = 1e-4, atol: float = 1e-5) -> Any:
    """Converts once, runs every feed on both sides and compares; returns the converted model."""
    converted = ew.convert(model)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    names = [item.name for item in session.get_outputs()]
    for feed in feeds:
        found = converted.run(feed)
        for name, expected in zip(names, session.run(names, dict(feed)), strict=True):
            assert found[name].dtype == expected.dtype
            np.testing.assert_allclose(found[name], expected, rtol=rtol, atol=atol, err_msg=name)
    return converted


def op_names(model: Any) -> list[str]:
    """QNN names of a converted model's nodes, in order."""
    return [node.op.qnn_name() for node in model.graph.nodes]
