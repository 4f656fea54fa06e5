"""`edgewright op`: the card of an op, or the list of all ops."""

import json

from edgewright.config.umbrella import Messages, OpName, Report
from edgewright.tools.tool import Tool


def run(op: OpName, report: Report, _messages: Messages) -> None:
    """Print the card of the named op, or the names of all."""
    from edgewright.backends.op_card import list_op_names, make_op_card
    from edgewright.reports.op_card import as_json, as_text

    if op.name is None:
        print(json.dumps(list_op_names(), indent=2) if report.json else "\n".join(list_op_names()))
        return
    card = make_op_card(op.name)
    print(as_json(card) if report.json else as_text(card))


TOOL = Tool(
    "edgewright op",
    "Show what an op means, what it takes and which backends run it; without a name, list all ops.",
    (OpName, Report, Messages),
    run,
    examples=(
        ("edgewright op PoolMax2d", "the card of an op"),
        ("edgewright op --json", "the names of all ops, for a program"),
    ),
)
main = TOOL.main
