"""What evaluating a graph gives: the scores of its samples, and the figures of all of them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from edgewright.evaluate.records import Loss
from edgewright.ir.graph import Graph

# The figure for no noise at all.
MOST_DB = 120.0
# Values of so many bits cut off what is larger than all that calibrated.
FEW_BITS = 8


@dataclass(frozen=True)
class SampleScore:
    """What one output of one sample tells; sums, no arrays."""

    # Noise and signal, and the largest difference.
    power: tuple[float, float]
    largest: float
    # What the metric adds up; empty where it does not look at this output.
    sums: tuple[float, ...] = ()
    # Good answers by class, where the metric counts answers.
    classes: Mapping[int, float] = field(default_factory=dict)
    # Whether all values are numbers, where the float model's are.
    is_finite: bool = True


@dataclass(frozen=True)
class Evaluation:
    """How accurate one precision is: the metric in percent, points lost of the float model's, and SQNR."""

    score: float
    drop: float
    sqnr_db: float
    samples: int
    # The points lost with their interval.
    loss: Loss


@dataclass(frozen=True)
class Measurement:
    """The scores of all samples on one backend, by output."""

    backend: str
    outputs: dict[str, list[SampleScore]]
    # Of the samples, in their order.
    numbers: tuple[int, ...]
    # Whether values have 8 bits, which cut off what is larger than all that calibrated.
    has_8_bits: bool = False

    @property
    def samples(self) -> int:
        """How many samples were run."""
        return len(self.numbers)

    def select(self, numbers: Sequence[int]) -> "Measurement":
        """Some samples alone."""
        places = [self.numbers.index(number) for number in numbers]
        outputs = {name: [items[place] for place in places] for name, items in self.outputs.items()}
        return replace(self, outputs=outputs, numbers=tuple(numbers))

    def join(self, other: "Measurement", order: Sequence[int]) -> "Measurement":
        """With the samples of another measurement, in an order of all numbers."""
        outputs = {name: [*items, *other.outputs[name]] for name, items in self.outputs.items()}
        return replace(self, outputs=outputs, numbers=(*self.numbers, *other.numbers)).select(order)


def compute_sqnr_db(items: Sequence[SampleScore]) -> float:
    """Signal over noise in dB; infinite where there is no noise."""
    noise, signal = (sum(item.power[place] for item in items) for place in (0, 1))
    if not noise:
        return math.inf
    return 10 * math.log10(signal / noise) if signal else -math.inf


def has_8_bit_values(graph: Graph) -> bool:
    """Whether values have 8 bits or fewer: in 16 bits ranges have room for more than the samples showed."""
    kinds = (kind for name, kind in graph.types.items() if name not in graph.constants)
    return any(kind.encoding is not None and kind.encoding.bitwidth <= FEW_BITS for kind in kinds)
