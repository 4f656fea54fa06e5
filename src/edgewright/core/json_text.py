"""JSON of strangers: what is nested too deeply is an error of the text, like any other."""

import json
from collections.abc import Callable
from typing import Any


def parse_json(
    content: str | bytes | bytearray, pairs: Callable[[list[tuple[str, Any]]], Any] | None = None
) -> Any:
    """The value that a text holds; ValueError where it is no JSON. `pairs` makes objects of their keys."""
    try:
        return json.loads(content, object_pairs_hook=pairs)
    except RecursionError:
        raise ValueError("lists and objects are nested too deeply") from None
