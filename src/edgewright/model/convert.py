"""From a source model to a model that runs, saves and compiles."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from edgewright.core.errors import Problems
from edgewright.core.numbers import Array
from edgewright.frontends._common.input_spec import InputSpec
from edgewright.frontends.conversion import ConversionRequest, Rewrites, convert_graph
from edgewright.frontends.open_source import open_source
from edgewright.ir.graph import Graph
from edgewright.model.model import Model, TensorInfo, describe_tensor

__all__ = ["Rewrites", "convert", "convert_in_memory"]


def convert(  # noqa: PLR0913 - one keyword for each thing of a model that may be fixed
    source: str | Path | Any,
    *,
    input_shapes: Mapping[str, Sequence[int]] | None = None,
    batch: int | None = None,
    symbols: Mapping[str, int] | None = None,
    input_values: Mapping[str, Any] | None = None,
    outputs: Sequence[str] = (),
    signature: str | None = None,
    tag: str | None = None,
    rewrites: Rewrites | None = None,
) -> Model:
    """Converts a model and keeps the source's I/O names, layouts and dtypes.

    Args:
        source: a file or a folder (ONNX, TFLite, TensorFlow or PyTorch, told by its content), or an ONNX
            ModelProto.
        input_shapes: shapes for inputs whose dimensions are symbolic, or other shapes than the declared ones.
        batch: replaces the first dimension of every input that has no shape above.
        symbols: numbers for symbolic dimensions by their names.
        input_values: inputs that become constants, such as the sample rate of a voice detector.
        outputs: values of the graph that become the outputs, in place of the model's own.
        signature: which of a model's signatures is converted (TFLite, SavedModel); where none is named the
            first, of a SavedModel 'serving_default'.
        tag: which graph of a SavedModel is converted; 'serve' where none is named.
        rewrites: which optional rewrites are made; all by default.
    """
    spec = InputSpec(
        input_shapes or {},
        batch,
        symbols or {},
        input_values=input_values or {},
        outputs=outputs,
        signature=signature,
        tag=tag,
    )
    return convert_in_memory(ConversionRequest(source, spec, rewrites or Rewrites()))


def convert_in_memory(request: ConversionRequest) -> Model:
    """The model of a request, with symbolic dimensions and inputs that shape the graph left open."""
    opened = open_source(request.source, request.inputs)
    imported = opened.build({})
    if imported.problems:
        raise Problems(imported.problems)
    if imported.is_complete:
        model = Model.of(convert_graph(imported.graph, opened, request).graph, opened.tensors)
        return replace(model, states=tuple(imported.states))
    bound = tuple(imported.bound)

    def specialise(values: Mapping[str, Array]) -> Graph:
        return convert_graph(opened.specialise(values, bound), opened, request).graph

    inputs = [
        describe_tensor(name, tensor_type, is_bound=name in bound)
        for name, tensor_type in opened.inputs.items()
    ]
    return Model(None, inputs, [TensorInfo(name, "unknown", ()) for name in opened.outputs], specialise)
