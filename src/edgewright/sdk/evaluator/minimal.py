"""Minimal mode: all combinations of quantization options, ranked against the float model on the CPU."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from edgewright.backends.base import Backend, TakesFloat
from edgewright.backends.registry import find_backend
from edgewright.config.params import Params
from edgewright.core.errors import UnsupportedFeature, UsageError, shown
from edgewright.frontends.framework import Framework
from edgewright.run.remote.address import choose_device, parse_address
from edgewright.run.remote.job import check_device
from edgewright.sdk.debugger.inference_engine import find_engine_backend
from edgewright.sdk.evaluator.comparison import Draw, check_comparator, make_comparison
from edgewright.sdk.evaluator.converter_options import EvaluatedModel
from edgewright.sdk.evaluator.inputs import InputWriter, ListedInputs
from edgewright.sdk.evaluator.place import OpenEngine
from edgewright.sdk.evaluator.ranking import compare_runs, count_results, rank_results
from edgewright.sdk.evaluator.records import ModelEvaluation
from edgewright.sdk.evaluator.schema_runs import SchemaRunner
from edgewright.sdk.evaluator.schemas import HOST, InferenceSchema, make_minimal_schemas

# What lists the inputs, given what writes them.
ListInputs = Callable[[InputWriter], ListedInputs]


@dataclass(frozen=True)
class MinimalRequest:
    """What is evaluated, and by which measure."""

    backend: str
    # What runs the combinations: this machine, or a device.
    target_arch: str = HOST
    device: str = ""
    comparator: str = "avg"
    tolerance: float | None = None
    # Widths, and whatever else is the same for all combinations.
    params: Params = field(default_factory=dict)
    box_input: str | None = None
    draw: Draw | None = None
    fetch_top: int = 1


def evaluate_combinations(
    model: EvaluatedModel,
    list_inputs: ListInputs,
    request: MinimalRequest,
    folder: Path,
    open_engine: OpenEngine,
) -> ModelEvaluation:
    """Runs all combinations on all inputs, which also calibrate; one conversion and one float run in all."""
    check_comparator(request.comparator, request.tolerance, request.box_input)
    device = choose_device(request.target_arch, request.device or None)
    if device is None:
        _check_backend(find_backend(find_engine_backend(request.backend)))
    else:
        check_device(parse_address(device))
    _check_shapes(model)
    started = time.monotonic()
    searched = InferenceSchema(
        precision="quant", backend=request.backend, target_arch=request.target_arch, device=request.device
    )
    schemas = make_minimal_schemas(searched, request.params)
    with open_engine() as engine:
        runner = SchemaRunner(model.fill_symbols(), folder, engine)
        comparison = make_comparison(
            request.comparator,
            request.tolerance,
            runner.graph,
            fetch_top=request.fetch_top,
            box_input=request.box_input,
            draw=request.draw,
        )
        inputs = list_inputs(InputWriter(runner.graph, folder / "inputs", model.dtypes))
        runs = runner.run_all(schemas, inputs, None)
        results = compare_runs(runs, comparison, count_results(runs), folder)
    evaluation = ModelEvaluation(
        model=model.name,
        folder=str(folder),
        inputs=len(inputs),
        **comparison.describe(),
        results=tuple(results),
        work=runner.work,
        seconds=time.monotonic() - started,
    )
    return rank_results(evaluation, comparison)


def _check_backend(backend: Backend) -> None:
    if isinstance(backend, TakesFloat):
        raise UnsupportedFeature(
            f"{backend.name} takes float models only: there are no options to rank",
            do="name it in a configuration (-config), with precision fp32 or fp16",
        )


def _check_shapes(model: EvaluatedModel) -> None:
    if model.framework is Framework.PYTORCH and not model.shapes:
        raise UsageError(
            f"'{shown(model.path)}' is a PyTorch model, whose inputs must be named and shaped",
            do="add -input_info NAME DIMS, as in -input_info data 1,3,224,224",
        )
