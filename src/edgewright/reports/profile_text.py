"""A profile in the wording and order of QNN's viewer, which scripts look for."""

from collections.abc import Callable, Iterable

from edgewright.core.errors import shown
from edgewright.model.profile.summary import Measure, ProfileSummary

_TITLES = {
    "INIT": "Init Stats:",
    "COMPOSE": "Compose Graphs Stats:",
    "FINALIZE": "Finalize Stats:",
    "DEINIT": "De-Init Stats:",
}
_UNITS = {"US": "us", "CYCLES": "cycles", "COUNT": "count", "BYTES": "bytes"}
Pick = Callable[[Measure], float]


def make_viewer_text(summary: ProfileSummary) -> str:
    """The text of qnn-profile-viewer."""
    lines = [f"Input Log File Location: {summary.file}", f"Backend: {shown(summary.backend)}", ""]
    lines += _underline_title("Qnn Init/Prepare/Finalize/De-Init/Execute/Lib-Load Statistics:", "-" * 60)
    for message, title in _TITLES.items():
        lines += _make_section(title, summary, summary.sections.get(message, ()), lambda item: item.average)
    if summary.execution:
        lines += _list_executions(summary)
    if summary.dropped:
        lines += ["", f"note: {summary.dropped} events exceeded the limit and are not in the log"]
    return "\n".join(lines)


def _list_executions(summary: ProfileSummary) -> list[str]:
    ways: dict[str, Pick] = {
        "Average": lambda item: item.average,
        "Min": lambda item: item.least,
        "Max": lambda item: item.most,
    }
    lines: list[str] = []
    for word, pick in ways.items():
        lines += ["", *_underline_title(f"Execute Stats ({word}):"), "Total Inference Time:"]
        lines += _underline_title("", "-" * 21)[1:]
        lines += [f"Graph 0 ({shown(summary.graph)}):", *_format_measures(summary.execution, pick)]
    if summary.per_second:
        lines += ["", *_underline_title("Execute Stats (Overall):")]
        lines.append(f"    NetRun IPS (includes IO and misc. time): {summary.per_second:.4f} inf/sec")
    return lines


def _make_section(title: str, summary: ProfileSummary, measures: Iterable[Measure], pick: Pick) -> list[str]:
    lines = _format_measures(measures, pick)
    if not lines:
        return []
    named = [f"Graph 0 ({shown(summary.graph)}):"] if title.startswith("Finalize") else []
    return ["", *_underline_title(title), *named, *lines]


def _format_measures(measures: Iterable[Measure], pick: Pick) -> list[str]:
    return [_format_measure(item, round(pick(item))) for item in measures]


def _format_measure(item: Measure, value: int) -> str:
    unit = _UNITS.get(item.unit, item.unit.lower())
    if item.source == "NETRUN":
        return f"    NetRun:  {value} {unit}"
    if item.is_part:
        return f"      {shown(item.name)}: {value} {unit}"
    return f"    Backend ({shown(item.name)}): {value} {unit}"


def _underline_title(title: str, line: str = "") -> list[str]:
    return [title, line or "-" * len(title)]
