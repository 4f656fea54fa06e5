"""`edgewright replay`: runs what the Saver recorded."""

from edgewright.config.replay import Recording
from edgewright.config.umbrella import Messages, Report
from edgewright.tools.answer import tell
from edgewright.tools.tool import Tool


def run(recording: Recording, report: Report, _messages: Messages) -> None:
    """Replay, and list the files."""
    from edgewright.reports.replay import make_page
    from edgewright.run.replay_recording import replay_recording

    tell(report, replay_recording(recording.folder, recording.backend, recording.output_dir), make_page)


TOOL = Tool(
    "edgewright replay",
    "Run what --backend libQnnSaver.so recorded, on a backend of this machine.",
    (Recording, Report, Messages),
    run,
    examples=(
        ("edgewright replay saver_output --backend cpu", "compute the recorded executions on the CPU"),
        ("edgewright replay saver_output --backend htp -o results", "on the HTP's emulator or simulation"),
    ),
)
main = TOOL.main
