"""How far the outputs of one model are from those of another on the same data."""

import math
from collections.abc import Mapping, Sequence, Sized
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from edgewright.config.preprocessing import Preprocessing
from edgewright.core.errors import ShapeMismatch, UsageError, Where, shown
from edgewright.core.events import announce_progress
from edgewright.core.numbers import Array
from edgewright.core.page import Block, Displayed, Table
from edgewright.core.words import did_you_mean
from edgewright.data.open_samples import Data, open_samples
from edgewright.evaluate.statistics import compute_wilson_interval, is_distribution
from edgewright.model.model import Model, TensorInfo
from edgewright.model.open_model import open_any_model

CHANNELS_LAST = frozenset({"NFC", "NHWC", "NDHWC"})
_Infos = Mapping[str, TensorInfo]


@dataclass(frozen=True)
class Agreement:
    """How often two models make the same choice; ``low`` and ``high`` are the 95 % interval after Wilson."""

    same: int
    count: int
    share: float
    low: float
    high: float

    @classmethod
    def of(cls, same: int, count: int) -> "Agreement":
        """The share and its interval."""
        return cls(same, count, same / count if count else math.nan, *compute_wilson_interval(same, count))


@dataclass(frozen=True)
class OutputDifference:
    """One output over all samples.

    ``kl`` is the mean Kullback-Leibler divergence, in nats, of the second model's classes from the first's:
    of the values themselves where they are probabilities, else of their softmax. ``kl`` and ``top1`` are
    None where the output has no axis of classes.
    """

    output: str
    samples: int
    sqnr_db: float
    cosine: float
    max_abs: float
    kl: float | None = None
    top1: Agreement | None = None


class Comparison(Displayed, list[OutputDifference]):
    """The outputs of two models, each over all samples: a list that shows itself as a table."""

    def _list_blocks(self) -> list[Block]:
        count = self[0].samples if self else 0
        return [make_differences_table(f"Differences over {count} sample{'s' * (count != 1)}", self)]


def make_differences_table(title: str, differences: Sequence[OutputDifference]) -> Table:
    """A row for each output."""
    headers = ("output", "SQNR", "cosine", "KL", "largest difference", "same top-1", "95 % interval")
    return Table(title, headers, tuple(map(_make_row, differences)), frozenset(range(1, 7)))


def _make_row(item: OutputDifference) -> tuple[str, ...]:
    sqnr = "exact" if math.isinf(item.sqnr_db) else f"{item.sqnr_db:.1f} dB"
    kl = "-" if item.kl is None else f"{item.kl:.3g}"
    top1, interval = "-", "-"
    if item.top1 is not None:
        top1 = f"{100 * item.top1.share:.1f} %"
        interval = f"{100 * item.top1.low:.1f} to {100 * item.top1.high:.1f} %"
    return item.output, sqnr, f"{item.cosine:.6f}", kl, f"{item.max_abs:.3g}", top1, interval


def compare(
    a: Model | str | Path,
    b: Model | str | Path,
    data: Data,
    *,
    backend: str = "cpu",
    preprocessing: Preprocessing | None = None,
    threads: int = 0,
) -> Comparison:
    """How far ``b`` is from ``a`` on the same data, output by output.

    Args:
        a: the reference, a model or a file.
        b: what is compared with it; the same input and output names, in any layout and datatype.
        data: samples for ``a``, in any form that ``quantize`` takes.
        backend: what ``b`` runs on; ``a`` runs on the CPU.
        preprocessing: how images are preprocessed, as for ``quantize``.
        threads: 0 leaves the number to the engine.
    """
    first, second = open_any_model(a), open_any_model(b)
    pair = _ModelPair(first, second)
    samples = open_samples(first.fixed_graph(), data, preprocessing=preprocessing)
    sums = {name: _OutputSums(name, pair.find_class_axis(name)) for name in pair.outputs}
    with announce_progress("comparing", total=len(samples) if isinstance(samples, Sized) else None) as step:
        for sample in samples:
            references = first.run(sample, threads=threads)
            outputs = second.run(pair.convert_inputs(sample), backend=backend, threads=threads)
            for name, part in sums.items():
                part.add(references[name], pair.convert_output(name, outputs[name]))
            step()
    results = [part.result() for part in sums.values()]
    if results and not results[0].samples:
        raise UsageError("there are no samples to compare on, expected at least one")
    return Comparison(results)


