"""Converts a model: what `ew.convert` is."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from edgewright.frontends._common.input_spec import InputSpec
from edgewright.frontends.conversion import ConversionRequest, Rewrites
from edgewright.model.convert import convert_in_memory
from edgewright.model.model import Model


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
