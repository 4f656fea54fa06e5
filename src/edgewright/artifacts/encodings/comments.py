"""Removes // comments from JSON, which has none but is often written with them."""

import re

# Strings first: what looks like a comment inside one is not.
_TEXT_OR_COMMENT = re.compile(rb'"(?:[^"\\]|\\.)*"|//[^\n]*')


def without_comments(content: bytes) -> bytes:
    """The JSON without comments; lines keep their numbers."""
    if b"//" not in content:
        return content
    return _TEXT_OR_COMMENT.sub(lambda m: m[0] if m[0].startswith(b'"') else b"", content)
