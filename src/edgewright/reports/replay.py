"""A replayed recording as text."""

from edgewright.core.page import Block
from edgewright.run.replay_recording import ReplayReport


def make_page(report: ReplayReport) -> list[Block]:
    """The report of `edgewright replay`."""
    count = f"{report.executions} execution{'s' * (report.executions != 1)}"
    return [f"{count} of {report.folder} on {report.backend}", *(f"wrote {file}" for file in report.files)]
