"""The whole in one command: golden outputs, inference, comparison, by one of three algorithms."""

import itertools
import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from edgewright.analyse.comparison_points import list_layers
from edgewright.analyse.odd_encodings import ODD_DB, OddEncoding, find_odd_encodings
from edgewright.analyse.verifiers.choices import VerifierChoice, read_verifiers
from edgewright.analyse.verifiers.verifier import Verifier
from edgewright.config.accuracy_debugger import DebuggerFolder, VerificationInputs
from edgewright.config.debugger_wrapper import WrapperModel
from edgewright.config.framework_diagnosis import FrameworkModel
from edgewright.config.group import OptionGroup
from edgewright.config.quantizer import Quantizer
from edgewright.core.errors import BadInput, EdgewrightError, UnsupportedOp, UsageError, shown
from edgewright.core.numbers import Array
from edgewright.data.input_list import read_input_list
from edgewright.data.open_samples import open_samples
from edgewright.frontends.framework import Framework
from edgewright.ir.graph import Graph
from edgewright.model.model import Model
from edgewright.run.runnable import run_source
from edgewright.sdk.converter import ConverterOptions
from edgewright.sdk.debugger.folders import open_feature_folder
from edgewright.sdk.debugger.framework_diagnosis import check_framework, diagnose_framework
from edgewright.sdk.debugger.graph_structure import Structure, describe_values, resolve_orders
from edgewright.sdk.debugger.inference_engine import (
    EngineTask,
    Inference,
    prepare_model,
    run_inference,
    write_architecture,
)
from edgewright.sdk.debugger.input_tensors import InputTensor, read_input_tensors
from edgewright.sdk.debugger.layer_models import LayerModelRequest, snoop_layer_models
from edgewright.sdk.debugger.layer_scores import Snooping
from edgewright.sdk.debugger.matching import TensorMatcher
from edgewright.sdk.debugger.rewritten import find_rewritten_tensors
from edgewright.sdk.debugger.snooping import SnoopRequest, snoop_layers
from edgewright.sdk.debugger.summary import Verification
from edgewright.sdk.debugger.tensor_folder import list_tensor_files
from edgewright.sdk.debugger.tensor_inspection import Draw, inspect_tensors
from edgewright.sdk.debugger.verification import FEATURE as VERIFICATION
from edgewright.sdk.debugger.verification import open_matcher, verify_tensors

log = logging.getLogger(__name__)

ONESHOT = "oneshot-layerwise"
MOST_SAMPLES = 50


@dataclass(frozen=True)
class Debugging:
    """What came of the features that ran."""

    folder: str
    golden: str
    inference: Inference | None = None
    verification: Verification | None = None
    snooping: Snooping | None = None
    # Encodings of --quantization_overrides that a calibration on the input list would better.
    odd: tuple[OddEncoding, ...] = ()

    @property
    def first_divergence(self) -> str:
        """The line that all the work is for; a given encoding that is to blame comes first."""
        if self.odd and self.odd[0].excess_db >= ODD_DB:
            return f"first divergence: {self.odd[0].describe()}"
        part = self.snooping or self.verification
        assert part is not None
        return part.first_divergence


def debug_model(
    model: WrapperModel,
    task: EngineTask,
    place: DebuggerFolder,
    groups: Iterable[OptionGroup],
    draw: Draw | None = None,
) -> Debugging:
    """Runs the features that the algorithm needs; each writes its own folder, the log is the wrapper's.

    ``draw`` makes the pictures of --enable_tensor_inspection.
    """
    framework = check_framework(model.model_path, model.framework)
    is_oneshot = model.debugging_algorithm == ONESHOT
    if not is_oneshot and framework is not Framework.ONNX:
        # Guide 7608.
        raise UsageError(
            f"{model.debugging_algorithm} is for ONNX models, this one is of {framework.value}",
            do="use --debugging_algorithm oneshot-layerwise, or convert the model to ONNX",
        )
    work = _Work(
        *(model, task, place, read_verifiers(model.default_verifier)),
        *(read_input_tensors(model.input_tensor), draw),
    )
    with open_feature_folder(place.working_dir, "wrapper", place.output_dirname, groups) as folder:
        golden = _find_golden(model, place)
        result = Debugging(str(folder), golden)
        if is_oneshot:
            result = _run_oneshot(result, work)
        if not is_oneshot or model.deep_analyzer:
            result = replace(result, snooping=_snoop(golden, work))
        if result.snooping is None or not result.snooping.note:
            result = replace(result, odd=_find_odd_encodings(folder, work))
        log.info("%s", result.first_divergence)
    return result


