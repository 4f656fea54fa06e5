"""Makes ops.json here from a full op catalogue: python generate_ops.py CATALOGUE.json.

Keeps what a check needs to hold our op classes to QNN's spelling: ports, parameters, enums, support flags.
"""

import json
import sys
from pathlib import Path
from typing import Any

PORT_FIELDS = ("name", "required", "rank")
PARAM_FIELDS = ("name", "kind", "type", "required", "default", "enum")


# Newer than the catalogue: as ONNX Runtime's provider writes it for QNN.
ATTENTION = {
    "inputs": [{"name": f"in[{index}]", "required": index < 3, "rank": None} for index in range(10)],
    "outputs": [{"name": f"out[{index}]", "required": index < 1, "rank": None} for index in range(3)],
    "params": [
        {"name": name, "kind": "scalar", "type": kind, "required": default is None, "default": default}
        for name, kind, default in (
            ("num_heads", "UINT_32", None),
            ("kv_num_heads", "UINT_32", None),
            ("do_rotary", "UINT_32", "0"),
            ("scale", "FLOAT_32", "0.0"),
        )
    ],
}


def reduce_entry(op: dict[str, Any]) -> dict[str, Any]:
    """The fields of one op that are kept."""
    return {
        "in_2_22": op["in_2_22"],
        "inputs": [{key: port.get(key) for key in PORT_FIELDS} for port in op["inputs"]],
        "outputs": [{key: port.get(key) for key in PORT_FIELDS} for port in op["outputs"]],
        "params": [{key: param[key] for key in PARAM_FIELDS if key in param} for param in op["params"]],
        "backends": op.get("backends_2_25", {}),
    }


def main() -> None:
    """Writes ops.json beside this file."""
    catalogue = json.loads(Path(sys.argv[1]).read_text())
    ops = {name: reduce_entry(op) for name, op in sorted(catalogue.items()) if not name.startswith("_")}
    ops["GroupQueryAttention"].update(ATTENTION)
    (Path(__file__).parent / "ops.json").write_text(json.dumps(ops, indent=1) + "\n")


if __name__ == "__main__":
    main()
