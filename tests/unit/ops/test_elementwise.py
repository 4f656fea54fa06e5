"""Ops of two operands over all datatypes and shapes that broadcast, against exact arithmetic."""

import math
import operator
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import mutually_broadcastable_shapes

from edgewright.core.numbers import DType
from edgewright.ir.op import REGISTRY
from edgewright.ir.types import TensorType
from edgewright.ops.elementwise_generic import BinaryOperation, ElementWiseBinary

# Whole numbers that every datatype holds, together with the results.
EXACT: dict[str, Callable[[int, int], float]] = {
    "Add": operator.add,
    "Subtract": operator.sub,
    "Multiply": operator.mul,
    "Maximum": max,
    "Minimum": min,
    "SquaredDifference": lambda a, b: (a - b) ** 2,
    "FloorDiv": operator.floordiv,
    "Mod": operator.mod,
    "Fmod": math.fmod,
    "Equal": operator.eq,
    "NotEqual": operator.ne,
    "Less": operator.lt,
    "LessEqual": operator.le,
    "Greater": operator.gt,
    "GreaterEqual": operator.ge,
}
TOO_SMALL = {DType.INT_2, DType.UINT_2, DType.FLOAT_8E8M0}
DTYPES = [d for d in DType if (d.is_float or d.is_integer) and not d.is_fixed_point and d not in TOO_SMALL]


@pytest.mark.parametrize("name", EXACT)
@given(data=st.data(), shapes=mutually_broadcastable_shapes(num_shapes=2, max_dims=3, max_side=3))
def test_whole_numbers_are_computed_exactly_in_every_datatype(name, data, shapes) -> None:
    op = REGISTRY[f"ElementWise{name}"]()
    dtype = data.draw(st.sampled_from(DTYPES))
    low = -2 if dtype.is_signed and name != "SquaredDifference" else 0
    random = np.random.default_rng(data.draw(st.integers(0, 99)))
    a, b = (random.integers(low, 3, shape) for shape in shapes.input_shapes)
    if name in {"FloorDiv", "Mod", "Fmod"}:
        b = np.where(b == 0, 1, b)
    if name == "Subtract" and not dtype.is_signed:
        a = a + 2
    expected = np.vectorize(EXACT[name], otypes=[np.float64])(*np.broadcast_arrays(a, b))
    arrays = [array.astype(dtype.numpy) for array in (a, b)]
    (result,) = op.compute(*arrays)
    (kind,) = op.infer(*(TensorType(array.shape, dtype) for array in arrays))
    assert (result.shape, result.dtype) == (kind.static_shape(), kind.dtype.numpy)
    np.testing.assert_array_equal(result.astype(np.float64), expected)


@given(base=st.integers(-3, 3), exponent=st.integers(-3, 3))
def test_whole_powers_go_through_floats_where_the_exponent_is_negative(base: int, exponent: int) -> None:
    if base == 0 and exponent < 0:
        return
    power = REGISTRY["ElementWisePower"]()
    for dtype in (np.int32, np.float32, np.int64):
        (result,) = power.compute(np.array([base], dtype), np.array([exponent], dtype))
        np.testing.assert_allclose(result, np.array([float(base) ** exponent]).astype(dtype), rtol=1e-6)


@pytest.mark.parametrize("operation", BinaryOperation, ids=lambda operation: operation.name)
def test_the_general_op_stands_for_the_one_of_its_function(operation: BinaryOperation) -> None:
    general = ElementWiseBinary(operation=operation)
    specific = general.specific()
    assert specific.qnn_name() == f"ElementWise{operation.name.title().replace('_', '')}"
    assert general.canonical() == (specific if specific.qnn_name() in REGISTRY else general)
