"""Writes what TensorFlow declares of the ops that we translate.

TensorFlow is needed only here: python generate_declarations.py OPS.txt OUT.json, where OPS.txt lists the
names of ops, one a line.
"""

import json
import sys
from pathlib import Path


def declare(op):
    """Inputs: 1, or the attribute that says how many; attributes: type, and what their values may be."""
    attributes = {}
    for item in op.attr:
        entry = {"type": item.type}
        if item.HasField("default_value"):
            entry["default"] = True
        if item.has_minimum:
            entry["least"] = item.minimum
        if item.HasField("allowed_values") and item.type in ("string", "list(string)"):
            entry["words"] = [word.decode() for word in item.allowed_values.list.s]
        attributes[item.name] = entry
    inputs = [item.number_attr or item.type_list_attr or 1 for item in op.input_arg]
    return {"inputs": inputs, "attributes": attributes}


def main():
    from tensorflow.python.framework import op_def_registry

    names = Path(sys.argv[1]).read_text().split()
    found = {name: op_def_registry.get(name) for name in names}
    lines = [f'"{name}": {json.dumps(declare(op))}' for name, op in sorted(found.items()) if op is not None]
    Path(sys.argv[2]).write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
