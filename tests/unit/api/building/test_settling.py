"""Which rungs come next where the emulator does not keep what the simulation promised."""

import pytest

from edgewright.api.building.build import _wider
from edgewright.api.building.records import Rung
from edgewright.api.building.rungs import Tried


def _ladder(chosen, *rungs):
    return [
        Tried(Rung(name, "", "htp-sim", 10, 100 - drop, drop, 30, 1, cost, is_chosen=name == chosen))
        for name, drop, cost in rungs
    ]


@pytest.mark.parametrize(
    ("chosen", "later"),
    [("mixed", ["w8a8+", "w8a16", "fp16"]), ("w8a16", ["fp16"]), ("fp16", [])],
)
def test_the_next_rung_is_the_cheapest_that_keeps_the_limit_and_costs_more(chosen, later):
    rungs = [("w8a8", 3, 1), ("w8a8+", 0.5, 1), ("mixed", 0.9, 0.6), ("w8a16", 0, 2), ("fp16", 0, 4)]
    assert _wider(_ladder(chosen, *rungs), 1) == later
