"""Which open dimensions are batches, of which one element is a sample."""

import pytest

from edgewright.ir.dims import symbol
from edgewright.ir.symbols import batch_symbols
from edgewright.ir.types import TensorType


@pytest.mark.parametrize(
    ("shapes", "batches"),
    [
        ({"x": ("N", 3)}, {"N"}),
        ({"x": ("unk__7", 3)}, {"unk__7"}),
        ({"x": ("sequence_length", 576), "h": (1, 128)}, set()),
        ({"x": ("batch_of_sequences", "length")}, {"batch_of_sequences"}),
        ({"x": ("k", 3), "y": (3, "k")}, set()),
    ],
)
def test_a_first_dimension_is_a_batch_unless_its_name_or_place_says_otherwise(shapes, batches):
    inputs = {
        name: TensorType(tuple(symbol(dim) if isinstance(dim, str) else dim for dim in shape))
        for name, shape in shapes.items()
    }
    assert batch_symbols(inputs) == batches
