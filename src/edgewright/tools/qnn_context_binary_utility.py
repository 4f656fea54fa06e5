"""qnn-context-binary-utility: validates a context binary and describes it."""

from edgewright.config.context import ContextFile
from edgewright.config.umbrella import Messages, Report
from edgewright.tools.tool import Tool

NAME = "qnn-context-binary-utility"


def run(file: ContextFile, report: Report, _messages: Messages) -> None:
    """Describe the binary, in a JSON file where one is named."""
    import json
    from pathlib import Path

    from edgewright.core.errors import UsageError, shown
    from edgewright.core.files import write_whole
    from edgewright.reports.context import make_info_page
    from edgewright.reports.page import show
    from edgewright.run.context.document import describe_context
    from edgewright.run.context.info import read_context_info

    info = read_context_info(file.context_binary)
    text = json.dumps(describe_context(info), indent=2)
    if file.json_file is not None:
        # Guide 8874: the folder must exist.
        if not Path(file.json_file).parent.is_dir():
            raise UsageError(
                f"folder '{shown(Path(file.json_file).parent)}' does not exist", do="make it first"
            )
        write_whole(file.json_file, [f"{text}\n".encode()])
    if report.json:
        print(text)
    else:
        show([*make_info_page(info), *([f"wrote {file.json_file}"] if file.json_file else [])])


TOOL = Tool(
    NAME,
    "Validate a context binary and write its content as JSON: graphs, tensors, encodings, chip, versions.",
    (ContextFile, Report, Messages),
    run,
    examples=(
        (f"{NAME} --context_binary m.bin --json_file m.json", "validate m.bin and describe it in m.json"),
        (f"{NAME} --context_binary m.bin", "look at it"),
    ),
)
main = TOOL.main