@dataclass(frozen=True)
class _Work:
    """What the features share."""

    model: WrapperModel
    task: EngineTask
    place: DebuggerFolder
    choices: Sequence[VerifierChoice]
    inputs: Sequence[InputTensor]
    draw: Draw | None

    @property
    def verifiers(self) -> list[Verifier]:
        return [choice.verifier for choice in self.choices]


def _find_golden(model: WrapperModel, place: DebuggerFolder) -> str:
    if model.golden_output_reference_directory is not None:
        return model.golden_output_reference_directory
    options = FrameworkModel(
        model_path=model.model_path,
        input_tensor=model.input_tensor,
        framework=model.framework,
        output_tensor=model.output_tensor,
    )
    return diagnose_framework(options, place).folder


def _run_oneshot(result: Debugging, work: _Work) -> Debugging:
    model, place = work.model, work.place
    inference = None
    if model.inference_results is None:
        inference = run_inference(work.task, place, (model, place))
        targets = inference.results[_find_set(model.input_list, work.inputs)]
        others: Collection[str] = ()
        if any(item.file is not None for item in work.inputs):
            others = _find_rewritten(Path(result.folder), work, _read_golden(result.golden, work.inputs))
        structure = {
            name: replace(facts, is_fused=facts.is_fused or facts.source in others)
            for name, facts in inference.structure.items()
        }
        matcher = TensorMatcher(list_tensor_files(result.golden), list_tensor_files(targets), {}, structure)
    else:
        matcher = open_matcher(
            VerificationInputs(
                golden_output_reference_directory=result.golden,
                inference_results=model.inference_results,
                default_verifier=model.default_verifier,
                tensor_mapping=model.tensor_mapping,
                graph_struct=model.graph_struct,
                qnn_model_json_path=model.qnn_model_json_path,
            )
        )
    with open_feature_folder(place.working_dir, VERIFICATION, place.output_dirname, (model, place)) as folder:
        verification = verify_tensors(matcher, work.choices, folder, has_ranges=work.draw is not None)
        if work.draw is not None:
            inspect_tensors(matcher, work.verifiers, folder / "tensor_inspection", work.draw)
    return replace(result, inference=inference, verification=verification)


def _convert_float(folder: Path, converter: ConverterOptions, task: EngineTask) -> Graph:
    """The same model without its quantization."""
    plain = replace(task, converter=replace(converter, quantizer=Quantizer()), library=None)
    return prepare_model(folder / "float", plain)[1]


def _find_rewritten(folder: Path, work: _Work, golden: Mapping[str, Array]) -> dict[str, Array]:
    converter = work.task.converter
    if converter is None:
        return {}
    return find_rewritten_tensors(_convert_float(folder, converter, work.task), golden)


def _find_odd_encodings(folder: Path, work: _Work) -> tuple[OddEncoding, ...]:
    """What is wrong with encodings that were given; those that were calibrated here are as good as can be."""
    converter = work.task.converter
    if converter is None or converter.quantizer.quantization_overrides is None:
        return ()
    _, quantized = prepare_model(folder / "given", work.task)
    source = _convert_float(folder, converter, work.task)
    feeds = list(itertools.islice(open_samples(source, work.model.input_list), MOST_SAMPLES))
    return find_odd_encodings(source, quantized, feeds, converter.quantizer.act_quantizer)


