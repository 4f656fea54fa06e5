"""Opens an ONNX file: the graph, its opsets and its weights, without copying what can stay on disk."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import onnx

from edgewright.core.errors import BadInput, Where
from edgewright.core.numbers import Array
from edgewright.frontends.onnx.tensors import array_of

__all__ = ["OnnxFile"]


class OnnxFile:
    """A parsed model and where its weights lie."""

    def __init__(self, model: onnx.ModelProto, name: str = "model") -> None:
        self.name = name
        self.graph = model.graph
        self.functions = model.functions
        self._opsets = {
            ("" if item.domain == "ai.onnx" else item.domain): item.version for item in model.opset_import
        }

    @classmethod
    def open(cls, path: Path) -> "OnnxFile":
        """Reads a file."""
        try:
            model = onnx.load(str(path))
        except Exception as problem:
            raise BadInput(
                f"not an ONNX model ({problem})", Where(file=str(path)), do="check the file"
            ) from None
        return cls(model, str(path))

    def opset(self, domain: str) -> int:
        """The version of a domain that the model was written for."""
        return self._opsets.get("" if domain == "ai.onnx" else domain, 1)

    @contextmanager
    def opsets_of(self, body: onnx.FunctionProto) -> Iterator[None]:
        """Inside, the opsets are those that a function was written for."""
        before = self._opsets
        self._opsets = {
            **before,
            **{("" if i.domain == "ai.onnx" else i.domain): i.version for i in body.opset_import},
        }
        try:
            yield
        finally:
            self._opsets = before

    def array(self, tensor: onnx.TensorProto, where: Where) -> Array:
        """An initializer as an array."""
        return array_of(tensor, where)
