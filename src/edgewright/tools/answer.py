"""What a tool prints at the end: a page for people, or JSON."""

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from edgewright.config.umbrella import Report

if TYPE_CHECKING:
    from edgewright.core.page import Block

Record = TypeVar("Record")


def tell(report: Report, record: Record, page: "Callable[[Record], list[Block]]") -> None:
    """Prints a record as text or JSON, as requested."""
    from edgewright.reports.json_text import as_json
    from edgewright.reports.page import show

    if report.json:
        print(as_json(record))
    else:
        show(page(record))
