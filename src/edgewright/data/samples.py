"""Samples of a build: which of them calibrate, which evaluate, and what their right answers are."""

from collections.abc import Callable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from edgewright.config.preprocessing import Preprocessing
from edgewright.core.errors import BadInput, Where
from edgewright.core.numbers import Array
from edgewright.data.calibration_data import Data, notes_of, samples_of
from edgewright.data.labels import NAMES, labels_for, unused_labels
from edgewright.data.sample_fit import SampleFit
from edgewright.ir.graph import Graph
from edgewright.ir.types import TensorType
from edgewright.quantize.executor import Samples

__all__ = ["BuildSamples", "Chosen", "DataWishes", "build_samples"]

RANDOM_SAMPLES = 32
RANDOM_WARNING = (
    "RANDOM DATA: ranges and figures below come from random numbers and say NOTHING about accuracy; "
    "build again with --data before anything is shipped"
)


@dataclass(frozen=True)
class DataWishes:
    """What holds the samples, how many of them are used, and what is done to them."""

    # None: random numbers.
    data: Data | None = None
    eval_data: Data | None = None
    labels: str | Path | Sequence[int] | None = None
    calibration_samples: int = 100
    evaluation_samples: int = 1000
    preprocessing: Preprocessing = field(default_factory=Preprocessing)
    sample_rate: int | None = None


class Chosen:
    """Some samples of many, by their numbers."""

    def __init__(self, samples: Samples, numbers: Sequence[int]) -> None:
        self._samples = samples
        self.numbers = tuple(numbers)

    def __len__(self) -> int:
        return len(self.numbers)

    def __iter__(self) -> Iterator[Mapping[str, Array]]:
        at = getattr(self._samples, "at", None)
        if at is not None:
            yield from (at(number) for number in self.numbers)
            return
        wanted = set(self.numbers)
        yield from (sample for number, sample in enumerate(self._samples) if number in wanted)

    def first(self, count: int) -> "Chosen":
        """At most so many, spread evenly."""
        return Chosen(self._samples, spread(self.numbers, count))


@dataclass(frozen=True)
class BuildSamples:
    """Samples that calibrate and samples that evaluate, held apart."""

    calibration: Chosen
    evaluation: Chosen
    # The right class of each sample that evaluates; None where nobody says.
    labels: Array | None
    notes: tuple[str, ...]
    is_random: bool = False
    # The same samples do both: their number allows nothing else.
    is_shared: bool = False


def build_samples(
    graph: Graph, wishes: DataWishes, carry: Callable[[Samples], Samples] = lambda samples: samples
) -> BuildSamples:
    """The samples for a graph; every problem with them is an error that says which sample.

    ``carry`` adds what a model remembers from one sample to the next.
    """
    if wishes.data is None:
        return _random_samples(carry(_Random(graph)))
    samples = carry(_walked(graph, wishes.data, wishes))
    count = _count(samples)
    if wishes.eval_data is not None:
        others = carry(_walked(graph, wishes.eval_data, wishes))
        numbers, judged = list(range(count)), list(range(_count(others)))
        source = wishes.eval_data
    else:
        others, source = samples, wishes.data
        numbers, judged = _halves(count, wishes.calibration_samples)
    known = labels_for(source, others, _count(others), wishes.labels)
    calibration = Chosen(samples, spread(numbers, wishes.calibration_samples))
    evaluation = Chosen(others, spread(judged, wishes.evaluation_samples))
    labels = None if known is None else known.values[list(evaluation.numbers)]
    notes = [*notes_of(samples, wishes.preprocessing), *_said(calibration, evaluation, count, wishes)]
    notes += unused_labels(source, others, _count(others)) if known is None else [known.note]
    return BuildSamples(
        calibration, evaluation, labels, tuple(notes), is_shared=numbers == judged and others is samples
    )


def spread(numbers: Sequence[int], count: int) -> list[int]:
    """At most ``count`` of the numbers, evenly spread."""
    if len(numbers) <= count:
        return list(numbers)
    return [numbers[position * len(numbers) // count] for position in range(count)]


def _walked(graph: Graph, data: Data, wishes: DataWishes) -> Samples:
    if isinstance(data, Mapping):
        data = {name: array for name, array in data.items() if name in graph.types or name not in NAMES}
    return samples_of(
        graph, data, passes=2, preprocessing=wishes.preprocessing, sample_rate=wishes.sample_rate
    )


def _count(samples: Samples) -> int:
    count = len(samples) if isinstance(samples, Sized) else sum(1 for _ in samples)
    if not count:
        raise BadInput("there are no samples, expected at least one", Where(), do="give samples with --data")
    return count


def _halves(count: int, most: int) -> tuple[list[int], list[int]]:
    """Every k-th sample calibrates, half of them at most, and all the others evaluate."""
    if count == 1:
        return [0], [0]
    step = max(2, -(-count // most))
    chosen = range(0, count, step)
    return list(chosen), [number for number in range(count) if number % step]


def _said(calibration: Chosen, evaluation: Chosen, count: int, wishes: DataWishes) -> list[str]:
    if wishes.eval_data is not None:
        return [f"{len(calibration)} samples calibrate, {len(evaluation)} of the data named apart evaluate"]
    if count == 1:
        return [
            "the only sample calibrates and evaluates: figures are better than they will be on other data"
        ]
    step = calibration.numbers[1] - calibration.numbers[0] if len(calibration) > 1 else count
    which = "every second one" if step == 2 else f"one in {step}"
    others = f"{len(evaluation)} others, which no range has seen, evaluate"
    return [f"{len(calibration)} of {count} samples calibrate ({which}); {others}"]


class _Random:
    """Random numbers in the types and shapes of the inputs, the same in every run."""

    def __init__(self, graph: Graph) -> None:
        self._fit = SampleFit(graph)

    def __len__(self) -> int:
        return RANDOM_SAMPLES

    def __iter__(self) -> Iterator[Mapping[str, Array]]:
        yield from map(self.at, range(RANDOM_SAMPLES))

    def at(self, number: int) -> Mapping[str, Array]:
        """One sample, a batch of 1 where the batch is open."""
        generator = np.random.default_rng(number)
        made = {name: _noise(wanted, generator) for name, wanted in self._fit.types.items()}
        return self._fit.sample(made, number)


def _noise(wanted: TensorType, generator: np.random.Generator) -> Array:
    shape = tuple(dim if isinstance(dim, int) else 1 for dim in wanted.shape)
    if wanted.dtype.is_fixed_point or wanted.dtype.numpy.kind == "f" or wanted.dtype.name == "BFLOAT_16":
        return generator.random(shape, np.float32)
    return generator.integers(0, 2, shape)


def _random_samples(samples: Samples) -> BuildSamples:
    numbers, judged = _halves(RANDOM_SAMPLES, RANDOM_SAMPLES)
    return BuildSamples(
        Chosen(samples, numbers), Chosen(samples, judged), None, (RANDOM_WARNING,), is_random=True
    )
