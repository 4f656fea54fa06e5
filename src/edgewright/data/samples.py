"""Samples of a build: which calibrate, which choose, which judge, and what their right answers are."""

from collections.abc import Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, field

import numpy as np

from edgewright.config.preprocessing import Preprocessing
from edgewright.config.spelling import spell_option
from edgewright.core.errors import BadInput, Where
from edgewright.core.numbers import Array
from edgewright.data.indexed_samples import IndexedSamples
from edgewright.data.labels import (
    NAMES,
    GivenLabels,
    Label,
    Labels,
    describe_unused_labels,
    find_labels,
)
from edgewright.data.open_samples import Data, list_data_notes, open_samples
from edgewright.data.sample_format import SampleFormat
from edgewright.ir.graph import Graph
from edgewright.ir.types import TensorType
from edgewright.quantize.executor import Samples

RANDOM_SAMPLES = 32
# Of what is drawn: the same in every run.
SEED = 0
RANDOM_WARNING = (
    "RANDOM DATA: ranges and figures below come from random numbers and say NOTHING about accuracy; "
    "build again with samples before anything is shipped"
)


@dataclass(frozen=True)
class DataRequest:
    """What holds the samples, how many of them are used, and how they are preprocessed."""

    # None: random numbers.
    data: Data | None = None
    eval_data: Data | None = None
    labels: GivenLabels | None = None
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

    def spread(self, count: int) -> "SampleSelection":
        """At most so many, in order: those that ``shuffle`` has first, whichever way the samples come."""
        kept = frozenset(_order_spread(len(self))[:count])
        return SampleSelection(self.samples, [n for place, n in enumerate(self.numbers) if place in kept])

    def take(self, count: int) -> "SampleSelection":
        """The first ones."""
        return SampleSelection(self.samples, self.numbers[:count])

    def leave_out(self, numbers: Sequence[int]) -> "SampleSelection":
        """All but some."""
        excluded = frozenset(numbers)
        return SampleSelection(self.samples, [n for n in self.numbers if n not in excluded])

    def shuffle(self) -> "SampleSelection":
        """In an order whose beginning is spread over all of them; as they are if they only come in turn."""
        if not isinstance(self.samples, IndexedSamples):
            return self
        return SampleSelection(self.samples, [self.numbers[place] for place in _order_spread(len(self))])


@dataclass(frozen=True)
class LabelledSamples:
    """Samples, and the right answer of each; None where it is not known."""

    selection: SampleSelection
    labels: Labels | None = None

    def select(self, count: int) -> "LabelledSamples":
        """At most so many, spread evenly."""
        return self._keep(self.selection.select(count))

    def spread(self, count: int) -> "LabelledSamples":
        """At most so many, those that an evaluation begins with."""
        return self._keep(self.selection.spread(count))

    def _keep(self, chosen: SampleSelection) -> "LabelledSamples":
        places = [self.selection.numbers.index(number) for number in chosen.numbers]
        return LabelledSamples(chosen, None if self.labels is None else self.labels.select(places))

    def find_label(self, number: int) -> Label | None:
        """The right answer of a sample."""
        return None if self.labels is None else self.labels.values[self.selection.numbers.index(number)]


@dataclass(frozen=True)
class BuildSamples:
    """Samples that calibrate, that choose a precision, and that judge the choice."""

    calibration: SampleSelection
    choosing: LabelledSamples
    judging: LabelledSamples
    notes: tuple[str, ...]
    is_random: bool = False

    @property
    def labels(self) -> Labels | None:
        """The right answers of the samples that judge."""
        return self.judging.labels


def read_samples(graph: Graph, request: DataRequest) -> BuildSamples:
    """The samples for a graph; every problem with them is an error that says which sample."""
    if request.data is None:
        return _make_random_samples(graph)
    samples = _select_all(_open_samples(graph, request.data, request))
    if request.eval_data is None:
        return divide_samples(samples, samples, request)
    return divide_samples(samples, _select_all(_open_samples(graph, request.eval_data, request)), request)


