"""`edgewright estimate`: how fast a model will be on a chip, as a range."""

from edgewright.config.estimate import EstimateTarget
from edgewright.config.umbrella import Messages, ModelFile, Report, Shapes
from edgewright.tools.answer import tell
from edgewright.tools.tool import Tool

NAME = "edgewright estimate"


def run(file: ModelFile, shapes: Shapes, target: EstimateTarget, report: Report, _messages: Messages) -> int:
    """Estimate, and say where each time comes from."""
    from pathlib import Path

    if (Path(file.model) / "config.json").is_file():
        return _run_language_model(file, target, report)
    from edgewright.api.estimate import estimate
    from edgewright.core.files import write_whole
    from edgewright.reports.estimate import make_page, render_estimate
    from edgewright.run.run_files import open_model

    result = estimate(
        open_model(file, shapes),
        "all" if target.all_targets else target.target,
        precision=target.precision,
        measured=target.measured,
        what_if=target.what_if,
        name=Path(file.model).name,
    )
    tell(report, result, make_page)
    if target.output is not None:
        write_whole(target.output, render_estimate(result))
        if not report.json:
            print(f"page: {Path(target.output).absolute()}")
    return 0


def _run_language_model(file: ModelFile, target: EstimateTarget, report: Report) -> int:
    """A Hugging Face folder: tokens a second, and the time to the first token."""
    from edgewright.api.llm import estimate
    from edgewright.reports.estimate import make_language_page

    chips = target.target or ("SM8750",)
    results = [estimate(file.model, chip, prompt_tokens=target.prompt_tokens) for chip in chips]
    tell(report, results, make_language_page)
    return 0


TOOL = Tool(
    NAME,
    "Say how long a model takes on a chip, as a range that holds 80 of 100 networks, from public "
    "measurements: without the chip, and without running anything.",
    (ModelFile, Shapes, EstimateTarget, Report, Messages),
    run,
    examples=(
        (f"{NAME} model.onnx --target SM8650", "in w8a8, w8a16 and fp16: times, layers, memory"),
        (f"{NAME} model.onnx --all-targets --precision w8a8", "on every chip with public times"),
        (
            f"{NAME} model.onnx --measured 3.2ms@SM8550 --target SM8750",
            "a time of your own, on another",
        ),
        (f"{NAME} phi-3.5-mini/ --target SM8750", "a language model: tokens a second, time to the first one"),
        (f"{NAME} model.onnx --what-if precision=w8a16 rule=all", "what changes would do"),
    ),
)
main = TOOL.main
