"""Samples of a build: which of them calibrate, which evaluate, and what their right answers are."""

from collections.abc import Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from edgewright.config.preprocessing import Preprocessing
from edgewright.core.errors import BadInput, Where
from edgewright.core.numbers import Array
from edgewright.data.indexed_samples import IndexedSamples
from edgewright.data.labels import NAMES, describe_unused_labels, find_labels
from edgewright.data.open_samples import Data, list_data_notes, open_samples
from edgewright.data.sample_format import SampleFormat
from edgewright.ir.graph import Graph
from edgewright.ir.types import TensorType
from edgewright.quantize.executor import Samples

RANDOM_SAMPLES = 32
RANDOM_WARNING = (
    "RANDOM DATA: ranges and figures below come from random numbers and say NOTHING about accuracy; "
    "build again with --data before anything is shipped"
)


@dataclass(frozen=True)
class DataRequest:
    """What holds the samples, how many of them are used, and how they are preprocessed."""

    # None: random numbers.
    data: Data | None = None
    eval_data: Data | None = None
    labels: str | Path | Sequence[int] | None = None
    calibration_samples: int = 100
    evaluation_samples: int = 1000
    preprocessing: Preprocessing = field(default_factory=Preprocessing)
    sample_rate: int | None = None


class SampleSelection:
    """Some samples of many, by their numbers."""

    def __init__(self, samples: Samples, numbers: Sequence[int]) -> None:
        self.samples = samples
        self.numbers = tuple(numbers)

    def __len__(self) -> int:
        return len(self.numbers)

    def __iter__(self) -> Iterator[Mapping[str, Array]]:
        if isinstance(self.samples, IndexedSamples):
            yield from (self.samples[number] for number in self.numbers)
            return
        selected = set(self.numbers)
        yield from (sample for number, sample in enumerate(self.samples) if number in selected)

    def select(self, count: int) -> "SampleSelection":
        """At most so many, spread evenly."""
        return SampleSelection(self.samples, spread_evenly(self.numbers, count))


@dataclass(frozen=True)
class BuildSamples:
    """Samples that calibrate and samples that evaluate, held apart."""

    calibration: SampleSelection
    evaluation: SampleSelection
    # The right class of each sample that evaluates; None where it is not known.
    labels: Array | None
    notes: tuple[str, ...]
    is_random: bool = False


def read_samples(graph: Graph, request: DataRequest) -> BuildSamples:
    """The samples for a graph; every problem with them is an error that says which sample."""
    if request.data is None:
        return _make_random_samples(graph)
    samples = _open_samples(graph, request.data, request)
    count = _count_samples(samples)
    if request.eval_data is not None:
        others, source = _open_samples(graph, request.eval_data, request), request.eval_data
        calibrating, evaluating = list(range(count)), list(range(_count_samples(others)))
    else:
        others, source = samples, request.data
        calibrating, evaluating = _split_samples(count, request.calibration_samples)
    known = find_labels(source, others, _count_samples(others), request.labels)
    calibration = SampleSelection(samples, spread_evenly(calibrating, request.calibration_samples))
    evaluation = SampleSelection(others, spread_evenly(evaluating, request.evaluation_samples))
    labels = None if known is None else known.values[list(evaluation.numbers)]
    notes = [
        *list_data_notes(samples, request.preprocessing),
        *_describe_split(calibration, evaluation, count, request),
    ]
    notes += describe_unused_labels(source, others, _count_samples(others)) if known is None else [known.note]
    return BuildSamples(calibration, evaluation, labels, tuple(notes))


def spread_evenly(numbers: Sequence[int], count: int) -> list[int]:
    """At most ``count`` of the numbers, evenly spread."""
    if len(numbers) <= count:
        return list(numbers)
    return [numbers[position * len(numbers) // count] for position in range(count)]


def _open_samples(graph: Graph, data: Data, request: DataRequest) -> Samples:
    if isinstance(data, Mapping):
        data = {name: array for name, array in data.items() if name in graph.types or name not in NAMES}
    return open_samples(
        graph, data, passes=2, preprocessing=request.preprocessing, sample_rate=request.sample_rate
    )


def _count_samples(samples: Samples) -> int:
    count = len(samples) if isinstance(samples, Sized) else sum(1 for _ in samples)
    if not count:
        raise BadInput("there are no samples, expected at least one", Where(), do="give samples with --data")
    return count


def _split_samples(count: int, most: int) -> tuple[list[int], list[int]]:
    """Every k-th sample calibrates, half of them at most, and all the others evaluate."""
    if count == 1:
        return [0], [0]
    step = max(2, -(-count // most))
    return list(range(0, count, step)), [number for number in range(count) if number % step]


def _describe_split(
    calibration: SampleSelection, evaluation: SampleSelection, count: int, request: DataRequest
) -> list[str]:
    if request.eval_data is not None:
        return [f"{len(calibration)} samples calibrate, {len(evaluation)} of the data named apart evaluate"]
    if count == 1:
        return [
            "the only sample calibrates and evaluates: figures are better than they will be on other data"
        ]
    step = calibration.numbers[1] - calibration.numbers[0] if len(calibration) > 1 else count
    which = "every second one" if step == 2 else f"one in {step}"
    others = f"{len(evaluation)} others, which no range has seen, evaluate"
    return [f"{len(calibration)} of {count} samples calibrate ({which}); {others}"]


class _RandomSamples(IndexedSamples):
    """Random numbers in the types and shapes of the inputs, the same in every run."""

    def __init__(self, graph: Graph) -> None:
        self._format = SampleFormat(graph)

    def __len__(self) -> int:
        return RANDOM_SAMPLES

    def __getitem__(self, number: int) -> Mapping[str, Array]:
        """One sample, a batch of 1 where the batch is open."""
        generator = np.random.default_rng(number)
        made = {
            name: _make_random_values(expected, generator) for name, expected in self._format.types.items()
        }
        return self._format.convert_sample(made, number)


def _make_random_values(expected: TensorType, generator: np.random.Generator) -> Array:
    shape = tuple(dim if isinstance(dim, int) else 1 for dim in expected.shape)
    dtype = expected.dtype
    if dtype.is_fixed_point or dtype.numpy.kind == "f" or dtype.name == "BFLOAT_16":
        return generator.random(shape, np.float32)
    return generator.integers(0, 2, shape)


def _make_random_samples(graph: Graph) -> BuildSamples:
    samples = _RandomSamples(graph)
    calibration, evaluation = (
        SampleSelection(samples, numbers) for numbers in _split_samples(RANDOM_SAMPLES, RANDOM_SAMPLES)
    )
    return BuildSamples(calibration, evaluation, None, (RANDOM_WARNING,), is_random=True)
