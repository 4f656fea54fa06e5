"""All files that were made of one checkpoint, with what was measured of each: the record of a report."""

import json
import os
import platform
from dataclasses import dataclass, replace
from pathlib import Path

from edgewright.core.files import read_limited
from edgewright.core.machine_use import count_cores
from edgewright.core.plain import from_plain
from edgewright.llm.load.checkpoint import Checkpoint
from edgewright.llm.load.vocabulary import find_template
from edgewright.llm.quantize_model import LanguageModelFile

REPORT, RECORD = "llm_report.html", "llm_report.json"
LARGEST = 1 << 26


@dataclass(frozen=True)
class CheckpointFacts:
    """What all files were made of."""

    source: str
    architecture: str
    parameters: int
    bytes: int
    layers: int
    context: int
    # Of keys and values in half precision that a token leaves behind.
    bytes_per_token: int
    # Whether it has a template for talks.
    can_chat: bool


@dataclass(frozen=True)
class LanguageModelReport:
    """A checkpoint and its files; paths of files are relative to the report where they can be."""

    checkpoint: CheckpointFacts
    folder: str
    machine: str
    cores: int
    files: tuple[LanguageModelFile, ...]


def add_to_report(folder: Path, checkpoint: Path | str, made: LanguageModelFile) -> LanguageModelReport:
    """The report of a folder with a file that was just made; what another checkpoint left there is gone."""
    facts = _describe_checkpoint(Checkpoint(checkpoint), made)
    earlier = _read_report(folder / RECORD)
    files = earlier.files if earlier is not None and earlier.checkpoint == facts else ()
    place = os.path.relpath(Path(made.path).resolve(), folder.resolve())
    kept = tuple(file for file in files if file.path != place and (folder / file.path).exists())
    return LanguageModelReport(
        checkpoint=facts,
        folder=str(folder.resolve()),
        machine=_name_processor(),
        cores=count_cores(),
        files=(*kept, replace(made, path=place)),
    )


def _describe_checkpoint(checkpoint: Checkpoint, made: LanguageModelFile) -> CheckpointFacts:
    spec = checkpoint.spec
    return CheckpointFacts(
        source=str(checkpoint.source.resolve()),
        architecture=spec.architecture,
        parameters=made.parameters,
        bytes=made.source_bytes,
        layers=spec.layers,
        context=spec.context,
        bytes_per_token=2 * 2 * spec.layers * spec.key_rows,
        can_chat=bool(find_template(checkpoint.folder)),
    )


def _read_report(path: Path) -> LanguageModelReport | None:
    """What is there already; None where it is not a report of this version."""
    if not path.is_file():
        return None
    try:
        return from_plain(LanguageModelReport, json.loads(read_limited(path, LARGEST)))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def _name_processor() -> str:
    """As Linux or the platform names it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(errors="replace").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
