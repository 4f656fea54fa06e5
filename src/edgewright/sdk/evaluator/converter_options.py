"""What the evaluator says to the converter: facts about the model, and the parameters of a schema."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from edgewright.config.group import OptionGroup, collect_groups
from edgewright.config.onnx import ONNX_CONVERTER
from edgewright.config.params import read_params
from edgewright.config.pytorch import PYTORCH_CONVERTER
from edgewright.config.quantizer import Quantizer
from edgewright.config.spelling import spell_option
from edgewright.config.tensorflow import TENSORFLOW_CONVERTER
from edgewright.config.tflite import TFLITE_CONVERTER
from edgewright.core.errors import EdgewrightError, UsageError
from edgewright.core.words import quote_names
from edgewright.frontends._common.input_spec import InputSpec
from edgewright.frontends.framework import Framework, framework_of
from edgewright.frontends.open_source import open_source
from edgewright.ir.graph import Graph
from edgewright.ir.symbols import batch_symbols
from edgewright.ir.types import TensorType
from edgewright.sdk.converter import ConverterOptions
from edgewright.sdk.evaluator.schemas import InferenceSchema

_GROUPS: dict[Framework, tuple[type[OptionGroup], ...]] = {
    Framework.ONNX: ONNX_CONVERTER,
    Framework.TFLITE: TFLITE_CONVERTER,
    Framework.TENSORFLOW: TENSORFLOW_CONVERTER,
    Framework.PYTORCH: PYTORCH_CONVERTER,
}
# One raw file serves the framework and the converted model: both read it in the source's layout.
_CHANNELS_FIRST = (Framework.ONNX, Framework.PYTORCH)
# What says otherwise about layouts.
_LAYOUT_KEYS = ("preserve_io", "custom_io", "input_layout", "l")
# Names for files that are not read in the first half of a conversion.
CALIBRATION, OVERRIDES = "inputs.txt", "overrides.json"


@dataclass(frozen=True)
class EvaluatedModel:
    """A source model, and what a user says about it."""

    path: str
    # Shapes of inputs; a batch that was left open (*) is filled in already.
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    symbols: Mapping[str, int] = field(default_factory=dict)
    batch: int | None = None
    # Data types of raw input files, where they are not float32.
    dtypes: Mapping[str, str] = field(default_factory=dict)
    is_simplified: bool = True
    # Dimensions that nobody gave a size: 1 is assumed.
    assumed: tuple[str, ...] = ()

    @property
    def framework(self) -> Framework:
        """Where it comes from."""
        return framework_of(self.path)

    @property
    def name(self) -> str:
        """How tables call it."""
        return Path(self.path).name

    def fill_symbols(self) -> "EvaluatedModel":
        """The model with 1 for every dimension that it leaves open and nobody gave a number."""
        if self.framework is not Framework.ONNX:
            return self
        inputs = self._open_inputs()
        batches = batch_symbols(inputs)
        open_names = {name for tensor_type in inputs.values() for name in tensor_type.symbols}
        names = tuple(sorted(open_names - batches - self.symbols.keys()))
        return replace(self, symbols={**dict.fromkeys(names, 1), **self.symbols}, assumed=names)

    def make_inputs_graph(self) -> Graph:
        """A graph of the inputs alone, with dimensions that are open."""
        graph = Graph()
        for name, tensor_type in self._open_inputs().items():
            graph.add_input(name, tensor_type)
        return graph

    def _open_inputs(self) -> Mapping[str, TensorType]:
        spec = InputSpec(input_shapes=dict(self.shapes), symbols=dict(self.symbols), batch=self.batch)
        return open_source(self.path, spec).inputs

    def explain(self, problem: EdgewrightError) -> EdgewrightError:
        """The error of a conversion; where sizes were assumed, they are the first thing to look at."""
        if not self.assumed:
            return problem
        names, option = quote_names(list(self.assumed)), spell_option("symbols")
        advice = f"the model leaves {names} open, and 1 was assumed: give the size with {option}"
        return type(problem)(problem.what, problem.where, do=advice)


def make_converter_options(
    model: EvaluatedModel, schema: InferenceSchema, calibration: str | None
) -> ConverterOptions:
    """The options for a schema of the evaluator; where they lead is not decided yet."""
    params = {key: _drop_default(key, texts) for key, texts in schema.converter_params.items()}
    is_named = any(key in params for key in _LAYOUT_KEYS)
    fixed: dict[str, object] = {"input_network": model.path, "output_path": None, "input_list": calibration}
    if not schema.is_quantized:
        fixed["input_list"] = None
    groups = read_params(
        _GROUPS[model.framework],
        {key: texts for key, texts in params.items() if texts},
        fixed,
        tool="the converter",
    )
    options = collect_groups(ConverterOptions, groups)
    if schema.precision == "fp16":
        options = replace(options, output=replace(options.output, float_bw=16))
    if model.framework in _CHANNELS_FIRST and not is_named:
        options = replace(options, preserve=replace(options.preserve, preserve_io=(("layout",),)))
    return _add_facts(options, model)


def reduce_to_first_half(options: ConverterOptions) -> ConverterOptions:
    """What the first half of a conversion depends on: schemas that agree in it share one conversion."""
    quantizer = options.quantizer
    has_overrides = quantizer.quantization_overrides is not None
    first = Quantizer(
        # That there is one, not which.
        input_list=CALIBRATION if quantizer.is_asked_for else None,
        keep_quant_nodes=quantizer.keep_quant_nodes,
        ignore_encodings=quantizer.ignore_encodings,
        quantization_overrides=OVERRIDES if has_overrides else None,
    )
    return replace(options, quantizer=first, output=replace(options.output, output_path=None))


def _add_facts(options: ConverterOptions, model: EvaluatedModel) -> ConverterOptions:
    """Shapes and symbols of the model, where the schema's own parameters say nothing of them."""
    shapes = {**dict(model.shapes), **dict(options.source.input_dims)}
    options = replace(options, source=replace(options.source, input_dims=tuple(shapes.items())))
    if model.framework is not Framework.ONNX:
        if model.symbols:
            raise UsageError(
                f"-onnx_symbol is for ONNX models, this one is of {model.framework.value}", do="leave it out"
            )
        return options
    symbols = {**dict(model.symbols), **dict(options.onnx.define_symbols)}
    onnx = replace(
        options.onnx,
        define_symbols=tuple(symbols.items()),
        no_simplification=options.onnx.no_simplification or not model.is_simplified,
        batch=options.onnx.batch or (model.batch if not shapes else None),
    )
    return replace(options, onnx=onnx)


def _drop_default(key: str, texts: Sequence[str]) -> tuple[str, ...]:
    """The texts of a parameter; `algorithms: default` stands for none."""
    return tuple(text for text in texts if not (key == "algorithms" and text == "default"))
