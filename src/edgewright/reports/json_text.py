"""Records as JSON, for programs."""

import json
import math
from dataclasses import asdict
from typing import Any


def as_json(record: Any) -> str:
    """A record and the records in it; paths become strings, and so do numbers that JSON cannot hold."""
    return json.dumps(_spell_value(asdict(record)), indent=2, allow_nan=False, default=str)


def _spell_value(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _spell_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_spell_value(item) for item in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
