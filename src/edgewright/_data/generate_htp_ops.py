"""Makes htp_ops.json here from what the HTP library says it has: python generate_htp_ops.py HTP_OPS.txt.

A line of the source is what backendGetSupportedOperations tells: package, op and target, with tabs between.
"""

import json
import sys
from pathlib import Path


def main() -> None:
    """Writes htp_ops.json beside this file: names of ops, sorted."""
    rows = [line.split("\t") for line in Path(sys.argv[1]).read_text().splitlines() if line.strip()]
    names = sorted({row[1].strip() for row in rows})
    (Path(__file__).parent / "htp_ops.json").write_text(json.dumps(names, indent=1) + "\n")


if __name__ == "__main__":
    main()
