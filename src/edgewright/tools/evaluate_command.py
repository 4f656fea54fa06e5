"""`edgewright evaluate`: which quantization options keep a model's outputs closest to the float model's."""

from edgewright.config.evaluate import EvaluatedSource, EvaluateOptions, EvaluationWorkers
from edgewright.config.group import OptionGroup
from edgewright.config.preprocessing import Preprocessing
from edgewright.config.umbrella import Messages, Report, Shapes
from edgewright.core.errors import UsageError
from edgewright.tools.answer import tell
from edgewright.tools.tool import Tool

NAME = "edgewright evaluate"


def run(
    source: EvaluatedSource,
    options: EvaluateOptions,
    shapes: Shapes,
    images: Preprocessing,
    place: EvaluationWorkers,
    report: Report,
    _messages: Messages,
) -> None:
    """Evaluate, write the pages and print the table."""
    from edgewright.api.evaluate import evaluate
    from edgewright.reports.evaluation import make_terminal_page
    from edgewright.sdk.evaluator.records import raise_failures

    if source.model.endswith((".yaml", ".yml")):
        _refuse_options(options, shapes, images)
    elif options.data is None:
        raise UsageError(
            "option '--data' is missing, outputs are compared on samples",
            do="add --data FOLDER, --data samples.npz or --data list.txt",
        )
    result = evaluate(
        source.model,
        options.data,
        comparator=options.comparator,
        tolerance=options.tolerance,
        backend=options.backend,
        precision=options.precision,
        folder=options.folder,
        input_shapes=dict(shapes.input_dims),
        symbols=dict(shapes.define_symbols),
        preprocessing=images,
        samples=options.samples,
        box_input=options.box_input,
        fetch_top=options.fetch_top,
        cluster=place.cluster,
        workers=place.workers,
        store=place.store,
    )
    tell(report, result, make_terminal_page)
    raise_failures(result)


def _refuse_options(*groups: OptionGroup) -> None:
    """A configuration says all of it itself."""
    given = [name for group in groups for name in group.given() if name != "--output_path"]
    if given:
        raise UsageError(
            f"a configuration says itself what {', '.join(given)} would",
            do="change the configuration, or use qnn-accuracy-evaluator, which can override parts of one",
        )


TOOL = Tool(
    NAME,
    "Try all combinations of quantization options on a model, and rank them by how little outputs change.",
    (EvaluatedSource, EvaluateOptions, Shapes, Preprocessing, EvaluationWorkers, Report, Messages),
    run,
    examples=(
        (f"{NAME} model.onnx --data samples/", "rank 32 combinations; model_evaluation/metrics-info.html"),
        (f"{NAME} model.onnx --data samples/ --comparator snr", "by signal to noise"),
        (f"{NAME} model.onnx --data samples/ --cluster local:4", "on a Dask cluster of this machine"),
        (f"{NAME} model_config.yaml", "the inference schemas, metrics and comparator of a configuration"),
    ),
)
main = TOOL.main