class _ModelPair:
    """Two models of the same inputs and outputs, which may differ in their layouts."""

    def __init__(self, first: Model, second: Model) -> None:
        self._first = {item.name: item for item in (*first.inputs, *first.outputs)}
        self._second = {item.name: item for item in (*second.inputs, *second.outputs)}
        self.outputs = [item.name for item in first.outputs]
        self._inputs = [item.name for item in second.inputs]
        for name in (*self._inputs, *self.outputs):
            if name not in self._first or name not in self._second:
                known = self._second if name in self._first else self._first
                raise UsageError(
                    f"the models have different inputs or outputs: '{shown(name)}' is in one of them only",
                    do=did_you_mean(name, list(known), "compare models that come from the same source"),
                )

    def find_class_axis(self, name: str) -> int | None:
        """The axis of classes: the channels."""
        item = self._first[name]
        if len(item.shape) < 2:
            return None
        return 1 if len(item.shape) > 3 and item.layout not in CHANNELS_LAST else len(item.shape) - 1

    def convert_inputs(self, sample: Mapping[str, Array]) -> dict[str, Array]:
        """A sample of the first model in the layouts of the second."""
        return {
            name: self._move_channels(name, sample[name], self._first, self._second) for name in self._inputs
        }

    def convert_output(self, name: str, array: Array) -> Array:
        """An output of the second model in the layout of the first."""
        return self._move_channels(name, array, self._second, self._first)

    @staticmethod
    def _move_channels(name: str, array: Array, made: _Infos, expected: _Infos) -> Array:
        is_last, shall_be_last = (infos[name].layout in CHANNELS_LAST for infos in (made, expected))
        if is_last == shall_be_last or array.ndim < 3:
            return array
        return np.ascontiguousarray(np.moveaxis(array, *((-1, 1) if is_last else (1, -1))))


class _OutputSums:
    """What is known of an output after some samples: sums, no arrays."""

    def __init__(self, name: str, axis: int | None) -> None:
        self._name, self._axis = name, axis
        self._samples = self._rows = self._same = 0
        self._signal = self._other = self._noise = self._product = self._kl = self._largest = 0.0

    def add(self, reference: Array, output: Array) -> None:
        """Another sample."""
        if reference.shape != output.shape:
            raise ShapeMismatch(
                f"the outputs have the shapes {list(reference.shape)} and {list(output.shape)}",
                Where(tensor=self._name),
                do="compare models that come from the same source",
            )
        first, second = reference.astype(np.float64), output.astype(np.float64)
        gap = first - second
        self._samples += 1
        self._signal += float(np.vdot(first, first))
        self._other += float(np.vdot(second, second))
        self._product += float(np.vdot(first, second))
        self._noise += float(np.vdot(gap, gap))
        self._largest = max(self._largest, float(np.max(np.abs(gap), initial=0.0)))
        if self._axis is not None and first.size and first.shape[self._axis] > 1:
            self._add_classes(np.moveaxis(first, self._axis, -1), np.moveaxis(second, self._axis, -1))

    def _add_classes(self, first: Array, second: Array) -> None:
        is_spread = is_distribution(first)
        p, q = (_to_distribution(array, is_spread=is_spread) for array in (first, second))
        self._kl += float(np.sum(p * (np.log(p) - np.log(q))))
        choices = first.argmax(-1) == second.argmax(-1)
        self._same += int(choices.sum())
        self._rows += choices.size

    def result(self) -> OutputDifference:
        """The figures."""
        sqnr = 10 * math.log10(self._signal / self._noise) if self._noise and self._signal else math.inf
        if self._noise and not self._signal:
            sqnr = -math.inf
        size = math.sqrt(self._signal * self._other)
        # Two outputs of nothing but zeros point the same way.
        cosine = self._product / size if size else float(self._signal == self._other)
        has_classes = self._rows > 0
        return OutputDifference(
            *(self._name, self._samples, sqnr, cosine, self._largest),
            kl=self._kl / self._rows if has_classes else None,
            top1=Agreement.of(self._same, self._rows) if has_classes else None,
        )


def _to_distribution(rows: Array, *, is_spread: bool) -> Array:
    """Probabilities above 0: nothing may be divided by what a quantizer rounded away."""
    if is_spread:
        raised = np.maximum(rows, 1e-12)
        return np.asarray(raised / raised.sum(-1, keepdims=True))
    powers = np.exp(rows - rows.max(-1, keepdims=True))
    return np.asarray(np.maximum(powers / powers.sum(-1, keepdims=True), 1e-12))
