"""`edgewright explain`: what an error code means and what helps, or the list of all codes."""

import json

from edgewright.config.context import CodeName
from edgewright.config.umbrella import Messages, Report
from edgewright.tools.tool import Tool


def run(asked: CodeName, report: Report, _messages: Messages) -> None:
    """Print the page of the code, or the list."""
    from edgewright.reports.explanation import as_text
    from edgewright.reports.json_text import as_json
    from edgewright.targets.explain import explain, list_known_codes

    if asked.code is None:
        codes = dict(list_known_codes())
        width = max(map(len, codes))
        listed = "\n".join(f"{code:<{width}}  {name}" for code, name in codes.items())
        print(json.dumps(codes, indent=2) if report.json else listed)
        return
    explanation = explain(asked.code)
    print(as_json(explanation) if report.json else as_text(explanation))


TOOL = Tool(
    "edgewright explain",
    "Explain an error code of QNN or Edgewright: what it means, why it appears and what helps.",
    (CodeName, Report, Messages),
    run,
    examples=(
        ("edgewright explain 1002", "a code of the QNN libraries"),
        ("edgewright explain unsupported-op", "a code of Edgewright"),
        ("edgewright explain", "list all codes"),
    ),
)
main = TOOL.main
