"""The page of an error code as text."""

import textwrap
from collections.abc import Sequence

from edgewright.targets.explain import Explanation

__all__ = ["as_text"]

WIDTH = 100


def as_text(found: Explanation) -> str:
    """Code, causes, and what to do."""
    lines = [f"{found.code}: {found.name}", f"  from: {found.origin}"]
    lines += _listed("Why:", found.causes) + _listed("Do:", found.fixes)
    lines += _listed("Seen in:", found.seen)
    return "\n".join(lines)


def _listed(title: str, entries: Sequence[str]) -> list[str]:
    if not entries:
        return []
    wrapped = [
        line
        for entry in entries
        for line in textwrap.wrap(entry, WIDTH - 4, initial_indent="  - ", subsequent_indent="    ")
    ]
    return ["", title, *wrapped]
