"""`edgewright doctor`: what is installed, what works, what each part is for and what to do."""

import json
import os
import platform
from collections.abc import Sequence
from dataclasses import asdict

from edgewright.config.umbrella import Messages, Report
from edgewright.core.errors import EnvironmentProblem
from edgewright.core.version import VERSION
from edgewright.tools.environment import Finding, check_packages, find_compiler
from edgewright.tools.native_environment import NativeState, check_native_libraries
from edgewright.tools.tool import Tool


def run(report: Report, _messages: Messages) -> int:
    """Print the findings; the exit code says whether something must be done."""
    native = check_native_libraries()
    findings = [*check_packages(), native.finding, find_compiler()]
    print(as_json(findings, native) if report.json else as_text(findings, native))
    return EnvironmentProblem.exit_code if any(finding.is_problem for finding in findings) else 0


def as_text(findings: Sequence[Finding], native: NativeState | None = None) -> str:
    """The findings as tables, required things first, and what to do."""
    needed = [finding for finding in findings if finding.is_needed]
    optional = [finding for finding in findings if not finding.is_needed]
    lines = [
        _describe_machine(),
        "",
        "Needed:",
        *_make_table(needed),
        "",
        "Optional:",
        *_make_table(optional),
    ]
    if native is not None:
        lines += ["", "The genuine QNN libraries:", *(f"  {line}" for line in native.lines)]
    problems = [finding for finding in findings if finding.is_problem]
    lines += ["", _write_verdict(len(problems))]
    for finding in problems:
        lines += [f"  {finding.name}: {finding.trouble or finding.state}", f"    do: {finding.do}"]
    absent = [finding for finding in optional if finding.state == "absent"]
    if absent:
        lines += ["", "To install what is absent:", *(f"  {line}" for line in _suggest_installs(absent))]
    return "\n".join(lines)


def as_json(findings: Sequence[Finding], native: NativeState | None = None) -> str:
    """The same for programs."""
    document = {
        "edgewright": VERSION,
        "python": platform.python_version(),
        "system": platform.system(),
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "findings": [asdict(finding) for finding in findings],
        "qnn_libraries": list(native.lines) if native is not None else [],
        "is_healthy": not any(finding.is_problem for finding in findings),
    }
    return json.dumps(document, indent=2)


def _describe_machine() -> str:
    return (
        f"Edgewright {VERSION}, Python {platform.python_version()}, "
        f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"
    )


def _make_table(findings: Sequence[Finding]) -> list[str]:
    names = max((len(finding.name) for finding in findings), default=0)
    versions = max((len(finding.version) for finding in findings), default=0)
    return [
        f"  {item.name:<{names}}  {item.version or '-':<{versions}}  {item.state:<7}  {item.gives}"
        for item in findings
    ]


def _write_verdict(problems: int) -> str:
    if problems == 0:
        return "Everything that is required works."
    return f"{problems} {'problem' if problems == 1 else 'problems'}:"


def _suggest_installs(absent: Sequence[Finding]) -> list[str]:
    return list(dict.fromkeys(finding.do for finding in absent))


TOOL = Tool(
    "edgewright doctor",
    "Say what is installed, what works, what each part is for and what to do.",
    (Report, Messages),
    run,
    examples=(
        ("edgewright doctor", "look at this machine"),
        ("edgewright doctor --json", "the same for a program"),
    ),
)
main = TOOL.main
