"""ONNX Runtime, loaded as a whole: interrupted on the way it prints a traceback and goes on, or crashes."""

from edgewright.core.signals import hold_signals

with hold_signals():
    import onnxruntime

__all__ = ["onnxruntime"]
