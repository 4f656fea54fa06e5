"""Makes processor_ops.json here from QNN's op tables: python generate_processor_ops.py OPS_DTYPES.json.

The source has, for each op and backend, columns (an input, output or parameter) and rows of their datatypes.
"""

import json
import sys
from pathlib import Path
from typing import Any

PROCESSORS = ("DSP", "LPAI")


def main() -> None:
    """Writes processor_ops.json beside this file: processor, op, input or output -> datatypes."""
    tables = json.loads(Path(sys.argv[1]).read_text())
    tables_of_processors = {
        processor: {op: read_table(own[processor]) for op, own in tables.items() if processor in own}
        for processor in PROCESSORS
    }
    target = Path(__file__).parent / "processor_ops.json"
    target.write_text(json.dumps(tables_of_processors, indent=1) + "\n")


def read_table(table: dict[str, list[Any]]) -> dict[str, list[str]]:
    """Datatypes by input and output; these tables have one row each."""
    (row,) = table["rows"]
    pairs = zip(table["columns"], row[1:], strict=True)
    return {name: text.split(", ") for name, text in pairs if name.startswith(("in[", "out["))}


if __name__ == "__main__":
    main()
