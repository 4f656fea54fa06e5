"""Every kind of network arrives on the emulator in every precision, or is refused with the reason."""

import pytest

from tests.conformance.measure import PRECISIONS, measure
from tests.conformance.table import list_networks
from tests.optional import NO_TORCH

pytest.importorskip("torch", reason=NO_TORCH)
pytestmark = [pytest.mark.slow, pytest.mark.torch]


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("network", list_networks(), ids=lambda network: network.name)
def test_nothing_is_wrong_without_a_word(network, precision):
    entry = measure(network, precision)
    assert entry.is_honest, entry