def divide_samples(samples: SampleSelection, others: SampleSelection, request: DataRequest) -> BuildSamples:
    """Samples by what they are for.

    Args:
        samples: those of the data.
        others: those of the data that are named apart, all of which judge; the same where none are.
        request: how many are used, and their labels.
    """
    has_judges = request.eval_data is None
    parts = _split_samples(samples.numbers, request.calibration_samples, has_judges=has_judges)
    calibrating = spread_evenly(parts.calibrating, request.calibration_samples)
    calibration = SampleSelection(samples.samples, calibrating)
    data = request.data
    assert data is not None
    source = data if request.eval_data is None else request.eval_data
    judging = parts.judging if has_judges else others.numbers
    choosing, choosing_note = _add_labels(samples.samples, data, parts.choosing, request)
    judges, note = _add_labels(others.samples, source, judging, request)
    notes = [
        *list_data_notes(samples.samples),
        _describe_split(calibration, choosing, judges, len(samples), request),
        *(note if judges.labels is not None or choosing.labels is None else choosing_note),
    ]
    return BuildSamples(calibration, choosing, judges, tuple(notes))


def _select_all(samples: Samples) -> SampleSelection:
    return SampleSelection(samples, range(count_samples(samples)))


def _add_labels(
    samples: Samples, source: Data, numbers: Sequence[int], request: DataRequest
) -> tuple[LabelledSamples, list[str]]:
    """At most so many samples, with their labels, and what is said about these."""
    selection = SampleSelection(samples, spread_evenly(numbers, request.evaluation_samples))
    count = count_samples(samples)
    # Labels that are named are those of the samples that judge.
    named = request.labels if request.eval_data is None or source is request.eval_data else None
    known = find_labels(source, samples, count, named)
    if known is None:
        return LabelledSamples(selection), describe_unused_labels(source, samples, count)
    return LabelledSamples(selection, known.select(selection.numbers)), [known.note]


def _order_spread(count: int) -> list[int]:
    """Places whose beginning is spread over all of them, wherever it ends."""
    width = max(1, (count - 1).bit_length())
    return sorted(range(count), key=lambda place: f"{place:0{width}b}"[::-1])


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


def count_samples(samples: Samples) -> int:
    """How many there are, at least one."""
    count = len(samples) if isinstance(samples, Sized) else sum(1 for _ in samples)
    if not count:
        raise BadInput(
            "there are no samples, expected at least one",
            Where(),
            do=f"give samples with {spell_option('data')}",
        )
    return count


@dataclass(frozen=True)
class _Parts:
    """Numbers of samples by what they are for."""

    calibrating: list[int]
    choosing: list[int]
    judging: list[int]


def _split_samples(numbers: Sequence[int], most: int, *, has_judges: bool) -> _Parts:
    """One of k samples calibrates, a third at most; of the others one in three chooses, the rest judges.

    Where others judge, the rest chooses. Of two samples one calibrates; a single one does everything. Which
    one of neighbours it is, is drawn: data often come in turns, of classes or cameras, and a fixed step would
    give a part only some of them.
    """
    count = len(numbers)
    if count == 1:
        return _Parts(list(numbers), list(numbers), list(numbers))
    step = max(2 if count == 2 or not has_judges else 3, -(-count // most))
    generator = np.random.default_rng(SEED)
    calibrating, others = _draw_from_each(numbers, step, generator)
    if not has_judges or len(others) == 1:
        return _Parts(calibrating, others, others)
    return _Parts(calibrating, *_draw_from_each(others, 3, generator))


def _draw_from_each(
    numbers: Sequence[int], size: int, generator: np.random.Generator
) -> tuple[list[int], list[int]]:
    """One of each group of neighbours, and the others."""
    groups = [numbers[start : start + size] for start in range(0, len(numbers), size)]
    drawn = [group[int(generator.integers(len(group)))] for group in groups]
    chosen = frozenset(drawn)
    return drawn, [number for number in numbers if number not in chosen]


def _describe_split(
    calibration: SampleSelection,
    choosing: LabelledSamples,
    judging: LabelledSamples,
    count: int,
    request: DataRequest,
) -> str:
    parts = f"{len(calibration)} calibrate, {len(choosing.selection)} choose the precision"
    if request.eval_data is not None:
        return f"of {count} samples {parts}; {len(judging.selection)} of the data named apart judge it"
    if count == 1:
        return "the only sample calibrates, chooses and judges: figures are better than on other data"
    if count == 2:
        return "of 2 samples one calibrates, the other chooses and judges: give more"
    return f"of {count} samples {parts}, {len(judging.selection)} others judge it"


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
    parts = _split_samples(range(RANDOM_SAMPLES), RANDOM_SAMPLES, has_judges=True)
    choosing, judging = (
        LabelledSamples(SampleSelection(samples, n)) for n in (parts.choosing, parts.judging)
    )
    calibration = SampleSelection(samples, parts.calibrating)
    return BuildSamples(calibration, choosing, judging, (RANDOM_WARNING,), is_random=True)
