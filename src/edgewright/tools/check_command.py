"""`edgewright check`: whether a context binary suits a chip."""

from edgewright.config.context import CheckedContext
from edgewright.config.umbrella import Messages, Report
from edgewright.tools.tool import Tool

# As for everything that the target does not support.
NOT_FIT = 4


def run(checked: CheckedContext, report: Report, _messages: Messages) -> int:
    """Answer yes or no, and why; the exit code says the same."""
    from edgewright.reports.context import make_verdict_page
    from edgewright.reports.json_text import as_json
    from edgewright.reports.page import show
    from edgewright.run.context.check import check_context

    verdict = check_context(checked.context_binary, checked.target, checked.device_version)
    if report.json:
        print(as_json(verdict))
    else:
        show(make_verdict_page(verdict))
    return 0 if verdict.is_fit else NOT_FIT


TOOL = Tool(
    "edgewright check",
    "Say whether a context binary suits a chip, and why; exit code 0 for yes, 4 for no.",
    (CheckedContext, Report, Messages),
    run,
    examples=(
        ("edgewright check m.bin --target SM8650", "will it run on a Snapdragon 8 Gen 3?"),
        (
            "edgewright check m.bin --target v75 --device_version 2.40",
            "and with the libraries on the device?",
        ),
    ),
)
main = TOOL.main
