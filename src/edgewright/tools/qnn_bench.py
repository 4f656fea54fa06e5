"""qnn_bench.py: measures a model on several backends, several times."""

from edgewright.config.bench import BENCH, BenchDevice, BenchFiles, BenchRuns
from edgewright.config.umbrella import Report
from edgewright.tools.answer import tell
from edgewright.tools.tool import Tool

NAME = "qnn_bench.py"


def run(files: BenchFiles, runs: BenchRuns, device: BenchDevice, report: Report) -> None:
    """Measure, and show the statistics."""
    from edgewright.reports.bench import make_page
    from edgewright.sdk.bench import run_benchmark

    tell(report, run_benchmark(files, runs, device), make_page)


TOOL = Tool(
    NAME,
    "Measure a model on several backends, several times, and write the statistics as CSV (and JSON).",
    (*BENCH, Report),
    run,
    examples=(
        (f"{NAME} -c config.json", "what the configuration asks for"),
        (f"{NAME} -c config.json -be CPU HTP -n 5 -l detailed -json", "five times on two backends, op by op"),
    ),
)
main = TOOL.main
