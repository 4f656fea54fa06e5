"""Records as JSON, for programs."""

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

__all__ = ["as_json"]


def as_json(record: "DataclassInstance") -> str:
    """A record and the records in it; paths become texts."""
    return json.dumps(asdict(record), indent=2, default=str)
