"""What ops mean, held against numbers that are known otherwise and against laws."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgewright.core.numbers import DType
from edgewright.ir.encodings import Encoding
from edgewright.ir.op import REGISTRY
from edgewright.ir.types import TensorType
from edgewright.ops.conv import Conv2d, DepthWiseConv2d
from edgewright.ops.elementwise import ElementWiseDivide
from edgewright.ops.gather import Gather
from edgewright.ops.norm import keeps_channels_last
from edgewright.ops.rearrange import Reshape
from edgewright.ops.rearrange_fill import Pad, Scheme
from edgewright.ops.reference import means_real_numbers
from edgewright.ops.resize import Resize
from edgewright.ops.resize_axis import Interpolation

WHOLE = st.integers(-(2**31) + 1, 2**31 - 1)
PLACE = {"stride": (1, 1), "pad_amount": ((1, 1), (1, 1))}


@given(a=WHOLE, b=WHOLE.filter(bool))
def test_whole_numbers_are_divided_towards_zero(a, b):
    result = ElementWiseDivide.meaning(np.array(a, np.int64), np.array(b, np.int64))
    assert int(result) == abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


@pytest.mark.parametrize(("op", "shape"), [(Conv2d, (3, 3, 4, 4)), (DepthWiseConv2d, (3, 3, 1, 4))])
def test_an_op_is_depthwise_if_each_channel_is_convolved_by_itself(op, shape):
    random = np.random.default_rng(0)
    x, weights = random.normal(size=(1, 5, 5, 4)), random.normal(size=shape)
    other = x.copy()
    other[..., 2] += 1
    (before,), (after,) = (op(**PLACE).compute(array, weights) for array in (x, other))
    changed = np.abs(after - before).max((0, 1, 2)) > 1e-9
    assert op.is_depthwise == (changed.tolist() == [False, False, True, False])


@pytest.mark.parametrize("size", [1, 2, 8, 32])
def test_the_hadamard_transform_is_its_own_inverse_times_its_size(size):
    op = REGISTRY["HadamardTransform"](scale=1.0)
    x = np.random.default_rng(size).normal(size=(3, size))
    (once,) = op.compute(x)
    (twice,) = op.compute(once)
    np.testing.assert_allclose(twice, size * x, rtol=1e-9)
    np.testing.assert_allclose(once[:, 0], x.sum(-1), rtol=1e-9)


@pytest.mark.parametrize("interpolation", Interpolation)
def test_a_resize_has_the_parameters_of_its_interpolation_only(interpolation):
    names = {param.name for param in Resize(size=(2, 2), interpolation_mode=interpolation).params()}
    assert ("nearest_mode" in names) == (interpolation == Interpolation.NEAREST)
    assert ("cubic_coeff" in names) == (interpolation == Interpolation.CUBIC)


def test_padding_with_a_number_means_that_number_and_other_padding_only_moves():
    kind = TensorType((2, 2), DType.UFIXED_POINT_8, None, Encoding((0.5,), (-3,)))
    amounts = ((1, 1), (0, 0))
    constant = Pad(scheme=Scheme.CONSTANT, pad_amount=amounts, pad_constant_value=1.0)
    assert means_real_numbers(constant, [kind, kind])
    assert not means_real_numbers(Pad(scheme=Scheme.EDGE, pad_amount=amounts), [kind, kind])
    assert not means_real_numbers(Reshape(shape=(4,)), [kind, kind])


@pytest.mark.parametrize(("rank", "can_move"), [(0, False), (1, True), (2, False)])
def test_an_axis_of_gather_moves_only_where_the_rank_stays(rank, can_move):
    indices = TensorType((2,) * rank, DType.INT_32)
    moved = Gather(axis=1).permuted((0, 2, 1), TensorType((3, 4, 5)), indices)
    assert (moved is not None) == can_move


def test_only_axes_between_batch_and_channels_may_move():
    assert keeps_channels_last((0, 2, 1, 3))
    assert not keeps_channels_last((0, 1, 3, 2))
    assert not keeps_channels_last((1, 0, 2, 3))
