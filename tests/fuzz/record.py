"""What was fuzzed last: kept in record.json beside this file, shown as a table in docs/security.md."""

import datetime
import importlib.metadata
import json
import platform
import re
from pathlib import Path
from typing import Any

RECORD = Path(__file__).parent / "record.json"
PAGE = Path(__file__).parents[2] / "docs" / "security.md"
_TABLE = re.compile(r"(<!-- the fuzzer's record -->\n).*?(\n<!-- end -->)", re.DOTALL)


def add(counted: dict[str, Any], seed: int) -> None:
    """Keeps the counts of a run that found nothing, and writes the page's table anew."""
    kept = read()
    entry = {key: counted.get(key, 0) for key in ("executions", "read", "refused", "seconds")}
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    kept[counted["format"]] = {**entry, "seed": seed, "date": today, "with": _name_versions()}
    RECORD.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n")
    write_page()


def write_page() -> None:
    """Writes the page's table anew."""
    text = PAGE.read_text("utf-8")
    PAGE.write_text(_TABLE.sub(lambda table: table[1] + make_table() + table[2], text), "utf-8")


def read() -> dict[str, Any]:
    """The record, by format."""
    content: dict[str, Any] = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    return content


def make_table() -> str:
    """The record as a table."""
    from tests.fuzz.formats import FORMATS

    rows = [
        "| format | executions | read | refused | anything else | a second | date | with |",
        "|---" * 8 + "|",
    ]
    for name, row in sorted(read().items()):
        rate = row["executions"] // max(row["seconds"], 1)
        counts = " | ".join(f"{row[key]:,}" for key in ("executions", "read", "refused"))
        rows.append(f"| `{name}` | {counts} | 0 | {rate:,} | {row['date']} | {row['with']} |")
    missing = [f"`{name}`" for name in FORMATS if name not in read()]
    return "\n".join(rows) + ("\n\nNot run to 20,000 yet: " + ", ".join(missing) + "." if missing else "")


def _name_versions() -> str:
    versions = [f"{name} {importlib.metadata.version(name)}" for name in ("atheris", "onnx", "numpy")]
    return f"Python {platform.python_version()}, " + ", ".join(versions)
