"""The backends of a machine in a table."""

from collections.abc import Sequence

from edgewright.core.page import Block, Table
from edgewright.sdk.platform_check import BackendCheck


def make_page(checks: Sequence[BackendCheck]) -> list[Block]:
    """The report of qnn-platform-validator."""
    headers = ("backend", "hardware", "libraries", "library version", "core version", "unit test", "detail")
    rows = tuple(tuple(value or "-" for value in vars(item).values()) for item in checks)
    return [Table("Backends", headers, rows)]
