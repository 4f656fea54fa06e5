"""Whether files of several formats hold the same 4-bit numbers, each read by its own package."""

from pathlib import Path
from typing import Any

import numpy as np


def compare_files(model: Path, work: Path) -> list[dict[str, Any]]:
    """Every matrix of 4 bits in GGUF against ONNX and OpenVINO."""
    from edgewright.llm.load.checkpoint import Checkpoint
    from edgewright.llm.writers.gguf_file import name_tensor

    shapes = {
        name: tensor.shape for name, tensor in Checkpoint(model).tensors.items() if len(tensor.shape) == 2
    }
    stored = read_gguf(work / "ours-int4.gguf")
    onnx, openvino = read_onnx(work / "ours-int4-onnx", shapes), read_openvino(work / "ours-int4-openvino")
    rows = []
    for name in shapes:
        kind, values = stored[name_tensor(name)]
        if kind != "Q4_0" or name not in onnx:
            continue
        same = {
            "onnx": bool(np.array_equal(values, onnx[name])),
            "openvino": any(
                np.array_equal(values, other) for other in openvino if other.shape == values.shape
            ),
        }
        rows.append({"name": name, "values": int(values.size), **same})
    print(
        f"{len(rows)} matrices, all the same: {all(row['onnx'] and row['openvino'] for row in rows)}",
        flush=True,
    )
    return rows


def read_gguf(path: Path) -> dict[str, tuple[str, np.ndarray]]:
    """Every tensor's type, and its values by the package gguf."""
    from gguf import GGUFReader
    from gguf.quants import dequantize

    return {
        tensor.name: (tensor.tensor_type.name, dequantize(tensor.data, tensor.tensor_type))
        for tensor in GGUFReader(path).tensors
    }


def read_onnx(folder: Path, shapes: dict[str, tuple[int, ...]]) -> dict[str, np.ndarray]:
    """Matrices of 4 bits: codes less 8, times scales."""
    import onnx
    from onnx import numpy_helper

    model = onnx.load(folder / "model.onnx")
    arrays = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    values = {}
    for name, shape in shapes.items():
        packed = arrays.get(f"{name}.codes", arrays.get(f"{name}.rows"))
        if packed is None or packed.size * 2 != np.prod(shape):
            continue
        codes = np.stack([packed & 15, packed >> 4], axis=-1).reshape(shape).astype(np.float32) - 8
        scales = arrays[f"{name}.scales"]
        values[name] = (codes.reshape(*scales.shape, -1) * scales[..., None]).reshape(shape)
    return values


def read_openvino(folder: Path) -> list[np.ndarray]:
    """Products of i4 constants and their scales, in the order of the graph."""
    import openvino

    model = openvino.Core().read_model(folder / "openvino_model.xml")
    found = []
    for node in model.get_ops():
        if node.get_type_name() != "Constant" or node.get_element_type() != openvino.Type.i4:
            continue
        packed = np.asarray(node.get_tensor_view().data if hasattr(node, "get_tensor_view") else node.data)
        shape = list(node.get_output_shape(0))
        pair = packed.reshape(-1).view(np.uint8)
        codes = np.stack([pair & 15, pair >> 4], axis=-1).reshape(shape).astype(np.int8)
        codes = np.where(codes > 7, codes - 16, codes).astype(np.float32)
        convert = next(iter(node.output(0).get_target_inputs())).get_node()
        product = next(iter(convert.output(0).get_target_inputs())).get_node()
        scales = product.input_value(1).get_node().data.astype(np.float32)
        found.append((codes * scales).reshape(shape[0], -1))
    return found
