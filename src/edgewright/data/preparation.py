"""What is done to arrays before a model gets them, as to images: scaled, normalised, transposed."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from edgewright.config.preprocessing import Preprocessing
from edgewright.core.errors import UsageError, Where, shown
from edgewright.core.numbers import Array
from edgewright.data.images import CHANNELS_FIRST, CHANNELS_LAST, MODES
from edgewright.ir.dims import Dim
from edgewright.ir.shape_advice import is_matching_shape
from edgewright.ir.types import TensorType


@dataclass(frozen=True)
class ArrayPreparation:
    """How the arrays of one input become the numbers that the model was trained on."""

    name: str
    preprocessing: Preprocessing
    shape: tuple[Dim, ...]
    # The axis of the channels, counted from the end; None where there are none.
    axis: int | None = None

    def transpose(self, array: Array) -> Array:
        """Channels where the model has them, where a layout was named and only the other one fits."""
        for rank, shape in ((len(self.shape), self.shape), (len(self.shape) - 1, self.shape[1:])):
            if self.preprocessing.layout is None or array.ndim != rank or rank < 3:
                continue
            for source, place in ((-1, -3), (-3, -1)):
                moved = np.moveaxis(array, source, place)
                if is_matching_shape(moved.shape[-3:], shape[-3:]):
                    is_fitting = is_matching_shape(array.shape[-3:], shape[-3:])
                    return array if is_fitting else moved
        return array

    def normalize_values(self, array: Array) -> Array:
        """(value * scale - mean) / std, of numbers that are no stored integers of the model's."""
        if not self.preprocessing.is_normalising:
            return array
        mean, std = (self._fit_channels(values) for values in self.preprocessing.mean_and_std)
        values = array.astype(np.float32) * np.float32(self.preprocessing.factor)
        if self.preprocessing.color == "bgr" and self.axis is not None and array.shape[self.axis] == 3:
            values = np.flip(values, self.axis)
        prepared: Array = (values - mean) / std
        return prepared

    def describe(self) -> str:
        """For the user to compare with the training of the model."""
        mean, std = (" ".join(f"{value:g}" for value in each) for each in self.preprocessing.mean_and_std)
        factor = self.preprocessing.factor
        return (
            f"arrays for '{shown(self.name, 60)}': (value * {factor:g} - mean) / std, mean {mean}, std {std}"
        )

    def _fit_channels(self, values: tuple[float, ...]) -> Array:
        plain = np.array(values, np.float32)
        return plain if len(values) == 1 or self.axis == -1 else plain[:, None, None]


def make_preparations(
    types: Mapping[str, TensorType], preprocessing: Preprocessing | None
) -> dict[str, ArrayPreparation]:
    """For the inputs that hold images, else for the only one of real numbers; none if nothing was asked."""
    if preprocessing is None or not (preprocessing.is_normalising or preprocessing.layout):
        return {}
    axes = {name: _find_channels(t, preprocessing.layout) for name, t in types.items() if _is_real(t)}
    images = [name for name, axis in axes.items() if axis is not None]
    chosen = images or list(axes)
    if preprocessing.is_normalising and (not chosen or (not images and len(chosen) > 1)):
        raise UsageError(
            f"mean, std and scale are for images or for the only input of real numbers, found {len(chosen)}",
            do="normalise the arrays yourself, and leave mean, std and scale out",
        )
    made = {name: ArrayPreparation(name, preprocessing, types[name].shape, axes[name]) for name in chosen}
    for name, each in made.items():
        _check_channels(name, types[name], each)
    return made


def _check_channels(name: str, expected: TensorType, preparation: ArrayPreparation) -> None:
    channels = 1 if preparation.axis is None else expected.shape[preparation.axis]
    for flag, values in (("mean", preparation.preprocessing.mean), ("std", preparation.preprocessing.std)):
        if len(values) > 1 and len(values) != channels:
            raise UsageError(
                f"'{flag}' has {len(values)} numbers, the input has {channels} channels",
                Where(tensor=name),
                do=f"give one number{f', or {channels}' if channels in MODES and channels != 1 else ''}",
            )


def _is_real(expected: TensorType) -> bool:
    dtype = expected.dtype
    return expected.encoding is not None or dtype.numpy.kind == "f" or dtype.name == "BFLOAT_16"


def _find_channels(expected: TensorType, layout: str | None) -> int | None:
    """The axis of 1 or 3 channels of an image, counted from the end."""
    if len(expected.shape) != 4:
        return None
    axes = {CHANNELS_FIRST: -3, CHANNELS_LAST: -1}
    fitting = [axis for axis in axes.values() if expected.shape[axis] in MODES]
    named = axes.get(layout or expected.layout or "")
    if named in fitting or not fitting:
        return named if named in fitting else None
    # Of one channel or three in both places, three are the channels.
    return min(fitting, key=lambda axis: expected.shape[axis] != 3)
