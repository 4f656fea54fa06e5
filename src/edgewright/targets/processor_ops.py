"""The ops and datatypes of processors that no library here computes for: DSP and LPAI, by QNN's tables."""

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

# Names of all inputs, or all outputs, in a table.
_ALL = {"in": ("in[0..m]",), "out": ("out[0..m]", "out[0]…out[m]")}


@cache
def read_processor_ops(processor: str) -> Mapping[str, Mapping[str, frozenset[str]]]:
    """Ops by QNN's names; for each the datatypes of its inputs and outputs."""
    text = (files("edgewright") / "_data" / "processor_ops.json").read_text("utf-8")
    tables: dict[str, dict[str, list[str]]] = json.loads(text)[processor]
    return {op: {place: frozenset(types) for place, types in table.items()} for op, table in tables.items()}


def find_datatypes(table: Mapping[str, frozenset[str]], side: str, index: int) -> frozenset[str]:
    """The datatypes of an input ("in") or output ("out") by its number; none where the table lists none."""
    for name in (f"{side}[{index}]", *_ALL[side]):
        if name in table:
            return table[name]
    return frozenset()
