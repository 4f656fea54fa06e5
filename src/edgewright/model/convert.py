"""From a source model to a model that runs, saves and compiles."""

import logging
import weakref
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from edgewright.core.errors import Problems, UsageError
from edgewright.core.numbers import Array
from edgewright.frontends._common.connections import check_connections
from edgewright.frontends._common.input_spec import check_names
from edgewright.frontends.conversion import ConversionRequest, convert_graph
from edgewright.frontends.huggingface import is_huggingface_folder, load_huggingface_model
from edgewright.frontends.live_models import is_live_model, write_live_model
from edgewright.frontends.open_source import open_source
from edgewright.ir.graph import Graph
from edgewright.model.model import Model, TensorInfo, describe_tensor

log = logging.getLogger(__name__)


def convert_in_memory(request: ConversionRequest) -> Model:
    """The model of a request, with symbolic dimensions and inputs that shape the graph left open."""
    if isinstance(request.source, Model):
        raise UsageError("the model is converted already", do="use it as it is, or convert its source")
    if is_huggingface_folder(request.source):
        module, examples = load_huggingface_model(Path(request.source), request.examples)
        return _convert_live(replace(request, source=module, examples=examples))
    if is_live_model(request.source):
        return _convert_live(request)
    opened = open_source(request.source, request.inputs)
    known = [*opened.inputs, *request.inputs.input_values]
    check_names(opened.name, "input_dtypes", request.input_dtypes, known, "input")
    imported = opened.build({})
    if imported.problems:
        raise Problems(imported.problems)
    if imported.is_complete:
        for note in check_connections(opened, imported.graph):
            log.warning("%s", note)
        model = Model.of(convert_graph(imported.graph, opened, request).graph, opened.tensors)
        return replace(model, states=tuple(imported.states))
    bound = tuple(imported.bound)

    def specialise(values: Mapping[str, Array]) -> Graph:
        return convert_graph(opened.specialise(values, bound), opened, request).graph

    inputs = [
        describe_tensor(
            name,
            tensor_type.with_dtype(request.input_dtypes.get(name, tensor_type.dtype)),
            is_bound=name in bound,
        )
        for name, tensor_type in opened.inputs.items()
    ]
    return Model(None, inputs, [TensorInfo(name, "unknown", ()) for name in opened.outputs], specialise)


def _convert_live(request: ConversionRequest) -> Model:
    folder = TemporaryDirectory(prefix="edgewright-", ignore_cleanup_errors=True)
    written = write_live_model(request.source, Path(folder.name), request.examples)
    spec = replace(
        request.inputs,
        input_shapes={**written.shapes, **request.inputs.input_shapes},
        dtype_hints={**written.dtypes, **request.inputs.dtype_hints},
        named=tuple(request.inputs.input_shapes),
    )
    model = convert_in_memory(replace(request, source=written.path, inputs=spec))
    # Weights are views of the file as long as the model lives.
    weakref.finalize(model, folder.cleanup)
    return model
