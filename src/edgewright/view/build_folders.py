"""The folder of a build: its quantized model, coloured by what its report measured."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from edgewright.core.errors import BadInput, Where
from edgewright.core.files import read_limited, resolve_inside
from edgewright.core.json_text import parse_json

REPORT = "report.json"
_LARGEST_REPORT = 1 << 28


def is_build_folder(path: Path) -> bool:
    """Whether a folder is the output of a build."""
    return (path / REPORT).is_file()


def read_report(folder: Path) -> dict[str, Any]:
    """The report as it was written; only its outermost form is certain."""
    where = Where(file=str(folder / REPORT))
    try:
        report = parse_json(read_limited(folder / REPORT, _LARGEST_REPORT))
    except (ValueError, RecursionError):
        raise BadInput("the report is not JSON", where, do="build the model again") from None
    if not isinstance(report, dict):
        raise BadInput("the report is not an object", where, do="build the model again")
    return report


def find_built_model(folder: Path, report: dict[str, Any]) -> Path:
    """The DLC among the files that the report lists."""
    paths = [str(item.get("path", "")) for item in _list_objects(report.get("artifacts"))]
    for path in paths:
        if path.endswith(".dlc"):
            return resolve_inside(folder, path, str(folder / REPORT))
    raise BadInput(
        "the report lists no DLC, expected one",
        Where(file=str(folder / REPORT)),
        do="name one of the files in the folder instead",
    )


def list_facts(report: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    """Rows for the panel: what was asked for and what came of it."""
    verdict = report.get("verdict")
    rows = [
        ("built with", report.get("command")),
        ("target", report.get("target")),
        ("precision", report.get("chosen")),
        ("verdict", verdict.get("text") if isinstance(verdict, dict) else None),
    ]
    return tuple((name, value) for name, value in rows if isinstance(value, str) and value)


def list_layers(report: dict[str, Any]) -> Iterable[dict[str, Any]]:
    """The layers of a report, as far as they are objects."""
    return _list_objects(report.get("layers"))


def _list_objects(items: Any) -> Iterable[dict[str, Any]]:
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []
