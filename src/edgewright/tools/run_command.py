"""`edgewright run`: runs a model on files or random inputs, and compares it with its source engine."""

from edgewright.config.umbrella import (
    Comparison,
    Messages,
    ModelFile,
    Report,
    RunInputs,
    RunOutputs,
    Shapes,
)
from edgewright.core.errors import AccuracyGate
from edgewright.tools.answer import tell
from edgewright.tools.tool import Tool


def run(
    model: ModelFile,
    shapes: Shapes,
    inputs: RunInputs,
    outputs: RunOutputs,
    comparison: Comparison,
    report: Report,
    _messages: Messages,
) -> int:
    """Run and report; a difference over the tolerance is a failure."""
    from edgewright.reports.run import make_page
    from edgewright.run.run_files import run_files

    result = run_files(model, shapes, inputs, outputs, comparison)
    tell(report, result, make_page)
    return 0 if result.is_close else AccuracyGate.exit_code


TOOL = Tool(
    "edgewright run",
    "Run a source model or a converted one on a backend of this machine.",
    (ModelFile, Shapes, RunInputs, RunOutputs, Comparison, Report, Messages),
    run,
    examples=(
        ("edgewright run model.onnx --input data=image.npy", "run once and summarise the outputs"),
        ("edgewright run model.onnx --random --compare", "convert, run, and compare with ONNX Runtime"),
        ("edgewright run m_net.json --input_list in.txt -o out", "run a converted model on a list of inputs"),
        ("edgewright run m_net.json --random --compare m.onnx", "compare a converted model with its source"),
    ),
)
main = TOOL.main