def _find_set(input_list: str, inputs: Sequence[InputTensor]) -> int:
    """The line of the list that holds the files of --input_tensor; the first where none does."""
    files = {item.file.resolve() for item in inputs if item.file is not None}
    lines = read_input_list(Path(input_list), [item.name for item in inputs] or [""], {}).lines
    for number, line in enumerate(lines):
        with suppress(OSError):
            if files and files <= {Path(file).resolve() for file in line.files.values()}:
                return number
    if files:
        log.warning(
            "no line of '%s' holds the files of --input_tensor: its first line is compared", input_list
        )
    return 0


def _snoop(golden: str, work: _Work) -> Snooping:
    model, place = work.model, work.place
    feature = "cumulative_layerwise_snooping" if model.is_cumulative else "layerwise_snooping"
    with open_feature_folder(place.working_dir, feature, place.output_dirname, (model, place)) as folder:
        arrays = dict(_read_golden(golden, work.inputs))
        try:
            file, graph = prepare_model(folder / "inference_engine", work.task)
        except EdgewrightError as problem:
            if problem.exit_code != UnsupportedOp.exit_code:
                raise
            log.warning("the model as a whole is not converted: %s", problem.what)
            note = f"each layer was converted by itself, the whole is not: {shown(problem.what)}"
            return snoop_layer_models(_request_models(work, arrays, None, note), folder)
        arrays |= _find_rewritten(folder, work, arrays)
        if model.model_per_layer:
            return snoop_layer_models(_request_models(work, arrays, graph), folder)
        options = work.task.net_run.model
        config = options.config_file or write_architecture(folder / "inference_engine", work.task.runtime)
        source = run_source(replace(options, models=(str(file),), config_file=config))
        request = SnoopRequest(
            graph=graph,
            structure=_resolve_structure(graph, arrays),
            golden=arrays,
            prepare=source.prepare,
            verifiers=work.verifiers,
            start_layer=model.start_layer,
            end_layer=model.end_layer,
            has_outputs=model.is_cumulative,
            choice=work.task.choice,
        )
        return snoop_layers(request, folder)


def _request_models(
    work: _Work, golden: Mapping[str, Array], graph: Graph | None, note: str = ""
) -> LayerModelRequest:
    """One model for each layer: with the layers and encodings of the whole, where there is one."""
    model, task = work.model, work.task
    layers: Sequence[str] = ()
    encodings = None
    if graph is not None:
        # The guide's way has a library for each layer.
        task = replace(task, library=(None, None))
        layers = [graph.source_names.get(point.value, point.value) for point in list_layers(graph)]
        encodings = Model.of(graph).encodings("0.6.1")
    return LayerModelRequest(
        *(model.model_path, task, golden, work.verifiers, layers, encodings),
        *(model.start_layer, model.end_layer, model.is_cumulative, note),
    )


def _resolve_structure(graph: Graph, golden: Mapping[str, Array]) -> Structure:
    """The facts of the graph's values, in the axes that the golden tensors show."""
    values = describe_values(graph)
    known = {name: golden[facts.source].shape for name, facts in values.values() if facts.source in golden}
    resolved = resolve_orders(dict(values.values()), known)
    return {value: resolved[name] for value, (name, _) in values.items()}


def _read_golden(folder: str, inputs: Sequence[InputTensor]) -> Mapping[str, Array]:
    """Golden tensors and the inputs of the model, by the source's names."""
    arrays = {name: file.read() for name, file in list_tensor_files(folder).items()}
    given = {item.name: item.read() for item in inputs if item.file is not None}
    if not given:
        raise BadInput(
            "the inputs of the model are needed beside the golden tensors",
            do=f"add --input_tensor NAME DIMS FILE for the inputs behind '{shown(folder)}'",
        )
    return {name: np.asarray(array) for name, array in {**arrays, **given}.items()}
