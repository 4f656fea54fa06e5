"""A quantized model under check: encodings that cost more than they had to, broken rules, and the repair."""

from dataclasses import dataclass

from edgewright.analyse.compare_models import compare
from edgewright.analyse.encoding_repair import repair_graph
from edgewright.analyse.encoding_rules import list_broken_rules
from edgewright.analyse.fresh_encodings import Feeds
from edgewright.analyse.odd_encodings import ODD_DB, OddEncoding, find_odd_encodings
from edgewright.analyse.records import Finding
from edgewright.model.model import Model

# Where outputs are compared: the NPU's meaning of the numbers.
SIMULATION = "htp-sim"


@dataclass(frozen=True)
class EncodingCheck:
    """What the encodings of a model cost, and what a repair brings back."""

    samples: int
    # The worst output against the float model, in dB, before and after the repair.
    output_db: float
    repaired_db: float | None
    odd: tuple[OddEncoding, ...]
    rules: tuple[Finding, ...]

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All of it, the most expensive first."""
        return (*(_describe_odd(entry) for entry in self.odd), *self.rules)


def check_encodings(
    source: Model,
    quantized: Model,
    feeds: Feeds,
    *,
    architecture: int | None = None,
    is_fresh: bool = False,
) -> tuple[EncodingCheck, Model]:
    """Looks at every encoding; the second result is the model with fresh ones for those that are odd.

    Args:
        source: the float model.
        quantized: made from it, with any encodings.
        feeds: samples for the float model, which calibrate what encodings are compared with.
        architecture: of the chip, where rules depend on it.
        is_fresh: whether it was calibrated on these samples just now: then nothing can be odd.
    """
    before, after = source.fixed_graph(), quantized.fixed_graph()
    entries = () if is_fresh else find_odd_encodings(before, after, feeds)
    odd = [entry for entry in entries if entry.excess_db >= ODD_DB]
    rules = list_broken_rules(after, architecture)
    output_db = measure_outputs(source, quantized, feeds)
    repaired, repaired_db = quantized, None
    if odd:
        repaired = Model.of(repair_graph(before, after, odd))
        repaired_db = measure_outputs(source, repaired, feeds)
        if repaired_db < output_db:
            # What is rounded worse in one place may make up for another: then nothing is gained.
            repaired, repaired_db = quantized, None
    return EncodingCheck(len(feeds), output_db, repaired_db, tuple(odd), rules), repaired


def measure_outputs(source: Model, quantized: Model, feeds: Feeds) -> float:
    """The worst output of the simulation against the float model, in dB."""
    return min(item.sqnr_db for item in compare(source, quantized, feeds, backend=SIMULATION))


def _describe_odd(entry: OddEncoding) -> Finding:
    kind = "weights" if entry.is_weight else "range"
    low, high = entry.fresh_low, entry.fresh_high
    do = "quantize these weights again" if entry.is_weight else f"give it {low:.4g} to {high:.4g}"
    return Finding("warning", kind, entry.describe(), entry.source, f"{do}, or leave it out of the overrides")
