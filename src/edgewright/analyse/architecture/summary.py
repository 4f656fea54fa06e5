"""Issues of an architecture in a few sentences: one for each rule, what touches most of the network first."""

from collections import defaultdict
from collections.abc import Iterable

from edgewright.analyse.architecture.rule import Issue
from edgewright.analyse.records import Finding
from edgewright.core.errors import shown

MOST_FINDINGS = 5
# A rule that touches less of the network than this is not worth a sentence.
SMALLEST_WEIGHT = 0.005
# A build says these by itself: it chooses the precision, and refuses what the HTP refuses.
OF_BUILD = frozenset({"float", "act16", "unsupported_op", "dynamic_shape", "recurrent"})


def list_findings(issues: Iterable[Issue]) -> tuple[Finding, ...]:
    """Notes for the report of a build."""
    by_rule: defaultdict[str, list[Issue]] = defaultdict(list)
    for issue in issues:
        if issue.rule not in OF_BUILD:
            by_rule[issue.rule].append(issue)
    weights = {rule: sum(issue.weight for issue in group) for rule, group in by_rule.items()}
    worth = sorted((r for r in by_rule if weights[r] >= SMALLEST_WEIGHT), key=lambda rule: -weights[rule])
    return tuple(_describe_group(by_rule[rule]) for rule in worth[:MOST_FINDINGS])


def _describe_group(group: list[Issue]) -> Finding:
    worst = max(group, key=lambda issue: issue.weight)
    places = "one op" if len(group) == 1 else f"{len(group)} ops"
    name = shown(worst.node, 60)
    what = f"{worst.rule} ({places}, '{name}' first): {worst.issue} {worst.effect}."
    return Finding("note", "architecture", what, worst.node, worst.remedy)
