"""Records as JSON, for programs."""

import json
import math
from dataclasses import asdict
from typing import Any

__all__ = ["as_json"]


def as_json(record: Any) -> str:
    """A record and the records in it; paths become texts, and so do numbers that JSON has no word for."""
    return json.dumps(_spelled(asdict(record)), indent=2, allow_nan=False, default=str)


def _spelled(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _spelled(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_spelled(item) for item in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
