"""What a provider for the GPU claims and then fails to run: found by running every op."""

import onnx

SPATIAL = 3


def find_false_claim(node: onnx.NodeProto) -> str:
    """Why a written node must not run on the GPU; "" where nothing is known against it."""
    if node.op_type in {"Conv", "ConvTranspose"} and _has_depth(node):
        groups = next((item.i for item in node.attribute if item.name == "group"), 1)
        if node.op_type == "ConvTranspose" or groups > 1:
            return f"WebGPU takes a 3D {node.op_type} and fails when it runs"
    return ""


def _has_depth(node: onnx.NodeProto) -> bool:
    """Whether a convolution moves along three axes; the shape of its weights may not be known."""
    return any(item.name in {"strides", "dilations"} and len(item.ints) == SPATIAL for item in node.attribute)
