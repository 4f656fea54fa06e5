"""What a provider for the GPU claims and then fails to run: found by running every op."""

import onnx

from edgewright.backends.cpu.engine_model import WrittenModel


def find_false_claim(model: WrittenModel, node: onnx.NodeProto) -> str:
    """Why a written node must not run on the GPU; "" where nothing is known against it."""
    if node.op_type in {"Conv", "ConvTranspose"} and _find_rank(model, node.input[1]) == 5:
        groups = next((item.i for item in node.attribute if item.name == "group"), 1)
        if node.op_type == "ConvTranspose" or groups > 1:
            return f"WebGPU takes a 3D {node.op_type} and fails when it runs"
    return ""


def _find_rank(model: WrittenModel, name: str) -> int:
    return next((len(item.dims) for item in model.proto.graph.initializer if item.name == name), 0)
