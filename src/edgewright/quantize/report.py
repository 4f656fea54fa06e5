"""What a quantization did: one record a tensor, the rules that were applied, and how much came from where."""

from collections import Counter
from dataclasses import dataclass, field

from edgewright.core.page import Block, Displayed
from edgewright.quantize.pins import Origin, Placed
from edgewright.quantize.rules import RULES


@dataclass(frozen=True)
class TensorRecord:
    """How one tensor is stored, why, and between which real numbers."""

    name: str
    source: str
    kind: str
    placed: Placed
    origin: str
    low: float | None = None
    high: float | None = None
    note: str = ""


@dataclass(frozen=True)
class AppliedRule:
    """A rule of the target, and how often it was applied."""

    name: str
    text: str
    count: int


@dataclass(frozen=True)
class QuantizationSummary:
    """What a tool says of a quantization: where encodings came from, which rules were applied, notes."""

    coverage: str
    rules: tuple[AppliedRule, ...]
    converts: int
    notes: tuple[str, ...]


@dataclass(repr=False)
class QuantizationReport(Displayed):
    """All tensors, and what had to be said."""

    tensors: list[TensorRecord] = field(default_factory=list)
    # Names of rules with the nodes or tensors they were applied to.
    rules: dict[str, list[str]] = field(default_factory=dict)
    # Entries of a file that match a tensor which conversion folded away.
    ignored: list[str] = field(default_factory=list)
    converts: int = 0
    notes: list[str] = field(default_factory=list)
    # What all of it cost, in passes of the float graph over the samples.
    passes: float = 0.0

    def record_rule(self, rule: str, where: str) -> None:
        """Remembers that a rule was applied."""
        self.rules.setdefault(rule, []).append(where)

    @property
    def is_all_float(self) -> bool:
        """Whether nothing has an encoding."""
        return not any(record.placed.encoding for record in self.tensors)

    def list_rules(self) -> tuple[AppliedRule, ...]:
        """The rules that were applied, in words."""
        return tuple(AppliedRule(name, RULES[name].text, len(hits)) for name, hits in self.rules.items())

    def summarize(self, *notes: str) -> QuantizationSummary:
        """The report in a few lines; the given notes come before its own."""
        return QuantizationSummary(self.coverage(), self.list_rules(), self.converts, (*notes, *self.notes))

    def _list_blocks(self) -> list[Block]:
        return [self.coverage(), *(f"{rule.text}: {rule.count}" for rule in self.list_rules()), *self.notes]

    def counts(self) -> dict[str, int]:
        """Number of tensors by origin of their encoding."""
        return dict(Counter(record.origin for record in self.tensors))

    def coverage(self) -> str:
        """One line: how many encodings came from the file, were computed, were ignored."""
        counts = Counter(record.origin for record in self.tensors)
        taken, floats = counts.pop(Origin.FILE, 0), counts.pop(Origin.FLOAT, 0)
        brought = counts.pop(Origin.SOURCE, 0)
        parts = [
            f"{taken} from the file",
            f"{sum(counts.values())} calibrated",
            f"{len(self.ignored)} ignored",
        ]
        parts += [f"{brought} from the model"] * bool(brought) + [f"{floats} tensors in float"] * bool(floats)
        return f"encodings: {', '.join(parts)}"
