"""Quantizes a model file and measures what that cost, as `edgewright quantize` does."""

import time
from dataclasses import dataclass, replace
from pathlib import Path

from edgewright.analyse.compare_models import OutputDifference, compare
from edgewright.artifacts.encodings import load_encodings
from edgewright.backends.executor import CpuExecutor
from edgewright.config.preprocessing import Preprocessing
from edgewright.config.quantize import PRECISIONS, QuantizeOptions, QuantizeOutput
from edgewright.config.umbrella import ModelFile, Shapes
from edgewright.core.files import keep_sources, measure_file, with_own_name
from edgewright.ir.contract import IoTensor, contract
from edgewright.ir.graph import Graph
from edgewright.model.model import Model
from edgewright.model.model_files import list_model_parts
from edgewright.model.narrow import is_narrow
from edgewright.model.open_shapes import read_shapes_from_samples
from edgewright.model.quantize import quantize_model
from edgewright.model.saving import SavedFiles, SaveOptions
from edgewright.quantize.report import AppliedRule
from edgewright.quantize.request import QuantizationRequest
from edgewright.run.run_files import open_model

KINDS = frozenset({".dlc", ".onnx", ".cpp", ".json", ".bin"})


@dataclass(frozen=True)
class QuantizedFiles:
    """What was written, how large it is, and how far it is from the float model on the given data."""

    model: str
    precision: str
    files: SavedFiles
    contract: tuple[IoTensor, ...]
    coverage: str
    rules: tuple[AppliedRule, ...]
    notes: tuple[str, ...]
    weights_before: int
    weights_after: int
    bytes_written: int
    seconds: float
    backend: str
    differences: tuple[OutputDifference, ...] = ()


def quantize_files(
    file: ModelFile,
    shapes: Shapes,
    options: QuantizeOptions,
    output: QuantizeOutput,
    images: Preprocessing | None = None,
    command: str = "edgewright",
) -> QuantizedFiles:
    """Opens, calibrates, writes and compares; where anything fails, nothing is written."""
    start = time.monotonic()
    path = name_output(file.model, options.precision, output)
    keep_sources(list_model_parts(Path(file.model)), list_model_parts(path))
    model, opening = _open_model(file, shapes, options, path, images)
    request = _fill_request(options)
    data = None if PRECISIONS[options.precision] is None else options.data
    result = quantize_model(model, request, data, CpuExecutor(), preprocessing=images)
    # The HTP has no 32-bit floats: where nothing could be quantized there is nothing to simulate.
    backend = "htp-sim" if is_narrow(result.fixed_graph()) else "cpu"
    differences: tuple[OutputDifference, ...] = ()
    if options.data is not None:
        differences = tuple(compare(model, result, options.data, backend=backend, preprocessing=images))
    about = SaveOptions(command=command, quantizer_command=command)
    files = result.save(path, about)
    before, after = model.fixed_graph(), result.fixed_graph()
    return QuantizedFiles(
        file.model,
        options.precision,
        files,
        contract(after, {name: before.types[name] for name in (*before.inputs, *before.outputs)}),
        result.report.coverage(),
        result.report.list_rules(),
        (*opening, *_list_idle(options), *result.report.notes, *_list_notes(request, files, backend)),
        weight_bytes(before),
        weight_bytes(after, is_packed=_is_packed(files)),
        sum(measure_file(path) for path in files.paths),
        time.monotonic() - start,
        backend,
        differences,
    )


def _open_model(
    file: ModelFile, shapes: Shapes, options: QuantizeOptions, path: Path, images: Preprocessing | None
) -> tuple[Model, list[str]]:
    """The model, with the sizes of its samples where the file to be written needs numbers, and a note."""
    model = open_model(file, shapes)
    if options.data is None or path.suffix == ".onnx":
        return model, []
    fixed, note = read_shapes_from_samples(model, shapes, options.data, images)
    return (open_model(file, fixed), [note]) if note else (model, [])


def name_output(model: str, precision: str, output: QuantizeOutput) -> Path:
    """The file to write: MODEL_PRECISION.dlc where nothing, or only a folder, is said."""
    source = with_own_name(model)
    name = f"{source.stem.removesuffix('_net')}_{precision}.dlc"
    if output.output_path is None:
        return source.with_name(name)
    path = Path(output.output_path)
    if path.is_dir():
        return path / name
    return path if path.suffix in KINDS else path.with_name(f"{path.name}.dlc")


def weight_bytes(graph: Graph, *, is_packed: bool = False) -> int:
    """The size of all constants; those of four bits take a byte each unless they are packed."""
    total = 0
    for name, array in graph.constants.items():
        encoding = graph.types[name].encoding
        is_half = is_packed and encoding is not None and encoding.bitwidth == 4
        total += -(-array.size // 2) if is_half else array.nbytes
    return total


def _is_packed(files: SavedFiles) -> bool:
    return any(path.suffix == ".onnx" for path in files.paths)


def _list_notes(request: QuantizationRequest, files: SavedFiles, backend: str) -> list[str]:
    if backend == "cpu":
        return ["nothing could be quantized: the model is the float one; --precision fp16 suits every op"]
    if request.weight_bw != 4 or _is_packed(files):
        return []
    return ["4-bit weights take a byte each in this kind of file; a QDQ model (.onnx) packs two into one"]


def _list_idle(options: QuantizeOptions) -> list[str]:
    """What was asked for and means nothing in half precision, which has no ranges to choose."""
    if PRECISIONS[options.precision] is not None:
        return []
    plain = QuantizeOptions(precision=options.precision)
    named = ("act_quantizer", "param_quantizer", "algorithms")
    idle = [f"--{name}" for name in named if getattr(options, name) != getattr(plain, name)]
    verb = "has" if len(idle) == 1 else "have"
    return [f"{' and '.join(idle)} {verb} no effect: half precision has no ranges to choose"] if idle else []


def _fill_request(options: QuantizeOptions) -> QuantizationRequest:
    overrides = load_encodings(options.quantization_overrides)
    bits = PRECISIONS[options.precision]
    if bits is None:
        return QuantizationRequest(float_bw=16, overrides=overrides)
    request = QuantizationRequest.from_options(options, overrides=overrides)
    return replace(request, weight_bw=bits[0], act_bw=bits[1])
