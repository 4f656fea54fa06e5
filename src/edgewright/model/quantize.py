"""From a float model and data to a model in fixed point."""

from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

from edgewright.artifacts.encodings import EncodingsSource, load_encodings
from edgewright.backends.executor import CpuExecutor
from edgewright.config.preprocessing import Preprocessing
from edgewright.core.errors import UsageError, Where
from edgewright.data.open_samples import Data, list_data_notes, open_samples
from edgewright.ir.graph import Graph
from edgewright.model.changed_weights import rebuilding_note
from edgewright.model.convert import Rewrites, convert
from edgewright.model.model import Model, load
from edgewright.model.saving import is_stored
from edgewright.ops.quant import Dequantize
from edgewright.quantize.executor import Executor
from edgewright.quantize.overrides import KnownEncodings
from edgewright.quantize.quantizer import quantize_graph
from edgewright.quantize.report import QuantizationReport
from edgewright.quantize.request import QuantizationRequest
from edgewright.quantize.source_encodings import take_source_encodings
from edgewright.quantize.tensor_encodings import TensorEncoding

__all__ = ["QuantizedModel", "find_fixed_point", "quantize", "quantize_model", "take_pairs"]


@dataclass
class QuantizedModel(Model):
    """A model in fixed point; ``report`` says where each encoding comes from and which rules were applied."""

    report: QuantizationReport = field(default_factory=QuantizationReport)


def quantize(  # noqa: PLR0913 - every one is a choice of its own, and all are given by name
    model: Model | str | Path,
    data: Data | None = None,
    *,
    act_bw: int = 8,
    weight_bw: int = 8,
    bias_bw: int = 32,
    float_bw: int = 32,
    per_channel: bool = True,
    per_row: bool | None = None,
    block_size: int = 0,
    act_quantizer: str = "auto",
    param_quantizer: str = "tf",
    percentile: float = 99.99,
    algorithms: Collection[str] = (),
    overrides: EncodingsSource | None = None,
    steps: tuple[int, int] | None = None,
    ignore_encodings: bool = False,
    preprocessing: Preprocessing | None = None,
    threads: int = 0,
) -> QuantizedModel:
    """Quantizes a model: real numbers go in and come out as before, fixed point is between.

    Args:
        model: a converted model, or a file, which is converted first.
        data: calibration samples: an iterable of dictionaries or arrays, one stacked array (or a dictionary
            of them), a folder of .npy, .npz or .raw files or of images, an .npz or .npy file, or an input
            list. Without data, only what has encodings already is quantized, the rest stays float.
        act_bw: bits of activations, 8 or 16.
        weight_bw: bits of weights, 4, 8 or 16.
        bias_bw: bits of biases, 8 or 32.
        float_bw: bits of what stays in floating point, 16 or 32.
        per_channel: one encoding for each output channel of convolutions, else one for the whole weight.
        per_row: one encoding for each row of MatMul and FullyConnected weights; None: as per_channel, and
            where weights have 4 bits.
        block_size: elements of 4-bit weights that share a scale; 0 for no blocks.
        act_quantizer: how ranges of activations are chosen: tf (all that was seen), enhanced, adjusted,
            symmetric, mse, percentile or entropy; auto tries some of them, with and without a correction of
            biases, and keeps what comes closest to the float model on samples held back.
        param_quantizer: the same for weights.
        percentile: how much of the values percentile keeps, in percent.
        algorithms: corrections of the weights: some of cle, smooth, seq_mse, adaround, bc; auto takes
            what suits the network.
        overrides: an encodings file of any version, or its content.
        steps: the smallest and the largest stored integer to use, written as signed integers.
        ignore_encodings: leave out the encodings of a model that was trained with quantization.
        preprocessing: what is done to images: mean, std, layout and order of colours.
        threads: threads for calibration; 0 leaves it to the engine.
    """
    request = QuantizationRequest(
        act_bw=act_bw,
        weight_bw=weight_bw,
        bias_bw=bias_bw,
        float_bw=float_bw,
        per_channel=per_channel,
        per_row=per_row,
        block_size=block_size,
        act_quantizer=act_quantizer,
        param_quantizer=param_quantizer,
        percentile=percentile,
        algorithms=(algorithms,) if isinstance(algorithms, str) else tuple(algorithms or ()),
        overrides=load_encodings(overrides),
        steps=steps,
    )
    opened = model if isinstance(model, Model) else load(model) if is_stored(model) else convert(model)
    return quantize_model(
        *(opened, request, data, CpuExecutor(threads)),
        ignore_encodings=ignore_encodings,
        preprocessing=preprocessing,
    )


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
    result.report.notes[:0] = list_data_notes(samples, preprocessing)
    result.report.notes += rebuilding_note(graph, result.graph)
    plain = Model.of(result.graph)
    return QuantizedModel(result.graph, plain.inputs, plain.outputs, report=result.report)


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
