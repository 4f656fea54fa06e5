"""What `edgewright check` shows."""

from dataclasses import replace

from edgewright.analyse.checked_model import CheckedModel, list_blocks
from edgewright.core.page import Block
from edgewright.reports.context import make_verdict_page


def make_page(check: CheckedModel, name: str) -> list[Block]:
    """The tables of a model, or the verdict on a context binary."""
    if check.context is not None:
        return make_verdict_page(check.context)
    return list_blocks(replace(check, model=name))
