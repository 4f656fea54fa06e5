"""qnn-architecture-checker: what of a converted model keeps the HTP from being fast, and its remedies."""

from edgewright.config.architecture_checker import CheckedModel
from edgewright.config.umbrella import Messages, Report
from edgewright.tools.answer import tell
from edgewright.tools.tool import Tool

NAME = "qnn-architecture-checker"


def run(model: CheckedModel, report: Report, _messages: Messages) -> None:
    """Check, modify where that is asked for, and show what was found."""
    from edgewright.reports.architecture_checker import make_page
    from edgewright.sdk.architecture_checker import check_files

    tell(report, check_files(model), make_page)


TOOL = Tool(
    NAME,
    "List what keeps a model from being fast on the HTP, with the reason and the remedy, and apply remedies.",
    (CheckedModel, Report, Messages),
    run,
    examples=(
        (f"{NAME} -i model_net.json -b model.bin -o checked", "checked/model_architecture_checker.csv"),
        (f"{NAME} -i model_net.json --modify", "what could be modified"),
        (f"{NAME} -i model_net.json -o checked --modify apply=prelu,elwisediv", "write the modified model"),
    ),
)
main = TOOL.main
