"""Encodings that a caller gives: the path of a file of any version, or its content."""

from collections.abc import Mapping
from json import dumps
from pathlib import Path
from typing import Any

from edgewright.artifacts.encodings.reader import parse_encodings, read_encodings
from edgewright.core.errors import UsageError, shown
from edgewright.quantize.tensor_encodings import EncodingSet

EncodingsSource = str | Path | Mapping[str, Any]


def load_encodings(source: EncodingsSource | None) -> EncodingSet | None:
    """The encodings in a file or in its content; None without a source."""
    if source is None:
        return None
    if not isinstance(source, Mapping):
        return read_encodings(source)
    try:
        content = dumps(source).encode()
    except (TypeError, ValueError) as problem:
        raise UsageError(
            f"the overrides cannot be written as JSON: {shown(problem)}",
            do="give plain numbers, texts, lists and dictionaries, as in an encodings file",
        ) from None
    return parse_encodings(content, "overrides")
