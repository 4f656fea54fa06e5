"""Where this machine keeps what can be made again."""

import os
from pathlib import Path

CACHE = "EDGEWRIGHT_CACHE"


def find_cache(kind: str) -> Path:
    """The folder for things of a kind; it may be removed at any time."""
    if named := os.environ.get(CACHE):
        return Path(named) / kind
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "edgewright" / kind
