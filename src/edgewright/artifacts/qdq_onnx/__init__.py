"""ONNX files with quantized ops between DequantizeLinear and QuantizeLinear, which any ONNX runtime runs."""

from edgewright.artifacts.qdq_onnx.writer import OnnxParts, to_files

__all__ = ["OnnxParts", "to_files"]
