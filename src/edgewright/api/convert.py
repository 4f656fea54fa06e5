"""From a source model to an IR graph."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from edgewright.api.model import Model, info
from edgewright.core.errors import Problems
from edgewright.core.numbers import Array
import edgewright.frontends.onnx  # noqa: F401 - registers the translations
from edgewright.frontends.onnx.load import OnnxSource

__all__ = ["convert"]


def convert(source: str | Path | Any, *, input_shapes: Mapping[str, Sequence[int]] | None = None) -> Model:
    """Converts a model and keeps the source's I/O names, layouts and dtypes."""
    onnx_source = OnnxSource.open(source, input_shapes=input_shapes or {})
    imported = onnx_source.build({})
    if imported.problems:
        raise Problems(imported.problems)
    if not imported.bound:
        graph = imported.graph
        inputs = [info(name, graph.types[name]) for name in graph.inputs]
        return Model(graph, inputs, [info(name, graph.types[name]) for name in graph.outputs])

    def specialise(values: Mapping[str, Array]) -> Any:
        return onnx_source.specialise(values, tuple(imported.bound))

    declared = onnx_source.inputs
    inputs = [info(name, t, is_bound=name in imported.bound) for name, t in declared.items()]
    return Model(None, inputs, onnx_source.declared_outputs(), specialise, tuple(imported.bound))
