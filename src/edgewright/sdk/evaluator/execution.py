"""Runs a schema: its model is converted, quantized, compiled and run, or its framework runs the source."""

import logging
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from edgewright.config.context import Target
from edgewright.config.context_generator import CONTEXT_GENERATOR
from edgewright.config.group import collect_groups
from edgewright.config.net_run import NET_RUN, NET_RUN_RULES
from edgewright.config.params import Params, read_params
from edgewright.core.errors import UsageError
from edgewright.core.events import announce_progress
from edgewright.core.files import write_folder
from edgewright.data.input_list import read_input_list
from edgewright.data.input_sets import InputSets
from edgewright.data.tensor_files import ExpectedTensor
from edgewright.frontends.framework import Framework
from edgewright.ir.graph import Graph
from edgewright.lower.names import NameTable
from edgewright.model.model import Model
from edgewright.model.model_files import load_model_graphs
from edgewright.run.engines.litert_engine import LitertRun
from edgewright.run.engines.onnx_engine import OnnxRun
from edgewright.run.engines.source_engine import SourceRun
from edgewright.run.engines.tensorflow_engine import TensorflowRun
from edgewright.run.engines.torch_engine import TorchRun
from edgewright.run.remote.address import choose_device
from edgewright.sdk.context_generate import GeneratorOptions, generate_context
from edgewright.sdk.converter import ConverterOptions, PreparedConversion, write_conversion
from edgewright.sdk.debugger.inference_engine import find_engine_backend
from edgewright.sdk.evaluator.extensions import write_extensions
from edgewright.sdk.evaluator.schemas import InferenceSchema
from edgewright.sdk.net_run import NetRunOptions, run_network

log = logging.getLogger(__name__)

IR_FOLDER, MODEL_NAME = "qnn_ir", "model"
_ENGINES: dict[str, tuple[Framework, Callable[[str, Model], SourceRun]]] = {
    "onnxrt": (Framework.ONNX, OnnxRun),
    "tflite": (Framework.TFLITE, LitertRun),
    "tensorflow": (Framework.TENSORFLOW, TensorflowRun),
    "tensorflow-session": (Framework.TENSORFLOW, TensorflowRun),
    "torchscript": (Framework.PYTORCH, lambda file, model: TorchRun(file, model, {})),
}


@dataclass(frozen=True)
class WrittenModel:
    """A model in the folder of its schema."""

    file: Path
    # The files that running it takes: equal models have equal ones.
    needed: tuple[Path, ...]
    notes: tuple[str, ...] = ()


def write_model(prepared: PreparedConversion, options: ConverterOptions, folder: Path) -> WrittenModel:
    """Quantizes a converted model as a schema asks for it, and writes it to a folder."""
    target = folder / f"{MODEL_NAME}.cpp"
    target.parent.mkdir(parents=True, exist_ok=True)
    conversion = write_conversion(prepared, replace_output(options, target))
    notes = () if conversion.quantization is None else conversion.quantization.notes
    needed = [path for path in (conversion.files.net_json, target.with_suffix(".bin")) if path.is_file()]
    return WrittenModel(conversion.files.net_json, tuple(needed), tuple(notes))


def replace_output(options: ConverterOptions, target: Path) -> ConverterOptions:
    """The options with the file to write."""
    return replace(options, output=replace(options.output, output_path=str(target)))


def run_model(schema: InferenceSchema, model: Path, inputs: Path, folder: Path) -> tuple[str, ...]:
    """Runs a written model on all inputs into FOLDER/Result_N; returns what should be known."""
    backend = find_engine_backend(schema.backend)
    config = write_extensions(
        schema, folder, load_model_graphs([model])[0].name if schema.backend_extensions else ""
    )
    chosen: dict[str, Any] = {"backend": backend, "models": (str(model),), "retrieve_context": None}
    if schema.contextbin_params:
        binary = _make_context(schema, model, folder, backend, config)
        chosen |= {"models": None, "retrieve_context": str(binary)}
    fixed = {**chosen, "input_list": (str(inputs),), "output_dir": str(folder)}
    if config is not None:
        fixed["config_file"] = config
    groups = read_params(NET_RUN, schema.netrun_params, fixed, tool="qnn-net-run", rules=NET_RUN_RULES)
    device = choose_device(schema.target_arch, schema.device or None)
    return run_network(replace(collect_groups(NetRunOptions, groups), device=device)).notes


def run_source(schema: InferenceSchema, file: str, graph: Graph, inputs: Path, folder: Path) -> None:
    """Runs the source in its own framework on all inputs into FOLDER/Result_N."""
    framework, open_engine = _ENGINES[schema.engine]
    model = Model.of(graph)
    _check_precision(schema)
    engine = open_engine(file, model)
    spell = NameTable(graph.inputs)
    listed = read_input_list(inputs, graph.inputs, {spell(name): name for name in graph.inputs})
    sets = InputSets(listed, [ExpectedTensor(name, graph.types[name]) for name in graph.inputs])
    with announce_progress(f"running in {framework.value}", total=len(sets)) as step:
        for number in range(len(sets)):
            write_results(folder, number, engine.run(sets.read_set(number)), graph)
            step()


def write_results(folder: Path, number: int, outputs: Mapping[str, Any], graph: Graph) -> None:
    """The outputs of one run, as qnn-net-run writes them."""
    spell = NameTable(graph.outputs)
    files = {}
    for name in graph.outputs:
        array = np.ascontiguousarray(np.asarray(outputs[name]).astype(np.float32))
        files[f"{spell(name)}.raw"] = [array.tobytes()]
    write_folder(folder / f"Result_{number}", files)


def link_results(source: Path, folder: Path) -> None:
    """The results of a schema that wrote the same model, under the name of another one."""
    for result in sorted(source.glob("Result_*")):
        target = folder / result.name
        target.mkdir(parents=True, exist_ok=True)
        for file in result.glob("*.raw"):
            _link(file, target / file.name)


def _link(source: Path, target: Path) -> None:
    target.unlink(missing_ok=True)
    try:
        target.hardlink_to(source)
    except OSError:
        shutil.copyfile(source, target)


def check_engine(schema: InferenceSchema, framework: Framework) -> None:
    """Refuses an engine that does not read models of this framework."""
    if schema.engine not in _ENGINES or _ENGINES[schema.engine][0] is framework:
        return
    fitting = [name for name, (known, _) in _ENGINES.items() if known is framework]
    raise UsageError(
        f"inference schema '{schema.engine}' is for models of {_ENGINES[schema.engine][0].value}, "
        f"this one is of {framework.value}",
        do=f"use {' or '.join(fitting)}, or qnn",
    )


def _check_precision(schema: InferenceSchema) -> None:
    if schema.precision != "fp32":
        raise UsageError(
            f"inference schema '{schema.engine}' runs the source as it is, precision "
            f"'{schema.precision}' is for qnn",
            do="use precision: fp32",
        )


def _make_context(
    schema: InferenceSchema, model: Path, folder: Path, backend: str, config: str | None
) -> Path:
    name = "qnn_context"
    fixed: dict[str, Any] = {
        "models": (str(model),),
        "backend": backend,
        "output_dir": str(folder),
        "binary_file": name,
    }
    if config is not None:
        fixed["config_file"] = config
    params: Params = schema.contextbin_params
    groups = read_params((*CONTEXT_GENERATOR, Target), params, fixed, tool="qnn-context-binary-generator")
    generate_context(collect_groups(GeneratorOptions, groups))
    return folder / f"{name}.bin"
