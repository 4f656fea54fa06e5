"""Config mode: a model on a data set, by the inference schemas, metrics and comparator of a configuration."""

import time
from dataclasses import dataclass, field, replace
from pathlib import Path

from edgewright.config.model_config import ComparatorSection, ModelConfig, TensorSection, read_model_config
from edgewright.core.errors import BadInput, EdgewrightError, Where
from edgewright.core.words import quote_names
from edgewright.ir.graph import Graph
from edgewright.lower.names import NameTable
from edgewright.sdk.evaluator.comparison import Comparison, Draw, check_comparator, make_comparison
from edgewright.sdk.evaluator.config_schemas import SchemaChoice, list_schemas
from edgewright.sdk.evaluator.converter_options import EvaluatedModel
from edgewright.sdk.evaluator.inputs import InputWriter, ListedInputs
from edgewright.sdk.evaluator.model_paths import find_model
from edgewright.sdk.evaluator.pipeline import Pipeline, open_chains
from edgewright.sdk.evaluator.place import OpenEngine
from edgewright.sdk.evaluator.ranking import compare_runs, count_results, rank_results
from edgewright.sdk.evaluator.records import FAILED, ModelEvaluation, SchemaResult
from edgewright.sdk.evaluator.schema_runs import SchemaRun, SchemaRunner
from edgewright.sdk.evaluator.schemas import InferenceSchema


@dataclass(frozen=True)
class ConfigRequest:
    """A configuration, and what the command line changes in it."""

    file: str
    folder: Path
    values: dict[str, str] = field(default_factory=dict)
    choice: SchemaChoice = field(default_factory=SchemaChoice)
    # Inputs that are preprocessed already.
    preproc_file: str | None = None
    calib_file: str | None = None
    batchsize: int | None = None
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)
    symbols: dict[str, int] = field(default_factory=dict)
    is_memory: bool = False
    draw: Draw | None = None


def evaluate_configuration(request: ConfigRequest, open_engine: OpenEngine) -> ModelEvaluation:
    """Runs all schemas of a configuration; nothing is run before all of it is known to be sound."""
    started = time.monotonic()
    config = _change_config(read_model_config(request.file, request.values), request)
    comparator = config.comparator
    check_comparator(comparator.type, comparator.tol, comparator.box_input)
    schemas = list_schemas(config, request.choice)
    chains = open_chains(config, is_memory=request.is_memory)
    model = _describe_model(config, request)
    pipeline = Pipeline(config, chains, request.folder, is_memory=request.is_memory)
    with open_engine() as engine:
        runner = SchemaRunner(model.fill_symbols(), request.folder, engine)
        pipeline.name_outputs(_spell_outputs(config, runner.graph))
        comparison = _make_comparison(config.comparator, runner, request.draw)
        writer = InputWriter(runner.graph, request.folder / "inputs", model.dtypes)
        inputs, calibration = _list_inputs(pipeline, writer, request)
        runs = runner.run_all(schemas, inputs, calibration)
        is_compared = config.comparator.enabled and len(schemas) > 1
        results = compare_runs(runs, comparison if is_compared else None, count_results(runs), request.folder)
        results = _measure_all(pipeline, runs, results, comparison)
    evaluation = ModelEvaluation(
        model=model.name,
        folder=str(request.folder),
        inputs=len(inputs),
        **comparison.describe(),
        results=tuple(results),
        work=runner.work,
        seconds=time.monotonic() - started,
        notes=_list_notes(schemas, calibration),
    )
    return rank_results(evaluation, comparison if is_compared else None)


def _change_config(config: ModelConfig, request: ConfigRequest) -> ModelConfig:
    """The configuration with what the command line says."""
    dataset = config.dataset
    if request.calib_file is not None:
        kind = dataset.calibration_type or "raw"
        path = str(Path(request.calib_file).absolute())
        dataset = replace(dataset, calibration_file=path, calibration_type=kind)
    return replace(config, dataset=dataset, batchsize=request.batchsize or config.batchsize)


def _describe_model(config: ModelConfig, request: ConfigRequest) -> EvaluatedModel:
    shapes = {
        item.name: tuple(config.batchsize if dim == "*" else int(dim) for dim in item.shape)
        for item in config.inputs
        if item.shape
    }
    return EvaluatedModel(
        find_model(config.model_path, Path(config.file).parent),
        shapes={**shapes, **request.shapes},
        symbols=request.symbols,
        batch=config.batchsize if config.batchsize > 1 else None,
        dtypes={item.name: item.type for item in config.inputs},
        is_simplified=config.simplify_model,
    )


def _spell_outputs(config: ModelConfig, graph: Graph) -> tuple[TensorSection, ...]:
    """The outputs that a configuration describes, by the names of their files; others are refused."""
    spell = NameTable(graph.outputs)
    known = {name: spell(output) for output in graph.outputs for name in (output, spell(output))}
    unknown = [item.name for item in config.outputs if item.name not in known]
    if unknown:
        raise BadInput(
            f"outputs_info names {quote_names(unknown)}, the outputs of the model are "
            f"{quote_names(list(graph.outputs))}",
            Where(file=config.file),
            do="name the outputs as the model does",
        )
    return tuple(replace(item, name=known[item.name]) for item in config.outputs)


def _list_inputs(
    pipeline: Pipeline, writer: InputWriter, request: ConfigRequest
) -> tuple[ListedInputs, ListedInputs | None]:
    calibration = pipeline.list_calibration(writer)
    if request.preproc_file is None:
        return pipeline.list_inputs(writer), calibration
    return pipeline.take_inputs(writer.read_list(request.preproc_file, "inputs")), calibration


def _make_comparison(section: ComparatorSection, runner: SchemaRunner, draw: Draw | None) -> Comparison:
    return make_comparison(
        section.type,
        section.tol,
        runner.graph,
        fetch_top=section.fetch_top,
        box_input=section.box_input,
        draw=draw,
    )


def _measure_all(
    pipeline: Pipeline, runs: list[SchemaRun], results: list[SchemaResult], comparison: Comparison
) -> list[SchemaResult]:
    """The results with the figures of the metrics; equal models have equal figures."""
    known: dict[str, dict[str, float]] = {}
    measured = []
    for run, result in zip(runs, results, strict=True):
        if run.problem is not None or result.status == FAILED:
            measured.append(result)
            continue
        try:
            name = run.same_as or run.schema.name
            if name not in known:
                known[name] = pipeline.measure(run.folder, comparison.shapes, name)
            measured.append(replace(result, metrics=known[name]))
        except EdgewrightError as problem:
            measured.append(replace(result, status=FAILED, problem=problem.what, code=problem.code))
    return measured


def _list_notes(schemas: list[InferenceSchema], calibration: ListedInputs | None) -> tuple[str, ...]:
    if calibration is None and any(schema.is_quantized for schema in schemas):
        return ("the dataset section names no calibration: the inputs themselves calibrated",)
    return ()
