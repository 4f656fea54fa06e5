"""What a build will do and how long that takes, from measured rates; large models get fewer samples."""

from dataclasses import dataclass, replace

from edgewright.build.candidates import ALGORITHMS, AS_GIVEN, HALF, MIXED, PLAIN, WIDE
from edgewright.build.rates import Rates, count_workers
from edgewright.build.time_budget import CHECK_PART, EMULATOR_PART, JUDGING_REST
from edgewright.config.spelling import spell_option
from edgewright.core.errors import EdgewrightError
from edgewright.data.samples import BuildSamples
from edgewright.evaluate.records import Metric

# Of the time without the emulator, what the first candidate and the verdict may take: more would leave none
# for others.
NEEDED_PART = 0.5
# No part of the samples becomes smaller than this.
FEWEST = 8


# Passes over the calibration samples of each candidate, those of the search of ranges and of algorithms.
CALIBRATION_PASSES = {PLAIN: 1.0, WIDE: 6.0, HALF: 0.0, MIXED: 3.0}
ALGORITHM_PASSES = 16.0
# Graphs that a candidate plans and gets ready, and graphs that mixed widths only get ready to be evaluated.
GRAPHS = {PLAIN: 1, WIDE: 13, HALF: 1, MIXED: 5}
MIXED_EVALUATIONS = 12
# How many builds judge a second candidate, of those whose samples cannot prove the first one (eight models).
JUDGED_AGAIN = 1 / 3
# A limit that is exceeded by no more is kept: estimates are no better.
LATE_TIMES = 1.1
# Emulators on several cores are slower than one alone; of what has 16 bits, too, each of them is slower than
# of plain 8 bits (eleven models, one core).
CONTENTION, WIDER = 1.4, 2.0


@dataclass(frozen=True)
class SampleCounts:
    """How many samples calibrate, choose and judge."""

    calibrating: int
    choosing: int
    judging: int

    @classmethod
    def of(cls, samples: BuildSamples) -> "SampleCounts":
        """Those of a build."""
        return cls(len(samples.calibration), len(samples.choosing.selection), len(samples.judging.selection))

    @property
    def total(self) -> int:
        """One pass over all of them."""
        return self.calibrating + self.choosing + self.judging

    def reduce_to_fit(self, rates: Rates, seconds: float) -> "SampleCounts":
        """Fewer where the first candidate and the verdict would take more than their part of the time."""
        needed = self.calibrating * rates.floating
        needed += (self.choosing + self.judging) * (rates.floating + rates.simulated)
        part = NEEDED_PART * seconds / needed if needed else 1.0
        if part >= 1:
            return self
        counts = (self.calibrating, self.choosing, self.judging)
        return SampleCounts(*(_reduce(count, part) for count in counts))

    def reduce_others_to_fit(self, rates: Rates, seconds: float) -> "SampleCounts":
        """The same once the float model has run on those that choose, which stay."""
        needed = self.calibrating * rates.floating + self.choosing * rates.simulated
        needed += self.judging * (rates.floating + rates.simulated)
        part = NEEDED_PART * seconds / needed if needed else 1.0
        if part >= 1:
            return self
        return SampleCounts(_reduce(self.calibrating, part), self.choosing, _reduce(self.judging, part))

    def select(self, samples: BuildSamples) -> BuildSamples:
        """So many of the samples, spread over all; those that choose are the ones that are run first."""
        return replace(
            samples,
            calibration=samples.calibration.select(self.calibrating),
            choosing=samples.choosing.spread(self.choosing),
            judging=samples.judging.select(self.judging),
        )

    def describe(self) -> str:
        """What is said where some are left out."""
        return (
            f"for time, only {self.calibrating} samples calibrate, {self.choosing} choose and {self.judging} "
            f"judge: a larger {spell_option('time_limit')} uses more"
        )


def _reduce(count: int, part: float) -> int:
    return max(min(count, FEWEST), int(part * count))


