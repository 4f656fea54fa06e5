"""qnn-accuracy-evaluator: the best quantization options of a model, or a whole configuration evaluated."""

from typing import TYPE_CHECKING

from edgewright.config.accuracy_evaluator import (
    ACCURACY_EVALUATOR,
    ACCURACY_EVALUATOR_RULES,
    ConfigMode,
    EvaluatorSettings,
    MinimalMode,
)
from edgewright.core.errors import EdgewrightError, UsageError
from edgewright.tools.tool import Tool

if TYPE_CHECKING:
    from edgewright.sdk.evaluator.place import OpenEngine
    from edgewright.sdk.evaluator.records import ModelEvaluation

NAME = "qnn-accuracy-evaluator"


def run(minimal: MinimalMode, config: ConfigMode, settings: EvaluatorSettings) -> None:
    """Evaluate, write the tables and print them."""
    if config.config is not None:
        _run_configuration(minimal, config, settings)
        return
    from edgewright.sdk.evaluator.model_folder import is_model_folder
    from edgewright.sdk.evaluator.model_paths import find_model

    assert minimal.model is not None
    path = find_model(minimal.model)
    if is_model_folder(path):
        _run_folder(path, minimal, settings)
        return
    if minimal.preproc_file is None:
        raise UsageError(
            "option '-preproc_file' is missing, it is required for a single model",
            do="add -preproc_file FILE",
        )
    files = path, minimal.preproc_file
    _tell(_evaluate(files, minimal, settings, settings.work_dir, _choose_engine(settings)), settings)


def _choose_engine(settings: EvaluatorSettings) -> "OpenEngine":
    from functools import partial
    from pathlib import Path

    from edgewright.sdk.evaluator.place import EvaluationPlace

    return partial(EvaluationPlace().open_engine, Path(settings.work_dir))


def _evaluate(
    files: tuple[str, str],
    minimal: MinimalMode,
    settings: EvaluatorSettings,
    folder: str,
    open_engine: "OpenEngine",
) -> "ModelEvaluation":
    """Minimal mode for a model and its input list."""
    from pathlib import Path

    from edgewright.reports.difference_pictures import draw_difference
    from edgewright.reports.evaluation import write_evaluation
    from edgewright.sdk.evaluator.converter_options import EvaluatedModel
    from edgewright.sdk.evaluator.minimal import MinimalRequest, evaluate_combinations

    model, input_list = files
    source = EvaluatedModel(model, shapes=dict(settings.input_info), symbols=dict(settings.onnx_symbol))
    request = MinimalRequest(
        backend=minimal.backend or "htp",
        target_arch=minimal.target_arch,
        device=settings.device_id or "",
        comparator=minimal.comparator,
        tolerance=minimal.tol_thresh,
        params={"act_bw": (str(minimal.act_bw),), "bias_bw": (str(minimal.bias_bw),)},
        box_input=minimal.box_input,
        draw=draw_difference,
    )
    result = evaluate_combinations(
        source, lambda writer: writer.read_list(input_list, "inputs"), request, Path(folder), open_engine
    )
    return write_evaluation(result)


def _run_folder(path: str, minimal: MinimalMode, settings: EvaluatorSettings) -> None:
    """A directory of models: each for itself, with a page over all of them."""
    from contextlib import nullcontext
    from pathlib import Path

    from edgewright.reports.evaluation import write_folder_page
    from edgewright.reports.page import show
    from edgewright.sdk.evaluator.model_folder import evaluate_folder, list_model_folders
    from edgewright.sdk.evaluator.records import raise_failures

    if minimal.preproc_file is not None:
        raise UsageError(
            "-preproc_file is for a single model, each of a folder has inputs/input_list.txt of its own",
            do="leave it out",
        )
    place = Path(settings.work_dir)
    models = list_model_folders(Path(path))
    with _choose_engine(settings)() as engine:
        outcomes = {
            model.name: outcome
            for model, outcome in evaluate_folder(
                models,
                lambda item: _evaluate(
                    (item.model, item.input_list),
                    minimal,
                    settings,
                    str(place / item.name),
                    lambda: nullcontext(engine),
                ),
            )
        }
    blocks = write_folder_page(place, outcomes)
    if not settings.silent:
        show(blocks)
    for outcome in outcomes.values():
        if isinstance(outcome, EdgewrightError):
            raise outcome
        raise_failures(outcome)


def _run_configuration(minimal: MinimalMode, config: ConfigMode, settings: EvaluatorSettings) -> None:
    from pathlib import Path

    from edgewright.reports.difference_pictures import draw_difference
    from edgewright.reports.evaluation import write_evaluation
    from edgewright.sdk.evaluator.config_mode import ConfigRequest, evaluate_configuration
    from edgewright.sdk.evaluator.config_schemas import SchemaChoice

    assert config.config is not None
    request = ConfigRequest(
        config.config,
        Path(settings.work_dir),
        values=dict(config.set_global),
        choice=SchemaChoice(config.inference_schema, config.inference_schema_tag, settings.device_id or ""),
        preproc_file=minimal.preproc_file,
        calib_file=config.calib_file,
        batchsize=config.batchsize,
        shapes=dict(settings.input_info),
        symbols=dict(settings.onnx_symbol),
        is_memory=config.use_memory_plugins,
        draw=draw_difference,
    )
    _tell(write_evaluation(evaluate_configuration(request, _choose_engine(settings))), settings)


def _tell(result: "ModelEvaluation", settings: EvaluatorSettings) -> None:
    from edgewright.reports.evaluation import make_terminal_page
    from edgewright.reports.page import show
    from edgewright.sdk.evaluator.records import raise_failures

    if not settings.silent:
        show(make_terminal_page(result))
    raise_failures(result)


TOOL = Tool(
    NAME,
    "Evaluate a model: all quantization options ranked (-model), or what a configuration asks for (-config).",
    ACCURACY_EVALUATOR,
    run,
    examples=(
        (
            f"{NAME} -model m.onnx -preproc_file inputs.txt -backend htp-sim -comparator abs -tol_thresh 0.1",
            "rank 32 combinations of quantization options; writes qacc_temp/metrics-info.csv",
        ),
        (f"{NAME} -config model_config.yaml", "evaluate the inference schemas of a configuration"),
    ),
    rules=ACCURACY_EVALUATOR_RULES,
)
main = TOOL.main
