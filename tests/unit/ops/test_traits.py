"""What ops say of themselves is what they compute."""

import math
from collections.abc import Callable

import numpy as np
import pytest

from edgewright.core.numbers import Array
from edgewright.ir.op import PARTS, REGISTRY, Op, Sample
from edgewright.ir.traits import EVERYTHING
from edgewright.ops.elementwise import Unary
from edgewright.ops.elementwise_generic import Generic
from tests.unit.ops.test_samples import filled, types_of

SAMPLES = [sample for kind in (*REGISTRY.values(), *PARTS.values()) for sample in kind.samples()]
WIDE = np.linspace(-40, 40, 4001)
TOLERANCE = 1e-3


def samples_where(has_trait: Callable[[Op], object]) -> pytest.MarkDecorator:
    """The samples of ops that have a trait, or stand for one that has it."""
    chosen = [s for s in SAMPLES if has_trait(s.op.specific()) and s.op.has_reference()]
    return pytest.mark.parametrize("sample", chosen, ids=lambda s: f"{s.op.qnn_name()}-{s.label}")


def _compute(op: Op, *arrays: Array) -> Array:
    with np.errstate(all="ignore"):
        return op.compute(*arrays)[0]


@samples_where(lambda op: op.value_range() != EVERYTHING)
def test_results_are_inside_the_value_range(sample: Sample) -> None:
    low, high = sample.op.specific().value_range()
    data, *others = filled(sample)
    assert data is not None
    result = sample.op.values_for([data * 10, *others])[0]
    assert low <= result.min() <= result.max() <= high


@samples_where(lambda op: op.active_range(TOLERANCE) != EVERYTHING)
def test_beyond_the_active_range_the_result_is_flat(sample: Sample) -> None:
    low, high = sample.op.specific().active_range(TOLERANCE)
    below, above = WIDE[low > WIDE], WIDE[high < WIDE]
    assert below.size
    for side in filter(len, (below, above)):
        results = _compute(sample.op, side)
        # A function such as x * gate(x) is flat but for its factor.
        assert np.ptp(results) <= 8 * TOLERANCE
    inside = WIDE[(low <= WIDE) & (min(high, 10) >= WIDE)]
    assert np.ptp(_compute(sample.op, inside)) > 0.5


@samples_where(lambda op: op.is_clamp)
def test_a_clamp_changes_nothing_inside_its_range(sample: Sample) -> None:
    low, high = sample.op.specific().value_range()
    inside = WIDE[(low <= WIDE) & (high >= WIDE)]
    np.testing.assert_array_equal(_compute(sample.op, inside), inside)
    assert math.isinf(low) or _compute(sample.op, np.array([low - 1]))[0] == low


@samples_where(lambda op: op.only_moves())
def test_what_only_moves_makes_no_new_numbers(sample: Sample) -> None:
    arrays = [array for array in filled(sample) if array is not None]
    known = np.concatenate([array.reshape(-1).astype(np.float64) for array in arrays])
    parameters = [float(p.value) for p in sample.op.params() if isinstance(p.value, (int, float))]
    result = sample.op.values_for(filled(sample))[0]
    assert np.isin(result.astype(np.float64), [*known, *parameters, 0.0]).all()


@samples_where(lambda op: op.scaled_inputs)
def test_a_factor_of_scaled_inputs_goes_through(sample: Sample) -> None:
    for place in sample.op.specific().scaled_inputs:
        arrays = [
            np.asarray(array, np.float64) if array is not None else None for array in filled(sample)[:2]
        ]
        before = sample.op.values_for(arrays)[0]
        arrays[place] = arrays[place] * 3.0
        np.testing.assert_allclose(sample.op.values_for(arrays)[0], before * 3.0, rtol=1e-9, atol=1e-12)


@samples_where(lambda op: op.is_product)
def test_a_product_is_linear_in_its_weights_along_their_axis(sample: Sample) -> None:
    x, weights = (np.asarray(array, np.float64) for array in filled(sample)[:2])
    roles = sample.op.weight_roles(types_of(sample))
    assert (roles.weights, roles.biases) == ({1}, {2})
    assert roles.axis is not None
    if weights.ndim > 2 and not roles.is_convolution:
        return
    silenced = np.moveaxis(weights.copy(), roles.axis, 0)
    silenced[0] = 0
    before = sample.op.values_for([x, weights])[0]
    after = sample.op.values_for([x, np.moveaxis(silenced, 0, roles.axis)])[0]
    changed = {int(place) for place in np.nonzero((before != after).reshape(-1, before.shape[-1]).any(0))[0]}
    assert changed
    assert changed == {c for c in range(before.shape[-1]) if c % weights.shape[roles.axis] == 0}


@samples_where(lambda op: isinstance(op, Unary) and not op.may_make_nan)
def test_a_function_without_the_trait_makes_no_nan(sample: Sample) -> None:
    op = sample.op.specific()
    assert isinstance(op, Unary)
    with np.errstate(all="ignore"):
        assert not np.isnan(np.asarray(op.apply(WIDE), np.float64)).any()


def test_an_op_that_names_another_has_its_traits() -> None:
    for sample in SAMPLES:
        assert isinstance(sample.op, Generic) == (sample.op.specific() is not sample.op)
