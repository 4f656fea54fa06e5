"""What an op says of itself, held against its reference: every trait is a law over all of its samples."""

import math

import numpy as np
import pytest

from edgewright.core.numbers import Array, DType
from edgewright.ir.op import REGISTRY, Op, Sample
from edgewright.ir.types import TensorType
from edgewright.ops.elementwise_generic import Generic
from tests.unit.ops.test_samples import SAMPLES, filled, types_of

COMPUTED = [sample for sample in SAMPLES if sample.op.has_reference()]
LIMITED = [sample for sample in COMPUTED if sample.op.specific().value_range() != (-math.inf, math.inf)]
CLAMPS = [sample for sample in COMPUTED if sample.op.specific().is_clamp]
KEEPING = [sample for sample in COMPUTED if sample.op.keeps_encoding]
FLAT = [s for s in COMPUTED if s.op.specific().active_range(0.01) != (-math.inf, math.inf)]
SCALED = [sample for sample in COMPUTED if sample.op.specific().scaled_inputs]
WEIGHTED = [sample for sample in COMPUTED if sample.op.weight_roles(types_of(sample)).axis is not None]
SLOPED = [sample for sample in COMPUTED if sample.op.specific().slopes is not None]
NEVER_NAN = [sample for sample in COMPUTED if not sample.op.specific().may_make_nan]


def name_of(sample: Sample) -> str:
    return f"{sample.op.qnn_name()}-{sample.label}"


def compute(op: Op, arrays: list[Array | None]) -> tuple[Array, ...]:
    with np.errstate(all="ignore"):
        return op.compute(*arrays)


def stretched(sample: Sample, factor: float) -> list[Array | None]:
    """The sample's data, with floats that are graph inputs made larger."""
    return [
        array * np.asarray(factor, array.dtype)
        if isinstance(given, TensorType) and given.dtype == DType.FLOAT_32
        else array
        for given, array in zip(sample.inputs, filled(sample), strict=True)
    ]


@pytest.mark.parametrize("sample", LIMITED, ids=name_of)
def test_results_fill_the_value_range_and_stay_inside(sample: Sample) -> None:
    low, high = sample.op.specific().value_range()
    results = np.concatenate([compute(sample.op, stretched(sample, f))[0].ravel() for f in (1, 10, 1000)])
    assert low <= results.min()
    assert results.max() <= high
    assert low == -math.inf or results.min() < low + 1e-3
    assert high == math.inf or results.max() > high - 1e-3


@pytest.mark.parametrize("sample", CLAMPS, ids=name_of)
def test_a_clamp_cuts_its_input_at_the_value_range_and_nowhere_else(sample: Sample) -> None:
    arrays = stretched(sample, 10)
    np.testing.assert_allclose(
        compute(sample.op, arrays)[0], np.clip(arrays[0], *sample.op.specific().value_range())
    )


@pytest.mark.parametrize("tolerance", [0.01, 0.5 / 256, 0.5 / 65536])
@pytest.mark.parametrize("sample", FLAT, ids=name_of)
def test_beyond_the_active_range_a_result_is_flat_and_not_before(sample: Sample, tolerance: float) -> None:
    op = sample.op.specific()
    least, most = op.value_range()
    span = most - least if math.isfinite(most - least) else getattr(op, "alpha", 1.0)
    for end in (end for end in op.active_range(tolerance) if math.isfinite(end)):
        limit, at_end, before = (
            float(compute(op, [np.full(1, x, np.float64)])[0][0])
            for x in (math.copysign(1e3, end), end, end * 0.8)
        )
        assert abs(at_end - limit) <= span * tolerance * 1.001
        assert abs(before - limit) > span * tolerance


@pytest.mark.parametrize("sample", KEEPING, ids=name_of)
def test_an_op_that_keeps_the_encoding_makes_no_new_numbers(sample: Sample) -> None:
    arrays = filled(sample)
    known = np.concatenate([np.zeros(1), *(a.ravel().astype(np.float64) for a in arrays if a is not None)])
    fillings = [value for value in vars(sample.op).values() if isinstance(value, int | float)]
    made = compute(sample.op, arrays)[0].astype(np.float64)
    assert np.isin(made, [*known, *np.float32(fillings).astype(np.float64)]).all()


