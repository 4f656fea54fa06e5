"""qnn-profile-viewer: shows a profiling log, and writes it as CSV, trace or HTML."""

from edgewright.config.profile_viewer import ProfileInput, ProfileOutput
from edgewright.config.rules import WithoutEffect
from edgewright.config.umbrella import Messages, Report
from edgewright.tools.tool import Tool

NAME = "qnn-profile-viewer"


def run(source: ProfileInput, output: ProfileOutput, report: Report, _messages: Messages) -> None:
    """Read, write the requested files, then print."""
    from logging import getLogger
    from pathlib import Path

    from edgewright.core.files import Chunks, keep_sources, write_all
    from edgewright.model.profile.reader import read_with_plugin
    from edgewright.model.profile.summary import summarise, summarise_file, with_schematic
    from edgewright.reports.json_text import as_json
    from edgewright.reports.profile_files import (
        check_reader,
        choose_form,
        list_opaque_files,
        make_profile_file,
    )
    from edgewright.reports.profile_text import make_viewer_text

    if output.reader is not None:
        check_reader(output.reader)
    log, summary = summarise_file(source.input_log)
    if source.schematic is not None:
        log = with_schematic(log, source.schematic)
        summary = summarise(log, source.input_log)
    files: dict[Path, Chunks] = {}
    if output.output is not None:
        form = choose_form(output.output, output.reader)
        made = make_profile_file(form, log, summary) if form else read_with_plugin(str(output.reader), log)
        files[Path(output.output)] = made
    if output.extract_opaque_objects:
        objects = list_opaque_files(log, Path(output.output or source.input_log).parent)
        if not objects:
            getLogger(__name__).warning("the log holds no opaque objects, nothing was extracted")
        files |= objects
    keep_sources([Path(source.input_log)], files)
    write_all(files)
    print(as_json(summary) if report.json else make_viewer_text(summary))
    if not report.json:
        print("".join(f"wrote {file}\n" for file in files), end="")


TOOL = Tool(
    NAME,
    "Show a profiling log: times of set-up and executions, op by op.",
    (ProfileInput, ProfileOutput, Report, Messages),
    run,
    examples=(
        (f"{NAME} --input_log output/qnn-profiling-data_0.log", "show it"),
        (f"{NAME} --input_log run.log --output run.csv", "write it as CSV too"),
        (f"{NAME} --input_log run.log --output run.html", "a page with a timeline and a table of ops"),
        (f"{NAME} --input_log run.log --output run.json", "a trace for Perfetto or chrome://tracing"),
    ),
    rules=(WithoutEffect(("--reader",), ("--output",)),),
)
main = TOOL.main
