"""Everything that a check says of a model: its architecture, its encodings, or the chip that it suits."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from edgewright.analyse.architecture.rule import Issue
from edgewright.analyse.encoding_check import EncodingCheck
from edgewright.analyse.records import Finding
from edgewright.core.errors import shown
from edgewright.core.page import Block, Displayed
from edgewright.run.context.check import ContextVerdict

MOST_ROWS = 20
GRADES = {"error": 0, "warning": 1, "note": 2}


@dataclass(frozen=True, repr=False)
class CheckedModel(Displayed):
    """What keeps a model from being fast or accurate on the HTP, each with what to do."""

    model: str
    nodes: int = 0
    issues: tuple[Issue, ...] = ()
    # Rules of the HTP that encodings break, where there are encodings but no samples.
    rules: tuple[Finding, ...] = ()
    # Where samples were given.
    encodings: EncodingCheck | None = None
    # Of a context binary.
    context: ContextVerdict | None = None
    notes: tuple[str, ...] = ()

    @property
    def is_fit(self) -> bool:
        """Whether the HTP would take it."""
        is_taken = self.context is None or self.context.is_fit
        return is_taken and not any(issue.grade == "error" for issue in self.issues)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Each issue, odd encoding and broken rule as a finding."""
        architecture = (
            Finding(issue.grade, issue.rule, f"{issue.issue} {issue.effect}", issue.node, issue.remedy)
            for issue in self.issues
        )
        return (*architecture, *(() if self.encodings is None else self.encodings.findings), *self.rules)

    def _list_blocks(self) -> list[Block]:
        return list_blocks(self)


def list_blocks(check: CheckedModel) -> list[Block]:
    """Sentences: the architecture by rule, then encodings."""
    findings = check.rules if check.encodings is None else check.encodings.findings
    lines = [line for finding in findings[:MOST_ROWS] for line in (finding.what, f"  do: {finding.do}")]
    more = len(findings) - MOST_ROWS
    lines += [f"and {more} more about encodings (--json lists all)"] if more > 0 else []
    return [
        *describe_issues(check.issues),
        *lines,
        *check.notes,
        *_summarise_encodings(check),
        _summarise(check),
    ]


def describe_issues(issues: Sequence[Issue]) -> list[Block]:
    """Three lines for each rule, what touches most of the network first."""
    by_rule: defaultdict[str, list[Issue]] = defaultdict(list)
    for issue in issues:
        by_rule[issue.rule].append(issue)
    groups = sorted(
        by_rule.values(), key=lambda group: (GRADES[group[0].grade], -sum(issue.weight for issue in group))
    )
    return [line for group in groups for line in _describe_group(group)]


def _describe_group(group: Sequence[Issue]) -> list[str]:
    worst = max(group, key=lambda issue: issue.weight)
    place = f" '{shown(worst.node, 80)}'" if worst.node else ""
    others = f" and {len(group) - 1} more" if len(group) > 1 else ""
    return [
        f"{worst.grade}[{worst.rule}]{place}{others}: {worst.issue}",
        f"  effect: {worst.effect}",
        f"  do: {worst.remedy}",
    ]


def _summarise_encodings(check: CheckedModel) -> list[str]:
    if check.encodings is None:
        return []
    text = f"worst output over {check.encodings.samples} samples: {check.encodings.output_db:.1f} dB"
    if check.encodings.repaired_db is not None:
        text += f", {check.encodings.repaired_db:.1f} dB with fresh encodings in place of the odd ones"
    return [text]


def _summarise(check: CheckedModel) -> str:
    state = "the HTP would take it" if check.is_fit else "the HTP would not take it as it is"
    return f"{check.model}: {state}; {len(check.findings)} findings in {check.nodes} nodes"
