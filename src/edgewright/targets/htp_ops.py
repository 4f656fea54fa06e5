"""The ops that the HTP library has."""

import json
from functools import cache
from importlib.resources import files


@cache
def read_htp_ops() -> frozenset[str]:
    """Names of the ops, as QNN spells them."""
    names: list[str] = json.loads((files("edgewright") / "_data" / "htp_ops.json").read_text("utf-8"))
    return frozenset(names)
