"""qnn-throughput-net-run: runs models in several threads on several backends at once."""

from edgewright.config.throughput import THROUGHPUT, ThroughputFiles
from edgewright.config.umbrella import Messages, Report
from edgewright.tools.tool import Tool

NAME = "qnn-throughput-net-run"


def run(files: ThroughputFiles, report: Report, _messages: Messages) -> int:
    """Run the test, then write and print its results."""
    from edgewright.core.files import check_target, write_whole
    from edgewright.core.log import set_level
    from edgewright.reports.json_text import as_json
    from edgewright.reports.throughput import make_page
    from edgewright.sdk.throughput.case_run import read_case, run_throughput
    from edgewright.tools.answer import tell

    case = read_case(files.config)
    if files.output is not None:
        check_target(files.output)
    if case.log_level is not None:
        set_level(case.log_level)
    result = run_throughput(case)
    if files.output is not None:
        write_whole(files.output, [f"{as_json(result)}\n".encode()])
    tell(report, result, lambda record: make_page(record, files.output))
    return 0 if result.is_complete else 128 + result.stopped_by


TOOL = Tool(
    NAME,
    "Run models in several threads on several backends at once, and measure latency and throughput.",
    (*THROUGHPUT, Report, Messages),
    run,
    examples=(
        (f"{NAME} --config case.json --output results.json", "run the test and keep its results"),
        (f"{NAME} --config case.json --json", "print the results as JSON"),
    ),
)
main = TOOL.main