@dataclass(frozen=True)
class BuildPlan:
    """How accuracy is measured, and what a build will do as far as can be known before it."""

    metric: Metric
    # It came quantized, and is built as it is.
    is_quantized: bool
    rates: Rates
    counts: SampleCounts
    # Those that will be built, as far as that can be foreseen, and the one of them that will be judged.
    candidates: tuple[str, ...]
    chosen: str = PLAIN
    # Whether samples cannot prove it, so that it may fail on those that judge.
    is_uncertain: bool = False
    # What the compiler said where it takes no plain 8 bits, and whether it takes half precision instead.
    refusal: EdgewrightError | None = None
    is_half_taken: bool = False

    def estimate_seconds(self, limit: float, spent: float) -> float:
        """The time of the whole build, of which some is spent; it keeps to its limit if compiling does."""
        searching = sum(estimate_candidate(name, self.rates, self.counts) for name in self.candidates)
        searching += self.counts.choosing * self.rates.floating
        finishing = self.rates.estimate_finish(self.counts.judging)
        others = spent + searching + finishing
        emulating = self._estimate_emulator(self.chosen, limit, max(0.0, limit - others))
        if self.is_uncertain:
            another = self._estimate_emulator(HALF, limit, max(0.0, limit - others - emulating))
            others += JUDGED_AGAIN * (self.rates.compiling + another)
        return min(max(limit, spent + self.rates.unstoppable), others + emulating)

    def _estimate_emulator(self, name: str, limit: float, left: float) -> float:
        """Checking and judging a candidate: emulators start and share the samples, within their time."""
        share, workers = EMULATOR_PART * limit, count_workers()
        contention = CONTENTION if workers > 1 else 1.0
        each = contention * estimate_emulation(name, self.rates) / workers
        checking = min(self.rates.loading + self.counts.choosing * each, CHECK_PART * share)
        judging = min(
            self.rates.loading + self.counts.judging * each, max(share - checking, JUDGING_REST * left)
        )
        return checking + judging


def describe_late_compiler(expected: float, limit: float) -> str:
    """What is said where a build cannot keep to its limit; empty where it nearly does."""
    if expected <= LATE_TIMES * limit:
        return ""
    return (
        f"the build will take about {expected:.0f} s, more than the {limit:g} s of "
        f"{spell_option('time_limit')}: the first binary is compiled to its end"
    )


def estimate_candidate(name: str, rates: Rates, counts: SampleCounts) -> float:
    """Seconds to quantize a candidate and evaluate it on the samples that choose."""
    evaluating = counts.choosing * rates.simulated
    if name.endswith(ALGORITHMS):
        return ALGORITHM_PASSES * counts.calibrating * rates.floating + rates.correcting + evaluating
    passes, graphs = CALIBRATION_PASSES.get(name, 1.0), GRAPHS.get(name, 1)
    tries = MIXED_EVALUATIONS if name == MIXED else 1
    return (
        passes * counts.calibrating * rates.floating
        + graphs * rates.planning
        + tries * (evaluating + rates.preparing_simulation)
    )


def can_emulate_in(seconds: float, name: str, rates: Rates) -> bool:
    """Whether the emulator ends with one sample of a candidate in so many seconds."""
    return estimate_emulation(name, rates) <= seconds


def estimate_emulation(name: str, rates: Rates) -> float:
    """What the emulator takes for one sample of a candidate, from the first one or as it was tried."""
    if name == HALF and rates.emulated_half:
        return rates.emulated_half
    return rates.emulated * (1.0 if name in {PLAIN, HALF, AS_GIVEN} else WIDER)


def estimate_rest(rates: Rates, judging: int, *, is_missed: bool) -> float:
    """Seconds that come after the search but the emulator's: that a limit is missed takes few samples to say.

    Args:
        rates: what everything takes.
        judging: how many samples judge.
        is_missed: whether every candidate that was built so far loses more than it may.
    """
    return rates.estimate_verdict(min(FEWEST, judging)) if is_missed else rates.estimate_finish(judging)
