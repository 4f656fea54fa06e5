"""`edgewright export-ep-context`: an ONNX file around a context binary, for ONNX Runtime's QNN provider."""

from edgewright.config.context import EpContext
from edgewright.config.umbrella import Messages, Report
from edgewright.tools.tool import Tool


def run(options: EpContext, report: Report, _messages: Messages) -> None:
    """Write the file and say what is in it."""
    from edgewright.reports.context import make_ep_context_page
    from edgewright.reports.json_text import as_json
    from edgewright.reports.page import show
    from edgewright.run.context.ep_context import export_ep_context

    file = export_ep_context(options)
    if report.json:
        print(as_json(file))
    else:
        show(make_ep_context_page(file))


TOOL = Tool(
    "edgewright export-ep-context",
    "Write an ONNX file that runs a context binary unchanged in ONNX Runtime's QNN provider.",
    (EpContext, Report, Messages),
    run,
    examples=(
        ("edgewright export-ep-context m.bin -o m.onnx", "m.onnx refers to m.bin, which stays beside it"),
        (
            "edgewright export-ep-context m.bin --embed --float_io",
            "one file, with float32 inputs and outputs",
        ),
    ),
)
main = TOOL.main
