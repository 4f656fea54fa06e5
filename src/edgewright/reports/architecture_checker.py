"""What an architecture check shows: issues by rule, what can be modified, what was written."""

from edgewright.analyse.checked_model import describe_issues
from edgewright.core.page import Block, Table
from edgewright.sdk.architecture_checker import ArchitectureCheck


def make_page(check: ArchitectureCheck) -> list[Block]:
    """The terminal's answer."""
    blocks = describe_issues(check.issues)
    if check.modifications:
        rows = tuple((m.rule, str(m.places), m.text, m.tolerance) for m in check.modifications)
        headers = ("rule", "places", "modification", "results may move by")
        blocks.append(Table("Possible modifications", headers, rows, frozenset({1})))
    text = f"{len(check.issues)} issues in the {check.nodes} nodes of {check.model}"
    if check.change is not None:
        text += f"; {check.applied} modifications were applied and move outputs by {100 * check.change:.2g} %"
        text += " of their range on random inputs"
    return [*blocks, *check.notes, text, *(f"wrote {file}" for file in check.files)]
