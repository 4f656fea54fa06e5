"""The plotting library as a page carries it: compressed, so that the file stays small and opens offline."""

import base64
import gzip
import importlib.util
from functools import cache

from edgewright.core.optional import install_command, require


def has_plots() -> bool:
    """Whether reports have plots."""
    return importlib.util.find_spec("plotly") is not None


def describe_missing_plots() -> str:
    """What to say where reports have tables only; empty where they have plots."""
    return "" if has_plots() else f"the report has no plots without plotly: {install_command('plotly')}"


@cache
def load_plotly_bundle() -> str:
    """Plotly's script, gzip and base64; empty where it is not installed."""
    if not has_plots():
        return ""
    script: str = require("plotly.offline", to="draw plots").get_plotlyjs()
    # Without a time: equal records make equal pages.
    return base64.b64encode(gzip.compress(script.encode(), 9, mtime=0)).decode("ascii")
