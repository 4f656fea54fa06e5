"""What a finding says to do, as something that can be pasted, or as a sentence."""

import json
import shlex
from dataclasses import dataclass
from pathlib import PurePath

from edgewright.analyse.records import Finding
from edgewright.build.measured_advice import PRECISION
from edgewright.build.records import BuildRecord
from edgewright.config.quantize import PRECISIONS as WIDTHS

PRECISIONS = frozenset(f"--precision {name}" for name in WIDTHS)
OVERRIDES, OPTION = "overrides.json", "--quantization_overrides"


@dataclass(frozen=True)
class ShownFinding:
    """A finding, with a snippet or a sentence that says what to do."""

    finding: Finding
    code: str = ""
    text: str = ""


def show_finding(record: BuildRecord, finding: Finding) -> ShownFinding:
    """A finding as the page has it; an override becomes the whole build with it."""
    if finding.do.startswith("{"):
        return ShownFinding(finding, code=_spell_build_with(record, finding.do))
    if (
        finding.kind == PRECISION
        and finding.do in PRECISIONS
        and (code := _spell_build_in(record, finding.do))
    ):
        return ShownFinding(finding, code=code)
    return ShownFinding(finding, text=finding.do)


def _spell_build_in(record: BuildRecord, option: str) -> str:
    """The build in another precision; empty where it cannot be repeated."""
    name = option.rsplit(maxsplit=1)[-1]
    call = f"precision={record.precision!r}"
    if record.rebuild.startswith("import "):
        return record.rebuild.replace(call, f"precision={name!r}") if call in record.rebuild else ""
    return record.rebuild.replace(f"--precision {record.precision}", option)


def _spell_build_with(record: BuildRecord, override: str) -> str:
    """The override alone where the build cannot be repeated, or where it had overrides already."""
    if record.rebuild.startswith("import ") and "overrides=" not in record.rebuild:
        call = record.rebuild.removesuffix(")")
        return f"{call}    overrides={json.loads(override)!r},\n)"
    if record.rebuild and OPTION not in record.rebuild and not record.rebuild.startswith("import "):
        path = shlex.quote(str(PurePath(record.folder, OVERRIDES)))
        return f"cat > {path} <<'END'\n{override}\nEND\n{record.rebuild} {OPTION} {path}"
    return override
