"""Quantizes a model: what `ew.quantize` is."""

from collections.abc import Collection
from pathlib import Path
from typing import Any

from edgewright.artifacts.encodings import EncodingsSource, load_encodings
from edgewright.backends.executor import CpuExecutor
from edgewright.config.preprocessing import Preprocessing
from edgewright.data.open_samples import Data
from edgewright.model.model import Model
from edgewright.model.open_model import open_any_model, take_example
from edgewright.model.quantize import QuantizedModel, quantize_model
from edgewright.quantize.request import QuantizationRequest


def quantize(  # noqa: PLR0913 - every one is a choice of its own, and all are given by name
    model: Model | str | Path | Any,
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
    uniform: bool = False,
    ignore_encodings: bool = False,
    preprocessing: Preprocessing | None = None,
    threads: int = 0,
    example_inputs: Any = None,
) -> QuantizedModel:
    """Quantizes a model: real numbers go in and come out as before, fixed point is between.

    Args:
        model: a converted model, or what ``convert`` takes, which is converted first.
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
            biases, and keeps what comes closest to the float model on samples held apart.
        param_quantizer: the same for weights.
        percentile: how much of the values percentile keeps, in percent.
        algorithms: corrections of the weights: some of cle, smooth, seq_mse, adaround, bc; auto takes
            what suits the network.
        overrides: an encodings file of any version, or its content.
        steps: the smallest and the largest stored integer to use, written as signed integers.
        uniform: leave all activations in one width. Otherwise auto gives those of a transformer that 8 bits
            cannot carry 16 bits, where samples gain by it; the report names them and what they cost.
        ignore_encodings: leave out the encodings of a model that was trained with quantization.
        preprocessing: what is done to images: mean, std, layout and order of colours.
        threads: threads for calibration; 0 leaves it to the engine.
        example_inputs: of a torch module in memory; the first sample of ``data`` where none are given.
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
        uniform=uniform,
    )
    examples = take_example(data) if example_inputs is None else example_inputs
    return quantize_model(
        *(open_any_model(model, examples), request, data, CpuExecutor(threads)),
        ignore_encodings=ignore_encodings,
        preprocessing=preprocessing,
    )