@pytest.mark.parametrize("sample", NEVER_NAN, ids=name_of)
def test_finite_numbers_become_nan_only_where_an_op_says_so(sample: Sample) -> None:
    arrays = [None if array is None else np.array(array) for array in stretched(sample, 3)]
    numbers = [array for array in arrays if array is not None and array.dtype.kind in "fiu"]
    for array in numbers:
        if array.dtype == np.float32 and array.size:
            array.flat[0] = 0
    if all(np.isfinite(array).all() for array in numbers):
        results = compute(sample.op, arrays)
        assert not any(np.isnan(result).any() for result in results if result.dtype.kind == "f")


@pytest.mark.parametrize("sample", SCALED, ids=name_of)
def test_a_channel_that_is_scaled_in_an_input_is_scaled_in_the_result(sample: Sample) -> None:
    arrays = filled(sample)
    for place in sample.op.specific().scaled_inputs:
        factors = np.arange(1, arrays[place].shape[-1] + 1, dtype=np.float32)
        bare = compute(sample.op, arrays)[0]
        # Where the last axis goes elsewhere, who asks follows it.
        if bare.shape[-1] == factors.size:
            scaled = [array * factors if index == place else array for index, array in enumerate(arrays)]
            np.testing.assert_allclose(compute(sample.op, scaled)[0], bare * factors, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("sample", SLOPED, ids=name_of)
def test_a_result_goes_the_way_its_slopes_say_as_an_input_grows(sample: Sample) -> None:
    arrays, slopes = filled(sample), sample.op.specific().slopes
    bare = compute(sample.op, arrays)[0].astype(np.float64)
    for place, slope in enumerate(slopes):
        if slope and arrays[place].dtype.kind == "f":
            raised = [array + 3 if index == place else array for index, array in enumerate(arrays)]
            change = slope * (compute(sample.op, raised)[0].astype(np.float64) - bare)
            assert (change >= 0).all()
            assert change.max() > 0


@pytest.mark.parametrize("sample", WEIGHTED, ids=name_of)
def test_each_slice_of_the_weights_along_their_axis_makes_one_channel(sample: Sample) -> None:
    roles, arrays = sample.op.weight_roles(types_of(sample)), filled(sample)
    (place,) = roles.weights
    bare = [None if index in roles.biases else array for index, array in enumerate(arrays)]
    channels = bare[place].shape[roles.axis]
    factors = np.arange(1, channels + 1, dtype=np.float32)
    shape = [channels if axis == roles.axis else 1 for axis in range(bare[place].ndim)]
    scaled = [array * factors.reshape(shape) if index == place else array for index, array in enumerate(bare)]
    results = compute(sample.op, bare)[0]
    # Groups of a transposed convolution share the axis.
    factors = np.tile(factors, results.shape[-1] // channels)
    np.testing.assert_allclose(compute(sample.op, scaled)[0], results * factors, rtol=1e-3, atol=1e-4)


def test_every_trait_is_tried() -> None:
    assert all((LIMITED, CLAMPS, KEEPING, FLAT, SCALED, WEIGHTED, NEVER_NAN))
    assert {s.op.qnn_name() for s in COMPUTED} <= set(REGISTRY)


@pytest.mark.parametrize("sample", [s for s in KEEPING if not s.op.only_moves()], ids=name_of)
def test_a_selection_compares_numbers_and_does_not_only_move_them(sample: Sample) -> None:
    data, *others = filled(sample)
    kept, negated = (compute(sample.op, [array, *others])[0] for array in (data, -data))
    assert not np.array_equal(kept, -negated)


def test_an_op_that_only_names_another_has_its_traits() -> None:
    for sample in SAMPLES:
        assert isinstance(sample.op, Generic) == (sample.op.specific() is not sample.op)
