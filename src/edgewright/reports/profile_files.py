"""Which file a profile becomes: CSV, trace or HTML, and opaque objects one by one."""

import base64
import binascii
from collections.abc import Iterable
from pathlib import Path

from edgewright.core.errors import BadInput, UsageError, Where, shown
from edgewright.lower.names import NameTable
from edgewright.model.profile.records import ProfileLog, to_chunks, to_csv
from edgewright.model.profile.summary import ProfileSummary, summarise
from edgewright.reports.profile_page import to_html
from edgewright.reports.profile_trace import to_trace

# The genuine readers' names, which stand for our forms of the same kind.
FORMS = {
    "csv": "csv",
    "trace": "trace",
    "html": "html",
    "libQnnChrometraceProfilingReader.so": "trace",
    "QnnChrometraceProfilingReader.dll": "trace",
    "libQnnJsonProfilingReader.so": "trace",
    "QnnJsonProfilingReader.dll": "trace",
    "libQnnHtpOptraceProfilingReader.so": "trace",
    "QnnHtpOptraceProfilingReader.dll": "trace",
}
_SUFFIXES = {".csv": "csv", ".json": "trace", ".html": "html", ".htm": "html"}


def check_reader(reader: str) -> None:
    """A reader is one of the names that are known, or a file that is there."""
    if reader not in FORMS and not Path(reader).exists():
        raise BadInput(
            f"reader '{shown(reader)}' does not exist",
            Where(file=reader),
            do="check the path, or use --reader csv, trace or html",
        )


def choose_form(output: str, reader: str | None) -> str:
    """The form for a reader or a file name; "" where the reader is a plug-in."""
    if reader is not None:
        return FORMS.get(Path(reader).name, "")
    form = _SUFFIXES.get(Path(output).suffix.lower())
    if form is None:
        raise UsageError(
            f"--output '{shown(output)}' ends in '{shown(Path(output).suffix)}', expected "
            f"{', '.join(_SUFFIXES)}",
            do="rename it, or choose a form with --reader csv, trace or html",
        )
    return form


def make_profile_file(form: str, log: ProfileLog, summary: ProfileSummary) -> Iterable[bytes]:
    """The content of a file of this form."""
    if form == "csv":
        return to_csv(log)
    return to_trace(log) if form == "trace" else to_html(log, summary)


def make_log_file(output: str, log: ProfileLog) -> Iterable[bytes]:
    """The content of a file by its name; a profile log for .log."""
    if Path(output).suffix == ".log":
        return to_chunks(log)
    return make_profile_file(choose_form(output, None), log, summarise(log, output))


def list_opaque_files(log: ProfileLog, folder: Path) -> dict[Path, list[bytes]]:
    """The opaque objects of a log by the files that they go to."""
    objects = [event for event in log.events if event.data]
    table = NameTable([f"{number}_{event.identifier}" for number, event in enumerate(objects)])
    files = {}
    for number, event in enumerate(objects):
        try:
            content = base64.b64decode(event.data, validate=True)
        except binascii.Error:
            raise BadInput(f"the object of event '{shown(event.identifier)}' is not base64") from None
        files[folder / f"{table(f'{number}_{event.identifier}')}.bin"] = [content]
    return files
