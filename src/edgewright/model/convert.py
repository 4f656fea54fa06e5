"""From a source model to a model that runs, saves and compiles."""

import logging
from collections.abc import Mapping
from dataclasses import replace

from edgewright.core.errors import Problems
from edgewright.core.numbers import Array
from edgewright.frontends._common.connections import check_connections
from edgewright.frontends._common.input_spec import check_names
from edgewright.frontends.conversion import ConversionRequest, convert_graph
from edgewright.frontends.open_source import open_source
from edgewright.ir.graph import Graph
from edgewright.model.model import Model, TensorInfo, describe_tensor

log = logging.getLogger(__name__)


def convert_in_memory(request: ConversionRequest) -> Model:
    """The model of a request, with symbolic dimensions and inputs that shape the graph left open."""
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
