"""Converts a model: what `ew.convert` is."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from edgewright.core.errors import UsageError, shown
from edgewright.core.numbers import DType
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
    input_dtypes: Mapping[str, Any] | None = None,
    outputs: Sequence[str] = (),
    signature: str | None = None,
    tag: str | None = None,
    expose_states: bool = False,
    rewrites: Rewrites | None = None,
    example_inputs: Any = None,
) -> Model:
    """Converts a model and keeps the source's I/O names, layouts and dtypes.

    Args:
        source: a file or a folder (ONNX, TFLite, TensorFlow or PyTorch, told by its content), or a model in
            memory: a torch module, TorchScript or ExportedProgram, a Keras model, an ONNX ModelProto.
        input_shapes: shapes for inputs whose dimensions are symbolic, or other shapes than the declared ones.
        batch: replaces the first dimension of every input that has no shape above.
        symbols: numbers for symbolic dimensions by their names.
        input_values: inputs that become constants, such as the sample rate of a voice detector.
        input_dtypes: datatypes of inputs, such as "int64", "bool" or np.float16. TorchScript does not store
            them; where a file does, a cast leads from the given type to the stored one.
        outputs: values of the graph that become the outputs, in place of the model's own.
        signature: which of a model's signatures is converted (TFLite, SavedModel); where none is named the
            first, of a SavedModel 'serving_default'.
        tag: which graph of a SavedModel is converted; 'serve' where none is named.
        expose_states: makes states of recurrent layers inputs and outputs, so that a sequence may come in
            pieces: what one run leaves is given to the next (``Model.states``).
        rewrites: which optional rewrites are made; all by default.
        example_inputs: of a torch module in memory, which knows no shapes: an array or tensor, a tuple in the
            order of ``forward``, or a dictionary by its names.
    """
    dtypes = {name: _read_dtype(name, given) for name, given in (input_dtypes or {}).items()}
    spec = InputSpec(
        input_shapes or {},
        batch,
        symbols or {},
        dtype_hints=dtypes,
        input_values=input_values or {},
        outputs=outputs,
        signature=signature,
        tag=tag,
        expose_states=expose_states,
    )
    rewriting = rewrites or Rewrites()
    return convert_in_memory(
        ConversionRequest(source, spec, rewriting, input_dtypes=dtypes, examples=example_inputs)
    )


def _read_dtype(name: str, given: Any) -> DType:
    """A plain datatype from its name or numpy's type."""
    with suppress(TypeError):
        if (dtype := DType.of(given)) != DType.STRING:
            return dtype
    raise UsageError(
        f"the datatype of '{shown(name)}' is {shown(repr(given), 60)}, expected a type of numbers",
        do="give such as 'float32', 'int64' or 'bool'",
    )
