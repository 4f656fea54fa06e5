"""Every op that gives itself for another order of axes gives the same numbers in that order."""

from itertools import permutations

import numpy as np
import pytest

import edgewright.ops  # noqa: F401 - fills the registry
from edgewright.core.numbers import Array
from edgewright.ir.op import REGISTRY, Sample
from edgewright.ir.types import TensorType, type_of
from tests.unit.ops.test_samples import filled

SAMPLES = [sample for op in REGISTRY.values() for sample in op.samples() if sample.op.has_reference()]


def types_of(arrays: list[Array | None]) -> list[TensorType | None]:
    return [None if array is None else type_of(array) for array in arrays]


def turned(arrays: list[Array | None], flags: list[bool], order: tuple[int, ...]) -> list[Array | None]:
    pairs = zip(arrays, flags, strict=True)
    return [np.transpose(a, order) if flag and a is not None else a for a, flag in pairs]


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda s: f"{s.op.qnn_name()}-{s.label}")
def test_another_order_of_axes_gives_the_same_numbers_in_that_order(sample: Sample) -> None:
    arrays = filled(sample)
    with np.errstate(all="ignore"):
        expected = sample.op.compute(*arrays)
        for order in permutations(range(expected[0].ndim)):
            found = sample.op.permuted(order, *types_of(arrays))
            if found is None or expected[0].ndim != max(np.ndim(a) for a in arrays if a is not None):
                continue
            op, flags = found
            for ours, theirs in zip(op.compute(*turned(arrays, flags, order)), expected, strict=True):
                np.testing.assert_allclose(
                    ours.astype(np.float64),
                    np.transpose(theirs, order).astype(np.float64),
                    rtol=1e-5,
                    atol=1e-6,
                    err_msg=str(order),
                )
