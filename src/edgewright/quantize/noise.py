"""Noise of a quantized graph's outputs: its power over all samples, and how far other samples may differ.

Powers are summed over samples before they become decibels, as anyone who evaluates the model does: the mean
of the decibels of single samples is better by several, since it hides the samples that come out worst. So
that no single sample decides, a gain must hold for nearly all sets of samples drawn from those that were run.
"""

from dataclasses import dataclass

import numpy as np

from edgewright.core.numbers import Array

DRAWS, SEED = 400, 0
# What stands for no noise at all.
LEAST_NOISE = 1e-12
# What an algorithm must gain: less is luck, and other data may lose by it.
WORTH_DB = 0.25
# The part of the drawn sets that may lose.
DOUBT = 0.1
# How far an interval may reach from a figure that is given nevertheless.
EXACT_DB = 1.0
# The interval of 95 %.
BOUNDS = (0.025, 0.975)


@dataclass(frozen=True)
class Gain:
    """How much less noise there is, in dB."""

    # Of the power over all samples, in all judged values and at the outputs alone.
    decibels: float
    at_outputs: float
    # The mean of what single samples gain.
    typical: float
    # What both are at least, and what the outputs gain at most, in nearly all drawn sets of samples.
    low: float
    typical_low: float
    outputs_high: float

    def is_worth(self, least: float = WORTH_DB) -> bool:
        """Whether other samples are expected to gain, too.

        Where one sample has most of the noise, that of the others counts as long as the sum does not grow.
        Outputs that are probabilities depend on the few samples that are in doubt: scores tell more of them.
        """
        is_all = self.decibels >= least and self.low > 0
        is_typical = self.typical >= least and self.typical_low > 0 and self.decibels >= 0
        return (is_all or is_typical) and self.outputs_high >= 0

    def describe(self) -> str:
        """The figure, that of the outputs alone, and whether single samples make it."""
        has_scores = abs(self.at_outputs - self.decibels) >= 0.05
        outputs = f" ({self.at_outputs:.1f} at the outputs alone)" if has_scores else ""
        is_doubtful = self.decibels >= WORTH_DB and self.low <= 0
        return f"{self.decibels:.1f} dB{outputs}{', which a few samples make,' if is_doubtful else ''}"


@dataclass(frozen=True)
class Noise:
    """Sums of squares of each judged value and sample, of the float graph and of the difference to it."""

    # [values, samples]: outputs come first, then scores that outputs are made of.
    signal: Array
    noise: Array
    outputs: int

    @property
    def sqnr_db(self) -> float:
        """Signal over noise at the outputs."""
        count = self.noise.shape[1]
        return float(-self.compute_decibels(np.ones((1, count)), self.outputs)[0])

    def find_interval(self) -> tuple[float, float]:
        """Where the signal over noise of other samples is expected."""
        drawn = -self.compute_decibels(_draw_samples(self.noise.shape[1]), self.outputs)
        low, high = np.quantile(drawn, BOUNDS)
        return float(low), float(high)

    def compute_decibels(self, counts: Array, values: int) -> Array:
        """Noise over signal, the mean of the first values, for samples that count so often: [draws]."""
        if not values or not self.noise.shape[1]:
            return np.zeros(len(counts))
        noise, signal = self.noise[:values] @ counts.T, self.signal[:values] @ counts.T
        ratio = np.divide(noise, signal, out=np.ones_like(noise), where=signal > 0)
        return np.asarray(10 * np.log10(np.maximum(ratio, LEAST_NOISE)).mean(0))

    def describe(self) -> str:
        """The figure with its interval, and that of the worst output where it is far from the mean.

        Where other samples may well be more than 1 dB away from the figure, it is the interval alone.
        """
        text = f"{self.sqnr_db:.1f} dB"
        if self.noise.shape[1] >= 2:
            low, high = self.find_interval()
            is_exact = max(high - self.sqnr_db, self.sqnr_db - low) <= EXACT_DB
            text = f"{text} ({low:.1f} to {high:.1f})" if is_exact else f"{low:.1f} to {high:.1f} dB"
        worst = self.find_worst_output()
        return (
            f"{text}, the worst of {self.outputs} outputs {worst:.1f} dB"
            if worst < self.sqnr_db - 1
            else text
        )

    def find_worst_output(self) -> float:
        """Signal over noise of the output that is farthest from the float model's."""
        noise, signal = (each[: self.outputs].sum(1) for each in (self.noise, self.signal))
        ratio = np.divide(noise, signal, out=np.ones_like(noise), where=signal > 0)
        return float(-10 * np.log10(np.maximum(ratio, LEAST_NOISE)).max(initial=-np.inf))

    def measure_gain(self, before: "Noise") -> Gain:
        """How much less noise there is than before, on the same samples."""
        once, drawn = np.ones((1, self.noise.shape[1])), _draw_samples(self.noise.shape[1])
        counts = np.concatenate([once, drawn])
        every, outputs = (
            before.compute_decibels(counts, values) - self.compute_decibels(counts, values)
            for values in (len(self.noise), self.outputs)
        )
        each = before.list_decibels() - self.list_decibels()
        single = counts @ each / max(len(each), 1)
        return Gain(
            *(float(every[0]), float(outputs[0]), float(single[0])),
            low=float(np.quantile(every[1:], DOUBT)),
            typical_low=float(np.quantile(single[1:], DOUBT)),
            outputs_high=float(np.quantile(outputs[1:], 1 - DOUBT)),
        )

    def list_decibels(self) -> Array:
        """Noise of each sample over the mean signal, the mean of all judged values: [samples]."""
        signal = self.signal.mean(1, keepdims=True) if self.signal.size else self.signal
        if not signal.size:
            return np.zeros(self.noise.shape[1])
        ratio = np.divide(self.noise, signal, out=np.ones_like(self.noise), where=signal > 0)
        return np.asarray(10 * np.log10(np.maximum(ratio, LEAST_NOISE)).mean(0))


def _draw_samples(count: int) -> Array:
    """How often each sample is in each of many drawn sets: [draws, samples]."""
    return np.random.default_rng(SEED).multinomial(count, np.full(count, 1 / max(count, 1)), DRAWS)
