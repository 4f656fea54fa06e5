"""A profile in the words and the order of QNN's viewer, which scripts look for."""

from collections.abc import Callable, Iterable

from edgewright.core.errors import shown
from edgewright.model.profile.summary import Measure, ProfileSummary

__all__ = ["viewer_text"]

_TITLES = {
    "INIT": "Init Stats:",
    "COMPOSE": "Compose Graphs Stats:",
    "FINALIZE": "Finalize Stats:",
    "DEINIT": "De-Init Stats:",
}
_UNITS = {"US": "us", "CYCLES": "cycles", "COUNT": "count", "BYTES": "bytes"}
Pick = Callable[[Measure], float]


def viewer_text(found: ProfileSummary) -> str:
    """The text of qnn-profile-viewer."""
    lines = [f"Input Log File Location: {found.file}", f"Backend: {shown(found.backend)}", ""]
    lines += _underlined("Qnn Init/Prepare/Finalize/De-Init/Execute/Lib-Load Statistics:", "-" * 60)
    for message, title in _TITLES.items():
        lines += _section(title, found, found.sections.get(message, ()), lambda item: item.average)
    if found.execution:
        lines += _executions(found)
    if found.dropped:
        lines += ["", f"note: {found.dropped} events were too many and are not in the log"]
    return "\n".join(lines)


def _executions(found: ProfileSummary) -> list[str]:
    ways: dict[str, Pick] = {
        "Average": lambda item: item.average,
        "Min": lambda item: item.least,
        "Max": lambda item: item.most,
    }
    lines: list[str] = []
    for word, pick in ways.items():
        lines += ["", *_underlined(f"Execute Stats ({word}):"), "Total Inference Time:"]
        lines += _underlined("", "-" * 21)[1:]
        lines += [f"Graph 0 ({shown(found.graph)}):", *_lines(found.execution, pick)]
    if found.per_second:
        lines += ["", *_underlined("Execute Stats (Overall):")]
        lines.append(f"    NetRun IPS (includes IO and misc. time): {found.per_second:.4f} inf/sec")
    return lines


def _section(title: str, found: ProfileSummary, measures: Iterable[Measure], pick: Pick) -> list[str]:
    lines = _lines(measures, pick)
    if not lines:
        return []
    named = [f"Graph 0 ({shown(found.graph)}):"] if title.startswith("Finalize") else []
    return ["", *_underlined(title), *named, *lines]


def _lines(measures: Iterable[Measure], pick: Pick) -> list[str]:
    return [_line(item, round(pick(item))) for item in measures]


def _line(item: Measure, value: int) -> str:
    unit = _UNITS.get(item.unit, item.unit.lower())
    if item.source == "NETRUN":
        return f"    NetRun:  {value} {unit}"
    if item.is_part:
        return f"      {shown(item.name)}: {value} {unit}"
    return f"    Backend ({shown(item.name)}): {value} {unit}"


def _underlined(title: str, line: str = "") -> list[str]:
    return [title, line or "-" * len(title)]
