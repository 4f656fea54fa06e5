"""`edgewright compare-builds`: what changed between two builds."""

from pathlib import Path

from edgewright.config.compare_builds import ComparedBuilds
from edgewright.config.umbrella import Messages, Report
from edgewright.core.errors import AccuracyGate
from edgewright.tools.answer import tell
from edgewright.tools.tool import Tool

NAME = "edgewright compare-builds"
PAGE = "compared_builds.html"


def run(builds: ComparedBuilds, report: Report, _messages: Messages) -> int:
    """Write the page and say what is in it; a build that got worse is exit code 5."""
    from edgewright.build.compare_builds import compare_builds
    from edgewright.core.files import write_whole
    from edgewright.reports.compared_builds import make_page, render_comparison

    comparison = compare_builds(builds.first, builds.second)
    path = Path(builds.output or PAGE)
    write_whole(path, render_comparison(comparison))
    tell(report, comparison, make_page)
    if not report.json:
        print(f"page: {path.absolute()}")
    if comparison.is_worse:
        raise AccuracyGate(
            f"'{builds.second}' is worse than '{builds.first}': see its verdict and what it loses",
            do=f"{path.absolute()} has all that changed",
        )
    return 0


TOOL = Tool(
    NAME,
    "Show what changed between two builds, as one page; exit code 5 where the second is worse.",
    (ComparedBuilds, Report, Messages),
    run,
    examples=(
        (f"{NAME} out_w8a8/ out_w8a16/", "verdict, figures, sizes, layers, options and versions"),
        (f"{NAME} before/ after/ -o changes.html", "the page under another name"),
    ),
)
main = TOOL.main
