"""What an architecture check shows: issues by rule, what can be modified, what was written."""

from collections import defaultdict
from collections.abc import Sequence

from edgewright.analyse.architecture.rule import Issue
from edgewright.core.page import Block, Table
from edgewright.sdk.architecture_checker import ArchitectureCheck


def make_page(check: ArchitectureCheck) -> list[Block]:
    """The terminal's answer."""
    blocks: list[Block] = [make_issue_table(check.issues)] if check.issues else []
    if check.modifications:
        rows = tuple((m.rule, str(m.places), m.text, m.tolerance) for m in check.modifications)
        headers = ("rule", "places", "modification", "results may move by")
        blocks.append(Table("Possible modifications", headers, rows, frozenset({1})))
    text = f"{len(check.issues)} issues in the {check.nodes} nodes of {check.model}"
    if check.change is not None:
        text += f"; {check.applied} modifications were applied and move outputs by {100 * check.change:.2g} %"
        text += " of their range on random inputs"
    return [*blocks, *check.notes, text, *(f"wrote {file}" for file in check.files)]


def make_issue_table(issues: Sequence[Issue]) -> Table:
    """One row for each rule, what touches most of the network first."""
    by_rule: defaultdict[str, list[Issue]] = defaultdict(list)
    for issue in issues:
        by_rule[issue.rule].append(issue)
    order = {"error": 0, "warning": 1, "note": 2}
    groups = sorted(
        by_rule.values(), key=lambda group: (order[group[0].grade], -sum(issue.weight for issue in group))
    )
    rows = tuple(_make_row(group) for group in groups)
    headers = ("rule", "places", "where most", "what it costs there", "what to do")
    return Table("Architecture", headers, rows, frozenset({1}))


def _make_row(group: Sequence[Issue]) -> tuple[str, ...]:
    worst = max(group, key=lambda issue: issue.weight)
    return worst.rule, str(len(group)), worst.node or "the model", worst.effect, worst.remedy
