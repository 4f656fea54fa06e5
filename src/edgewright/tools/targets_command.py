"""`edgewright targets`: the chips that a model can be compiled for."""

from edgewright.config.context import TargetName
from edgewright.config.umbrella import Messages, Report
from edgewright.tools.tool import Tool


def run(target: TargetName, report: Report, _messages: Messages) -> None:
    """Print one chip, or all of them; those without a known HTP only as JSON."""
    import json
    from dataclasses import asdict

    from edgewright.targets.soc import find_soc, list_socs

    chips = list(list_socs().values()) if target.name is None else [find_soc(target.name)]
    if report.json:
        print(json.dumps([asdict(chip) for chip in chips], indent=2))
        return
    for chip in chips:
        if target.name is not None or chip.has_htp:
            print(f"{chip}, {chip.vtcm_mb} MB VTCM" if chip.vtcm_mb else str(chip))


TOOL = Tool(
    "edgewright targets",
    "List the chips whose HTP a model can be compiled for, or show what a name stands for.",
    (TargetName, Report, Messages),
    run,
    examples=(
        ("edgewright targets", "all chips with an HTP"),
        ("edgewright targets 'Snapdragon 8 Gen 3'", "what a name stands for"),
    ),
)
main = TOOL.main
