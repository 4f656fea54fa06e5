"""From a float model and data to a model in fixed point."""

from dataclasses import dataclass, field

from edgewright.config.preprocessing import Preprocessing
from edgewright.config.spelling import spell_option
from edgewright.core.errors import UsageError, Where
from edgewright.data.open_samples import Data, list_data_notes, open_samples
from edgewright.frontends.conversion import Rewrites
from edgewright.ir.graph import Graph
from edgewright.model.changed_weights import list_moved_weights, note_changed_weights
from edgewright.model.model import Model
from edgewright.model.narrow import fall_to_half, is_narrow
from edgewright.ops.quant import Dequantize
from edgewright.quantize.executor import Executor
from edgewright.quantize.overrides import KnownEncodings
from edgewright.quantize.quantizer import quantize_graph
from edgewright.quantize.report import QuantizationReport
from edgewright.quantize.request import QuantizationRequest
from edgewright.quantize.source_encodings import take_source_encodings
from edgewright.quantize.tensor_encodings import TensorEncoding


@dataclass(repr=False)
class QuantizedModel(Model):
    """A model in fixed point; ``report`` says where each encoding comes from and which rules were applied."""

    report: QuantizationReport = field(default_factory=QuantizationReport)


def quantize_model(
    model: Model,
    request: QuantizationRequest,
    data: Data | None,
    executor: Executor,
    *,
    ignore_encodings: bool = False,
    preprocessing: Preprocessing | None = None,
) -> QuantizedModel:
    """Quantizes a converted model, which is left as it is."""
    graph, made = _quantize(model, request, data, executor, ignore_encodings, preprocessing)
    made.report.notes += note_changed_weights(graph, made.fixed_graph())
    made.moved_weights = tuple(list_moved_weights(graph, made.fixed_graph()))
    return made


def quantize_part(
    model: Model, request: QuantizationRequest, data: Data | None, executor: Executor
) -> QuantizedModel:
    """As quantize_model, but no weights are compared with what they were.

    That takes longer than all else where weights are many and their encodings are known.
    """
    return _quantize(model, request, data, executor, False, None)[1]


def _quantize(
    model: Model,
    request: QuantizationRequest,
    data: Data | None,
    executor: Executor,
    ignore_encodings: bool,
    preprocessing: Preprocessing | None,
) -> tuple[Graph, QuantizedModel]:
    """The float graph that was quantized, and what became of it."""
    _check_float(model.fixed_graph())
    graph, source = take_pairs(model.fixed_graph())
    if data is None and request.overrides is None and request.float_bw == 32 and not source:
        raise UsageError(
            "there is neither data nor an encoding to quantize with",
            do="give calibration samples, overrides, or float_bw=16 for half precision",
        )
    samples = None
    if data is not None:
        samples = open_samples(graph, data, passes=request.passes, preprocessing=preprocessing)
    known = KnownEncodings(() if ignore_encodings else source, model.source_tensors)
    result = quantize_graph(graph, request, samples, executor, known)
    if samples is not None:
        result = fall_to_half(result, graph)
    result.report.notes[:0] = list_data_notes(samples)
    if not is_narrow(result.graph):
        option = spell_option("float_bw", "16")
        result.report.notes.append(
            f"nothing of it can be in fixed point: for the HTP quantize it with {option}"
        )
    plain = Model.of(result.graph)
    names = {graph.source_names.get(value, value) for value in graph.types}
    return graph, QuantizedModel(
        *(result.graph, plain.inputs, plain.outputs),
        source_tensors=frozenset(names) | model.source_tensors,
        added_tensors=frozenset(names) - model.source_tensors if model.source_tensors else frozenset(),
        report=result.report,
        states=model.states,
    )


def find_fixed_point(graph: Graph) -> str | None:
    """The first value that is computed in fixed point; None in a float graph."""
    results = [value for node in graph.nodes if not node.op.is_encoder for value in node.outputs]
    values = (*graph.inputs, *filter(None, results))
    return next((name for name in values if graph.types[name].encoding is not None), None)


def _check_float(graph: Graph) -> None:
    name = find_fixed_point(graph)
    if name is not None:
        raise UsageError(
            f"the model is in fixed point already ({graph.types[name]}), expected a float model",
            Where(tensor=name),
            do="save it as it is, or quantize the float model that it was made from",
        )


def take_pairs(graph: Graph) -> tuple[Graph, list[TensorEncoding]]:
    """The graph as it was before training with quantization, and the encodings that it learned."""
    if not any(isinstance(node.op, Dequantize) for node in graph.nodes):
        return graph, []
    plain = graph.copy()
    entries = take_source_encodings(plain)
    # What the pairs kept apart (a convolution and its batch norm ...) can meet now.
    return Rewrites().apply(plain), entries
