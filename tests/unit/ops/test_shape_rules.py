"""Samples with one shape changed: the rule refuses it, or the reference makes what the rule says."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from edgewright.core.errors import EdgewrightError
from edgewright.ir.op import REGISTRY, Sample
from edgewright.ir.types import TensorType
from tests.unit.ops.test_samples import SAMPLES, filled, types_of

# Their rules let pass what numpy refuses: indices beyond a batch, batches that differ. May only shrink.
LOOSE = {"CropAndResize", "DetectionOutput", "GatherNd", "ImageProjectionTransform", "RoiAlign", "RoiPooling"}


def changed_shapes(shape: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """An axis longer, shorter or gone, and an axis more."""
    for axis, size in enumerate(shape):
        before, after = shape[:axis], shape[axis + 1 :]
        yield (*before, size + 1, *after)
        yield (*before, *after)
        if size > 1:
            yield (*before, size - 1, *after)
    yield (1, *shape)
    yield (*shape, 2)


def changed_samples(sample: Sample) -> Iterator[Sample]:
    for place, given in enumerate(sample.inputs):
        if isinstance(given, TensorType) and given.is_static:
            for shape in changed_shapes(given.static_shape()):
                inputs = [*sample.inputs]
                inputs[place] = given.with_shape(shape)
                yield replace(sample, inputs=tuple(inputs))


@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_a_shape_is_refused_or_computed_as_the_rule_says(name: str) -> None:
    for sample in (s for own in SAMPLES if own.op.qnn_name() == name for s in changed_samples(own)):
        try:
            types = sample.op.infer(*types_of(sample))
        except EdgewrightError:
            continue
        if not sample.op.has_reference():
            continue
        try:
            with np.errstate(all="ignore"):
                arrays = sample.op.compute(*filled(sample))
        except EdgewrightError:
            continue
        except (IndexError, ValueError):
            assert name in LOOSE, sample
            continue
        made = [(array.shape, array.dtype) for array in arrays]
        assert made == [(kind.static_shape(), kind.dtype.numpy) for kind in types], sample
