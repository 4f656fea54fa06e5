"""`edgewright estimate`: how fast a model will be on a chip, as a range."""

from edgewright.config.estimate import EstimateTarget
from edgewright.config.umbrella import Messages, ModelFile, Report, Shapes
from edgewright.tools.answer import tell
from edgewright.tools.tool import Tool

NAME = "edgewright estimate"


def run(file: ModelFile, shapes: Shapes, target: EstimateTarget, report: Report, _messages: Messages) -> int:
    """Estimate, and say where each time comes from."""
    from pathlib import Path

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
        (f"{NAME} model.onnx --what-if precision=w8a16 rule=all", "what changes would do"),
    ),
)
main = TOOL.main
