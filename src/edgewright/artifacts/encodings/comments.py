"""Takes // comments out of JSON, which has none but is written with them by hand."""

import re

__all__ = ["without_comments"]

# A text first: what looks like a comment inside one is none.
_TEXT_OR_COMMENT = re.compile(rb'"(?:[^"\\]|\\.)*"|//[^\n]*')


def without_comments(content: bytes) -> bytes:
    """The JSON without comments; lines keep their numbers."""
    if b"//" not in content:
        return content
    return _TEXT_OR_COMMENT.sub(lambda m: m[0] if m[0].startswith(b'"') else b"", content)
