"""Makes socs.json here from a table of chips: python generate_socs.py SOC_TABLE.json.

Keeps what a target needs: the number that QNN knows a chip by, its Hexagon architecture, VTCM and names.
"""

import json
import sys
from pathlib import Path
from typing import Any

# Names on the market that the table has no entry for, or spells in one line.
MARKET_NAMES = {
    "SC8380XP": ["8cx Gen 4", "X Elite"],
    "SM8750": ["8 Elite"],
    "SM8850": ["8 Elite Gen 5"],
}


def reduce_entry(name: str, chip: dict[str, Any]) -> dict[str, Any]:
    """The fields of one chip that are kept."""
    numbers = [chip.get("soc_model"), chip.get("soc_model_docs_2_25")]
    marketing = chip.get("marketing")
    names = MARKET_NAMES.get(name, [marketing] if marketing and marketing != name else [])
    kept = {
        "soc_models": [number for number in numbers if number is not None],
        "arch": int((chip.get("htp_arch") or "V0").removeprefix("V")),
        "vtcm_mb": chip.get("vtcm_mb", 0),
        "names": names,
    }
    return {key: value for key, value in kept.items() if value}


def main() -> None:
    """Writes socs.json beside this file, a chip a line."""
    table = json.loads(Path(sys.argv[1]).read_text())
    lines = [
        f" {json.dumps(name)}: {json.dumps(reduce_entry(name, chip))}" for name, chip in sorted(table.items())
    ]
    (Path(__file__).parent / "socs.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
