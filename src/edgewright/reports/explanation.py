"""The page of an error code as text."""

import textwrap
from collections.abc import Sequence

from edgewright.targets.explain import Explanation

WIDTH = 100


def as_text(explanation: Explanation) -> str:
    """Code, causes, and what to do."""
    lines = [f"{explanation.code}: {explanation.name}", f"  from: {explanation.origin}"]
    lines += _list_entries("Why:", explanation.causes) + _list_entries("Do:", explanation.fixes)
    lines += _list_entries("Seen in:", explanation.seen)
    return "\n".join(lines)


def _list_entries(title: str, entries: Sequence[str]) -> list[str]:
    if not entries:
        return []
    wrapped = [
        line
        for entry in entries
        for line in textwrap.wrap(entry, WIDTH - 4, initial_indent="  - ", subsequent_indent="    ")
    ]
    return ["", title, *wrapped]
