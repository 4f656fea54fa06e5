"""Runs a source model itself in its own engine: what a converted model is compared with."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from edgewright.core.errors import UsageError, shown
from edgewright.core.numbers import Array
from edgewright.model.model import Model
from edgewright.run.compare import TensorError, compare_tensors

SPATIAL = frozenset({"NFC", "NHWC", "NDHWC"})


class SourceRun(ABC):
    """A source model next to the model converted from it."""

    def __init__(self, name: str, model: Model) -> None:
        # The file and its engine.
        self.name = name
        self._layouts = {item.name: item.layout for item in (*model.inputs, *model.outputs)}

    @abstractmethod
    def run(self, feed: Mapping[str, Array]) -> dict[str, Array]:
        """The outputs of the source for the converted model's inputs, as real numbers."""

    def measure_errors(
        self, feed: Mapping[str, Array], outputs: Mapping[str, Array], tolerance: float
    ) -> list[TensorError]:
        """How far the outputs of the converted model are from those of the source on the same inputs."""
        references = self.run(feed)
        missing = [name for name in references if name not in outputs]
        if missing:
            raise refuse_other_source(f"output '{shown(missing[0])}'")
        turned = {
            name: self._turn_to_source(name, outputs[name], array.ndim) for name, array in references.items()
        }
        return compare_tensors(turned, references, tolerance)

    def _turn_to_source(self, name: str, array: Array, rank: int) -> Array:
        return as_in_source(array, self._layouts.get(name), rank)


def as_in_source(array: Array, layout: str | None, rank: int) -> Array:
    """An array in the axes of the source: channels first where the model has them last."""
    if layout in SPATIAL:
        array = array.transpose((0, array.ndim - 1, *range(1, array.ndim - 1)))
    # QNN has no scalars: they have one element.
    return array.reshape(()) if rank == 0 and array.size == 1 else array


def find_input(feed: Mapping[str, Array], names: Sequence[str]) -> Array:
    """The input that is known by one of these names."""
    arrays = [feed[name] for name in names if name in feed]
    if not arrays:
        raise refuse_other_source(f"input '{shown(names[0])}'")
    return arrays[0]


def refuse_other_source(what: str) -> UsageError:
    """The error for a file that the model was not converted from."""
    return UsageError(
        f"the model has no {what}, which the file it is compared with has",
        do="compare with the model that was converted",
    )
